"""The values that a copy contains in place of elements: an element itself, or its product or sum with numbers that never change."""

from __future__ import annotations

from dataclasses import replace

from polyml.frontend import syntax
from polyml.model.core.nest import children, map_leaves, subvalues, with_children
from polyml.model.core.scop import Load, ScalarArg, Statement, Value


def scaled_operand(statement: Statement, read: int) -> Value:
    """Returns the largest part of the statement's value that combines only the element read with numbers which never change, by +,
    - or * in the element's type; the element itself if there is no larger part, or it is read several times.

    read: the position of the element in the statement's reads.
    """
    path = _path_to(statement.value, read)
    if sum(isinstance(v, Load) and v.access == read for v in subvalues(statement.value)) != 1:
        return path[-1]
    found = path[-1]
    for value in reversed(path[:-1]):
        if (
            not isinstance(value, syntax.Binary)
            or value.op not in ("*", "+", "-")
            or not value.dtype.is_float
            or value.dtype != path[-1].dtype
        ):
            break
        other = value.left if value.right is found else value.right
        if any(not isinstance(leaf, (ScalarArg, syntax.Const, syntax.Cast)) for leaf in subvalues(other)):
            break
        found = value
    return found


def _path_to(value: Value, read: int) -> list[Value]:
    """Returns the values from `value` down to the load of read number `read`; an empty list if it is not there."""
    if isinstance(value, Load):
        return [value] if value.access == read else []
    for operand in children(value):
        if below := _path_to(operand, read):
            return [value, *below]
    return []


def as_single_read(value: Value) -> Value:
    """Returns the value with every load in it changed to a load of read number 0; all of them must load the same element."""
    return map_leaves(value, lambda v: replace(v, access=0) if isinstance(v, Load) else v)


def replaced(value: Value, part: Value, by: Value) -> Value:
    """Returns the value with `by` in place of `part`: of the very object, not of parts that are equal to it."""
    if value is part:
        return by
    return with_children(value, tuple(replaced(operand, part, by) for operand in children(value)))
