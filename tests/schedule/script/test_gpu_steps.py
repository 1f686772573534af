"""Steps of scripts that divide loops among the host, blocks and threads of a GPU, against plain Python, and their refusals."""

import re
from copy import deepcopy

import numpy as np
import pytest

import polyml
from polyml.codegen.interpreter import launches
from polyml.errors import ConfigError, IllegalSchedule, PolymlError, ScheduleError
from tests.schedule.scripts import ARGUMENTS, ORDERS, in_place, loops, product, ring, stencil, total, triangle, two, upwards


def on_gpu(function):
    return polyml.kernel(function, cache=False, target="opencl", fallback="error")


def schedule(function, start="source"):
    return on_gpu(function).schedule(start, *ARGUMENTS[function]())


def agrees(function, given):
    """The launches of the schedule, thread by thread in any order, compute what Python does; so do those of the loaded schedule."""
    expected = ARGUMENTS[function]()
    function(*expected)
    program = given.problem.generate(given.tree)
    for order in ORDERS:
        got = deepcopy(ARGUMENTS[function]())
        launches.run(program, dict(zip(given.problem.scop.params, got)), order=order, seed=3)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    return program


def axes(program):
    """For each launch, its host's loops, and the loop, threads, items and step between threads of each axis."""
    return [
        (launch.host, *((axis.loop, axis.threads, axis.items, axis.thread_step) for axis in launch.axes))
        for launch in program.launches.values()
    ]


@pytest.mark.parametrize("function", [product, two, stencil, in_place, upwards, triangle, total, ring])
@pytest.mark.parametrize("start", ["auto", "source"])
def test_both_starting_points_compute_what_python_does(function, start):
    agrees(function, schedule(function, start))


def test_what_is_found_is_printed_with_its_mapping():
    """The block copies what it reads of A, along whose columns its threads go."""
    assert loops(schedule(triangle, "auto")) == [
        "for i:  # grid(y, threads=8, items=4, adjacent)",
        "    for j:  # grid(x, threads=32), shared(A)",
        "        S0[i, j]: B[i, j] = A[i, j] + A[j, i]",
    ]
    assert loops(schedule(in_place, "auto"))[0].endswith("# host")


def test_the_last_loop_of_a_grid_is_x():
    mapped = schedule(triangle).grid("i", "j").block(4, 2)
    assert loops(mapped)[:2] == ["for i:  # grid(y, threads=2)", "    for j:  # grid(x, threads=4)"]
    assert axes(agrees(triangle, mapped)) == [((), ("j", 4, 1, 1), ("i", 2, 1, 1))]
    other = schedule(triangle).grid("j", "i").block(i=4, j=2)
    assert axes(agrees(triangle, other)) == [((), ("i", 4, 1, 1), ("j", 2, 1, 1))]


def test_sizes_of_blocks_belong_to_the_last_grid():
    mapped = schedule(two).grid("i").block(4).grid("j").block(8)
    assert axes(agrees(two, mapped)) == [((), ("i", 4, 1, 1)), ((), ("j", 8, 1, 1))]
    again = mapped.block(i=16)
    assert axes(agrees(two, again)) == [((), ("i", 16, 1, 1)), ((), ("j", 8, 1, 1))]


def test_loops_that_are_not_of_the_grid_are_a_thread_s():
    """i is around j, which carries nothing, so that each thread runs a column."""
    mapped = schedule(triangle).grid("j").block(8)
    assert axes(agrees(triangle, mapped)) == [((), ("j", 8, 1, 1))]


def test_items_of_a_thread_are_a_register_tile():
    mapped = schedule(triangle).grid("i", "j").block(4, 2).items(3, 2)
    assert axes(agrees(triangle, mapped)) == [((), ("j", 4, 3, 1), ("i", 2, 2, 1))]
    side_by_side = schedule(triangle).grid("i", "j").block(4, 2).items(i=2, adjacent=True)
    assert axes(agrees(triangle, side_by_side)) == [((), ("j", 4, 1, 1), ("i", 2, 2, 2))]


def test_a_loop_over_tiles_gives_each_thread_a_tile():
    mapped = schedule(triangle).tile(i=2, j=3).grid("i_t", "j_t").block(4, 2)
    assert axes(agrees(triangle, mapped)) == [((), ("j", 4, 3, 3), ("i", 2, 2, 2))]
    later = schedule(triangle).grid("i", "j").block(4, 2).tile(i=2, j=3)
    assert axes(agrees(triangle, later)) == axes(agrees(triangle, mapped))


def test_a_loop_over_tiles_of_several_loops_counts_tiles():
    """Threads between the first iterations of tiles would have nothing to do."""
    mapped = schedule(total).tile(i=4).interchange("i", "j").grid("i_t").block(2)
    program = agrees(total, mapped)
    assert [axis[1:] for axis in axes(program)] == [(("i", 2, 4, 4),)]
    fused = schedule(two).fuse("i", "j").tile(i=4).distribute("i").grid("i_t").block(2)
    assert axes(agrees(two, fused)) == [((), ("i_t", 2, 1, 1))]


