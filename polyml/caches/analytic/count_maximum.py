"""The maximum of a count over a set of parameters, and where it is."""

from __future__ import annotations

from math import lcm

import islpy as isl

from polyml import polyhedra
from polyml.model.counting.cardinality import CannotCount, Count
from polyml.model.counting.quasi_polynomial import Poly

MOST_ITERATIONS = 4096  # values of one parameter that are tried one by one
MOST_SLICES = 64  # values of one parameter for each of which those of another are tried


def argmax(counted: Count, iterations: isl.Set) -> tuple[int, dict[str, int]]:
    """Returns (value, {parameter: its value}): the largest value that a count takes over a nonempty set of parameter values, and a
    point of the set at which it takes it.

    iterations: the set, { : constraints on parameters }.

    Raises CannotCount where too many values of the parameters would have to be tried.
    """
    found = [_argmax(region, value) for region, value in counted.disjoint_cases(iterations)]
    return max(found, key=lambda each: each[0])


def _argmax(region: isl.Set, value: Poly) -> tuple[int, dict[str, int]]:
    """Returns (value, {parameter: its value}): the largest value that a polynomial takes over a set of parameter values, and a
    point of the set at which it takes it.

    region: the set, { : constraints on parameters }.

    Raises CannotCount where too many values would have to be tried.
    """
    value = value.substitute({name: Poly.number(n) for name, n in polyhedra.fixed_parameters(region).items()})
    if value.is_number:
        return int(value.constant), polyhedra.some_parameters(region)
    factor = lcm(*(c.denominator for _, c in value.terms))
    linear = value.scaled(factor).as_linear()
    if linear is not None:
        text = " + ".join([*(f"{c}*{atom}" for atom, c in linear[0].items()), str(linear[1])])
        most, where = polyhedra.argmax(region, text)
        return most // factor, where
    ranges = {name: polyhedra.parameter_range(region, name) for name in value.names}
    name = min(sorted(ranges), key=lambda n: ranges[n][1] - ranges[n][0])
    low, high = ranges[name]
    if high - low >= MOST_ITERATIONS:
        raise CannotCount("the greatest value is not at an end")
    tried = range(low, high + 1)
    if len(ranges) == 1:
        evaluate = Count(((polyhedra.on_parameters(region, [name]), value),)).compiled
        number = max(tried, key=lambda n: evaluate({name: n}))
        return evaluate({name: number}), polyhedra.some_parameters(polyhedra.with_condition(region, f"{name} = {number}"))
    if len(tried) > MOST_SLICES:
        raise CannotCount("the greatest value is not at an end")
    slices = (polyhedra.with_condition(region, f"{name} = {number}") for number in tried)
    return max((_argmax(each, value) for each in slices if not each.is_empty()), key=lambda each: each[0])
