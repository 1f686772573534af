"""Results that each thread has of its own, joined behind the loop: against NumPy, interpreted and compiled."""

import numpy as np
import pytest

import polyml
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter.run import run
from polyml.codegen.ir.program import loops
from polyml.codegen.passes.prefetch import prefetch
from polyml.codegen.passes.privatize_reductions import privatize_reductions
from polyml.codegen.passes.vectorize import vectorize
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.frontend.types.infer import infer
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.pipeline.stages import extract
from polyml.schedule.compute import ScheduleRequest, compute

SIZES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (7, 5), (8, 8), (33, 17), (64, 65), (70, 41)]


def rows_and_columns(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] = r[i] + A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            c[j] = c[j] + A[i, j]


def extremes(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] = max(r[i], A[i, j])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            c[j] = np.minimum(c[j], A[i, j])


def products(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] -= A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            c[j] *= A[i, j]


def one_after_the_other(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] += A[i, j] * c[j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += r[i]


def through_rows(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] += A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            c[j] += A[i, j] * r[i]


def total(A, r, c):
    thread = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] += A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            thread += A[i, j]
    c[:] += thread


def bits(A, r, c):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            r[i] |= A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            c[j] ^= A[i, j]


EXPECTED = {
    rows_and_columns: lambda A, r, c: (A, r + A.sum(1), c + A.sum(0)),
    extremes: lambda A, r, c: (A, np.maximum(r, A.max(1, initial=-200)), np.minimum(c, A.min(0, initial=200))),
    products: lambda A, r, c: (A, r - A.sum(1), c * A.prod(0)),
    one_after_the_other: lambda A, r, c: (A + (r + A @ c)[:, None], r + A @ c, c),
    through_rows: lambda A, r, c: (A, r + A.sum(1), c + A.T @ (r + A.sum(1))),
    total: lambda A, r, c: (A, r + A.sum(1), c + A.sum()),
}
WITH_PARTIAL = [rows_and_columns, extremes, products, through_rows, total]


def sizes_of(function):
    """Returns sizes for the function; those of `total` are not zero, since its sum would be of another type."""
    return [s for s in SIZES if function is not total or 0 not in s]


def arguments(shape, dtype=np.float64):
    rng = np.random.default_rng(shape[0] * 100 + shape[1])
    values = (rng.integers(-3, 4, shape), rng.integers(-9, 9, shape[0]), rng.integers(-9, 9, shape[1]))
    return [v.astype(dtype) for v in values]  # sums of small integers are exact in any order


def modelled(function, dtype=np.float64, fp="reassociate"):
    types = tuple(arg_type(v, n) for n, v in zip("Arc", arguments((2, 2), dtype)))
    scop = extract(infer(parse(function), types))
    return scop, reductions(scop, fp)


def program_of(function, dtype=np.float64):
    scop, free = modelled(function, dtype)
    tree = compute(
        scop, dependences(scop), ScheduleRequest(catalogue.processor("avx512"), tile=True, parallel=True), reductions=free
    ).tree
    return build(scop, tree, free)


@pytest.mark.parametrize("order", ["source", "reversed", "shuffled"])
@pytest.mark.parametrize("function", EXPECTED)
def test_programs_mean_the_same_on_any_number_of_threads(function, order):
    program = privatize_reductions(program_of(function))
    assert bool(program.threads) == (function in WITH_PARTIAL)
    for shape in sizes_of(function):
        given = arguments(shape)
        expected = EXPECTED[function](*(v.copy() for v in given))
        run(program, dict(zip("Arc", given)), order=order, seed=7)
        for got, wanted in zip(given, expected):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("function", EXPECTED)
def test_vectors_of_partial_results_mean_the_same(function):
    program = prefetch(privatize_reductions(program_of(function)))
    program = vectorize(program, catalogue.processor("avx512"), ("C",) * 3)
    for shape in sizes_of(function):
        given = arguments(shape)
        expected = EXPECTED[function](*(v.copy() for v in given))
        run(program, dict(zip("Arc", given)), order="shuffled", seed=3)
        for got, wanted in zip(given, expected):
            np.testing.assert_array_equal(got, wanted)


