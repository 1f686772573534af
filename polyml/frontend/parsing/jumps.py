"""Where `break`, `continue` and `return` lead: out of Blocks around a loop, around its body, and around a function's body.

    for i in range(n):              block break:
        if A[i] < 0:                    for i in range(n):
            continue        ->              block continue:
        if A[i] > x:                            if A[i] < 0:
            break                                   leave continue
        s += A[i]                               ...

A function's body has one return, at its end: what follows `if c: return x` is its `else`. Only where that is not enough, as in a loop,
a return leaves a Block.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from polyml.errors import NotAffineError, python_exception
from polyml.frontend import syntax, traversal
from polyml.frontend.captures import MISSING
from polyml.frontend.name_resolution import left, statements
from polyml.frontend.parsing.names import NameLookup
from polyml.frontend.syntax import Stmt
from polyml.source import Loc


@dataclass
class LoopJumps:
    """The LoopJumps of a loop are the labels that its jumps lead to.

    outside, inside: the labels of the Blocks around the loop and around its body
    used: those of them that a jump leads to
    """

    outside: str
    inside: str
    used: set[str] = field(default_factory=set)

    def with_else(self, loop: Sequence[Stmt], orelse: Sequence[Stmt], loc: Loc) -> tuple[Stmt, ...]:
        """Returns a loop with the statements of its `else`, which a `break` skips."""
        if self.outside not in self.used:
            return (*loop, *orelse)
        return (syntax.Block(self.outside, (*loop, *orelse), loc=loc),)


class Jumps:
    """A Jumps knows the loops around the statement that is parsed.

    fresh: makes a name that is not in use, from a stem
    """

    def __init__(self, fresh: Callable[[str], str]):
        self._fresh = fresh
        self._loops: list[LoopJumps] = []

    @contextmanager
    def loop(self) -> Iterator[LoopJumps]:
        """Returns a context in which the statements of a loop are parsed, but not those of its `else`."""
        self._loops.append(LoopJumps(self._fresh("_break"), self._fresh("_continue")))
        try:
            yield self._loops[-1]
        finally:
            self._loops.pop()

    def iteration(self, body: Callable[[], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
        """Returns the statements of an iteration of the innermost loop, which its `continue` ends. body: makes them."""
        loop = self._loops[-1]
        loop.used.discard(loop.inside)
        made = body()
        return (syntax.Block(loop.inside, made, loc=made[0].loc),) if made and loop.inside in loop.used else made

    def leave(self, keyword: str, loc: Loc) -> syntax.Leave:
        """Returns what `break` or `continue` becomes."""
        loop = self._loops[-1]
        label = loop.outside if keyword == "break" else loop.inside
        loop.used.add(label)
        return syntax.Leave(label, loc=loc)


@dataclass(frozen=True)
class Exit:
    """An Exit is a function's body with one return at its end.

    body: the statements, without returns
    values: what is returned behind them
    is_tuple: whether the values are returned as a tuple
    form: the form of the result, a text of `reading.result_forms`
    loc: the place of the first return in the text
    """

    body: tuple[Stmt, ...]
    values: tuple[syntax.Expr, ...]
    is_tuple: bool
    form: str
    loc: Loc | None


def raised(names: NameLookup, stmt: ast.Raise) -> syntax.Raise:
    """Returns what `raise` becomes.

    names: what the names of the function stand for
    Raises NotAffineError for exceptions that are not Python's own, and where their text is not a constant.
    """
    call = stmt.exc
    made, args = (call.func, tuple(call.args)) if isinstance(call, ast.Call) else (call, ())
    found = MISSING if made is None else names.value(made)
    constants = [names.constant(each) for each in args]
    texts = tuple(each for each in constants if isinstance(each, str))
    is_named = isinstance(call, ast.Call) and bool(call.keywords)
    if (
        stmt.cause is not None
        or is_named
        or len(texts) < len(args)
        or not isinstance(found, type)
        or not _is_exception(found, texts)
    ):
        raise names.not_affine(
            stmt,
            f"`{ast.unparse(stmt)}` is not raised by compiled code",
            'Python\'s own exceptions with constant texts, `raise ValueError("...")`',
        )
    return syntax.Raise(found.__name__, texts, loc=names.text.loc(stmt))


def _is_exception(found: type, texts: Sequence[object]) -> bool:
    """Returns whether a value is a class of Python's own exceptions that can be made of these texts."""
    if python_exception(found.__name__) is not found:
        return False
    try:
        found(*texts)
    except TypeError:
        return False
    return True


