"""The search for legal linear mappings onto an array: first the fastest times, then for each time the allocations that links can
serve.

    t = i + j + k, x = i, y = j       the sums stay, A[i,k] moves along y, B[k,j] along x

(Quinton, "Automatic synthesis of systolic arrays from uniform recurrent equations", ISCA 1984.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from operator import le

from polyml.systolic.recurrences.spacetime import Direction, SpaceTime, Vector, dot

MOST_STEPS = 5  # cycles that a value takes along an axis in the mappings that are searched


MOST_TIMES = 20_000  # candidate times that are looked at


@dataclass(frozen=True)
class MappingSearch:
    """A MappingSearch says which space-time mappings of a recurrence are searched.

    axes: how many axes the recurrence has.
    directions: the steps along the axes by which its values travel.
    dims: the dimensions of the array.
    links: "manhattan", "diagonal" or "broadcast".
    dense: whether to find only mappings that leave no PE idle between its instances.
    reversible_axes: axes that may be run backwards without a change of the domain's shape. Of two mappings that differ only in the
        direction of such an axis, one is found.
    slower: 0: the mappings with the fastest times, which are functions that give each instance its cycle; 1: those with the times
        that are fastest once the former are left out; and so on.
    """

    axes: int
    directions: tuple[Direction, ...]
    dims: int
    links: str = "manhattan"
    dense: bool = True
    reversible_axes: tuple[int, ...] = ()
    slower: int = 0


@lru_cache(maxsize=256)
def mappings(search: MappingSearch) -> tuple[SpaceTime, ...]:
    """Returns the legal space-time mappings with the fastest times, one of each class.

    A time gives each instance its cycle; it is one of the fastest if no other time hands on all values in as few cycles and some
    values in fewer. A class holds the mappings that permutations and reflections of the array make of each other.
    """
    classes: dict[tuple, SpaceTime] = {}
    for time in _times(search):
        for space in _spaces(time, search):
            mapping = SpaceTime(time, space)
            density = mapping.density
            if density == 1 or density and not search.dense:
                key = _class_key(mapping, search.reversible_axes)
                classes[key] = max(classes.get(key, mapping), mapping, key=lambda m: _source_order_key(m, search.directions))
    return tuple(sorted(classes.values(), key=lambda m: (m.density, *(-v for row in m.rows for v in row))))


def _source_order_key(mapping: SpaceTime, directions: Sequence[Direction]) -> tuple:
    """Returns a key by which mappings are compared; of several that are equally good, the one with the greatest key is kept.

    It is greater the more directions of travel there are along which time runs forward; equal mappings alone have equal keys.
    """
    forward = sum(dot(mapping.time, d.vector) > 0 for d in directions)
    return forward, *mapping.rows


def _times(search: MappingSearch) -> Iterator[Vector]:
    """Yields the fastest times, each as the coefficients of the axes in the function that gives an instance its cycle.

    They are Pareto-optimal: no other time takes as few cycles for a step in each direction and fewer in one. Of times that are
    equally fast it yields those with the smallest coefficients that have a mapping.
    """
    axes, directions, links = search.axes, search.directions, search.links
    reach = max((abs(v) for d in directions for v in (*d.vector, *d.line)), default=1) + 1 + search.slower
    found: dict[Vector, list[Vector]] = {}
    while reach > 1 and (reach > MOST_STEPS or (2 * reach + 1) ** axes > MOST_TIMES):
        reach -= 1
    for time in product(range(-reach, reach + 1), repeat=axes):
        cycles = [dot(time, d.vector) for d in directions]
        at_once = not any(dot(time, d.line) for d in directions)
        if at_once and all(c > 0 or d.free and (c or links == "broadcast") for c, d in zip(cycles, directions)):
            found.setdefault(tuple(map(abs, cycles)), []).append(time)
    if links == "broadcast":  # a time of zeros would be the fastest, and has no mapping
        found = {c: times for c, times in found.items() if any(_has_mapping(t, search) for t in times)}
    for _ in range(search.slower + 1):
        least = [c for c in found if not any(other != c and all(map(le, other, c)) for other in found)]
        fastest = {cycles: found.pop(cycles) for cycles in least}
    for times in fastest.values():
        for size in sorted({_size(time) for time in times}):  # an axis may have no direction: take the least that separates points
            those = [time for time in times if _size(time) == size]
            if any(_has_mapping(time, search) for time in those):
                yield from those
                break


def _size(time: Vector) -> int:
    """Returns the sum of the absolute values of a time's coefficients."""
    return sum(map(abs, time))


