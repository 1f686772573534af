"""Which sub-expressions of a value are always evaluated, and which may raise."""

from __future__ import annotations

from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.nest import Integer, Value, always_fits, children, subvalues


def operations(value: Value) -> list[tuple[Value, bool]]:
    """Returns pairs (sub-tree, whether its evaluation may be skipped) for every distinct sub-tree of a value, operands first.

    The branches of a select and the later operands of `and` and `or` may be skipped, unless the same sub-tree is also evaluated
    elsewhere for certain.
    """
    order: dict[int, Value] = {}
    certain: set[int] = set()
    _collect(value, True, order, certain)
    return [(part, key not in certain) for key, part in order.items()]


def _collect(value: Value, is_certain: bool, order: dict[int, Value], certain: set[int]) -> None:
    """Adds the sub-trees of a value to `order`, operands first, and the identities of those that are always evaluated to `certain`.

    is_certain: whether the value itself is always evaluated
    """
    key = id(value)
    if key in certain or (key in order and not is_certain):
        return
    lazily = isinstance(value, (syntax.IfExp, syntax.Logical))
    for index, operand in enumerate(children(value)):
        _collect(operand, is_certain and not (lazily and index), order, certain)
    order[key] = value
    if is_certain:
        certain.add(key)


def may_raise(value: Value) -> bool:
    """Returns whether evaluating a value may raise an OverflowError; if so, it is evaluated even where nobody needs the result."""
    return any(map(_may_raise, subvalues(value)))


def always_may_raise(value: Value) -> bool:
    """Returns whether a part of a value that is always evaluated, whatever the data are, may raise an OverflowError."""
    return any(_may_raise(part) and not may for part, may in operations(value))


def _may_raise(part: Value) -> bool:
    """Returns whether an operation by itself, apart from the evaluation of its operands, may raise an OverflowError."""
    if isinstance(part, syntax.Cast):
        before = part.operand.dtype
        if part.to == PYINT:
            return before.is_float or before.kind == "u" and before.bits == 64
        if before != PYINT or not part.to.is_integer or part.to.name == "i64":
            return False
        return not (isinstance(part.operand, (Integer, syntax.Const)) or always_fits(part.operand, part.to))  # checked at entry
    if isinstance(part, syntax.Unary):
        return part.dtype == PYINT and part.op == "-"
    return isinstance(part, syntax.Binary) and part.dtype == PYINT and part.op in ("+", "-", "*", "//", "<<", "**")
