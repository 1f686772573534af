"""round(x, k) of Python's floats in kernels, beside Python's."""

import numpy as np
import pytest

import polyml
from tests.frontend.define import define
from tests.frontend.library.compare import check

ODD = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.675, 0.125, 0.5, 1.5, 2.5, -0.001]


def numbers():
    """Numbers of all sizes, numbers near halves of each decimal, and large ones."""
    rng = np.random.default_rng(0)
    found = [rng.random(2000) * 10.0 ** rng.integers(-12, 18, 2000) * rng.choice([-1, 1], 2000), 2.0 ** np.arange(-60.0, 100), ODD]
    for n in range(-3, 11):
        halves = (rng.integers(0, 10**7, 2000) + 0.5) / 10.0**n
        found += [halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf)]
    found += [rng.integers(0, 2**20, 2000) + rng.integers(0, 2**12, 2000) / 2.0**12, rng.integers(2**50, 2**54, 2000) / 8.0]
    return np.concatenate(found)


@pytest.mark.parametrize("decimals", range(-10, 11))
def test_decimals_are_those_of_python(decimals):
    x = numbers()
    text = f"def f(x, out):\n    for i in range(x.shape[0]):\n        out[i] = round(float(x[i]), {decimals})\n"
    wanted = np.array([round(each, decimals) for each in x.tolist()])
    for setting in ({}, {"fp": "strict", "threads": 1}):
        out = np.zeros_like(x)
        polyml.kernel(fallback="error", **setting)(define(text))(x, out)
        same = (out == wanted) & (np.signbit(out) == np.signbit(wanted)) | np.isnan(out) & np.isnan(wanted)
        assert same.all(), (x[~same][:5], out[~same][:5], wanted[~same][:5])


def totals(x, s):
    total = 0.0
    for i in range(x.shape[0]):
        total += round(float(x[i]) * s, 2)
    return round(total, 1), round(s, 0), round(s + 0.05, 1) if s > 0 else round(s, 3)


def test_numbers_of_python_stay_pythons():
    x = np.random.default_rng(0).random(300)
    check(totals, (x, 1.25), (x[:1], -2.5), bound=1e-13)
    assert type(polyml.kernel(fallback="error")(totals)(x, 1.25)[1]) is float
