"""Copies of tiles: what is copied, that nothing outside an array is, and that results stay as they were."""

from dataclasses import replace

import numpy as np
import pytest

import polyml
from benchmarks.fused.moved_bytes import Setting, compiled
from polyml import polyhedra
from polyml.codegen.astgen.build import build
from polyml.codegen.interpreter import run
from polyml.codegen.ir.program import Guard, Loop, every, instances, loops, with_paths
from polyml.codegen.passes.balance import balance
from polyml.codegen.passes.packing import choose
from polyml.codegen.passes.packing.pack import pack
from polyml.codegen.passes.privatize import privatize
from polyml.codegen.passes.vectorize import vectorize
from polyml.machines import catalogue
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.schedule.compute import ScheduleRequest, compute
from polyml.schedule.tiling import contraction, cpu_mapping
from tests.codegen.forms import blocks_of
from tests.codegen.loop_nests import batched
from tests.codegen.loop_nests import matmul as plain
from tests.codegen.native import WIDE, native
from tests.codegen.samples import scop_of


def right_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[j, k]


def left_transposed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * B[k, j]


def gram(C, A, B):
    for i in range(A.shape[1]):
        for j in range(A.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += A[k, i] * A[k, j]


def every_other(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1] // 2):
                C[i, j] += A[i, 2 * k] * B[k + 1, j]


def some_rows(C, A, B):
    """A has three rows."""
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                if i < 3:
                    C[i, j] += A[i, k] * B[k, j]


def far_apart(C, A, B):
    """Neither what is summed nor the rows of a register tile lie side by side in A."""
    for j in range(C.shape[0]):
        for c in range(C.shape[1]):
            for a in range(C.shape[2]):
                for m in range(A.shape[1]):
                    C[j, c, a] += A[c, m, j] * B[m, a]


def chain(C, A, B):
    T = A @ B
    C += T @ B - 2


def correlated(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for r in range(3):
                for s in range(3):
                    C[i, j] += A[i + r, j + s] * B[r, s]


def matrices(m, n, k):
    return {"C": (m, n), "A": (m, k), "B": (k, n)}


SHAPES = {
    plain: matrices,
    right_transposed: lambda m, n, k: {"C": (m, n), "A": (m, k), "B": (n, k)},
    left_transposed: lambda m, n, k: {"C": (m, n), "A": (k, m), "B": (k, n)},
    gram: lambda m, n, k: {"C": (m, m), "A": (k, m), "B": (0, 0)},
    batched: lambda m, n, k: {"C": (3, m, n), "A": (3, m, k), "B": (3, k, n)},
    every_other: lambda m, n, k: {"C": (m, n), "A": (m, 2 * k), "B": (k + 1, n)},
    some_rows: lambda m, n, k: {"C": (m, n), "A": (min(m, 3), k), "B": (k, n)},
    correlated: lambda m, n, k: {"C": (m, n), "A": (m + 2, n + 2), "B": (3, 3)},
    far_apart: lambda m, n, k: {"C": (3, m, n), "A": (m, k, 3), "B": (k, n)},
    chain: lambda m, n, k: {"C": (m, n), "A": (m, n), "B": (n, n)},
}
SIZES = ((0, 0, 0), (1, 1, 1), (2, 5, 3), (5, 8, 3), (13, 17, 11), (16, 3, 20))


def arguments(kernel, sizes, dtype="int64"):
    random = np.random.default_rng(sum(sizes))
    return {name: random.integers(-9, 9, shape).astype(dtype) for name, shape in SHAPES[kernel](*sizes).items()}


@pytest.fixture
def small(monkeypatch):
    """Tiles of a few iterations, and copies of what is read twice."""
    monkeypatch.setattr(choose, "LEAST_USES", 2)
    monkeypatch.setattr(cpu_mapping._Mapping, "_tile_sizes", lambda self, roles, names: [(1, 4, 3, 4)[r] for r in roles])
    monkeypatch.setattr(contraction, "blocks", blocks_of(8, 4, 3, 4))


def packed(kernel, preset=WIDE[-1]):
    """The kernel's program before its tiles are copied, and after."""
    scop = expand(scop_of(kernel, arguments(kernel, (5, 5, 5))))
    target = catalogue.processor(preset)
    tree = compute(scop, dependences(scop), ScheduleRequest(target, tile=True, parallel=True)).tree
    before = balance(build(scop, tree, reductions(scop, "reassociate")))
    return before, pack(before, target)


def copies(program):
    return set(program.windows)


LOOPS = [k for k in SHAPES if k is not chain]


@pytest.mark.parametrize("kernel", LOOPS, ids=lambda k: k.__name__)
def test_programs_with_copies_mean_what_they_did(small, kernel):
    """The interpreter refuses any index outside an array, also of a copy's source."""
    _, program = packed(kernel)
    for sizes in SIZES[:-1]:
        got, wanted = arguments(kernel, sizes), arguments(kernel, sizes)
        run.run(program, got, order="shuffled", seed=1)
        kernel(**wanted)
        np.testing.assert_array_equal(got["C"], wanted["C"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kernel", LOOPS, ids=lambda k: k.__name__)
def test_compiled_copies_give_the_same(small, kernel, threads, monkeypatch):
    monkeypatch.setattr("polyml.codegen.llvm.emit.PARALLEL_WORK", 0)
    _, program = packed(kernel)
    program = vectorize(privatize(program), catalogue.processor(WIDE[-1]), ("C",) * len(program.scop.params))
    code = native(program, WIDE[-1], layouts=("C",) * len(program.scop.params))
    for sizes in SIZES:
        got, wanted = arguments(kernel, sizes), arguments(kernel, sizes)
        assert code(got, threads)[0] == 0
        kernel(**wanted)
        np.testing.assert_array_equal(got["C"], wanted["C"])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16"])
@pytest.mark.parametrize("kernel", SHAPES, ids=lambda k: k.__name__)
@pytest.mark.sweep(keep=14)
def test_whole_kernels_copy_their_tiles_at_every_size(small, kernel, dtype):
    compiled = polyml.kernel(cache=False, threads=2)(kernel)
    for sizes in SIZES:
        got, wanted = arguments(kernel, sizes, dtype), arguments(kernel, sizes, dtype)
        with np.errstate(all="ignore"):
            kernel(**wanted)
        compiled(**got)
        np.testing.assert_array_equal(got["C"], wanted["C"])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_the_caller_s_strides_do_not_matter(small, order, step):
    compiled = polyml.kernel(cache=False)(plain)
    whole = {name: np.asarray(a, order=order) for name, a in arguments(plain, (26, 34, 22)).items()}
    got, wanted = ({n: a.copy(order="K")[::step, ::step] for n, a in whole.items()} for _ in range(2))
    compiled(**got)
    plain(**wanted)
    np.testing.assert_array_equal(got["C"], wanted["C"])


def test_both_operands_are_copied_and_the_result_is_not(small):
    _, program = packed(plain)
    assert copies(program) == {"A_tile0", "B_tile0"}
    filling, multiplying, _ = (loop for loop in loops(program.body) if loop.parallel)
    assert set(multiplying.private) == {"A_tile0"} and not filling.private


def test_a_copy_that_many_tiles_read_is_in_panels_as_wide_as_they_are(small):
    _, program = packed(plain)
    assert program.windows["B_tile0"].lengths[:2] == (2, 3)  # panels, depth; a panel's rows are whole cache lines
    assert program.scop.statements["fill_B_tile0"].iterators == ("i0", "i1", "p")


def test_an_operand_s_last_dimension_becomes_the_one_that_the_result_s_rows_run_along(small):
    _, program = packed(right_transposed)
    read = program.scop.statements["fill_B_tile0"].reads[0].subscripts
    written = program.scop.statements["fill_B_tile0"].write.subscripts
    assert [polyhedra.iterator_coefficients(e)[0] for e in read] == [(1, 0, 1), (0, 1, 0)]
    assert [polyhedra.iterator_coefficients(e)[0] for e in written[1:]] == [(0, 1, 0), (1, 0, 0)]


def test_one_array_read_in_two_ways_has_two_copies(small):
    _, program = packed(gram)
    assert copies(program) == {"A_tile0", "A_tile1"}


def named_like_a_copy(C, A, A_tile0, A_tile1_0):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A_tile1_0):
                C[i, j] += A[i, k] * A_tile0[k, j]


def test_copies_have_names_that_the_kernel_does_not_use(small):
    given = {**matrices(13, 17, 11), "A_tile0": (11, 17)}
    arrays = {n: np.arange(float(np.prod(given[n]))).reshape(given[n]) for n in ("C", "A", "A_tile0")}
    wanted = arrays["C"] + arrays["A"] @ arrays["A_tile0"]
    polyml.kernel(cache=False, threads=2)(named_like_a_copy)(**arrays, A_tile1_0=11)
    np.testing.assert_array_equal(arrays["C"], wanted)


def test_what_the_nest_writes_is_not_copied(small):
    def in_place(A, B):
        for i in range(B.shape[0]):
            for j in range(A.shape[1]):
                for k in range(i):
                    A[i, j] += B[i, k] * A[k, j]

    shape = {"A": np.zeros((5, 5), int), "B": np.zeros((5, 5), int)}
    scop = expand(scop_of(in_place, shape))
    tree = compute(scop, dependences(scop), ScheduleRequest(catalogue.processor("avx2"), tile=True, parallel=True)).tree
    program = pack(build(scop, tree, {}), catalogue.processor("avx2"))
    assert not any(name.startswith("A_") for name in program.windows)


def test_little_use_at_run_time_leaves_the_operands_where_they_are(small):
    _, program = packed(plain)
    guards = [n for n in every(program.body) if isinstance(n, Guard)]
    assert len(guards) == 2  # with copies, and without


def test_long_rows_of_a_copy_begin_an_odd_number_of_cache_lines_apart():
    _, program = packed(plain)
    for name, window in program.windows.items():
        row_bytes = window.lengths[-1] * 8
        assert row_bytes % 64 == 0
        assert row_bytes // 64 % 2 == 1 or row_bytes // 64 < choose.LONG_ROW, name


def test_a_copy_that_does_not_fit_the_second_cache_is_not_made(monkeypatch):
    monkeypatch.setattr(contraction, "blocks", blocks_of(40000, 4000, 3000, 4000))
    before, after = packed(plain)
    assert after is before


def test_loops_over_copies_are_loops_like_others():
    _, program = packed(plain)
    fills = [n for n in every(program.body) if isinstance(n, Loop) and n.var.startswith(("A_tile", "B_tile"))]
    panels = [loop for loop in fills if loop.role == "tile"]
    assert len(fills) == 5 and [loop.parallel for loop in panels][-1:] == [False]  # each thread fills its own
    assert all(loop.step == 1 for loop in fills if loop not in panels)


def packed_for(size, kernel=plain):
    """The program on two cores with its copies, where every size is this one."""
    scop = expand(scop_of(kernel, arguments(kernel, (5, 5, 5), "float64")))
    target = replace(catalogue.processor("avx512"), cores=2)
    sizes = {p.name: size for p in scop.parameters}
    free = reductions(scop, "reassociate")
    tree = compute(scop, dependences(scop), ScheduleRequest(target, tile=True, parallel=True, sizes=sizes), reductions=free).tree
    return pack(balance(build(scop, tree, free)), target, ("C", "C", "C"), sizes)


def test_each_thread_copies_the_part_that_it_uses_alone():
    program = packed_for(600)
    (multiplying,) = (loop for loop in loops(program.body) if loop.parallel and loop.private)
    assert multiplying.private == ("B_tile0",)
    columns, depth, width = program.windows["B_tile0"].lengths
    assert columns * depth * width * 8 <= catalogue.processor("avx512").cache(2).size_bytes


def test_copies_of_short_pieces_of_rows_are_shared(monkeypatch):
    monkeypatch.setattr(choose, "LONG_ROW", 1000)
    program = packed_for(600)
    assert "B_tile0" in program.windows
    assert not any(loop.private for loop in loops(program.body))


def test_rows_that_lie_apart_are_copied_in_the_order_in_which_tiles_read_them():
    program = packed_for(100, far_apart)
    read = program.scop.statements["fill_A_tile0"].reads[0].subscripts
    written = program.scop.statements["fill_A_tile0"].write.subscripts
    assert [polyhedra.iterator_coefficients(e)[0].index(1) for e in read] == [0, 1, 2]
    assert [polyhedra.iterator_coefficients(e)[0].index(1) for e in written] == [2, 0, 1]  # j, c, m
    assert not any(name.startswith("A_") for name in copies(packed_for(100)))


def in_columns(A, B, C):
    for n in range(C.shape[0]):
        for j in range(C.shape[2]):
            for i in range(C.shape[1]):
                for k in range(A.shape[2]):
                    C[n, i, j] += A[n, i, k] * B[n, k, j]


@pytest.mark.parametrize("ways", [("n",), ("n", "j"), ("n", "j_t"), ("n_t", "n")])
def test_each_thread_has_its_own_copies_whichever_of_the_loops_around_goes_to_threads(ways):
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 9, (8, 40, 30)), rng.integers(0, 9, (8, 30, 40))
    compiled = polyml.kernel(cache=False, threads=2)(in_columns)
    schedule = compiled.schedule("source", A, B, np.zeros((8, 40, 40), int)).tile({"n": 2}).tile({"j": 8}).pack("A", "i")
    for name in ways:
        schedule = schedule.parallel(name)
    compiled = compiled.with_schedule(schedule)
    program = compiled.lower(A, B, np.zeros((8, 40, 40), int)).program
    around = [path for instance, path in with_paths(program.body) if instance.statement.startswith("fill_")]
    assert around and all(len(n.private) == 1 for path in around for n in path if isinstance(n, Loop) and n.parallel)
    for _ in range(20):
        C = np.zeros((8, 40, 40), int)
        compiled(A, B, C)
        np.testing.assert_array_equal(C, A @ B)


def cosines(A, B):
    return A @ B.T / (np.sqrt((A * A).sum(axis=1))[:, None] * np.sqrt((B * B).sum(axis=1)))


def powers(A, B, steps):
    """B changes from step to step, A does not."""
    for _ in range(steps):
        C = np.zeros(B.shape)
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                B[i, j] = C[j, i] * 0.5


def filled_before(function, *given):
    """The arrays whose copies are filled by a nest of their own, and those filled inside a loop of others, for given sizes."""
    program = compiled(function, given, Setting(catalogue.processor("zen4"), (), threads=2)).program
    outside, inside = set(), set()
    for node in program.body:
        names = {each.statement for each in instances((node,))}
        fills = {name for name in names if name.startswith("fill_")}
        (outside if names == fills else inside).update(name.removeprefix("fill_").rpartition("_")[0] for name in fills)
    private = {name for loop in loops(program.body) for name in loop.private}
    assert not any(name.rpartition("_")[0] in outside for name in private)
    return outside, inside


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [1, 47, 300])
def test_a_copy_that_all_iterations_of_the_loops_around_read_is_filled_before_them(rows, threads):
    random = np.random.default_rng(rows)
    A, B = (random.standard_normal(shape).astype(np.float32) / 8 for shape in ((rows, 128), (1021, 128)))
    outside, inside = filled_before(cosines, np.zeros((1024, 128), np.float32), B)
    assert "B" in outside and "B" not in inside
    found = polyml.kernel(cosines, cache=False, fallback="error", threads=threads)
    np.testing.assert_allclose(found(A, B), cosines(A, B), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_copy_of_what_a_loop_around_writes_is_filled_in_each_iteration(steps):
    random = np.random.default_rng(steps)
    A, B = random.standard_normal((256, 256)) / 16, random.standard_normal((256, 256))
    outside, inside = filled_before(powers, A, B, 3)
    assert "B" not in outside and "B" in inside
    found, wanted = B.copy(), B.copy()
    polyml.kernel(powers, cache=False, fallback="error")(A, found, steps)
    for _ in range(steps):
        wanted[:] = (A @ wanted).T * 0.5
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
