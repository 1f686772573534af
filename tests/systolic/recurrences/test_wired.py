"""Values that are used on both sides of where they are made: brought by wires, phase by phase, against a run of the source."""

import islpy as isl
import pytest

from polyml.errors import IllegalSchedule
from polyml.systolic.folding.folds import fold
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.mapping.legality import check_wires
from polyml.systolic.mapping.proof import prove
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.spacetime import SpaceTime
from tests.model.modelling import events
from tests.systolic.designs import nests_of, zeros
from tests.systolic.joint import Arrivals
from tests.systolic.wired import WIRED, floyd_warshall


def shape_of(function):
    """An array with a unit for each element."""
    return WIRED[function][0].shape


@pytest.mark.sweep(keep=4, long=("floyd_warshall",))
@pytest.mark.parametrize("function", WIRED, ids=lambda f: f.__name__)
def test_every_value_arrives(function):
    found, sizes = nests_of(function, WIRED[function], "broadcast")
    driven = 0
    for nest in found:
        for plan in plans(nest, sizes, shape_of(function), "broadcast", dataflow="all"):
            arrivals = Arrivals(function, WIRED[function], plan)
            arrivals.check()
            driven += bool(arrivals.driven)
            folds = plan.folds
            classes = [(c.instances, c.units, c.compute_cycles) for c in folds.classes for _ in range(c.number)]
            assert sorted(classes) == arrivals.classes()
            for traffic in folds.traffic:
                use = traffic.stream.use
                if use.kind != "result":
                    assert traffic.reads == arrivals.read[use.statement, use.read]
            assert folds.writes == arrivals.writes()
    assert driven


def layers(function, args):
    """By instance, after how many others of its iteration of the outer loop it can run at the earliest, from a run."""
    last, found = {}, {}
    for (line, loops), reads, write in events(function, args):
        before = (found[maker] for maker in (last.get(cell) for cell in reads) if maker is not None and maker[1][0] == loops[0])
        found[line, loops] = 1 + max(before, default=-1)
        last[write] = line, loops
    return found


def test_phases_are_as_early_as_values_allow():
    (nest,), sizes = nests_of(floyd_warshall, WIRED[floyd_warshall], "broadcast")
    plan = plans(nest, sizes, (6, 6), "broadcast")[0]
    arrivals = Arrivals(floyd_warshall, WIRED[floyd_warshall], plan)
    expected = layers(floyd_warshall, WIRED[floyd_warshall])
    start = min(arrivals.t.values())
    for number, t in arrivals.t.items():
        at, _, _ = arrivals.trace[number]
        assert t - start == 3 * at[1][0] + expected[at]
        assert arrivals.unit[number] == at[1][1:]
    assert plan.folds.cycles == 3 * 6 - 2


def test_parts_are_told_by_their_instances():
    (nest,), _ = nests_of(floyd_warshall, WIRED[floyd_warshall], "broadcast")
    assert nest.parts == {
        "S0_0": "S0[k, i, j] : i <= k and j <= k",
        "S0_1": "S0[k, i, j] : (i > k and j <= k) or (i <= k and j > k)",
        "S0_2": "S0[k, i, j] : i > k and j > k",
    }
    assert nest.is_wired


def test_three_cycles_an_iteration():
    for n in (1, 2, 5, 7):
        (nest,), sizes = nests_of(floyd_warshall, (zeros(n, n),), "broadcast")
        plan = plans(nest, sizes, (7, 7), "broadcast")[0]
        assert plan.folds.cycles == 3 * n - 2
        assert n < 5 or plan.formula.evaluate({"P_0": n}) == plan.padded.cycles


@pytest.mark.sweep(keep=0)
def test_an_array_that_is_too_small_goes_iteration_by_iteration():
    (nest,), sizes = nests_of(floyd_warshall, WIRED[floyd_warshall], "broadcast")
    found = plans(nest, sizes, (4, 4), "broadcast")
    assert found and all(plan.recurrence.outer == (0,) for plan in found)
    recurrence = next(layouts(nest, sizes, 2))
    with pytest.raises(IllegalSchedule) as refused:
        fold(recurrence, SpaceTime((1, 0, 0), ((0, 1, 0), (0, 0, 1))), (4, 4))
    assert refused.value.message == "the value P[i, k] would go from fold [0, 1] to fold [0, 0], which runs before"
    assert refused.value.notes[-1] == "expected an array of at least 6 x 6 units, on which the instances are in one fold"


def test_links_without_wires_are_told():
    with pytest.raises(IllegalSchedule) as refused:
        nests_of(floyd_warshall, WIRED[floyd_warshall])
    assert refused.value.notes[-1] == "on links with wires, broadcast, values reach the units on both sides at once"
    (nest,), sizes = nests_of(floyd_warshall, WIRED[floyd_warshall], "broadcast")
    with pytest.raises(IllegalSchedule) as refused:
        prove(next(layouts(nest, sizes, 2)), SpaceTime((1, 0, 0), ((0, 1, 0), (0, 0, 1))), "manhattan")
    assert refused.value.message == "P[i, k] goes along wires"


@pytest.mark.parametrize("space", [((0, 1, 1), (0, 0, 1)), ((1, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 1, 0))], ids=str)
def test_a_wire_is_a_row_or_a_column(space):
    (nest,), sizes = nests_of(floyd_warshall, WIRED[floyd_warshall], "broadcast")
    with pytest.raises(IllegalSchedule):
        prove(next(layouts(nest, sizes, 2)), SpaceTime((1, 0, 0), space), "broadcast")


POINTS = isl.UnionSet("{ S[k, i, j] : 0 <= k, i, j < 3 }")


def driven(pairs, places="k, i, j", users=None):
    order = isl.UnionMap(f"{{ S[k, i, j] -> [{places}] }}").intersect_domain(POINTS)
    inside = isl.UnionMap(f"{{ S[k, i, j] -> S[{pairs} }}").intersect_domain(POINTS).intersect_range(POINTS)
    check_wires(order, 1, inside, inside.range() if users is None else isl.UnionSet(users), what="P[i, k]")


def test_wires_are_legal_in_time_in_line_and_alone():
    driven("k + 1, i, l] : j = 1")
    with pytest.raises(IllegalSchedule) as refused:
        driven("k, i, l] : j = 1")
    assert refused.value.message == "S[0, 0, 0] must run after S[0, 0, 1]"
    with pytest.raises(IllegalSchedule) as refused:
        driven("k + 1, i + 1, l] : j = 1")
    assert refused.value.message == "no wire goes from S[0, 0, 1] to S[1, 1, 0], which run in different rows"
    with pytest.raises(IllegalSchedule) as refused:
        driven("k + 1, i, l] : j <= 1 and l != j")
    assert refused.value.message == "S[1, 0, 0] would have the value of S[0, 0, 0] on its wire, and needs another one"
