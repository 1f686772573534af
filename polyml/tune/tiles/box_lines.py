"""How many lines boxes of a nest's iterations use of each array, and how many are fetched where tiles of it do not all stay in a
cache: estimates, for tiles of many sizes at once.

References to an array that move alike use a box of its indices. Boxes are rows next to each other or apart; how a row lies on
lines is averaged over where tiles begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

import numpy as np

from polyml import polyhedra
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.model.core.scop import Scop

Counts = Sequence[int | np.ndarray]  # of iterations, by loop; arrays go together


@dataclass(frozen=True)
class Moving:
    """References to an array that the loops of a nest move alike. start: the address of the first of their elements in the middle
    iteration. wide: how many indices they are apart, by dimension; units: what differences of indices are multiples of. moves:
    by loop and dimension, indices per iteration. references: how many elements they are.
    """

    array: str
    place: Placed
    start: int
    wide: tuple[float, ...]
    units: tuple[int, ...]
    moves: tuple[tuple[float, ...], ...]
    references: int


def moving(
    scop: Scop, statements: Mapping[str, Sequence[int | None]], middles: Mapping[str, Sequence[int]], sizes: Mapping[str, int],
    places: Mapping[str, Placed],
) -> list[Moving]:  # fmt: skip
    """statements: of a nest, each with the iterator that each loop counts. middles: of their iterators. Quotients are taken for
    fractions, alternatives for the first of them.
    """
    found: dict[tuple, list[tuple[float, ...]]] = {}
    for statement, iterators in statements.items():
        for access in reads_and_write(scop.statements[statement]):
            if access.array in places:
                terms = [_terms(subscript, sizes) for subscript in access.subscripts]
                moves = tuple(tuple(row.get(k, 0.0) for row, _ in terms) for k in iterators)
                first = (c + sum(row.get(k, 0.0) * m for k, m in enumerate(middles[statement])) for row, c in terms)
                found.setdefault((access.array, moves), []).append(tuple(first))
    return [united(array, places[array], moves, firsts) for (array, moves), firsts in found.items()]


def united(array: str, place: Placed, moves: tuple[tuple[float, ...], ...], firsts: Sequence[tuple[float, ...]]) -> Moving:
    """firsts: the indices of each reference in the middle iteration."""
    low, high = list(map(min, zip(*firsts))), list(map(max, zip(*firsts)))
    start = place.address + sum(int(index) * stride for index, stride in zip(low, place.strides))
    wide = tuple(upper - lower for upper, lower in zip(high, low))
    return Moving(array, place, start, wide, tuple(_unit(dim, moves, firsts) for dim in range(len(low))), moves, len({*firsts}))


def _unit(dim: int, moves: tuple[tuple[float, ...], ...], firsts: Sequence[tuple[float, ...]]) -> int:
    return max(1, gcd(*(int(move[dim]) for move in moves), *(int(first[dim] - firsts[0][dim]) for first in firsts)))


def _terms(subscript, sizes: Mapping[str, int]) -> tuple[dict[int, float], float]:
    """Coefficients of iterators, and the rest for these sizes."""
    _, (terms, constant), divisor = polyhedra.rows_by_piece(subscript)[0]
    found: dict[int, float] = {}
    rest = _add(terms, constant, 1 / divisor, sizes, found)
    return found, rest


def _add(terms: Mapping, constant: int, factor: float, sizes: Mapping[str, int], found: dict[int, float]) -> float:
    rest = constant * factor
    for name, c in terms.items():
        if isinstance(name, int):
            found[name] = found.get(name, 0.0) + c * factor
        elif isinstance(name, str):
            rest += c * factor * sizes.get(name, 0)
        else:
            rest += _add(dict(name.terms), name.constant, c * factor / name.divisor, sizes, found)
    return rest


def lines(references: Sequence[Moving], counts: Counts, line_bytes: int) -> dict[str, np.ndarray]:
    """By array, of boxes of so many iterations."""
    found: dict[str, np.ndarray] = {}
    for each in references:
        found[each.array] = found.get(each.array, 0.0) + _lines(each, counts, line_bytes)
    whole = {each.array: -(-each.place.size_bytes // line_bytes) + 1 for each in references}
    return {array: np.minimum(count, whole[array]) for array, count in found.items()}


def _lines(each: Moving, counts: Counts, line_bytes: int) -> np.ndarray:
    length, apart, span = np.float64(each.place.element_bytes), np.float64(1), np.float64(each.place.element_bytes)
    grain = np.int64(line_bytes)
    for dim in sorted(range(len(each.wide)), key=lambda dim: each.place.strides[dim]):
        stride, unit, extent = each.place.strides[dim], each.units[dim], 1 + each.wide[dim]
        extent = extent + sum(abs(move[dim]) * (count - 1) for move, count in zip(each.moves, counts))
        stride, extent = stride * unit, (extent - 1) // unit + 1
        joined = stride - length < line_bytes  # no line is between
        span = span + stride * (extent - 1)
        grain = np.where(joined | (extent == 1), grain, np.gcd(grain, int(stride)))
        length, apart = np.where(joined, length + stride * (extent - 1), length), np.where(joined, apart, apart * extent)
    for move, count in zip(each.moves, counts):
        step = int(sum(abs(c) * stride for c, stride in zip(move, each.place.strides)))
        grain = np.gcd(grain, step * np.asarray(count, np.int64))
    points = each.references * prod((count for move, count in zip(each.moves, counts) if any(move)), start=np.float64(1))
    on_each = _on_lines(length, grain, each.start, line_bytes)
    return np.minimum(np.minimum(on_each * apart, span / line_bytes + 1), points)


def _on_lines(length: np.ndarray, grain: np.ndarray, start: int, line_bytes: int) -> np.ndarray:
    """The lines of so many bytes, in the mean over where they begin, which differs by multiples of the grain."""
    number = line_bytes // grain
    total = np.zeros(np.broadcast(length, grain).shape)
    for m in range(int(np.max(number))):
        first = (start % grain + m * grain) % line_bytes
        total = total + np.where(m < number, np.ceil((first + length) / line_bytes), 0)
    return total / number


Crowding = Callable[[str, int], float]  # of an array, in a box of that number: which part of its lines does not stay


@dataclass(frozen=True)
class Boxes:
    """The boxes of iterations inside one another in tiles of a nest: one iteration of the first k loops over tiles, then of the
    first k loops inside a tile. trips: of the loops over tiles and inside of them, of those with a part of a tile
    at the end. lines: by array, of each box.
    """

    trips: tuple[np.ndarray, ...]
    lines: Mapping[str, tuple[np.ndarray, ...]]

    @property
    def depth(self) -> int:
        """How many loops are tiled; also the number of the box that a tile is."""
        return len(self.trips) // 2

    def at(self, places: Sequence[int]) -> Boxes:
        """Of tiles of one size, where sizes are axes."""

        def one(values: np.ndarray) -> float:
            if np.ndim(values) == 0:
                return float(values)
            return float(values[tuple(min(place, length - 1) for place, length in zip(places, values.shape))])

        return Boxes(tuple(map(one, self.trips)), {array: tuple(map(one, each)) for array, each in self.lines.items()})

    def total(self, number: int) -> np.ndarray:
        return sum(each[number] for each in self.lines.values())

    def fetched(self, capacity: float, crowding: Crowding | None = None) -> np.ndarray:
        """By the whole nest into a cache of so many lines. crowding: where there is but one tile size, as `at` gives."""
        totals = [self.total(number) for number in range(len(self.trips) + 1)]
        return sum(self._fetched(array, totals, capacity, crowding) for array in self.lines)

    def _fetched(self, array: str, totals: Sequence[np.ndarray], capacity: float, crowding: Crowding | None) -> np.ndarray:
        """From one iteration of a loop to the next, what both use stays where the lines between fit: those of an iteration, or
        where loops inside go through all of the array's lines again and again, those of one iteration of these.
        """
        own = self.lines[array]
        between, box = totals[-1], len(self.trips)
        found = own[-1]
        for number in reversed(range(len(self.trips))):
            moves = own[number] != own[number + 1]
            again = _either(moves, self.trips[number], -(-self.trips[number] // 1)) * found
            fits, stays = between <= capacity, own[number]
            if crowding is not None and fits:
                stays = stays + crowding(array, box) * max(0.0, again - stays)
            found = _either(fits, stays, again)
            between, box = _either(moves, totals[number], between), _either(moves, number, box)
        return found


def _either(test: bool | np.ndarray, yes, no):
    """np.where, which takes long for one number."""
    return (yes if test else no) if isinstance(test, bool) else np.where(test, yes, no)


def boxes(references: Sequence[Moving], sizes: Counts, extents: Sequence[int], line_bytes: int) -> Boxes:
    """sizes: of tiles, by loop."""
    shapes = [(*sizes[:k], *extents[k:]) for k in range(len(sizes))] + [(*[1] * k, *sizes[k:]) for k in range(len(sizes) + 1)]
    by_box = [lines(references, shape, line_bytes) for shape in shapes]
    trips = (*(np.asarray(extent / size) for extent, size in zip(extents, sizes)), *map(np.asarray, sizes))
    return Boxes(trips, {array: tuple(each[array] for each in by_box) for array in by_box[0]})
