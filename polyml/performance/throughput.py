"""Cycles of a program's instructions, counted: how often each stretch of straight code runs, and which units it keeps busy.

The throughputs are those that vectors are chosen by (`codegen/costs/cost_model.py`). A stretch takes as long as its busiest
unit, or as its results wait for one another; each start of a loop costs START_CYCLES more, and the loads and stores of what it
keeps in registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from types import MappingProxyType

from polyml.codegen.costs.cycle_terms import LATENCY_CYCLES, LOOP_CYCLES, CycleTerms
from polyml.codegen.costs.expression_costs import PricedOperation, index_names, operations
from polyml.codegen.ir.accesses import AccessTable, reads_and_write
from polyml.codegen.ir.array_layout import Placed, in_memory
from polyml.codegen.ir.program import COPY, Instance, Jam, Loop, Program, Unroll
from polyml.model.core.scop import Access
from polyml.performance.trip_counts import Site, executions
from polyml.quasi_affine.affine import Affine

START_CYCLES = 1.0  # of a loop: its bounds, mostly beside the work of others
WIDE_BYTES = 32  # vectors beyond these take as long to load as two
GATHERED, SCATTERED = 1.5, 2.5  # loads and stores of one lane on its own

Around = tuple[Jam | Unroll, ...]


@dataclass(frozen=True)
class Cycles:
    """A Cycles is how long a program's instructions take on one thread, in cycles, in two parts.

    alone: of the code that is in no parallel loop, which one thread runs.
    shared: of the code in parallel loops, which threads share.
    """

    alone: float
    shared: float

    def on(self, threads: int) -> float:
        """Returns the cycles on `threads` threads that share the parallel loops evenly, so that none waits for another."""
        return self.alone + self.shared / threads


def cycles(program: Program, sizes: Mapping[str, int], places: Mapping[str, Placed], vector_bytes: int) -> Cycles:
    """Returns the estimated cycles of a program's instructions, where every load and store finds its element in the first cache."""
    return cycles_of(executions(program, sizes, places), program, places, vector_bytes)


def cycles_of(sites: Sequence[Site], program: Program, places: Mapping[str, Placed], vector_bytes: int) -> Cycles:
    """Returns the estimated cycles of a program's instructions, where every load and store finds its element in the first cache.

    sites: all parts of the program, each straight code with how often it runs.
    places: the address of each array in memory.
    """
    table, found = AccessTable(program.scop.context), {False: 0.0, True: 0.0}
    for site in sites:
        found[site.is_shared] += _Stretch(program, table, places, vector_bytes, site).cycles
    return Cycles(found[False], found[True])


@dataclass(frozen=True)
class _InstanceAccess:
    """An _InstanceAccess is an access of an instance, with the distance of its elements in neighbouring lanes of a vector.

    subscripts: those of the element, in the variables of the loops around.
    around: the jams (iterations that run together) and unrolled loops around it, the outermost first.
    lane: how many elements lie between the element of one lane and that of the next; None where the distance is not constant.
    lanes: how many lanes the vector has; 1 where it is no vector.
    """

    access: Access
    subscripts: tuple[Affine, ...]
    writes: bool
    around: Around
    lane: int | None
    lanes: int


