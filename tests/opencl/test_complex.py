"""Functions of complex numbers on an OpenCL device are NumPy's, with its signed zeros, infinities and NaN."""

from itertools import product

import numpy as np
import pytest

from tests.frontend.define import define
from tests.opencl.test_opencl import on_device
from tests.opencl.test_opencl import pytestmark as on_devices

pytestmark = on_devices
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    0.5,
    -2.0,
    1e-310,
    -1e308,
    1e-20,
    710.0,
    1e160,
    -1e-160,
    1 - 1e-10,
    1 + 1e-10,
    25.0,
]
FUNCTIONS = ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh")
EXPONENTS = (1, 2, 3, -3, -1, 7, 0.5, 1j, -1 - 1j, 2.5 - 3j, np.inf, complex(np.nan, 1))


def functions(z, y):
    for i in range(z.shape[0]):
        y[0, i] = np.sin(z[i])
        y[1, i] = np.cos(z[i])
        y[2, i] = np.tan(z[i])
        y[3, i] = np.arcsin(z[i])
        y[4, i] = np.arccos(z[i])
        y[5, i] = np.arctan(z[i])
        y[6, i] = np.sinh(z[i])
        y[7, i] = np.cosh(z[i])
        y[8, i] = np.tanh(z[i])
        y[9, i] = np.arcsinh(z[i])
        y[10, i] = np.arccosh(z[i])
        y[11, i] = np.arctanh(z[i])


def power(z, w, y):
    for i in range(z.shape[0]):
        y[i] = z[i] ** w[i]


def numbers(count=500):
    """Pairs of special values, and random numbers near to and far from 1."""
    rng = np.random.default_rng(1)
    sizes = np.exp(rng.normal(size=count) * 3)
    near = [complex(a, b) + (x + 1j * y) * 10.0**-e for a, b, x, y, e in zip(
        rng.integers(-1, 2, count), rng.integers(-1, 2, count), rng.normal(size=count), rng.normal(size=count), rng.integers(1, 16, count)
    )]  # fmt: skip
    return np.array(
        [complex(*pair) for pair in product(SPECIAL, SPECIAL)]
        + [*(rng.normal(size=count) + 1j * rng.normal(size=count)) * sizes]
        + near
    )


def apart(found, wanted, tolerance):
    """The positions where a part differs: in kind, in the sign of a zero, or by more than the tolerance allows."""
    wrong = np.zeros(len(found), bool)
    for one, other in ((found.real, wanted.real), (found.imag, wanted.imag)):
        with np.errstate(all="ignore"):
            near = np.abs(one - other) <= tolerance * np.abs(other) + 5e-324
        same = (one == other) & (np.signbit(one) == np.signbit(other)) | np.isnan(one) & np.isnan(other)
        wrong |= ~(same | near & np.isfinite(other) & (other != 0))
    return np.flatnonzero(wrong)


def test_functions_are_numpys():
    z = numbers()
    found = np.zeros((len(FUNCTIONS), len(z)), complex)
    on_device(functions)(z, found)
    for name, row in zip(FUNCTIONS, found):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(z)
        wrong = apart(row, wanted, 1e-14)
        assert len(wrong) == 0, (name, [(z[k], row[k], wanted[k]) for k in wrong[:3]])


def test_powers_are_numpys():
    pairs = [*product(numbers(40), EXPONENTS), (0j, 0j), (0j, 2 + 0j), (0j, -1 + 0j), (0j, 1j)]
    z, w = (np.array(each) for each in zip(*pairs))
    found = np.zeros(len(z), complex)
    on_device(power, fp="strict")(z, w, found)  # products are rounded, and may overflow, before they are added
    with np.errstate(all="ignore"):
        wanted = np.power(z, w)
    wrong = apart(found, wanted, 1e-12)
    assert len(wrong) == 0, [(z[k], w[k], found[k], wanted[k]) for k in wrong[:3]]


@pytest.mark.parametrize("name", ["tan", "arccosh"])
def test_functions_of_complex64_are_those_of_complex128_rounded(name):
    z = numbers(50)
    z = z[np.abs(z) < 1e30].astype(np.complex64)
    found = on_device(define(f"def apply(z):\n    return np.{name}(z)\n", "apply"))(z)
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(z.astype(complex)).astype(np.complex64)
    assert found.dtype == np.complex64 and len(apart(found, wanted, 2e-7)) == 0
