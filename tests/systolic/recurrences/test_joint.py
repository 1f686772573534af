"""Statements that need each other's values as one nest: what arrives where, against a run of the source; what is refused."""

import pytest

from polyml.errors import IllegalSchedule
from polyml.systolic.folding.folds import fold
from polyml.systolic.mapping.dataflows import plans
from polyml.systolic.mapping.proof import prove
from polyml.systolic.recurrences.layouts import layouts
from polyml.systolic.recurrences.spacetime import SpaceTime
from polyml.systolic.recurrences.value_sources import RESULT
from tests.systolic.designs import nests_of, zeros
from tests.systolic.joint import JOINT, Arrivals, cholesky, fdtd, jacobi_1d, lu, trsv

SHAPES = ((1, 1), (3, 2), (4, 4), (3,))


@pytest.mark.sweep(keep=7, long=("fdtd",))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", JOINT, ids=lambda f: f.__name__)
def test_every_value_arrives(function, shape):
    found, sizes = nests_of(function, JOINT[function])
    for nest in found:
        for plan in plans(nest, sizes, shape, dataflow="all"):
            arrivals = Arrivals(function, JOINT[function], plan)
            arrivals.check()
            folds = plan.folds
            classes = [(c.instances, c.units, c.compute_cycles) for c in folds.classes for _ in range(c.number)]
            assert sorted(classes) == arrivals.classes()
            for traffic in folds.traffic:
                use = traffic.stream.use
                if use.kind != "result":
                    assert traffic.reads == arrivals.read[use.statement, use.read]
            if any(use.kind == "value" for use in nest.uses):
                assert folds.writes == arrivals.writes()


def placed(function):
    (*_, nest), _ = nests_of(function, JOINT[function])
    return {place.statement.name: (place.rows, place.constants) for place in nest.embeddings}


def test_a_statement_is_where_the_deepest_would_use_its_elements():
    identity = (((1, 0), (0, 1)), (0, 0))
    assert placed(trsv) == {"S0": identity, "S1": (((1,), (1,)), (0, 0))}
    assert placed(lu) == {"S0": (((1, 0), (0, 1), (1, 0)), (0, 0, 0)), "S1": (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (0, 0, 0))}
    whole = placed(cholesky)
    assert whole["S1"][0] == ((1, 0), (0, 1), (0, 1)) and whole["S2"][0] == ((1, 0), (1, 0), (0, 1))
    assert whole["S3"][0] == ((1,), (1,), (1,))


def test_statements_that_would_share_points_take_turns():
    assert placed(jacobi_1d) == {"S0": (((2, 0), (0, 1)), (0, 0)), "S1": (((2, 0), (0, 1)), (1, 0))}
    assert [constants[0] for _, constants in placed(fdtd).values()] == [0, 1, 2]


def test_a_value_hops_from_where_it_is_made():
    (nest,), sizes = nests_of(lu, JOINT[lu])
    recurrence = next(layouts(nest, sizes, 2))
    found = {key: [(s.kind, s.statement, s.read, s.vector) for s in sources] for key, sources in recurrence.sources.items()}
    assert found == {
        ("S0", 0): [("produced", "S1", RESULT, (1, 0, 0))],
        ("S0", 1): [("forwarded", "S0", 1, (0, 1, 0)), ("produced", "S1", RESULT, (1, 1, 0))],
        ("S1", 0): [("produced", "S1", RESULT, (1, 0, 0))],
        ("S1", 1): [("forwarded", "S1", 1, (0, 0, 1)), ("produced", "S0", RESULT, (0, 0, 1))],
        ("S1", 2): [("forwarded", "S1", 2, (0, 1, 0)), ("produced", "S1", RESULT, (1, 1, 0))],
    }


def test_instances_of_different_statements_share_no_unit_in_a_cycle():
    (nest,), sizes = nests_of(trsv, JOINT[trsv])
    recurrence = next(layouts(nest, sizes, 1))
    with pytest.raises(IllegalSchedule) as refused:
        prove(recurrence, SpaceTime((1, 0), ((1, 0),)), "manhattan")
    assert refused.value.message == "S0[1, 0] and S1[1] would run on one unit in one cycle"


def test_values_of_other_statements_come_in_time():
    (nest,), sizes = nests_of(trsv, JOINT[trsv])
    recurrence = next(layouts(nest, sizes, 1))
    with pytest.raises(IllegalSchedule) as refused:
        prove(recurrence, SpaceTime((1, 0), ((0, 1),)), "manhattan")
    assert refused.value.message == "S0[2, 1] must run after S0[2, 0]"


def test_a_value_stays_in_its_fold_or_leaves_it_for_good():
    """A[k, k] is made at 2*k - i = 2*(k - 1) - k and used at 2*k - i for all i > k: a column on, and from there back."""
    (nest,), sizes = nests_of(lu, (zeros(4, 4),))
    recurrence = next(layouts(nest, sizes, 2))
    mapping = SpaceTime((3, 1, 1), ((2, -1, 0), (0, 0, 1)))
    prove(recurrence, mapping, "manhattan")
    assert fold(recurrence, mapping, (4, 4)).number == 2
    with pytest.raises(IllegalSchedule) as refused:
        fold(recurrence, mapping, (3, 4))
    assert refused.value.message == "the value A[k, k] would leave fold [0, 0] and come back to it"


def test_elements_that_no_instance_made_hop_too():
    """A[0, j] goes down the rows as later rows do."""
    (nest,), sizes = nests_of(lu, JOINT[lu])
    single = [plan for plan in plans(nest, sizes, (16, 16)) if plan.folds.number == 1]
    assert single
    for plan in single:
        reads = {(t.stream.use.statement, t.stream.use.text): t.reads for t in plan.folds.traffic}
        assert reads["S1", "A[k, j]"] == 5 and reads["S0", "A[k, k]"] == 1