@lru_cache(maxsize=1024)  # asked once to leave times out and once to choose among the fastest
def _has_mapping(time: Vector, search: MappingSearch) -> bool:
    """Returns whether some allocation of instances to PEs makes a mapping together with the time."""
    densities = (SpaceTime(time, space).density for space in _spaces(time, search))
    return any(d == 1 or d and not search.dense for d in densities)


def _spaces(time: Vector, search: MappingSearch) -> Iterator[tuple[Vector, ...]]:
    """Yields the allocations { axes -> coordinates of a PE } with which links can bring all values in time, as the coefficients of
    the axes for each coordinate.

    None of them is a permutation or reflection of another one. A value takes at most a link per cycle along each coordinate; with
    Manhattan links, at most a link per cycle in all.
    """
    dims = search.dims
    wires, directions = [d for d in search.directions if d.line], [d for d in search.directions if not d.line]
    cycles = [abs(dot(time, d.vector)) for d in directions]
    most = min(max([1, *cycles]), MOST_STEPS)
    reach = [most if any(d.vector[axis] for d in directions) else 1 for axis in range(len(time))]
    rows: dict[Vector, Vector] = {}  # row -> the links that a value takes in each direction
    for row in product(*(range(end, -end - 1, -1) for end in reach)):
        taken = tuple(abs(dot(row, d.vector)) for d in directions)
        near = all(n <= c or c == 0 for n, c in zip(taken, cycles))
        leaves_line = any(dot(row, d.vector) and not dot(row, d.line) for d in wires)  # a wire would leave its line
        if row >= tuple(-v for v in row) and near and not leaves_line and (dims == 1 or any(row)):
            rows[row] = taken
    known: dict[tuple[Vector, ...], bool] = {}  # the links that values take along each coordinate -> whether they come in time
    for space in combinations(rows, dims):
        links = tuple([rows[row] for row in space])
        if links not in known:
            known[links] = all(_reached(c, taken, search.links) for c, *taken in zip(cycles, *links))
        if known[links] and all(SpaceTime(time, space).wire(d) is not None for d in wires):
            yield space


def _reached(cycles: int, taken: Sequence[int], links: str) -> bool:
    """Returns whether a value can go a given distance on the array in some number of cycles. In zero cycles only a wire brings it,
    so the distance must be along exactly one coordinate.

    cycles: how many cycles the value has.
    taken: how many links it has to go along each coordinate.
    links: "diagonal" for one link along each coordinate per cycle; any other name for one link per cycle.
    """
    if cycles == 0:
        return sum(map(bool, taken)) == 1
    return max(taken) <= cycles if links == "diagonal" else sum(taken) <= cycles


def _class_key(mapping: SpaceTime, reversible_axes: Sequence[int]) -> tuple:
    """Returns a key that two mappings share where permutations and reflections of the array, or of the axes that may be reversed,
    make one of the other.
    """
    found = []
    for flips in product((1, -1), repeat=len(reversible_axes)):
        signs = [1] * len(mapping.time)
        for axis, flip in zip(reversible_axes, flips):
            signs[axis] = flip
        time, *space = [tuple(s * v for s, v in zip(signs, row)) for row in mapping.rows]
        # with time and space reversed it is the same array run backwards
        for t in (time, tuple(-v for v in time)):
            found.append((t, *sorted(max(row, tuple(-v for v in row)) for row in space)))
    return max(found)
