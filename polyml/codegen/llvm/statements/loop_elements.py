"""The elements that an innermost loop accesses: which of them may stay in registers, and which are carried from one iteration
to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polyml.codegen.analysis.access_conflicts import RangedAccess, jam_range
from polyml.codegen.analysis.scans import scanned_read
from polyml.codegen.ir.jams import JamStack
from polyml.codegen.ir.program import CannotRunTogether, Instance, Jam, Loop, Node, Unroll
from polyml.codegen.llvm.element_access import ElementAccess
from polyml.codegen.llvm.registers import Location, disjoint
from polyml.codegen.llvm.statements.dot_products import dot_steps
from polyml.codegen.llvm.statements.locations import AccessLocations, InstanceCopy
from polyml.quasi_affine.affine import variable
from polyml.values import cached_property


@dataclass(frozen=True)
class OverlappingVectors:
    """An OverlappingVectors is the vectors that one iteration of a loop reads along a row of an array, at several offsets less than
    a vector apart, so that they overlap. The loop does not write the array.

    locations: for each offset, in the order of `offsets`, the vectors of an iteration in order.
    offsets: in ascending order; an offset is the constant term of a subscript, such as 2 for A[i, j + 2], for the first of its
        vectors.
    """

    locations: tuple[tuple[Location, ...], ...]
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class _LocationAccess:
    """A _LocationAccess is one access of an instance, for one of the iterations that run together, or for a vector of them.

    location: what it accesses.
    instance: the copy of the instance.
    number: the access's number, see `InstanceCopy.access`.
    writes: whether it, or another access to the same location, writes.
    operator: that of the reduction of which the location is a partial result, else None.
    """

    location: Location
    instance: InstanceCopy
    number: int
    writes: bool
    operator: str | None = None

    def ranged(self) -> RangedAccess:
        """Returns the access with the values that the variables of the Jam nodes and unrolled loops around it run through."""
        instance = self.instance
        return RangedAccess((instance.access(self.number), instance.node), tuple(map(jam_range, instance.around)))


class LoopElements:
    """A LoopElements finds the elements that one innermost loop accesses, for all iterations that Jam nodes around and in it run
    together.
    """

    def __init__(self, body: ElementAccess, locations: AccessLocations, loop: Loop):
        self._body, self._locations, self.loop = body, locations, loop
        self._jams = body.jams

    @cached_property
    def _copies(self) -> list[InstanceCopy]:
        """The copies of all instances in the loop: of each instance one for each iteration, or vector of iterations, that runs
        together with others.
        """
        return [*self._within(self.loop.body, self._jams)]

    def _within(self, nodes: tuple[Node, ...], jams: JamStack) -> Iterator[InstanceCopy]:
        """Yields the copies of the instances below the nodes: of each instance one for each iteration, or vector of iterations,
        that runs together with others.

        jams: the Jam nodes around the nodes, which say what runs together.
        """
        statements = self._body.scop.statements
        for node in nodes:
            if isinstance(node, Instance):
                statement = statements[node.statement]
                iterators = dict(zip(statement.iterators, node.point))
                for copy in jams.copies:
                    yield InstanceCopy(statement, iterators, copy, node, jams.jams)
            elif isinstance(node, Jam):
                yield from self._within(node.body, jams.inside(node))
            elif isinstance(node, Unroll):
                for inner in self._within(node.body, jams):
                    for i in range(node.count):
                        values = {node.var: node.base + i}
                        iterators = {name: e.substitute(values) for name, e in inner.iterators.items()}
                        yield replace(inner, iterators=iterators, around=(node, *inner.around))
            else:
                yield from self._within(node.body, jams)

    # -- elements that stay in registers -------------------------------------------------------------------------

    def held(self) -> dict[Location, str | None]:
        """Returns the locations that the loop can keep in registers, since they are the same in every iteration and no other access
        overlaps them: { location -> the operator of the reduction of which it is a lane's partial result, None for an element
        itself }.
        """
        moving: list[_LocationAccess] = []
        fixed: dict[Location, _LocationAccess] = {}
        for access in self._accesses():
            location = access.location
            varies = any(self.loop.var in e.names for e in location.subscripts)
            if varies or (location.last is not None and self.loop.var in location.last.names and location.part is None):
                moving.append(access)
                continue
            written = location in fixed and fixed[location].writes
            operator = access.operator if location.part is not None else None
            fixed[location] = replace(access, writes=written or access.writes, operator=operator)
        return self._without_conflicts(moving, fixed)

    def _accesses(self) -> Iterator[_LocationAccess]:
        """Yields the accesses of each instance in the loop, the reads, then the write, for each iteration, or vector of iterations,
        that runs together with others.
        """
        reductions = self._body.module.program.reductions
        for instance in self._copies:
            reduction = reductions.get(instance.statement.name)
            shares = reduction is not None and instance.copy.lane_var is not None and not instance.copy.scans
            for number in range(instance.write + 1):
                writes, operator = number == instance.write, None
                if reduction is not None and shares and (writes or number == reduction.access):
                    operator = reduction.operator
                yield _LocationAccess(self._locations.of(instance, number, operator), instance, number, writes, operator)

    def _without_conflicts(
        self, moving: list[_LocationAccess], fixed: Mapping[Location, _LocationAccess]
    ) -> dict[Location, str | None]:
        """Returns the locations of `fixed` that have no element in common with others that the loop accesses, each with the
        operator of the reduction of which it is a partial result, or None.

        moving: accesses whose locations change from iteration to iteration.
        fixed: accesses whose locations do not, by location.
        """
        kept: dict[Location, str | None] = {}
        written = {p.array for p, access in fixed.items() if access.writes} | {m.location.array for m in moving if m.writes}
        is_separate: dict[str, bool] = {}
        for location, access in fixed.items():
            if location.array not in written:
                kept[location] = access.operator
                continue
            if location.array not in is_separate:
                is_separate[location.array] = self._is_separate(location.array, moving, fixed)
            if is_separate[location.array]:
                kept[location] = access.operator
            elif location.part is not None:
                raise CannotRunTogether(f"a partial result of {location.array} has no register")
        return kept

    def _is_separate(self, array: str, moving: list[_LocationAccess], fixed: Mapping[Location, _LocationAccess]) -> bool:
        """Returns whether no two of the array's locations in `fixed`, nor one of them and one of its accesses in `moving`, have an
        element in common.

        moving: accesses whose locations change from iteration to iteration.
        fixed: accesses whose locations do not, by location.
        """
        mine = [location for location in fixed if location.array == array]
        for i, a in enumerate(mine):
            for b in mine[i + 1 :]:
                are_partial = a.part is not None and b.part is not None
                if not are_partial and not disjoint(a, b):
                    return False
        tested = set()
        for access in moving:
            if access.location.array != array:
                continue
            for location in mine:
                other = fixed[location]
                key = (access.number, access.instance.node, other.number, other.instance.node)
                if key in tested:
                    continue
                tested.add(key)
                if self._may_conflict(access, other):
                    return False
        return True

    def _may_conflict(self, a: _LocationAccess, b: _LocationAccess) -> bool:
        """Returns whether the two accesses, in any two iterations of the loop, may refer to the same element."""
        return self._body.module.conflicts.may_conflict(a.ranged(), b.ranged(), self._body.path, self.loop)

    def updated(self, around: set[str]) -> list[Location]:
        """Returns the locations that the loop updates and that stay the same in all iterations of the loop and of the loops around
        it whose variables are `around`. An array counts only if all of its locations that these loops access stay the same.
        """
        found: dict[str, dict[Location, bool] | None] = {}
        names, reductions = {*around, self.loop.var}, self._body.module.program.reductions
        for instance in self._copies:
            reduction = reductions.get(instance.statement.name)
            for number in range(instance.write + 1):
                array, writes = instance.access(number).array, number == instance.write
                location = self._locations.of(instance, number)
                limits = () if location.last is None else (location.last,)
                locations = found.setdefault(array, {})
                is_accumulator = reduction is not None and (writes or number == reduction.access)
                if instance.copy.lane_var is not None and is_accumulator and location.lanes == 1:
                    found[array] = None  # the lanes update one element
                elif locations is not None and any(e.names & names for e in (*location.subscripts, *limits)):
                    found[array] = None
                elif locations is not None:
                    locations[location] = locations.get(location, False) or writes
        kept = [list(locations) for locations in found.values() if locations and all(locations.values())]
        return [one for group in kept if all(disjoint(a, b) for a in group for b in group if a is not b) for one in group]

    def biases(self) -> dict[Location, list[Location]]:
        """Returns the sums of products with biases that the loop's instructions on words need (`DotStep.bias`): { the name of such a
        sum -> the locations of the sums that it is taken off }.
        """
        found: dict[Location, list[Location]] = {}
        for node, jams in _unrolled(self.loop.body, self._jams):
            for step in dot_steps(self._body, self._locations, node, jams.copies):
                if step.use.is_biased:
                    found.setdefault(step.bias, []).append(step.sums)
        return found

    # -- elements that pass from one iteration to the next -------------------------------------------------------

    def carried(self) -> list[tuple[Location, ...]]:
        """Returns a tuple for each location that the loop writes, that later iterations read, and that no other write in the loop
        overlaps: (the location written, the one at which the next iteration reads this value, the one at which the iteration after
        that reads it, ...).
        """
        arrays = {instance.statement.write.array for instance in self._copies}
        reads = {
            self._locations.of(instance, number)
            for instance in self._copies
            for number, access in enumerate(instance.statement.reads)
            if access.array in arrays
        }
        if not reads:
            return []
        writes: dict[str, dict[Location, None]] = {}
        for instance in self._copies:
            written = writes.setdefault(instance.statement.write.array, {})
            written[self._locations.of(instance, instance.write)] = None
        found = []
        for locations in writes.values():
            for location in locations:
                chain, before = [location], _one_iteration_before(location, self.loop)
                while (
                    before is not None and before in reads and before not in chain
                ):  # a chain may come back to its start in a remainder loop
                    chain.append(before)
                    before = _one_iteration_before(before, self.loop)
                if len(chain) > 1 and all(other == location or self._stays(location, other, len(chain) - 1) for other in locations):
                    found.append(tuple(chain))
        return found

    def _stays(self, location: Location, other: Location, iterations: int) -> bool:
        """Returns whether what is written at one location is not overwritten by a write at another one, in the same iteration of
        the loop or in as many later ones as given.
        """
        if _always_disjoint(other, location, self.loop.var):
            return True
        later = (variable(self.loop.var) + self.loop.step * count for count in range(iterations + 1))
        moved = (
            replace(other, subscripts=tuple(e.substitute({self.loop.var: value}) for e in other.subscripts)) for value in later
        )
        return all(disjoint(each, location) for each in moved)

    def overlapping_vectors(self) -> list[OverlappingVectors]:
        """Returns, for each row of an array along which the loop moves and which it does not write, the vectors that it reads at
        several offsets less than a vector apart; rows without such vectors are left out.
        """
        found: dict[tuple, dict[int, Location]] = {}
        written: set[str] = set()
        for instance in self._copies:
            written.add(instance.statement.write.array)
            for number in range(instance.write):
                location = self._locations.of(instance, number)
                dim = self._body.row_of(location)
                if dim is None or location.subscripts[dim].coefficient(self.loop.var) != 1:
                    continue
                others = tuple(e - e.constant if d == dim else e for d, e in enumerate(location.subscripts))
                if not any(self.loop.var in e.names for d, e in enumerate(others) if d != dim):
                    found.setdefault((location.array, others, location.lanes), {})[location.subscripts[dim].constant] = location
        rows = [
            _overlapping(locations, lanes, self.loop.step) for (array, _, lanes), locations in found.items() if array not in written
        ]
        return [row for row in rows if row is not None]

    def scanned(self) -> list[Location]:
        """Returns the locations of the elements from which the loop's scans (prefix sums) continue at the beginning of an
        iteration.
        """
        found = []
        module = self._body.module
        for instance in self._copies:
            copy = instance.copy
            if not copy.scans or copy.part != 0 or copy.lane_var is None:
                continue
            access = scanned_read(module.program, module.conflicts, instance.statement, instance.node, copy.lane_var)
            if access is not None:
                found.append(self._locations.of(instance, access, copy=replace(copy, lane_var=None)))
        return found


def _unrolled(nodes: tuple[Node, ...], jams: JamStack) -> Iterator[tuple[Unroll, JamStack]]:
    """Yields the unrolled loops below the nodes, with the Jam nodes around them. jams: the Jam nodes around the nodes."""
    for node in nodes:
        if isinstance(node, Unroll):
            yield node, jams
        elif not isinstance(node, Instance):
            yield from _unrolled(node.body, jams.inside(node) if isinstance(node, Jam) else jams)


def _overlapping(locations: Mapping[int, Location], lanes: int, step: int) -> OverlappingVectors | None:
    """Returns the vectors that an iteration reads along one row of an array, grouped by their offsets. Returns None if there is
    only one offset, if offsets are a vector or more apart, or if one lacks some of the step / lanes vectors that an iteration
    covers.

    locations: { constant term of the vector's subscript along the row -> the vector }.
    lanes: elements of a vector.
    step: the step of the loop.
    """
    first = sorted(o for o in locations if o - lanes not in locations)
    vectors = range(step // lanes)
    if len(first) < 2 or first[-1] - first[0] >= lanes or step % lanes or len(locations) != len(first) * len(vectors):
        return None
    if not all(o + lanes * v in locations for o in first for v in vectors):
        return None
    return OverlappingVectors(tuple(tuple(locations[o + lanes * v] for v in vectors) for o in first), tuple(first))


def _one_iteration_before(location: Location, loop: Loop) -> Location | None:
    """Returns the location that the same access has one iteration earlier; None if the location is the same in every iteration, or
    if its mask changes from one iteration to the next.
    """
    if not any(loop.var in e.names for e in location.subscripts) or location.last is not None and loop.var in location.last.names:
        return None
    return replace(
        location, subscripts=tuple(e.substitute({loop.var: variable(loop.var) - loop.step}) for e in location.subscripts)
    )


def _always_disjoint(a: Location, b: Location, name: str) -> bool:
    """Returns whether the locations are known to have no element in common, even if the named loop variable has different values in
    the two: dimensions whose subscripts contain it do not count.
    """
    dims = [d for d, (x, y) in enumerate(zip(a.subscripts, b.subscripts)) if name not in x.names | y.names]
    return disjoint(_in_dimensions(a, dims), _in_dimensions(b, dims))


def _in_dimensions(location: Location, dims: list[int]) -> Location:
    """Returns the location with only some of its dimensions."""
    strides = location.strides or (0,) * len(location.subscripts)
    return replace(location, subscripts=tuple(location.subscripts[d] for d in dims), strides=tuple(strides[d] for d in dims))
