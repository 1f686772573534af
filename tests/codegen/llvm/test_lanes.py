"""Lanes in machine code: partial results of reductions, masked remainders, and elements that are not neighbours."""

import ctypes
import mmap
import os
import subprocess
import sys
import textwrap
from functools import cache

import numpy as np
import pytest

import polyml
from tests.codegen.native import (  # fmt: skip
    WIDE,
    assert_as_defined,
    compiled,
    defined,
    in_lanes,
    layouts_of,
    native,
    presets,
    program_of,
)

pytestmark = pytest.mark.skipif(not presets(), reason="the presets that run are those of x86-64")

# reductions over lanes


def sums(A, r):
    for i in range(A.shape[0]):
        r[0] += A[i]
    for i in range(A.shape[0]):
        r[1] -= A[i]
    for i in range(A.shape[0]):
        r[2] *= A[i]
    for i in range(A.shape[0]):
        r[3] = max(r[3], A[i])
    for i in range(A.shape[0]):
        r[4] = min(r[4], A[i])
    for i in range(A.shape[0]):
        r[5] &= A[i]
    for i in range(A.shape[0]):
        r[6] |= A[i]
    for i in range(A.shape[0]):
        r[7] ^= A[i]
    for i in range(A.shape[0]):
        r[8] = A[i] if A[i] > r[8] else r[8]
    for i in range(A.shape[0]):
        if A[i] > 2:
            r[9] += A[i]
    for i in range(A.shape[0]):
        r[10] = np.maximum(r[10], A[i])


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
def test_reductions_of_integers_over_lanes_are_exact(dtype, preset):
    def arguments(n):
        info = np.iinfo(dtype)
        rng = np.random.default_rng(n)
        values = [rng.integers(info.min, info.max, size, dtype=dtype, endpoint=True) for size in (n, 11)]
        return {"A": values[0], "r": values[1]}

    program = program_of(sums, arguments(3), preset, form="source")
    assert in_lanes(program).keys() == program.scop.statements.keys()
    code = native(program, preset, layouts=("C", "C"))
    for n in (0, 1, 2, 7, 31, 64, 203):
        assert_as_defined(sums, arguments(n), code)


def extremes(A, r):
    for i in range(A.shape[0]):
        r[0] = max(r[0], A[i])
    for i in range(A.shape[0]):
        r[1] = min(r[1], A[i])
    for i in range(A.shape[0]):
        r[2] = np.maximum(r[2], A[i])
    for i in range(A.shape[0]):
        r[3] = np.minimum(r[3], A[i])
    for i in range(A.shape[0]):
        r[4] = np.fmax(r[4], A[i])
    for i in range(A.shape[0]):
        r[5] = np.fmin(A[i], r[5])
    for i in range(A.shape[0]):
        r[6] += A[i]
    for i in range(A.shape[0]):
        r[7] = r[7] * A[i]
    for i in range(A.shape[0]):
        r[8] = max(A[i], r[8])


@cache
def extremes_code(dtype, preset):
    args = {"A": np.zeros(3, dtype), "r": np.zeros(9, dtype)}
    return compiled(extremes, args, preset, fp="reassociate", form="source")


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("odd", [None, "start", "middle", "end", "accumulator", "infinite"])
def test_reductions_of_floats_honour_nan_and_infinity(odd, dtype, preset):
    """Small whole numbers, few of them above 1: sums are exact in any order, and the product nearly so."""
    rng = np.random.default_rng(3)
    values = np.where(rng.random(67) < 0.9, 1, rng.integers(1, 100, 67)).astype(dtype)
    start = np.full(9, 5, dtype)
    where = {"start": 0, "middle": 33, "end": 66}.get(odd)
    if where is not None:
        values[where] = np.nan
    if odd == "accumulator":
        start[:] = np.nan
    if odd == "infinite":
        values[7], values[50] = np.inf, -np.inf
    args = {"A": values, "r": start}
    wanted, _ = defined(extremes, args)
    status, _ = extremes_code(dtype, preset)(args)
    assert status == 0
    exact = [k for k in range(9) if k != 7]
    np.testing.assert_array_equal(args["r"][exact], wanted["r"][exact])
    np.testing.assert_allclose(args["r"][7], wanted["r"][7], rtol=1e-5)


