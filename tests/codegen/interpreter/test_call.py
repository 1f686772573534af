"""What a compiled kernel answers: its checks, integers that leave 64 bits, results, local arrays, overlap, threads."""

import numpy as np
import pytest

from polyml.codegen.astgen.build import build
from polyml.codegen.llvm import emit
from polyml.codegen.passes.vectorize import vectorize
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.machines import catalogue
from polyml.model.core.call_interface import Status
from polyml.pipeline.stages import extract
from tests.codegen.forms import layouts, programs
from tests.codegen.loop_nests import KERNELS, arguments_for, five_points, lower_update, matmul
from tests.codegen.native import WIDE, assert_as_defined, compiled, copied, defined, layouts_of, native, presets  # fmt: skip

pytestmark = pytest.mark.skipif(not presets(), reason="the presets that run are those of x86-64")
PRESET = WIDE[-1] if WIDE else ""


def refused(function, args, error, preset=PRESET, **options):
    """The status of a call that the language refuses, which must leave all arguments alone; and the kernel."""
    with pytest.raises(error):
        defined(function, args)
    code, got = compiled(function, args, preset, **options), copied(args)
    status, _ = code(got)
    return status, code, got


# checks


def shifted_copy(A, B, C):
    for i in range(A.shape[0]):
        A[i] = 7
    for i in range(A.shape[0]):
        A[i] = B[i + 2]
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            A[i] += C[i, j]


def sized(a, b, c):
    return {"A": np.arange(a), "B": np.arange(b), "C": np.ones((c, c + 1), int)}


@pytest.mark.parametrize(("sizes", "what"), [((5, 6, 5), "B[i + 2]"), ((5, 7, 4), "C[i, j]"), ((5, 3, 2), "B[i + 2]")])
def test_a_violated_check_is_answered_by_its_number_and_nothing_is_written(sizes, what):
    args = sized(*sizes)
    status, code, got = refused(shifted_copy, args, IndexError)
    assert status > 0 and what in code.scop.checks[status - 1].what
    for name, value in args.items():
        np.testing.assert_array_equal(got[name], value)


def test_a_call_at_the_edge_of_its_checks_is_done():
    assert_as_defined(shifted_copy, sized(5, 7, 5), compiled(shifted_copy, sized(3, 3, 3), PRESET))
    assert_as_defined(shifted_copy, sized(0, 0, 0), compiled(shifted_copy, sized(3, 3, 3), PRESET))


# Python's integers


def sum_of_products(n, m, A):
    total = 0
    for i in range(A.shape[0]):
        total = total + n * m
        A[i] = total
    return total


def many_times(n, m, A):
    total = 0
    for i in range(A.shape[0]):
        total = total + n * m
    return total


def cubes(n, k, A):
    for i in range(A.shape[0]):
        A[i] = (n * k) ** 3


def shifts(n, k, A):
    for i in range(A.shape[0]):
        A[i] = (n << k) + i


def negated(n, k, A):
    for i in range(A.shape[0]):
        A[i] = -(n * k)


def difference(n, k, A):
    for i in range(A.shape[0]):
        A[i] = n * k - k * k


def quotient(n, k, A):
    for i in range(A.shape[0]):
        A[i] = n // k


def stored(n, k, A):
    for i in range(A.shape[0]):
        A[i] = n * k


def chosen(n, k, A):
    for i in range(A.shape[0]):
        A[i] = n * n if k > 0 else n


BIG = 2**62


@pytest.mark.parametrize(
    ("function", "n", "k", "dtype"),
    [
        (many_times, 2**31, 2**31, "int64"),
        (sum_of_products, 2**31, 2**31, "int64"),
        (sum_of_products, 2**32, 2**32, "int64"),
        (sum_of_products, -BIG, 4, "int64"),
        (cubes, 2**11, 2**10, "int64"),
        (cubes, -3, 2**20, "int64"),
        (shifts, 1, 63, "int64"),
        (shifts, 3, 62, "int64"),
        (negated, -(2**62), 2, "int64"),
        (difference, -(2**62), 2, "int64"),
        (quotient, -(2**63), -1, "int64"),
        (stored, 32, 4, "int8"),
        (stored, -43, 3, "int8"),
        (stored, 1, -1, "uint8"),
        (stored, 2**16, 2**15, "int32"),
        (stored, -1, 1, "uint64"),
        (chosen, BIG, 1, "int64"),
    ],
)
def test_a_python_int_that_leaves_its_range_is_answered_by_its_status(function, n, k, dtype):
    args = dict(zip(parameters(function), (n, k, np.zeros(5, dtype))))
    status, _, _ = refused(function, args, OverflowError)
    assert status == (Status.DOES_NOT_FIT if function is stored else Status.LEFT_64_BITS)


