"""Illegal schedules are refused with the smallest pair of instances that shows why; legal ones pass."""

import re
from random import Random

import islpy as isl
import numpy as np
import pytest

from polyml.errors import IllegalSchedule
from polyml.model.core.dependence import dependences
from polyml.polyhedra import points
from polyml.schedule.legality.check import check_legal, check_parallel
from tests.model.modelling import INT, MATRIX, VECTOR, line_names, model, traced_dependences


def prefix_sum(A):
    for i in range(1, A.shape[0]):
        A[i] = A[i] + A[i - 1]


def upwards(A):
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1] - 1):
            A[i, j] = A[i - 1, j + 1]


def copied(A, B):
    for i in range(A.shape[0]):
        A[i] = 1.0
    for i in range(A.shape[0]):
        B[i] = A[i]


def rows(A):
    for i in range(1, 5):
        for j in range(1, A.shape[1]):
            A[i, j] = A[i, j - 1]


def increment(A):
    for i in range(A.shape[0]):
        A[i] += 1.0


def in_place(steps, A):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            A[i] = A[i - 1] + A[i + 1]


TYPES = {
    prefix_sum: [VECTOR],
    upwards: [MATRIX],
    copied: [VECTOR, VECTOR],
    rows: [MATRIX],
    increment: [VECTOR],
    in_place: [INT, VECTOR],
}
IN_ORDER = '{ sequence: [ { filter: "{ S0[i] }" }, { filter: "{ S1[i] }" } ] }'
SWAPPED = '{ sequence: [ { filter: "{ S1[i] }" }, { filter: "{ S0[i] }" } ] }'


class Case:
    """A kernel and one tree for it. domain: the tree's own, by default the kernel's."""

    def __init__(self, function, tree, domain=None):
        self.scop = model(function, *TYPES[function])
        self.dependences = dependences(self.scop)
        self.schedule = isl.Schedule(f'{{ domain: "{domain or self.scop.domain}", child: {tree} }}')

    def refusal(self, check):
        with pytest.raises(IllegalSchedule) as caught:
            check(self.schedule, self.scop, self.dependences)
        return str(caught.value)

    def passes(self, check):
        check(self.schedule, self.scop, self.dependences)


def band(*members):
    return f'{{ schedule: "[{", ".join(f"{{ {m} }}" for m in members)}]" }}'


def kinds_of(function):
    """What the pairs of the tests depend on each other by: `in_place` also writes what it has read."""
    return f"flow dependence through A{' and anti dependence through A' if function is in_place else ''}"


@pytest.mark.parametrize(
    ("function", "tree", "pair", "sizes"),
    [
        (prefix_sum, band("S0[i] -> [(-i)]"), "S0[2] must run after S0[1]", "A_0 = 3"),
        (prefix_sum, band("S0[i] -> [(floor(i/2))]"), "S0[3] must run after S0[2]", "A_0 = 4"),
        (prefix_sum, band("S0[i] -> [(0)]"), "S0[2] must run after S0[1]", "A_0 = 3"),
        (
            upwards,
            band("S0[i, j] -> [(j)]", "S0[i, j] -> [(i)]"),
            "S0[2, 0] must run after S0[1, 1]",
            "A_0 = 3, A_1 = 3",
        ),
        (
            in_place,
            band("S0[t, i] -> [(i)]", "S0[t, i] -> [(t)]"),
            "S0[1, 1] must run after S0[0, 2]",
            "A_0 = 4, steps = 2",
        ),
        (copied, SWAPPED, "S1[0] must run after S0[0]", "A_0 = 1"),
        (copied, band("S0[i] -> [(i)]; S1[i] -> [(i - 1)]"), "S1[0] must run after S0[0]", "A_0 = 1"),
    ],
)  # fmt: skip
def test_a_schedule_that_breaks_a_dependence_is_refused_with_the_smallest_pair(function, tree, pair, sizes):
    case = Case(function, tree)
    assert case.refusal(check_legal) == f"error: {pair}\n  note: {kinds_of(function)}, with {sizes}\n  note: {case.schedule}"


