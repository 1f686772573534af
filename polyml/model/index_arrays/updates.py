"""Statements that update an element or a number by an operator that may be applied in any order."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.dtypes import PYINT, DType
from polyml.frontend import syntax
from polyml.frontend.syntax import Expr

SMALL_STEP = 2**7  # of a number that counts

_Updated = syntax.Subscript | syntax.Name


@dataclass(frozen=True)
class Update:
    """An Update says how something is updated. element: its type. operator: "+", "min", "max", "or" or "and", by which it is; "" for none"""

    element: DType
    operator: str

    @property
    def nothing(self) -> syntax.Const:
        """Returns the value from which an update makes what it updates by; a sum of floats keeps the sign of zero."""
        if self.operator == "+":
            return syntax.Const(-0.0 if self.element.is_float else 0, dtype=self.element)
        if self.operator in ("or", "and"):
            return syntax.Const(self.operator == "and", dtype=self.element)
        return syntax.Const(self.element.limits[self.operator == "min"], dtype=self.element)

    def joined(self, left: Expr, right: Expr) -> Expr:
        """Returns what the operator makes of two values."""
        if self.operator in ("or", "and"):
            return syntax.Logical(self.operator, (left, right), dtype=self.element)
        return syntax.Binary(self.operator, left, right, dtype=self.element)


def extremum_of(stmt: syntax.If) -> str:
    """Returns "max" for `if x > A[k]: A[k] = x`, "min" for its like; "" for other statements."""
    match stmt:
        case syntax.If(
            syntax.Compare(op=op, left=left, right=right),
            (syntax.Assign(syntax.Subscript() | syntax.Name() as target, value),),
            (),
        ):
            if left == value and right == target:
                return {">": "max", ">=": "max", "<": "min", "<=": "min"}.get(op, "")
            if right == value and left == target:
                return {"<": "max", "<=": "max", ">": "min", ">=": "min"}.get(op, "")
    return ""


def operator_of(value: Expr, target: _Updated) -> str:
    """Returns the operator by which a value updates an element or number, where the order of updates is free but for rounding; "" for none.

    Of the extrema of floats, what is updated is the first operand, so that what is no number is passed over as long as that is one.
    """
    element = target.dtype
    if element is None:
        return ""
    match _converted(value, element):
        case syntax.Const(value=bool(truth)) if element.kind == "b":
            return "or" if truth else "and"
        case syntax.Logical(op=op, operands=operands) if element.kind == "b":
            return op if target in operands else ""
        case syntax.Binary(op="+" | "-" as op, left=left, right=right):
            is_sum = _converted(left, element) == target or op == "+" and _converted(right, element) == target
            return "+" if is_sum else ""
        case syntax.Binary(op="min" | "max" as op, left=left, right=right) if value.dtype == element:
            return op if left == target or element.is_integer and right == target else ""
    return ""


def counts(value: Expr, target: _Updated) -> bool:
    """Returns whether a value adds a small constant to what it updates: so many additions that a Python int leaves 64 bits take years."""
    match value:
        case syntax.Binary(op="+" | "-", left=left, right=syntax.Const(value=int(step))):
            return left == target and abs(step) <= SMALL_STEP
    return False


def _converted(value: Expr, element: DType) -> Expr:
    """Returns what a value is converted from, as far as conversions are among integers, or among floats."""
    while isinstance(value, syntax.Cast) and value.to != PYINT and value.operand.dtype != PYINT:
        kinds = (value.to, value.operand.dtype)
        if not all(kind.is_integer for kind in kinds) and not all(kind.is_float and kind.bits >= element.bits for kind in kinds):
            break
        value = value.operand
    return value
