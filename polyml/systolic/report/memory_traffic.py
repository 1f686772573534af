"""What a mapping on a machine needs of the memories around the array, how long it waits for them, and what it costs.

    buffer          operands that move, and results; sums that wait between folds where the accumulators do not hold them
    accumulators    every sum that leaves the array, once in and once out
    memory          stationary operands, a tile of the whole array for each fold; of the rest each element once

Bytes follow from exact counts and the arrays' types. Where PEs read more in a cycle than the buffer delivers, every cycle with
instances takes longer by one factor. Each fold waits besides until its stationary operands have come from memory, which delivers
them fold by fold (`systolic.folding.stalls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import islpy as isl

from polyml import polyhedra
from polyml.machines.descriptions import OPERATIONS, Systolic
from polyml.model.core.scop import Scop
from polyml.model.counting.count_points import size
from polyml.systolic.folding.fold_counts import preloaded
from polyml.systolic.folding.partial_sums import PartialSums, partial_sums
from polyml.systolic.folding.preloading import preload_groups
from polyml.systolic.folding.stalls import Stalled, stalled
from polyml.systolic.mapping.dataflows import Plan
from polyml.systolic.recurrences.recurrence import DataStream
from polyml.systolic.recurrences.systolic_nest import SystolicNest
from polyml.systolic.recurrences.value_sources import RESULT
from polyml.values import cached_property


def operands(scop: Scop, nest: SystolicNest, sizes: Mapping[str, int]) -> dict[str, tuple[str, int]]:
    """Returns, for each array that the nest reads, (element type, how many different elements come from memory), by the array's
    name. Reads of the element to which a sum is added do not count.

    sizes: the parameters' values.
    """
    touched: dict[str, list[isl.Set]] = {}
    types = {}
    for use in nest.uses:
        if use.kind == "result" or not use.rows:
            continue
        place = nest.embedding(use.statement)
        access, domain = place.statement.reads[use.read], place.statement.domain
        if use.flow is not None:
            domain = domain.subtract(place.map.intersect_range(use.flow.range()).domain())
        read = polyhedra.at_sizes(access.relation.intersect_domain(domain).range(), sizes)
        touched.setdefault(use.array, []).append(read)
        types[use.array] = scop.arrays[access.array].element
    return {array: (f"{types[array].kind}{types[array].bits}", size(polyhedra.union(sets))) for array, sets in touched.items()}


def element_bytes(scop: Scop, nest: SystolicNest) -> dict[str, int]:
    """Returns the bytes of an element of each array that the nest uses, by name."""
    accesses = {use.array: (use, nest.embedding(use.statement).statement) for use in nest.uses}
    found = {array: s.write if use.read == RESULT else s.reads[use.read] for array, (use, s) in accesses.items()}
    found |= {place.statement.write.array: place.statement.write for place in nest.embeddings}
    return {array: scop.arrays[access.array].element.size_bytes for array, access in found.items()}


def written(nest: SystolicNest, sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns how many elements of each array the nest's statements write, by name.

    sizes: the parameters' values.
    """
    touched: dict[str, list[isl.Set]] = {}
    for statement in (place.statement for place in nest.embeddings):
        elements = statement.write.relation.intersect_domain(statement.domain).range()
        touched.setdefault(statement.write.array, []).append(polyhedra.at_sizes(elements, sizes))
    return {array: size(polyhedra.union(sets)) for array, sets in touched.items()}


