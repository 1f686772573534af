"""Loops that data end, as loops of the model: a `while`, or a `for` that `break` leaves.

    while rr > tol:                    for trip in range(trip_end):
        A                      ->          left = region: leaves the loop unless rr > tol
        if bad: break                      A              if trip < trip_end_1
        B                                  region: leaves the loop if bad
                                           B              if trip < trip_end_2

Where the loop ends, and which part of the last iteration runs, are numbers that nobody knows before: parameters of the model, which is exact for
all values that they may have. Each exit reads and writes the number `left`, so that iterations stay in order. In the code the parameters
are larger than any loop runs, and the exits alone end the loop.

(Benabderrahmane et al., "The polyhedral model is more widely applicable than you think", CC 2010, have exit predicates for the same.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polyml.dtypes import BOOL
from polyml.frontend import syntax, traversal
from polyml.frontend.name_resolution import left
from polyml.frontend.syntax import Stmt
from polyml.model.index_arrays.kernel_names import NewNames
from polyml.model.lowering.regions.region_building import halves
from polyml.source import Loc


@dataclass(frozen=True)
class EndedLoop:
    """An EndedLoop is a loop that data end, whose body is divided behind each statement that may leave it.

    parts: all of them but the last one end with a statement that may leave the loop
    label: what these leave
    """

    loop: syntax.For | syntax.While
    parts: tuple[tuple[Stmt, ...], ...]
    label: str

    @property
    def exits(self) -> tuple[Stmt, ...]:
        """Returns the statements that may leave the loop."""
        return tuple(part[-1] for part in self.parts[:-1])


def ended_loop(stmt: Stmt) -> EndedLoop | None:
    """Returns the loop that a statement is, if data end it: a `while`, or a loop in a Block of its own; None for other statements, and where
    the loop may leave more than itself.
    """
    if left((stmt,)):
        return None
    loop, label = stmt, ""
    if isinstance(stmt, syntax.Block) and len(stmt.body) == 1:
        loop, label = stmt.body[0], stmt.label
    if isinstance(loop, syntax.For):
        return EndedLoop(loop, _parts(loop.body), label) if label and loop.step > 0 else None
    if not isinstance(loop, syntax.While):
        return None
    label = label or f"_while {loop.loc}"
    ends = syntax.If(loop.condition, (), (syntax.Leave(label, loc=loop.loc),), loc=loop.loc)
    if isinstance(loop.condition, syntax.Const):
        return EndedLoop(loop, _parts(loop.body), label) if loop.condition.value else None
    return EndedLoop(loop, _parts((ends, *loop.body)), label)


def with_exits_behind(kernel: syntax.Kernel, places: Collection[Loc]) -> syntax.Kernel:
    """Returns a typed kernel in which the loops at these places, where a `return` or the `break` of an outer loop ends them, leave themselves
    alone; a number, which is tested behind them, tells what else is left.

    Returns the same object where there are none.
    """
    names = NewNames(kernel)
    numbers: list[str] = []
    body = _behind(kernel.body, places, names, numbers)
    return replace(kernel, body=body, scalars=(*kernel.scalars, *((name, BOOL) for name in numbers))) if numbers else kernel


def _behind(body: tuple[Stmt, ...], places: Collection[Loc], names: NewNames, numbers: list[str]) -> tuple[Stmt, ...]:
    """Returns a block with the exits of its loops behind these. numbers: the new ones, which are added to these"""
    made: list[Stmt] = []
    for stmt in body:
        loop = _loop_of(stmt)
        if isinstance(stmt, syntax.Block) and loop is not None:  # the loop's own Block
            loop = traversal.with_bodies(loop, lambda inner: _behind(inner, places, names, numbers))
            stmt = replace(stmt, body=(loop,))
        else:
            stmt = traversal.with_bodies(stmt, lambda inner: _behind(inner, places, names, numbers))
            loop = _loop_of(stmt)
        outer = {label: syntax.Name(names.fresh("leaves"), dtype=BOOL) for label in sorted(left((stmt,)))} if loop else {}
        if loop is None or loop.loc not in places or not outer:
            made.append(stmt)
            continue
        own = stmt.label if isinstance(stmt, syntax.Block) else f"_loop {loop.loc}"
        numbers += [number.name for number in outer.values()]
        made += [syntax.Assign(number, _truth(False), loc=loop.loc) for number in outer.values()]
        made.append(syntax.Block(own, tuple(_told((loop,), outer, own)), loc=loop.loc))
        made += [syntax.If(number, (syntax.Leave(label, loc=loop.loc),), (), loc=loop.loc) for label, number in outer.items()]
    return tuple(made)


def _told(body: Sequence[Stmt], outer: Mapping[str, syntax.Name], own: str) -> Iterator[Stmt]:
    """Yields statements that leave a loop's own Block in place of outer ones, and set the number of that one."""
    for stmt in body:
        if isinstance(stmt, syntax.Leave) and stmt.label in outer:
            yield syntax.Assign(outer[stmt.label], _truth(True), loc=stmt.loc)
            yield replace(stmt, label=own)
        else:
            yield traversal.with_bodies(stmt, lambda inner: tuple(_told(inner, outer, own)))


def _truth(value: bool) -> syntax.Const:
    return syntax.Const(value, dtype=BOOL)


def _loop_of(stmt: Stmt) -> syntax.For | syntax.While | None:
    """Returns the loop that a statement is, or that stands alone in a Block of its own; None for other statements."""
    loop = stmt.body[0] if isinstance(stmt, syntax.Block) and len(stmt.body) == 1 else stmt
    return loop if isinstance(loop, (syntax.For, syntax.While)) else None


def _parts(body: Sequence[Stmt]) -> tuple[tuple[Stmt, ...], ...]:
    parts: list[list[Stmt]] = [[]]
    for stmt in body:
        parts[-1].append(stmt)
        if left((stmt,)):
            parts.append([])
    return tuple(map(tuple, parts))


def ended_places(body: Sequence[Stmt]) -> Iterator[Loc]:
    """Yields the places of the outermost loops that data end and that no condition is around."""
    for stmt in body:
        found = ended_loop(stmt)
        if found is not None and found.loop.loc is not None:
            yield found.loop.loc
        elif isinstance(stmt, syntax.For):
            yield from ended_places(stmt.body)
        elif isinstance(stmt, syntax.Block):
            first, rest = halves(stmt.body)
            yield from ended_places(first)
            loop = _loop_of(rest[0]) if rest else None
            if loop is not None and loop.loc is not None and (isinstance(loop, syntax.While) or loop.step > 0):
                yield loop.loc  # it may leave this Block
