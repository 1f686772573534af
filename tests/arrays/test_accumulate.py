"""Running sums, products and extremes of arrays against NumPy's."""

import numpy as np
import pytest

import polyml

SHAPES = [(0,), (1,), (7,), (8,), (9,), (33,), (131,), (0, 3), (3, 0), (5, 67), (9, 8), (2, 3, 17)]


def along_the_first(A):
    return np.maximum.accumulate(A), np.minimum.accumulate(A), np.fmax.accumulate(A), np.fmin.accumulate(A)


def sums_along_the_first(A):
    return np.add.accumulate(A), np.multiply.accumulate(A), np.cumsum(A, axis=0), np.cumprod(A, 0)


def along_the_last(A):
    least = np.minimum.accumulate(A[..., ::-1], axis=-1)
    return np.maximum.accumulate(A, axis=-1), np.add.accumulate(A, -1), least, np.cumsum(A, axis=-1)


def values(dtype, shape):
    rng = np.random.default_rng(len(shape))
    made = rng.integers(0, 3, shape).astype(dtype)
    if np.dtype(dtype).kind == "f" and made.size > 3:
        made.flat[rng.integers(0, made.size, 3)] = np.nan, -np.inf, np.nan
    return made


def compiled(function, **options):
    return polyml.kernel(cache=False, fallback="error", **options)(function)


def assert_as_numpy(k, A):
    for got, wanted in zip(k(A), k.py_func(A)):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "i1", "u1", "u8", "?"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.sweep(keep=3)
def test_every_type_and_shape(dtype):
    kernels = [compiled(f) for f in (along_the_first, sums_along_the_first, along_the_last)]
    for shape in SHAPES:
        for k in kernels:
            assert_as_numpy(k, values(dtype, shape))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate", "fast"])
def test_large_arrays_on_threads(threads, fp):
    """Whole numbers whose sums are exact; no NaN, which `fp="fast"` does not know."""
    A = np.random.default_rng(0).integers(-5, 6, (300, 1003)).astype("f8")
    k = compiled(along_the_last, threads=threads, fp=fp)
    assert_as_numpy(k, A)
    assert_as_numpy(k, A[::2, ::-3])
    assert_as_numpy(k, np.asfortranarray(A))
    assert_as_numpy(compiled(along_the_first, threads=threads, fp=fp), A[::-1])


def test_sums_of_floats_are_within_the_bound():
    A = np.random.default_rng(1).standard_normal(100_001).astype("f4")
    got = compiled(sums_along_the_first)(A)[0]
    exact = np.cumsum(A.astype("f8"))
    bound = np.arange(1, A.size + 1) * np.finfo("f4").eps * np.cumsum(np.abs(A.astype("f8")))
    assert (np.abs(got - exact) <= bound).all()


def test_sums_in_strict_order_are_bit_for_bit():
    A = np.random.default_rng(2).standard_normal(10_001)
    assert_as_numpy(compiled(sums_along_the_first, fp="strict"), A)


def test_dtype_and_out():
    def running(A, B):
        np.add.accumulate(A, out=B)
        return np.add.accumulate(A, dtype=np.int16), np.maximum.accumulate(A, dtype=np.float32)

    A, B, C = np.arange(40, dtype="i4") % 7, np.zeros(40, "i8"), np.zeros(40, "i8")
    got, wanted = compiled(running)(A, B), running(A, C)
    for a, b in zip((*got, B), (*wanted, C)):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_other_methods_of_ufuncs_are_not_compiled():
    k = compiled(lambda A: np.maximum.reduce(A))
    with pytest.raises(polyml.errors.PolymlError):
        k(np.zeros(3))
