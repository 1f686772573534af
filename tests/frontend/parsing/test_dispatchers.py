"""Functions that another compiler made of Python functions, such as numba's: they are inlined as what their texts say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polyml


class Dispatcher:
    """A Dispatcher looks like numba's: it holds the Python function, and rounds what this returns where it has a signature."""

    def __init__(self, py_func: Callable, signature: type | None = None, types: dict[str, object] | None = None):
        self.py_func, self.locals = py_func, types or {}
        self._can_compile = signature is None
        self._signature = signature

    def __call__(self, *values):
        result = self.py_func(*values)
        return result if self._signature is None else self._signature(result)


class prange:
    """A prange is what numba's is in plain Python: making one gives a range."""

    def __new__(cls, *values):
        return range(*values)


prange.__module__ = "numba.misc.special"


def _tripled(x):
    return 3 * x


lazily = Dispatcher(_tripled)
eagerly = Dispatcher(_tripled, signature=np.int8)
locally = Dispatcher(_tripled, types={"y": np.int8})


def calls_lazily(A):
    for i in range(A.shape[0]):
        A[i] = lazily(A[i])


def calls_eagerly(A):
    for i in range(A.shape[0]):
        A[i] = eagerly(A[i])


def calls_locally(A):
    for i in range(A.shape[0]):
        A[i] = locally(A[i])


def sums_of_rows(A, sums):
    for i in prange(A.shape[0]):
        for j in prange(1, A.shape[1], 2):
            sums[i] += A[i, j]


def test_a_function_that_is_compiled_for_any_types_is_inlined():
    A = np.arange(5)
    polyml.kernel(calls_lazily, fallback="error", cache=False)(A)
    assert A.tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize("function", [calls_eagerly, calls_locally])
def test_a_function_that_rounds_to_types_of_its_own_is_not(function):
    with pytest.raises(polyml.NotAffineError, match=r"`(eager|local)ly` rounds to types that are not in its text"):
        polyml.kernel(function, fallback="error", cache=False)(np.arange(5))


def test_such_a_function_is_called_by_python():
    A = np.array([1, 100])
    polyml.kernel(calls_eagerly, fallback="silent", cache=False)(A)
    assert A.tolist() == [3, 44]  # 300 - 256


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["reassociate", "strict"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32])
@pytest.mark.parametrize("shape", [(5, 6), (1, 1), (0, 4), (3, 0)])
def test_prange_is_a_range(shape, dtype, fp, threads):
    A = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    wanted, sums = np.zeros(shape[0], dtype), np.zeros(shape[0], dtype)
    sums_of_rows(A, wanted)
    polyml.kernel(sums_of_rows, fallback="error", cache=False, fp=fp, threads=threads)(A, sums)
    assert np.array_equal(sums, wanted)


class Kind:
    """A Kind looks like numba's type of a parameter: a number by its name, or an array, which has elements and dimensions."""

    def __init__(self, name: str, ndim: int | None = None, layout: str = "A"):
        self.name = name
        if ndim is not None:
            self.dtype, self.ndim, self.layout = name, ndim, layout

    def __str__(self) -> str:
        return self.name


class Signature:
    """A Signature looks like numba's: the types of the parameters and of the result."""

    def __init__(self, return_type: str, *args: Kind):
        self.return_type, self.args = return_type, args


class Signed:
    """A Signed looks like a function that numba compiled with a signature, and converts as numba does."""

    _can_compile = False

    def __init__(self, return_type: str, *args: Kind):
        self.nopython_signatures = [Signature(return_type, *args)]

    def __call__(self, *values):
        """Returns this object for a function that it decorates, and else what the function gives for these numbers and arrays."""
        if not hasattr(self, "py_func"):
            [self.py_func] = values
            return self
        [signature] = self.nopython_signatures
        result = self.py_func(*map(_given, values, signature.args))
        return None if signature.return_type == "none" else np.asarray(result).astype(signature.return_type).item()