def asserted(names: NameLookup, stmt: ast.Assert) -> syntax.Raise:
    """Returns what `assert` raises where its condition does not hold.

    names: what the names of the function stand for
    Raises NotAffineError where the text is not a constant.
    """
    text = "" if stmt.msg is None else names.constant(stmt.msg)
    if not isinstance(text, str):
        raise names.not_affine(stmt, f"the text of `{ast.unparse(stmt)}` is not a constant", '`assert n > 0, "..."`')
    return syntax.Raise("AssertionError", () if stmt.msg is None else (text,), loc=names.text.loc(stmt))


def single_exit(body: Sequence[Stmt], fresh: Callable[[str], str]) -> Exit | None:
    """Returns a function's body with one return at its end, or None if it never returns.

    Where there are several returns, they become assignments to local names, whose values are returned at the end.

    fresh: makes a name that is not in use, from a stem
    Raises NotAffineError for returns of different numbers of values.
    """
    returns = [stmt for stmt in statements(body) if isinstance(stmt, syntax.Return)]
    if not returns:
        return None
    first = returns[0]
    if first is body[-1]:
        return Exit(tuple(body[:-1]), first.values, first.is_tuple, first.form, first.loc)
    for other in returns:
        if (len(other.values), other.is_tuple, other.form) != (len(first.values), first.is_tuple, first.form):
            raise _disagreement(other.loc)
    names = tuple(fresh("_result") for _ in first.values)
    made, ends = _in_branches(tuple(body), names)
    if made is None:
        label = fresh("_return")
        made, ends = (syntax.Block(label, _with_jumps(tuple(body), names, label), loc=first.loc),), _always_returns(body)
    if names and not ends:
        raise _disagreement(first.loc)
    return Exit(made, tuple(syntax.Name(name, loc=first.loc) for name in names), first.is_tuple, first.form, first.loc)


def _in_branches(body: tuple[Stmt, ...], names: tuple[str, ...]) -> tuple[tuple[Stmt, ...] | None, bool]:
    """Returns a block with assignments to `names` in the place of returns, and whether every path through the block had a return.

    Where one branch of an If returns, the statements behind the If move into the other branch. The block is None where that is not
    enough, as for a return in a loop.

    names: the local names that get the returned values, in order
    """
    made: list[Stmt] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, syntax.Return):
            return (*made, *_assigned(stmt, names)), True
        if isinstance(stmt, syntax.Raise):
            return (*made, stmt), True
        if not any(isinstance(inner, syntax.Return) for inner in statements((stmt,))):
            made.append(stmt)
            continue
        if not isinstance(stmt, syntax.If) or left((stmt,)):
            return None, False
        (then, then_ends), (orelse, else_ends) = _in_branches(stmt.then, names), _in_branches(stmt.orelse, names)
        if then is None or orelse is None or not then_ends and not else_ends:
            return None, False
        if then_ends and else_ends:
            made.append(dataclasses.replace(stmt, then=then, orelse=orelse))
            return tuple(made), True
        rest, ends = _in_branches(body[position + 1 :], names)
        if rest is None:
            return None, False
        if then_ends:
            orelse += rest
        else:
            then += rest
        made.append(dataclasses.replace(stmt, then=then, orelse=orelse))
        return tuple(made), ends
    return tuple(made), False


def _assigned(stmt: syntax.Return, names: tuple[str, ...]) -> tuple[Stmt, ...]:
    """Returns the assignments of what a return returns to local names."""
    held = (syntax.Name(name, loc=value.loc) for name, value in zip(names, stmt.values))
    return tuple(syntax.Assign(name, value, loc=stmt.loc) for name, value in zip(held, stmt.values))


def _with_jumps(body: tuple[Stmt, ...], names: tuple[str, ...], label: str) -> tuple[Stmt, ...]:
    """Returns a block with assignments to `names`, and a jump to the end of the function, in the place of each return."""
    made: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, syntax.Return):
            made += [*_assigned(stmt, names), syntax.Leave(label, loc=stmt.loc)]
        else:
            made.append(traversal.with_bodies(stmt, lambda inner: _with_jumps(inner, names, label)))
    return tuple(made)


def _always_returns(body: Sequence[Stmt]) -> bool:
    """Returns whether the end of a block is never reached, as far as its last statement tells."""
    match body[-1] if body else None:
        case syntax.Return() | syntax.Leave() | syntax.Raise():
            return True
        case syntax.If(then=then, orelse=orelse):
            return _always_returns(then) and _always_returns(orelse)
        case syntax.While(condition=syntax.Const(value=True)):
            return True
        case syntax.Block(label=label, body=inner):
            return label not in left(inner) and _always_returns(inner)
    return False


def _disagreement(loc: Loc | None) -> NotAffineError:
    return NotAffineError(
        "what is returned depends on the path",
        loc=loc,
        notes=["polyml compiles: as many values on each path, or none on any"],
        code="PML-F002",
    )
