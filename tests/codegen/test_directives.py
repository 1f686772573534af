"""What a schedule asks of loops is in the code that is generated, which computes the same; what cannot be is refused."""

import re

import numpy as np
import pytest

from polyml.codegen.ir.program import Guard, Jam, Loop, every
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.schedule.script.schedule import MOST_TOGETHER
from tests.schedule.scripts import agrees, integers, kernel, product, schedule, stencil, total, triangle, two


def program(function, made):
    """The loops of the code, after all passes."""
    problem = made.problem
    return kernel(function).with_schedule(made).lower(*problem.types).program


def jams(function, made, statement):
    """{(iterations, lanes)} of what runs together around a statement's instances, outermost first."""
    found = set()

    def look(nodes, around):
        for node in nodes:
            if hasattr(node, "statement"):
                if node.statement.split("_from_")[0] == statement:
                    found.add(tuple((j.count, j.lanes) for j in around))
            else:
                look(node.body, (*around, node) if isinstance(node, Jam) else around)

    look(program(function, made).body, ())
    return found


def distributed():
    return schedule(product).distribute("j").distribute("i")


@pytest.fixture(scope="module")
def lanes():
    from polyml.machines.cpu import host

    return host().vector_bytes // 8


def test_unroll_jam_runs_so_many_iterations_together(lanes):
    jammed = distributed().unroll_jam("S1.i", 3)
    assert jams(product, jammed, "S1") == {((3, 1),), ()}
    agrees(product, jammed)
    both = jammed.unroll_jam("S1.j", 2)
    assert jams(product, both, "S1") == {((3, 1), (2, 1)), ((3, 1),), ((2, 1),), ()}
    agrees(product, both)


def test_vectorize_runs_lanes_of_a_loop_around_others(lanes):
    vector = distributed().vectorize("S1.j")
    assert jams(product, vector, "S1") == {((1, lanes),)}
    agrees(product, vector)
    agrees(product, vector.unroll_jam("S1.i", 4))
    wide = vector.unroll_jam("S1.j", 2)
    assert jams(product, wide, "S1") == {((2, lanes),), ((1, lanes),)}
    agrees(product, wide)


def test_vectorize_of_the_innermost_loop_of_a_sum_keeps_partial_sums(lanes):
    sums = schedule(total).vectorize("j")
    assert ((1, lanes),) in jams(total, sums, "S0")
    agrees(total, sums)
    agrees(total, sums.unroll_jam("i", 2))


def test_vectorize_works_around_inner_loops_and_several_statements(lanes):
    around = schedule(product).vectorize("j")
    assert jams(product, around, "S0") == jams(product, around, "S1") == {((1, lanes),)}
    agrees(product, around)
    fused = schedule(two).fuse("i", "j").vectorize("i").unroll_jam("i", 2)
    assert jams(two, fused, "S1") == {((2, lanes),), ((1, lanes),)}
    agrees(two, fused)


def test_what_is_asked_holds_in_triangles_tiles_and_masks(lanes):
    tiled = schedule(triangle).tile(i=4, j=5)
    agrees(triangle, tiled.vectorize("j").unroll_jam("i", 3))
    agrees(triangle, tiled.vectorize("i"))
    agrees(triangle, tiled.parallel("i_t").vectorize("j").isolate("j_t"))


def test_the_order_of_the_loops_is_kept():
    """The generator on its own would take the sum inside."""
    inside = distributed().interchange("S1.j", "k").unroll_jam("S1.i", 2).vectorize("S1.j")
    *_, last = program(product, inside).body
    (k,) = last.body
    assert (
        k.name == "k"
        and all(loop.step > 1 for loop in k.body)
        and not any(n.name == "k" for n in every(k.body) if isinstance(n, Loop))
    )
    agrees(product, inside)


def test_parallel_marks_the_loop():
    threads = distributed().tile({"S1.i": 4}).parallel("i_t").parallel("S0.i")
    assert [n.parallel for n in every(program(product, threads).body) if isinstance(n, Loop)].count(True) == 2
    agrees(product, threads)


def test_loops_inside_one_another_may_both_go_to_threads():
    agrees(product, distributed().parallel("S1.i").parallel("S1.j"))


@pytest.mark.parametrize(("array", "at"), [("A", "i_t"), ("A", "k_t"), ("B", "k_t"), ("B", "i_t"), ("A", "S1.j"), ("B", "k")])
def test_pack_copies_what_an_iteration_reads(array, at):
    tiled = distributed().tile({"S1.i": 4, "S1.j": 4, "k": 3})
    packed = tiled.pack(array, at=at)
    code = program(product, packed)
    copies = [name for name in code.scop.arrays if name.startswith(f"{array}_tile")]
    assert len(copies) == 1
    reads = {a.array for name, s in code.scop.statements.items() if name.startswith("S1_from") for a in s.reads}
    assert copies[0] in reads and array not in reads
    agrees(product, packed)
    agrees(product, packed.parallel("i_t"))


def test_several_arrays_are_packed_at_several_loops_and_together_with_vectors():
    made = distributed().tile({"S1.i": 4, "S1.j": 16, "k": 3}).parallel("i_t").pack("A", at="i_t").pack("B", at="k_t")
    made = made.interchange("S1.j", "k").vectorize("S1.j").unroll_jam("S1.i", 2).isolate("k_t")
    names = set(program(product, made).scop.arrays)
    assert {"A_tile0", "B_tile0"} <= names
    agrees(product, made)


