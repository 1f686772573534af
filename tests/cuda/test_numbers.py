"""Numbers in CUDA C++, in the emulator, are NumPy's as far as C and CUDA are."""

import warnings

import numpy as np
import pytest

import polyml
from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.driver import Emulator, emulated
from tests.opencl.test_complex import FUNCTIONS, apart, functions, numbers
from tests.opencl.test_opencl import edges, float_operations, integer_operations

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no g++")


@pytest.fixture(autouse=True)
def emulator():
    with emulated(Emulator()):
        yield


def on_gpu(function, **settings):
    return polyml.kernel(function, target="cuda", fallback="error", **settings)


def test_functions_of_complex_numbers_are_numpys():
    z = numbers(50)
    found = np.zeros((len(FUNCTIONS), len(z)), complex)
    on_gpu(functions)(z, found)
    for name, row in zip(FUNCTIONS, found):
        with np.errstate(all="ignore"):
            assert len(apart(row, getattr(np, name)(z), 1e-14)) == 0, name


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_floats_are_those_of_processors(dtype):
    some = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 3.0, -7.25, 100.0, np.inf, -np.inf, np.nan])
    x, y = (grid.ravel().astype(dtype) for grid in np.meshgrid(some, some))
    wanted, found = np.zeros((16, len(x)), dtype), np.zeros((16, len(x)), dtype)
    polyml.kernel(float_operations, fp="strict", fallback="error")(x, y, wanted)
    on_gpu(float_operations, fp="strict")(x, y, found)
    assert np.array_equal(found, wanted, equal_nan=True)
    assert np.array_equal(np.signbit(found[found == 0]), np.signbit(wanted[found == 0]))


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_integers_are_numpys(dtype):
    x, y = edges(dtype)
    wanted, found = np.zeros((16, len(x)), dtype), np.zeros((16, len(x)), dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        integer_operations(x, y, wanted)
    on_gpu(integer_operations)(x, y, found)
    assert np.array_equal(found, wanted)
