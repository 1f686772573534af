"""np.searchsorted and np.interp in kernels, beside NumPy's."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python

KINDS = ["float64", "float32", "float16", "int64", "int32", "int8", "uint64", "uint8", "bool"]


def left(a, v):
    return np.searchsorted(a, v)


def right(a, v):
    return a.searchsorted(v, side="right")


def sum_of_places(a, V):
    total = 0
    for i in range(V.shape[0]):
        total += np.searchsorted(a[1:], V[i, 0])
    return total


def interpolated(x, xp, fp):
    return np.interp(x, xp, fp)


def with_ends(x, xp, fp):
    return np.interp(x, xp, fp, left=-1, right=7.5)


def sorted_array(kind):
    array = np.sort((np.random.default_rng(0).random(37) * 50).astype(kind))
    if kind.startswith("float"):
        array[-3:] = np.nan
    return array


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_each_type_and_shape_have_numpys_places(kind):
    array, numbers = sorted_array(kind), np.random.default_rng(1)
    keys = [
        numbers.random(40) * 60, (numbers.random((5, 7)) * 60).astype(kind), np.array([np.nan, 1.0]), np.zeros(0), np.zeros((3, 0)),
        np.array(4.0), 3, 2.5, True, np.float32(0.1), np.int8(3),
    ]  # fmt: skip
    calls = [(part, key) for part in (array, array[:0], array[:1], array[::2]) for key in keys]
    check(left, *calls, settings=({},))
    check(right, *calls, settings=({},))


def test_places_are_the_same_in_each_setting_and_in_loops():
    array, numbers = sorted_array("float64"), np.random.default_rng(1)
    check(left, (array, numbers.random(5000) * 60))
    check(sum_of_places, (array[:-3], numbers.random((9, 3)) * 60), (array[:1], np.ones((2, 2))))


def test_a_python_float_is_not_rounded_to_the_arrays_type():
    array = np.array([0.1], np.float32)
    check(left, (array, 0.1), (array, np.float32(0.1)))
    check(right, (array, 0.1), (array, np.float32(0.1)))


@pytest.mark.parametrize("kind", KINDS)
def test_np_interp_is_numpys_bit_for_bit(kind):
    xp = np.unique(sorted_array(kind)[:-3])
    fp = np.random.default_rng(2).random(len(xp)).astype(kind)
    x = np.append(np.random.default_rng(3).random(50) * 60 - 5, [np.nan, np.inf, -np.inf, *xp.astype(float)])
    calls = [
        (x, xp, fp),
        (x.reshape(-1, 1).astype("float32"), xp, fp),
        (x[:0], xp, fp),
        (x, xp[:1], fp[:1]),
        (3, xp, fp),
        (2.5, xp, fp),
    ]
    check(interpolated, *calls)
    check(with_ends, *calls, settings=({},))


def test_np_interp_beside_infinities_takes_the_other_point():
    x = np.linspace(-1, 5, 25)
    check(interpolated, *((x, np.arange(5.0), np.array(fp)) for fp in ([1, np.inf, np.inf, 2, 3], [-np.inf, 1, np.nan, np.inf, 2])))


def test_calls_that_numpy_refuses_run_as_plain_python():
    runs_as_python(interpolated, np.ones(3), np.zeros(0), np.zeros(0))
    runs_as_python(interpolated, np.ones(3), np.zeros(2), np.zeros(3))
    runs_as_python(left, np.ones((2, 2)), np.ones(3))
    runs_as_python(interpolated, np.ones(3), np.arange(3.0), np.arange(3) * 1j)


def test_a_sorter_is_refused_with_what_would_be_accepted():
    @polyml.kernel(fallback="error")
    def places(a, v):
        return np.searchsorted(a, v, sorter=None) + np.searchsorted(a, v, side="middle")

    with pytest.raises(polyml.NotAffineError, match="polyml compiles: np.searchsorted.a, v, side='left'. of a vector a"):
        places(np.ones(3), np.ones(3))
