"""Calls of kernels that are compiled whole, compared with plain Python."""

import warnings

import numpy as np

import polyml

SETTINGS = ({}, {"fp": "strict", "threads": 1}, {"threads": 2})


def same(got: object, want: object, *, bound: float = 0.0) -> bool:
    """Whether two results have the same types, shapes and values. bound: the relative error that is allowed"""
    if isinstance(want, tuple):
        return type(got) is type(want) and len(got) == len(want) and all(same(g, w, bound=bound) for g, w in zip(got, want))
    if type(got) is not type(want) or getattr(got, "dtype", None) != getattr(want, "dtype", None):
        return False
    if np.shape(got) != np.shape(want):
        return False
    if want is None or np.asarray(want).dtype.kind not in "fc":
        return bool(np.array_equal(got, want))
    return bool(np.allclose(got, want, rtol=bound, atol=bound, equal_nan=True))


def check(function, *calls, settings=SETTINGS, bound: float = 0.0) -> None:
    """Compiles a function whole under each setting, and compares results and changed arguments of each call with plain Python's."""
    for setting in settings:
        kernel = polyml.kernel(fallback="error", **setting)(function)
        for given in calls:
            ours, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in given] for _ in range(2))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                want = function(*theirs)
            got = kernel(*ours)
            assert same(got, want, bound=bound), (setting, given, got, want)
            assert same(tuple(ours), tuple(theirs), bound=bound), (setting, given, ours, theirs)


def runs_as_python(function, *given) -> None:
    """Calls a function whose arguments the compiled form does not take, and compares with plain Python, errors with their texts."""

    def outcome(call):
        try:
            return call(*[a.copy() if isinstance(a, np.ndarray) else a for a in given])
        except Exception as problem:
            return type(problem), str(problem)

    got, want = outcome(polyml.kernel(fallback="silent")(function)), outcome(function)
    assert same(got, want) or got == want, (given, got, want)