def test_pack_copies_elements_that_iterations_read_alike():
    def shifted(A, B):
        for i in range(1, B.shape[0] - 1):
            B[i] = A[i - 1] + 2 * A[i] + A[i + 1]

    k = kernel(shifted)
    a, b = integers(1, 50), integers(2, 50)
    made = k.schedule("source", a, b).tile(i=8).pack("A", at="i_t")
    expected = b.copy()
    shifted(a, expected)
    k.with_schedule(made)(a, b)
    np.testing.assert_array_equal(b, expected)


def test_isolate_makes_full_tiles_a_nest_of_their_own():
    tiled = schedule(two).fuse("i", "j").tile(i=4)
    before = [n for n in every(program(two, tiled).body) if isinstance(n, Guard)]
    isolated = tiled.isolate("i_t")
    guards = [n for n in every(program(two, isolated).body) if isinstance(n, Guard)]
    assert before == [] and [g.rare for g in guards] == [False, True]
    assert str(guards[0].condition) == "A_0 >= c0 + 4" and all(isinstance(n, Jam) for n in guards[0].body)
    agrees(two, isolated)
    agrees(triangle, schedule(triangle).tile(i=4, j=4).isolate("i_t"))
    agrees(product, schedule(product).tile(k=4).isolate("k_t"))


def test_loops_of_which_nothing_is_asked_get_what_the_generator_chooses(lanes):
    made = distributed().unroll_jam("S1.i", 2)
    assert any(any(l == lanes for _, l in around) for around in jams(product, made, "S0"))
    assert not any(any(l == lanes for _, l in around) for around in jams(product, made, "S1"))


# refusals


def refusal(step):
    with pytest.raises(ScheduleError) as caught:
        step()
    return re.sub(r"^step \d+, ", "", caught.value.message)  # the numbers are tested with the scripts


def test_lanes_and_jams_that_cannot_be_are_refused():
    tiled = schedule(product).tile(j=4)
    assert refusal(lambda: tiled.vectorize("i")) == (
        "vectorize(i): loop `i` cannot be run as asked (vectorize): there are loops over tiles inside it"
    )
    assert (
        refusal(lambda: tiled.vectorize("j_t"))
        == "vectorize(j_t): loop `j_t` goes over tiles, so its iterations do not run together"
    )
    assert refusal(lambda: schedule(product).vectorize("j").vectorize("i")) == (
        "vectorize(i): loop `j` cannot be run as asked (vectorize): the lanes are those of `i`"
    )
    assert refusal(lambda: schedule(product).vectorize("j").vectorize("k")) == (
        "vectorize(k): loop `k` cannot be run as asked (vectorize): iterations of `j`, which is around it and other parts, run together"
    )
    assert "copies of the loops inside would run together, at most 128 may" in refusal(
        lambda: distributed().unroll_jam("S1.i", MOST_TOGETHER).unroll_jam("S1.j", 4)
    )


def test_a_loop_whose_number_decides_a_condition_inside_is_not_run_together():
    def guarded(A, n):
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                if i + 2 * j < n:
                    A[i, j] = A[i, j] + 1
                A[i, j] = A[i, j] * 2

    a = integers(1, 9, 8)
    made = kernel(guarded).schedule("source", a, 7)
    why = "cannot be run as asked (vectorize): a condition inside depends on it"
    assert refusal(lambda: made.vectorize("j")) == f"vectorize(j): loop `j` {why}"
    apart = made.distribute("j").vectorize("S0.j").vectorize("S1.j")
    expected, got = a.copy(), a.copy()
    guarded(expected, 7)
    kernel(guarded).with_schedule(apart)(got, 7)
    np.testing.assert_array_equal(got, expected)


def test_copies_that_would_go_stale_are_refused():
    assert refusal(lambda: schedule(product).pack("C", "k")) == (
        "pack(C, at=k): `C` cannot be packed at loop `k`: the element that is read may be written in the same iteration"
    )
    assert refusal(lambda: distributed().tile(k=4).pack("A", "k_t").pack("A", "k")) == (
        "pack(A, at=k): `A` cannot be packed at loop `k`: it is at loop `k_t`, which is around that one"
    )
    split_up = schedule(product).pack("A", "i")
    assert "has copies already" in refusal(lambda: split_up.pack("B", "k"))


def test_elements_that_data_choose_are_not_packed():
    def gather(x, columns, y):
        for i in range(y.shape[0]):
            y[i] = x[columns[i]] + x[i]

    made = kernel(gather).schedule("source", integers(1, 9), integers(2, 9) % 9, integers(3, 9))
    assert "data decide which elements are read" in refusal(lambda: made.pack("x", "i"))


def test_isolate_needs_a_loop_over_the_tile():
    assert refusal(lambda: schedule(two).tile(i=1).isolate("i_t")) == (
        "isolate(i_t): full tiles of loop `i_t` cannot be isolated: no loop inside runs over its tile"
    )


def test_an_order_that_breaks_what_was_asked_is_refused():
    threads = schedule(stencil).parallel("S0.i")
    with pytest.raises(IllegalSchedule):
        threads.parallel("S1.i").shift("S1.i", 1).fuse("S0.i", "S1.i")


def test_python_integers_are_not_lanes():
    def counted(n, A, B):
        for i in range(A.shape[0]):
            B[i] = (n + i) * n

    made = kernel(counted).schedule("source", 3, integers(1, 9), integers(2, 9))
    assert refusal(lambda: made.vectorize("i")).endswith(
        "a subscript is not linear in it, or an operation is for numbers one by one"
    )
