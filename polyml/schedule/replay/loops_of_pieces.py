"""The changes of one piece's loops: affine ones, loops over tiles, and directives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import islpy as isl

from polyml import polyhedra
from polyml.model.core.printer import integer_text
from polyml.schedule.replay.nests import Betas, Key, Level, Order, Piece, equal_on
from polyml.schedule.replay.row_operations import Matrix, RowOperation, operations_to
from polyml.schedule.replay.steps import Change, Combine, Direct, Insert, Interchange, Remove, Shift

Row = tuple[int, ...]


@dataclass(frozen=True)
class Skeleton:
    """A skeleton is an order without loops over tiles. kept: for each piece, the positions of its other loops among all."""

    order: Order
    kept: Mapping[Key, tuple[int, ...]]


def skeleton_of(wanted: Order) -> Skeleton:
    """Returns an order without those of its loops over tiles from which no piece gets the values of its iterators."""
    needed = {key: independent(piece) for key, piece in wanted.pieces.items()}
    kept = {}
    for key, piece in wanted.pieces.items():
        others = [(other, wanted.shared(key, other)) for other in wanted.pieces]
        kept[key] = tuple(
            at
            for at, level in enumerate(piece.levels)
            if not level.is_tile or any(at < depth and at in needed[other] for other, depth in others)
        )
    groups = {key: _grouped(piece.betas, kept[key]) for key, piece in wanted.pieces.items()}
    betas = _numbered(groups)
    pieces = {
        key: replace(piece, levels=tuple(piece.levels[at] for at in kept[key]), betas=betas[key])
        for key, piece in wanted.pieces.items()
    }
    return Skeleton(Order(pieces), kept)


def _grouped(betas: Betas, kept: Sequence[int]) -> list[Betas]:
    """Returns the positions between the kept loops, together for the loops that are left out."""
    ends = [*kept, len(betas) - 1]
    starts = [0, *(at + 1 for at in kept)]
    return [betas[start : end + 1] for start, end in zip(starts, ends)]


def _numbered(groups: Mapping[Key, Sequence[Betas]]) -> dict[Key, Betas]:
    """Returns for each piece its groups of positions as numbers: 0 for the least one behind equal ones, 1 for the next, and so on."""
    found: dict[Key, Betas] = {}
    for key, own in groups.items():
        numbers = []
        for depth, group in enumerate(own):
            beside = {
                tuple(other[depth]) for other in groups.values() if len(other) > depth and list(other[:depth]) == list(own[:depth])
            }
            numbers.append(sorted(beside).index(tuple(group)))
        found[key] = tuple(numbers)
    return found


def independent(piece: Piece) -> tuple[int, ...]:
    """Returns the positions of loops whose values are affine and linearly independent: as many as there are, and of loops over tiles only
    those that are needed.
    """
    found: list[int] = []
    rows: list[Row] = []
    order = sorted(range(len(piece.levels)), key=lambda at: (piece.levels[at].is_tile, at))
    for at in order:
        row = coefficients(piece.levels[at].value)
        if row is not None and _rank([*rows, row]) > len(rows):
            rows.append(row)
            found.append(at)
    return tuple(sorted(found))


def coefficients(value: isl.PwAff) -> Row | None:
    """Returns the coefficients of the iterators in { S[i] -> [(e)] }; None where e is not affine, or has fractions."""
    row = polyhedra.linear_row(value)
    if row is None or any(isinstance(name, polyhedra.Quotient) for name in row[0]):
        return None
    return tuple(row[0].get(k, 0) for k in range(polyhedra.dimensions(value.domain())))


def _rank(rows: Sequence[Row]) -> int:
    return len(_echelon(rows))


def _echelon(rows: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Returns the nonzero rows of the matrix after Gauss's elimination."""
    found: list[list[Fraction]] = []
    for given in rows:
        row = [Fraction(value) for value in given]
        for pivot in found:
            lead = next(k for k, value in enumerate(pivot) if value)
            if row[lead]:
                times = row[lead] / pivot[lead]
                row = [a - times * b for a, b in zip(row, pivot)]
        if any(row):
            found.append(row)
    return found


def affine_changes(source: Piece, wanted: Piece) -> list[Change]:
    """Returns the changes of a piece's loops after which it has the loops of `wanted`, which has no loops over tiles that depend on others."""
    steps = _Builder(source)
    kept = independent(wanted)
    rows = [coefficients(level.value) for level in source.levels]
    target = _completed([row for at in kept if (row := coefficients(wanted.levels[at].value)) is not None], rows)
    operations = None if target is None else operations_to(target)
    if operations is None:
        for level in wanted.levels:
            steps.insert(len(steps.piece.levels), level)
        for _ in source.levels:
            steps.remove(0)
        return steps.found
    for operation in operations:
        steps.operate(operation)
    for number, at in enumerate(kept):
        steps.shift(number, wanted.levels[at])
    for at, level in enumerate(wanted.levels):
        if at not in kept:
            steps.insert(at, level)
    while len(steps.piece.levels) > len(wanted.levels):
        steps.remove(len(wanted.levels))
    return steps.found


