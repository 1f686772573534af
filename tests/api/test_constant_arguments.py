"""Arguments that are texts, None, tuples, members of enumerations or types are constants of the call: the branch that is taken is compiled."""

from __future__ import annotations

import enum
import warnings

import numpy as np
import pytest

import polyml
from polyml.api.calls import constants


class Mode(enum.Enum):
    SUM = "sum"
    MAX = "max"


class Level(enum.IntEnum):
    LOW = 1


def reduced(A, mode="sum", out=None, scale=(2.0, 3)):
    if out is None:
        out = np.zeros(A.shape[0])
    if mode not in ("sum", "max"):
        raise ValueError("mode")
    for i in range(A.shape[0]):
        if mode == "sum":
            out[i] = A[i] * scale[0]
        elif mode is not None:
            out[i] = max(A[i], scale[1])
    return out


def of_mode(A, m):
    if m is Mode.SUM:
        return A.sum()
    if m == Mode.MAX:
        return A.max()
    return A[0]


def made(n, dtype=np.float64, shape=None):
    if shape:
        a, b = shape
    else:
        a, b = n, n
    C = np.ones((a, b), dtype)
    return C * n


def weighted(A, weights=None, *, bias=None):
    s = 0.0
    for i in range(A.shape[0]):
        w = 1.0 if weights is None else weights[i]
        s += A[i] * w
    if bias is not None and bias > 0:
        s += bias
    if not weights:
        s += 1
    return s


def unknown_branch(A, mode):
    if mode == "no":
        print(sorted(A))
    return A * 2


def in_both(A, B, up):
    if up:
        x, y = A, B
    else:
        x, y = B, A
    for i in range(A.shape[0]):
        x[i] += y[i]
    return x[0]


def compiled(function, **settings):
    return polyml.kernel(function, cache=False, fallback="error", on_defect="raise", **settings)


def ran(function, *arguments, **keywords):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        result = function(*given, **keywords)
    except ValueError as error:
        result = (type(error), error.args)
    if isinstance(result, np.ndarray):
        result = (result.dtype, result.tolist())
    return [type(result), result, *(a.tolist() for a in given if isinstance(a, np.ndarray))]


X = np.array([1.0, 4.0, 2.5])
CALLS = [
    (reduced, (X,), {}), (reduced, (X, "max"), {}), (reduced, (X, "sum", np.ones(3)), {}), (reduced, (X,), {"mode": "max", "scale": (1, 2)}),
    (reduced, (np.array([1, 2], np.int32), "max"), {}), (reduced, (X, "bad"), {}), (reduced, (np.empty(0, np.float32), None), {}),
    (of_mode, (X, Mode.SUM), {}), (of_mode, (X, Mode.MAX), {}), (of_mode, (X, None), {}), (of_mode, (X, "sum"), {}),
    (of_mode, (X.astype(np.float32), Mode.MAX), {}), (made, (3,), {}), (made, (3, np.float32), {}), (made, (2, np.int8, (1, 2)), {}),
    (made, (2, np.dtype("int16")), {}), (made, (2, float, ()), {}), (weighted, (X,), {}), (weighted, (X,), {"bias": 2.0}),
    (weighted, (X,), {"bias": -2}), (unknown_branch, (X, "yes"), {}), (in_both, (X, X * 2, True), {}), (in_both, (X, X * 2, False), {}),
]  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("function, arguments, keywords", CALLS)
def test_calls_are_compiled_for_constants_and_give_what_python_gives(function, arguments, keywords, fp, threads):
    kernel = compiled(function, fp=fp, threads=threads)
    for _ in range(3):
        assert ran(kernel, *arguments, **keywords) == ran(function, *arguments, **keywords)


def test_one_kernel_takes_all_of_them_in_any_order():
    kernel = compiled(reduced)
    for mode in ("sum", "max", "sum", "bad", "max"):
        for out in (None, np.ones(3), None):
            assert ran(kernel, X, mode, out) == ran(reduced, X, mode, out)
    assert kernel.compiled and "taken" not in kernel.explain()


def test_constants_that_are_equal_but_not_the_same_are_told_apart():
    def typed(A, pair):
        return A * pair[0]

    kernel = compiled(typed)
    for pair in ((1,), (1.0,), (True,), (0.0,), (-0.0,), (1j,)):
        got, wanted = kernel(np.array([2, -2]), pair), typed(np.array([2, -2]), pair)
        assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()
    texts = [
        constants.text(each) for each in (1, 1.0, True, "1", (1,), ((1,),), None, "None", Mode.SUM, np.float32, np.dtype("f4"))
    ]
    assert len({*texts}) == len(texts)


def test_code_for_constants_is_kept_on_disk_under_names_of_its_own(tmp_path):
    with polyml.config.scope(cache_dir=str(tmp_path)):
        for expected in (False, True):
            kernel = polyml.kernel(weighted, fallback="error", cache=True)
            for bias in (None, 2.0):
                assert ran(kernel, X, bias=bias) == ran(weighted, X, bias=bias)
                assert kernel.from_cache is expected


def test_a_branch_that_is_not_compiled_counts_only_where_it_is_taken(capsys):
    kernel = polyml.kernel(unknown_branch, cache=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel(X, "yes")
    assert kernel.compiled
    with pytest.warns(polyml.PolymlPerformanceWarning):
        assert kernel(X, "no").tolist() == (X * 2).tolist()
    assert not kernel.compiled and capsys.readouterr().out
    kernel(X, "yes")


def test_combinations_beyond_a_number_run_as_plain_python():
    def named(A, name):
        return A * 2 if name == "3" else A * 3

    kernel = polyml.kernel(named, cache=False, fallback="silent")
    for number in range(constants.MOST + 3):
        assert ran(kernel, X, str(number)) == ran(named, X, str(number))
    assert kernel.compiled is False
    assert kernel(X, "3").tolist() == (X * 2).tolist() and kernel.compiled


def test_a_refusal_is_by_the_value():
    def ended(A, name):
        return A * 2 if name == "double" else A.tobytes() + name.encode()

    kernel = polyml.kernel(ended, cache=False, fallback="silent")
    for name in [*map(str, range(constants.MOST + 3)), "1", "1", "1"]:
        assert kernel(X, name) == ended(X, name) and not kernel.compiled
    assert kernel(X, "double").tolist() == (X * 2).tolist() and kernel.compiled
    assert kernel(X, "1") == ended(X, "1")


def rebound(A, out=None):
    for i in range(A.shape[0]):
        if out is None:
            out = A
        A[i] += 1
    return A


def compared(A, level):
    return A * 2 if level == 1 else A


def texts(A, name):
    return A * len(name)


@pytest.mark.parametrize("function, value", [(rebound, None), (compared, Level.LOW), (texts, "abc"), (compared, [1])])
def test_what_is_not_compiled_runs_as_plain_python(function, value):
    kernel = polyml.kernel(function, cache=False, fallback="silent")
    for _ in range(2):
        assert ran(kernel, X, value) == ran(function, X, value)


def test_status_and_explain_tell_of_the_code_that_ran():
    kernel = compiled(of_mode)
    kernel(X, Mode.SUM)
    assert kernel.status().form == "compiled" and "compiled" in kernel.explain().splitlines()[0]
    assert kernel.remarks()
