"""Scans in lanes: loops of which every iteration needs what the one before has made."""

from functools import cache

import numpy as np
import pytest

import polyml
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import Jam, every
from tests.codegen.native import WIDE, assert_as_defined, compiled, copied, defined, native, presets, program_of

pytestmark = pytest.mark.skipif(not presets(), reason="the presets that run are those of x86-64")


def sums(A, B):
    s = A[0] * 0
    for i in range(A.shape[0]):
        s += A[i]
        B[i] = s


def differences(A, B):
    s = A[0]
    for i in range(A.shape[0]):
        s -= A[i]
        B[i] = s + A[i]


def elements(A, B):
    for i in range(1, A.shape[0]):
        B[i] = B[i - 1] + A[i]


def in_place(A, B):
    for i in range(1, A.shape[0]):
        A[i] = A[i] + A[i - 1]
    for i in range(A.shape[0]):
        B[i] = A[i]


def backwards(A, B):
    for i in range(A.shape[0] - 2, -1, -1):
        B[i] = np.maximum(B[i + 1], A[i])


def apart(A, B):
    for i in range(1, A.shape[0] // 2):
        B[2 * i] = B[2 * i - 2] + A[2 * i + 1]


def extremes(A, B):
    least = A[0]
    most = A[0]
    for i in range(A.shape[0]):
        least = min(least, A[i])
        most = A[i] if A[i] > most else most
        B[i] = most - least


def products(A, B):
    p = A[0] * 0 + 1
    for i in range(A.shape[0]):
        p *= A[i]
        B[i] = p


def sometimes(A, B):
    s = A[0]
    for i in range(A.shape[0]):
        if A[i] > 1:
            s += A[i]
        B[i] = s


def twice(A, B):
    s = A[0]
    t = A[0]
    for i in range(A.shape[0]):
        s += A[i]
        t += s
        B[i] = t - s


def and_a_total(A, B):
    s = A[0]
    t = A[0]
    for i in range(A.shape[0]):
        s += A[i]
        t = max(t, A[i])
        B[i] = s
    B[0] = t


def exclusive(A, B):
    s = A[0]
    for i in range(A.shape[0]):
        B[i] = s
        s += A[i]


def before_and_behind(A, B):
    least = A[0]
    s = A[0]
    for i in range(A.shape[0]):
        B[i] = s - least
        s += A[i]
        least = min(least, A[i])
        B[i] += s * least


def twice_before(A, B):
    s = A[0]
    t = A[0]
    for i in range(A.shape[0]):
        B[i] = t
        t += s
        s += A[i]


def of_one_array(A, B):
    t = np.ones(2, dtype=A.dtype)
    for i in range(A.shape[0]):
        t[1] = max(t[1], A[i])
        t[0] += t[1]
        B[i] = t[0]


def rows(A, B):
    for k in range(A.shape[0] // 8 + 1):
        s = A[k]
        for i in range(k, A.shape[0]):
            s += A[i]
            B[i] += s


SCANS = [
    sums, differences, elements, in_place, backwards, apart, extremes, products, sometimes, twice, and_a_total, exclusive,
    before_and_behind, twice_before, of_one_array, rows,
]  # fmt: skip


def lanes_of(program):
    return [jam.lanes for jam in every(program.body) if isinstance(jam, Jam) and jam.scans]


@cache
def code(function, dtype, preset, fp):
    args = {"A": np.zeros(3, dtype), "B": np.zeros(3, dtype)}
    return compiled(function, args, preset, fp=fp, form="source")


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
@pytest.mark.parametrize("function", SCANS)
@pytest.mark.sweep(keep=54)
def test_scans_of_integers_are_exact(function, dtype, preset):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    program = program_of(function, {"A": np.zeros(3, dtype), "B": np.zeros(3, dtype)}, preset, form="source")
    assert lanes_of(program) or dtype == "uint8" and preset == "sse2"
    for n in (1, 2, 3, 5, 8, 9, 16, 17, 31, 64, 65, 130, 203):
        arrays = [rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True) for _ in "AB"]
        with np.errstate(all="ignore"):
            assert_as_defined(function, dict(zip("AB", arrays)), code(function, dtype, preset, "strict"))


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("odd", [None, "start", "middle", "end", "infinite"])
@pytest.mark.parametrize("function", SCANS)
def test_scans_of_floats_honour_nan_and_infinity(function, odd, dtype, preset):
    """Whole numbers whose sums are small and whose products are powers of two: exact in any order."""
    rng = np.random.default_rng(1)
    for n in (1, 4, 19, 67):
        values = rng.choice([-1.0, 1.0, 2.0] if function is products else [-2.0, 0.0, 1.0, 3.0], n).astype(dtype)
        where = {"start": 0, "middle": n // 2, "end": n - 1}.get(odd)
        if where is not None:
            values[where] = np.nan
        if odd == "infinite":
            values[n // 3], values[n - 1] = np.inf, -np.inf
        args = {"A": values, "B": np.full(n, 5, dtype)}
        wanted, _ = defined(function, args)
        status, _ = code(function, dtype, preset, "reassociate")(args)
        assert status == 0
        for name in "AB":
            np.testing.assert_array_equal(args[name], wanted[name])


@pytest.mark.parametrize("function", SCANS)
def test_the_order_of_float_sums_is_the_sources_where_it_counts(function):
    program = program_of(function, {"A": np.zeros(3), "B": np.zeros(3)}, WIDE[-1], fp="strict", form="source")
    assert not lanes_of(program)


def needs_what_is_written(A, B):
    s = A[0]
    for i in range(A.shape[0]):
        B[i] = s * 2
        s += B[i]


def set_anew(A, B):
    s = A[0]
    for i in range(A.shape[0]):
        s += A[i]
        B[i] = s
        s = B[i] - A[0]


def two_back(A, B):
    for i in range(2, A.shape[0]):
        B[i] = B[i - 2] + A[i]


def both_neighbours(A, B):
    for i in range(1, A.shape[0] - 1):
        B[i] = B[i - 1] + B[i + 1] + A[i]


def others_read(A, B):
    for i in range(1, A.shape[0]):
        A[i] = B[i - 1] * 2
        B[i] = B[i - 1] + A[i]


def scaled(A, B):
    for i in range(1, A.shape[0]):
        B[i] = 3 * B[i - 1] + A[i]


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("function", [needs_what_is_written, set_anew, two_back, both_neighbours, others_read, scaled])
def test_what_is_no_scan_stays_in_order(function, preset):
    rng = np.random.default_rng(2)
    program = program_of(function, {"A": np.zeros(3, int), "B": np.zeros(3, int)}, preset, form="source")
    assert not lanes_of(program)
    made = native(program, preset, layouts=("C", "C"))
    for n in (1, 2, 9, 33):
        assert_as_defined(function, {"A": rng.integers(-9, 9, n), "B": rng.integers(-9, 9, n)}, made)


@pytest.mark.parametrize("function", SCANS)
def test_a_program_with_scans_means_the_sources_order(function):
    for n in (1, 5, 23):
        args = {"A": np.arange(n), "B": np.zeros(n, int)}
        program = program_of(function, args, WIDE[-1], form="source")
        wanted, _ = defined(function, args)
        for order in ("source", "reversed"):
            got = copied(args)
            run(program, got, order=order)
            for name in "AB":
                np.testing.assert_array_equal(got[name], wanted[name])


def test_scans_are_what_the_compiler_uses():
    @polyml.kernel(cache=False, fallback="error")
    def running(A, B):
        s = 0.0
        for i in range(A.shape[0]):
            s += A[i]
            B[i] = s
        return np.cumsum(A), np.maximum.accumulate(A), np.cumsum(A[::-1])

    A, B = np.arange(1000.0) % 7, np.zeros(1000)
    lowered = running.lower(A, B)
    assert "scans)" in lowered.stages["ast"]()
    results = running(A, B)
    for result, wanted in zip((B, *results), (np.cumsum(A), np.cumsum(A), np.maximum.accumulate(A), np.cumsum(A[::-1]))):
        np.testing.assert_array_equal(result, wanted)
