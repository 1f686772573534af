"""Arithmetic of float16 and bfloat16: computed in float32 and rounded after each operation, as NumPy does."""

from __future__ import annotations

from dataclasses import replace

from polyml.dtypes import BOOL, F32, HALVES
from polyml.frontend import syntax
from polyml.model.core.nest import Value, children, with_children


def widened(value: Value) -> Value:
    """Returns an operation on half-precision operands as one on float32, its result rounded back; any other value unchanged."""
    if isinstance(value, syntax.Cast):
        return _converted(value)
    operands = children(value)
    if not isinstance(value, (syntax.Unary, syntax.Binary, syntax.Call, syntax.Compare)) or not any(_is_half(v) for v in operands):
        return value
    wide = with_children(value, tuple(_wide(v) for v in operands))
    if value.dtype == BOOL:
        return wide
    return syntax.Cast(replace(wide, dtype=F32), value.dtype, True, dtype=value.dtype, loc=value.loc)


def _converted(value: syntax.Cast) -> syntax.Cast:
    """Returns a conversion between a half-precision and an integer type by way of float32; any other one unchanged."""
    source = value.operand.dtype
    if _is_half(value.operand) and not value.to.is_float:
        return replace(value, operand=_wide(value.operand))
    if value.to in HALVES and not source.is_float:
        return replace(value, operand=syntax.Cast(value.operand, F32, True, dtype=F32))
    return value


def _is_half(value: Value) -> bool:
    return value.dtype in HALVES


def _wide(value: Value) -> Value:
    return syntax.Cast(value, F32, True, dtype=F32) if _is_half(value) else value