@pytest.mark.parametrize(
    ("function", "n", "k", "dtype"),
    [
        (many_times, 2**31, 2**29, "int64"),
        (sum_of_products, 2**31, 2**29, "int64"),
        (cubes, 2**11, 2**9, "int64"),
        (cubes, -(2**11), 2**9, "int64"),
        (shifts, -1, 63, "int64"),
        (shifts, 1, 61, "int64"),
        (negated, 2**61, 3, "int64"),
        (difference, -(2**61), 1, "int64"),
        (quotient, -(2**63), 2, "int64"),
        (quotient, -(2**63), 3, "int64"),
        (stored, 32, -4, "int8"),
        (stored, 127, 1, "int8"),
        (stored, 51, 5, "uint8"),
        (stored, -(2**16), 2**15, "int32"),
        (stored, 2**62, 1, "uint64"),
        (chosen, BIG, 0, "int64"),
    ],
)
def test_python_ints_at_the_edge_of_their_range_are_exact(function, n, k, dtype):
    args = dict(zip(parameters(function), (n, k, np.zeros(5, dtype))))
    assert_as_defined(function, args, compiled(function, args, PRESET))


def parameters(function):
    return function.__code__.co_varnames[: function.__code__.co_argcount]


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16"])
@pytest.mark.parametrize("k", [0, -1, 3, -3])
def test_numpy_s_numbers_divide_by_zero_and_wrap_where_python_s_would_not(dtype, k):
    def divided(n, A):
        for i in range(A.shape[0]):
            A[i] = n // A[i] + n % A[i] - n * n

    values = np.array([k, 1, 0, 2], "int64").astype(dtype)
    args = {"n": np.dtype(dtype).type(np.iinfo(dtype).min), "A": values}
    assert_as_defined(divided, args, compiled(divided, args, PRESET))


# results and local arrays


def several(A, x, flag):
    best = A[0]
    where = 0
    doubled = np.zeros(A.shape, A.dtype)
    for i in range(A.shape[0]):
        doubled[i] = A[i] * 2
        if A[i] > best:
            best = A[i]
    half = x * np.float32(0.5)
    odd = not flag
    return best, doubled, half, odd, where - 7


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint32", "float64"])
def test_results_are_arrays_and_numbers_of_every_type(dtype):
    args = {"A": np.array([3, 1, 100, 2]).astype(dtype), "x": np.float32(3.25), "flag": True}
    assert_as_defined(several, args, compiled(several, args, PRESET))


def through_local(A, B):
    n = A.shape[0]
    T = np.empty((n, A.shape[1] + 1), A.dtype)
    for i in range(n):
        T[i, 0] = 0
        for j in range(A.shape[1]):
            T[i, j + 1] = T[i, j] + A[i, j]
    for i in range(n):
        for j in range(A.shape[1] + 1):
            B[i, j] = T[n - 1 - i, j]


@pytest.mark.parametrize("preset", WIDE)
def test_local_arrays_hold_what_was_written(preset):
    rng = np.random.default_rng(6)
    code = None
    for n, m in ((3, 4), (0, 5), (5, 0), (40, 17)):
        args = {"A": rng.integers(-9, 9, (n, m)), "B": np.zeros((n, m + 1), int)}
        code = code or compiled(through_local, args, preset)
        assert_as_defined(through_local, args, code)


def too_large(A, n):
    T = np.empty((n, n), A.dtype)
    for i in range(A.shape[0]):
        T[i, 0] = A[i]
    for i in range(A.shape[0]):
        A[i] = T[i, 0] + 1


def test_memory_that_the_system_does_not_have_is_answered_by_minus_one():
    args = {"A": np.arange(4), "n": 8}
    code = compiled(too_large, args, PRESET)
    assert_as_defined(too_large, args, code)
    status, _ = code(args | {"n": 2**29})
    assert status == -1 and args["A"].tolist() == [0, 1, 2, 3]


# arguments that overlap


def spread(A, B):
    for i in range(A.shape[0]):
        A[i] = B[i] + B[0]
        B[i] = A[i] - 1


