"""Which parts of a value are evaluated always, and which perhaps; and whether one may raise."""

from __future__ import annotations

from polyml.dtypes import PYINT
from polyml.frontend import syntax
from polyml.model.core.nest import Integer, Value, children, subvalues


def operations(value: Value) -> list[tuple[Value, bool]]:
    """Every distinct sub-tree once, operands before their operation, with whether it may be left out: a branch of a
    select, a later operand of `and` and `or`. What one place always evaluates is not "may", whatever another says.
    """
    order: dict[int, Value] = {}
    certain: set[int] = set()
    _collect(value, True, order, certain)
    return [(part, key not in certain) for key, part in order.items()]


def _collect(value: Value, is_certain: bool, order: dict[int, Value], certain: set[int]) -> None:
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
    """Whether an OverflowError may come out of it: then it happens even where nobody needs the result."""
    return any(map(_may_raise, subvalues(value)))


def always_may_raise(value: Value) -> bool:
    """The same for what is evaluated whatever the data are."""
    return any(_may_raise(part) and not may for part, may in operations(value))


def _may_raise(part: Value) -> bool:
    if isinstance(part, syntax.Cast):
        before = part.operand.dtype
        if part.to == PYINT:
            return before.is_float or before.kind == "u" and before.bits == 64
        checked_at_entry = isinstance(part.operand, (Integer, syntax.Const))
        return before == PYINT and part.to.is_integer and part.to.name != "i64" and not checked_at_entry
    if isinstance(part, syntax.Unary):
        return part.dtype == PYINT and part.op == "-"
    return isinstance(part, syntax.Binary) and part.dtype == PYINT and part.op in ("+", "-", "*", "//", "<<", "**")
