"""Elementary functions against NumPy's of more precision, in units in the last place, with fused multiply-adds or not."""

import math

import numpy as np
import pytest

from polyml.machines import catalogue
from tests.codegen.elementwise import floats, pairs
from tests.codegen.native import bits, compiled, presets

pytestmark = pytest.mark.skipif(not presets(), reason="the presets that run are those of x86-64")

# in the last place, where it is not one; powers in float32, arctan2 where the result is subnormal
UNITS = {"expm1": 2, "log2": 2, "tan": 2, "tanh": 2, "arcsinh": 2, "arctanh": 2, "arctan2": 2, "power": 2}


def functions_of_one(A, R):
    n = A.shape[0]
    for i in range(n):
        R[0, i] = np.exp(A[i])
    for i in range(n):
        R[1, i] = np.exp2(A[i])
    for i in range(n):
        R[2, i] = np.expm1(A[i])
    for i in range(n):
        R[3, i] = np.log(A[i])
    for i in range(n):
        R[4, i] = np.log2(A[i])
    for i in range(n):
        R[5, i] = np.log10(A[i])
    for i in range(n):
        R[6, i] = np.log1p(A[i])
    for i in range(n):
        R[7, i] = np.sin(A[i])
    for i in range(n):
        R[8, i] = np.cos(A[i])
    for i in range(n):
        R[9, i] = np.tan(A[i])
    for i in range(n):
        R[10, i] = np.arcsin(A[i])
    for i in range(n):
        R[11, i] = np.arccos(A[i])
    for i in range(n):
        R[12, i] = np.arctan(A[i])
    for i in range(n):
        R[13, i] = np.sinh(A[i])
    for i in range(n):
        R[14, i] = np.cosh(A[i])
    for i in range(n):
        R[15, i] = np.tanh(A[i])
    for i in range(n):
        R[16, i] = np.arcsinh(A[i])
    for i in range(n):
        R[17, i] = np.arccosh(A[i])
    for i in range(n):
        R[18, i] = np.arctanh(A[i])
    for i in range(n):
        R[19, i] = np.cbrt(A[i])


ONE = (
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin,
    np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh,
    np.arcsinh, np.arccosh, np.arctanh, np.cbrt,
)  # fmt: skip


def functions_of_two(A, B, R):
    n = A.shape[0]
    for i in range(n):
        R[0, i] = A[i] ** B[i]
    for i in range(n):
        R[1, i] = np.arctan2(A[i], B[i])
    for i in range(n):
        R[2, i] = np.hypot(A[i], B[i])


TWO = (np.power, np.arctan2, np.hypot)


def easy_powers(A, R):
    n = A.shape[0]
    for i in range(n):
        R[0, i] = A[i] ** 0.5
    for i in range(n):
        R[1, i] = A[i] ** -1.0
    for i in range(n):
        R[2, i] = A[i] ** 3.0
    for i in range(n):
        R[3, i] = math.pow(A[i], 3.0)


