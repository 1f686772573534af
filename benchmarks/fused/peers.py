"""The programs as other libraries compute them: NumPy, PyTorch as it is and through its compiler, JAX through XLA."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import FunctionType

import numpy as np

from benchmarks.fused.program import Program
from benchmarks.peer import PeerUnavailable


def polyml_call(program: Program, arguments: Sequence, threads: int) -> Callable[[], object]:
    import polyml

    kernel = polyml.kernel(cache=False, threads=threads, fallback="error")(program.function)
    return lambda: kernel(*arguments)


def numpy_call(program: Program, arguments: Sequence, threads: int) -> Callable[[], object]:
    return lambda: program.reference(*arguments)


def torch_call(program: Program, arguments: Sequence, threads: int) -> Callable[[], object]:
    """Returns a call of PyTorch's operations, one after the other."""
    torch = _torch(threads)
    tensors = _tensors(torch, arguments)

    def call() -> object:
        with torch.inference_mode():
            return program.torch(torch, *tensors)

    return call


def compiled_torch_call(program: Program, arguments: Sequence, threads: int) -> Callable[[], object]:
    """Returns a call of what `torch.compile` makes of the same operations."""
    torch = _torch(threads)
    tensors = _tensors(torch, arguments)
    compiled = torch.compile(lambda *given: program.torch(torch, *given), dynamic=False)

    def call() -> object:
        with torch.inference_mode():
            return compiled(*tensors)

    return call


def jax_call(program: Program, arguments: Sequence, threads: int) -> Callable[[], object]:
    """Returns a call of what `jax.jit` makes of the program; it waits for the results."""
    os.environ["NPROC"] = str(threads)  # by which XLA takes its threads
    try:
        import jax
    except ImportError:
        raise PeerUnavailable("JAX is not installed (pip install 'polyml[bench]')") from None
    jax.config.update("jax_enable_x64", True)
    given = program.jax
    function = (lambda *arrays: given(jax, *arrays)) if given else with_module(program.reference, jax.numpy)
    compiled = jax.jit(function)
    arrays = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    return lambda: jax.block_until_ready(compiled(*arrays))


def with_module(function: FunctionType, module: object) -> FunctionType:
    """Returns the function with another module in place of NumPy, also in the functions of its file that it calls."""
    names = {**function.__globals__, "np": module}
    for name in function.__code__.co_names:
        value = names.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            names[name] = with_module(value, module)
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


def _torch(threads: int):
    try:
        import torch
    except ImportError:
        raise PeerUnavailable("PyTorch is not installed (pip install 'polyml[bench]')") from None
    torch.set_num_threads(threads)
    return torch


def _tensors(torch, arguments: Sequence) -> list:
    return [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments]


CALLS = {"polyml": polyml_call, "numpy": numpy_call, "torch": torch_call, "compile": compiled_torch_call, "jax": jax_call}
