"""isl's loops are taken where they are proved to run the schedule; a proof is never given of loops that do not."""

import random
from dataclasses import replace

import islpy as isl
import pytest

from polyml.codegen.astgen.build import nodes_of, of_isl
from polyml.codegen.astgen.scan import scan
from polyml.codegen.astgen.translation_validation import is_proved
from polyml.codegen.ir.program import Guard, Instance, Loop
from polyml.polyhedra import BudgetExceeded, budget
from polyml.quasi_affine.affine import Compare, Logic
from tests.codegen.trees import (
    CONTEXT,
    band,
    in_order,
    random_product,
    random_schedule,
    random_strided_schedule,
    run,
    schedule_of,
    sequence,
)

SIZES = ((0, 0), (1, 1), (2, 5), (5, 2), (7, 6), (9, 9), (33, 40))

STRIDED = "(-1 + i) mod 3 = 0 and 0 < i < N"
OUTER, INNER = "i - i mod 32 - (-3*floor(i/32)) mod 7", "i - i mod 32"
WRONG_OF_ONE = schedule_of(f"S[i] : {STRIDED}", band(f"S[i] -> [({OUTER})]", f"S[i] -> [({INNER})]", "S[i] -> [(i mod 32)]"))
OF_BOTH = [f"S[i] -> [({e})]; T[i] -> [({e})]" for e in (OUTER, INNER)]
WRONG_OF_TWO = schedule_of(
    f"S[i] : {STRIDED}; T[i] : {STRIDED}",
    band(*OF_BOTH, child=sequence(("S[i]", band("S[i] -> [(i)]")), ("T[i]", band("T[i] -> [(i mod 32)]")))),
)


def is_right(nodes, schedule, sizes_of=SIZES):
    return all([*run(nodes, {"N": n, "M": m})] == in_order(schedule, {"N": n, "M": m}) for n, m in sizes_of)


@pytest.mark.parametrize("schedule", [WRONG_OF_ONE, WRONG_OF_TWO])
def test_wrong_loops_of_isl_are_found_and_not_used(schedule):
    """Strided domains in tiles of tiles of sizes that do not divide one another: isl runs one instance for each tile."""
    sizes_of = [*SIZES, (98, 0), (150, 0)]
    made = of_isl(schedule, CONTEXT)
    assert is_proved(schedule, CONTEXT, made) == is_right(made, schedule, sizes_of)
    assert is_right(nodes_of(schedule, CONTEXT), schedule, sizes_of)


def test_loops_of_isl_that_run_one_instance_of_each_tile_are_not_proved():
    made = of_isl(WRONG_OF_ONE, CONTEXT)
    assert not is_right(made, WRONG_OF_ONE, [(98, 0)]) and not is_proved(WRONG_OF_ONE, CONTEXT, made)


def loops_of(schedule):
    """isl's loops, None where it takes too long."""
    try:
        with budget(400_000):
            return of_isl(schedule, CONTEXT)
    except BudgetExceeded:
        return None


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.sweep(keep=45)
def test_what_is_proved_of_random_trees_is_right(seed):
    schedule = random_schedule(random.Random(seed), every=True)
    made = loops_of(schedule)
    assert made is None or not is_proved(schedule, CONTEXT, made) or is_right(made, schedule)


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.sweep(keep=40)
def test_strided_domains_in_tiles_of_tiles_run_in_order(seed):
    schedule = random_strided_schedule(random.Random(seed))
    made = loops_of(schedule)
    if made is not None and is_proved(schedule, CONTEXT, made):
        assert is_right(made, schedule)
    else:
        assert is_right(nodes_of(schedule, CONTEXT), schedule)


def test_most_loops_of_random_trees_are_proved():
    schedules = [random_schedule(random.Random(seed), every=True) for seed in range(60)]
    made = [(loops_of(schedule), schedule) for schedule in schedules]
    proved = [is_proved(schedule, CONTEXT, nodes) for nodes, schedule in made if nodes is not None]
    assert sum(proved) > 0.8 * len(proved)


def changed(nodes):
    """The same loops with one thing changed, in every way."""
    nodes = tuple(nodes)
    for k, node in enumerate(nodes):
        before, after = nodes[:k], nodes[k + 1 :]
        yield (*before, *after)
        yield (*before, node, node, *after)
        if after:
            yield (*before, after[0], node, *after[1:])
        for other in changed_node(node):
            yield (*before, other, *after)


def changed_node(node):
    if isinstance(node, Instance):
        for k, e in enumerate(node.point):
            for more in (-1, 1):
                yield replace(node, point=(*node.point[:k], e + more, *node.point[k + 1 :]))
        yield replace(node, point=node.point[::-1])
        return
    for body in changed(node.body):
        yield replace(node, body=body)
    if isinstance(node, Guard):
        for condition in changed_condition(node.condition):
            yield replace(node, condition=condition)
        return
    for step in (node.step - 1, node.step + 1, 2 * node.step):
        if step > 0:
            yield replace(node, step=step)
    for name in ("lower", "upper"):
        bounds = getattr(node, name)
        for k, bound in enumerate(bounds):
            for more in (-1, 1, node.step, -node.step):
                yield replace(node, **{name: (*bounds[:k], bound + more, *bounds[k + 1 :])})
            if len(bounds) > 1:
                yield replace(node, **{name: (*bounds[:k], *bounds[k + 1 :])})


def changed_condition(condition):
    yield Logic("and", ())
    if isinstance(condition, Compare):
        for more in (-1, 1):
            yield Compare(condition.op, condition.expr + more)
        return
    for k in range(len(condition.parts)):
        yield Logic(condition.op, (*condition.parts[:k], *condition.parts[k + 1 :]))
    yield Logic("or" if condition.op == "and" else "and", condition.parts)


