"""float16 where the processor does not have it, bfloat16 bit by bit, and that each operation is rounded."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

import polyml
from polyml.errors import PolymlPerformanceWarning, PolymlTypeError
from polyml.machines import cpu

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
EVERY = np.arange(2**16, dtype=np.uint16).view(BFLOAT16)


def scaled(A, B):
    for i in range(A.shape[0]):
        A[i] = A[i] * B[i] + B[i]


@pytest.mark.parametrize("dtype", ["f2", BFLOAT16], ids=str)
def test_each_operation_is_rounded_as_numpy_s(dtype):
    random = np.random.default_rng(5)
    A, B = (random.normal(size=1000).astype(dtype) for _ in range(2))
    wanted = A * B + B
    polyml.kernel(cache=False, fp="strict")(scaled)(A, B)
    np.testing.assert_array_equal(A, wanted)


def test_a_double_is_rounded_once():
    def narrowed(A, B):
        for i in range(A.shape[0]):
            A[i] = B[i]

    middle = 1 + 2.0**-11  # half way between two numbers
    B = np.array(
        [middle, middle + 2.0**-40, middle - 2.0**-40, 65519.999, 65520.0, 1e300, -1e-300, np.nan, np.inf, 6e-8, 3e-8, 2.98e-8]
    )
    B = np.concatenate([B, -B, np.random.default_rng(6).normal(size=500) * 2.0 ** np.random.default_rng(7).integers(-30, 20, 500)])
    with np.errstate(all="ignore"):
        wanted = B.astype("f2")
    A = np.zeros(len(B), "f2")
    polyml.kernel(cache=False)(narrowed)(A, B)
    np.testing.assert_array_equal(A, wanted)


def test_a_processor_without_float16_runs_python(monkeypatch):
    host = cpu.host()
    monkeypatch.setattr(cpu, "host", lambda: replace(host, preset_target=replace(host.target, features="-f16c"), isa="x86-64"))
    A, B = np.ones(3, "f2"), np.ones(3, "f2")
    with pytest.warns(PolymlPerformanceWarning, match="no instructions for float16"):
        polyml.kernel(cache=False)(scaled)(A, B)
    assert A.tolist() == [2, 2, 2]


def test_bfloat16_needs_no_instructions_of_float16(monkeypatch):
    host = cpu.host()
    monkeypatch.setattr(cpu, "host", lambda: replace(host, preset_target=replace(host.target, features="-f16c"), isa="x86-64"))
    A, B = np.ones(3, BFLOAT16), np.ones(3, BFLOAT16)
    polyml.kernel(cache=False, fallback="error")(scaled)(A, B)
    assert A.tolist() == [2, 2, 2]


def check_bits(function, *arguments):
    """Of every result, any NaN for any other."""
    with np.errstate(all="ignore"):
        wanted = function(*arguments)
    got = polyml.kernel(cache=False, fallback="error", fp="strict")(function)(*arguments)
    for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(bits(one), bits(other), err_msg=str(number))


def bits(array):
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(array), 0, array.view(f"u{array.itemsize}"))


def operators(a, b):
    return a + b, a - b, a * b, a / b, a // b, a % b, a < b, a == b, np.minimum(a, b), np.maximum(a, b), np.fmod(a, b)


def exact_functions(a):
    return np.sqrt(a), np.floor(a), np.rint(a), -a, np.abs(a), np.square(a), np.reciprocal(a), np.isnan(a), a * 2, a * 0.1, a**3


def functions(a):
    return np.exp(a), np.log(a), np.tanh(a), np.exp2(a), np.sin(a), np.arctan(a), np.log1p(a), np.cbrt(a)


def widened(a, finite):
    return (
        a.astype(np.float32),
        a.astype(np.float64),
        a.astype(np.float16),
        a != 0,
        finite.astype(np.int32),
        finite.astype(np.uint8),
    )


def test_operators_of_bfloat16_give_ml_dtypes_bits():
    places = np.random.default_rng(8).integers(0, 2**16, (2, 100_000))
    check_bits(operators, *EVERY[places])


def test_functions_of_every_bfloat16_give_ml_dtypes_bits():
    check_bits(exact_functions, EVERY)
    check_bits(widened, EVERY, EVERY[: np.float32(256).view(np.uint32) >> 16])


def test_elementary_functions_of_every_bfloat16_are_ml_dtypes_within_a_bit():
    with np.errstate(all="ignore"):
        wanted = functions(EVERY)
    got = polyml.kernel(cache=False, fallback="error")(functions)(EVERY)
    for one, other in zip(wanted, got, strict=True):
        apart = np.abs(one.view(np.int16).astype(int) - other.view(np.int16)) * ~np.isnan(one)
        assert np.isnan(one).tolist() == np.isnan(other).tolist()
        assert apart.max() <= 1 and np.count_nonzero(apart) <= 2


def narrowed(a, b, c, d, h):
    one = a.astype(ml_dtypes.bfloat16)
    return one, b.astype("bfloat16"), c.astype("bfloat16"), d.astype("bfloat16"), h.astype("bfloat16")


def test_numbers_become_the_bfloat16_of_ml_dtypes():
    random = np.random.default_rng(9)
    singles = random.integers(0, 2**32, 10_000, dtype=np.uint32).view(np.float32)
    singles = np.concatenate([singles, np.array([0x7F7F8000, 0x7F7F7FFF, 0x7F800001, 0xFFFFFFFF, 0x00008000], "u4").view("f4")])
    middle = 1 + 2.0**-8  # half way between two numbers, and doubles that float32 takes for it
    doubles = np.array([middle, middle + 2.0**-40, middle - 2.0**-40, 1e300, -1e-300, np.nan, np.inf, 3.3e38, 1e-40])
    integers = np.array([257, -(2**63), 2**62 + 2**54 + 2**38 + 1, 2**24 + 2**16 + 1])
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    check_bits(narrowed, singles, doubles, integers, integers.astype(np.uint64), halves)


def test_sums_of_bfloat16_are_those_of_float32_rounded():
    def sums(A):
        return A.sum(), A.sum(axis=1), A.mean(axis=0), A.prod(axis=1)

    A = np.random.default_rng(10).normal(size=(20, 300)).astype(BFLOAT16)
    got = polyml.kernel(cache=False, fallback="error")(sums)(A)
    for one, other in zip(sums(A.astype(np.float32)), got, strict=True):
        assert other.dtype == BFLOAT16
        np.testing.assert_allclose(other.astype("f4"), one, rtol=2.0**-8 * 1.01, atol=1e-4)


def contracted(A, B):
    return np.einsum("ij,jk->ik", A, B)


def chosen(A, B):
    return np.where(A > 0, A, B)


def joined(A, B):
    return np.concatenate((A, B))


@pytest.mark.parametrize(
    ("function", "dtype", "message"),
    [
        (contracted, BFLOAT16, "NumPy has no einsum of bfloat16 and bfloat16"),
        (chosen, "i4", "NumPy has no common type of bfloat16 and int32"),
        (joined, "f2", "NumPy has no common type of bfloat16 and float16"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_numpy_refuses_of_bfloat16_is_refused(function, dtype, message):
    A, B = np.ones((2, 2), BFLOAT16), np.ones((2, 2), dtype)
    with pytest.raises(TypeError):
        function(A, B)
    with pytest.raises(PolymlTypeError, match=message) as caught:
        polyml.kernel(cache=False, fallback="error")(function)(A, B)
    assert caught.value.loc.line == function.__code__.co_firstlineno + 1
