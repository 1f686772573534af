"""Requests of warps at some iterations, lane by lane, with a weight for each: the requests that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

import islpy as isl
import numpy as np

from polyml import polyhedra
from polyml.gpu.warps.points_parts import PointsPart, value_range
from polyml.gpu.warps.thread_blocks import Threads
from polyml.polyhedra import LinearRow, Quotient

EXACT = "exact"
_CHUNK = 1 << 15  # warps or requests that are examined at once
_NONE = np.iinfo(np.int64).max

Measure = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class WarpCounts:
    """A WarpCounts holds the requests of warps for one access, summed up.

    requests: how many requests there are.
    lanes: threads that take part, of all requests.
    amounts: the sums over all requests of the numbers that the measure gives for one.
    most: the second of these numbers, of the request where it is largest.
    accuracy: "exact", or which iterations were examined.
    """

    requests: int
    lanes: int
    amounts: tuple[int, ...]
    most: int
    accuracy: str = EXACT


@dataclass(frozen=True)
class AccessBlock:
    """The block of threads that makes an access, and what is measured of its requests.

    pairs: pairs (dimension of a block's number along an axis, dimension of a thread's number in the block along it), one for each
        axis; the second is None where a block has one thread along the axis.
    measure: from the addresses and the lanes that take part, both [request, lane], to some numbers of each request.
    modulus: requests whose addresses differ by a multiple of so many bytes measure the same.
    """

    threads: Threads
    pairs: tuple[tuple[int, int | None], ...]
    measure: Measure
    modulus: int


@dataclass(frozen=True)
class _SampledValues:
    """The values of one dimension at which warps are examined. weights: how many values of the dimension each one stands for."""

    values: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class _Warps:
    """Some warps that are examined, each of which stands for several.

    columns: dimension -> its value, [warp]; dimensions that are numbers of threads have none.
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
        and addresses are linear in it; the numbers of blocks along an axis are free where this holds of them together with the
        numbers of threads along it. The other dimensions are coupled.
    """

    def __init__(self, points: isl.Set, parts: Sequence[PointsPart], block: AccessBlock):
        self._points, self._parts, self._threads = points, parts, block.threads
        self._measure, self._modulus = block.measure, block.modulus
        self._exist = block.threads.exist
        self._at = {own: block.threads.along(axis) for axis, (_, own) in enumerate(block.pairs) if own is not None}
        owns = dict(block.pairs)
        ends = {dim: self._free(dim, owns.get(dim)) for dim in range(polyhedra.dimensions(points)) if dim not in self._at}
        self._blocks = {dim: self._whole(dim, owns[dim], *pair) for dim, pair in ends.items() if pair is not None and dim in owns}
        self._free_ends = {dim: pair for dim, pair in ends.items() if pair is not None and dim not in owns}
        self._coupled = {dim: value_range(points, dim) for dim, pair in ends.items() if pair is None}

    def longest(self, most: int) -> tuple[int, int, int] | None:
        """Returns the dimension to sample: (dimension, its first value, its last value).

        Of those that are not free (see the class), it is the one with most values; one that is no number of blocks is preferred. The
        result is None for up to `most` warps, or if no dimension has several values.
        """
        lengths = {dim: high - low + 1 for dim, (low, high) in self._coupled.items()}
        if prod(lengths.values()) * self._threads.warps <= most or max(lengths.values(), default=1) == 1:
            return None
        dim = max((d for d, length in lengths.items() if length > 1), key=lambda d: lengths[d])
        return dim, *self._coupled[dim]

    def counted(self) -> Iterator[WarpCounts]:
        """Yields the requests for the address of each access, summed up over all warps."""
        count = len(self._parts[0].addresses)
        starts = [np.zeros(self._modulus) for _ in range(count)]  # how many requests of free loops begin where in a line
        for each in starts:
            each[0] = 1
        chosen: dict[int, _SampledValues] = {}
        for dim, (low, high) in self._coupled.items():
            values = np.arange(low, high + 1)
            chosen[dim] = _SampledValues(values, np.ones(len(values)))
        for dim, (values, is_whole) in self._blocks.items():
            chosen[dim] = self._some_blocks(values, is_whole, self._steps(dim))
        for dim, bounds in self._free_ends.items():
            starts = [spread(each, step, *bounds) for each, step in zip(starts, self._steps(dim))]
        totals: list[np.ndarray] = [np.zeros(2)] * count
        worst = [0] * count
        for warps in self._warps(chosen):
            for number in range(count):
                found, highest = self._of_address(warps, number, starts[number])
                totals[number] = found if len(totals[number]) < len(found) else totals[number] + found
                worst[number] = max(worst[number], highest)
        for total, highest in zip(totals, worst):
            made, lanes, *amounts = map(round, total)
            yield WarpCounts(made, lanes, tuple(amounts), highest)

    # the values of dimensions

    def _steps(self, dim: int) -> list[int]:
        """Returns for each address how many bytes it moves from one value of a free dimension to the next."""
        return [row[0].get(dim, 0) for row in self._parts[0].addresses]

    def _free(self, dim: int, own: int | None) -> tuple[int, int] | None:
        """Returns the first and last value of a free dimension, else None. own: the dimension that goes with it; None: there is none."""
        found: set[tuple[object, ...]] = set()
        both = {dim} if own is None else {dim, own}
        for part in self._parts:
            rows = [row for row in part.rows if any(polyhedra.is_in(name, dim) for name in row[0][0])]
            if not all({*terms} <= both for (terms, _), _ in rows):
                return None
            if any(polyhedra.is_in(n, dim) for row in part.addresses for n in row[0] if n != dim):
                return None
            found.add(
                (frozenset((_key(row), is_zero) for row, is_zero in rows), tuple(row[0].get(dim, 0) for row in part.addresses))
            )
        return None if len(found) != 1 else value_range(self._points, dim)

    def _whole(self, dim: int, own: int | None, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the numbers of the blocks along an axis, and for each whether all its threads make the access, as far as it
        depends on this axis. dim, own: the dimensions of the numbers of blocks and of threads.
        """
        values = np.arange(first, last + 1)
        is_whole = np.ones(len(values), bool)
        threads = np.unique(self._at[own][self._exist]) if own is not None else np.zeros(1, np.int64)
        for (terms, constant), is_zero in self._parts[0].rows:
            if dim in terms:
                each = constant + terms[dim] * values[:, None] + (terms.get(own, 0) if own is not None else 0) * threads
                is_whole &= (each == 0).all(axis=1) if is_zero else (each >= 0).all(axis=1)
        return values, is_whole

    def _some_blocks(self, values: np.ndarray, is_whole: np.ndarray, steps: Sequence[int]) -> _SampledValues:
        """Returns the numbers of some blocks along an axis: all that are cut, and a whole one for each byte of a line where one may
        begin.

        values, is_whole: the numbers, and which of the blocks are whole.
        steps: for each address, bytes from one block to the next.
        """
        cut, whole = values[~is_whole], values[is_whole]
        period = min(len(whole), max(self._modulus // gcd(self._modulus, step) for step in steps))
        residues = (whole - whole[0]) % period if period else whole
        first = [int(np.argmax(residues == k)) for k in range(period) if (residues == k).any()]
        weights = [float((residues == residues[k]).sum()) for k in first]
        return _SampledValues(np.concatenate([cut, whole[first]]).astype(np.int64), np.concatenate([np.ones(len(cut)), weights]))

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
        for part in self._parts:
            all_in, none_in = np.ones(shape, bool), np.zeros(shape, bool)
            for row, is_zero in part.rows:
                if self._is_of_free(row):
                    continue
                lanes = self._of_lanes(row)
                if lanes is None:
                    all_in[:] = False
                    continue
                base = _value(self._without_lanes(row), columns).reshape(-1, 1)
                low = np.where(self._exist, lanes, _NONE).min(axis=1) + base
                high = np.where(self._exist, lanes, -_NONE).max(axis=1) + base
                all_in &= (low >= 0) & (high <= 0) if is_zero else low >= 0
                none_in |= (high < 0) | (low > 0) if is_zero else high < 0
            full |= all_in
            some |= ~none_in
        return full, some

    def _is_of_free(self, row: LinearRow) -> bool:
        """Returns whether a linear expression bounds a free dimension that has no values in the columns."""
        return any(isinstance(name, int) and name in self._free_ends for name in row[0])

    def _without_lanes(self, row: LinearRow) -> LinearRow:
        """Returns the linear expression without its terms that are numbers of threads."""
        return {name: c for name, c in row[0].items() if not isinstance(name, int) or name not in self._at}, row[1]

    def _of_lanes(self, row: LinearRow) -> np.ndarray | None:
        """Returns what each thread's numbers add to a linear expression, [warp, lane]; None where one is inside a quotient."""
        if any(isinstance(name, Quotient) and any(polyhedra.is_in(name, dim) for dim in self._at) for name in row[0]):
            return None
        found = np.zeros(self._exist.shape, np.int64)
        for dim, at in self._at.items():
            found = found + row[0].get(dim, 0) * at
        return found

    def _inside(self, columns: dict[int, np.ndarray], number: np.ndarray) -> np.ndarray:
        """Returns which lanes of some warps are points at which the access is made, [warp, lane]."""
        found = np.zeros((len(number), self._threads.width), bool)
        lanes = self._lanes(columns, number)
        for part in self._parts:
            found |= self._holds(part, lanes, found.shape)
        return found

    def _holds(self, part: PointsPart, lanes: Mapping[int, np.ndarray], shape: tuple[int, int]) -> np.ndarray:
        """Returns which lanes are points of the part, [warp, lane], if bounds on free dimensions without columns are ignored."""
        found = np.ones(shape, bool)
        for row, is_zero in part.rows:
            if not self._is_of_free(row):
                value = _value(row, lanes)
                found &= value == 0 if is_zero else value >= 0
        return found

    def _lanes(self, columns: dict[int, np.ndarray], number: np.ndarray) -> dict[int, np.ndarray]:
        """Returns dimension -> its value in each lane, [warp, lane] or [warp, 1]."""
        return {dim: each[:, None] for dim, each in columns.items()} | {dim: at[number] for dim, at in self._at.items()}

    # requests

    def _of_address(self, warps: _Warps, number: int, starts: np.ndarray) -> tuple[np.ndarray, int]:
        """Returns the sums (requests, lanes, what is measured) over requests for an address, and the most of one that is measured
        second.

        number: the position of the address. starts: for each byte of a line, how many iterations shift the requests by so much.
        """
        addresses, takes_part, weights = self._kinds(warps, number)
        totals = [weights.sum() * starts.sum(), (weights * takes_part.sum(axis=1)).sum() * starts.sum()]
        worst = 0
        begins = np.nonzero(starts)[0]
        measured: list[float] = []
        for some in np.array_split(np.arange(len(weights)), -(-len(weights) * len(begins) // _CHUNK)):
            many = np.outer(weights[some], starts[begins]).ravel()
            moved = (addresses[some][:, None, :] + begins[:, None]).reshape(-1, self._threads.width)
            each = self._measure(moved, np.repeat(takes_part[some], len(begins), axis=0))
            worst = max(worst, int(each[1].max()))
            sums = [float((many * found).sum()) for found in each]
            measured = [a + b for a, b in zip(measured, sums)] if measured else sums
        return np.array([*totals, *measured]), worst

    def _kinds(self, warps: _Warps, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns for each kind of warps the addresses and which lanes take part, [kind, lane], and how many warps it has, [kind].

        Warps of a kind have the same lanes, and begin at the same byte of a line; addresses lack what free dimensions add.
        """
        rows = {_key(part.addresses[number]) for part in self._parts}
        row = self._without_free(self._parts[0].addresses[number])
        lanes = self._of_lanes(row) if len(rows) == 1 else None
        if lanes is None:
            return self._addresses(warps, number), warps.takes_part, warps.weights
        offsets = np.broadcast_to(
            _value(self._without_lanes(row), warps.columns) % self._modulus, len(warps.number)
        )  # only the byte of a line counts
        _, first, which = np.unique(offsets + self._modulus * warps.kind, return_index=True, return_inverse=True)
        found = offsets[first][:, None] + lanes[warps.number[first]]
        return found, warps.takes_part[first], np.bincount(which.ravel(), warps.weights)

    def _addresses(self, warps: _Warps, number: int) -> np.ndarray:
        """Returns the addresses that the warps' lanes access, [warp, lane], without what free dimensions add."""
        found = np.zeros(warps.takes_part.shape, np.int64)
        lanes = self._lanes(warps.columns, warps.number)
        for part in self._parts:
            holds = self._holds(part, lanes, (len(warps.number), self._threads.width))
            found = np.where(holds, _value(self._without_free(part.addresses[number]), lanes), found)
        return found

    def _without_free(self, row: LinearRow) -> LinearRow:
        """Returns the linear expression without its terms of free dimensions that have no values in the columns."""
        return {name: c for name, c in row[0].items() if not isinstance(name, int) or name not in self._free_ends}, row[1]


def _key(row: LinearRow) -> tuple[object, int]:
    return frozenset(row[0].items()), row[1]


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
