"""Turns linear expressions (rows) of parameters and loop names into expressions of the Program's variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, lcm

from polyml.codegen.astgen.context import LoopContext
from polyml.codegen.presburger.constraint_rows import LoopName, Maximum, NotSimple
from polyml.codegen.presburger.omega_test import Name, Row
from polyml.polyhedra import Quotient
from polyml.quasi_affine.affine import Affine, Compare, Condition, conjunction, extremum, floor_div, linear, variable


def rounded_quotient(row: Row, divisor: int, here: LoopContext) -> Affine:
    """Returns floor(row / divisor) of a linear expression `row` as an expression of the program's variables. Raises NotSimple if
    the row has iterators, or quotients that are not computed.
    """
    total, factor = _multiple(row, here)
    return floor_div(total, factor * divisor)


def all_non_negative(rows: Iterable[Row], here: LoopContext) -> Condition:
    """Returns the condition that all of the linear expressions are at least 0; two opposite ones become an equation."""
    found: dict[Affine, str] = {}
    for row in rows:
        expr, _ = _multiple(row, here)
        if -expr in found:
            del found[-expr]
            found[expr] = "=="
        else:
            found[expr] = ">="
    return conjunction(*sorted((Compare(op, expr) for expr, op in found.items()), key=str))


def _multiple(row: Row, here: LoopContext) -> tuple[Affine, int]:
    """Returns (m * row, m) for a linear expression `row`, the product in the program's variables, where the positive integer m
    makes divisions unnecessary. Raises NotSimple if the row has iterators, or quotients that are not computed.
    """
    parts: list[tuple[Affine, int, int]] = []  # a value, by what it is multiplied, and by what it is divided
    for name, c in row[0].items():
        if isinstance(name, str):
            parts.append((variable(name), c, 1))
        elif isinstance(name, Maximum):
            parts.append((extremum("max", [_multiple(operand, here)[0] for operand in name.rows]), c, 1))
        elif isinstance(name, tuple):
            value, by = here.values[name[1]]
            parts.append((value, c // gcd(c, by), by // gcd(c, by)))
        elif isinstance(name, Quotient) and name in here.quotients:
            parts.append((here.quotients[name], c, 1))
        else:
            raise NotSimple
    common = lcm(*(by for _, _, by in parts))
    total = linear([(a, c * (common // by) * k) for value, c, by in parts for a, k in value.terms], 0)
    total += common * row[1] + sum(c * (common // by) * value.constant for value, c, by in parts)
    return total, common


def loop_bound(row: Row, name: LoopName, step: int, here: LoopContext) -> Affine:
    """Returns the bound on (the variable of a loop - the loop's offset) that follows from the linear expression `row` being at
    least 0.

    name: the name in `row` that stands for the number of an iteration.
    step: the distance between two values of the variable; value number n is step * n + offset.
    """
    factor = row[0][name]
    sign = -1 if factor > 0 else 1
    rest, constant = {n: sign * c for n, c in row[0].items() if n != name}, sign * row[1]
    if factor > 1:
        return rounded_quotient((rest, constant + factor - 1), factor, here) * step
    if step % -factor:
        return rounded_quotient((rest, constant), -factor, here) * step
    scale = step // abs(factor)
    last = step - 1 if factor == -1 else 0  # a multiple of the step that is no greater than one is less than the next one
    return rounded_quotient(_scaled(rest, scale, scale * constant + last), 1, here)


def _scaled(terms: Mapping[Name, int], factor: int, constant: int) -> Row:
    """Returns the linear expression factor * terms + constant."""
    return {n: factor * c for n, c in terms.items()}, constant