@pytest.mark.parametrize(
    ("function", "tree"),
    [
        (prefix_sum, band("S0[i] -> [(i)]")),
        (prefix_sum, band("S0[i] -> [(floor(i/4))]", "S0[i] -> [(i)]")),
        (upwards, band("S0[i, j] -> [(i + j)]", "S0[i, j] -> [(i)]")),
        (upwards, band("S0[i, j] -> [(i)]", "S0[i, j] -> [(-j)]")),
        (in_place, band("S0[t, i] -> [(t)]", "S0[t, i] -> [(i)]")),
        (in_place, band("S0[t, i] -> [(2t + i)]", "S0[t, i] -> [(t)]")),
        (in_place, band("S0[t, i] -> [(t + i)]", "S0[t, i] -> [(t)]")),
        (copied, IN_ORDER),
        (copied, band("S0[i] -> [(i)]; S1[i] -> [(i + 1)]")),
        (increment, band("S0[i] -> [(-i)]")),
        (increment, band("S0[i] -> [(0)]")),
    ],
)
def test_a_schedule_that_keeps_every_dependence_passes(function, tree):
    Case(function, tree).passes(check_legal)


@pytest.mark.parametrize(
    ("domain", "tree", "message"),
    [
        ("{ S0[i] : 0 <= i < A_0 }", band("S0[i] -> [(i)]"), "the schedule never runs S1[0] with A_0 = 1"),
        (
            "{ S0[i] : 0 <= i < A_0; S1[i] : 0 <= i < A_0 and i != 2 }",
            IN_ORDER,
            "the schedule never runs S1[2] with A_0 = 3",
        ),
        (
            "{ S0[i] : 0 <= i < A_0; S1[i] : 0 <= i <= A_0 }",
            IN_ORDER,
            "the schedule runs S1[0] with A_0 = 0, which is no instance",
        ),
        (
            "{ S0[i] : 0 <= i < A_0; Sl[i] : 0 <= i < A_0 }",
            band("S0[i] -> [(i)]; Sl[i] -> [(i + 1)]"),
            "the schedule never runs S1[0] with A_0 = 1",
        ),
    ],
    ids=["a statement is missing", "an instance is missing", "an instance too many", "a misspelt name"],
)
def test_a_schedule_of_other_instances_is_refused(domain, tree, message):
    assert Case(copied, tree, f"[A_0] -> {domain}").refusal(check_legal) == f"error: {message}"


def test_a_statement_that_does_not_exist_is_refused_although_all_others_run():
    domain = "[A_0] -> { S0[i] : 0 <= i < A_0; S1[i] : 0 <= i < A_0; S2[] }"
    tree = '{ sequence: [ { filter: "{ S0[i] }" }, { filter: "{ S1[i] }" }, { filter: "{ S2[] }" } ] }'
    assert Case(copied, tree, domain).refusal(check_legal) == "error: the schedule runs S2[], which is no instance"


@pytest.mark.parametrize("kind", ["sequence", "set"])
def test_an_instance_that_runs_twice_is_refused_even_where_no_dependence_tells(kind):
    twice = f'{{ {kind}: [ {{ filter: "{{ S0[i] }}" }}, {{ filter: "[A_0] -> {{ S0[i] : i >= 3 }}" }} ] }}'
    message = "error: the schedule runs S0[3] with A_0 = 4 more than once"
    assert Case(increment, twice).refusal(check_legal) == message


# against traced runs

ARGUMENTS = {
    upwards: lambda sizes: [np.zeros((sizes["A_0"], sizes["A_1"]))],
    in_place: lambda sizes: [sizes["steps"], np.zeros(sizes["A_0"])],
    copied: lambda sizes: [np.zeros(sizes["A_0"]), np.zeros(sizes["A_0"])],
}


def random_band(case_names, dims, rng):
    def member():
        terms = (f"{rng.choice((-1, 0, 1, 1, 2))}*{d}" for d in dims)
        shift = rng.choice((-1, 0, 0, 1))
        return " + ".join([*terms, str(shift)])

    return band(*("; ".join(f"{n}[{', '.join(dims)}] -> [({member()})]" for n in case_names) for _ in range(2)))


def broken_pairs(case, function, sizes):
    """The dependences of a traced run whose sink does not run after its source, by (statement, point)."""
    times = dict(points(case.schedule.get_map().intersect_domain(case.schedule.get_domain()), **sizes))
    names = {line: name for name, line in line_names(case.scop).items()}
    traced = traced_dependences(function, ARGUMENTS[function](sizes))
    found = {((names[a], i), (names[b], j)) for kind in ("flow", "anti", "output") for ((a, i), (b, j)) in traced[kind]}
    return {(source, sink) for source, sink in found if times[source][1] >= times[sink][1]}


