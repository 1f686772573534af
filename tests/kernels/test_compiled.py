"""Every kernel compiled: strictly, bit for bit what the language defines; by default, within the rounding bound."""

import copy
import warnings
from functools import cache

import numpy as np
import pytest

import polyml
from polyml import kernels
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.kernels._accuracy import compare

ODD = (7, 5, 9, 11, 3)
SIZES = {
    "MINI": None,
    "odd": ODD,
    "unequal": (4, 13, 6, 17, 8),
    "straddling": (33, 18, 17, 35, 19),
    "two": (2,) * 5,
    "one": (1,) * 5,
    "none": (0,) * 5,
    "some none": (0, 3, 0, 2, 5),
    "others none": (3, 0, 2, 0, 0),
}
# exp and pow may differ from NumPy's by one unit in the last place, which the coefficients then pass on.
NOT_BIT_EXACT = {"deriche"}


INTERPRETED_FLOPS = 20_000  # more take seconds


def size_of(benchmark, label):
    """Time steps are few, beside MINI's 20."""
    mini = benchmark.sizes["MINI"]
    if SIZES[label] is None:
        return mini
    size = dict(zip(mini, SIZES[label], strict=False))
    return {p: min(n, 3) if p in ("TSTEPS", "TMAX") else n for p, n in size.items()}


@cache
def compiled(name, fp):
    """One callable for all sizes and numbers of threads, as a user has it."""
    return polyml.kernel(fp=fp, fallback="error", cache=False)(kernels.load(name).kernel.py_func)


@cache
def defined(name, label, dtype):
    """(arguments, what the interpreter makes of them or the type of its error).

    At the larger sizes plain Python runs instead, which is several times faster.
    """
    benchmark = kernels.load(name)
    size = size_of(benchmark, label)
    before = benchmark.inputs(size, np.random.default_rng(1), np.dtype(dtype))
    after = copy.deepcopy(before)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            if benchmark.flops(size) > INTERPRETED_FLOPS:
                benchmark.kernel.py_func(*after.values())
            else:
                interpret(parse(benchmark.kernel.py_func), tuple(after.values()))
        except (IndexError, ArithmeticError) as error:
            return before, next(t for t in (IndexError, ZeroDivisionError, ArithmeticError) if isinstance(error, t))
    return before, after


def run(name, fp, threads, before):
    after = copy.deepcopy(before)
    with polyml.config.scope(threads=threads):
        compiled(name, fp)(*after.values())
    return after


def bits(array):
    """The array's bits, with every NaN the same."""
    if array.dtype.kind != "f":
        return array
    unsigned = {4: np.uint32, 8: np.uint64}[array.dtype.itemsize]
    return np.where(np.isnan(array), np.iinfo(unsigned).max, np.ascontiguousarray(array).view(unsigned))


def assert_same_bits(got, expected):
    for argument, value in expected.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(bits(got[argument]), bits(value), err_msg=argument)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("label", SIZES)
@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.sweep(keep=15)
def test_strict_is_the_language_s_own_result_bit_for_bit(name, label, threads):
    benchmark = kernels.load(name)
    before, expected = defined(name, label, benchmark.dtype)
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(name, "strict", threads, before)
        return
    got = run(name, "strict", threads, before)
    if name in NOT_BIT_EXACT:
        assert compare(benchmark, size_of(benchmark, label), before, got).ok
        return
    assert_same_bits(got, expected)


@pytest.mark.parametrize("label", ["odd", "straddling"])
@pytest.mark.parametrize("name", [n for n in kernels.NAMES if kernels.load(n).terms and n not in NOT_BIT_EXACT])
@pytest.mark.sweep(keep=18)
def test_strict_is_bit_exact_in_float32_too(name, label):
    before, expected = defined(name, label, "float32")
    assert_same_bits(run(name, "strict", 2, before), expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("label", SIZES)
@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.sweep(keep=15)
def test_the_default_stays_within_the_rounding_bound(name, label, threads):
    benchmark = kernels.load(name)
    before, expected = defined(name, label, benchmark.dtype)
    if isinstance(expected, type):
        with pytest.raises(expected):
            run(name, "reassociate", threads, before)
        return
    accuracy = compare(benchmark, size_of(benchmark, label), before, run(name, "reassociate", threads, before))
    assert accuracy.ok, accuracy


@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.sweep(keep=8)
def test_the_default_is_right_at_small(name):
    benchmark = kernels.load(name)
    size = benchmark.sizes["SMALL"]
    before = benchmark.inputs(size, np.random.default_rng(2), np.dtype(benchmark.dtype))
    accuracy = compare(benchmark, size, before, run(name, "reassociate", 2, before))
    assert accuracy.ok, accuracy
    made = compiled(name, "reassociate")
    assert made.compiled and "given up" not in made.explain()


@pytest.mark.parametrize("name", kernels.NAMES)
def test_the_interpreter_and_python_agree_on_the_kernels(name):
    benchmark = kernels.load(name)
    before = benchmark.inputs(size_of(benchmark, "odd"), np.random.default_rng(3), np.dtype(benchmark.dtype))
    python, interpreted = copy.deepcopy(before), copy.deepcopy(before)
    with np.errstate(all="ignore"):
        benchmark.kernel.py_func(*python.values())
        interpret(parse(benchmark.kernel.py_func), tuple(interpreted.values()))
    assert_same_bits(interpreted, python)
