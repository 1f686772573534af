"""Rebinding: names that a loop binds to a new array in each iteration, or each of several paths to one, have one array in memory.

    for t in range(n):                          u.1[:] = u
        u = (u[1:] + u[:-1]) / 2    ->          for t in range(n):
                                                    u.1[:] = (...)

This is right where nothing else names the array that the name leaves, the new one has its shape and type, and, if the
array that the name stood for before the loop is seen elsewhere, the loop runs and changes no element before it binds.

    if c:                                       u = np.empty(n)
        u = x * 2                               if c:
    else:                      ->                   u[:] = x * 2
        u = np.zeros(n)                         else:
                                                    u[:] = 0
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from polyml.dtypes import DType
from polyml.errors import NotAffineError
from polyml.frontend import syntax, traversal
from polyml.frontend.arrays.bindings import Uncertain, bound
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
    return [name for name, known in arrays.items() if known.storage == storage and builder.is_read(name, known)]


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


# -- names that are bound to another new array on each of several paths ------------------------------------------------


def join(builder: LoopBuilder, paths: Sequence[Mapping[str, Elements | Uncertain]], body: Stmt, where: str) -> Stmt:
    """Joins the ways through a statement, and returns it with one array in the place of several that its paths bind a name to.

    Names that stand for different arrays at the ends of paths stand for an Uncertain behind it, unless these are new arrays of one
    shape of which each path makes one: then they have one memory, which is allocated before the statement.

    paths: what the names stand for at the end of each path that goes on behind the statement
    where: how a message says where a name is bound to several arrays
    """
    names = sorted({name for path in paths for name in path})
    groups: dict[tuple[Elements, ...], list[str]] = {}
    for name in names:
        versions = tuple(path.get(name) for path in paths)
        if all(version is versions[0] for version in versions):
            builder.arrays[name] = paths[0][name]
            continue
        builder.arrays[name] = next(
            (v for v in versions if isinstance(v, Uncertain)), Uncertain(f"`{name}` is bound to an array {where}")
        )
        arrays = tuple(v for v in versions if isinstance(v, Elements))
        if len(arrays) == len(versions):
            groups.setdefault(arrays, []).append(name)
            if not _may_be_alike(arrays):
                builder.arrays[name] = Uncertain(f"`{name}` is bound to arrays of other shapes {where}")
    memories = [memory for versions in groups for memory in {version.storage for version in versions}]
    for versions, same in groups.items():
        if all(memories.count(version.storage) == 1 for version in versions):
            body = _joined(builder, versions, same, body)
    return body


def _joined(builder: LoopBuilder, versions: Sequence[Elements], names: Sequence[str], body: Stmt) -> Stmt:
    """Returns a statement in which all versions of an array have the memory of the first one; the statement itself where it has to
    stay as it is.

    names: those that stand for the versions, one version at the end of each path
    """
    memories = list(dict.fromkeys(v.storage for v in versions))
    allocations = {s.name: s for s in statements((body,)) if isinstance(s, syntax.Alloc) and s.name in memories}
    made_inside = set(bound((body,)))
    first, *others = versions
    sizes = [extent.length.expr for version in versions for extent in version.shape]
    seen_elsewhere = any(
        isinstance(known, Elements) and known.storage in memories and name not in names and builder.is_read(name, known)
        for name, known in builder.arrays.items()
    )
    if (
        seen_elsewhere
        or len(allocations) < len(memories)
        or not all(map(builder.is_own, versions))
        or not _may_be_alike(versions)
        or any(traversal.name_of(node) in made_inside for size in sizes for node in traversal.nodes(size))
        or any(
            traversal.name_of(node) in made_inside for s in _shape(allocations[str(first.storage)]) for node in traversal.nodes(s)
        )
        or len({memory in builder.truths for memory in memories}) > 1
        or any(_sample(allocation) is None and not _is_joined(allocation) for allocation in allocations.values())
        or not _one_on_each_path(body, frozenset(map(str, memories)))
    ):
        return body
    for other in others:
        for extent, its in zip(first.shape, other.shape):
            require_equal(extent, its, "a name that is bound to arrays of several shapes", builder.require, body.loc)
    kept = allocations[first.memory]
    own = syntax.Like(first.memory, loc=kept.loc)
    builder.out.append(dataclasses.replace(kept, element=own, fill=None))
    for name in names:
        builder.arrays[name] = first
    return _in_one_memory(builder, body, dict.fromkeys(map(str, memories), first.memory), first)[0]


def _may_be_alike(versions: Sequence[Elements]) -> bool:
    """Returns whether arrays may have the same shape."""
    first, *others = versions
    differences = [a.length - b.length for other in others for a, b in zip(first.shape, other.shape)]
    return all(other.rank == first.rank for other in others) and not any(d.is_constant and d.constant for d in differences)


def _shape(stmt: syntax.Alloc) -> tuple[Expr, ...]:
    return stmt.shape if isinstance(stmt.shape, tuple) else (stmt.shape,)


def _is_joined(stmt: syntax.Alloc) -> bool:
    """Returns whether an array already has elements that several paths make, which say what type they have."""
    return stmt.element == syntax.Like(stmt.name)


def _sample(stmt: syntax.Alloc) -> Expr | None:
    """Returns an expression of the type of the elements of a new array; None where they have a type of another kind."""
    if isinstance(stmt.element, DType):
        return syntax.Cast(syntax.Const(0), stmt.element, loc=stmt.loc)
    if isinstance(stmt.element, syntax.TypeOf):
        return stmt.element.of if not stmt.element.function else None
    return stmt.fill if stmt.element is None else None


def _in_one_memory(builder: LoopBuilder, stmt: Stmt, memory: Mapping[str, str], array: Elements) -> tuple[Stmt, ...]:
    """Returns a statement in which arrays have the memory of another one. memory: by their names, that one's name"""
    if isinstance(stmt, syntax.Alloc) and stmt.name in memory and _is_joined(stmt):
        return ()
    if isinstance(stmt, syntax.Alloc) and stmt.name in memory:
        sample, outer = _sample(stmt), builder.out
        element = syntax.Subscript(array.memory, (syntax.Const(0),) * array.rank, inside=True)
        typed = syntax.Call("element_type", (element, sample or element), loc=stmt.loc)
        builder.out = [syntax.Require(typed, "an array of another type", loc=stmt.loc)]
        fill = stmt.fill
        if fill is not None:
            builder.loops(array.shape, lambda p: [syntax.Assign(array.lvalue(p), fill, whole=True, loc=stmt.loc)], stmt.loc)
        made, builder.out = tuple(builder.out), outer
        return made

    def name(node: Expr) -> str:
        own = traversal.named(node)
        return memory.get(own, own)

    renamed = traversal.map_reads(stmt, lambda expr: traversal.rename(expr, name))
    within = lambda body: tuple(made for each in body for made in _in_one_memory(builder, each, memory, array))  # noqa: E731
    return (traversal.with_bodies(renamed, within),)


