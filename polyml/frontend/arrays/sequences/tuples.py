"""Comparisons of tuples, and of the shapes of arrays, whose ranks are known here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Union

from polyml.dtypes import PYBOOL
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions.array_operands import as_array
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import Elements
from polyml.frontend.captures import MISSING
from polyml.frontend.constant_folding import constant
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_Tuple = Union[Expr, Elements, tuple["_Tuple", ...]]


def same_tuple(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    """Returns the truth value of `t == u` for tuples.

    args: the numbers in both, and an array for each of its shapes, in order
    options: `form`, the two tuples with None for each number and "shape" for each shape
    """
    values = iter(args)
    one, other = (_expanded(form, values, loc) for form in options["form"])
    same = _same(builder, one, other, loc)
    if same is None:
        return syntax.Const(False, loc=loc)
    conditions = list(dict.fromkeys(same))
    if not conditions:
        return syntax.Const(True, loc=loc)
    return conditions[0] if len(conditions) == 1 else syntax.Logical("and", tuple(conditions), loc=loc)


def _expanded(form: object, values: Iterator[Value], loc: Loc | None) -> _Tuple:
    if isinstance(form, tuple):
        return tuple(_expanded(part, values, loc) for part in form)
    value = next(values)
    return tuple(extent.expr for extent in as_array(value, loc).shape) if form == "shape" else value


def _same(builder: LoopBuilder, one: _Tuple, other: _Tuple, loc: Loc | None) -> Sequence[Expr] | None:
    """Returns the conditions under which two values are equal; None where they never are."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        if len(one) != len(other):
            return None
        parts = [_same(builder, a, b, loc) for a, b in zip(one, other)]
        known = [part for part in parts if part is not None]
        return None if len(known) < len(parts) else [condition for part in known for condition in part]
    sides = [side for side in (one, other) if isinstance(side, Expr)]
    if len(sides) < 2 or not _are_compared_by_value(builder, sides):
        what = "a comparison of a tuple with a number or an array, or of parts that are arrays or may be NaN"
        raise NotAffineError(what, loc=loc, notes=["polyml compiles: shapes, ints and constants"], code="PML-F006")
    same: Expr = syntax.Compare("==", *sides, loc=loc)
    known_result = constant(same)
    if known_result is not MISSING or sides[0] == sides[1]:
        return [] if known_result is MISSING or known_result else None
    return [same if all(map(builder.is_integer, sides)) else syntax.Cast(same, PYBOOL, loc=loc)]


def _are_compared_by_value(builder: LoopBuilder, sides: Sequence[Expr]) -> bool:
    """Returns whether two parts are equal where their values are: tuples also take a NaN for equal to itself."""
    if all(map(builder.is_integer, sides)):
        return True
    constants = [side.value for side in sides if isinstance(side, syntax.Const)]
    return any(type(value) in (bool, int) or type(value) is float and not math.isnan(value) for value in constants)


FUNCTIONS = {"same_tuple": same_tuple}
