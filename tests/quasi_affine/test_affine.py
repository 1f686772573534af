"""The algebra of quasi-affine expressions: every operation means what it says, and equal expressions are equal values."""

from hypothesis import given
from hypothesis import strategies as st

from polyml.quasi_affine.affine import (
    TRUE,
    Affine,
    Compare,
    Extremum,
    FloorDiv,
    Logic,
    choice,
    conjunction,
    extremum,
    floor_div,
    modulo,
    negate,
    of_atom,
    variable,
)
from tests.codegen.strategies import CONDITIONS, EXPRESSIONS, SMALL, SUBSTITUTIONS, VALUES

I, J, N = variable("i"), variable("j"), variable("N")


@given(EXPRESSIONS, EXPRESSIONS, SMALL, VALUES)
def test_sums_and_multiples_evaluate_to_sums_and_multiples(a, b, factor, values):
    x, y = a.evaluate(values), b.evaluate(values)
    assert (a + b).evaluate(values) == x + y
    assert (a - b).evaluate(values) == x - y
    assert (a + factor).evaluate(values) == x + factor
    assert (a - factor).evaluate(values) == x - factor
    assert (a * factor).evaluate(values) == x * factor


@given(EXPRESSIONS, st.integers(1, 12), VALUES)
def test_floor_division_and_modulo_are_pythons(a, divisor, values):
    x = a.evaluate(values)
    assert floor_div(a, divisor).evaluate(values) == x // divisor
    assert modulo(a, divisor).evaluate(values) == x % divisor


@given(st.sampled_from(("min", "max")), st.lists(EXPRESSIONS, min_size=1, max_size=4), VALUES)
def test_extremum_is_the_least_or_greatest_operand(op, operands, values):
    wanted = (min if op == "min" else max)(e.evaluate(values) for e in operands)
    assert extremum(op, operands).evaluate(values) == wanted


@given(CONDITIONS, EXPRESSIONS, EXPRESSIONS, VALUES)
def test_choice_takes_the_branch_its_condition_names(condition, then, orelse, values):
    wanted = then if condition.evaluate(values) else orelse
    assert choice(condition, then, orelse).evaluate(values) == wanted.evaluate(values)


@given(EXPRESSIONS, SUBSTITUTIONS, VALUES)
def test_substituting_and_evaluating_commute(a, replaced, values):
    moved = {**values, **{name: e.evaluate(values) for name, e in replaced.items()}}
    assert a.substitute(replaced).evaluate(values) == a.evaluate(moved)


@given(CONDITIONS, SUBSTITUTIONS, VALUES)
def test_substituting_in_a_condition_and_evaluating_commute(condition, replaced, values):
    moved = {**values, **{name: e.evaluate(values) for name, e in replaced.items()}}
    assert condition.substitute(replaced).evaluate(values) == condition.evaluate(moved)


@given(EXPRESSIONS, SUBSTITUTIONS)
def test_a_substituted_name_is_gone_unless_a_replacement_brings_it_back(a, replaced):
    brought = frozenset().union(*(replaced[n].names for n in replaced.keys() & a.names))
    assert a.substitute(replaced).names <= (a.names - replaced.keys()) | brought


@given(EXPRESSIONS, VALUES)
def test_the_text_of_an_expression_is_python_for_it(a, values):
    assert eval(str(a), {"min": min, "max": max}, dict(values)) == a.evaluate(values)


@given(CONDITIONS, VALUES)
def test_the_text_of_a_condition_is_python_for_it(condition, values):
    assert bool(eval(str(condition), {"min": min, "max": max}, dict(values))) == condition.evaluate(values)


@given(CONDITIONS, VALUES)
def test_a_negated_condition_is_true_where_the_condition_is_false(condition, values):
    assert negate(condition).evaluate(values) != condition.evaluate(values)


@given(st.lists(CONDITIONS, max_size=3), VALUES)
def test_a_conjunction_holds_where_all_its_parts_do(parts, values):
    assert conjunction(*parts).evaluate(values) == all(p.evaluate(values) for p in parts)


@given(EXPRESSIONS, EXPRESSIONS, SMALL)
def test_equal_sums_are_equal_values(a, b, factor):
    assert a + b == b + a
    assert (a + b) * factor == a * factor + b * factor
    assert a - a == Affine(0)
    assert hash((a + b) - b) == hash(a) and (a + b) - b == a


@given(EXPRESSIONS)
def test_terms_are_canonical(a):
    atoms = [x for x, _ in a.terms]
    assert len(set(atoms)) == len(atoms)
    assert all(c for _, c in a.terms)


@given(EXPRESSIONS, VALUES)
def test_a_coefficient_is_the_change_per_step_of_its_name(a, values):
    step = a.coefficient("i")
    if step is not None:
        moved = {**values, "i": values["i"] + 1}
        assert a.evaluate(moved) - a.evaluate(values) == step


def test_the_coefficient_of_a_name_inside_an_atom_is_unknown():
    e = floor_div(I, 2) + J * 3
    assert e.coefficient("i") is None
    assert e.coefficient("j") == 3
    assert e.coefficient("N") == 0
    assert (e + I).coefficient("i") is None


def test_terms_that_divide_exactly_leave_a_division():
    assert floor_div(I * 4 + N * 8 + 9, 4) == I + N * 2 + 2
    assert floor_div(I * 4 + J, 4) == I + of_atom(FloorDiv(J, 4))
    assert floor_div(I, 1) == I


def test_extrema_of_operands_that_differ_by_a_constant_are_decided():
    assert extremum("min", [I + 3, I - 1]) == I - 1
    assert extremum("max", [I + 3, I - 1]) == I + 3
    assert extremum("min", [I, extremum("min", [J, I - 2])]) == extremum("min", [I - 2, J])


def test_a_minimum_inside_a_maximum_stays_there():
    inner = extremum("min", [I, J])
    assert extremum("max", [inner, N]) == Affine(0, ((Extremum("max", tuple(sorted([inner, N], key=str))), 1),))


def test_conditions_print_without_negative_terms():
    assert str(Compare(">=", N - I - 1)) == "N >= i + 1"
    assert str(Compare("==", I - J * 2)) == "i == 2*j"
    assert (str(TRUE), str(Logic("or", ()))) == ("True", "False")