def _one_on_each_path(stmt: Stmt, memories: frozenset[str]) -> bool:
    """Returns whether each path through a statement allocates at most one of several arrays, and none in each iteration of a loop."""
    leaves: dict[str, set[str]] = {}

    def block(body: Sequence[Stmt], made: set[str] | None) -> set[str] | None:
        for each in body:
            if made is None:
                return None
            made = after(each, made)
        return made

    def after(each: Stmt, made: set[str]) -> set[str] | None:
        match each:
            case syntax.Alloc(name=name) if name in memories:
                if made - {name}:
                    raise _Several
                return made | {name}
            case syntax.If():
                ends = [end for end in (block(each.then, made), block(each.orelse, made)) if end is not None]
                return set().union(*ends) if ends else None
            case syntax.For() | syntax.While():
                if (block(each.body, made) or made) != made:
                    raise _Several
                return made
            case syntax.Block():
                end = block(each.body, made)
                left = leaves.pop(each.label, None)
                return end if left is None else left | (end or set())
            case syntax.Leave():
                leaves.setdefault(each.label, set()).update(made)
                return None
            case syntax.Raise():
                return None
        return made

    try:
        block((stmt,), set())
    except _Several:
        return False
    return True


class _Several(Exception):
    """The exception that says that a path allocates several arrays."""