class _Stretch:
    """A _Stretch estimates the cycles of the instances of one site: straight code, in a loop or condition or in neither.

    site: the code, with how often it runs.
    """

    def __init__(self, program: Program, table: AccessTable, places: Mapping[str, Placed], vector_bytes: int, site: Site):
        self._program, self._table, self._places, self._site = program, table, places, _by_words(site)
        self._wide = vector_bytes > WIDE_BYTES
        self._loop = site.node if isinstance(site.node, Loop) else None
        self._var = self._loop.var if self._loop is not None else None

    @property
    def cycles(self) -> float:
        """Returns the cycles of all iterations of the code, and of what is done once each time its loop starts."""
        site = self._site
        inside, outside = self._terms(moving=True), self._terms(moving=False)
        once = outside.per_iteration + (START_CYCLES if self._var is not None else 0.0)
        return site.iterations * inside.per_iteration + site.starts * once

    def _terms(self, moving: bool) -> CycleTerms:
        """Returns the work of one iteration of the code's loop if `moving`, else the work that is done once each time the loop
        starts.

        An operation, load or store counts in each iteration only where its value or element changes with the loop's variable.
        """
        loads = stores = arithmetic = slow = 0.0
        for accesses in self._by_array().values():
            read, written = self._places_of(accesses, moving)
            loads, stores = loads + read, stores + written
        lanes = 1
        for instance, around in self._site.instances:
            lanes = max([lanes, *(jam.lanes for jam in around if isinstance(jam, Jam))])
            for operation in operations(self._program.scop.statements[instance.statement].value):
                moved = self._moved(operation, instance)
                if (self._var is None or self._var in moved) is not moving:
                    continue
                copies = prod(node.count for node in around if node.var in moved)
                arithmetic += operation.quick * copies
                slow += operation.slow * copies
        op, load, store = (0.5, 1.0, 1.0) if self._wide and lanes > 1 else (0.5, 0.5, 1.0)
        return CycleTerms(
            arithmetic=arithmetic * op,
            loads=loads * load,
            stores=stores * store,
            slow=slow * ((2.0 if self._wide else 1.0) if lanes > 1 else 0.6),
            jumps=0.0,
            issue=0.25 * (arithmetic + loads + stores),
            waits=self._waits() if moving else 0.0,
            loop=LOOP_CYCLES if moving and self._var is not None else 0.0,
            instances=1,
            used=1.0,
        )

    def _moved(self, operation: PricedOperation, instance: Instance) -> frozenset[str]:
        """Returns the variables of loops, also of jams (iterations that run together), with which an operation's value changes."""
        reads = self._program.scop.statements[instance.statement].reads
        names = {name for index in operation.indices for name in index_names(index, instance)}
        for number in operation.loads:
            names |= frozenset().union(*(e.names for e in self._subscripts(reads[number], instance)), names)
            names |= self._updated(reads[number], instance)
        for node in reversed(self._around(instance)):
            names |= node.base.names if node.var in names else frozenset()
        return frozenset(names)

    def _updated(self, read: Access, instance: Instance) -> frozenset[str]:
        """Returns the variables of the loops whose iterations change the value of an element that an instance reads, by writing it.

        These are all loops around where the statement writes the element that it reads (an update in place), else none.
        """
        write = self._program.scop.statements[instance.statement].write
        is_it = write.array == read.array and self._subscripts(write, instance) == self._subscripts(read, instance)
        around = self._around(instance)
        return frozenset([*(node.var for node in around), *([self._var] if self._var else [])]) if is_it else frozenset()

    def _around(self, instance: Instance) -> Around:
        """Returns the jams (iterations that run together) and unrolled loops around an instance, the outermost first."""
        return next(around for each, around in self._site.instances if each is instance)

    def _subscripts(self, access: Access, instance: Instance) -> tuple[Affine, ...]:
        """Returns the subscripts of an access in the variables of the loops around."""
        statement = self._program.scop.statements[instance.statement]
        iterators = dict(zip(statement.iterators, instance.point))
        return tuple(e.substitute(iterators) for e in self._table.subscripts(access))

    # what is loaded and stored

    def _by_array(self) -> dict[str, list[_InstanceAccess]]:
        """Returns the accesses to memory that the code's instances make, by array."""
        found: dict[str, list[_InstanceAccess]] = {}
        for instance, around in self._site.instances:
            statement = self._program.scop.statements[instance.statement]
            accesses = reads_and_write(statement)
            for position, access in enumerate(accesses):
                if in_memory(self._program.scop.arrays[access.array]):
                    subscripts, writes = self._subscripts(access, instance), position == len(statement.reads)
                    found.setdefault(access.array, []).append(self._access(access, subscripts, writes, around))
        return found

    def _access(self, access: Access, subscripts: tuple[Affine, ...], writes: bool, around: Around) -> _InstanceAccess:
        """Returns an access with its distance between the lanes of a vector, 0 where it is in no vector."""
        jam = next((node for node in around if isinstance(node, Jam) and node.lanes > 1), None)
        if jam is None:
            return _InstanceAccess(access, subscripts, writes, around, 0, 1)
        place = self._places[access.array]
        steps = [e.coefficient(jam.var) for e in subscripts]
        moved = [step * stride for step, stride in zip(steps, place.strides) if step is not None]
        lane = None if len(moved) < len(steps) else sum(moved) // place.element_bytes
        return _InstanceAccess(access, subscripts, writes, around, lane, jam.lanes)

    def _places_of(self, accesses: Sequence[_InstanceAccess], moving: bool) -> tuple[float, float]:
        """Returns (loads, stores): how many instructions load elements of one array, and how many store them.

        Several loads of one element count once, and so do several stores; a load does not count where the code has stored the
        element.

        moving: whether to count the accesses whose element changes with the loop's iterations; else those whose element does not.
        """
        read: dict[tuple, float] = {}
        written: dict[tuple, float] = {}
        for access in accesses:
            moves = self._var is None or any(self._var in e.names for e in _first(access.subscripts, access.around))
            if moves is not moving:
                continue
            side = written if access.writes else read
            for key in _copies(access):
                if access.writes or key not in written:
                    side[key] = _each(access)
        return sum(read.values()), sum(written.values())

    # what waits

    def _waits(self) -> float:
        """Returns how many cycles an iteration takes at least because it needs what the one before computed, or 0.0."""
        if self._loop is None:
            return 0.0
        longest = 0.0
        for instance, around in self._site.instances:
            statement = self._program.scop.statements[instance.statement]
            written = _first(self._subscripts(statement.write, instance), around)
            read = [_first(self._subscripts(r, instance), around) for r in statement.reads if r.array == statement.write.array]
            costs = operations(statement.value)
            times = prod(node.count for node in around if isinstance(node, Unroll))
            if not any(self._loop.var in e.names for e in written):
                if written in read:
                    longest += LATENCY_CYCLES * times
                continue
            before = {self._loop.var: Affine(-self._loop.step, ((self._loop.var, 1),))}
            earlier = tuple(e.substitute(before) for e in written)
            if earlier in read:
                longest += sum(LATENCY_CYCLES * o.quick + 1.6 * o.slow for o in costs) * times
        return longest


