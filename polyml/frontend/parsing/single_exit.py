"""Single exit: a body whose returns are all at its end, since what follows `if c: return x` is its `else`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.frontend.syntax import Stmt
from polyml.source import Loc


@dataclass(frozen=True)
class Exit:
    """An Exit is a function's body with one return at its end.

    body: the statements, without returns
    values: what is returned behind them
    is_tuple: whether the values are returned as a tuple
    loc: the place of the first return in the text
    """

    body: tuple[Stmt, ...]
    values: tuple[syntax.Expr, ...]
    is_tuple: bool
    loc: Loc | None


def single(body: Sequence[Stmt], fresh: Callable[[str], str]) -> Exit | None:
    """Returns a function's body with one return at its end, or None if it never returns.

    Where there are several returns, they become assignments to local names, whose values are returned at the end.

    fresh: makes a name that is not in use, from a stem
    Raises NotAffineError for a return in a loop, and for returns of different numbers of values.
    """
    returns = [stmt for stmt in statements(body) if isinstance(stmt, syntax.Return)]
    if not returns:
        return None
    first = returns[0]
    if first is body[-1]:
        return Exit(tuple(body[:-1]), first.values, first.is_tuple, first.loc)
    for other in returns:
        if (len(other.values), other.is_tuple) != (len(first.values), first.is_tuple):
            raise _several(other.loc)
    names = tuple(fresh("_result") for _ in first.values)
    made, ends = _block(tuple(body), names)
    if names and not ends:
        raise _several(first.loc)
    return Exit(made, tuple(syntax.Name(name, loc=first.loc) for name in names), first.is_tuple, first.loc)


def _block(body: tuple[Stmt, ...], names: tuple[str, ...]) -> tuple[tuple[Stmt, ...], bool]:
    """Returns a block with assignments to `names` in the place of returns, and whether every path through the block had a return.

    Where one branch of an If returns, the statements behind the If move into the other branch. Raises NotAffineError where that is
    not enough, as for a return in a loop.

    names: the local names that get the returned values, in order
    """
    made: list[Stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, syntax.Return):
            held = (syntax.Name(name, loc=value.loc) for name, value in zip(names, stmt.values))
            made += (syntax.Assign(name, value, loc=stmt.loc) for name, value in zip(held, stmt.values))
            return tuple(made), True
        if not any(isinstance(inner, syntax.Return) for inner in statements((stmt,))):
            made.append(stmt)
            continue
        if not isinstance(stmt, syntax.If):
            raise _early(stmt)
        then, then_ends = _block(stmt.then, names)
        orelse, else_ends = _block(stmt.orelse, names)
        if then_ends and else_ends:
            made.append(dataclasses.replace(stmt, then=then, orelse=orelse))
            return tuple(made), True
        if not then_ends and not else_ends:
            raise _early(stmt)
        rest, ends = _block(body[position + 1 :], names)
        if then_ends:
            orelse += rest
        else:
            then += rest
        made.append(dataclasses.replace(stmt, then=then, orelse=orelse))
        return tuple(made), ends
    return tuple(made), False


def _early(stmt: Stmt) -> NotAffineError:
    inner = next(s for s in statements((stmt,)) if isinstance(s, syntax.Return))
    return NotAffineError(
        "an early return is not static control",
        loc=inner.loc,
        notes=["polyml compiles: return at the end, or at the end of a branch of an `if` outside loops"],
        code="PML-F002",
    )


def _several(loc: Loc | None) -> NotAffineError:
    return NotAffineError(
        "what is returned depends on the path",
        loc=loc,
        notes=["polyml compiles: as many values on each path, or none on any"],
        code="PML-F002",
    )
