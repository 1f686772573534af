"""`dtype=np.result_type(A, B)` is the type to which NumPy promotes arrays and numbers."""

import numpy as np
import pytest

import polyml

TYPES = "bool int8 uint8 int32 uint64 float16 float32 float64 complex64".split()


@polyml.kernel(fallback="error")
def of_arrays(a, x):
    y = np.zeros(x.shape[0], dtype=np.result_type(a, x))
    y[:] = x
    return y


@polyml.kernel(fallback="error")
def of_numbers(a, x, s):
    return np.full(a.shape[0], 3, dtype=np.result_type(a, x, s))


@pytest.mark.parametrize("first", TYPES)
def test_types_are_promoted_as_numpy_does(first):
    a = np.ones(3, first)
    for second in TYPES:
        x = np.ones(5, second)
        made = of_arrays(a, x)
        assert made.dtype == np.result_type(a, x) and made.tolist() == np.ones(5).tolist()
        for number in (2, 2.5, np.float32(3)):
            assert of_numbers(a, x, number).dtype == np.result_type(a, x, number)


def test_arrays_without_elements_have_a_type_too():
    assert of_arrays(np.zeros(0, np.int8), np.zeros((0,), np.float32)).dtype == np.float32
