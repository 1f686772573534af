"""The table: each case by polyml, by PyTorch (cuBLAS and cuDNN on NVIDIA's GPUs), by torch.compile, by Triton, and a copy of as many bytes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import polyml
from benchmarks.gpu.cases import Case
from benchmarks.gpu.devices import Device, rotated

COLUMNS = ("polyml", "torch", "torch.compile", "triton", "copy")


@dataclass(frozen=True)
class Row:
    """A Row is what was measured of a case.

    seconds: {name of a column: median}, of those that ran.
    calls: the time, in seconds, that the host takes to start polyml's and PyTorch's kernels.
    problem: what is wrong with polyml's result; "" where nothing is.
    """

    case: Case
    seconds: dict[str, float]
    calls: tuple[float, ...] = ()
    problem: str = ""

    def rate(self, column: str) -> float:
        """Returns work per second in the case's unit."""
        return self.case.work / self.seconds[column] / (1e12 if self.case.unit == "TFLOP/s" else 1e9)

    def cells(self) -> list[str]:
        """Returns the texts of the row: the name, a rate for each column, the share of the fastest library, and the host's times."""
        rates = [f"{self.rate(name):.3g}" if name in self.seconds else "" for name in COLUMNS]
        others = [self.seconds[name] for name in COLUMNS[1:] if name in self.seconds]
        share = f"{min(others) / self.seconds['polyml']:.0%}" if others and "polyml" in self.seconds else ""
        return [self.case.name, self.case.unit, *rates, share, " / ".join(f"{each * 1e6:.0f}" for each in self.calls)]


def rows(cases: Sequence[Case], device: Device, repeats: int, compiles: bool = True) -> Iterator[Row]:
    """Yields the row of each case. compiles: whether torch.compile is measured too."""
    for case in cases:
        with _rounding(case, device):
            yield _row(case, device, repeats, compiles)


@contextmanager
def _rounding(case: Case, device: Device) -> Iterator[None]:
    """PyTorch rounds operands in this context if the case does."""
    products = None if device.torch is None else device.torch.backends.cuda.matmul
    before = products and products.allow_tf32
    if products:
        products.allow_tf32 = case.tf32
    try:
        yield
    finally:
        if products:
            products.allow_tf32 = before


def header() -> list[str]:
    """Returns the lines above the rows, of a table in Markdown."""
    names = ["case", "unit", *COLUMNS, "of the fastest", "host, us"]
    return [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def _row(case: Case, device: Device, repeats: int, compiles: bool) -> Row:
    given = case.arguments(np.random.default_rng(1))
    shape, kind = case.result
    size = sum(each.nbytes for each in given) + int(np.prod(shape)) * np.dtype(kind).itemsize
    sets = rotated(lambda: [device.array(each) for each in (np.zeros(shape, kind), *given)], size, device.cache_bytes)
    settings = {"fallback": "error", "fp": "reassociate", "tf32": case.tf32, "libraries": case.libraries}
    kernel = polyml.kernel(case.kernel, target=device.target, **settings)
    try:
        kernel(*sets[0])
    except polyml.PolymlError as problem:
        return Row(case, {}, problem=f"not run: {problem.message}")
    wrong = _problem(case, device.host(sets[0][0]), device.reference(case, given))

    def ours(number: int) -> object:
        return kernel(*sets[number % len(sets)])

    seconds, calls = {"polyml": device.seconds(ours, repeats)}, [device.calls(ours, repeats)]
    for name, run in _others(case, sets, device, compiles):
        try:
            seconds[name] = device.seconds(run, repeats)
            calls += [device.calls(run, repeats)] * (name == "torch")
        except Exception as problem:  # a library's own
            wrong = wrong or f"{name} raised {type(problem).__name__}: {str(problem).splitlines()[0][:100]}"
    return Row(case, seconds, tuple(calls), wrong)


def _problem(case: Case, found: np.ndarray, wanted: np.ndarray) -> str:
    """Returns how far a result is from the one in float64, "" where it is near."""
    apart = float(np.max(np.abs(found.astype(float) - wanted)) / np.max(np.abs(wanted)))
    return "" if apart <= case.tolerance else f"polyml is {apart:.1e} from the result in float64"


def _others(
    case: Case, sets: Sequence[Sequence[Any]], device: Device, compiles: bool
) -> Iterator[tuple[str, Callable[[int], object]]]:
    """Yields the names and the runs of libraries, of arguments in turn."""
    torch = device.torch
    if torch is None:
        return
    tensors = [[device.tensor(each) for each in arguments] for arguments in sets]

    def in_turn(function: Callable[..., object]) -> Callable[[int], object]:
        return lambda number: function(*tensors[number % len(tensors)][1:])

    yield "torch", in_turn(lambda *given: case.library(torch, *given))
    if compiles:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch._dynamo.reset()  # or else the eighth row and later ones are not compiled, without a word
            yield "torch.compile", in_turn(torch.compile(lambda *given: case.library(torch, *given)))
    if case.is_product and (made := _triton(tensors[0][0], case.tf32)):
        yield "triton", in_turn(made)
    if case.unit == "GB/s":
        yield "copy", lambda number: tensors[number % len(tensors)][0].copy_(tensors[number % len(tensors)][1])


def _triton(tensor: Any, tf32: bool) -> Callable[..., object] | None:
    """Returns the product by Triton, None where Triton or a GPU is missing. tf32: whether it rounds operands."""
    if not tensor.is_cuda:
        return None
    try:
        from benchmarks.gpu.triton_product import product
    except ImportError:
        return None
    return partial(product, precision="tf32" if tf32 else "ieee")