def _given(value, kind: Kind):
    """Returns what numba makes of an argument; raises TypeError where it has no conversion."""
    if isinstance(value, np.ndarray) != hasattr(kind, "ndim"):
        raise TypeError("No matching definition")
    if isinstance(value, np.ndarray):
        if (str(value.dtype), value.ndim) != (kind.name, kind.ndim):
            raise TypeError("No matching definition")
        return value
    return np.asarray(value).astype(kind.name).item()


@Signed("int32", Kind("int64", 1))
def random_int(state):
    state[0] = (((state[0] & 4294967294) << 12) & 0xFFFFFFFF) ^ ((((state[0] << 13) & 0xFFFFFFFF) ^ state[0]) >> 19)
    return state[0] ^ state[1]


@Signed("float32", Kind("int64", 1))
def random_float(state):
    number = random_int(state)
    return abs(float(number) / 0x7FFFFFFF)


@Signed("int8", Kind("int16"), Kind("int64"))
def narrow(a, b):
    return a + b


@Signed("bool", Kind("float64"))
def above(x):
    return x > 2


@Signed("none", Kind("float64", 1), Kind("int64"))
def stores(row, k):
    row[k] = k + 0.5


def randoms(state, out):
    for i in range(out.shape[0]):
        x = random_float(state)
        out[i] = x


def narrowed(A, n):
    total = 0
    for i in range(A.shape[0]):
        total += narrow(A[i], n)
    return total, narrow(1, 2)


def both_above(x):
    return above(x), above(3)


def stored(A, i):
    stores(A[i], 1)
    stores(A[0], i)


def ran(function, *arguments):
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    result = function(*given)
    return [type(result), repr(result), *(a.tolist() for a in given if isinstance(a, np.ndarray))]


def compiled(function, **settings):
    return polyml.kernel(function, **{"fallback": "error", "cache": False, "on_defect": "raise", **settings})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_a_generator_of_random_numbers_rounds_as_its_signature_says(size, dtype, fp, threads):
    state, out = np.array([123456789, 987654321, 5]), np.zeros(size, dtype)
    assert ran(compiled(randoms, fp=fp, threads=threads), state, out) == ran(randoms, state, out)


@pytest.mark.parametrize("n", [0, 127, -129, 2**40, True])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64, np.bool_])
def test_integers_wrap_and_are_pythons(dtype, n):
    for A in (np.arange(9) * 30_001, np.zeros(0)):
        assert ran(compiled(narrowed), A.astype(dtype), n) == ran(narrowed, A.astype(dtype), n)


@pytest.mark.parametrize("x", [2, 2.5, True, np.float32(3), np.int8(2), float("nan")])
def test_truth_values(x):
    assert ran(compiled(both_above), x) == ran(both_above, x)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_a_function_that_returns_nothing_changes_its_array(i):
    assert ran(compiled(stored), np.zeros((3, 4)), i) == ran(stored, np.zeros((3, 4)), i)


@pytest.mark.parametrize(
    "function, arguments, message, is_called",
    [
        (narrowed, (np.zeros(2), 1), "float64 stands where a function was compiled for int16", False),
        (both_above, (1j,), "a Python complex stands where a function was compiled for float64", False),
        (stored, (np.zeros((3, 4), np.float32), 1), "an array of float32 stands where a function was compiled for f64", True),
        (stored, (np.zeros((3, 4, 1)), 1), "2 dimensions where a function was compiled for an array with 1 dimension", True),
        (both_above, (None,), "this is not f64, for which the function was compiled", False),
    ],
)
def test_other_arguments_are_left_to_the_compiled_function(function, arguments, message, is_called):
    with pytest.raises(polyml.PolymlError, match=message):
        compiled(function)(*arguments)
    if is_called:
        with pytest.raises(TypeError, match="No matching definition|must be a real number"):
            compiled(function, fallback="silent")(*arguments)


def test_a_new_signature_makes_new_code():
    def called(n):
        return converts(n)

    converts = Signed("int8", Kind("int64"))(_tripled)
    kernel = compiled(called)
    assert kernel(100) == 44
    converts = Signed("int64", Kind("int64"))(_tripled)
    assert kernel(100) == 300
