"""Lists that grow: a number of elements, and memory that is made larger where there is no room for one more.

out = []           ->    room = 16; alloc out[room]
out.append(x)      ->    if count >= room:
                             room *= 2; alloc out[room], which keeps the first count elements
                         out[count] = x

The parser counts the elements, in a number that is the first size of the list's allocation.
"""

from __future__ import annotations

import dataclasses

from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.arrays.loop_builder import LoopBuilder
from polyml.frontend.arrays.selecting import rooms
from polyml.frontend.arrays.shapes import Extent, Linear
from polyml.frontend.arrays.views import Elements

_FIRST_ROOM = 16  # of how many elements
_FACTOR = 2  # by which the room grows, so that all copies together are of no more elements than there are in the end


def begun(builder: LoopBuilder, stmt: syntax.Alloc) -> None:
    """Adds the allocation of a list without elements. stmt: as the parser has made it, with the name of the number of elements as its size

    Raises NotAffineError where data must not decide the sizes of arrays.
    """
    assert isinstance(stmt.shape, tuple)
    [count] = stmt.shape
    if not builder.late or not isinstance(count, syntax.Name):
        raise NotAffineError("a list that grows", loc=stmt.loc, notes=["polyml compiles: lists of fixed lengths"], code="PML-F030")
    room = syntax.Name(f"{stmt.name}.room", loc=stmt.loc)
    builder.out.append(syntax.Assign(room, syntax.Const(_FIRST_ROOM), loc=stmt.loc))
    builder.out.append(dataclasses.replace(stmt, shape=(room,)))
    builder.grows(stmt.name, count.name, rooms.in_rows(stmt.name, (Extent(Linear.of(count)),)))


def is_append(stmt: syntax.Stmt) -> bool:
    """Returns whether a statement stores an element behind the last one of a list."""
    target = stmt.target if isinstance(stmt, syntax.Assign) else None
    return isinstance(target, syntax.Subscript) and any(map(_is_behind, target.indices))


def _is_behind(index: syntax.Expr) -> bool:
    return isinstance(index, syntax.Call) and index.function == "behind"


def appended(builder: LoopBuilder, stmt: syntax.Assign) -> None:
    """Adds the statements that store an element behind the last one. Raises NotAffineError for an element that is an array."""
    target, value = stmt.target, builder.value(stmt.value)
    assert isinstance(target, syntax.Subscript)
    if isinstance(value, Elements):
        raise NotAffineError(
            "a list that has arrays in it", loc=stmt.loc, notes=["polyml compiles: lists of numbers"], code="PML-F006"
        )
    own = builder.array(target.array, stmt.loc)
    count = own.shape[0].expr
    room, kind = syntax.Name(f"{own.memory}.room"), syntax.TypeOf(syntax.Const(0, loc=stmt.loc), "listed", loc=stmt.loc)
    larger = syntax.Binary("*", room, syntax.Const(_FACTOR))
    is_full = syntax.Compare(">=", count, room)
    [place] = target.indices
    assert isinstance(place, syntax.Call)
    if len(place.args) > 1:  # room for so many elements
        used = syntax.Binary("+", count, place.args[1])
        larger, is_full = syntax.Binary("max", larger, used), syntax.Compare(">", used, room)
    grown = syntax.Alloc(own.memory, (room, count), kind, None, late=True, loc=stmt.loc)
    builder.out.append(syntax.If(is_full, (syntax.Assign(room, larger), grown), loc=stmt.loc))
    builder.out.append(dataclasses.replace(stmt, target=own.lvalue((count,)), value=value, in_place=False))


def assigned(element: syntax.Subscript) -> syntax.Subscript:
    """Returns an element of a list as what is assigned, for which Python's error of an index has a text of its own."""

    def told(index: syntax.Expr) -> syntax.Expr:
        if isinstance(index, syntax.Binary):  # in a block of a list of lists
            return dataclasses.replace(index, right=told(index.right))
        if not isinstance(index, syntax.Call) or (index.function, index.module) != ("position", "list"):
            return index
        return dataclasses.replace(index, module="list assignment")

    return dataclasses.replace(element, indices=tuple(map(told, element.indices)))
