"""Converts quasi-affine expressions and conditions to isl's functions and sets of a frame's iterators."""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polyml.polyhedra import Frame
from polyml.quasi_affine.affine import Affine, Choice, Compare, Condition, Extremum, FloorDiv


def to_pw_aff(value: Affine, frame: Frame) -> isl.PwAff:
    """Returns an expression as isl's function of the frame's iterators, { [iterators] -> [(value)] }."""
    one = to_aff(value, frame)
    if one is not None:
        return one.to_pw_aff()
    result = frame.aff(value.constant, _linear_terms(value)).to_pw_aff()
    for atom, coefficient in value.terms:
        if not isinstance(atom, str):
            result = result.add(_atom_pw_aff(atom, frame).scale_val(isl.Val(coefficient)))
    return result


def to_aff(value: Affine, frame: Frame) -> isl.Aff | None:
    """Returns an expression as one isl.Aff, { [iterators] -> [(value)] }; None where it has a minimum, a maximum or a Choice."""
    named = _linear_terms(value)
    result = frame.aff(value.constant, named)
    if len(named) == len(value.terms):
        return result
    for atom, coefficient in value.terms:
        if isinstance(atom, str):
            continue
        if not isinstance(atom, FloorDiv):
            return None
        inner = to_aff(atom.operand, frame)
        if inner is None:
            return None
        result = result.add(inner.scale_down_val(isl.Val(atom.divisor)).floor().scale_val(isl.Val(coefficient)))
    return result


def _linear_terms(value: Affine) -> list[tuple[str, int]]:
    """Returns (name, coefficient) of each term that is a name times a number; terms of any other kind are left out."""
    return [(atom, coefficient) for atom, coefficient in value.terms if isinstance(atom, str)]


def _atom_pw_aff(atom: FloorDiv | Extremum | Choice, frame: Frame) -> isl.PwAff:
    """Returns a quotient, a minimum or maximum, or a Choice as a function of the frame's iterators, { [iterators] -> [(atom)] }."""
    if isinstance(atom, FloorDiv):
        return to_pw_aff(atom.operand, frame).scale_down_val(isl.Val(atom.divisor)).floor()
    if isinstance(atom, Extremum):
        return reduce(isl.PwAff.min if atom.op == "min" else isl.PwAff.max, (to_pw_aff(e, frame) for e in atom.operands))
    inside = to_set(atom.condition, frame)
    then = to_pw_aff(atom.then, frame).intersect_domain(inside)
    return then.union_add(to_pw_aff(atom.orelse, frame).intersect_domain(inside.complement()))


def to_set(condition: Condition, frame: Frame) -> isl.Set:
    """Returns the set of the frame's points at which the condition holds, { [iterators] : condition }."""
    if isinstance(condition, Compare):
        return _compare_set(condition, frame)
    parts = (to_set(part, frame) for part in dict.fromkeys(condition.parts))
    if condition.op == "and":
        return reduce(isl.Set.intersect, parts, frame.universe())
    return reduce(isl.Set.union, parts, isl.Set.empty(frame.space))


def _compare_set(condition: Compare, frame: Frame) -> isl.Set:
    """Returns the set of the frame's points at which the comparison holds."""
    one = to_aff(condition.expr, frame)
    if one is not None:
        basic = one.zero_basic_set() if condition.op == "==" else one.ge_basic_set(frame.aff(0))
        return isl.Set.from_basic_set(basic)
    value = to_pw_aff(condition.expr, frame)
    return value.zero_set() if condition.op == "==" else value.nonneg_set()
