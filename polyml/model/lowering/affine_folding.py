"""Arithmetic on affine operands, folded into one affine leaf."""

from __future__ import annotations

from polyml.dtypes import BOOL, I64, PYINT, DType
from polyml.frontend import syntax
from polyml.model.core.nest import Integer, Truth, Value
from polyml.quasi_affine import affine as af
from polyml.quasi_affine.affine import Affine, Condition
from polyml.quasi_affine.complexity import atoms, depth, quotients

_EXACT = (PYINT, I64)  # the types whose arithmetic is that of the integers, given that parameters are small
_COEFFICIENT_LIMIT, _CONSTANT_LIMIT = 2**20, 2**53
_DEPTH_LIMIT = 5
QUOTIENTS, CHOICES = 6, 6  # of one expression: isl's time doubles with each, and is minutes at three times as many
CONDITIONS = 24  # of one kernel that have many quotients, so that each is stored like one on data


def is_exact(dtype: DType) -> bool:
    """Returns whether operations in the type give the exact integers as long as these are small: Python's int and int64."""
    return dtype in _EXACT


def folded(expr: syntax.Expr, operands: tuple[Value, ...]) -> Value | None:
    """Returns an operation on affine operands as an affine leaf (Integer or Truth); None where it is not affine.

    A select on an affine condition becomes one of its branches where the condition is constant; where its branches are not affine,
    it stays a select.

    operands: the values of the operation's operands
    """
    if isinstance(expr, syntax.IfExp):
        return _folded_choice(expr, operands)
    if isinstance(expr, syntax.Cast):
        return _folded_cast(expr, operands[0])
    if isinstance(expr, syntax.Logical):
        formulas = [v.formula for v in operands if isinstance(v, Truth)]
        if len(formulas) < len(operands):
            return None
        combine = af.conjunction if expr.op == "and" else af.disjunction
        return Truth(combine(*formulas), dtype=expr.dtype)
    if isinstance(expr, syntax.Unary) and expr.op == "not" and isinstance(operands[0], Truth):
        return Truth(af.negate(operands[0].formula), dtype=expr.dtype)
    integers = [v.affine for v in operands if isinstance(v, Integer)]
    if len(integers) < len(operands):
        return None
    if isinstance(expr, syntax.Compare):
        return Truth(af.compare(expr.op, *integers), dtype=expr.dtype)
    if isinstance(expr, syntax.Unary) and expr.op == "not":
        return Truth(af.zero(integers[0]), dtype=expr.dtype)
    if not is_exact(expr.dtype):
        return None
    result = _arithmetic(expr, integers)
    return Integer(result, dtype=expr.dtype) if result is not None and is_small(result) else None


def _arithmetic(expr: syntax.Expr, integers: list[Affine]) -> Affine | None:
    """Returns the result of an operation on affine integers as an affine integer; None where it is not affine.

    integers: the operands
    """
    if isinstance(expr, syntax.Unary):
        a = integers[0]
        return {"-": -a, "+": a, "~": -a - 1}[expr.op]
    if isinstance(expr, syntax.Call):
        return _affine_call(expr.function, integers)
    if not isinstance(expr, syntax.Binary):
        return None
    a, b = integers
    if expr.op in ("+", "-", "*"):
        return a + b if expr.op == "+" else a - b if expr.op == "-" else af.product(a, b)
    if expr.op in ("min", "max"):
        return af.extremum(expr.op, (a, b), as_written=True)
    if expr.op in ("//", "%") and b.is_constant and b.constant:
        return af.floor_div(a, b.constant) if expr.op == "//" else af.modulo(a, b.constant)
    if expr.op == "<<" and b.is_constant and 0 <= b.constant < 32:
        return a * (1 << b.constant)
    if expr.op == ">>" and b.is_constant and 0 <= b.constant < 32:
        return af.floor_div(a, 1 << b.constant)
    if expr.op == "**" and a.is_constant and b.is_constant and 0 <= b.constant < 64:
        return Affine(a.constant**b.constant)
    return None


def _affine_call(function: str, integers: list[Affine]) -> Affine | None:
    if function == "abs":
        return af.extremum("max", (integers[0], -integers[0]), as_written=True)
    if function in ("minimum", "fmin", "maximum", "fmax"):
        return af.extremum("min" if "min" in function else "max", integers, as_written=True)
    return None


def _folded_choice(expr: syntax.IfExp, operands: tuple[Value, ...]) -> Value | None:
    """Returns a select on an affine condition in its simplest form; None where the condition is not affine.

    It is one of the branches where the condition is constant, one affine leaf where both branches are affine (None where that leaf
    is too large for isl), and else a select whose condition is a Truth.

    operands: the values of the condition and the two branches
    """
    test, then, orelse = operands
    if isinstance(test, Integer):
        test = Truth(af.compare("!=", test.affine, Affine(0)), dtype=BOOL)
    if not isinstance(test, Truth):
        return None
    if test.formula in (af.TRUE, af.FALSE):
        return then if test.formula == af.TRUE else orelse
    if isinstance(then, Integer) and isinstance(orelse, Integer) and is_exact(expr.dtype):
        result = af.choice(test.formula, then.affine, orelse.affine)
        return Integer(result, dtype=expr.dtype) if is_small(result) else None
    if isinstance(then, Truth) and isinstance(orelse, Truth):
        return Truth(formula_choice(test.formula, then.formula, orelse.formula), dtype=expr.dtype)
    return syntax.IfExp(test, then, orelse, dtype=expr.dtype, loc=expr.loc)


def _folded_cast(expr: syntax.Cast, operand: Value) -> Value | None:
    """Returns a conversion between affine integers and truth values as an affine leaf; None for any other conversion."""
    if isinstance(operand, Integer):
        if is_exact(expr.to):
            return Integer(operand.affine, dtype=expr.to)
        if expr.to.kind == "b":
            return Truth(af.compare("!=", operand.affine, Affine(0)), dtype=expr.to)
    if isinstance(operand, Truth):
        if expr.to.kind == "b":
            return Truth(operand.formula, dtype=expr.to)
        if is_exact(expr.to):
            return Integer(af.choice(operand.formula, Affine(1), Affine(0)), dtype=expr.to)
    return None


def formula_choice(condition: Condition, then: Condition, orelse: Condition) -> Condition:
    """Returns the condition `then if condition else orelse`."""
    return af.disjunction(af.conjunction(condition, then), af.conjunction(af.negate(condition), orelse))


def is_small(value: Affine) -> bool:
    """Returns whether an affine expression is simple enough for isl, and far inside 64 bits for all accepted parameters."""
    if value.is_constant:
        return abs(value.constant) < 2**63
    if abs(value.constant) > _CONSTANT_LIMIT or any(abs(c) > _COEFFICIENT_LIMIT for _, c in value.terms):
        return False
    return depth(value) <= _DEPTH_LIMIT and _is_simple(value)


def _is_simple(value: Affine) -> bool:
    if all(isinstance(atom, str) for atom, _ in value.terms):
        return True
    choices = sum(isinstance(atom, (af.Extremum, af.Choice)) for atom in atoms(value))
    return choices <= CHOICES and quotients(value) <= QUOTIENTS


def known(value: Value) -> Affine | Condition | None:
    """Returns the affine integer or condition that a value is; None for any other value."""
    if isinstance(value, Integer) and is_exact(value.dtype):
        return value.affine
    return value.formula if isinstance(value, Truth) else None
