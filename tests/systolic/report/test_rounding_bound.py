"""The rounding bound of a kernel: magnitudes beside NumPy's of absolute values, errors of sums in any order within it."""

import math

import numpy as np
import pytest

from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.performance.variants import KernelCall, source_schedule
from polyml.runtime.storage.size_classes import Sizes
from polyml.systolic.report.report import report
from polyml.systolic.report.request import MappingRequest
from polyml.systolic.report.rounding_bound import NoBound, eps, magnitudes, roundings
from tests.systolic.designs import dot, matmul, subsequence, triangular


def call_of(function, args, fp="reassociate"):
    names = function.__code__.co_varnames[: len(args)]
    types = tuple(arg_type(a) for a in args)
    layouts = tuple("C" for a in args if isinstance(a, np.ndarray))
    extents = tuple((n, a.shape) for n, a in zip(names, args) if isinstance(a, np.ndarray))
    limits = tuple((n, tuple((e, e) for e in shape)) for n, shape in extents)
    options = Options(fp=fp)

    class Alone:
        __enter__ = __exit__ = lambda self, *_: None

    return KernelCall(parse(function), types, layouts, Sizes(extents, limits), options, Alone), dict(zip(names, args))


def magnitudes_of(function, *args):
    call, arguments = call_of(function, args)
    after, returned = magnitudes(call, arguments)
    assert all(np.array_equal(value, given) for value, given in zip(arguments.values(), args))
    return after, returned