FLOATS, INTEGERS = (np.float64, np.float32), (np.int64, np.int32)
TYPED = [  # a float sum is not stored in integers
    (function, dtype) for function in EXPECTED for dtype in (FLOATS if function is total else FLOATS + INTEGERS)
]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("function, dtype", TYPED)
@pytest.mark.sweep(keep=22)
def test_compiled_on_threads(function, dtype, threads):
    kernel = polyml.kernel(cache=False, threads=threads, fallback="error")(function)
    for shape in [*sizes_of(function), (300, 401)]:
        if function is products and shape[0] > 64 and dtype in (np.float32, np.float64):
            continue  # leaves what is exact
        given = arguments(shape, dtype)
        with np.errstate(all="ignore"):
            expected = [np.asarray(e, dtype) for e in EXPECTED[function](*(v.copy() for v in given))]
        kernel(*given)
        for got, wanted in zip(given, expected):
            np.testing.assert_array_equal(got, wanted, err_msg=f"{shape}")


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_on_threads(threads):
    kernel = polyml.kernel(cache=False, threads=threads, fallback="error")(bits)
    for shape in [*SIZES, (300, 401)]:
        A, r, c = arguments(shape, np.int64)
        expected = r | np.bitwise_or.reduce(A, 1), c ^ np.bitwise_xor.reduce(A, 0)
        kernel(A, r, c)
        np.testing.assert_array_equal(r, expected[0])
        np.testing.assert_array_equal(c, expected[1])


@pytest.mark.parametrize("slices", [np.s_[::2], np.s_[:, ::-1], np.s_[3:, ::3]])
def test_arrays_of_any_strides(slices):
    kernel = polyml.kernel(cache=False, threads=2, fallback="error")(rows_and_columns)
    A = np.arange(300.0 * 401).reshape(300, 401)[slices]
    for order in ("C", "F"):
        B = A if order == "C" else np.asfortranarray(A)
        r, c = np.zeros(2 * B.shape[0])[::2], np.zeros(B.shape[1])[::-1]
        kernel(B, r, c)
        np.testing.assert_array_equal(r, B.sum(1))
        np.testing.assert_array_equal(c, B.sum(0))


def test_a_number_of_threads_has_one_result():
    kernel = polyml.kernel(cache=False, threads=2, fallback="error")(rows_and_columns)
    A = np.random.default_rng(0).random((700, 501))
    found = set()
    for _ in range(20):
        r, c = np.zeros(700), np.zeros(501)
        kernel(A, r, c)
        found.add(r.tobytes() + c.tobytes())
    assert len(found) == 1


def test_names_of_the_kernel_are_left_alone():
    program = privatize_reductions(program_of(total))
    assert {program.thread, program.threads}.isdisjoint(program.scop.arrays)
    assert not any(loop.partial for loop in loops(program.body))


def test_the_last_nest_of_a_tile_fetches_the_rows_of_the_next_one():
    scop, free = modelled(through_rows)
    tree = compute(
        scop, dependences(scop), ScheduleRequest(catalogue.processor("avx512"), tile=True, parallel=True), reductions=free
    ).tree
    program = prefetch(privatize_reductions(build(scop, tree, free)))
    ((statement, reads),) = program.prefetches.items()
    (read,) = reads
    assert statement.startswith("S1") and program.scop.statements[statement].reads[read].array == "A"
    assert reads[read] == ("i", 8)
    assert not prefetch(privatize_reductions(program_of(rows_and_columns))).prefetches
    assert not prefetch(program_of(one_after_the_other)).prefetches  # the array changes meanwhile


def test_strict_sums_keep_their_order():
    A = np.random.default_rng(1).random((130, 77)) * 10.0 ** np.random.default_rng(2).integers(-9, 9, (130, 77))
    r, c = np.zeros(130), np.zeros(77)
    polyml.kernel(cache=False, threads=2, fallback="error", fp="strict")(through_rows)(A, r, c)
    plain = [np.zeros(130), np.zeros(77)]
    through_rows(A, *plain)
    assert r.tobytes() == plain[0].tobytes() and c.tobytes() == plain[1].tobytes()


def turned_at_the_ends(A, B, T, x):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] + T[min(j, A.shape[0] - 1), min(i, A.shape[1] - 1)]
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            x[j] = T[i + 1, j + 1] + T[i, j] + x[j]


@pytest.mark.parametrize("shape", [(60, 50), (50, 60), (60, 60), (2, 70)])
def test_pieces_of_a_loop_without_updates_have_no_results_of_their_own(shape):
    rng = np.random.default_rng(0)
    A, T = rng.integers(-9, 9, shape), rng.integers(-9, 9, shape)
    own, other = ([np.zeros_like(A), np.ones(shape[1], int)] for _ in range(2))
    turned_at_the_ends(A, own[0], T, own[1])
    polyml.kernel(cache=False, threads=2)(turned_at_the_ends)(A, other[0], T, other[1])
    for one, two in zip(own, other):
        np.testing.assert_array_equal(two, one)
