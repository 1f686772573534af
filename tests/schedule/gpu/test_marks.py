"""The mapping of loops to a GPU as marks: what polyml chooses is asked for by the marks that it writes."""

import numpy as np
import pytest

from polyml import kernels
from polyml.codegen.gpu.asked_copies import with_copies
from polyml.codegen.gpu.program import gpu_program
from polyml.codegen.gpu.text.dialect import OPENCL
from polyml.codegen.gpu.text.printer import source
from polyml.errors import IllegalSchedule, ScheduleError
from polyml.schedule.gpu.launch_plan import Traits, planned_as_given, planned_tree
from polyml.schedule.gpu.marks import marked
from polyml.schedule.tree import loop_tree
from polyml.schedule.tree.directives import Directives, GridPlace, mark_text, parse_mark
from tests.gpu import kernels as small
from tests.gpu.mapping import problem


@pytest.mark.parametrize("name", kernels.NAMES)
@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.sweep(keep=12)
def test_the_marks_that_are_written_ask_for_the_code_that_is_found(name, in_turn):
    case = kernels.load(name)
    given, _ = problem(case.kernel.py_func, *case.inputs(case.sizes["MINI"], np.random.default_rng(0)).values())
    device = Traits(in_turn)
    tree, mapped = planned_tree(given.scop, given.dependences, given.reductions, device)
    program = gpu_program(given.scop, mapped)
    written = loop_tree.write(given.scop.domain, marked(tree, with_copies(mapped, program)))
    again = planned_as_given(
        loop_tree.read(written, given.scop.statements), given.scop, given.dependences, given.reductions, device
    )
    assert source(gpu_program(given.scop, again), OPENCL).text == source(program, OPENCL).text
    assert all(each.copies is not None for each in again if each.axes)


@pytest.mark.parametrize("place, text", [
    (GridPlace(0), "grid(x)"),
    (GridPlace(1, 8), "grid(y, threads=8)"),
    (GridPlace(2, 4, 2), "grid(z, threads=4, items=2)"),
    (GridPlace(0, 16, 256, rolled=True), "grid(x, threads=16, items=256, rolled)"),
    (GridPlace(4, 1, 8, True), "grid(axis4, threads=1, items=8, adjacent)"),
])  # fmt: skip
def test_a_mark_is_read_as_it_is_written(place, text):
    asked = Directives(tile=True, grid=place)
    assert mark_text("i", asked) == f"loop i: tile, {text}" and parse_mark(f"loop i: tile, {text}") == ("i", asked)
    copied = Directives(host=True, shared=("A", "B"))
    assert parse_mark(mark_text("k", copied)) == ("k", copied)


@pytest.mark.parametrize("words", ["grid()", "grid(w)", "grid(x, threads=0)", "grid(x, items=4, threads=2)", "host(i)", "shared()"])
def test_damaged_marks_are_refused(words):
    with pytest.raises(ValueError, match="is no directive of a loop"):
        parse_mark(f"loop i: {words}")


def directed(tree, **directives):
    """The tree with directives of loops, by their names."""
    for path, loop in list(loop_tree.loops(tree)):
        if loop.name in directives:
            at = dict(loop_tree.loops(tree))[path]
            tree = loop_tree.replaced(tree, path, loop_tree.Loop(at.name, at.member, at.body, directives[loop.name], at.cut))
    return tree


def as_asked(function, *arrays, **directives):
    given, _ = problem(function, *arrays)
    tree = directed(loop_tree.read(given.scop.schedule, given.scop.statements), **directives)
    return planned_as_given(tree, given.scop, given.dependences, given.reductions)


def axes(mapped):
    return [(axis.loop.name, axis.size, axis.items, axis.adjacent) for axis in mapped.axes]


def test_sizes_that_are_not_asked_for_are_the_usual_ones():
    """With the loops' axes as they are asked for: i is x here."""
    (launch,) = as_asked(
        small.transpose, np.zeros((3, 4)), np.zeros((4, 3)), i=Directives(grid=GridPlace(0)), j=Directives(grid=GridPlace(1))
    )
    assert axes(launch) == [("i", 32, 1, False), ("j", 8, 4, True)] and launch.copies is None


def test_a_grid_of_one_loop_leaves_the_others_to_threads():
    """Also loops around it, whose dependences its iterations do not carry."""
    (launch,) = as_asked(small.gemm, *[np.zeros((4, 4))] * 3, j=Directives(grid=GridPlace(0, 64)))
    assert axes(launch) == [("j", 64, 1, False)] and [loop.name for loop in launch.nest.runs()[0].inside] == ["i", "k"]


def test_the_host_s_loop_launches_what_is_inside():
    (launch,) = as_asked(small.gemm, *[np.zeros((4, 4))] * 3, i=Directives(host=True), j=Directives(grid=GridPlace(0, 64)))
    assert [loop.name for loop in launch.nest.host] == ["i"] and axes(launch) == [("j", 64, 1, False)]


def test_a_grid_that_carries_a_dependence_is_refused_with_two_iterations():
    with pytest.raises(IllegalSchedule) as refused:
        as_asked(small.gemm, *[np.zeros((4, 4))] * 3, k=Directives(grid=GridPlace(0, 64)))
    assert refused.value.message == "S0[0, 0, 1] depends on S0[0, 0, 0], so loop `k` cannot go to a GPU's grid"


@pytest.mark.parametrize("asked, message", [
    ({"i": Directives(grid=GridPlace(0, 8)), "j": Directives(grid=GridPlace(0, 8))},
     "where loops are merged into one axis, blocks have several iterations along two axes"),
    ({"i": Directives(grid=GridPlace(0)), "j": Directives(grid=GridPlace(0))}, "the axes of a launch are x, y, each once"),
    ({"i": Directives(grid=GridPlace(1, 8))}, "the axes of a launch are x, each once"),
    ({"i": Directives(grid=GridPlace(0, 8)), "j": Directives(host=True)},
     "loop `i` cannot be in the grid, since it has the host's loops or a grid inside it"),
])  # fmt: skip
def test_marks_that_do_not_fit_one_another_are_refused(asked, message):
    with pytest.raises(ScheduleError) as refused:
        as_asked(small.gemm, *[np.zeros((4, 4))] * 3, **asked)
    assert refused.value.message == message
