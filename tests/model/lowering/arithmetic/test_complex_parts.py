"""Complex numbers become pairs of real ones: what the parts are, and functions of all magnitudes and special values."""

import itertools

import numpy as np
import pytest

import polyml
from polyml.errors import PolymlTypeError

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, 1.7e308, 710.0, -745.0, 1500.0, 3e-170, np.pi]


def exponential(z, out):
    out[:] = np.exp(z)


def logarithm(z, out):
    out[:] = np.log(z)


def root(z, out):
    out[:] = np.sqrt(z)


FUNCTIONS = [(exponential, np.exp), (logarithm, np.log), (root, np.sqrt)]
TYPES = [("c16", "clongdouble", 1e300), ("c8", "c16", 1e36)]


@pytest.mark.parametrize("kernel, function", FUNCTIONS)
@pytest.mark.parametrize("dtype, wide, most", TYPES)
def test_functions_are_right_to_two_units_of_the_modulus(kernel, function, dtype, wide, most):
    rng = np.random.default_rng(3)
    turned = np.exp(1j * rng.uniform(-np.pi, np.pi, 3000))
    ranges = (most ** rng.uniform(-1, 1, 3000), 30 * rng.normal(size=3000), 1 + 1e-3 * rng.normal(size=3000))
    z = np.concatenate([turned * sizes for sizes in ranges]).astype(dtype)
    out = np.empty_like(z)
    polyml.kernel(cache=False, fallback="error")(kernel)(z, out)
    with np.errstate(all="ignore"):
        wanted = function(z.astype(wide))
        representable = np.abs(wanted) < np.finfo(dtype).max / 2
        unit = np.maximum(np.abs(wanted), np.finfo(dtype).tiny) * np.finfo(dtype).eps
        apart = (np.abs(out - wanted) / unit)[representable]
    assert apart.max() < 2


@pytest.mark.parametrize("kernel, function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_special_values_are_those_of_the_c_library(kernel, function, dtype):
    with np.errstate(all="ignore"):
        z = np.array([complex(*pair) for pair in itertools.product(SPECIAL, SPECIAL)]).astype(dtype)
        out, wanted = np.empty_like(z), function(z)
    polyml.kernel(cache=False, fallback="error")(kernel)(z, out)
    for got, expected in ((out.real, wanted.real), (out.imag, wanted.imag)):
        with np.errstate(all="ignore"):
            close = np.abs(got - expected) <= 4 * np.finfo(dtype).eps * np.maximum(
                np.abs(expected), np.where(np.isfinite(wanted), np.abs(wanted), 0)
            )
        assert np.all((got == expected) | (np.isnan(got) & np.isnan(expected)) | close)


def test_a_part_is_held_where_the_other_one_needs_it():
    def turned(z, w):
        for i in range(z.shape[0]):
            z[i] = z[i] * w[i]
            w[i] = z[i].conjugate()

    z, w = (np.arange(5) + 1j).astype("c16"), np.full(5, 2 + 3j)
    wanted = z * w
    polyml.kernel(cache=False, fallback="error")(turned)(z, w)
    np.testing.assert_array_equal(z, wanted)
    np.testing.assert_array_equal(w, wanted.conj())


def test_the_dependences_are_those_of_the_parts():
    def only_real_parts(z):
        for i in range(1, z.shape[0]):
            z[i] = complex(z[i].real + z[i - 1].real, z[i].imag * 2)

    dependences = polyml.kernel(only_real_parts).inspect_deps(np.ones(4, complex))
    assert "S0[i] -> S0[1 + i]" in dependences or "S0[i] -> S0[i' = 1 + i]" in dependences
    assert "S1[i] -> S1[" not in dependences


def test_a_complex_number_is_not_stored_as_a_real_one():
    def stored(x, z):
        x[0] = z

    with pytest.raises(PolymlTypeError, match="a complex number stands where float64 is needed"):
        polyml.kernel(stored, fallback="error")(np.ones(2), 1j)
