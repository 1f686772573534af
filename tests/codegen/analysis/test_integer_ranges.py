"""The intervals of a program's integers contain every value that they take."""

import random
from types import SimpleNamespace

import pytest

from polyml.codegen.analysis.integer_ranges import LeavesRange, Ranges
from polyml.codegen.ir.program import Loop
from polyml.model.core.call_interface import Parameter
from polyml.quasi_affine.affine import Affine, Compare, choice, conjunction, disjunction, extremum, floor_div, variable


def ranges(**limits):
    parameters = tuple(Parameter(name) for name in limits)
    scop = SimpleNamespace(parameters=parameters, limits=limits)
    return Ranges(SimpleNamespace(scop=scop, phases={}, thread="thread", threads="threads"))


def expression(rng, names, depth=3):
    if depth == 0 or rng.random() < 0.2:
        return variable(rng.choice(names)) * rng.randint(-3, 3) + rng.randint(-5, 5)
    a, b = (expression(rng, names, depth - 1) for _ in range(2))
    forms = (
        a + b,
        a - b * 2,
        floor_div(a, rng.randint(1, 7)),
        extremum("min", [a, b]),
        extremum("max", [a, b]),
        choice(Compare(">=", a), a, b),
    )
    return rng.choice(forms)


@pytest.mark.parametrize("seed", range(20))
def test_no_value_is_outside(seed):
    rng = random.Random(seed)
    known = ranges(n=9, m=4)
    lower, upper = (expression(rng, ["n", "m"], 1) for _ in range(2))
    known.enter(Loop("i", (lower, Affine(-6)), (upper, variable("n") + 3), 2, ()))
    for _ in range(20):
        e = expression(rng, ["n", "m", "i"])
        least, most = known.of(e)
        for _ in range(30):
            values = {"n": rng.randint(-9, 9), "m": rng.randint(-4, 4)}
            first, last = max(lower.evaluate(values), -6), min(upper.evaluate(values), values["n"] + 3)
            for i in range(first, last + 1, 2):
                assert least <= e.evaluate(values | {"i": i}) <= most


@pytest.mark.parametrize("seed", range(20))
def test_behind_a_test_at_entry_ranges_have_what_passes(seed):
    rng = random.Random(seed)
    known = ranges(n=9, m=4)
    one = [Compare(">=", variable(rng.choice("nm")) * rng.choice((1, -1, 2)) + rng.randint(-6, 2)) for _ in range(3)]
    failing = disjunction(one[0], disjunction(one[1], conjunction(one[2], Compare(">=", variable("n") + variable("m")))))
    known.exclude(failing)
    passing = [{"n": n, "m": m} for n in range(-9, 10) for m in range(-4, 5) if not failing.evaluate({"n": n, "m": m})]
    for values in passing:
        for name, value in values.items():
            least, most = known.of(variable(name))
            assert least <= value <= most


def test_behind_the_test_for_the_sizes_of_a_call_these_are_known():
    known = ranges(n=2**40, m=2**40)
    known.exclude(disjunction(Compare(">=", variable("n") - 1025), Compare(">=", -variable("n") + 512)))
    assert known.of(variable("n")) == (513, 1024)
    assert known.corners(["n", "m"]) == ({"n": 513, "m": -(2**40)}, {"n": 1024, "m": 2**40})


def test_the_last_iteration_of_an_empty_chunk_is_before_the_first():
    known = ranges(n=2**40)
    known.exclude(Compare(">=", -variable("n") + 512))
    known.enter(Loop("i", (Affine(0),), (variable("n") - 1,), 1, (), last="last"))
    assert known.of(variable("last"))[0] == -1


def test_what_may_leave_64_bits_is_found():
    known = ranges(n=2**40)
    known.check(variable("n") * 2**21)
    with pytest.raises(LeavesRange):
        known.check(variable("n") * 2**24)
    known.check(floor_div(variable("n") * 2**21, 2**20) * 2**20)
    known.enter(Loop("i", (Affine(0),), (variable("n") * 2**20,), 1, ()))
    with pytest.raises(LeavesRange):
        known.check(variable("i") * 8)
    with pytest.raises(LeavesRange):
        known.enter(Loop("j", (Affine(0),), (variable("n") * 2**22,), 1, ()))