TILES = band("S[i, j] -> [(i - i mod 4)]", "S[i, j] -> [(j - j mod 3)]", child=band("S[i, j] -> [(i)]", "S[i, j] -> [(j)]"))
SHARED = band("S[i] -> [(i)]; T[i, j] -> [(i + 1)]", child=sequence(("T[i, j]", band("T[i, j] -> [(j)]")), ("S[i]", "")))


@pytest.mark.parametrize("schedule", [
    schedule_of("S[i, j] : 0 <= i < N and i <= j < M and (i + j) mod 2 = 0", TILES),
    schedule_of("S[i, j] : 0 <= i < N and 0 <= j < M and (i < 2 or j > i + 3)", TILES),
    schedule_of("S[i] : 0 <= i < N; T[i, j] : M <= i < 2M and 2*floor(i/2) <= j < N", SHARED),
    schedule_of("S[i] : 0 <= i < N and i mod 4 = 1; T[i, j] : 0 <= i < M and i mod 4 = 1 and 0 <= j < N", SHARED),
    *(random_schedule(random.Random(seed), every=True) for seed in (1, 3, 9, 25, 29)),
])  # fmt: skip
@pytest.mark.sweep()
def test_every_change_that_matters_is_found(schedule):
    made = of_isl(schedule, CONTEXT)
    assert is_proved(schedule, CONTEXT, made)
    matter = [other for other in changed(made) if not is_right(other, schedule, SIZES[:-1])]
    assert len(matter) > 20 or not list(run(made, {"N": 9, "M": 9}))
    assert not any(is_proved(schedule, CONTEXT, other) for other in matter)


def test_statements_whose_strides_differ_by_a_shift_share_a_loop():
    """isl runs S at i and T at i + 1 in one iteration where neither has other times in between."""
    schedule = schedule_of("S[i] : i mod 4 = 1 and 0 < i < N; T[i] : i mod 4 = 1 and 0 < i < N",
                           band("S[i] -> [(i)]; T[i] -> [(i + 1)]", child=sequence(("S[i]", ""), ("T[i]", ""))))  # fmt: skip
    (loop,) = made = of_isl(schedule, CONTEXT)
    assert loop.step == 4 and len(loop.body) == 2
    assert is_proved(schedule, CONTEXT, made)
    assert not is_proved(schedule, CONTEXT, [replace(loop, body=loop.body[::-1])])


def test_a_loop_named_like_a_parameter_is_not_proved():
    schedule = isl.Schedule('{ domain: "[c0] -> { S[i] : 0 <= i < c0 }", child: { schedule: "[c0] -> [{ S[i] -> [(i)] }]" } }')
    nodes = scan(schedule, isl.Set("[c0] -> { : c0 >= 0 }"))
    assert not is_proved(schedule, isl.Set("[c0] -> { : c0 >= 0 }"), nodes)


def test_instances_at_one_time_may_run_in_any_order():
    schedule = schedule_of("S[i] : 0 <= i < N; T[i] : 0 <= i < N", band("S[i] -> [(i)]; T[i] -> [(i)]"))
    (loop,) = made = of_isl(schedule, CONTEXT)
    assert is_proved(schedule, CONTEXT, made)
    assert is_proved(schedule, CONTEXT, [replace(loop, body=loop.body[::-1])])
    assert not is_proved(schedule, CONTEXT, [replace(loop, body=loop.body[:1])])


def test_loops_of_a_scan_are_proved_as_well():
    schedule = schedule_of("S[i, j] : 0 <= i < N and i <= j < M", TILES)
    assert is_proved(schedule, CONTEXT, scan(schedule, CONTEXT))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.sweep(keep=2)
def test_every_change_of_scanned_products_that_matters_is_found(seed):
    schedule = random_product(random.Random(seed))
    made = scan(schedule, CONTEXT)
    assert is_right(made, schedule) and is_proved(schedule, CONTEXT, made)
    matter = [other for other in changed(made) if not is_right(other, schedule, SIZES[:-1])]
    assert len(matter) > 20
    assert not any(is_proved(schedule, CONTEXT, other) for other in matter)


def test_a_loop_without_a_name_by_depth_is_not_proved():
    schedule = schedule_of("S[i] : 0 <= i < N", band("S[i] -> [(i)]"))
    (loop,) = of_isl(schedule, CONTEXT)
    assert isinstance(loop, Loop) and is_proved(schedule, CONTEXT, [loop])
    assert not is_proved(schedule, CONTEXT, [replace(loop, var="c1")])


def test_loops_in_another_order_are_not_proved():
    schedule = schedule_of("S[i, j] : 0 <= i < N and 0 <= j < M", band("S[i, j] -> [(i)]", "S[i, j] -> [(j)]"))
    (outer,) = of_isl(schedule, CONTEXT)
    (inner,) = outer.body
    assert is_proved(schedule, CONTEXT, [outer])
    assert not is_proved(schedule, CONTEXT, [replace(inner, body=(replace(outer, body=inner.body),))])
    around = replace(inner, var="c0", body=(replace(outer, var="c1", body=(Instance("S", inner.body[0].point[::-1]),)),))
    assert not is_proved(schedule, CONTEXT, [around])


def test_times_that_divide_what_the_domain_makes_a_multiple():
    halves = "S[i] -> [((N - 1)/2)]; T[i] -> [(i)]"
    schedule = schedule_of("S[i] : 2i = N - 1; T[i] : 0 <= i < N and 2i > N - 1", band(halves))
    made = of_isl(schedule, CONTEXT)
    assert is_proved(schedule, CONTEXT, made) and is_right(made, schedule)
    assert not is_proved(schedule, CONTEXT, made[::-1]) and not is_proved(schedule, CONTEXT, made[1:])
