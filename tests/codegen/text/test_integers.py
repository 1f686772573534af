"""Integer expressions and conditions are read as they were written, canonical or not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.codegen.text.integers import IntegerReader, condition_text, text
from polyml.errors import TextError
from polyml.quasi_affine.affine import Affine, Choice, Compare, Extremum, FloorDiv, Logic, linear, variable
from polyml.reading.text_scanner import Lines
from tests.texts import differences


def reader(written, names=None):
    return IntegerReader(Lines(written, "t").next("an expression"), names)


NAMES = st.sampled_from(["i", "N", "c0", "min", "all"])
NUMBERS = st.integers(-20, 20)


def lins(atoms):
    """Sums in any order of terms, with coefficients that may be zero."""
    return st.builds(
        lambda terms, constant: Affine(constant, tuple(terms)), st.lists(st.tuples(atoms, NUMBERS), max_size=3), NUMBERS
    )


def conditions(numbers):
    compared = st.builds(Compare, st.sampled_from([">=", "=="]), numbers)
    canonical = compared.map(lambda c: Compare(c.op, linear(c.expr.terms, c.expr.constant)))
    return st.recursive(
        compared | canonical,
        lambda inner: st.builds(
            lambda op, parts: Logic(op, tuple(parts)), st.sampled_from(["and", "or"]), st.lists(inner, max_size=3)
        ),
        max_leaves=4,
    )


def atoms(inner):
    numbers = lins(inner)
    return st.one_of(
        st.builds(FloorDiv, numbers, st.integers(1, 40)),
        st.builds(lambda op, parts: Extremum(op, tuple(parts)), st.sampled_from(["min", "max"]), st.lists(numbers, min_size=1, max_size=3)),
        st.builds(Choice, conditions(numbers), numbers, numbers),
    )  # fmt: skip


ANY = lins(st.recursive(NAMES, atoms, max_leaves=6))


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_expressions_are_read_as_they_were_written(value):
    assert differences(reader(text(value)).lin(), value) == []


@settings(max_examples=300, deadline=None)
@given(conditions(ANY))
def test_conditions_are_read_as_they_were_written(value):
    assert differences(reader(condition_text(value)).condition(), value) == []


def test_comparisons_are_written_as_people_write_them():
    assert condition_text(Compare(">=", variable("N") - variable("i") - 1)) == "N >= i + 1"
    assert condition_text(Compare(">=", variable("N") - variable("i"))) == "N >= i"
    assert condition_text(Compare(">=", Affine(0, (("N", 1), ("N", -1))))) == "N - N >= 0"


@pytest.mark.parametrize(
    ("written", "message", "note"),
    [
        ("i + j", "there is no `j` here", "names that there are: i"),
        ("((i) // 0)", "`0` cannot stand here", "expected a divisor that is positive"),
        ("2*", "the line ends too early", "expected an integer, a name, `min`, `max` or `(`"),
        ("(i if i >= 2)", "`)` cannot stand here", "expected `else`"),
        ("min(" * 59 + "i" + ")" * 59 + "(", None, None),
    ],
)
def test_what_is_no_expression_is_refused(written, message, note):
    if message is None:
        assert reader(written, {"i"}).lin()
        return
    with pytest.raises(TextError) as problem:
        reader(written, {"i"}).lin()
    assert (problem.value.message, problem.value.notes) == (message, (note,))