def units_apart(got, exact):
    """How many units in the last place two numbers differ by; 0 for two NaN, infinite for zeros of different signs."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        over = np.abs(exact) >= np.longdouble(info.max) * (1 + np.longdouble(info.eps) / 4)  # half a unit further
        exact = np.where(over, np.copysign(np.inf, exact), exact)
        unit = np.spacing(np.minimum(np.abs(exact), info.max).astype(got.dtype))
        apart = np.abs(got.astype(np.longdouble) - exact) / unit
    apart = np.where((got == exact) | (np.isnan(got) & np.isnan(exact)), 0, apart)
    same = np.isnan(exact) | (np.signbit(got) == np.signbit(exact))
    return np.where(same & ~np.isnan(apart), apart, np.inf)


def samples(dtype, count=400):
    """Numbers of every kind: special, subnormal, random bits, near 0, near 1, near multiples of pi / 4, powers."""
    random, info = np.random.default_rng(1), np.finfo(dtype)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    signs = random.choice([-1, 1], count)
    few = np.arange(1, 20, dtype=unsigned).view(dtype)
    parts = [
        floats(dtype), few, -few, random.integers(0, np.iinfo(unsigned).max, 2 * count, unsigned).view(dtype),
        *(random.uniform(-limit, limit, count) for limit in (0.5, 1, 2, 12, 100, 800)),
        signs * 10.0 ** random.uniform(-12, 7, count), signs + 10.0 ** random.uniform(-17, -1, count),
        random.integers(-(10**6), 10**6, count) * (np.pi / 2), np.arange(-40, 41) * (np.pi / 4),
        10.0 ** np.arange(-330, 309), np.exp2(np.arange(-1074, 1024, 3)), np.arange(-150.0, 151.0),
        [np.nextafter(info.dtype.type(1), info.dtype.type(end)) for end in (0, 2)],
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.concatenate([np.asarray(part).astype(dtype) for part in parts])


def run(function, rows, *values, preset, form="source"):
    names = dict(zip("AB", values))
    args = {**names, "R": np.zeros((rows, len(values[0])), values[0].dtype)}
    status, _ = compiled(function, args, preset, form=form)(args)
    assert status == 0
    return args["R"]


def assert_right(functions, results, *values):
    with np.errstate(all="ignore"):
        wide = [value.astype(np.longdouble) for value in values]
    for function, result in zip(functions, results):
        with np.errstate(all="ignore"):
            apart = units_apart(result, function(*wide))
        worst = apart.argmax()
        assert apart[worst] <= UNITS.get(function.__name__, 1), (function.__name__, [v[worst] for v in values])


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_of_one_number_are_right_to_one_or_two_units_in_the_last_place(dtype, preset):
    values = samples(dtype)
    assert_right(ONE, run(functions_of_one, len(ONE), values, preset=preset), values)


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_of_two_numbers_are_right_to_one_or_two_units_in_the_last_place(dtype, preset):
    random = np.random.default_rng(2)
    first, second = pairs(floats(dtype))
    values = samples(dtype)
    with np.errstate(all="ignore"):
        more = [
            (random.uniform(0, 20, 2000), random.uniform(-300, 300, 2000)),
            (np.exp(random.uniform(-40, 40, 2000)), random.uniform(-30, 30, 2000)),
            (random.uniform(0.999, 1.001, 500), random.uniform(-7e5, 7e5, 500)),
            (random.uniform(-20, 20, 500), random.integers(-40, 40, 500)),
        ]
        first = np.concatenate([first, values, *(base.astype(dtype) for base, _ in more)])
        second = np.concatenate([second, random.permutation(values), *(power.astype(dtype) for _, power in more)])
    assert_right(TWO, run(functions_of_two, len(TWO), first, second, preset=preset), first, second)


@pytest.mark.parametrize("preset", presets()[:1] + presets()[-1:])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_lanes_change_no_bit(dtype, preset):
    values = samples(dtype, 40)
    others = np.random.default_rng(3).permutation(values)
    for function, functions, arguments in ((functions_of_one, ONE, [values]), (functions_of_two, TWO, [values, others])):
        rows = len(functions)
        apart = run(function, rows, *arguments, preset=preset, form="plain")
        np.testing.assert_array_equal(bits(run(function, rows, *arguments, preset=preset)), bits(apart))


@pytest.mark.parametrize("preset", presets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_constant_powers_are_right_to_one_unit_or_two_without_multiply_adds(dtype, preset):
    values, units = samples(dtype), 1 if catalogue.processor(preset).fma else 2
    results = run(easy_powers, 4, values, preset=preset)
    for result, exponent in zip(results, (0.5, -1, 3, 3)):
        with np.errstate(all="ignore"):
            assert units_apart(result, values.astype(np.longdouble) ** np.longdouble(exponent)).max() <= units


def several_at_once(A, R):
    for i in range(A.shape[0]):
        R[i] = np.sin(A[i]) * np.cos(A[i]) + np.sin(A[i]) ** A[i] - np.tan(A[i])


@pytest.mark.parametrize("form", ["source", "plain"])
def test_values_computed_in_a_branch_do_not_leave_it(form):
    """Sines of huge numbers, and powers of negative ones, each come from a branch of their own."""
    values = np.concatenate([np.linspace(0.1, 3, 50), 10.0 ** np.arange(0, 22)])
    args = {"A": values, "R": np.zeros_like(values)}
    status, _ = compiled(several_at_once, args, presets()[-1], form=form)(args)
    with np.errstate(all="ignore"):
        wanted = np.sin(values) * np.cos(values) + np.sin(values) ** values - np.tan(values)
    assert status == 0
    np.testing.assert_allclose(args["R"], wanted, rtol=1e-12, atol=1e-13)