def test_the_host_s_loop_keeps_what_the_grid_would_break():
    with pytest.raises(IllegalSchedule) as refused:
        schedule(upwards).grid("j")
    assert refused.value.message == (
        "step 1, grid(j) is not legal: S0[2, 0] depends on S0[1, 1], so loop `j` cannot go to a GPU's grid"
    )
    assert refused.value.notes == ("flow dependence through A, with A_0 = 3, A_1 = 3",)
    mapped = schedule(upwards).host("i").grid("j").block(8)
    assert axes(agrees(upwards, mapped)) == [(("i",), ("j", 8, 1, 1))]


def test_copies_to_shared_memory_are_a_tile_of_the_loop_at_a_time():
    """A tile of 4 iterations of k where k_t is named, 16 of them where k is."""
    parts = schedule(product).distribute("j", after="S0")
    tiled = parts.distribute("i").tile(k=4).grid("S1.i", "S1.j").block(2, 2).items(2, 2).shared("A", at="k_t").shared("B", at="k_t")
    assert [line.strip() for line in loops(tiled)[5:7]] == ["for k_t = k - k % 4:  # tile, shared(A, B)", "for k:"]
    agrees(product, tiled)
    text = on_gpu(product).with_schedule(tiled).inspect_opencl(*ARGUMENTS[product]())
    assert "__local long A_tile[4][8];" in text and "k_chunk += 4" in text
    alone = parts.distribute("i").grid("S1.i", "S1.j").block(2, 2).items(2, 2).shared("B", at="k")
    text = on_gpu(product).with_schedule(alone).inspect_opencl(*ARGUMENTS[product]())
    assert "A_tile" not in text and "__local long B_tile[16][4];" in text


def test_a_mapping_without_copies_makes_none():
    mapped = schedule(product).distribute("j", after="S0").distribute("i").grid("S1.i", "S1.j").block(2, 2).items(2, 2)
    assert "_tile" not in on_gpu(product).with_schedule(mapped).inspect_opencl(*ARGUMENTS[product]())


def refusal(make):
    with pytest.raises(PolymlError) as refused:
        make()
    return refused.value.message, list(refused.value.notes)