def any_all(P, r):
    for i in range(P.shape[0]):
        r[0] = r[0] or P[i]
    for i in range(P.shape[0]):
        r[1] = r[1] and P[i]
    for i in range(P.shape[0]):
        r[2] = r[2] ^ P[i]
    for i in range(P.shape[0]):
        r[3] |= P[i]


@pytest.mark.parametrize("preset", WIDE)
def test_reductions_of_truth_values(preset):
    code = compiled(any_all, {"P": np.zeros(3, bool), "r": np.zeros(4, bool)}, preset, form="source")
    for true in ((), (0,), (70,), (5, 6, 99), range(100)):
        truth = np.zeros(100, bool)
        truth[list(true)] = True
        for start in (False, True):
            assert_as_defined(any_all, {"P": truth, "r": np.full(4, start)}, code)


# memory


def passes(A, R, Q):
    """Each column is read and written again and again, so columns that are neighbours run together around all of it."""
    for j in range(A.shape[1]):
        for i in range(A.shape[0]):
            R[0, j] += Q[i, 0] * A[i, j]
        for k in range(1, Q.shape[1]):
            for i in range(A.shape[0]):
                A[i, j] -= Q[i, k - 1] * R[k - 1, j]
                R[k, j] += Q[i, k] * A[i, j]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_vectors_begin_on_cache_lines_wherever_an_array_begins(monkeypatch, dtype):
    monkeypatch.setattr("polyml.codegen.passes.vectorize.LINE_GAIN", 1.1)
    if "avx512" not in presets():
        pytest.skip("vectors are shorter than cache lines here")
    rng = np.random.default_rng(0)
    line = 64 // np.dtype(dtype).itemsize
    small = {"R": rng.standard_normal((4, 40)).astype(dtype), "Q": rng.standard_normal((5, 4)).astype(dtype)}
    wide = {"A": rng.standard_normal((5, 40)).astype(dtype), **small}
    program = program_of(passes, wide, "avx512", form="source")
    assert list(program.phases.values()) == ["A"]
    code = native(program, "avx512", layouts=layouts_of(wide))
    memory = np.empty(6 * 4 * line, dtype)
    start = -(memory.ctypes.data // memory.itemsize) % line
    for place in range(line):
        for columns in (1, 3, line, 2 * line + 1):
            memory[:] = rng.standard_normal(memory.size)
            rows = memory[start : start + 20 * line].reshape(5, 4 * line)[:, place : place + columns]
            given = {"A": rows, "R": small["R"][:, :columns], "Q": small["Q"]}
            wanted, _ = defined(passes, given)
            around = memory.copy()
            around[start : start + 20 * line].reshape(5, 4 * line)[:, place : place + columns] = wanted["A"]
            R = given["R"].copy()
            code({"A": rows, "R": R, "Q": small["Q"]})
            np.testing.assert_array_equal(memory, around)
            np.testing.assert_array_equal(R, wanted["R"])


def combine(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = A[i, j] * 3 - B[j, i]


LAYOUTS = {  # (n, m, type) -> an array of that shape in new memory, and what is said of it
    "C": (lambda n, m, t: np.zeros((n, m), t), "C"),
    "F": (lambda n, m, t: np.zeros((m, n), t).T, "F"),
    "rows of a wider array": (lambda n, m, t: np.zeros((n, m + 5), t)[:, 2 : m + 2], "C"),
    "columns of a wider array": (lambda n, m, t: np.zeros((m, n + 3), t).T[1 : n + 1], "F"),
    "every third": (lambda n, m, t: np.zeros((2 * n, 3 * m), t)[::2, ::3], "A"),
    "rows backwards": (lambda n, m, t: np.zeros((n, m), t)[::-1], "C"),
    "all backwards": (lambda n, m, t: np.zeros((n, m), t)[::-1, ::-1], "A"),
    "unaligned": (lambda n, m, t: np.ndarray((n, m), t, np.zeros(n * m * 8 + 1, np.uint8), 1), "A"),
    "C called any": (lambda n, m, t: np.zeros((n, m), t), "A"),
}


@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int32"])
def test_arrays_of_every_layout_are_read_and_written_in_place(dtype, layout, preset):
    rng = np.random.default_rng(4)
    make, letter = LAYOUTS[layout]
    code = None
    for n, m in ((3, 5), (0, 3), (1, 1), (7, 18), (33, 2), (2, 67)):
        args = {"C": make(n, m, dtype), "A": make(n, m, dtype), "B": make(m, n, dtype)}
        for value in args.values():
            value[...] = rng.integers(-99, 99, value.shape)
        code = code or compiled(combine, args, preset, layouts=(letter,) * 3)
        assert_as_defined(combine, args, code)


def along(A, B, C):
    for i in range(C.shape[0]):
        C[i] = A[2 * i] + A[C.shape[0] - 1 - i] * B[i, i]
    for i in range(C.shape[0]):
        A[3 * i + 1] = C[i] - A[3 * i + 1]
    for i in range(C.shape[0] - 1, -1, -1):
        B[i, C.shape[0] - 1 - i] = A[i // 2] + B[i, 0]


@pytest.mark.parametrize("preset", WIDE)
def test_lanes_that_lie_apart_backwards_or_on_a_diagonal_are_gathered_and_scattered(preset):
    rng = np.random.default_rng(5)
    code = None
    for n in (1, 2, 9, 16, 31):
        args = {"A": rng.integers(-9, 9, 3 * n), "B": rng.integers(-9, 9, (n, n)), "C": rng.integers(-9, 9, n)}
        code = code or compiled(along, args, preset, form="source")
        assert_as_defined(along, args, code)


def shifted(A, B):
    for i in range(1, B.shape[0]):
        for j in range(1, B.shape[1]):
            B[i, j] = A[i, j] - A[i - 1, j - 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the array ends where a page does, read in a child process")
@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["float64", "int8"])
@pytest.mark.parametrize("columns", [5, 16, 21])
def test_masked_remainders_touch_nothing_beyond_an_array_that_ends_with_its_page(columns, dtype, preset):
    room = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    size = 3 * columns * np.dtype(dtype).itemsize
    start = 2 * mmap.PAGESIZE - size
    array = np.frombuffer(room, dtype, 3 * columns, start).reshape(3, columns)
    array[...] = np.arange(3 * columns).reshape(3, columns)
    other = np.arange(3 * columns, dtype=dtype).reshape(3, columns)
    read, written = {"A": array, "B": other}, {"A": other.copy(), "B": array}
    wanted = [defined(shifted, args)[0]["B"] for args in (read, written)]
    code = compiled(shifted, read, preset)
    child = os.fork()
    if child == 0:
        protect = ctypes.CDLL(None).mprotect
        beyond = ctypes.c_void_p(array.ctypes.data + size)
        failed = protect(beyond, ctypes.c_size_t(mmap.PAGESIZE), 0)
        right = code(read)[0] == 0 and (other == wanted[0]).all()
        other[...] = written["A"]
        right = right and code(written)[0] == 0 and (array == wanted[1]).all()
        os._exit(0 if right and not failed else 3)
    assert os.waitpid(child, 0)[1] == 0


def turned(A, B, C, r):
    for i in range(A.shape[0]):
        B[i] = A[A.shape[0] - 1 - i] - C[i]
    for i in range(A.shape[0]):
        C[A.shape[0] - 1 - i] = A[i] + B[i]
    for i in range(A.shape[0]):
        r[0] += A[A.shape[0] - 1 - i] * B[i]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the array fills its pages, read in a child process")
@pytest.mark.parametrize("preset", WIDE)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
def test_masked_lanes_that_go_backwards_touch_nothing_before_or_behind_an_array(dtype, preset):
    """The arrays begin where a page does and end somewhere, then end where one does and begin somewhere."""
    room = {name: mmap.mmap(-1, 3 * mmap.PAGESIZE) for name in "ABC"}
    wide, rng = np.dtype(dtype).itemsize, np.random.default_rng(7)
    small = {name: np.zeros(5, dtype) for name in "ABC"} | {"r": np.zeros(1, dtype)}
    code = compiled(turned, small, preset, form="source")
    child = os.fork()
    if child == 0:
        protect, right = ctypes.CDLL(None).mprotect, True
        for memory in room.values():
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            for page in (0, 2):
                right &= protect(ctypes.c_void_p(address + page * mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
        for n in (1, 2, 5, 8, 15, 16, 33, 66, 71, 129):
            for start in (mmap.PAGESIZE, 2 * mmap.PAGESIZE - n * wide):
                given = {name: np.frombuffer(memory, dtype, n, start) for name, memory in room.items()}
                for array in given.values():
                    array[...] = rng.integers(-9, 9, n)
                given["r"] = np.ones(1, dtype)
                wanted, _ = defined(turned, given)
                right &= code(given)[0] == 0 and all((given[name] == wanted[name]).all() for name in given)
        os._exit(0 if right else 3)
    assert os.waitpid(child, 0)[1] == 0


def every_second(y, x, a):
    for i in range(y.shape[0]):
        y[i] = a * x[2 * i]


def every_third_of_rows(y, x, a):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            y[i, j] = x[i, 3 * j + 1] - a * x[i, 3 * j]


def every_fourth_summed(y, x, a):
    for i in range(y.shape[0]):
        for j in range(y.shape[1]):
            for k in range(x.shape[0]):
                y[i, j] += x[k, i] * x[k, 4 * j]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i1", "f2"])
@pytest.mark.parametrize("length", [1, 2, 7, 16, 31, 33, 100])
@pytest.mark.sweep(keep=12)
def test_lanes_a_few_elements_apart(dtype, length):
    random = np.random.default_rng(length)
    for f, y_shape, x_shape in (
        (every_second, (length,), (2 * length - 1,)),
        (every_third_of_rows, (3, length), (3, 3 * length - 1)),
        (every_fourth_summed, (2, length), (5, max(4 * length - 3, 2))),
    ):
        x = random.integers(-3, 4, x_shape).astype(dtype)
        wanted, got = np.ones(y_shape, dtype), np.ones(y_shape, dtype)
        f(wanted, x, np.dtype(dtype).type(2))
        k = polyml.kernel(cache=False, fallback="error")(f)
        k(got, x, np.dtype(dtype).type(2))
        assert np.array_equal(got, wanted), f.__name__
        turned = np.asfortranarray(x)  # where neighbouring lanes are far apart
        got = np.ones(y_shape, dtype)
        k(got, turned, np.dtype(dtype).type(2))
        assert np.array_equal(got, wanted), f.__name__


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect")
def test_lanes_a_few_elements_apart_read_nothing_behind_the_last():
    """The array ends where a page begins that must not be touched."""
    text = """
        import ctypes, mmap
        import numpy as np, polyml
        from tests.codegen.llvm.test_lanes import every_second

        memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + mmap.PAGESIZE), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
        k = polyml.kernel(cache=False, fallback="error")(every_second)
        for n in range(1, 80):
            x = np.frombuffer(memory, "f4", 2 * n - 1, mmap.PAGESIZE - 4 * (2 * n - 1))
            y = np.zeros(n, "f4")
            k(y, x, np.float32(2))
            assert (y == 2 * x[::2]).all()
        print("read")
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True)
    assert ran.stdout == "read\n", (ran.returncode, ran.stderr[-2000:])
