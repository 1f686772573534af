"""Estimates of the cache lines that boxes of a nest's iterations access, and that a cache fetches, for many tile sizes at once.

References to an array that move alike access a box of its indices. The rows of a box lie next to each other in memory, or with
other lines between them; how many lines a row takes is the mean over where tiles begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed
from polyml.model.core.scop import Scop

Numbers = np.ndarray | np.float64 | float  # one for each tile size, or one
Counts = Sequence[int | np.ndarray]  # iterations of each loop, outermost first; arrays broadcast with one another


@dataclass(frozen=True)
class Moving:
    """A Moving is a group of references to one array in a nest whose subscripts change alike: an iteration of a loop adds the same
    numbers to the indices of all of them, as with A[i, j] and A[i + 1, j].

    place: the array's address and strides.
    start: the address of the first element that the references access in the nest's middle iteration, in which all iterators are in
        the middle of their ranges.
    wide: for each dimension of the array, the greatest minus the least index that the references have in one iteration.
    units: for each dimension, a common divisor of all differences between indices that are accessed.
    moves: for each loop and each dimension, what one iteration of the loop adds to the index.
    references: how many different elements are accessed in one iteration.
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
    """Returns a nest's references to the arrays in `places`, in groups: an iteration of a loop adds the same numbers to the indices
    of all references of a group.

    A quotient in a subscript, such as i // 2, is taken for the fraction i / 2; of a subscript that is defined by cases, the first
    case counts.

    statements: statement -> for each loop of the nest, which of the statement's iterators it counts; None where it counts none.
    middles: statement -> for each iterator, the middle of its range.
    sizes: values of parameters.
    places: the arrays' addresses and strides.
    """
    found: dict[tuple[str, tuple[tuple[float, ...], ...]], list[tuple[float, ...]]] = {}
    for statement, iterators in statements.items():
        for access in reads_and_write(scop.statements[statement]):
            if access.array in places:
                terms = [_terms(subscript, sizes) for subscript in access.subscripts]
                moves = tuple(tuple(0.0 if k is None else row.get(k, 0.0) for row, _ in terms) for k in iterators)
                first = (c + sum(row.get(k, 0.0) * m for k, m in enumerate(middles[statement])) for row, c in terms)
                found.setdefault((access.array, moves), []).append(tuple(first))
    return [united(array, places[array], moves, firsts) for (array, moves), firsts in found.items()]


def united(array: str, place: Placed, moves: tuple[tuple[float, ...], ...], firsts: Sequence[tuple[float, ...]]) -> Moving:
    """Returns as one `Moving` several references to an array that an iteration of each loop moves by the same numbers of indices.

    moves: for each loop and each dimension, what one iteration of the loop adds to the index.
    firsts: the indices of each reference in the nest's middle iteration.
    """
    low, high = list(map(min, zip(*firsts))), list(map(max, zip(*firsts)))
    start = place.address + sum(int(index) * stride for index, stride in zip(low, place.strides))
    wide = tuple(upper - lower for upper, lower in zip(high, low))
    return Moving(array, place, start, wide, tuple(_unit(dim, moves, firsts) for dim in range(len(low))), moves, len({*firsts}))


def _unit(dim: int, moves: tuple[tuple[float, ...], ...], firsts: Sequence[tuple[float, ...]]) -> int:
    """Returns a common divisor of all differences between indices that are accessed along the dimension `dim`; arguments as in
    `united`.
    """
    return max(1, gcd(*(int(move[dim]) for move in moves), *(int(first[dim] - firsts[0][dim]) for first in firsts)))


def _terms(subscript: isl.PwAff, sizes: Mapping[str, int]) -> tuple[dict[int, float], float]:
    """Returns the coefficients of a subscript by iterator, and its constant part at these values of parameters."""
    _, (terms, constant), divisor = polyhedra.rows_by_piece(subscript)[0]
    found: dict[int, float] = {}
    rest = _add(terms, constant, 1 / divisor, sizes, found)
    return found, rest