@dataclass(frozen=True)
class MemoryCosts:
    """A MemoryCosts says what a plan costs in the memories of a machine: bytes, waits and energy.

    machine: the array with its memories.
    plan: the mapping in folds.
    operands: by array that is read, (element type, how many elements come from memory).
    written: by array, how many elements are written.
    element_bytes: by array, the bytes of an element.
    """

    machine: Systolic
    plan: Plan
    operands: Mapping[str, tuple[str, int]]
    written: Mapping[str, int]
    element_bytes: Mapping[str, int]

    @property
    def pace(self) -> int:
        """Returns the cycles that a PE takes for one multiply-add, which depend on the types of the arrays that the nest reads.
        Where it reads a single array, both factors are of that array's type.
        """
        numbers = [number for number, _ in self.operands.values()]
        return self.machine.pace(numbers if len(numbers) != 1 else 2 * numbers)

    @cached_property
    def sums(self) -> PartialSums | None:
        """Returns what is known of the partial sums that wait between folds; None where there are none."""
        return partial_sums(self.plan.folds)

    @property
    def capacity(self) -> int:
        """Returns how many partial sums the accumulators hold."""
        return self.machine.accumulator_bytes // self.machine.accumulator_word_bytes

    @property
    def on_chip(self) -> bool:
        """Returns whether the accumulators hold all partial sums that wait between folds."""
        return self.sums is None or self.sums.waiting <= self.capacity

    @cached_property
    def buffer_reads(self) -> int:
        """Returns the bytes that the array reads from the buffer: operands that move, and what sums start from."""
        stationary = preloaded(self.plan.recurrence, self.plan.mapping)
        moving = sum(t.reads * self._bytes(t.stream) for t in self.plan.folds.traffic if t.stream not in stationary)
        return moving - self._moved_bytes

    @property
    def buffer_writes(self) -> int:
        """Returns the bytes of results that the array writes to the buffer."""
        return sum(t.writes * self._bytes(t.stream) for t in self.plan.folds.traffic) - self._moved_bytes

    @property
    def read_back(self) -> int:
        """Returns the bytes of partial sums that the array would read back from the buffer between folds, if they did not wait in
        the accumulators.
        """
        return self.sums.returns * self.machine.accumulator_word_bytes if self.sums else 0

    @property
    def buffer_bytes(self) -> int:
        """Returns the bytes that the array reads from the buffer and writes to it."""
        return self.buffer_reads + self.buffer_writes + (0 if self.on_chip else 2 * self.read_back)

    @property
    def accumulator_bytes(self) -> int:
        """Returns the bytes that are written into the accumulators and read from them."""
        return 2 * self.plan.folds.writes * self.machine.accumulator_word_bytes

    @property
    def memory_bytes(self) -> int:
        """Returns the bytes that are read from the memory and written to it."""
        stationary = preloaded(self.plan.recurrence, self.plan.mapping)
        others = {array: number for array, (_, number) in self.operands.items() if array not in {s.use.array for s in stationary}}
        known = [*others.items(), *self.written.items()]
        if self.plan.recurrence.nest.starts_from_arrays:
            known.append((self.plan.recurrence.result.use.array, self.plan.recurrence.elements))
        return self._tile_bytes * self.plan.folds.number + sum(number * self.element_bytes[array] for array, number in known)

    @property
    def _tile_bytes(self) -> int:
        """Returns the bytes of the stationary operands that are shifted into the whole array before a fold."""
        groups = preload_groups(self.plan.recurrence, self.plan.mapping)
        return sum(max(map(self._bytes, group)) for group in groups) * prod(self.plan.folds.shape)

    @property
    def _moved_bytes(self) -> int:
        """Returns the bytes of partial sums that leave the array after a fold and come back in a later one, where each has the type
        of the results.
        """
        return self.sums.returns * self._bytes(self.plan.recurrence.result) if self.sums else 0

    def _bytes(self, stream: DataStream) -> int:
        """Returns the bytes of an element of a stream."""
        return self.element_bytes[stream.use.array]

    def stalled(self, *, on_chip: bool | None = None) -> Stalled | None:
        """Returns the cycles of the plan with its waits for memory. None where the memory's rate or the frequency is not known, or
        where folds use each other's values.

        on_chip: whether partial sums wait in the accumulators; None: they do where the accumulators hold all of them.
        """
        tile, overlap = self._tile_cycles, self.plan.padded.overlap
        if tile is None or overlap is None:
            return None
        pace = max(Fraction(self.pace), self._buffer_pace(self.on_chip if on_chip is None else on_chip))
        return stalled(overlap.steps, tile, self.machine.weight_tiles, pace)

    @property
    def _tile_cycles(self) -> Fraction | None:
        """Returns the cycles in which the memory delivers the stationary operands of a fold; None where its rate or the frequency
        is not known.
        """
        memory, clock = self.machine.read("memory"), self.machine.frequency_hz.all
        if memory is None or clock is None:
            return None
        return self._tile_bytes * Fraction(clock.value) / Fraction(memory.value)

    def _buffer_pace(self, on_chip: bool) -> Fraction:
        """Returns the cycles that the buffer takes to deliver all that the PEs read, divided by the cycles in which PEs run
        instances: above 1 where PEs wait. Returns 0 where the buffer's rate or the frequency is not known.

        on_chip: whether partial sums wait in the accumulators, so that they are not read from the buffer.
        """
        rate, clock = self.machine.read("buffer"), self.machine.frequency_hz.all
        if rate is None or clock is None:
            return Fraction(0)
        size = self.buffer_reads + (0 if on_chip else self.read_back)
        active = sum(Fraction(each.number * each.instances, each.units) for each in self.plan.folds.classes)
        return size * Fraction(clock.value) / Fraction(rate.value) / active

    @cached_property
    def energy_j(self) -> dict[str, float]:
        """Returns the energy of each component in J, by name, for those in the machine's table."""
        amounts = dict.fromkeys(OPERATIONS, self.plan.recurrence.instances)
        amounts |= {"buffer": self.buffer_bytes, "accumulators": self.accumulator_bytes, "memory": self.memory_bytes}
        return {name: amounts[name] * figure.value for name, figure in self.machine.energies.known()}
