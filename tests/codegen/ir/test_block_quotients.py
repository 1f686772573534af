"""Quotients of variables inside a tile become those of the tile's variable, and no iteration changes."""

from dataclasses import replace
from itertools import product

import pytest

from polyml.codegen.ir.block_quotients import divisor_of, rounded, straight
from polyml.codegen.ir.program import Instance, Loop
from polyml.quasi_affine.affine import Affine, extremum, floor_div, variable

N, T, I, J = (variable(name) for name in ("N", "t", "i", "j"))


def number(value):
    return Affine(value, ())


def nest(first, step, length, divisor, offset=0, least=0):
    """for t from `first` by `step`: for i in t .. t + length - 1, from `least` on: for j up to a quotient of i + offset."""
    inner = Loop("j", (number(0),), (floor_div(I + offset, divisor) * divisor + (divisor - 1), N), 1, (Instance("S", (T, I, J)),))
    middle = Loop("i", (extremum("max", [T, number(least)]),), (extremum("min", [T + (length - 1), N]),), 1, (inner,))
    return Loop("t", (number(first),), (N,), step, (middle,), role="tile")


def iterations(loop, known):
    lower, upper = max(e.evaluate(known) for e in loop.lower), min(e.evaluate(known) for e in loop.upper)
    for value in range(lower, upper + 1, loop.step):
        for node in loop.body:
            if isinstance(node, Instance):
                yield tuple(e.evaluate({**known, loop.var: value}) for e in node.point)
            else:
                yield from iterations(node, {**known, loop.var: value})


def bound_of(loop):
    return loop.body[0].body[0].upper[0]


@pytest.mark.parametrize(("first", "step", "length", "divisor", "offset"), [(0, 8, 8, 64, 0), (16, 8, 8, 16, 8), (0, 4, 4, 4, -4)])
def test_a_quotient_that_is_the_same_in_a_tile_is_the_tiles(first, step, length, divisor, offset):
    given = nest(first, step, length, divisor, offset, least=3)
    [made] = straight([given])
    assert "i" in bound_of(given).names and "i" not in bound_of(made).names
    for n in (0, 3, 40, 70):
        assert list(iterations(made, {"N": n})) == list(iterations(given, {"N": n}))


@pytest.mark.parametrize(
    ("first", "step", "length", "divisor", "offset"),
    [(1, 8, 8, 64, 0), (0, 8, 8, 12, 0), (0, 8, 8, 64, 1), (0, 4, 8, 64, 0), (0, 12, 8, 64, 0)],
)
def test_one_that_may_change_in_a_tile_is_kept(first, step, length, divisor, offset):
    given = nest(first, step, length, divisor, offset)
    assert straight([given]) == (given,)


def test_iterations_stay_for_all_small_tiles():
    for first, step, length, divisor, offset in product((0, 2, 3), (2, 4, 6), (2, 3, 4), (2, 4, 6), (-2, 0, 1)):
        given = nest(first, step, length, divisor, offset)
        [made] = straight([given])
        assert list(iterations(made, {"N": 13})) == list(iterations(given, {"N": 13}))


@pytest.mark.parametrize("step, shift", [*product((1, 4, 6, 8), (0, 1, 3, 7, 9, -1, -5))])
@pytest.mark.parametrize("divisor, factor", [*product((2, 4, 8, 12, 512), (1, 2, 3))])
def test_a_quotient_keeps_its_value_where_its_constant_is_rounded_down(step, shift, divisor, factor):
    e = floor_div(variable("t") * factor + shift, divisor) * 3 - variable("t")
    made = rounded(e, {"t": step})
    for t in range(-5 * step, 70 * step, step):
        assert made.evaluate({"t": t}) == e.evaluate({"t": t})


def test_quotients_of_a_tile_become_one():
    quotients = {rounded(floor_div(variable("t") + r, 512), {"t": 8}) for r in range(8)}
    assert quotients == {floor_div(variable("t"), 512)}
    assert len({rounded(floor_div(variable("t") + r, 512), {"t": 4}) for r in range(8)}) == 2
    inner = floor_div(floor_div(variable("t") + 5, 4), 16)
    assert rounded(inner, {"t": 8}).evaluate({"t": 56}) == inner.evaluate({"t": 56})


def test_what_divides_a_loop_s_variable_divides_each_value_of_it():
    outer = Loop("t", (Affine(16),), (Affine(99),), 16, ())
    inner = Loop("i", (variable("t") * 3 + 8,), (variable("t") * 3 + 40,), 4, ())
    multiples = {"t": divisor_of(outer, {})}
    assert multiples == {"t": 16} and divisor_of(inner, multiples) == 4
    assert divisor_of(replace(inner, last="end"), multiples) == 1  # a chunk may begin anywhere
    assert divisor_of(replace(inner, lower=(variable("n"),)), multiples) == 1
    assert divisor_of(replace(inner, lower=(Affine(8), variable("n"))), multiples) == 1
