"""Space-time mappings { S[i,j,k] -> [t, x, y] }: in which cycle, and on which unit of an array, each instance runs.

    t = i + j + k, x = i, y = j       the sums stay, A[i,k] moves along y, B[k,j] along x

A unit hands a value on to its neighbours in each cycle. A mapping is legal where three sets are empty:

    injective   { p -> q : p != q and M(p) = M(q) }                           a unit runs one instance per cycle
    causal      { p -> q in dependences : t(q) <= t(p) }                      a value is used after it was made
    near        { p -> q in dependences : |M(q) - M(p)| > t(q) - t(p) }       by then it has come there

Arrays with broadcast wires have one along each row and column besides: an operand reaches all of its units in one cycle, or what
these have is added up (fan-in). Dependences through operands and sums may then take no time, along a row or a column:

    causal      { p -> q : t(q) < t(p) }            wired       { p -> q : t(q) = t(p), and they are in no row or column }

Values of the nest go along wires, too, from wherever in a row or column they are made: in a later cycle the unit that made one
drives its line, and all units there take it at once. Instead of near

    in line     { p -> q in dependences : p and q are in other rows (columns) }             a wire goes from one to the other
    alone       { p -> q not in dependences : p drives the row in which and when q runs }   it has one value, which all take

(Karp, Miller and Winograd, "The organization of computations for uniform recurrence equations", JACM 1967; Quinton, "Automatic
synthesis of systolic arrays from uniform recurrent equations", ISCA 1984; Kung, "Why systolic architectures?", 1982.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from math import gcd
from operator import le

import islpy as isl

from polyml import polyhedra
from polyml.errors import IllegalSchedule

MOST_STEPS = 5  # cycles that a value takes along an axis, at most, where mappings are looked for
MOST_TIMES = 20_000  # of them that are looked at

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Direction:
    """A value that the instance at p uses goes on to the one at p + vector; or to p - vector where that is free. line: of wires,
    by which it goes to all of p + vector + n * line at once; else ().
    """

    vector: Vector
    free: bool
    line: Vector = ()


@dataclass(frozen=True)
class SpaceTime:
    """{ [a0, a1, ...] -> [t, x, y] }, linear: the coefficients of the axes in time, and in each coordinate of the array."""

    time: Vector
    space: tuple[Vector, ...]

    @property
    def rows(self) -> tuple[Vector, ...]:
        return (self.time, *self.space)

    def relation(self, outer: int = 0) -> isl.Map:
        """{ [o0, ..., a0, a1, ...] -> [o0, ..., t, x, y] }: `outer` coordinates stay as they are."""
        kept = [f"o{k}" for k in range(outer)]
        axes = [f"a{k}" for k in range(len(self.time))]
        return isl.Map(f"{{ [{', '.join(kept + axes)}] -> [{', '.join(kept + [linear(row, axes) for row in self.rows])}] }}")

    def steps(self, vector: Sequence[int]) -> Vector:
        """(cycles, x, y) from p to p + vector."""
        return tuple(_dot(row, vector) for row in self.rows)

    def moved(self, direction: Direction) -> Vector:
        """(cycles, x, y) that a value moves, in the sense in which it does."""
        found = self.steps(direction.vector)
        return found if found[0] >= 0 else tuple(-v for v in found)

    def sense(self, direction: Direction) -> int:
        """1 where a value goes on along the vector, -1 where it goes against it."""
        return -1 if direction.free and _dot(self.time, direction.vector) < 0 else 1

    def wire(self, direction: Direction) -> int | None:
        """The coordinate along which the units are that a wire brings a value to at once; None where there are several or none,
        or where it goes another way, too.
        """
        cycles, *places = self.steps(direction.line)
        along = [k for k, step in enumerate(places) if step]
        off = (step for k, step in enumerate(self.steps(direction.vector)[1:]) if k not in along)
        return along[0] if cycles == 0 and len(along) == 1 and not any(off) else None

    @property
    def density(self) -> int:
        """A unit runs an instance in one of so many cycles: the greatest common divisor of the minors of all axes."""
        count = len(self.time)
        return gcd(*(determinant(rows) for rows in combinations(self.rows, count))) if count <= len(self.rows) else 0

    def forward(self, directions: Sequence[Direction]) -> SpaceTime:
        """With each coordinate counted the way in which values go that go one way along it."""
        found = []
        for row in self.space:
            steps = [_dot(row, d.vector) for d in directions if not d.free]
            found.append(tuple(-v for v in row) if min(steps, default=0) < 0 >= max(steps, default=0) else row)
        return SpaceTime(self.time, tuple(found))

    def turned(self, places: Sequence[int]) -> SpaceTime:
        """With the coordinates of the array exchanged."""
        return SpaceTime(self.time, tuple(self.space[k] for k in places))


def linear(row: Sequence[int], names: Sequence[str], constant: int = 0) -> str:
    """
    >>> linear((1, -1, 0, 2), ("i", "j", "k", "l"))
    'i - j + 2*l'
    """
    text = ""
    for coefficient, name in zip(row, names):
        if coefficient:
            sign = ("-" if coefficient < 0 else "") if not text else (" - " if coefficient < 0 else " + ")
            text += sign + (name if abs(coefficient) == 1 else f"{abs(coefficient)}*{name}")
    if constant and text:
        return f"{text} {'-' if constant < 0 else '+'} {abs(constant)}"
    return text or str(constant)


def determinant(rows: Sequence[Vector]) -> int:
    """
    >>> determinant([(1, 1, 1), (1, 0, 0), (0, 1, 0)])
    1
    """
    if not rows:
        return 1
    first, *others = rows
    minors = ([row[:k] + row[k + 1 :] for row in others] for k in range(len(first)))
    return sum((-1) ** k * c * determinant(minor) for k, (c, minor) in enumerate(zip(first, minors)) if c)


def check(order: isl.UnionMap, dependences: isl.UnionMap, links: str = "manhattan", *, what: str = "", outer: int = 0) -> None:
    """Raise IllegalSchedule with a smallest pair of instances unless { S[p] -> [t, x, y] } is injective, causal and near.

    dependences: { S[p] -> T[q] }: T[q] uses a value that S[p] has. what: they are about, for the message. outer: how many
    coordinates there are before t; where these differ, nothing is asked.
    """
    check_units(order)
    check_ways(order, dependences, links, what=what, outer=outer)


def check_units(order: isl.UnionMap) -> None:
    """That it is injective."""
    twice = order.apply_range(order.reverse()).subtract(order.domain().identity())
    if not twice.is_empty():
        raise _illegal(twice, "{0} and {1} would run on one unit in one cycle", _shown(order))


def check_ways(order: isl.UnionMap, dependences: isl.UnionMap, links: str, *, what: str = "", outer: int = 0) -> None:
    """That it is causal and near."""
    dims = _dims(order, outer)
    through = f"dependence through {what}" if what else "dependence"
    broken = _pairs(order, dependences, _between(dims, outer, ["u < t" if links == "broadcast" else "u <= t"]))
    if not broken.is_empty():
        when = "must not run before" if links == "broadcast" else "must run after"
        raise _illegal(broken, f"{{1}} {when} {{0}}", through, _shown(order))
    if links == "broadcast" and dims > 1:
        broken = _pairs(order, dependences, _between(dims, outer, ["u = t and v0 != w0 and v1 != w1"]))
        if not broken.is_empty():
            message = "no wire goes from {0} to {1}, which run in one cycle in no row or column"
            raise _illegal(broken, message, f"{through}, {links} links", _shown(order))
    broken = _pairs(order, dependences, _between(dims, outer, _farther(dims, links)))
    if not broken.is_empty():
        raise _illegal(broken, "a value cannot come from {0} to {1} in time", f"{through}, {links} links", _shown(order))


def check_wires(
    order: isl.UnionMap, along: int, drivers: isl.UnionMap, users: isl.UnionSet, *, what: str = "", outer: int = 0
) -> None:
    """That values which go along wires of one coordinate are there when they are used, in line, and alone.

    drivers: { S[p] -> T[q] }: T[q] uses by a wire what S[p] made. users: { T[q] } that take what is on these wires when they run.
    """
    dims, through = _dims(order, outer), f"dependence through {what}"
    broken = _pairs(order, drivers, _between(dims, outer, ["u <= t"]))
    if not broken.is_empty():
        raise _illegal(broken, "{1} must run after {0}", through, _shown(order))
    others = [f"v{k} != w{k}" for k in range(dims) if k != along]
    broken = _pairs(order, drivers, _between(dims, outer, others)) if others else isl.UnionMap("{ }")
    if not broken.is_empty():
        lines = ("columns", "rows")[along]
        raise _illegal(broken, f"no wire goes from {{0}} to {{1}}, which run in different {lines}", through, _shown(order))
    places = [*(f"o{k}" for k in range(outer)), "t", *(f"v{k}" for k in range(dims))]
    line = isl.UnionMap(f"{{ [{', '.join(places)}] -> [{', '.join(p for p in places if p != f'v{along}')}] }}")
    lines = order.apply_range(line)  # { S[p] -> [o, t, x] }
    taken = drivers.apply_range(lines).apply_range(lines.intersect_domain(users).reverse())
    broken = taken.subtract(drivers)
    if not broken.is_empty():
        raise _illegal(broken, "{1} would have the value of {0} on its wire, and needs another one", through, _shown(order))


def _dims(order: isl.UnionMap, outer: int) -> int:
    return polyhedra.dimensions(polyhedra.pieces(order.range())[0]) - 1 - outer


def _pairs(order: isl.UnionMap, dependences: isl.UnionMap, places: isl.UnionMap) -> isl.UnionMap:
    """The dependences { S[p] -> T[q] } from one place to another as { [t, x, y] -> [t', x', y'] } has them."""
    if dependences.apply_domain(order).apply_range(order).is_disjoint(places):
        return isl.UnionMap("{ }")
    return order.apply_range(places).apply_range(order.reverse()).intersect(dependences)


def _farther(dims: int, links: str) -> list[str]:
    """That [u, w] is more links away from [t, v] than cycles."""
    apart = [f"(w{k} - v{k})" for k in range(dims)]
    if links == "diagonal":
        return [f"{sign}{each} > u - t" for each in apart for sign in ("", "-")]
    later = "u > t and " if links == "broadcast" else ""
    return [f"{later}{' + '.join(map(''.join, zip(signs, apart)))} > u - t" for signs in product(("", "-"), repeat=dims)]


def _between(dims: int, outer: int, alternatives: Sequence[str]) -> isl.UnionMap:
    """{ [t, v0, v1] -> [u, w0, w1] : one of the alternatives }, other coordinates before them the same"""
    kept = [f"o{k}" for k in range(outer)]
    here, there = ([*kept, name, *(f"{other}{k}" for k in range(dims))] for name, other in (("t", "v"), ("u", "w")))
    return isl.UnionMap(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {' or '.join(alternatives)} }}")


def _illegal(pairs: isl.UnionMap, message: str, *notes: str) -> IllegalSchedule:
    """With a smallest pair of those."""
    found = polyhedra.witness(pairs)
    sizes = " and ".join(f"{name} = {value}" for name, value in found.sizes)
    said = message.format(*map(polyhedra.instance_text, found.instances))
    return IllegalSchedule(f"{said}, with {sizes}" if sizes else said, notes=notes)


def _shown(order: isl.UnionMap) -> str:
    return f"mapping {polyhedra.text(order)}"


def mappings(
    axes: int,
    directions: Sequence[Direction],
    dims: int,
    links: str = "manhattan",
    *,
    dense: bool = True,
    turned: Sequence[int] = (),
    slower: int = 0,
) -> tuple[SpaceTime, ...]:
    """The legal mappings onto an array of `dims` dimensions, one of each class of those that permutations and reflections of the
    array make of each other, with the fastest times: none brings all values on in fewer cycles.

    dense: only those that leave no unit idle between its instances. turned: axes of which the order of instances does not matter
    for the domain's shape: mappings that go along them the other way, where directions are free, are of one class too.
    slower: with the times that are fastest without those that are, and so on so many times.
    """
    return _mappings(axes, tuple(directions), dims, links, dense, tuple(turned), slower)


@lru_cache(maxsize=256)
def _mappings(
    axes: int, directions: tuple[Direction, ...], dims: int, links: str, dense: bool, turned: tuple[int, ...], slower: int
) -> tuple[SpaceTime, ...]:
    classes: dict[tuple, SpaceTime] = {}
    for time in _times(axes, directions, dims, links, dense, slower):
        for space in _spaces(time, directions, dims, links):
            mapping = SpaceTime(time, space)
            density = mapping.density
            if density == 1 or density and not dense:
                key = _class(mapping, turned)
                classes[key] = max(classes.get(key, mapping), mapping, key=lambda m: _plain(m, directions))
    return tuple(sorted(classes.values(), key=lambda m: (m.density, *(-v for row in m.rows for v in row))))


def _plain(mapping: SpaceTime, directions: Sequence[Direction]) -> tuple:
    """Greater for mappings that go along the axes as the source does."""
    forward = sum(_dot(mapping.time, d.vector) > 0 for d in directions)
    return forward, *mapping.rows


def _times(axes: int, directions: Sequence[Direction], dims: int, links: str, dense: bool, slower: int) -> Iterator[Vector]:
    """Times of which none is slower than another one in every direction; the smallest coefficients that do."""
    reach = max((abs(v) for d in directions for v in (*d.vector, *d.line)), default=1) + 1 + slower
    found: dict[Vector, list[Vector]] = {}
    while reach > 1 and (reach > MOST_STEPS or (2 * reach + 1) ** axes > MOST_TIMES):
        reach -= 1
    for time in product(range(-reach, reach + 1), repeat=axes):
        cycles = [_dot(time, d.vector) for d in directions]
        at_once = not any(_dot(time, d.line) for d in directions)
        if at_once and all(c > 0 or d.free and (c or links == "broadcast") for c, d in zip(cycles, directions)):
            found.setdefault(tuple(map(abs, cycles)), []).append(time)
    if links == "broadcast":  # no time at all would be the least, and have no mapping
        found = {c: times for c, times in found.items() if any(_has_mapping(t, directions, dims, links, dense) for t in times)}
    for _ in range(slower + 1):
        least = [c for c in found if not any(other != c and all(map(le, other, c)) for other in found)]
        fastest = {cycles: found.pop(cycles) for cycles in least}
    for times in fastest.values():
        for size in sorted({_size(time) for time in times}):  # an axis may have no direction: the smallest that keep points apart
            those = [time for time in times if _size(time) == size]
            if any(_has_mapping(time, directions, dims, links, dense) for time in those):
                yield from those
                break


def _size(time: Vector) -> int:
    return sum(map(abs, time))


def _has_mapping(time: Vector, directions: Sequence[Direction], dims: int, links: str, dense: bool) -> bool:
    densities = (SpaceTime(time, space).density for space in _spaces(time, directions, dims, links))
    return any(d == 1 or d and not dense for d in densities)


def _spaces(time: Vector, directions: Sequence[Direction], dims: int, links: str) -> Iterator[tuple[Vector, ...]]:
    """Coordinates that links reach: each alone at most a link per cycle, with Manhattan links all together. Without permutations
    and reflections of each other.
    """
    wires, directions = [d for d in directions if d.line], [d for d in directions if not d.line]
    cycles = [abs(_dot(time, d.vector)) for d in directions]
    most = min(max([1, *cycles]), MOST_STEPS)
    reach = [most if any(d.vector[axis] for d in directions) else 1 for axis in range(len(time))]
    rows: dict[Vector, Vector] = {}  # and the links that it takes along each direction
    for row in product(*(range(end, -end - 1, -1) for end in reach)):
        taken = tuple(abs(_dot(row, d.vector)) for d in directions)
        near = all(n <= c or c == 0 for n, c in zip(taken, cycles))
        aside = any(_dot(row, d.vector) and not _dot(row, d.line) for d in wires)  # another line
        if row >= tuple(-v for v in row) and near and not aside and (dims == 1 or any(row)):
            rows[row] = taken
    for space in combinations(rows, dims):
        near = all(_reached(c, taken, links) for c, *taken in zip(cycles, *(rows[row] for row in space)))
        if near and all(SpaceTime(time, space).wire(d) is not None for d in wires):
            yield space


def _reached(cycles: int, taken: Sequence[int], links: str) -> bool:
    """Whether a value can go so many links along each coordinate in these cycles; in none by a wire, along one of them."""
    if cycles == 0:
        return sum(map(bool, taken)) == 1
    return max(taken) <= cycles if links == "diagonal" else sum(taken) <= cycles


def _class(mapping: SpaceTime, turned: Sequence[int]) -> tuple:
    """The same for all mappings of one class."""
    found = []
    for flips in product((1, -1), repeat=len(turned)):
        signs = [1] * len(mapping.time)
        for axis, flip in zip(turned, flips):
            signs[axis] = flip
        time, *space = [tuple(s * v for s, v in zip(signs, row)) for row in mapping.rows]
        # all of it the other way round is the same array run backwards
        for t in (time, tuple(-v for v in time)):
            found.append((t, *sorted(max(row, tuple(-v for v in row)) for row in space)))
    return max(found)


def _dot(row: Iterable[int], vector: Iterable[int]) -> int:
    return sum(a * b for a, b in zip(row, vector))
