"""The steps of a replay: each is data, and changes the vectors of some statements.

interchange(j, k)    S: 0, i, 0, j, 0, k, 0    ->    0, i, 0, k, 0, j, 0
skew(i, t, 2)        S: 0, t, 0, i, 0          ->    0, t, 0, i + 2t, 0
tile(i=32)           S: 0, i, 0                ->    0, 32*floor(i/32), 0, i, 0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Union

import islpy as isl

from polyml.schedule.replay.nests import Betas, Key, Level, Order, Piece


@dataclass(frozen=True)
class _Named:
    """What all changes of the loops around one piece have.

    kind: the name of the step, as `Step.kind` has it.
    words: its arguments, as a script writes them.
    """

    kind: str
    words: str


@dataclass(frozen=True)
class Interchange(_Named):
    """Two loops are exchanged. first, second: their positions."""

    first: int
    second: int

    def applied(self, piece: Piece) -> Piece:
        """Returns the piece with the two loops exchanged."""
        levels = list(piece.levels)
        levels[self.first], levels[self.second] = levels[self.second], levels[self.first]
        return replace(piece, levels=tuple(levels))


@dataclass(frozen=True)
class Combine(_Named):
    """A loop's value becomes factor times itself, plus `times` the value of another loop: a reversal, a scaling or a skew.

    at: the loop's position.
    other: that of the other loop.
    """

    at: int
    factor: int = 1
    other: int = 0
    times: int = 0

    def applied(self, piece: Piece) -> Piece:
        """Returns the piece with the loop's new value."""
        value = piece.levels[self.at].value.scale_val(isl.Val(self.factor))
        if self.times:
            value = value.add(piece.levels[self.other].value.scale_val(isl.Val(self.times)))
        return _with_value(piece, self.at, value)


@dataclass(frozen=True)
class Shift(_Named):
    """A loop runs a piece some iterations later. by: { S[i] -> [(e)] }, where e has sizes alone."""

    at: int
    by: isl.PwAff

    def applied(self, piece: Piece) -> Piece:
        """Returns the piece with the shifted loop."""
        return _with_value(piece, self.at, piece.levels[self.at].value.add(self.by))


@dataclass(frozen=True)
class Insert(_Named):
    """A loop is put around a piece: over tiles, or one that runs each instance at one iteration. level: the loop; at: its position."""

    at: int
    level: Level

    def applied(self, piece: Piece) -> Piece:
        """Returns the piece inside the further loop."""
        levels, betas = list(piece.levels), list(piece.betas)
        levels.insert(self.at, self.level)
        betas.insert(self.at + 1, 0)
        return replace(piece, levels=tuple(levels), betas=tuple(betas))


@dataclass(frozen=True)
class Remove(_Named):
    """A loop around a piece is taken away: it has one iteration, or the others have its order. at: its position."""

    at: int

    def applied(self, piece: Piece) -> Piece:
        """Returns the piece without the loop."""
        levels, betas = list(piece.levels), list(piece.betas)
        del levels[self.at], betas[self.at + 1]
        return replace(piece, levels=tuple(levels), betas=tuple(betas))


@dataclass(frozen=True)
class Direct(_Named):
    """A loop gets directives, such as "parallel". at: its position; directives: the words; is_tile: whether it goes over tiles."""

    at: int
    directives: tuple[str, ...]
    is_tile: bool

    def applied(self, piece: Piece) -> Piece:
        """Returns the piece with the directives on the loop."""
        levels = list(piece.levels)
        levels[self.at] = replace(levels[self.at], words=self.directives, is_tile=self.is_tile)
        return replace(piece, levels=tuple(levels))


Change = Union[Interchange, Combine, Shift, Insert, Remove, Direct]


def _with_value(piece: Piece, at: int, value: isl.PwAff) -> Piece:
    levels = list(piece.levels)
    levels[at] = replace(levels[at], value=value.coalesce())
    return replace(piece, levels=tuple(levels))


@dataclass(frozen=True)
class Step:
    """A step of a replay has a name, as transformations are called, and says what it changes.

    kind: "split", "distribute", "fuse", "reorder", "interchange", "reverse", "scale", "skew", "shift", "embed", "collapse", "tile" or "direct".
    words: its arguments, as a script writes them.
    statements: whose loops it changes.
    changes: for each piece, what becomes of its loops.
    betas: for each piece, its new positions in blocks.
    parts: for each statement that is split, the instances of its pieces.
    """

    kind: str
    words: str
    statements: tuple[str, ...]
    changes: Mapping[Key, tuple[Change, ...]] | None = None
    betas: Mapping[Key, Betas] | None = None
    parts: Mapping[str, tuple[isl.Set, ...]] | None = None

    def __str__(self) -> str:
        return f"{self.kind}({self.words})"

    def applied(self, order: Order) -> Order:
        """Returns the order after the step."""
        if self.parts is not None:
            rest = {key: piece for key, piece in order.pieces.items() if key[0] not in self.parts}
            for name, parts in self.parts.items():
                whole = order.pieces[name, 0]
                rest |= {(name, number): replace(whole, number=number, instances=own) for number, own in enumerate(parts)}
            return Order(rest)
        changed = {}
        for key, betas in (self.betas or {}).items():
            changed[key] = replace(order.pieces[key], betas=betas)
        for key, changes in (self.changes or {}).items():
            piece = order.pieces[key]
            for change in changes:
                piece = change.applied(piece)
            changed[key] = piece
        return order.with_pieces(changed)