@pytest.mark.parametrize(
    ("function", "names", "dims", "small"),
    [
        (upwards, ["S0"], ["i", "j"], {"A_0": 4, "A_1": 5}),
        (in_place, ["S0"], ["t", "i"], {"A_0": 6, "steps": 3}),
        (copied, ["S0", "S1"], ["i"], {"A_0": 5}),
    ],
    ids=["upwards", "in_place", "copied"],
)
def test_random_schedules_are_refused_exactly_where_a_traced_run_shows_a_broken_pair(function, names, dims, small):
    rng, seen = Random(5), {True: 0, False: 0}
    for _ in range(30):
        case = Case(function, random_band(names, dims, rng))
        try:
            case.passes(check_legal)
        except IllegalSchedule as refused:
            sink, source = (_instance(text) for text in re.findall(r"S\d\[[^]]*\]", refused.message))
            sizes = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", refused.notes[0])}
            assert (source, sink) in broken_pairs(case, function, sizes), refused
            seen[False] += 1
        else:
            assert not broken_pairs(case, function, small)
            seen[True] += 1
    assert min(seen.values()) >= 3


def _instance(text):
    name, point = text[:-1].split("[")
    return name, tuple(int(c) for c in point.split(","))


# parallel loops


def parallel(below, above=""):
    marked = f'{{ mark: "parallel", child: {below} }}'
    return above.replace("HERE", marked) if above else marked


@pytest.mark.parametrize(
    ("function", "tree", "pair", "sizes"),
    [
        (prefix_sum, parallel(band("S0[i] -> [(i)]")), "S0[2] depends on S0[1]", "A_0 = 3"),
        (prefix_sum, parallel(band("S0[i] -> [(floor(i/2))]")), "S0[2] depends on S0[1]", "A_0 = 3"),
        (
            in_place,
            '{ schedule: "[{ S0[t, i] -> [(t)] }]", child: ' + parallel(band("S0[t, i] -> [(i)]")) + " }",
            "S0[0, 2] depends on S0[0, 1]",
            "A_0 = 4, steps = 1",
        ),
        (copied, parallel(band("S0[i] -> [(i)]; S1[i] -> [(i + 1)]")), "S1[0] depends on S0[0]", "A_0 = 1"),
    ],
)
def test_a_parallel_loop_that_carries_a_dependence_is_refused(function, tree, pair, sizes):
    case = Case(function, tree)
    message = f"error: {pair}, so their loop cannot be parallel\n  note: {kinds_of(function)}, with {sizes}"
    assert case.refusal(check_parallel) == message


def test_a_loop_that_carries_nothing_once_those_around_it_are_fixed_may_be_parallel():
    inner = '{ schedule: "[{ S0[i, j] -> [(i)] }]", child: ' + parallel(band("S0[i, j] -> [(j)]")) + " }"
    Case(upwards, inner).passes(check_parallel)
    wavefront = '{ schedule: "[{ S0[t, i] -> [(2t + i)] }]", child: ' + parallel(band("S0[t, i] -> [(t)]")) + " }"
    Case(in_place, wavefront).passes(check_parallel)
    Case(increment, parallel(band("S0[i] -> [(i)]"))).passes(check_parallel)
    fused = parallel('{ schedule: "[{ S0[i] -> [(i)]; S1[i] -> [(i)] }]", child: ' + IN_ORDER + " }")
    Case(copied, fused).passes(check_parallel)
    Case(copied, fused).passes(check_legal)


def test_a_loop_without_a_mark_need_not_be_parallel():
    Case(prefix_sum, band("S0[i] -> [(i)]")).passes(check_parallel)


def test_the_mark_parallel_stands_on_a_band():
    tree = parallel('{ mark: "point", child: ' + band("S0[i] -> [(i)]") + " }")
    message = "error: a mark `parallel` stands right above the band of its loop"
    assert Case(increment, tree).refusal(check_parallel) == message


@pytest.mark.parametrize(
    "tree",
    [
        parallel(band("S0[i, j] -> [(floor(i/8))]", "S0[i, j] -> [(j)]", "S0[i, j] -> [(i)]")),
        parallel('{ schedule: "[{ S0[i, j] -> [(floor(i/8))] }]", child: ' + band("S0[i, j] -> [(j)]") + " }"),
    ],
)
def test_a_mark_that_a_carried_loop_would_inherit_is_refused(tree):
    """floor(i / 8) needs no loop for 1 <= i <= 4, so that the first loop that isl makes is j."""
    message = "error: a mark `parallel` is for one loop: the loops inside it stand under a mark of their own"
    assert Case(rows, tree).refusal(check_parallel) == message


def test_marks_below_a_parallel_loop_end_it():
    point = '{ mark: "point", child: ' + band("S0[i, j] -> [(i)]", "S0[i, j] -> [(j)]") + " }"
    tree = parallel('{ schedule: "[{ S0[i, j] -> [(floor(i/8))] }]", child: ' + point + " }")
    Case(rows, tree).passes(check_parallel)