def _by_words(site: Site) -> Site:
    """Returns the site with one iteration in place of those of a word that one instruction computes (`Unroll.word`)."""
    found = []
    for instance, around in site.instances:
        is_one = [isinstance(node, Unroll) and node.word not in ("", COPY) for node in around]
        found.append((instance, tuple(replace(node, count=1) if one else node for node, one in zip(around, is_one))))
    return replace(site, instances=tuple(found))


def _first(subscripts: tuple[Affine, ...], around: Around, offsets: Mapping[str, int] = MappingProxyType({})) -> tuple[Affine, ...]:
    """Returns subscripts with a number in place of the variable of each jam (iterations that run together) and unrolled loop.

    around: these jams and unrolled loops, the outermost first.
    offsets: {variable: which of its iterations is meant, from 0}; for a variable that is not in it the first one is.
    """
    for node in reversed(around):
        value = {node.var: node.base + offsets.get(node.var, 0)}
        subscripts = tuple(e.substitute(value) for e in subscripts)
    return subscripts


def _copies(access: _InstanceAccess) -> Iterator[tuple]:
    """Yields the subscripts of each copy of an access that unrolling makes. Copies with equal subscripts access the same
    element.
    """
    moved = [node for node in access.around if any(node.var in e.names for e in access.subscripts)]
    ranges = [range(0, node.count * _lanes(node), _lanes(node)) for node in moved]
    for offsets in product(*ranges):
        yield _first(access.subscripts, access.around, dict(zip((node.var for node in moved), offsets)))


def _lanes(node: Jam | Unroll) -> int:
    """Returns the number of lanes of a jam (iterations that run together); an unrolled loop has 1."""
    return node.lanes if isinstance(node, Jam) else 1


def _each(access: _InstanceAccess) -> float:
    """Returns how many loads or stores one vector of an access takes: 1.0 where its lanes are contiguous or the same, else more."""
    if access.lane in (0, 1, -1):
        return 1.0
    return access.lanes * (SCATTERED if access.writes else GATHERED)
