"""What a kernel is compared with. Each peer turns a benchmark into a call on its arguments, in its own process."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.c_source import c_source
from benchmarks.numba_source import numba_source
from benchmarks.parallel_loops import PARALLEL_LOOPS
from kernels import Benchmark

Call = Callable[..., object]


class PeerUnavailable(Exception):
    """The peer is not on this machine, or has no form of this kernel; the text says which."""


@dataclass(frozen=True)
class Peer:
    """variants: {label: a call that changes the arguments as the kernel does, or returns the outputs}.

    When there are several, the fastest correct one is the peer's time.
    fixed_size: compiled for the arguments' sizes, so that it must not be called with others.
    """

    name: str
    what: str
    variants: Callable[[Benchmark, Mapping[str, object], int], dict[str, Call]]
    fixed_size: bool = False


def _polyml(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    import polyml

    call = polyml.kernel(fallback="error", cache=False, threads=threads)(benchmark.kernel.py_func)
    return {"": call}


def _numpy(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    if not benchmark.numpy:
        raise PeerUnavailable("no NumPy form")
    return {"": benchmark.reference}


def _numba(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    try:
        import numba
    except ImportError:
        raise PeerUnavailable("numba is not installed (pip install 'polyml[bench]')") from None
    numba.set_num_threads(threads)
    loops = PARALLEL_LOOPS[benchmark.name]
    # error_model="numpy": divisions need no test for zero, as in the other peers.
    serial = {"serial": numba.njit(fastmath=True, error_model="numpy")(_python(benchmark, (), numba))}
    if not loops or threads == 1:
        return serial
    parallel = numba.njit(parallel=True, fastmath=True, error_model="numpy")(_python(benchmark, loops, numba))
    return {"prange": parallel} | serial


def _python(benchmark: Benchmark, loops: tuple[str, ...], numba) -> Callable:
    text = numba_source(benchmark.kernel.py_func, loops, benchmark.dtype)
    namespace = {"np": np, "math": math, "prange": numba.prange}
    exec(compile(text, f"<numba {benchmark.name}>", "exec"), namespace)  # the kernel's own source
    return namespace[benchmark.name]


_FLAGS = ("-O3", "-march=native", "-ffast-math", "-std=gnu11", "-fPIC")


def _gcc(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    compiler = shutil.which("gcc")
    if compiler is None:
        raise PeerUnavailable("gcc is not installed")
    return {"": _compiled_c(benchmark, arguments, (compiler, *_FLAGS))}


def _polly(benchmark: Benchmark, arguments: Mapping[str, object], threads: int) -> dict[str, Call]:
    compiler = _clang_with_polly()
    if compiler is None:
        raise PeerUnavailable("there is no clang with Polly")
    options = ["-mllvm", "-polly"]
    if threads > 1:
        options += ["-mllvm", "-polly-parallel", "-lgomp"]
    return {"": _compiled_c(benchmark, arguments, (compiler, *_FLAGS, *options))}


@cache
def _clang_with_polly() -> str | None:
    """The first clang in the path, newest version first, that takes Polly's option."""
    for name in ("clang", *(f"clang-{version}" for version in range(30, 9, -1))):
        compiler = shutil.which(name)
        if compiler is None:
            continue
        test = subprocess.run(
            [compiler, "-O3", "-mllvm", "-polly", "-x", "c", "-c", "-", "-o", os.devnull],
            input=b"void f(void) {}", capture_output=True, check=False,
        )  # fmt: skip
        if test.returncode == 0:
            return compiler
    return None


def _compiled_c(benchmark: Benchmark, arguments: Mapping[str, object], command: tuple[str, ...]) -> Call:
    text = c_source(benchmark.kernel.py_func, arguments, benchmark.dtype)
    with tempfile.TemporaryDirectory(prefix="polyml-compare-") as folder:
        source, code, library = (Path(folder, f"kernel.{suffix}") for suffix in ("c", "o", "so"))
        source.write_text(text)
        flags = [f for f in command if not f.startswith("-l")]
        libraries = [f for f in command if f.startswith("-l")]
        # Linked without -ffast-math, with which GCC's libraries let the whole process flush subnormal numbers to zero.
        # Libraries come last, or the linker drops what only they define.
        link = [command[0], "-shared", str(code), "-o", str(library), "-lm", *libraries]
        for step in ([*flags, "-c", str(source), "-o", str(code)], link):
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise PeerUnavailable(f"{Path(command[0]).name} failed: {done.stderr.strip().splitlines()[-1:]}")
        function = getattr(ctypes.CDLL(str(library)), benchmark.name)  # stays mapped after the file is gone
    function.restype = None
    real = {"float32": ctypes.c_float, "float64": ctypes.c_double}.get(benchmark.dtype)

    def call(*values: object) -> None:
        function(*(_c_value(v, real) for v in values if not isinstance(v, int)))

    return call


def _c_value(value: object, real: type | None) -> object:
    return ctypes.c_void_p(value.ctypes.data) if isinstance(value, np.ndarray) else real(value)


PEERS = {
    p.name: p
    for p in (
        Peer("polyml", "polyml, default settings", _polyml),
        Peer("numpy", "the NumPy form of the kernel", _numpy),
        Peer("numba", "numba, parallel=True and fastmath=True, prange by hand; or its serial form if faster", _numba),
        Peer("gcc", "gcc -O3 -march=native -ffast-math, which is serial", _gcc, fixed_size=True),
        Peer("polly", "clang -O3 -march=native -ffast-math with Polly", _polly, fixed_size=True),
    )
}
