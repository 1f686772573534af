"""Requests of warps at some iterations, lane by lane, with a weight for each: the requests that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.gpu.thread_accesses import PointsPart, value_range
from polyml.gpu.thread_blocks import Threads
from polyml.polyhedra import LinearRow, Quotient

EXACT = "exact"
_CHUNK = 1 << 15  # warps or requests that are examined at once
_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Requests:
    """The requests of warps for one access, summed up.

    requests: how many requests there are.
    lanes: threads that take part, of all requests.
    elements: different elements that they access.
    sectors, lines: sectors and lines in which the elements lie, request by request.
    most: sectors of the request with most of them.
    element_bytes, sector_bytes: sizes of each.
    accuracy: "exact", or which iterations were examined.
    """

    requests: int
    lanes: int
    elements: int
    sectors: int
    lines: int
    most: int
    element_bytes: int
    sector_bytes: int
    accuracy: str = EXACT

    @property
    def per_request(self) -> float:
        """Returns how many sectors a request has in the mean."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def efficiency(self) -> float:
        """Returns the bytes of different elements over the bytes of the sectors that are moved for them."""
        return self.elements * self.element_bytes / (self.sectors * self.sector_bytes) if self.sectors else 1.0


@dataclass(frozen=True)
class AccessBlock:
    """The block of threads that makes an access, and the sizes of what it moves.

    axes: dimension of the loops' values -> axis of the block whose threads run its iterations; other dimensions have no axis.
    grains: bytes of an element, a sector and a line.
    items: dimension -> how many iterations one thread runs; one access serves them all, as the address is the same in them.
        For `size` threads along the axis, iteration v runs in thread v % size of block number v // (size * items).
    """

    axes: Mapping[int, int]
    threads: Threads
    grains: tuple[int, int, int]
    items: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _SampledValues:
    """The values of one dimension at which warps are examined. weights: how many values of the dimension each one stands for."""

    values: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class _Warps:
    """Some warps that are examined, each of which stands for several.

    columns: dimension -> the first iteration of each warp's block, or the value of a loop that has no axis of the block, [warp].
    number: each warp's number in its block, [warp].
    takes_part: which lanes make the access, [warp, lane].
    kind: a number, which is equal for warps with the same `number` and `takes_part`, [warp].
    weights: how many warps each stands for, [warp].
    """

    columns: dict[int, np.ndarray]
    number: np.ndarray
    takes_part: np.ndarray
    kind: np.ndarray
    weights: np.ndarray


