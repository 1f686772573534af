"""Traversal of the syntax tree, written once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeVar

from polyml.frontend import syntax
from polyml.frontend.syntax import Expr, Stmt

AnyStmt = TypeVar("AnyStmt", bound=Stmt)


def operands(expr: Expr) -> tuple[Expr, ...]:
    """Returns the expressions directly inside `expr`, in the order in which Python evaluates them.

    An IfExp has three: the condition, the value where it holds, and the value where it does not.
    """
    match expr:
        case syntax.Subscript():
            return expr.indices
        case syntax.ArrayName():
            return expr.sizes
        case syntax.Unary() | syntax.Cast():
            return (expr.operand,)
        case syntax.Binary() | syntax.Compare():
            return (expr.left, expr.right)
        case syntax.Logical():
            return expr.operands
        case syntax.IfExp():
            return (expr.condition, expr.then, expr.orelse)
        case syntax.Call() | syntax.Function():
            return expr.args
        case syntax.Part():
            return (expr.base, *(bound for index in expr.indices for bound in _bounds(index)))
    return ()


def _bounds(index: Expr | syntax.Slice | syntax.NewAxis | syntax.Dots) -> tuple[Expr, ...]:
    """Returns the expressions in one subscript of a Part: the start, stop and step that a slice has, the subscript itself, or none."""
    if isinstance(index, syntax.Slice):
        return tuple(bound for bound in (index.start, index.stop, index.by) if bound is not None)
    return () if isinstance(index, (syntax.NewAxis, syntax.Dots)) else (index,)


def _with_bounds(index, new: Iterator[Expr]):
    """Returns the subscript of a Part with the expressions that `_bounds` lists replaced by those that `new` gives next."""
    if isinstance(index, syntax.Slice):
        start, stop, by = (None if bound is None else next(new) for bound in (index.start, index.stop, index.by))
        return dataclasses.replace(index, start=start, stop=stop, by=by)
    return index if isinstance(index, (syntax.NewAxis, syntax.Dots)) else next(new)


def with_operands(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """Returns `expr` with the expressions that `operands` lists replaced by new ones, in that order."""
    match expr:
        case syntax.Subscript():
            return dataclasses.replace(expr, indices=new)
        case syntax.ArrayName():
            return dataclasses.replace(expr, sizes=new)
        case syntax.Unary() | syntax.Cast():
            return dataclasses.replace(expr, operand=new[0])
        case syntax.Binary() | syntax.Compare():
            return dataclasses.replace(expr, left=new[0], right=new[1])
        case syntax.Logical():
            return dataclasses.replace(expr, operands=new)
        case syntax.IfExp():
            return dataclasses.replace(expr, condition=new[0], then=new[1], orelse=new[2])
        case syntax.Call() | syntax.Function():
            return dataclasses.replace(expr, args=new)
        case syntax.Part():
            rest = iter(new[1:])
            return dataclasses.replace(expr, base=new[0], indices=tuple(_with_bounds(i, rest) for i in expr.indices))
    return expr


def accessed(stmt: Stmt) -> tuple[Expr, ...]:
    """Returns the expressions of a statement itself and, if it is an assignment, its target."""
    return (*expressions(stmt), *((stmt.target,) if isinstance(stmt, syntax.Assign) else ()))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Returns the expressions that a statement itself reads, in the order of evaluation, without those of statements inside it.

    An Assign gives its value, then the target's subscripts.
    """
    match stmt:
        case syntax.For():
            return (stmt.start, stmt.stop)
        case syntax.If() | syntax.While():
            return (stmt.condition,)
        case syntax.Block() | syntax.Leave() | syntax.Raise():
            return ()
        case syntax.Assign(target=syntax.Subscript() | syntax.Part() as target):
            return (stmt.value, *operands(target))
        case syntax.Assign():
            return (stmt.value,)
        case syntax.Alloc():
            shape = stmt.shape if isinstance(stmt.shape, tuple) else (stmt.shape,)
            element: tuple[Expr, ...] = ()
            if isinstance(stmt.element, syntax.TypeOf):
                element = (stmt.element.of,)
            elif isinstance(stmt.element, syntax.Like):
                element = (stmt.element,)
            return (*shape, *element, *(() if stmt.fill is None else (stmt.fill,)))
        case syntax.Require():
            return (stmt.condition,)
        case syntax.Return():
            return stmt.values
    raise TypeError(f"not a statement: {stmt!r}")