def random(*shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


def downdated(alpha, A, B, C):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= -2.5
            for k in range(A.shape[1] - 1):
                C[i, j] -= alpha * A[i, k + 1] * B[k + 1, j]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_differences_become_sums_of_absolute_values(dtype):
    A, B, C = random(5, 6, dtype=dtype), random(6, 4, dtype=dtype, seed=1), random(5, 4, dtype=dtype, seed=2)
    after, returned = magnitudes_of(downdated, -1.5, A, B, C)
    a, b, c = (np.abs(x.astype(float)) for x in (A, B, C))
    np.testing.assert_allclose(after["C"], 2.5 * c + 1.5 * a[:, 1:] @ b[1:], rtol=1e-13)
    assert returned is None and after["C"].dtype == np.float64


def stencil(x, d, n):
    y = np.zeros(x.shape[0])
    s = 0.0
    for i in range(1, x.shape[0] - 1):
        y[i] = max(x[i - 1] - x[i + 1], -x[i]) / d[i] + (i - n) * abs(x[i])
        s += y[i] if i < n else -3 * y[i]
    return y, s


def test_what_values_are_made_of():
    x, d, n = random(9), random(9, seed=1), 4
    _, (y, s) = magnitudes_of(stencil, x, d, n)
    a, i = np.abs(x), np.arange(1, 8)
    wanted = np.maximum(a[:-2] + a[2:], a[1:-1]) / np.abs(d[1:-1]) + np.abs(i - n) * a[1:-1]
    np.testing.assert_allclose(y[1:-1], wanted, rtol=1e-13)
    assert s == pytest.approx(float(np.where(i < n, wanted, 3 * wanted).sum()))


def rooted(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.sqrt(x[i])
    return s


def chosen(x):
    for i in range(x.shape[0]):
        x[i] = x[i] + 1.0 if x[i] > 0.5 else x[i]


def divided(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] - 1.0
        x[i] = x[i] / y[i]


def rounded(x, n):
    for i in range(x.shape[0]):
        n[i] = int(x[i] * 3.0)


def halved(x):
    for i in range(x.shape[0]):
        x.real[i] = 2.0 * x.real[i]


@pytest.mark.parametrize(
    "function, args, reason",
    [
        (rooted, [random(4)], "`sqrt`"),
        (chosen, [random(4)], "choices that depend on floats"),
        (divided, [random(4), random(4)], "quotients by what it computes"),
        (rounded, [random(4), np.zeros(4, int)], "choices that depend on floats"),
        (halved, [random(4) + 1j], "parts of complex numbers that are assigned"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_where_errors_do_not_add_up_there_is_no_bound(function, args, reason):
    with pytest.raises(NoBound) as refused:
        magnitudes_of(function, *args)
    assert str(refused.value) == reason


def planned(function, args, fp="reassociate", array=(4, 4), links="manhattan"):
    call, arguments = call_of(function, args, fp)
    plans = [nest.best for nest in report(call, arguments, "", MappingRequest(array=array, links=links)).nests]
    return source_schedule(call).problem.scop, plans


def test_sums_have_as_many_roundings_as_terms():
    scop, plans = planned(matmul, (random(7, 9), random(9, 5), random(7, 5)))
    assert roundings(scop, plans) == 9 + 3  # a product, a sum, a store
    scop, plans = planned(triangular, (random(7, 7), random(7, 5), random(7, 5)))
    assert roundings(scop, plans) == 7 + 3
    scop, plans = planned(matmul, (random(7, 9), random(9, 5), random(7, 5)), "strict")
    assert roundings(scop, plans) == 3 * plans[0].folds.cycles


def test_sums_of_a_line_have_as_many_terms_in_fewer_cycles():
    scop, plans = planned(dot, (random(40), random(40)), array=(16,), links="broadcast")
    assert plans[0].folds.cycles == 3 and roundings(scop, plans) >= 40 + 3


def test_values_made_of_each_other_have_no_more_than_cycles():
    scop, plans = planned(subsequence, (random(7, 9), random(7), random(9)))
    assert roundings(scop, plans) >= 7 + 9 - 2


@pytest.mark.parametrize("dtype, wanted", [(np.float64, np.finfo(np.float64).eps), (np.float32, np.finfo(np.float32).eps),
                                           (np.float16, np.finfo(np.float16).eps), (np.int32, 0.0)])  # fmt: skip
def test_the_least_precise_type_counts(dtype, wanted):
    args = [np.ones(shape, dtype) for shape in ((3, 3), (3, 3), (3, 3))]
    scop, _ = planned(matmul, args)
    assert eps(scop) == wanted


@pytest.mark.parametrize("seed", range(20))
def test_sums_in_any_order_are_within_the_bound_of_each_other(seed):
    rng = np.random.default_rng(seed)
    A, B, C = (rng.standard_normal(s).astype(np.float32) * 10.0 ** rng.integers(-3, 4) for s in ((3, 40), (40, 2), (3, 2)))
    A, B, C = (x.astype(np.float32) for x in (A, B, C))
    scop, plans = planned(matmul, (A, B, C))
    after, _ = magnitudes_of(matmul, A, B, C)
    bound = eps(scop) * roundings(scop, plans) * after["C"]
    order = rng.permutation(40)
    got = C.copy()
    for k in order:
        got += A[:, [k]] * B[[k], :]
    for i in range(3):
        for j in range(2):
            exact = math.fsum([float(C[i, j]), *(float(A[i, k]) * float(B[k, j]) for k in range(40))])
            assert abs(float(got[i, j]) - exact) <= bound[i, j]
            assert bound[i, j] < 1e-4 * after["C"][i, j]


def averaged(x, y, m):
    for i in range(x.shape[0]):
        x[i] /= m - 1.0
        y[i] = x[i] / (x.shape[0] - i) - m / y[i]


def test_quotients_by_numbers_keep_these_as_they_are():
    x, y, m = random(5), random(5, seed=1), -0.75
    with pytest.raises(NoBound, match="quotients by what it computes"):
        magnitudes_of(averaged, x, y, m)  # y is changed


def scaled(x, y, z, m):
    for i in range(x.shape[0]):
        x[i] /= m - 1.0
        y[i] = x[i] / (x.shape[0] - i) - m / z[i]


def test_divisors_are_the_absolute_values_of_what_they_are():
    x, y, z, m = random(5), random(5, seed=1), random(5, seed=2), 0.75
    after, _ = magnitudes_of(scaled, x, y, z, m)
    np.testing.assert_allclose(after["x"], np.abs(x) / 0.25)
    np.testing.assert_allclose(after["y"], after["x"] / (5 - np.arange(5)) + 0.75 / np.abs(z))


def of_complex(alpha, x, y):
    s = 0j
    for i in range(x.shape[0]):
        s += x[i] * np.conj(y[i]) - alpha * x[i].imag
        y[i] = complex(x[i].real, 3.0) / x[i]
    return s


def test_complex_numbers_count_by_their_absolute_values():
    x, y, alpha = random(5) + 1j * random(5, seed=1), random(5, seed=2) - 2j, 1 - 2j
    after, returned = magnitudes_of(of_complex, alpha, x, y)
    assert returned == pytest.approx(float((np.abs(x) * np.abs(y) + abs(alpha) * np.abs(x)).sum()))
    np.testing.assert_allclose(after["y"], (np.abs(x) + 3) / np.abs(x))
