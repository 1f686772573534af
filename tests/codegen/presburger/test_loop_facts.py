"""Facts as systems of integers: they hold for the same values as the facts themselves."""

from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.codegen.presburger.loop_facts import FIRST, SECOND, SHARED, Fact, Sides, Systems
from polyml.codegen.presburger.omega_test import System, is_empty
from polyml.quasi_affine.affine import Affine, extremum, floor_div, variable
from tests.codegen.strategies import EXPRESSIONS, SMALL

I, J, N = variable("i"), variable("j"), variable("N")
SIDES = Sides(("i",), ("j",), ("j",))


def test_names_of_both_touches_are_told_apart():
    systems = Systems(SIDES)
    systems.add(Fact("==", (I * 2 + J + N, FIRST), (I + J, SECOND)))
    ((terms, constant),) = systems.system().equal
    assert (terms, constant) == ({("i", FIRST): 1, 0: -1, ("j", FIRST): 1, ("j", SECOND): -1, "N": 1}, 0)


def test_bounds_that_are_the_least_of_several_are_all_of_them():
    systems = Systems(SIDES)
    systems.add(Fact(">=", (extremum("min", [N, I + 3]), FIRST), (extremum("max", [J, Affine(0)]), FIRST)))
    assert len(systems.system().least) == 4 and systems.is_complete
    systems.add(Fact(">=", (extremum("max", [N, I + 3]), FIRST), (J, FIRST)))
    assert len(systems.system().least) == 4 and not systems.is_complete


def facts():
    side = st.sampled_from((FIRST, SECOND))
    return st.builds(Fact, st.sampled_from((">=", "==")), st.tuples(EXPRESSIONS, side), st.tuples(EXPRESSIONS, side))


@settings(max_examples=300, deadline=None)
@given(facts(), st.fixed_dictionaries({key: SMALL for key in ("i1", "i2", "j1", "j2", "N")}))
def test_a_system_holds_where_its_fact_does(fact, values):
    systems = Systems(SIDES)
    systems.add(fact)
    by_side = {k: {"i": values[f"i{k}"], "j": values[f"j{k}"], "N": values["N"]} for k in (FIRST, SECOND)}
    left, right = (e.evaluate(by_side[side]) for e, side in (fact.left, fact.right))
    there = {("i", FIRST): values["i1"], 0: values["i2"] - values["i1"], "N": values["N"]}
    there |= {("j", FIRST): values["j1"], ("j", SECOND): values["j2"]}
    point = System(tuple(({name: 1}, -value) for name, value in there.items()))
    holds = left == right if fact.op == "==" else left >= right
    found = is_empty(systems.system() & point)
    assert found in (False, None) if holds else found in (True, None) or not systems.is_complete


@given(SMALL, SMALL, st.integers(1, 5))
def test_a_step_and_a_quotient_are_what_python_makes_of_them(value, other, step):
    systems = Systems(Sides())
    systems.add(Fact("mod", (I, SHARED), (J, SHARED), step))
    systems.add(Fact("==", (floor_div(I, step), SHARED), (N, SHARED)))
    point = System(tuple(({name: 1}, -at) for name, at in (("i", value), ("j", other), ("N", value // step))))
    assert is_empty(systems.system() & point) == ((value - other) % step != 0)
