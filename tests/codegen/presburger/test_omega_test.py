"""Systems of integers: what is said of them holds for every point, and is all there is where it is called exact."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.codegen.presburger.omega_test import System, at_least, equal, is_empty, shadow

NAMES = ("x", "y", "z")
REACH = 4  # of each name


def row():
    terms = st.dictionaries(st.sampled_from(NAMES), st.integers(-3, 3).filter(bool), max_size=3)
    return st.tuples(terms, st.integers(-6, 6))


@st.composite
def systems(draw):
    bounds = tuple(r for name in NAMES for r in (({name: 1}, REACH), ({name: -1}, REACH)))
    return System(tuple(draw(st.lists(row(), max_size=2))), (*draw(st.lists(row(), max_size=5)), *bounds))


def points(system, reach=REACH):
    return {
        point
        for point in product(range(-reach, reach + 1), repeat=len(NAMES))
        if all(value(r, point) == 0 for r in system.equal) and all(value(r, point) >= 0 for r in system.least)
    }


def value(row, point):
    terms, constant = row
    return constant + sum(c * point[NAMES.index(name)] for name, c in terms.items())


@settings(max_examples=500, deadline=None)
@given(systems())
def test_a_system_is_called_empty_when_it_has_no_points_and_only_then(system):
    found = is_empty(system)
    if found is not None:
        assert found == (not points(system))


@settings(max_examples=500, deadline=None)
@given(systems(), st.sets(st.sampled_from(NAMES)))
def test_a_shadow_has_what_the_kept_names_may_be_and_no_more_where_it_is_exact(system, kept):
    found = shadow(system, frozenset(kept))
    if found is None:
        return
    places = [NAMES.index(name) for name in sorted(kept)]
    expected = {tuple(point[k] for k in places) for point in points(system)}
    if found.system is None:
        assert not expected
        return
    assert all(kept.issuperset(terms) for terms, _ in (*found.system.equal, *found.system.least))
    shown = {tuple(point[k] for k in places) for point in points(found.system, REACH + 2)}
    assert shown == expected if found.is_exact else shown >= expected


def test_what_tiles_of_different_numbers_have_in_common_is_decided():
    first, second = ({"t": 32, "i": 1}, 0), ({"u": 32, "j": 1}, 0)
    inside = System(least=tuple(r for name in "ij" for r in (({name: 1}, 0), ({name: -1}, 31))))
    same = System(equal=(({**first[0], **{n: -c for n, c in second[0].items()}}, 0),))
    assert is_empty(inside & same) is False
    assert is_empty(inside & same & at_least({"t": 1, "u": -1}, -1)) is True
    assert is_empty(inside & equal({"i": 2}, -7)) is True
