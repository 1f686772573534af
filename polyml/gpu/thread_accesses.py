"""The loads and stores of a thread, as functions of the values of the loops around: { T[host, grid, inside] -> A[e] }.

    C[i, j] += A[i, k]*B[k, j], a thread for each (i, j), k inside:  C is loaded once, held in a register over k, stored once.

Where a thread accesses only one element of an array in a launch, a register holds it throughout; an element of an array that the
launch only reads is held over the innermost loops along which it is the same. All else is loaded and stored in every iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import takewhile

import islpy as isl

from polyml import polyhedra
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed, in_memory
from polyml.model.core.nest import subvalues
from polyml.model.core.printer import access_text
from polyml.model.core.scop import Access, Gather, Role, Scop
from polyml.polyhedra import LinearRow, Quotient
from polyml.schedule.gpu.mapping import LaunchNest, SurroundingLoop, ThreadStatement

TIME = "T"  # the tuple of the loops' values
Piece = tuple[isl.Set, LinearRow, int]  # where, and there the byte address: a row over a number


@dataclass(frozen=True)
class ThreadAccess:
    """A ThreadAccess is one load or store of a thread.

    text: the access as messages have it.
    loops: the names of the loops around it, outermost first: those of the host, of the grid, and inside the thread.
    held: the names of loops further inside, over which a register holds the element.
    points: { T[t] }, the values t of `loops` at which it is made.
    elements: { T[t] -> A[e] }, the element that it accesses at each point.
    address: pieces (points, linear expression, divisor): at these points the element's byte address is the expression / divisor.
    outermost: the values of the outermost loop inside the thread; None where the access is in none.
    """

    array: str
    text: str
    is_write: bool
    loops: tuple[str, ...]
    held: tuple[str, ...]
    points: isl.Set
    elements: isl.Map
    address: tuple[Piece, ...]
    element_bytes: int
    outermost: isl.UnionPwAff | None

    def step(self, dim: int) -> int | None:
        """Returns by how many bytes an iteration of the loop at position `dim` moves the access; None where that varies."""
        steps = {_step(row, dim) if divisor == 1 else None for _, row, divisor in self.address}
        return steps.pop() if len(steps) == 1 else None


@dataclass(frozen=True)
class ThreadAccesses:
    """A ThreadAccesses has the loads and stores of the threads of a nest of loops.

    uses: the loads and stores.
    throughout: array -> bytes of its element, for the arrays of which each thread needs one element alone, held in a register from
        start to end.
    gathers: arrays that are read at indices which are data themselves; these loads are not among `uses`.
    """

    uses: tuple[ThreadAccess, ...]
    throughout: Mapping[str, int]
    gathers: tuple[str, ...]


def uses(nest: LaunchNest, scop: Scop, sizes: Mapping[str, int], places: Mapping[str, Placed]) -> ThreadAccesses:
    """Returns the loads and stores of a nest's threads.

    sizes: values of all parameters.
    places: the arrays' addresses and strides.
    """
    return _ThreadAccessFinder(nest, scop, sizes, places).read()


def points(nest: LaunchNest, run: ThreadStatement, sizes: Mapping[str, int]) -> isl.Set:
    """Returns { T[host, grid, inside] }, the values at which the host's, grid's and thread's own loops run a statement."""
    return _when(nest, run, sizes).range()


def _when(nest: LaunchNest, run: ThreadStatement, sizes: Mapping[str, int]) -> isl.Map:
    """Returns { S[i] -> T[host, grid, inside] }: the host's, grid's and thread's own loop values of each statement instance."""
    values = [polyhedra.expressions(loop.values)[run.statement] for loop in (*nest.host, *nest.grid, *run.inside)]
    found = polyhedra.relation(run.instances.get_space(), TIME, values).intersect_domain(run.instances)
    return polyhedra.at_sizes(found, sizes)


def _step(row: LinearRow, dim: int) -> int | None:
    """Returns the coefficient of a dimension in a linear expression; None where a quotient in it depends on the dimension too."""
    terms, _ = row
    return None if any(polyhedra.is_in(name, dim) for name in terms if name != dim) else terms.get(dim, 0)


@dataclass(frozen=True)
class _StatementAccess:
    """A _StatementAccess is an access of a statement in a thread.

    run: the statement, with the thread's own loops around it.
    elements: { T[host, grid, inside] -> A[e] }, the element accessed at values of the host's, the grid's and the thread's own
        loops.
    """

    run: ThreadStatement
    access: Access
    is_write: bool
    elements: isl.Map

    @property
    def text(self) -> str:
        return f"{access_text(self.access)} of {self.run.statement}"


