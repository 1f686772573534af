"""What is asked of a tree node by node, against relations of whole times and the times of all instances at small sizes."""

from random import Random

import islpy as isl
import pytest

from polyml.model.core.dependence import dependences
from polyml.polyhedra import points
from polyml.schedule.legality.check import carried, violated
from polyml.schedule.legality.proof import carries_none, keeps, runs_once
from tests.model.modelling import INT, MATRIX, VECTOR, model


def smoothed(steps, A, B):
    for t in range(steps):
        for i in range(1, A.shape[0] - 1):
            B[i] = A[i - 1] + A[i + 1]
        for i in range(1, A.shape[0] - 1):
            A[i] = B[i]


def sums(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = B[i]
        for j in range(A.shape[1]):
            B[i] = A[i, j]


CASES = {
    "smoothed": (smoothed, [INT, VECTOR, VECTOR], ["t", "i"], {"steps": 5, "A_0": 8, "B_0": 8}),
    "sums": (sums, [MATRIX, VECTOR], ["i", "j"], {"A_0": 6, "A_1": 7, "B_0": 6}),
}


@pytest.fixture(params=CASES)
def case(request):
    function, types, dims, sizes = CASES[request.param]
    scop = model(function, *types)
    return scop, dims, sizes


def member(scop, dims, rng):
    """One loop of all statements: an expression, often the source's outer loop, or which tile of two or three of its values."""
    terms, tile = rng.choice((dims[:1], [f"{rng.choice((0, 1, 1, 2))}*{d}" for d in dims])), rng.choice((1, 1, 2, 3))
    values = {name: " + ".join([*terms, rng.choice("0001")]) for name in scop.statements}
    text = "; ".join(f"{name}[{', '.join(dims)}] -> [(floor(({value})/{tile}))]" for name, value in values.items())
    return f"{{ {text} }}"


def band(scop, dims, rng, below=""):
    members = ", ".join(member(scop, dims, rng) for _ in range(rng.choice((1, 2))))
    return f'schedule: "[{members}]"{below}'


def tree(scop, dims, rng, filters):
    """A band around a sequence of the filters in any order, each above a band."""
    parts = [f'{{ filter: "{f}", child: {{ {band(scop, dims, rng)} }} }}' for f in rng.sample(filters, len(filters))]
    below = ", child: { sequence: [ " + ", ".join(parts) + " ] }"
    return isl.Schedule(f'{{ domain: "{scop.domain}", child: {{ {band(scop, dims, rng, below)} }} }}')


def instances(scop, dims, *conditions):
    return [f"{{ {name}[{', '.join(dims)}] : {c} }}" for name in scop.statements for c in conditions]


def times(schedule, sizes):
    return dict(points(schedule.get_map().intersect_domain(schedule.get_domain()), **sizes))


def prefix_times(node, sizes):
    """Instance -> the values of all loops around the band and of its first one."""
    own = isl.UnionMap.from_union_pw_aff(node.band_get_partial_schedule().get_at(0))
    around = node.get_prefix_schedule_union_map().intersect_domain(node.get_domain())
    outer, inner = dict(points(around, **sizes)), dict(points(own.intersect_domain(node.get_domain()), **sizes))
    return {instance: (outer[instance], inner[instance]) for instance in outer}


def bands(node):
    own = [node] if node.get_type() == isl.schedule_node_type.band else []
    return own + [b for k in range(node.n_children()) for b in bands(node.child(k))]


def test_an_order_is_kept_where_every_pair_runs_in_order(case):
    scop, dims, sizes = case
    order = dependences(scop).validity
    pairs, rng, seen = points(order, **sizes), Random(3), {True: 0, False: 0}
    for _ in range(150):
        schedule = tree(scop, dims, rng, instances(scop, dims, *rng.choice((("true",), ("i < 2", "i >= 2")))))
        when = times(schedule, sizes)
        found = keeps(schedule, order)
        seen[found] += 1
        assert found == violated(schedule.get_map().intersect_domain(schedule.get_domain()), order).is_empty(), schedule
        assert not found or all(when[source] < when[sink] for source, sink in pairs), schedule
    assert min(seen.values()) >= 3


def test_a_loop_carries_none_where_no_pair_is_of_two_iterations(case):
    scop, dims, sizes = case
    order = dependences(scop).validity
    pairs, rng, seen = points(order, **sizes), Random(4), {True: 0, False: 0}
    for _ in range(60):
        for node in bands(tree(scop, dims, rng, instances(scop, dims, "true")).get_root()):
            when = prefix_times(node, sizes)
            inside = [(when[a], when[b]) for a, b in pairs if a in when and b in when]
            found = carries_none(node, order)
            seen[found] += 1
            assert found == carried(node, order).is_empty(), node
            assert not found or all(a == b for a, b in inside if a[0] == b[0]), node
    assert min(seen.values()) >= 3


def wave(scop, dims, rng):
    """Tiles along two expressions, those of one sum of their numbers in one iteration of the outer loop."""
    t, i = dims
    first, second = rng.sample((f"2*{t} + {i}", f"2*{t} - {i}", f"{t} + {i}", f"{t} - {i}", t, i), 2)
    shift = {name: rng.choice("0001") for name in scop.statements}
    point = ", ".join(dims)
    own = {name: f"floor(({first} + {shift[name]})/3)" for name in scop.statements}
    sums = "; ".join(f"{name}[{point}] -> [({each} + floor(({second})/3))]" for name, each in own.items())
    tiles = "; ".join(f"{name}[{point}] -> [({each})]" for name, each in own.items())
    inner = f'schedule: "[{{ {tiles} }}]"'
    return isl.Schedule(f'{{ domain: "{scop.domain}", child: {{ schedule: "[{{ {sums} }}]", child: {{ {inner} }} }} }}')


def test_tiles_of_one_wave_carry_none_where_no_pair_is_of_two_of_them(case):
    scop, dims, sizes = case
    order = dependences(scop).validity
    pairs, rng, seen = points(order, **sizes), Random(5), {True: 0, False: 0}
    for _ in range(60):
        outer, node = bands(wave(scop, dims, rng).get_root())
        when = prefix_times(node, sizes)
        found = carries_none(node, order)
        seen[found] += 1
        assert found == carried(node, order).is_empty(), node
        assert not found or all(a == b for a, b in ((when[a], when[b]) for a, b in pairs) if a[0] == b[0]), node
        assert carries_none(outer, order) == carried(outer, order).is_empty(), node
    assert min(seen.values()) >= 3


@pytest.mark.parametrize(
    ("first", "second", "once"),
    [("i < 3", "i >= 3", True), ("i <= 3", "i >= 3", False), ("i < 3", "i > 3", False), ("false", "true", True)],
)
def test_children_of_a_sequence_run_every_instance_once(case, first, second, once):
    scop, dims, _ = case
    parts = (f'{{ filter: "{f}" }}' for f in instances(scop, dims, first, second))
    schedule = isl.Schedule(f'{{ domain: "{scop.domain}", child: {{ sequence: [ {", ".join(parts)} ] }} }}')
    assert runs_once(schedule, scop.domain) is once
    assert not runs_once(schedule, scop.domain.subtract(isl.UnionSet(instances(scop, dims, "i = 2")[0])))


def test_loops_without_a_value_for_some_instance_do_not_run_it(case):
    scop, dims, _ = case
    members = "; ".join(f"{name}[{', '.join(dims)}] -> [({dims[0]})] : {dims[1]} > 2" for name in scop.statements)
    schedule = isl.Schedule(f'{{ domain: "{scop.domain}", child: {{ schedule: "[{{ {members} }}]" }} }}')
    assert not runs_once(schedule, scop.domain)


def test_trees_with_nodes_that_add_instances_are_not_proved():
    scop = model(sums, MATRIX, VECTOR)
    plain = scop.schedule.get_root().child(0)
    extension = isl.UnionMap("{ [] -> copy[i] : 0 <= i < 4 }")
    more = plain.graft_before(isl.ScheduleNode.from_extension(extension)).get_schedule()
    assert keeps(scop.schedule, dependences(scop).validity) and runs_once(scop.schedule, scop.domain)
    assert not keeps(more, dependences(scop).validity) and not runs_once(more, scop.domain)
