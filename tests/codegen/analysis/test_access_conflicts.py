"""Which iterations access the same element: compared with enumeration for small sizes."""

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml.codegen.analysis.access_conflicts import Differences, RangedAccess, jam_range
from polyml.codegen.ir.program import Guard, Instance, Jam, Loop, Unroll
from polyml.codegen.presburger.loop_facts import NotAffine, isl_text
from polyml.codegen.presburger.omega_test import System
from polyml.quasi_affine.affine import Affine, Compare, choice, extremum, floor_div, variable
from tests.codegen.nests import SIZES, N, Text, accesses, environments, loop_bounds, meetings, sample, samples, touched
from tests.codegen.strategies import EXPRESSIONS, VALUES

I, J = variable("i"), variable("j")


@given(EXPRESSIONS, VALUES)
def test_text_for_isl_has_the_value_of_the_expression(e, values):
    try:
        text = isl_text(e, {"i": "first"})
    except NotAffine:
        return
    point = isl.Set(f"{{ [first, j, N] : first = {values['i']} and j = {values['j']} and N = {values['N']} }}")
    found = isl.Set(f"{{ [first, j, N] : {text} = {e.evaluate(values)} }}")
    assert point.is_subset(found)


def test_a_choice_is_nothing_that_isl_text_states():
    picked = choice(Compare(">=", I), I, J)
    with pytest.raises(NotAffine):
        isl_text(picked + 1, {})
    assert isl_text(floor_div(I + 1, 3) * 2 + extremum("max", [I, J, N]), {}) == (
        "2*floor((1*i + 1)/3) + 1*(max(max(1*N + 0, 1*i + 0), 1*j + 0)) + 0"
    )


@settings(max_examples=80, deadline=None)
@given(samples())
def test_the_differences_of_iterations_that_meet_are_all_among_the_deltas(case):
    known = {(d.array, d.reduces): d.differences for d in case.nest.deltas()}
    for size in SIZES:
        for around in environments(case.nest.shared, {"N": size}):
            for (array, reduces), differences in differences_of_meetings(case, size, around).items():
                for difference in differences:
                    there = System(tuple(({k: 1}, -value) for k, value in enumerate(difference)))
                    assert any(each.allows(there) for each in known[array, reduces])


@settings(max_examples=80, deadline=None)
@given(samples(), st.data())
def test_small_systems_answer_as_isl_does(case, data):
    for delta in case.nest.deltas():
        for each in delta.differences:
            exact = each.exact
            if exact is None:
                continue
            numbers = range(len(case.nest.chain))
            fixed = data.draw(st.sets(st.sampled_from(numbers)))
            moved = data.draw(st.sampled_from((None, *numbers)))
            assert each.may_be(fixed, moved) == Differences(len(numbers), None, None, lambda: exact).may_be(fixed, moved)


def differences_of_meetings(case, size, around):
    """Returns { (array, whether both are a reduction's accumulator) -> the distances between iterations that access one element
    }.
    """
    differences = {}
    (found,) = touched(case, size, around)
    for a, b in meetings(found):
        if a.which > b.which:
            a, b = b, a
        group = (a.place[0], bool(a.accumulates) and a.accumulates == b.accumulates)
        differences.setdefault(group, set()).add(tuple(y - x for x, y in zip(a.iteration, b.iteration)))
    return differences


# places of an innermost loop


@st.composite
def inner_loops(draw):
    """A loop around jams, with one statement inside each: what the code generator asks `may_conflict` about."""
    path = [Loop("t", *draw(loop_bounds([])), ())]
    if draw(st.booleans()):
        path.append(Guard(Compare(">=", variable("t") - draw(st.integers(0, 1))), ()))
    loop = Loop("v", *draw(loop_bounds(["t"])), ())
    texts, jams = [], []
    for name in "ST":
        mine = []
        for k in range(draw(st.integers(0, 2))):
            base = draw(st.sampled_from((Affine(0), variable("t"), variable("t") * 2, N - 2))) + draw(st.integers(-1, 1))
            if draw(st.integers(0, 4)) == 0:
                mine.append(Unroll(f"u{name}{k}", base, draw(st.integers(1, 3)), ()))
                continue
            limit = draw(st.sampled_from((None, N - 1, variable("t") + 1)))
            mine.append(Jam(f"u{name}{k}", base, draw(st.integers(1, 2)), draw(st.sampled_from((1, 1, 2))), limit, ()))
        names = ["v", "t", *(jam.var for jam in mine)]
        iterators = tuple(f"i{n}" for n in range(len(names)))
        texts.append(Text(name, iterators, draw(accesses(iterators)), []))
        jams.append((tuple(mine), Instance(name, tuple(variable(n) for n in draw(st.permutations(names))))))
    return sample(texts, path, [loop], [instance for _, instance in jams]), jams


@settings(max_examples=150, deadline=None)
@given(inner_loops())
def test_places_that_never_meet_have_no_element_in_common(made):
    case, jams = made
    nest, scop = case.nest, case.program.scop
    (first, a), (second, b) = jams
    writes = [
        RangedAccess((scop.statements[instance.statement].write, instance), tuple(map(jam_range, inside)))
        for instance, inside in ((a, first), (b, second))
    ]
    if nest.tests.may_conflict(*writes, nest.shared, nest.chain[0]):
        return
    for size in SIZES:
        for around in environments(nest.shared, {"N": size}):
            one, other = (elements(case, instance, inside, around) for inside, instance in jams)
            assert one.isdisjoint(other)


def elements(case, instance, jams, around):
    """Every element that the instance's statement writes in the loop, inside the jams."""
    found = set()
    text = case.texts[instance.statement]
    for env in environments(case.nest.chain, around):
        for inside in jammed(jams, env):
            found.add(text.places([e.evaluate(inside) for e in instance.point], around["N"])[-1])
    return found


def jammed(jams, env):
    if not jams:
        yield env
        return
    first, *rest = jams
    base = first.base.evaluate(env)
    last = base + first.count * getattr(first, "lanes", 1) - 1
    if getattr(first, "limit", None) is not None:
        last = min(last, first.limit.evaluate(env))
    for value in range(base, last + 1):
        yield from jammed(rest, {**env, first.var: value})
