"""Selects on affine conditions become statements of their own over disjoint domains.

        B[i] = A[i - 1] if i > 0 else 0.0   ->   i > 0: B[i] = A[i - 1];   i <= 0: B[i] = 0.0

So nothing is read outside the condition that guards it.
"""

from __future__ import annotations

from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax
from polyml.model.core.nest import QUOTIENTS_AROUND, Integer, Truth, Value, children, subvalues, with_children
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Compare, Condition
from polyml.quasi_affine.complexity import quotients

_PIECES_LIMIT = 16  # beyond it, or beyond QUOTIENTS_AROUND, a condition becomes part of the value


def split(value: Value, *, evaluated: bool = False) -> list[tuple[Condition, Value]]:
    """Returns a value as pairs (affine condition, value where it holds); these values select on data alone.

    The conditions are disjoint and cover everything.

    evaluated: whether operands of `and` and `or` before the one that decides the result are kept, because Python evaluates them.
        Where i != 0, `B[i + 1] and i == 0` is then `B[i + 1] and False`; otherwise it is just False.
    """
    done: list[tuple[Condition, Value]] = []
    waiting: list[tuple[Condition, Value]] = [(af.TRUE, value)]
    while waiting:
        formula, here = waiting.pop()
        test = _first_affine_test(here) if len(done) + len(waiting) < _PIECES_LIMIT else None
        if test is None or quotients(formula, test) > QUOTIENTS_AROUND:
            done.append((formula, here))
            continue
        waiting.append((af.conjunction(formula, af.negate(test)), _decided(here, test, False, evaluated)))
        waiting.append((af.conjunction(formula, test), _decided(here, test, True, evaluated)))
    return done


def explicit(formula: Condition, dtype: DType) -> Value:
    """Returns an affine condition as a value of comparisons between integers, of type `dtype`."""
    if isinstance(formula, Compare):
        here, zero = Integer(formula.expr, dtype=PYINT), syntax.Const(0, dtype=PYINT)
        return syntax.Compare(formula.op, here, zero, dtype=dtype)
    if not formula.parts:
        return syntax.Const(formula == af.TRUE, dtype=dtype)
    return syntax.Logical(formula.op, tuple(explicit(part, dtype) for part in formula.parts), dtype=dtype)


def _first_affine_test(value: Value) -> Condition | None:
    """Returns the first affine condition in a select's condition or in an `and` or `or` of the value; None where there is none."""
    for part in subvalues(value):
        if isinstance(part, syntax.IfExp):
            found = _affine_part(part.condition)
        elif isinstance(part, syntax.Logical):
            found = _affine_part(part)
        else:
            found = None
        if found is not None:
            return found
    return None


def _affine_part(condition: Value) -> Condition | None:
    """Returns the first affine condition inside a condition, other than constant True and False; None where there is none."""
    if isinstance(condition, Truth):
        return condition.formula if _known(condition) is None else None
    if isinstance(condition, syntax.Unary) and condition.op == "not":
        return _affine_part(condition.operand)
    if isinstance(condition, syntax.Logical):
        return next((f for f in map(_affine_part, condition.operands) if f is not None), None)
    return None


def _decided(value: Value, test: Condition, holds: bool, evaluated: bool) -> Value:
    """Returns the value simplified for the case that the condition `test` is true, or false where `holds` is False.

    evaluated: whether operands of `and` and `or` before the one that decides the result are kept, because Python evaluates them;
        otherwise such an `and` or `or` is just a constant
    """
    seen: dict[int, Value] = {}

    def visit(v: Value) -> Value:
        done = seen.get(id(v))
        if done is None:
            done = seen[id(v)] = _folded(v, tuple(visit(c) for c in children(v)))
        return done

    def _folded(v: Value, operands: tuple[Value, ...]) -> Value:
        if isinstance(v, Truth) and v.formula == test:
            return Truth(af.TRUE if holds else af.FALSE, dtype=v.dtype)
        if isinstance(v, syntax.IfExp) and (known := _known(operands[0])) is not None:
            return operands[1] if known else operands[2]
        if isinstance(v, syntax.Unary) and v.op == "not" and (known := _known(operands[0])) is not None:
            return Truth(af.FALSE if known else af.TRUE, dtype=v.dtype)
        if isinstance(v, syntax.Logical):
            return _logical(v, operands, evaluated)
        return with_children(v, operands) if operands else v

    return visit(value)


def _logical(value: syntax.Logical, operands: tuple[Value, ...], evaluated: bool) -> Value:
    """Returns an `and` or `or` of simplified operands, with constant operands left out.

    Where a constant operand decides the result (False in an `and`, True in an `or`), returns that constant.

    evaluated: whether non-constant operands before the deciding one are kept in front of the constant, because Python evaluates
        them
    """
    ends = value.op == "or"  # the operand value that decides the whole
    last = next((position for position, operand in enumerate(operands) if _known(operand) == ends), None)
    if last is not None:
        decided = Truth(af.TRUE if ends else af.FALSE, dtype=value.dtype)
        before = tuple(operand for operand in operands[:last] if _known(operand) is None) if evaluated else ()
        return with_children(value, (*before, decided)) if before else decided
    kept = tuple(operand for operand in operands if _known(operand) is None)
    if not kept:
        return Truth(af.FALSE if ends else af.TRUE, dtype=value.dtype)
    return kept[0] if len(kept) == 1 else with_children(value, kept)


def _known(value: Value) -> bool | None:
    """Returns True or False for a condition that is the constant True or False, else None."""
    if isinstance(value, Truth) and value.formula in (af.TRUE, af.FALSE):
        return value.formula == af.TRUE
    return None
