"""Each rule of the algebra is proved by sympy on arrays of symbols, and tried on numbers, integers that wrap, NaN and infinities."""

import itertools
import random
import re
from fractions import Fraction

import numpy as np
import pytest
import sympy

from polyml.frontend.algebra.rules import RULES, Rule, parsed

FUNCTIONS = {
    "sum": np.sum,
    "sum0": lambda a: np.sum(a, axis=0),
    "sum1": lambda a: np.sum(a, axis=1),
    "trace": np.trace,
    "diagonal": np.diagonal,
    "outer": np.outer,
}
EACH = pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.left} = {rule.right}")
MOST = 24  # shapes of operands that one rule is proved for


def value(text, operands):
    return eval(text, {"__builtins__": {}}, {**FUNCTIONS, **operands})


def shapes(rule, sizes=(1, 2, 3)):
    """Yields {variable: shape} for operands that NumPy accepts in the left side, and the rule in its conditions."""
    names = list(rule.ranks)
    found = []
    for ranks in itertools.product(*rule.ranks.values()):
        for extents in itertools.product(sizes, repeat=sum(ranks)):
            rest = iter(extents)
            chosen = {name: tuple(itertools.islice(rest, rank)) for name, rank in zip(names, ranks)}
            try:
                value(rule.left, {name: np.ones(shape) for name, shape in chosen.items()})
            except ValueError:
                continue
            if rule.square and chosen[rule.square[0]][0] != chosen[rule.square[1]][1]:
                continue  # a call that runs as plain Python
            found.append(chosen)
    random.Random(rule.left).shuffle(found)
    return found[:MOST]


def symbols(name, shape):
    made = np.empty(shape, dtype=object)
    for index in np.ndindex(shape):
        made[index] = sympy.Symbol(f"{name}_{'_'.join(map(str, index))}")
    return made if shape else made.item()


def is_proved(rule):
    """Whether both sides are the same polynomial (or quotient) of the elements, for every shape of the operands."""
    for chosen in shapes(rule):
        operands = {name: symbols(name, shape) for name, shape in chosen.items()}
        left, right = np.asarray(value(rule.left, operands)), np.asarray(value(rule.right, operands))
        if left.shape != right.shape:
            return False
        if any(sympy.expand(a - b) != 0 for a, b in zip(left.flat, right.flat)):
            return False
    return True


@EACH
def test_both_sides_of_a_rule_are_equal_for_all_values(rule):
    assert len(shapes(rule)) > 1
    assert is_proved(rule)


@pytest.mark.parametrize(
    "wrong",
    [
        Rule("", "(a @ b).T", "a.T @ b.T", {"a": (2,), "b": (2,)}),
        Rule("", "sum(a @ b)", "sum(a) * sum(b)", {"a": (2,), "b": (2,)}),
        Rule("", "trace(a @ b)", "sum(a * b)", {"a": (2,), "b": (2,)}, square=("a", "b")),
        Rule("", "a @ b - a @ c", "a @ (c - b)", {"a": (2,), "b": (1,), "c": (1,)}),
        Rule("", "sum0(a / s)", "sum0(a) * s", {"s": (0,), "a": (2,)}),
    ],
    ids=lambda rule: rule.right,
)
def test_a_wrong_rule_is_not_proved(wrong):
    try:
        assert not is_proved(wrong)
    except ValueError:
        pass  # its right side is not even possible


def floats(chosen, rng):
    return {name: rng.standard_normal(shape) if shape else float(rng.standard_normal()) for name, shape in chosen.items()}


def exact(array):
    made = np.empty(np.shape(array), dtype=object)
    for index in np.ndindex(made.shape):
        made[index] = Fraction(float(np.asarray(array)[index]))
    return made if made.ndim else made.item()


@EACH
def test_both_sides_of_a_rule_are_within_the_bound_of_the_left_one(rule):
    """|right| <= |left|, with absolute values of all elements and sums in the place of differences; and so is the error."""
    rng = np.random.default_rng(3)
    for chosen in shapes(rule, (1, 2, 7)):
        given = floats(chosen, rng)
        true = np.asarray(value(rule.left, {name: exact(each) for name, each in given.items()}))
        sizes = {name: np.abs(each) for name, each in given.items()}
        bounds = [np.asarray(value(re.sub("-(?! )", "", side).replace("-", "+"), sizes)) for side in (rule.left, rule.right)]
        assert (bounds[1] <= bounds[0] * (1 + 1e-12)).all()
        wrong = np.abs(np.asarray(exact(value(rule.right, given)) - true, dtype=float))
        assert (wrong <= 200 * np.finfo(float).eps * bounds[0]).all()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.integers], ids=lambda rule: f"{rule.left} = {rule.right}")
def test_a_rule_for_integers_holds_for_those_that_wrap(rule):
    rng = np.random.default_rng(4)
    for chosen in shapes(rule):
        given = {name: rng.integers(-(2**62), 2**62, shape) for name, shape in chosen.items()}
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(value(rule.left, given), value(rule.right, given))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.bits], ids=lambda rule: f"{rule.left} = {rule.right}")
def test_a_rule_that_keeps_bits_does(rule):
    """Sums of Python's objects are added up one after another, as under fp="strict"."""
    rng = np.random.default_rng(5)
    for chosen in shapes(rule, (1, 5, 9)):
        given = {name: np.asarray(each).astype(object) for name, each in floats(chosen, rng).items()}
        left, right = (np.asarray(value(side, given)).astype(float) for side in (rule.left, rule.right))
        assert left.tobytes() == right.tobytes()


@EACH
@pytest.mark.parametrize("planted", [np.nan, np.inf, -np.inf])
def test_the_same_elements_are_finite_on_both_sides(rule, planted):
    rng = np.random.default_rng(6)
    for chosen in shapes(rule):
        for name, shape in chosen.items():
            given = {key: rng.integers(-1, 2, each).astype(float) for key, each in chosen.items()}
            given = {key: each if each.ndim else each + 2.0 for key, each in given.items()}  # a divisor that is not zero
            given[name] = np.where(rng.random(shape) < 0.4, planted, given[name])
            if rule.integers is False and name == "s":
                continue  # x / inf is zero: see the next test
            with np.errstate(all="ignore"):
                left, right = (np.asarray(value(side, given)) for side in (rule.left, rule.right))
            np.testing.assert_array_equal(np.isfinite(left), np.isfinite(right), err_msg=f"{given}")
            if np.isnan(planted):
                np.testing.assert_array_equal(np.isnan(left), np.isnan(right))


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.integers], ids=lambda rule: f"{rule.left} = {rule.right}")
@pytest.mark.parametrize("divisor", [np.inf, np.nan, 1e300])
def test_a_divisor_that_is_not_finite_gives_the_same_on_both_sides(rule, divisor):
    rng = np.random.default_rng(7)
    for chosen in shapes(rule):
        given = {**floats(chosen, rng), "s": divisor}
        np.testing.assert_allclose(value(rule.left, given), value(rule.right, given), rtol=1e-12)


def test_rules_read_as_numpy():
    assert parsed("a @ b.T").args[1].op == "T"
    with pytest.raises(ValueError):
        parsed("a // b")
