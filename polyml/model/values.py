"""Which parts of a value are evaluated always, and which perhaps."""

from __future__ import annotations

from polyml.frontend import syntax
from polyml.model.nest import Value, children


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
