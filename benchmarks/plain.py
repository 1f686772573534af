"""What the decorator costs functions that Python runs, wholly or around compiled parts:

    python -m benchmarks.plain [NAMES]

prints each function's time as it is and as a kernel after its first calls, and whether the second is within 5 % or 5 us of the first.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from types import GeneratorType

import numpy as np

import polyml
from benchmarks.python_functions import Case, chosen

FIRST = 25  # calls before any is timed
ROUNDS = 15


def main() -> int:
    """Returns the exit status: 0 where every function keeps the bound and its results are Python's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions or kinds")
    options = parser.parse_args()
    late = 0
    print(f"{'kind':10} {'function':20} {'Python':>10} {'kernel':>10} {'more':>9}  form")
    for each in chosen(options.names):
        form, plain, ours = timed(each)
        is_late = ours > max(plain * 1.05, plain + 5e-6)
        late += is_late
        print(f"{each.kind:10} {each.function.__name__:20} {plain * 1e6:8.2f} us {ours * 1e6:8.2f} us {(ours - plain) * 1e6:+6.2f} us  "
              f"{form}{'   BEYOND THE BOUND' if is_late else ''}")  # fmt: skip
    count = len(chosen(options.names))
    print(f"{count - late} of {count} within 5 % or 5 us")
    return 1 if late else 0


def as_kernel(case: Case) -> tuple[Callable, polyml.Kernel]:
    """Returns what to call, and the kernel. A function that calls itself finds the kernel by its name while this one is timed."""
    kernel = polyml.kernel(cache=False, fallback="silent")(case.function)
    return kernel, kernel


def timed(case: Case) -> tuple[str, float, float]:
    """Returns the kernel's form, and seconds of a call of the function and of the kernel: medians of interleaved rounds."""
    call, kernel = as_kernel(case)
    module = sys.modules[case.function.__module__]
    name = case.function.__name__

    def bound(function: Callable) -> None:
        setattr(module, name, function)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bound(kernel)
        for _ in range(FIRST):
            whole(call(*case.make()))
        bound(case.function)
        given = case.make()
        calls = max(1, min(200, int(2e-3 / max(1e-7, once(case.function, copies(given, 1))))))
        plain, ours = [], []
        for _ in range(ROUNDS):
            for function, times in ((case.function, plain), (kernel, ours)):
                bound(function)
                times.append(once(function, copies(given, calls)))
        bound(case.function)
    return kernel.status().form, statistics.median(plain), statistics.median(ours)


def copies(given: tuple, count: int) -> list[tuple]:
    """Returns arguments for as many calls: functions may change theirs."""
    return [tuple(x if callable(x) else copy.deepcopy(x) for x in given) for _ in range(count)]


def once(function: Callable, calls: list[tuple]) -> float:
    """Returns the mean seconds of one call."""
    start = perf_counter()
    for arguments in calls:
        whole(function(*arguments))
    return (perf_counter() - start) / len(calls)


def whole(result: object) -> object:
    """Returns what a generator gives, as a list."""
    return list(result) if isinstance(result, GeneratorType) else result


def same(one: object, other: object) -> bool:
    """Returns whether two results are equal, with their types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (np.ndarray, np.generic, float, complex)):
        return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, rtol=1e-12, equal_nan=True))
    return one == other


if __name__ == "__main__":
    sys.exit(main())
