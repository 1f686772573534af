"""Calls of the functions of `frontend.library`: their statements are added in the place of a call, with names of their own.

np.searchsorted(a, v)   ->   for i in range(v.shape[0]):
                                 low = 0; high = a.shape[0]
                                 while low < high: ...
                                 place[i] = low
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType

from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import Elements, Point
from polyml.frontend.name_resolution import statements
from polyml.frontend.parsing.parse import parse_with_known
from polyml.frontend.syntax import Expr, Stmt
from polyml.source import Loc


def inlined(builder: LoopBuilder, function: Callable, args: Sequence[Value], loc: Loc | None, **known: object) -> tuple[Value, ...]:
    """Returns what a function of the library returns, after adding its statements to `builder.out`.

    args: the function's first arguments. An array that the kernel computes only should be in memory, as its elements may be read often
    known: the values of the parameters behind them, which decide at once what the function does
    """
    kernel = _parsed(function, tuple(sorted(known.items())))
    names = {name: builder.fresh(f"_{name}") for name in _names(kernel)}
    for param, value in zip(kernel.params, args):
        _bind(builder, names[param.name], value, loc)
    *body, end = kernel.body if _returns(kernel) else (*kernel.body, syntax.Return((), False))
    made = tuple(_own(stmt, names, loc) for stmt in body)
    builder.adopt(made)
    builder.out.extend(builder.block(made))
    results = end.values if isinstance(end, syntax.Return) else ()
    return tuple(builder.value(_as_name(_renamed(value, names, loc))) for value in results)


def number(builder: LoopBuilder, function: Callable, args: Sequence[Value], loc: Loc | None, **known: object) -> Expr:
    """Returns the number that a function of the library returns, as `inlined` does. Raises TypeError where it returns something else."""
    [value] = inlined(builder, function, args, loc, **known)
    if isinstance(value, Elements):
        raise TypeError(f"an array is returned by {function.__name__}")
    return value


def for_each(builder: LoopBuilder, target: Elements, make: Callable[[Point], Expr], loc: Loc | None) -> None:
    """Adds loops that store an element at each point of an array, whose computation may add statements of its own.

    make: returns the element at a point, after adding the statements that compute it to `builder.out`
    """

    def body(point: Point) -> list[Stmt]:
        def stored() -> None:
            builder.out.append(syntax.Assign(target.lvalue(point), make(point), whole=True, loc=loc))

        return statements_of(builder, stored)

    builder.loops(target.shape, body, loc)


def statements_of(builder: LoopBuilder, add: Callable[[], object]) -> list[Stmt]:
    """Returns the statements that `add` adds to `builder.out`, which stays as it was."""
    outer = builder.out
    made: list[Stmt] = []
    builder.out = made
    try:
        add()
    finally:
        builder.out = outer
    return made


@cache
def _parsed(function: Callable, known: tuple[tuple[str, object], ...]) -> syntax.Kernel:
    if not isinstance(function, FunctionType):
        raise TypeError(f"not a Python function: {function!r}")
    return parse_with_known(function, dict(known))


def _returns(kernel: syntax.Kernel) -> bool:
    return bool(kernel.body) and isinstance(kernel.body[-1], syntax.Return)


def _names(kernel: syntax.Kernel) -> list[str]:
    """Returns the names of a kernel's parameters, locals, loop variables and labels."""
    found = [param.name for param in kernel.params]
    for stmt in statements(kernel.body):
        match stmt:
            case syntax.For(var=name) | syntax.Alloc(name=name) | syntax.Assign(target=syntax.Name(name=name)):
                found.append(name)
            case syntax.Block(label=name):
                found.append(name)
    return list(dict.fromkeys(found))


def _bind(builder: LoopBuilder, name: str, value: Value, loc: Loc | None) -> None:
    if isinstance(value, Elements):
        builder.arrays[name] = value
    elif isinstance(value, syntax.Const):
        builder.numbers[name] = value
    else:
        builder.out.append(syntax.Assign(syntax.Name(name, loc=loc), value, loc=loc))


def _own(stmt: Stmt, names: Mapping[str, str], loc: Loc | None) -> Stmt:
    """Returns a statement with the names that a call of its function has, at the place of the call."""
    made: Stmt = dataclasses.replace(traversal.map_reads(stmt, lambda expr: _renamed(expr, names, loc)), loc=loc)
    match made:
        case syntax.For(var=name):
            made = dataclasses.replace(made, var=names[name])
        case syntax.Alloc(name=name):
            made = dataclasses.replace(made, name=names[name])
        case syntax.Assign(target=syntax.Name(name=name)):
            made = dataclasses.replace(made, target=syntax.Name(names[name], loc=loc))
        case syntax.Block(label=name) | syntax.Leave(label=name):
            made = dataclasses.replace(made, label=names[name])
    return traversal.with_bodies(made, lambda body: tuple(_own(inner, names, loc) for inner in body))


def _renamed(expr: Expr, names: Mapping[str, str], loc: Loc | None) -> Expr:
    """Returns an expression with the names of a call, at its place; the elements that it reads are known to be inside."""
    operands = tuple(_renamed(operand, names, loc) for operand in traversal.operands(expr))
    made = dataclasses.replace(traversal.with_operands(expr, operands), loc=loc)
    match made:
        case syntax.Name(name=name) | syntax.ArrayName(name=name):
            return dataclasses.replace(made, name=names[name])
        case syntax.Subscript(array=name):
            return dataclasses.replace(made, array=names[name], inside=True)
        case syntax.Shape(array=name) | syntax.Like(array=name):
            return dataclasses.replace(made, array=names[name])
    return made


def _as_name(expr: Expr) -> Expr:
    return syntax.Name(expr.name, loc=expr.loc) if isinstance(expr, syntax.ArrayName) else expr