REFUSALS = {
    "grid of nothing": (
        triangle, lambda s: s.grid(), "step 1, grid(): grid takes at least one loop", ["as in grid('i', 'j')", "loops: i, j"]),
    "unknown loop": (triangle, lambda s: s.grid("k"), "step 1, grid(k): there is no loop `k`", ["loops: i, j"]),
    "the same loop": (triangle, lambda s: s.grid("i", "i"), "step 1, grid(i, i): grid takes each loop once", ["loops: i, j"]),
    "loops next to each other": (
        two, lambda s: s.grid("i", "j"), "step 1, grid(i, j): grid takes loops inside one another, which `i` and `j` are not",
        ["loops: i, j"]),
    "a block of too many threads": (
        triangle, lambda s: s.grid("i", "j").block(64, 32), "step 2, block(64, 32): a block of 64 x 32 has 2,048 threads",
        ["at most 1,024 are in one"]),
    "a size too many": (
        triangle, lambda s: s.grid("i", "j").block(8, 4, 2),
        "step 2, block(8, 4, 2): block takes one number for each axis of the grid: x: j, y: i", []),
    "no number": (
        triangle, lambda s: s.grid("i", "j").block("x"), "step 2, block(x): block takes numbers of at least 1, not 'x'",
        ["as in block(32, 8), along x and y"]),
    "no sizes": (
        triangle, lambda s: s.grid("i", "j").block(),
        "step 2, block(): block takes numbers along x, y and z, as in block(32, 8), or by loop, as in block(j=32, i=8)", []),
    "no grid": (
        triangle, lambda s: s.block(8), "step 1, block(8): there is no grid", ["grids: none", "grid('i', 'j') makes one"]),
    "a loop of no grid": (
        triangle, lambda s: s.grid("i").block(j=8), "step 2, block(j=8): loop `j` is not in a grid", ["grids: x: i"]),
    "two grids": (
        two, lambda s: s.grid("i").grid("j").block(i=4, j=4), "step 3, block(i=4, j=4): block takes the loops of one grid",
        ["grids: x: i; x: j"]),
    "too many items": (
        triangle, lambda s: s.grid("i", "j").block(4, 4).items(16, 8), "step 3, items(16, 8): a thread of 16 x 8 items has 128",
        ["at most 64 run together"]),
    "a copy at a loop of the host": (
        upwards, lambda s: s.host("i").shared("A", at="i"), "step 2, shared(A, at=i): loop `i` is the host's, so nothing is copied in it",
        ["shared takes a loop of the grid, or one inside it, which each thread runs"]),
    "a copy for a block that saves nothing": (
        total, lambda s: s.grid("i").block(4).shared("A", at="i"),
        "step 3, shared(A, at=i): a block's threads cannot read `A` from shared memory",
        ["with these blocks, it is possible for none",
         "threads have several items, which read an array along its rows, or with neighbours"]),
    "a copy of what is not read": (
        total, lambda s: s.grid("i").shared("C", at="j"), "step 2, shared(C, at=j): there is no array `C`", ["in loop `j` are read: A, R"]),
    "a copy that saves nothing": (
        total, lambda s: s.grid("i").block(4).shared("A", at="j"), "step 3, shared(A, at=j): loop `j` cannot read `A` from shared memory",
        ["with these blocks, it is possible for none",
         "the loop keeps sums of several items in registers, and no thread writes what is copied"]),
    "copies that are too large": (
        product,
        lambda s: s.distribute("j", after="S0").distribute("i").tile(k=512).grid("S1.i", "S1.j").block(8, 8).items(2, 2).shared("A", at="k_t"),
        "step 7, shared(A, at=k_t): the copies of `A` at loop `k` take 81,920 bytes of shared memory, and a block has 49,152",
        ["they hold 512 iterations of the loop and all iterations of a block's threads"]),
    "a directive for processors": (
        triangle, lambda s: s.parallel("i"), "step 1, parallel(i): loop `i` has the directive parallel, which is for processors",
        ["the kernel runs on a GPU: `grid` gives loops to its threads", "plain(i) takes it back"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_steps_that_do_not_fit_are_refused_with_what_would(case):
    function, make, message, notes = REFUSALS[case]
    assert refusal(lambda: make(schedule(function))) == (message, notes)


def test_a_kernel_for_processors_has_no_grid():
    given = polyml.kernel(triangle, cache=False).schedule("source", *ARGUMENTS[triangle]())
    note = 'polyml.kernel(target="opencl") or target="cuda" makes a kernel that runs on a GPU'
    told = refusal(lambda: given.grid("i"))
    assert told == ("step 1, grid(i): loop `i` has the directive grid(x), which is for GPUs", [note, "plain(i) takes it back"])
    mapped = schedule(triangle).grid("i", "j").block(32, 8)
    told = refusal(lambda: polyml.kernel(triangle, cache=False).with_schedule(mapped))
    assert told[0] == "loop `i` has the directive grid(y, threads=8), which is for GPUs"
    plain = mapped.plain("i").plain("j")
    assert polyml.kernel(triangle, cache=False).with_schedule(plain) is not None


def test_a_schedule_of_a_processor_s_loops_runs_on_gpus_where_it_asks_for_nothing_else():
    given = polyml.kernel(triangle, cache=False).schedule("source", *ARGUMENTS[triangle]())
    kernel = on_gpu(triangle).with_schedule(given.interchange("i", "j"))
    assert axes(kernel.schedule().problem.generate(kernel.schedule().tree))[0][1:] == (("j", 32, 1, 1), ("i", 8, 4, 4))
    with pytest.raises(ScheduleError, match="has the directive parallel, which is for processors"):
        on_gpu(triangle).with_schedule(given.parallel("i"))


def test_a_kernel_for_a_gpu_keeps_its_target_with_a_schedule():
    kernel = on_gpu(triangle)
    assert kernel.with_schedule(kernel.schedule("source", *ARGUMENTS[triangle]())).gpu == kernel.gpu is not None


def test_a_kernel_for_a_systolic_array_takes_no_schedule():
    given = polyml.kernel(triangle, cache=False).schedule("source", *ARGUMENTS[triangle]())
    with pytest.raises(ConfigError, match=re.escape("a schedule is for processors and GPUs, and triangle is for a systolic array")):
        polyml.kernel(triangle, target=polyml.Target.systolic(4, 4)).with_schedule(given)


def test_a_mapping_is_saved_edited_and_loaded(tmp_path):
    kernel, arguments = on_gpu(triangle), ARGUMENTS[triangle]()
    path = tmp_path / "triangle.txt"
    found = kernel.schedule(*arguments)
    found.save(path)
    assert kernel.load_schedule(path) == found and 'mark: "loop j: grid(x, threads=32), shared(A)"' in kernel.inspect_schedule(
        *arguments
    )
    path.write_text(path.read_text().replace("threads=32", "threads=16"))
    edited = kernel.load_schedule(path)
    assert axes(agrees(triangle, edited)) == [((), ("j", 16, 1, 1), ("i", 8, 4, 4))]
    path.write_text(path.read_text().replace("threads=16", "threads=512"))
    with pytest.raises(PolymlError, match="a block of 512 x 8 has 4,096 threads"):
        kernel.load_schedule(path)
