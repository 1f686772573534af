"""What one case computes, and the ways in which the peers do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.peer import PeerUnavailable


@dataclass(frozen=True)
class Form:
    """A Form is one way to compute a problem.

    call: the work that is timed.
    error: how far the result of one call is from the reference, over what rounding allows: at most 1 for a right one.
    clear: runs before the first call, so that no other form's result is seen.
    prepare: runs before each call, outside its time, where calls change their inputs.
    flops: those of one call, where they are not the problem's own number.
    """

    call: Callable[[], object]
    error: Callable[[], float]
    clear: Callable[[], object] | None = None
    prepare: Callable[[], object] | None = None
    flops: int | None = None


@dataclass(frozen=True)
class Problem:
    """A Problem is what all peers compute in one case.

    flops: additions and multiplications of one call. forms: {peer: a function of the number of threads that makes its forms by
    name}; the fastest right one is the peer's time. The
        functions raise PeerUnavailable.
    """

    flops: int
    forms: Mapping[str, Callable[[int], dict[str, Form]]]


def uniform(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Returns independent values in [-1, 1)."""
    return random.uniform(-1, 1, shape).astype(dtype)


def product_error(got: np.ndarray, expected: np.ndarray, depth: int) -> float:
    """Returns the largest error / (depth eps), for sums of `depth` products of numbers in [-1, 1].

    What rounding may do to such a sum in any order is depth eps sum |a| |b| (Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., sec. 3.1), about depth / 4 times as much; sums of random numbers stay far below it, and below 1 here.

    expected: in float64, of the same shape.
    """
    if got.shape != expected.shape:
        return float("inf")
    return float(np.abs(got - expected).max(initial=0)) / (depth * float(np.finfo(got.dtype).eps))


@cache
def compiled(function: Callable, threads: int) -> Callable:
    """Returns the function as a kernel, one for all sizes that this process serves; nothing comes from the disk cache."""
    import polyml

    return polyml.kernel(threads=threads, cache=False, fallback="error")(function)


@cache
def torch_library(threads: int):
    """Returns PyTorch on that many threads, in inference mode from now on."""
    try:
        import torch
    except ImportError:
        raise PeerUnavailable("PyTorch is not installed") from None
    torch.set_num_threads(threads)
    torch_library.mode = torch.inference_mode()  # ends when it is collected
    torch_library.mode.__enter__()
    return torch
