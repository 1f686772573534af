"""How far a result may differ from the reference, and how far it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polyml.kernels import Benchmark


@dataclass(frozen=True)
class Accuracy:
    """An accuracy compares the results of one call with the reference.

    error: the largest |got - expected| over all outputs.
    ratio: the largest |got - expected| / bound, at most 1 for a correct result; inf where one of the two is not finite and the
        other differs, or where an exact output differs at all.
    output: the name of the argument in which the ratio is reached.
    """

    error: float
    ratio: float
    output: str

    @property
    def ok(self) -> bool:
        """Returns whether the result is correct."""
        return self.ratio <= 1.0


def compare(benchmark: Benchmark, size: Mapping[str, int], arguments: Mapping, got: Mapping,
            expected: Mapping | None = None, scales: Mapping | None = None) -> Accuracy:  # fmt: skip
    """Returns how far the results of a call are from the reference, and whether within the bound

        bound = 2 terms(size) eps magnitude

    A chain of n roundings gives a result within n eps of the exact one, relative to the sum of the absolute values of what was
    added (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sec. 3.1); the reference rounds as well, hence the 2.

    arguments, got: {argument: value} before and after the call.
    expected: `reference(*arguments)`; None: it is computed.
    scales: `magnitude(...)`; None: it is computed.
    """
    values = tuple(arguments.values())
    expected = benchmark.reference(*values) if expected is None else expected
    scales = magnitude(benchmark, values) if scales is None else scales
    parts = benchmark.determined(size) if benchmark.determined else {}
    worst = Accuracy(0.0, 0.0, benchmark.outputs[0])
    for name in benchmark.outputs:
        part = parts.get(name, ...)
        want, have = expected[name][part], got[name][part]
        bound = _bound(benchmark, size, want.dtype, scales.get(name, 0.0), part)
        worst = max(worst, _accuracy(name, have, want, bound), key=lambda a: a.ratio)
    return worst


def magnitude(benchmark: Benchmark, values: tuple) -> dict:
    """Returns {output: scale of its rounding errors, a number or an array}; {} where results are exact.

    values: the kernel's arguments.
    """
    if benchmark.terms is None:
        return {}
    if benchmark.magnitude is not None:
        return benchmark.magnitude(*values)
    return benchmark.reference(*(abs(v) for v in values))


def _bound(benchmark: Benchmark, size: Mapping[str, int], dtype: np.dtype, scale, part):
    """Returns the largest error that is allowed for a part of an output: a number, or an array like that part.

    scale: the scale of the output's rounding errors, a number or an array.
    part: an index of the output.
    """
    if benchmark.terms is None:
        return 0.0
    scale = scale[part] if np.ndim(scale) else scale
    return 2.0 * benchmark.terms(size) * float(np.finfo(dtype).eps) * scale


def _accuracy(name: str, have: np.ndarray, want: np.ndarray, bound) -> Accuracy:
    """Returns the comparison of one output with the reference.

    name: the output.
    have, want: its value after the call, and the expected one.
    bound: the largest error that is allowed.
    """
    if have.shape != want.shape:
        return Accuracy(np.inf, np.inf, name)
    if have.size == 0:
        return Accuracy(0.0, 0.0, name)
    same = (have == want) | ((have != have) & (want != want))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(same, 0.0, np.abs(have.astype(np.float64) - want.astype(np.float64)))
        ratio = np.where(same, 0.0, error / bound)
    error, ratio = (np.where(np.isnan(x), np.inf, x) for x in (error, ratio))
    return Accuracy(float(error.max()), float(ratio.max()), name)
