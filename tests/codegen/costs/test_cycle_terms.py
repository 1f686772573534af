"""Units that work side by side hide one another's cycles, and the others' add up."""

import pytest

from polyml.codegen.costs.cycle_terms import FORWARDED, SHARED_CYCLES, CycleTerms, stalls
from polyml.codegen.costs.expression_costs import operations
from polyml.dtypes import F64
from polyml.frontend import syntax
from polyml.model.core.scop import Load

NOTHING = CycleTerms(arithmetic=0, loads=0, stores=0, slow=0, jumps=0, issue=0, waits=0, loop=0, instances=1, used=1.0)


@pytest.mark.parametrize("unit", ["arithmetic", "stores", "divisions"])
def test_what_one_unit_does_is_hidden_behind_a_busier_one(unit):
    terms = NOTHING._replace(loads=20.0, **{unit: 16.0})
    assert terms.per_iteration == pytest.approx(20 + SHARED_CYCLES * 16)
    assert f"{unit} 16" in str(terms)


@pytest.mark.parametrize("term", ["slow", "jumps"])
def test_waits_for_one_operation_after_the_other_add_up(term):
    assert NOTHING._replace(loads=20.0, **{term: 16.0}).per_iteration == pytest.approx(36)


def test_the_divider_takes_divisions_and_roots_of_floats_alone():
    x = Load(0, dtype=F64)
    costly = {
        "/": syntax.Binary("/", x, x, dtype=F64), "sqrt": syntax.Call("sqrt", (x,), dtype=F64),
        "//": syntax.Binary("//", x, x, dtype=F64), "abs": syntax.Call("abs", (x,), dtype=F64),
    }  # fmt: skip
    found = {name: [each.is_division for each in operations(value) if each.slow] for name, value in costly.items()}
    assert found == {"/": [True], "sqrt": [True], "//": [False], "abs": [False]}


def test_a_step_waits_for_what_was_stored_before_the_step_before():
    assert stalls(64, 8, [64]) == 0  # in registers
    assert stalls(32, 4, [64]) / 32 < stalls(32, 4, [40]) / 32  # whole vectors, and pieces of several
    assert stalls(32, 4, [64]) / 32 == stalls(16, 2, [64]) / 16  # each vector as long, whatever the step
    assert stalls(32, 4, [FORWARDED]) == stalls(48, 6, [FORWARDED]) == 0  # from the cache
