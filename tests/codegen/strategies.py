"""Random integer expressions and conditions over a few names."""

from hypothesis import strategies as st

from polyml.quasi_affine.affine import Affine, Compare, Logic, choice, extremum, floor_div, variable

NAMES = ("i", "j", "N")
SMALL = st.integers(-9, 9)


def _linear(parts):
    total = Affine(parts[0])
    for e, factor in parts[1]:
        total = total + e * factor
    return total


def conditions(expressions):
    compare = st.builds(Compare, st.sampled_from((">=", "==")), expressions)
    parts = st.lists(compare, max_size=3).map(tuple)
    return compare | st.builds(Logic, st.sampled_from(("and", "or")), parts)


def _deeper(inner):
    return st.one_of(
        st.tuples(SMALL, st.lists(st.tuples(inner, SMALL), max_size=3)).map(_linear),
        st.builds(floor_div, inner, st.integers(1, 7)),
        st.builds(extremum, st.sampled_from(("min", "max")), st.lists(inner, min_size=1, max_size=3)),
        st.builds(choice, conditions(inner), inner, inner),
    )


EXPRESSIONS = st.recursive(st.sampled_from(NAMES).map(variable) | SMALL.map(Affine), _deeper, max_leaves=8)
CONDITIONS = conditions(EXPRESSIONS)
VALUES = st.fixed_dictionaries({name: st.integers(-20, 20) for name in NAMES})
SUBSTITUTIONS = st.dictionaries(st.sampled_from(NAMES), EXPRESSIONS, max_size=3)
