"""Rebinding: names that a loop binds to a new array in each iteration keep one array in memory.

    for t in range(n):                          u.1[:] = u
        u = (u[1:] + u[:-1]) / 2    ->          for t in range(n):
                                                    u.1[:] = (...)

This is right where nothing else names the array that the name leaves, the new one has its shape and type, and, if the
array that the name stood for before the loop is seen elsewhere, the loop runs and changes no element before it binds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polyml.errors import NotAffineError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.loop_builder import LoopBuilder, Value
from polyml.frontend.arrays.views import Elements, require_equal
from polyml.frontend.name_resolution import bound_names, statements
from polyml.frontend.syntax import Expr, Stmt
from polyml.source import Loc


def iteration(builder: LoopBuilder, stmt: syntax.For, start: Expr, stop: Expr) -> tuple[tuple[Stmt, ...], dict] | None:
    """Returns a loop's lowered body, and the builder's `arrays` as they were before the body.

    Each name that the loop binds to a new array in every iteration gets one array in memory, which the new values overwrite. None
    is returned where the loop binds no such name, or where overwriting would give other results, such as where the shape changes.

    start, stop: the lowered bounds of the loop
    """
    names = [n for n in sorted(bound_names(stmt.body)) if isinstance(builder.arrays.get(n), Elements)]
    names = [n for n in names if n not in builder.kept]

    def lowered() -> tuple[tuple[Stmt, ...], dict]:
        for name in names:
            _keep(builder, name, stmt, start, stop)
        builder.kept |= set(names)
        before = dict(builder.arrays)
        return builder.iteration(stmt), before

    return builder.attempted(lowered) if names else None


def checked(builder: LoopBuilder, own: Elements, value: Value, loc: Loc | None) -> Elements:
    """Returns `value`, the new array that a loop binds a name to, if it may be stored in the memory of the name's old array.

    own: the old array
    Raises NotAffineError where `value` is not a new array or has another shape, and where a second name stands for the old array.
    """
    is_new = isinstance(value, Elements) and value.may_be_view_of is None
    if not isinstance(value, Elements) or not is_new or not _is_unnamed(builder, value):
        raise _not_kept("it is bound to what is no new array", loc)
    differences = [a.length - b.length for a, b in zip(own.shape, value.shape)]
    if len(own.shape) != len(value.shape) or any(d.is_constant and d.constant for d in differences):
        raise _not_kept("its shape changes", loc)
    for extent, other in zip(own.shape, value.shape):
        require_equal(extent, other, "a name that a loop binds to an array of another shape", builder.require, loc)
    if len(_named(builder, own.memory)) > 1:
        raise _not_kept("the old array has another name", loc)
    return value


def _is_unnamed(builder: LoopBuilder, array: Elements) -> bool:
    """Returns whether an array is only computed, or is in memory that no name stands for."""
    return array.storage is None or builder.is_own(array) and not _named(builder, array.storage)


def _keep(builder: LoopBuilder, name: str, stmt: syntax.For, start: Expr, stop: Expr) -> None:
    """Makes a name that a loop binds stand for an array of its own, which no other name stands for, so that the loop may overwrite
    it.

    Where its old array is no such one, that is a copy, made before the loop, which is then required to run. Raises NotAffineError
    where the loop may change the old array before it binds the name.

    start, stop: the lowered bounds of the loop
    """
    old = builder.known(name, builder.arrays[name], stmt.loc)
    if builder.is_own(old) and _named(builder, old.memory) == [name]:
        return
    binds = [k for k, s in enumerate(stmt.body) if _binds(s, name)]
    if not binds or _changes(builder, stmt.body, stmt.body[: binds[0]], old.memory):
        raise _not_kept("the array before the loop may change with it", stmt.loc)
    runs = syntax.Compare("<" if stmt.step > 0 else ">", start, stop)
    builder.require(runs, "a loop that does not run, behind which a name stands for what it did before", stmt.loc)
    builder.arrays[name] = builder.memory(old, name, stmt.loc)


def _named(builder: LoopBuilder, storage: str) -> list[str]:
    """Returns the names, of those that the kernel reads, that stand for an array in memory or a part of it."""
    arrays = {name: known for name, known in builder.arrays.items() if isinstance(known, Elements)}
    return [name for name, known in arrays.items() if known.storage == storage and builder.is_read(name)]


def _changes(builder: LoopBuilder, body: Sequence[Stmt], first: Sequence[Stmt], storage: str) -> bool:
    """Returns whether the first statements of a loop's body may change elements of an array in memory.

    body: all statements of the loop's body
    first: the ones that are looked at
    storage: the name of the array in memory
    """
    return any(_may_be(builder, body, name, storage) for name in _changed_names(first))


def _changed_names(body: Sequence[Stmt]) -> Iterator[str]:
    """Yields the names A that a block changes in place, by `A[i] = x` or `A += x`, and the names in their subscripts, such as i."""
    for stmt in statements(body):
        if not isinstance(stmt, syntax.Assign):
            continue
        if isinstance(stmt.target, syntax.Name):
            if stmt.in_place:
                yield stmt.target.name
        else:
            yield from filter(None, map(traversal.name_of, traversal.nodes(stmt.target)))


def _may_be(builder: LoopBuilder, body: Sequence[Stmt], name: str, storage: str) -> bool:
    """Returns whether a name may stand for an array in memory, or a part of it, at some place of a block that may bind it."""
    known = builder.arrays.get(name)
    if isinstance(known, Elements) and known.storage and builder.may_be_one(known.storage, storage):
        return True
    values = (s.value for s in statements(body) if isinstance(s, syntax.Assign) and _binds(s, name))
    return any(isinstance(value, (syntax.Name, syntax.Subscript, syntax.Part, syntax.Function)) for value in values)


def _binds(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, syntax.Assign) and stmt.target == syntax.Name(name) and not stmt.in_place


def _not_kept(why: str, loc: Loc | None) -> NotAffineError:
    return NotAffineError(f"a name is bound to another array in each iteration of a loop, and {why}", loc=loc, code="PML-F023")