class WarpRequests:
    """A WarpRequests sums up, by `counted`, the requests of warps for accesses made at the same loop values, the points { T[t] }.

    parts: disjoint convex parts of the points. A dimension is free where its bounds are constants, no other bounds depend on it,
        and addresses are linear in it; the other dimensions are coupled.
    """

    def __init__(self, points: isl.Set, parts: Sequence[PointsPart], block: AccessBlock):
        axes, threads, items = block.axes, block.threads, block.items
        self._points, self._parts, self._threads = points, parts, threads
        several = {dim: axis for dim, axis in axes.items() if axis < len(threads.sizes)}
        self._axes = {dim: axis for dim, axis in several.items() if threads.sizes[axis] * items.get(dim, 1) > 1}
        moves = [[(dim, item * threads.sizes[axis]) for item in range(items.get(dim, 1))] for dim, axis in self._axes.items()]
        self._items = [dict(each) for each in product(*moves)]  # how far along each dimension a thread's iterations are
        self._sizes = {dim: threads.sizes[axis] * items.get(dim, 1) for dim, axis in self._axes.items()}
        self._grains, self._modulus = block.grains, block.grains[-1]
        self._exist = threads.exist
        self._at = {dim: threads.along(axis) for dim, axis in self._axes.items()}
        ends = {dim: self._free(dim) for dim in range(polyhedra.dimensions(points))}
        self._free_ends = {dim: pair for dim, pair in ends.items() if pair is not None}
        self._coupled = {dim: self._all(dim) for dim, pair in ends.items() if pair is None}

    def longest(self, most: int) -> tuple[int, int, int, int] | None:
        """Returns the dimension to sample: (dimension, numbers of its first and its last block, iterations of a block).

        Of those that are not free (see the class), it is the one with most blocks; one without an axis is preferred, each of its
        values counts as a block. The result is None for up to `most` warps, or if none of them has several blocks.
        """
        lengths = {dim: high - low + 1 for dim, (low, high) in self._coupled.items()}
        if prod(lengths.values()) * self._threads.warps <= most or max(lengths.values(), default=1) == 1:
            return None
        dim = max((d for d, length in lengths.items() if length > 1), key=lambda d: (d not in self._axes, lengths[d]))
        low, high = self._coupled[dim]
        return dim, low, high, self._size(dim)

    def counted(self) -> Iterator[Requests]:
        """Yields the requests for the address of each access, summed up over all warps."""
        count = len(self._parts[0].addresses)
        starts = [np.zeros(self._modulus) for _ in range(count)]  # how many requests of free loops begin where in a line
        for each in starts:
            each[0] = 1
        chosen: dict[int, _SampledValues] = {}
        for dim, (low, high) in self._coupled.items():
            values = np.arange(low, high + 1) * self._size(dim)
            chosen[dim] = _SampledValues(values, np.ones(len(values)))
        for dim, bounds in self._free_ends.items():
            steps = [row[0].get(dim, 0) for row in self._parts[0].addresses]
            if dim in self._axes:
                chosen[dim] = self._tiles(*bounds, self._size(dim), steps)
            else:
                starts = [spread(each, step, *bounds) for each, step in zip(starts, steps)]
        totals, worst = np.zeros((count, 5)), [0] * count
        for warps in self._warps(chosen):
            for number in range(count):
                found, highest = self._of_address(warps, number, starts[number])
                totals[number] += found
                worst[number] = max(worst[number], highest)
        element_bytes, sector_bytes, _ = self._grains
        for total, highest in zip(totals, worst):
            number, lanes, elements, sectors, lines = map(round, total)
            yield Requests(number, lanes, elements, sectors, lines, highest, element_bytes, sector_bytes)

    def _size(self, dim: int) -> int:
        return self._sizes.get(dim, 1)

    # the values of dimensions

    def _free(self, dim: int) -> tuple[int, int] | None:
        """Returns the first and last value of a dimension with constant bounds in which addresses are linear, else None."""
        found: set[tuple[int, int, tuple[int, ...]]] = set()
        for part in self._parts:
            low, high = [], []
            for (terms, constant), is_zero in part.rows:
                if not any(polyhedra.is_in(name, dim) for name in terms):
                    continue
                if {*terms} != {dim}:
                    return None
                c = terms[dim]
                if c > 0 or is_zero:
                    low.append(-(constant // c) if c > 0 else constant // -c)
                if c < 0 or is_zero:
                    high.append(constant // -c if c < 0 else -constant // c)
            if not low or not high or any(polyhedra.is_in(n, dim) for row in part.addresses for n in row[0] if n != dim):
                return None
            found.add((max(low), min(high), tuple(row[0].get(dim, 0) for row in part.addresses)))
        if len(found) != 1:
            return None
        first, last, _ = found.pop()
        return first, last

    def _all(self, dim: int) -> tuple[int, int]:
        """Returns the numbers of a dimension's first and last block, or its first and last value where it has no blocks."""
        first, last = value_range(self._points, dim)
        return first // self._size(dim), last // self._size(dim)

    def _tiles(self, first: int, last: int, size: int, steps: Sequence[int]) -> _SampledValues:
        """Returns the first iterations of some blocks: the partial ones, and a full one for each byte of a line where one may
        begin.

        first, last: of the dimension; size: iterations of a block; steps: for each address, bytes from one iteration to the next.
        """
        low, high = first // size, last // size
        cut = {t for t in (low, high) if t * size < first or t * size + size - 1 > last}
        count = high - low + 1 - len(cut)
        full = low + (low in cut)
        period = min(count, max(self._modulus // gcd(self._modulus, step * size) for step in steps))
        values = [*sorted(cut), *range(full, full + period)]
        weights = [1] * len(cut) + [count // period + (k < count % period) for k in range(period)]
        return _SampledValues(np.array(values) * size, np.array(weights, float))

    # warps

    def _warps(self, chosen: dict[int, _SampledValues]) -> Iterator[_Warps]:
        """Yields the warps at all combinations of the values in `chosen`, dimension -> values, some thousands at a time."""
        lengths = [len(v.values) for v in chosen.values()]
        count, at_once = prod(lengths), max(1, _CHUNK // self._threads.warps)
        for start in range(0, count, at_once):
            numbers = np.arange(start, min(count, start + at_once))
            columns: dict[int, np.ndarray] = {}
            weights = np.ones(len(numbers))
            for (dim, each), which in zip(chosen.items(), np.unravel_index(numbers, lengths) if lengths else ()):
                columns[dim] = each.values[which]
                weights = weights * each.weights[which]
            found = self._some_warps(columns, weights)
            if len(found.number):
                yield found

    def _some_warps(self, columns: dict[int, np.ndarray], weights: np.ndarray) -> _Warps:
        """Returns those warps, at the given values of the dimensions, of which at least one lane makes the access."""
        full, some = self._full_and_some(columns, len(weights))
        at, number = np.nonzero(some)
        takes_part = self._exist[number]
        edge = ~full[at, number]
        if edge.any():
            takes_part[edge] &= self._inside({dim: c[at[edge]] for dim, c in columns.items()}, number[edge])
        keep = takes_part.any(axis=1)
        at, number, takes_part, edge = at[keep], number[keep], takes_part[keep], edge[keep]
        bits = np.zeros(len(at), np.int64)  # 0: all that there are
        bits[edge] = takes_part[edge] @ (1 << np.arange(self._threads.width, dtype=np.int64))
        _, pattern = np.unique(bits, return_inverse=True)
        _, kind = np.unique(pattern.ravel() * self._threads.warps + number, return_inverse=True)
        return _Warps({dim: c[at] for dim, c in columns.items()}, number, takes_part, kind.ravel(), weights[at])

    def _full_and_some(self, columns: dict[int, np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns two arrays [entry of the columns, warp]: whether surely all lanes of a warp access, and whether any may."""
        shape = count, self._threads.warps
        full, some = np.zeros(shape, bool), np.zeros(shape, bool)
        for part, item in product(self._parts, self._items):
            all_in, none_in = np.ones(shape, bool), np.zeros(shape, bool)
            for row, is_zero in part.rows:
                if _is_of_free(row, columns):
                    continue
                lanes = self._of_lanes(row)
                if lanes is None:
                    all_in[:] = False
                    continue
                base = _value(row, columns).reshape(-1, 1) + sum(row[0].get(dim, 0) * offset for dim, offset in item.items())
                low = np.where(self._exist, lanes, _NONE).min(axis=1) + base
                high = np.where(self._exist, lanes, -_NONE).max(axis=1) + base
                all_in &= (low >= 0) & (high <= 0) if is_zero else low >= 0
                none_in |= (high < 0) | (low > 0) if is_zero else high < 0
            full |= all_in
            some |= ~none_in
        return full, some

    def _of_lanes(self, row: LinearRow) -> np.ndarray | None:
        """Returns what each thread's index adds to a linear expression, [warp, lane]; None where the index is inside a quotient."""
        if any(isinstance(name, Quotient) and any(polyhedra.is_in(name, dim) for dim in self._at) for name in row[0]):
            return None
        found = np.zeros(self._exist.shape, np.int64)
        for dim, at in self._at.items():
            found = found + row[0].get(dim, 0) * at
        return found

    def _inside(self, columns: dict[int, np.ndarray], number: np.ndarray) -> np.ndarray:
        """Returns which lanes of some warps are points at which the access is made, [warp, lane]."""
        found = np.zeros((len(number), self._threads.width), bool)
        for item in self._items:
            lanes = self._lanes(columns, number, item)
            for part in self._parts:
                found |= _holds(part, lanes, (len(number), self._threads.width), columns)
        return found

    def _lanes(self, columns: dict[int, np.ndarray], number: np.ndarray, item: Mapping[int, int]) -> dict[int, np.ndarray]:
        """Returns dimension -> its value in each lane, [warp, lane], in a thread's first iteration plus `item`, dim -> number."""
        return {dim: each[:, None] + (self._at[dim][number] + item[dim] if dim in self._at else 0) for dim, each in columns.items()}

    # requests

    def _of_address(self, warps: _Warps, number: int, starts: np.ndarray) -> tuple[np.ndarray, int]:
        """Returns the sums (requests, lanes, elements, sectors, lines) over requests for an address, and the most sectors of one.

        number: the position of the address. starts: for each byte of a line, how many iterations shift the requests by so much.
        """
        addresses, takes_part, weights = self._kinds(warps, number)
        total = np.zeros(5)
        total[0] = weights.sum() * starts.sum()
        total[1] = (weights * takes_part.sum(axis=1)).sum() * starts.sum()
        worst = 0
        begins = np.nonzero(starts)[0]
        for some in np.array_split(np.arange(len(weights)), -(-len(weights) * len(begins) // _CHUNK)):
            many = np.outer(weights[some], starts[begins]).ravel()
            moved = (addresses[some][:, None, :] + begins[:, None]).reshape(-1, self._threads.width)
            lanes = np.repeat(takes_part[some], len(begins), axis=0)
            for which, grain in enumerate(self._grains):
                found = different(moved, lanes, grain)
                total[2 + which] += (many * found).sum()
                if which == 1:
                    worst = max(worst, int(found.max()))
        return total, worst

    def _kinds(self, warps: _Warps, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns for each kind of warps the addresses and which lanes take part, [kind, lane], and how many warps it has, [kind].

        Warps of a kind have the same lanes, and begin at the same byte of a line; addresses lack what free dimensions add.
        """
        rows = {_key(part.addresses[number]) for part in self._parts}
        row = _without_free(self._parts[0].addresses[number], warps.columns)
        lanes = self._of_lanes(row) if len(rows) == 1 else None
        if lanes is None:
            return self._addresses(warps, number), warps.takes_part, warps.weights
        offsets = np.broadcast_to(_value(row, warps.columns) % self._modulus, len(warps.number))  # only the byte of a line counts
        _, first, which = np.unique(offsets + self._modulus * warps.kind, return_index=True, return_inverse=True)
        found = offsets[first][:, None] + lanes[warps.number[first]]
        return found, warps.takes_part[first], np.bincount(which.ravel(), warps.weights)

    def _addresses(self, warps: _Warps, number: int) -> np.ndarray:
        """Returns the addresses that the warps' lanes access, [warp, lane], without what free dimensions add."""
        found = np.zeros(warps.takes_part.shape, np.int64)
        for item in self._items:
            lanes = self._lanes(warps.columns, warps.number, item)
            for part in self._parts:
                holds = _holds(part, lanes, (len(warps.number), self._threads.width), warps.columns)
                found = np.where(holds, _value(_without_free(part.addresses[number], warps.columns), lanes), found)
        return found


def _key(row: LinearRow) -> tuple[object, int]:
    return frozenset(row[0].items()), row[1]


def _is_of_free(row: LinearRow, columns: Mapping[int, np.ndarray]) -> bool:
    """Returns whether a linear expression bounds a free dimension: one that has no values in `columns`."""
    return any(isinstance(name, int) and name not in columns for name in row[0])


def _holds(
    part: PointsPart, lanes: Mapping[int, np.ndarray], shape: tuple[int, int], columns: Mapping[int, np.ndarray]
) -> np.ndarray:
    """Returns which lanes are points of the part, [warp, lane], if bounds on dimensions without `columns` are ignored."""
    found = np.ones(shape, bool)
    for row, is_zero in part.rows:
        if not _is_of_free(row, columns):
            value = _value(row, lanes)
            found &= value == 0 if is_zero else value >= 0
    return found


def different(addresses: np.ndarray, takes_part: np.ndarray, grain: int) -> np.ndarray:
    """Returns how many aligned blocks of `grain` bytes the addresses of each request lie in, [request].

    addresses, takes_part: the lanes' addresses in bytes, and which lanes make the access, [request, lane].
    """
    pieces = np.sort(np.where(takes_part, addresses // grain, _NONE), axis=1)
    new = (pieces[:, 1:] != pieces[:, :-1]) & (pieces[:, 1:] != _NONE)
    return (pieces[:, 0] != _NONE) + new.sum(axis=1)


def spread(starts: np.ndarray, step: int, first: int, last: int) -> np.ndarray:
    """Returns how many requests begin at each byte of a line in all iterations of a loop, each of which moves them by `step` bytes.

    starts: how many requests begin at each byte of a line where the loop's value is 0.
    """
    modulus, count = len(starts), last - first + 1
    period = modulus // gcd(modulus, step)
    found = np.zeros(modulus)
    for k in range(min(count, period)):
        found += np.roll(starts, step * (first + k) % modulus) * (count // period + (k < count % period))
    return found


def _without_free(row: LinearRow, columns: Mapping[int, np.ndarray]) -> LinearRow:
    """Returns the linear expression without its terms of free dimensions: those that have no values in `columns`."""
    return {name: c for name, c in row[0].items() if not isinstance(name, int) or name in columns}, row[1]


def _value(row: LinearRow, columns: Mapping[int, np.ndarray]) -> np.ndarray:
    """Returns the linear expression's values, one for each entry of the arrays in `columns`, dimension -> its values."""
    terms, constant = row
    total = np.array(constant)
    for name, c in terms.items():
        total = total + c * _column(name, columns)
    return total


def _column(name: str | int | Quotient, columns: Mapping[int, np.ndarray]) -> np.ndarray:
    """Returns a dimension's values in `columns`, or the values that a quotient of dimensions has for them."""
    if isinstance(name, Quotient):
        return _value((dict(name.terms), name.constant), columns) // name.divisor
    if isinstance(name, str):
        raise ValueError(f"the parameter {name} has no value")
    return columns[name]