class _ThreadAccessFinder:
    """A _ThreadAccessFinder finds the loads and stores of a nest's threads, which `read` returns; arguments as in `uses`."""

    def __init__(self, nest: LaunchNest, scop: Scop, sizes: Mapping[str, int], places: Mapping[str, Placed]):
        self._nest, self._scop, self._sizes, self._places = nest, scop, sizes, places
        self._depth = len(nest.host) + len(nest.grid)  # of loops that are not a thread's own
        self._accesses = list(self._all())

    def _all(self) -> Iterator[_StatementAccess]:
        """Yields the accesses of all statements, in the order of the text."""
        for run in self._nest.runs():
            back = _when(self._nest, run, self._sizes).reverse()
            accesses = reads_and_write(self._scop.statements[run.statement])
            for position, access in enumerate(accesses):
                relation = polyhedra.at_sizes(access.relation, self._sizes)
                yield _StatementAccess(run, access, position == len(accesses) - 1, back.apply_range(relation).coalesce())

    def read(self) -> ThreadAccesses:
        """Returns the loads and stores of the nest's threads, array by array."""
        found: list[ThreadAccess] = []
        throughout: dict[str, int] = {}
        for array in dict.fromkeys(each.access.array for each in self._accesses):
            mine = [each for each in self._accesses if each.access.array == array]
            whole = self._of_threads(mine)
            if whole is not None:
                throughout[array] = self._scop.arrays[array].element.size_bytes
                found += self._held_throughout(mine, whole)
            else:
                found += self._each(mine)
        statements = (self._scop.statements[name] for name in self._nest.statements)
        gathers = [v.array for s in statements for v in subvalues(s.value) if isinstance(v, Gather)]
        return ThreadAccesses(tuple(found), throughout, tuple(dict.fromkeys(gathers)))

    def _of_threads(self, mine: list[_StatementAccess]) -> isl.Map | None:
        """Returns { T[host, grid] -> A[e] }, the only element of an array that each thread accesses; None where one accesses more.

        mine: the accesses to the array.
        """
        found = reduce(isl.Map.union, (polyhedra.outer_of(each.elements, self._depth) for each in mine)).coalesce()
        return found if found.is_single_valued() else None

    def _held_throughout(self, mine: list[_StatementAccess], whole: isl.Map) -> Iterator[ThreadAccess]:
        """Yields a thread's load and store of the only element of an array that it needs, which a register holds in between.

        The load is at the thread's start, the store at its end. There is no load where the thread stores the element before it
        reads it. Nothing is yielded for an array that is not in memory, and nothing where there is no load and the array is local
        and accessed by no other nest.

        mine: the accesses to the array.
        whole: { T[host, grid] -> A[e] }, the element of each thread.
        """
        none = whole.domain().subtract(whole.domain())
        needed, stored = none, none
        for number, each in enumerate(mine):
            if each.is_write:
                stored = stored.union(self._threads_of(each.elements))
            else:
                needed = needed.union(self._not_stored_before(each, mine[:number]))
        array = self._scop.arrays[mine[0].access.array]
        if not in_memory(array) or needed.is_empty() and self._is_own(array.name):
            return
        held = tuple(dict.fromkeys(loop.name for each in mine for loop in each.run.inside))
        for when, is_write in ((needed, False), (stored, True)):
            if not when.is_empty():
                each = next(t for t in mine if t.is_write == is_write)
                yield self._use(each, whole.intersect_domain(when).coalesce(), is_write, (), held)

    def _threads_of(self, elements: isl.Map) -> isl.Set:
        """Returns the threads { T[host, grid] } that access any element, given as the loops' values around them.

        elements: { T[t] -> A[e] }, the elements accessed at values of all loops.
        """
        return polyhedra.outer_of(elements, self._depth).domain()

    def _not_stored_before(self, load: _StatementAccess, others: list[_StatementAccess]) -> isl.Set:
        """Returns the threads { T[host, grid] } in which the load may read an element before any store of the same thread.

        Only those stores count that run in every iteration, of the loops around load and store, in which the load runs.

        others: accesses before the load in the text, of which only stores count.
        """
        left = self._threads_of(load.elements)
        for store in others:
            if store.is_write:
                pairs = zip(load.run.inside, store.run.inside)
                shared = sum(1 for _ in takewhile(lambda pair: pair[0].values is pair[1].values, pairs))
                depth = self._depth + shared
                both = [polyhedra.outer_of(each.elements, depth) for each in (load, store)]
                left = left.intersect(self._threads_of(both[0].subtract_domain(both[1].domain())))
        return left

    def _is_own(self, array: str) -> bool:
        """Returns whether the array is local, and no other nest accesses it."""
        others = (s for s in self._scop.statements.values() if s.name not in self._nest.statements)
        used = any(access.array == array for s in others for access in reads_and_write(s))
        return self._scop.arrays[array].role is Role.LOCAL and not used

    def _each(self, mine: list[_StatementAccess]) -> Iterator[ThreadAccess]:
        """Yields the loads and stores of an array of which a thread accesses several elements; equal ones are yielded once.

        If the array is only read, a load is made outside of the innermost loops in which its element stays the same, not in each
        iteration.

        mine: the accesses to the array.
        """
        is_written = any(each.is_write for each in mine)
        done: list[ThreadAccess] = []
        for each in mine:
            use = self._use(each, each.elements, each.is_write, each.run.inside, ())
            while not is_written and len(use.loops) > self._depth:
                elements = polyhedra.outer_of(use.elements, len(use.loops) - 1)
                if not elements.is_single_valued():
                    break
                inside = each.run.inside[: len(use.loops) - 1 - self._depth]
                use = self._use(each, elements, False, inside, (use.loops[-1], *use.held))
            if not any(_is_same(use, other) for other in done):
                done.append(use)
                yield use

    def _use(
        self, each: _StatementAccess, elements: isl.Map, is_write: bool, inside: tuple[SurroundingLoop, ...], held: tuple[str, ...]
    ) -> ThreadAccess:
        """Returns the load or store that an access of a statement becomes.

        elements: { T[t] -> A[e] }, the element that is accessed at each value of the loops around.
        inside: the thread's own loops around it.
        held: the names of loops further inside, over which a register holds the element.
        """
        place = self._places[each.access.array]
        loops = tuple(loop.name for loop in (*self._nest.host, *self._nest.grid, *inside))
        size = self._scop.arrays[each.access.array].element.size_bytes
        address = tuple(polyhedra.rows_by_piece(polyhedra.weighted_sum(elements, place.strides, place.address)))
        outermost = inside[0].values if inside else None
        return ThreadAccess(
            each.access.array, each.text, is_write, loops, held, elements.domain(), elements, address, size, outermost
        )


