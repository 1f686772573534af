"""Arrays with an element for each iteration of a loop, in which its iterations hand numbers to a loop behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyml.dtypes import BOOL, F64, I64, PYBOOL, PYFLOAT, PYINT, DType
from polyml.frontend import syntax, traversal
from polyml.frontend.syntax import Expr, Stmt

_IN_ARRAYS = {PYINT: I64, PYFLOAT: F64, PYBOOL: BOOL}  # the types of elements that hold Python's numbers


def allocated(array: str, loop: syntax.For, kind: DType) -> syntax.Alloc:
    """Returns the allocation of such an array. kind: the type of the numbers"""
    length = syntax.Binary("max", _difference(loop.stop, loop.start), syntax.Const(0, dtype=PYINT), dtype=PYINT)
    return syntax.Alloc(array, (length,), _IN_ARRAYS.get(kind, kind), None, loc=loop.loc)


def stored(array: str, loop: syntax.For, at: syntax.Name, number: syntax.Name) -> syntax.Assign:
    """Returns the assignment of a number to the element of an iteration. at: the variable of the loop"""
    element = _element(array, loop, at, number.dtype)
    return syntax.Assign(element, _converted(number, element.dtype), loc=loop.loc)


def taken(array: str, loop: syntax.For, at: syntax.Name, kind: DType) -> Expr:
    """Returns the number that an iteration has handed on. at: the variable of the loop behind. kind: the number's type"""
    return _converted(_element(array, loop, at, kind), kind)


def renamed(body: Sequence[Stmt], names: Mapping[str, syntax.Name]) -> tuple[Stmt, ...]:
    """Returns statements with other names of numbers."""

    def other(name: syntax.Name) -> syntax.Name:
        return replace(names[name.name], loc=name.loc) if name.name in names else name

    def changed(expr: Expr) -> Expr:
        if isinstance(expr, syntax.Name):
            return other(expr)
        return traversal.with_operands(expr, tuple(map(changed, traversal.operands(expr))))

    def moved(stmt: Stmt) -> Stmt:
        made = traversal.with_bodies(traversal.map_reads(stmt, changed), lambda inner: renamed(inner, names))
        if isinstance(made, syntax.Assign) and isinstance(made.target, syntax.Name):
            return replace(made, target=other(made.target))
        return made

    return tuple(map(moved, body))


def _element(array: str, loop: syntax.For, at: syntax.Name, kind: DType) -> syntax.Subscript:
    place = _difference(at, loop.start)
    return syntax.Subscript(array, (place,), dtype=_IN_ARRAYS.get(kind, kind), inside=True, loc=loop.loc)


def _converted(value: Expr, kind: DType) -> Expr:
    return value if value.dtype == kind else syntax.Cast(value, kind, True, dtype=kind)


def _difference(one: Expr, other: Expr) -> Expr:
    is_same = isinstance(other, syntax.Const) and other.value == 0
    return one if is_same else syntax.Binary("-", one, other, dtype=PYINT)