def _completed(wanted: Sequence[Row], source: Sequence[Row | None]) -> Matrix | None:
    """Returns the rows that are wanted as combinations of the source's rows, with more of the source's rows behind so that there are as many;
    None where these are no integers, or the source's loops are not affine and independent.
    """
    known = [row for row in source if row is not None]
    if len(known) < len(source) or _rank(known) < len(known):
        return None
    combined = [_combination(row, known) for row in wanted]
    if any(row is None for row in combined):
        return None
    found = [row for row in combined if row is not None]
    for k in range(len(known)):
        unit = tuple(int(k == column) for column in range(len(known)))
        if _rank([*found, unit]) > len(found):
            found.append(unit)
    return tuple(found)


def _combination(row: Row, basis: Sequence[Row]) -> Row | None:
    """Returns the integers by which rows of a basis are multiplied to add up to a row; None where there are none."""
    size = len(basis)
    tagged = [[*map(Fraction, each), *(Fraction(int(k == n)) for k in range(size))] for n, each in enumerate(basis)]
    rest = [*map(Fraction, row), *[Fraction(0)] * size]
    reduced: list[list[Fraction]] = []
    for each in [*tagged, rest]:
        for pivot in reduced:
            lead = next(k for k, value in enumerate(pivot) if value)
            if each[lead]:
                times = each[lead] / pivot[lead]
                each = [a - times * b for a, b in zip(each, pivot)]
        reduced.append(each)
    last = reduced[-1]
    if any(last[: len(row)]) or any(value.denominator != 1 for value in last):
        return None
    return tuple(-int(value) for value in last[len(row) :])


class _Builder:
    """A builder collects changes of a piece, and applies each, so that the next one's words have the loops' names."""

    def __init__(self, piece: Piece):
        self.piece = piece
        self.found: list[Change] = []

    def _do(self, change: Change) -> None:
        self.found.append(change)
        self.piece = change.applied(self.piece)

    def _name(self, at: int) -> str:
        return self.piece.levels[at].name

    def operate(self, operation: RowOperation) -> None:
        """Applies an operation on rows to the loops of these positions."""
        at, other = operation.at, operation.other
        if operation.is_interchange:
            self._do(Interchange("interchange", f"{self._name(at)}, {self._name(other)}", at, other))
        elif operation.times:
            words = f"{self._name(at)}, {self._name(other)}, {operation.times}"
            self._do(Combine("skew", words, at, operation.factor, other, operation.times))
        elif operation.factor == -1:
            self._do(Combine("reverse", self._name(at), at, -1))
        else:
            self._do(Combine("scale", f"{self._name(at)}, {operation.factor}", at, operation.factor))

    def shift(self, at: int, wanted: Level) -> None:
        """Shifts a loop so that it has the wanted value, of which the coefficients of iterators are those that it has already."""
        now = self.piece.levels[at].value
        if not equal_on(self.piece.instances, now, wanted.value):
            by = wanted.value.sub(now)
            self._do(Shift("shift", f"{self._name(at)}, {integer_text(by)}", at, by))

    def insert(self, at: int, level: Level) -> None:
        """Puts a loop at this position that runs the piece at the level's value."""
        self._do(Insert("embed", f"{level.name} = {integer_text(level.value)}", at, replace(level, words=())))

    def remove(self, at: int) -> None:
        """Takes the loop at this position away."""
        self._do(Remove("collapse", self._name(at), at))


def tile_changes(wanted: Piece, kept: Sequence[int]) -> list[Change]:
    """Returns the changes that put loops over tiles around a piece that has the loops at the positions `kept` of `wanted`."""
    missing = [at for at in range(len(wanted.levels)) if at not in kept]
    points = [wanted.levels[at] for at in kept]
    words = ", ".join(_tile_words(wanted.levels[at], points) for at in missing)
    return [Insert("tile", words, at, replace(wanted.levels[at], words=())) for at in missing]


def _tile_words(tile: Level, points: Sequence[Level]) -> str:
    """Returns a tile's size as in "i=32" where the loop goes over the tiles of another loop, else its own name."""
    for first in (tile.value, tile.value.scale_val(isl.Val(_divisor(tile.value)))):
        for point in points:
            within = point.value.sub(first)
            if (most := polyhedra.greatest(within)) is not None and polyhedra.greatest(within.neg()) == 0:
                return f"{point.name}={most + 1}"
    return tile.name


def _divisor(value: isl.PwAff) -> int:
    """Returns d of { S[i] -> [(floor(e/d))] }; 1 for other expressions."""
    row = polyhedra.linear_row(value)
    quotients = [(name, times) for name, times in (row[0] if row else {}).items() if isinstance(name, polyhedra.Quotient)]
    return quotients[0][0].divisor if len(quotients) == 1 and quotients[0][1] == 1 else 1


def directives(piece: Piece, wanted: Piece) -> list[Change]:
    """Returns the changes that give a piece's loops the directives of `wanted`."""
    found: list[Change] = []
    for at, (now, level) in enumerate(zip(piece.levels, wanted.levels)):
        if (now.words, now.is_tile) != (level.words, level.is_tile):
            kind, *more = level.words or ("tile",)
            found.append(Direct(kind.split("(")[0], ", ".join([level.name, *more]), at, level.words, level.is_tile))
    return found