def bodies(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Returns the blocks of statements inside a statement: two of an If, one of a loop or a Block, none of any other."""
    match stmt:
        case syntax.If():
            return (stmt.then, stmt.orelse)
        case syntax.For() | syntax.While() | syntax.Block():
            return (stmt.body,)
    return ()


def with_bodies(stmt: AnyStmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> AnyStmt:
    """Returns the statement with `change` applied to each block of statements inside it, in the order of `bodies`."""
    match stmt:
        case syntax.If():
            return dataclasses.replace(stmt, then=change(stmt.then), orelse=change(stmt.orelse))
        case syntax.For() | syntax.While() | syntax.Block():
            return dataclasses.replace(stmt, body=change(stmt.body))
    return stmt


def nodes(expr: Expr) -> Iterator[Expr]:
    """Yields `expr` and every expression inside it, an expression before its operands, from left to right."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(operands(node)))


def map_reads(stmt: AnyStmt, change: Callable[[Expr], Expr]) -> AnyStmt:
    """Returns the statement with `change` applied to each expression that it reads.

    `change` is applied to a target that is a Subscript or Part too, but not to one that is a Name. Statements inside it stay.
    """
    made = _mapped(stmt, change)
    if not isinstance(made, type(stmt)):
        raise TypeError(f"another kind of statement: {made!r}")
    return made


def _mapped(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    match stmt:
        case syntax.For():
            return dataclasses.replace(stmt, start=change(stmt.start), stop=change(stmt.stop))
        case syntax.If() | syntax.While():
            return dataclasses.replace(stmt, condition=change(stmt.condition))
        case syntax.Block() | syntax.Leave() | syntax.Raise():
            return stmt
        case syntax.Assign():
            target = stmt.target if isinstance(stmt.target, syntax.Name) else as_target(change(stmt.target))
            return dataclasses.replace(stmt, target=target, value=change(stmt.value))
        case syntax.Alloc():
            shape = tuple(map(change, stmt.shape)) if isinstance(stmt.shape, tuple) else _as_like(change(stmt.shape))
            element = stmt.element
            if isinstance(element, syntax.TypeOf):
                element = dataclasses.replace(element, of=change(element.of))
            elif isinstance(element, syntax.Like):
                element = _as_like(change(element))
            fill = None if stmt.fill is None else change(stmt.fill)
            return dataclasses.replace(stmt, shape=shape, element=element, fill=fill)
        case syntax.Require():
            return dataclasses.replace(stmt, condition=change(stmt.condition))
        case syntax.Return():
            return dataclasses.replace(stmt, values=tuple(map(change, stmt.values)))
    raise TypeError(f"not a statement: {stmt!r}")


def as_target(expr: Expr) -> syntax.Target:
    """Returns the expression itself, as the target of an assignment.

    Raises TypeError for one that may not be assigned.
    """
    if not isinstance(expr, (syntax.Name, syntax.Subscript, syntax.Part)):
        raise TypeError(f"not what may be assigned: {expr!r}")
    return expr


def as_part(expr: Expr) -> syntax.Part:
    """Returns the expression itself, as a part of an array. Raises TypeError for one that is none."""
    if not isinstance(expr, syntax.Part):
        raise TypeError(f"not a part of an array: {expr!r}")
    return expr


def _as_like(expr: Expr) -> syntax.Like:
    if not isinstance(expr, syntax.Like):
        raise TypeError(f"not an array's shape or type: {expr!r}")
    return expr


def rename(expr: Expr, new_name: Callable[[Expr], str]) -> Expr:
    """Returns `expr` with the name of each Name, Subscript, Shape, ArrayName and Like replaced by `new_name(node)`."""
    match expr:
        case syntax.Name():
            return dataclasses.replace(expr, name=new_name(expr))
        case syntax.Shape() | syntax.Like():
            return dataclasses.replace(expr, array=new_name(expr))
        case syntax.ArrayName():
            expr = dataclasses.replace(expr, name=new_name(expr))
        case syntax.Subscript():
            expr = dataclasses.replace(expr, array=new_name(expr))
    return with_operands(expr, tuple(rename(operand, new_name) for operand in operands(expr)))


def named(expr: Expr) -> str:
    """Returns the name that a node itself mentions, such as that of the array of a Subscript.

    Raises TypeError for a node without a name.
    """
    name = name_of(expr)
    if name is None:
        raise TypeError(f"it has no name: {expr!r}")
    return name


def name_of(expr: Expr) -> str | None:
    """Returns the name that a node itself mentions, such as that of the array of a Subscript, or None."""
    match expr:
        case syntax.Name() | syntax.ArrayName():
            return expr.name
        case syntax.Shape() | syntax.Subscript() | syntax.Like():
            return expr.array
    return None
