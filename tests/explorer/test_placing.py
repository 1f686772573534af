"""Where a page puts instances: the values of loops, by hand, and the order of its own tree."""

import pytest

from polyml.explorer.exploration import Exploration
from polyml.explorer.schedule_view import view
from polyml.explorer.single_steps import single_steps
from polyml.explorer.steps import parse
from polyml.explorer.verdicts import REFUSED, verdict
from tests.explorer.pages import exploration, in_order

BY_HAND = {
    'tile({"k": 2, "S1.j": 3})': lambda i, k, j: (i, k - k % 2, j - j % 3, k, j),
    'interchange("k", "S1.j")': lambda i, k, j: (i, j, k),
    'skew("S1.j", "i", 2)': lambda i, k, j: (i, k, j + 2 * i),
    'skew("k", "S1.j", -1)': lambda i, k, j: (i, k - j, j),
    'reverse("k")': lambda i, k, j: (i, -k, j),
    'shift("i", S1=1)': lambda i, k, j: (i + 1, k, j),
}


@pytest.mark.parametrize("step", BY_HAND)
def test_values_of_loops_are_those_of_the_step(step):
    explored = exploration("gemm", fp="reassociate")
    shown = view(verdict(explored.schedule, parse(step)).schedule, explored.sized, with_code=False)
    (leaf,) = (each for each in shown["placed"][0] if each["statement"] == "S1")
    width = len(leaf["loops"])
    found = {}
    for n, number in enumerate(leaf["points"]):
        found[explored.sized[0].points["S1"][number]] = tuple(leaf["values"][n * width : (n + 1) * width])
    assert found == {point: BY_HAND[step](*point) for point in explored.sized[0].points["S1"]} and len(found) == 64


@pytest.mark.parametrize("name", ["gemm", "jacobi_1d", "trisolv", "lu"])
def test_the_order_is_that_of_the_tree_that_is_shown(name):
    explored = exploration(name)
    checked = 0
    for step in [None, *single_steps(explored.schedule.loops, explored.tiles)]:
        found = None if step is None else verdict(explored.schedule, step)
        if found is not None and found.kind == REFUSED:
            continue
        made = explored.schedule if found is None else found.schedule
        shown = view(made, explored.sized, with_code=False)
        points = explored.sized[0].points
        times = {}
        for leaf in shown["placed"][0]:
            times |= {(leaf["statement"], points[leaf["statement"]][n]): t for n, t in zip(leaf["points"], leaf["times"])}
        assert in_order(shown["tree"], shown, shown["placed"][0], points) == sorted(times, key=times.get)
        assert sorted(times.values()) == [*range(sum(map(len, points.values())))]
        checked += 1
    assert checked > 10


def test_a_split_loop_has_its_instances_in_two_places():
    explored = exploration("jacobi_1d", size=6)
    shown = view(explored.schedule.split("S0.i", 3), explored.sized, with_code=False)
    own = [leaf for leaf in shown["placed"][0] if leaf["statement"] == "S0"]
    points = explored.sized[0].points["S0"]
    assert [{points[n][1] for n in leaf["points"]} for leaf in own] == [{1, 2}, {3, 4}]
    assert isinstance(explored, Exploration) and {*own[0]["loops"]} != {*own[1]["loops"]}