def _add(
    terms: Mapping[str | int | polyhedra.Quotient, int],
    constant: int,
    factor: float,
    sizes: Mapping[str, int],
    found: dict[int, float],
) -> float:
    """Adds factor * coefficient to `found` for each iterator in an expression, and returns factor * the value of all that has no
    iterator in it, for the given sizes.

    terms, constant: the expression; a quotient in it is taken for a fraction.
    """
    rest = constant * factor
    for name, c in terms.items():
        if isinstance(name, int):
            found[name] = found.get(name, 0.0) + c * factor
        elif isinstance(name, str):
            rest += c * factor * sizes.get(name, 0)
        else:
            rest += _add(dict(name.terms), name.constant, c * factor / name.divisor, sizes, found)
    return rest


def lines(references: Sequence[Moving], counts: Counts, line_bytes: int) -> dict[str, Numbers]:
    """Returns for each array how many cache lines a box (a part of a nest's iterations) accesses, for all tile sizes at once.

    references: the references of the nest, in groups (see `Moving`).
    counts: how many iterations of each loop are in the box: numbers, or arrays of numbers by tile size.
    """
    found: dict[str, Numbers] = {}
    for each in references:
        found[each.array] = found.get(each.array, 0.0) + _lines(each, counts, line_bytes)
    whole = {each.array: -(-each.place.size_bytes // line_bytes) + 1 for each in references}
    return {array: np.minimum(count, whole[array]) for array, count in found.items()}


def _lines(each: Moving, counts: Counts, line_bytes: int) -> Numbers:
    """Returns how many cache lines one group of references accesses in a box that has `counts` iterations of each loop."""
    length: Numbers = np.float64(each.place.element_bytes)  # of a run without gaps of a line or more
    runs: Numbers = np.float64(1)
    span: Numbers = np.float64(each.place.element_bytes)
    grain: np.ndarray | np.int64 = np.int64(line_bytes)
    for dim in sorted(range(len(each.wide)), key=lambda dim: each.place.strides[dim]):
        stride, unit = each.place.strides[dim], each.units[dim]
        extent: Numbers = 1 + each.wide[dim] + sum(abs(move[dim]) * (count - 1) for move, count in zip(each.moves, counts))
        stride, extent = stride * unit, (extent - 1) // unit + 1
        joined = stride - length < line_bytes  # no line is between
        span = span + stride * (extent - 1)
        grain = np.where(joined | (extent == 1), grain, np.gcd(grain, int(stride)))
        length, runs = np.where(joined, length + stride * (extent - 1), length), np.where(joined, runs, runs * extent)
    for move, count in zip(each.moves, counts):
        step = int(sum(abs(c) * stride for c, stride in zip(move, each.place.strides)))
        grain = np.gcd(grain, step * np.asarray(count, np.int64))
    points = each.references * prod((count for move, count in zip(each.moves, counts) if any(move)), start=np.float64(1))
    on_each = _on_lines(length, grain, each.start, line_bytes)
    return np.minimum(np.minimum(on_each * runs, span / line_bytes + 1), points)


def _on_lines(length: Numbers, grain: np.ndarray | np.int64, start: int, line_bytes: int) -> np.ndarray:
    """Returns how many cache lines `length` contiguous bytes touch, as the mean over the addresses at which they may begin: `start`
    and all multiples of `grain` bytes after it.
    """
    number = line_bytes // grain
    total = np.zeros(np.broadcast(length, grain).shape)
    for m in range(int(np.max(number))):
        first = (start % grain + m * grain) % line_bytes
        total = total + np.where(m < number, np.ceil((first + length) / line_bytes), 0)
    return total / number


Crowding = Callable[[str, int], float]  # an array, the number of a box -> the share of the array's lines there that do not remain


@dataclass(frozen=True)
class Boxes:
    """A Boxes holds how many cache lines the boxes of a tiled nest access. A box is a part of the nest's iterations.

    Box 0 is the whole nest. Box k has one iteration of each of the k outermost loops, and all of the loops inside them; the loops
    over tiles are outside those over the points of a tile.

    trips: iterations of each loop over tiles, then of each loop inside a tile; with a fraction where the last tile is partial.
    lines: array -> for each box from 0 on, how many lines of the array it accesses.
    """

    trips: tuple[Numbers, ...]
    lines: Mapping[str, tuple[Numbers, ...]]

    @property
    def depth(self) -> int:
        """Returns how many loops are tiled. The box with this number has one iteration of each loop over tiles: it is one tile."""
        return len(self.trips) // 2

    def at(self, indices: Sequence[int]) -> Boxes:
        """Returns the boxes for one of the tile sizes, where these boxes are for all of them at once.

        indices: for each loop, the position of its tile size in the list of the loop's sizes.
        """

        def one(values: Numbers) -> float:
            found = np.asarray(values)
            return float(found[tuple(min(index, length - 1) for index, length in zip(indices, found.shape))])

        return Boxes(tuple(map(one, self.trips)), {array: tuple(map(one, each)) for array, each in self.lines.items()})

    def total(self, number: int) -> Numbers:
        """Returns how many lines of all arrays the box of this number accesses."""
        return sum((each[number] for each in self.lines.values()), 0.0)

    def fetched(self, capacity: float, crowding: Crowding | None = None) -> Numbers:
        """Returns how many lines all arrays together need from behind a cache while the whole nest runs.

        capacity: lines that the cache holds.
        crowding: a function of (array, number of a box): the share of the array's lines in the box that do not remain in the cache
            because too many of them fall into the same sets. Only for boxes of one tile size; None: all remain.
        """
        totals = [self.total(number) for number in range(len(self.trips) + 1)]
        return sum((self._fetched(array, totals, capacity, crowding) for array in self.lines), 0.0)

    def _fetched(self, array: str, totals: Sequence[Numbers], capacity: float, crowding: Crowding | None) -> Numbers:
        """Returns how many lines of one array the nest fetches into a cache of `capacity` lines.

        Where all iterations of a loop access the same lines of the array, these lines are still in the cache if all lines that are
        accessed in between fit into it. In between is one iteration of that loop; or, where the loops directly inside it repeat the
        same lines as well, one iteration of the innermost of these.

        totals: for each box, how many lines of all arrays it accesses.
        crowding: as in `fetched`.
        """
        own = self.lines[array]
        meantime, box = totals[-1], len(self.trips)
        found = own[-1]
        for number in reversed(range(len(self.trips))):
            moves = own[number] != own[number + 1]
            again = _either(moves, self.trips[number], -(-self.trips[number] // 1)) * found
            fits, stays = meantime <= capacity, own[number]
            if crowding is not None and fits:
                stays = stays + crowding(array, box) * max(0.0, again - stays)
            found = _either(fits, stays, again)
            meantime, box = _either(moves, totals[number], meantime), _either(moves, number, box)
        return found


def _either(test: Any, yes: Any, no: Any) -> Any:  # numbers and arrays, as NumPy's functions take them
    """Returns `yes` where the test holds and `no` elsewhere. It does what np.where does, but faster for a single bool."""
    return (yes if test else no) if isinstance(test, bool) else np.where(test, yes, no)


def boxes(references: Sequence[Moving], sizes: Counts, extents: Sequence[int], line_bytes: int) -> Boxes:
    """Returns the boxes of a nest in tiles, for all tile sizes at once, with the lines that each accesses.

    references: the references of the nest, in groups (see `Moving`).
    sizes: for each loop, its tile size, or an array of all tile sizes that are considered.
    extents: how many iterations each loop has.
    """
    shapes = [(*sizes[:k], *extents[k:]) for k in range(len(sizes))] + [(*[1] * k, *sizes[k:]) for k in range(len(sizes) + 1)]
    by_box = [lines(references, shape, line_bytes) for shape in shapes]
    trips = (*(np.asarray(extent / size) for extent, size in zip(extents, sizes)), *map(np.asarray, sizes))
    return Boxes(trips, {array: tuple(each[array] for each in by_box) for array in by_box[0]})
