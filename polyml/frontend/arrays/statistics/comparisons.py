"""Comparisons of whole arrays: np.isclose, np.allclose, np.array_equal and np.count_nonzero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyml.dtypes import PYBOOL, PYINT
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.functions import array_reductions
from polyml.frontend.arrays.functions.array_operands import as_array, map_elements
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import Elements, require_equal
from polyml.frontend.syntax import Expr
from polyml.source import Loc

_COUNTS_ARE_NUMPYS = isinstance(np.count_nonzero(np.ones(1)), np.integer)  # else one of Python's, as before NumPy 2.4
_RELATIVE, _ABSOLUTE = syntax.Const(1e-5), syntax.Const(1e-8)


def _isclose(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    relative = args[2] if len(args) > 2 else _RELATIVE
    absolute = args[3] if len(args) > 3 else _ABSOLUTE
    if isinstance(relative, Elements) or isinstance(absolute, Elements) or options.get("equal_nan"):
        known = "polyml compiles: np.isclose(a, b, rtol, atol) with numbers rtol and atol, without equal_nan="
        raise NotAffineError("np.isclose of this", loc=loc, notes=[known])

    def close(a: Expr, b: Expr) -> Expr:
        wanted = syntax.Call("inexact", (b,), loc=loc)
        distance = syntax.Call("abs", (syntax.Binary("-", a, wanted),), loc=loc)
        bound = syntax.Binary("+", absolute, syntax.Binary("*", relative, syntax.Call("abs", (wanted,), loc=loc)))
        near = syntax.Compare("<=", distance, bound)
        return syntax.Binary(
            "|", syntax.Binary("&", near, syntax.Call("isfinite", (wanted,), loc=loc)), syntax.Compare("==", a, wanted), loc=loc
        )

    return map_elements(builder, [args[0], args[1]], close, loc)


def _allclose(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    return _all(builder, _isclose(builder, args, options, loc), loc)


def _array_equal(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    one, other = (as_array(arg, loc) for arg in args)
    if options.get("equal_nan"):
        raise NotAffineError("np.array_equal with equal_nan=", loc=loc, notes=["polyml compiles: np.array_equal(a, b)"])
    if one.rank != other.rank or any(None is not a.known != b.known is not None for a, b in zip(one.shape, other.shape)):
        return syntax.Const(False)
    for own, size in zip(one.shape, other.shape):
        require_equal(own, size, "a call of np.array_equal of other shapes", builder.require, loc)
    return _all(builder, map_elements(builder, [one, other], lambda a, b: syntax.Compare("==", a, b, loc=loc), loc), loc)


def _all(builder: LoopBuilder, value: Value, loc: Loc | None) -> Expr:
    found = array_reductions.FUNCTIONS["all"](builder, [value], {}, loc)
    return syntax.Cast(found.at(()) if isinstance(found, Elements) else found, PYBOOL, loc=loc)


def _count_nonzero(builder: LoopBuilder, args: list, options: dict, loc: Loc | None) -> Value:
    array = as_array(args[0], loc)
    there = Elements(array.shape, lambda point: syntax.Compare("!=", array.at(point), syntax.Const(0), loc=loc))
    found = array_reductions.FUNCTIONS["sum"](builder, [there], options, loc)
    if isinstance(found, Elements) or _COUNTS_ARE_NUMPYS:
        return found
    return syntax.Cast(found, PYINT, loc=loc)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "isclose": _isclose, "allclose": _allclose, "array_equal": _array_equal, "count_nonzero": _count_nonzero,
}  # fmt: skip