def _is_same(use: ThreadAccess, other: ThreadAccess) -> bool:
    """Returns whether both load, or both store, the same elements in the same loops."""
    return (use.is_write, use.loops) == (other.is_write, other.loops) and use.elements.is_equal(other.elements)


# Points in convex parts


@dataclass(frozen=True)
class PointsPart:
    """A PointsPart is a convex part of a set of points { T[t] }, with the addresses that accesses have there.

    All are linear expressions: coefficients by dimension, and a constant.

    zero: expressions whose value is 0 at the points of the part.
    least: expressions whose value is at least 0 there.
    addresses: the byte address of each access.
    """

    zero: list[LinearRow]
    least: list[LinearRow]
    addresses: tuple[LinearRow, ...]

    @property
    def rows(self) -> list[tuple[LinearRow, bool]]:
        return [*((row, True) for row in self.zero), *((row, False) for row in self.least)]


def value_range(points: isl.Set, dim: int) -> tuple[int, int]:
    """Returns the least and the greatest value along a dimension of bounded points { T[t] } without parameters."""
    found = polyhedra.extremes(polyhedra.along(points, dim))
    assert found is not None, "loops of a launch are bounded"
    return found


def parts_of_points(points: isl.Set, addresses: Sequence[Sequence[Piece]]) -> Iterator[PointsPart]:
    """Yields disjoint convex parts of the points { T[t] }, with the addresses of accesses in each.

    addresses: for each access, pieces (points, linear expression, divisor): at these points its byte address is the expression /
        divisor. A single access may have several pieces; of several accesses, each has one.
    """
    regions = [points.intersect(where) for where, _, _ in addresses[0]] if len(addresses[0]) > 1 else [points]
    for number, region in enumerate(regions):
        rows = tuple(_row(*address[number][1:]) for address in addresses)
        for part in polyhedra.disjoint(region):
            zero, least = _integer_rows(part)
            yield PointsPart(zero, least, rows)


def _integer_rows(part: isl.Set) -> tuple[list[LinearRow], list[LinearRow]]:
    """Returns the constraints of a convex part without parameters as linear expressions: those equal to 0, and those at least 0."""
    found = polyhedra.integer_rows(part)
    assert found is not None, "disjoint parts are conjunctions"
    return found


def _row(row: LinearRow, divisor: int) -> LinearRow:
    """Returns floor(row / divisor) as a linear expression: if `divisor` is not 1, a single term that stands for this quotient."""
    terms, constant = row
    return row if divisor == 1 else ({Quotient(frozenset(terms.items()), constant, divisor): 1}, 0)