def overlapping():
    room = np.arange(40)
    rows = np.arange(36).reshape(6, 6)
    return {
        "the same": (room[:20], room[:20]),
        "later": (room[3:23], room[:20]),
        "earlier": (room[:20], room[5:25]),
        "interleaved": (room[:38:2], room[1:39:2]),
        "backwards": (room[:20][::-1], room[:20]),
        "a row and a column": (rows[2], rows[:, 2]),
    }


@pytest.mark.parametrize("case", overlapping())
def test_arguments_that_overlap_run_in_the_source_s_order(case):
    wanted, got = overlapping()[case], overlapping()[case]
    for i in range(len(wanted[0])):
        wanted[0][i] = wanted[1][i] + wanted[1][0]
        wanted[1][i] = wanted[0][i] - 1
    args = dict(zip("AB", got))
    scop = extract(infer(parse(spread), tuple(arg_type(a) for a in got)), aliased=True)
    code = native(build(scop, scop.schedule), PRESET, layouts=layouts_of(args), aliased=True)
    assert code(args) == (0, [])
    for mine, other in zip(got, wanted):
        np.testing.assert_array_equal(mine, other)


# threads


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_computes_the_same(threads):
    rng = np.random.default_rng(7)
    A, B, C = rng.integers(-9, 9, (101, 70)), rng.integers(-9, 9, (70, 83)), rng.integers(-9, 9, (101, 83))
    args = {"C": C.copy(), "A": A, "B": B}
    assert compiled(matmul, args, PRESET)(args, threads) == (0, [])
    np.testing.assert_array_equal(args["C"], C + A @ B)
    S = rng.integers(-9, 9, (101, 101))
    args = {"C": S.copy(), "A": rng.integers(-9, 9, (101, 40)), "m": 40}
    assert compiled(lower_update, args, PRESET)(args, threads) == (0, [])
    np.testing.assert_array_equal(args["C"], S + np.tril(args["A"] @ args["A"].T))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_small_tiles_on_several_threads_compute_the_same(monkeypatch, kernel):
    monkeypatch.setattr(emit, "PARALLEL_WORK", 0)
    program = vectorize(programs(kernel)["apart"], catalogue.processor(PRESET), layouts(programs(kernel)["apart"].scop))
    code = native(program, PRESET, layouts=layouts(program.scop))
    for sizes in ((0, 0, 0), (1, 1, 1), (7, 17, 9), (23, 30, 5)):
        for threads in (1, 2, 5):
            assert_as_defined(kernel, arguments_for(kernel, sizes), code, threads)


def test_a_python_int_that_leaves_64_bits_on_any_thread_is_told():
    def tall(A, n):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] = n * i + j

    args = {"A": np.zeros((300, 200), int), "n": 2**55}
    code = compiled(tall, args, PRESET)
    assert "polyml_parallel" in code.text
    assert code(args, 3)[0] == -2
    assert code(args | {"n": 5}, 3)[0] == 0
    np.testing.assert_array_equal(args["A"], 5 * np.arange(300)[:, None] + np.arange(200))


# floating point


def fused(A, B, C):
    for i in range(A.shape[0]):
        C[i] = A[i] * B[i] + C[i]


def test_strict_code_rounds_every_operation_and_the_default_may_contract():
    x = 1.0 + 2.0**-30
    args = {"A": np.full(9, x), "B": np.full(9, x), "C": np.full(9, -1.0)}
    strict = compiled(fused, args, PRESET, fp="strict")
    assert_as_defined(fused, args, strict)
    assert " contract " not in strict.text and " fast " not in strict.text
    default = compiled(fused, args, PRESET, fp="reassociate")
    assert " contract " in default.text and " fast " not in default.text
    assert default(args)[0] == 0
    assert set(args["C"]) <= {x * x - 1.0, 2.0**-29 + 2.0**-60}


def test_a_strict_sum_of_floats_keeps_its_order():
    def total(A, r):
        for i in range(A.shape[0]):
            r[0] += A[i]

    args = {"A": np.array([1e16, 1.0, -1e16, 1.0] * 9), "r": np.zeros(1)}
    assert_as_defined(total, args, compiled(total, args, PRESET, fp="strict"))


def test_every_preset_and_form_gives_the_same_bits_for_floats_in_strict_mode():
    rng = np.random.default_rng(8)
    args = {"B": rng.normal(size=(19, 23)), "A": rng.normal(size=(19, 23))}
    for preset in presets():
        for form in ("auto", "source", "plain"):
            assert_as_defined(five_points, args, compiled(five_points, args, preset, form=form))
