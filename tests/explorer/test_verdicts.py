"""Verdicts of a page against all pairs of instances that touch one element, run in the source's order by hand and by plain Python."""

from dataclasses import replace
from itertools import product

import pytest

from polyml.explorer.placing import placed
from polyml.explorer.single_steps import single_steps
from polyml.explorer.steps import parse
from polyml.explorer.verdicts import ILLEGAL, LEGAL, REFUSED, broken_pair, verdict
from polyml.polyhedra.points import points
from polyml.schedule.tree import loop_tree
from tests.explorer.pages import exploration

SIZES = {"heat_3d": 3}


def gemm(n):
    for i in range(n):
        for j in range(n):
            yield ("S0", (i, j)), {("C", i, j)}, ("C", i, j)
        for k, j in product(range(n), repeat=2):
            yield ("S1", (i, k, j)), {("C", i, j), ("A", i, k), ("B", k, j)}, ("C", i, j)


def star(name, i, j):
    return {(name, i, j), (name, i - 1, j), (name, i + 1, j), (name, i, j - 1), (name, i, j + 1)}


def jacobi_2d(n):
    for t in range(n):
        for i, j in product(range(1, n - 1), repeat=2):
            yield ("S0", (t, i, j)), star("A", i, j), ("B", i, j)
        for i, j in product(range(1, n - 1), repeat=2):
            yield ("S1", (t, i, j)), star("B", i, j), ("A", i, j)


def jacobi_1d(n):
    for t in range(n):
        for i in range(1, n - 1):
            yield ("S0", (t, i)), {("A", i - 1), ("A", i), ("A", i + 1)}, ("B", i)
        for i in range(1, n - 1):
            yield ("S1", (t, i)), {("B", i - 1), ("B", i), ("B", i + 1)}, ("A", i)


def seidel_2d(n):
    for t, i, j in product(range(n), range(1, n - 1), range(1, n - 1)):
        yield ("S0", (t, i, j)), {("A", i + a, j + b) for a, b in product((-1, 0, 1), repeat=2)}, ("A", i, j)


BY_HAND = {"gemm": gemm, "jacobi_2d": jacobi_2d, "jacobi_1d": jacobi_1d, "seidel_2d": seidel_2d}


def run(scop, sizes):
    """The same of any kernel, from its sets: the instances in the source's order with what they read and write."""
    times = {instance: time for instance, (_, time) in points(scop.schedule.get_map().intersect_domain(scop.domain), **sizes)}
    touched = {instance: (set(), None) for instance in times}
    for statement in scop.statements.values():
        for access in statement.reads:
            for instance, (name, element) in points(access.relation.intersect_domain(statement.domain), **sizes):
                touched[instance][0].add((name, *element))
        for instance, (name, element) in points(statement.write.relation.intersect_domain(statement.domain), **sizes):
            touched[instance] = touched[instance][0], (name, *element)
    for instance in sorted(times, key=times.get):
        yield instance, *touched[instance]


def conflicts(events):
    """All pairs of instances, the earlier one first, that touch one element which one of the two writes."""
    events, found = [*events], set()
    for n, (sink, reads, write) in enumerate(events):
        for source, before, written in events[:n]:
            if written == write or written in reads or write in before:
                found.add((source, sink))
    return found


def broken(pairs, made, sizes, parallel=""):
    """The pairs that an order breaks: a sink that does not run after its source, or in another iteration of a loop for threads."""
    tree = made.loops
    leaves = placed(made.problem.scop, made.tree, tree, sizes)
    times = {(leaf.statement, p): t for leaf in leaves for p, t in zip(leaf.points, leaf.times)}
    found = {(source, sink) for source, sink in pairs if times[source] >= times[sink]}
    if parallel:
        numbers = {name: n for n, name in enumerate(loop["address"] for loop in addressed(made))}
        number = numbers[parallel]
        values = {(leaf.statement, p): dict(zip(leaf.loops, v)) for leaf in leaves for p, v in zip(leaf.points, leaf.values)}
        for source, sink in pairs:
            one, other = values[source], values[sink]
            if number in one and number in other and one[number] != other[number]:
                outer = [n for n in one if n < number and n in other]
                if all(one[n] == other[n] for n in outer):
                    found.add((source, sink))
    return found


def addressed(made):
    from polyml.schedule.script.transforms import addresses

    return [{"address": each} for each in addresses(made.loops)]


KERNELS = [*BY_HAND, "trisolv", "lu", "trmm", "atax", "durbin", "gemver", "fdtd_2d"]


@pytest.mark.parametrize("name", KERNELS)
def test_verdicts_and_broken_pairs_are_those_of_all_pairs_of_instances(name):
    explored = exploration(name)
    scop, sizes = explored.scop, explored.sizes[0]
    events = [*run(scop, sizes)]
    if name in BY_HAND:
        assert [(i, r, w) for i, r, w in BY_HAND[name](4)] == [(i, {e for e in r if e[0] in "ABC"}, w) for i, r, w in events]
    pairs, kinds = conflicts(events), set()
    for step in single_steps(explored.schedule.loops, explored.tiles):
        found = verdict(explored.schedule, step)
        kinds.add(found.kind)
        if found.kind == REFUSED:
            assert found.why and found.schedule is None
            continue
        wrong = broken(pairs, found.schedule, sizes, step.args[0] if step.method == "parallel" else "")
        pair = broken_pair(found, sizes)
        if found.kind == LEGAL:
            assert not wrong and pair is None, step.text
        elif pair is None:
            assert not wrong, step.text  # for larger sizes alone
        else:
            assert (pair.source, pair.sink) in wrong and pair.count == len(wrong), step.text
    assert LEGAL in kinds and ILLEGAL in kinds


def test_an_illegal_step_that_breaks_no_small_pair_breaks_a_larger_one():
    """Tiles of 3 of a loop of 4 iterations may keep what the same tiles of 12 iterations break: the verdict is for all sizes."""
    explored = exploration("seidel_2d", size=4, tiles=(2, 3))
    found = verdict(explored.schedule, parse('tile({"t": 3, "i": 3})'))
    assert found.kind == ILLEGAL
    assert any(broken_pair(found, dict.fromkeys(explored.sizes[0], size)) for size in (4, 6, 8))


def test_updates_of_a_reduction_run_in_any_order_where_the_setting_allows_it():
    strict, free = exploration("gemm"), exploration("gemm", fp="reassociate")
    step = parse('reverse("k")')
    assert verdict(strict.schedule, step).kind == ILLEGAL
    found = verdict(free.schedule, step)
    assert found.kind == LEGAL
    events = [*gemm(4)]
    times = broken(conflicts(events), found.schedule, free.sizes[0])
    assert times and all(source[0] == sink[0] == "S1" and source[1][::2] == sink[1][::2] for source, sink in times)


def test_a_planted_wrong_verdict_is_found():
    """The oracle would find an interchange that was called legal: it breaks pairs of seidel_2d."""
    explored = exploration("seidel_2d")
    made = replace(explored.schedule, is_proved=False).interchange("t", "i")
    assert broken(conflicts(seidel_2d(4)), made, explored.sizes[0])
    assert loop_tree.loops(made.loops)
