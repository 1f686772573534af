"""The misses and bytes of a kernel in one order of its instances, at each cache level, by array and by reference."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from polyml.caches.simulator.simulate import Counts, Simulation, ThreadModel, simulate
from polyml.caches.simulator.trace import ArrayReference
from polyml.codegen.ir.array_layout import placed
from polyml.codegen.ir.program import loops
from polyml.drawing.tables import html_table
from polyml.machines.cpu import CacheLevel
from polyml.performance.variants import Form
from polyml.values import cached_property

ENGINE = "simulation"
EXACT = "exact for LRU or its tree of bits, without prefetching"
TURNS = "accesses of {} threads in turn, one each, a model"
INCOHERENT = "without misses for the sake of coherence"


@dataclass(frozen=True)
class MissTotal:
    """A MissTotal holds the sums of accesses and misses over several references, at one cache level.

    compulsory, capacity, conflict: the parts of the misses.
    coherence: misses of lines that writes of other threads invalidated, where these are simulated.
    written: how many lines the level writes back, or, where it writes through, how many writes it passes on.
    """

    accesses: int
    misses: int
    compulsory: int
    capacity: int
    conflict: int
    coherence: int
    written: int


@dataclass(frozen=True)
class Misses:
    """A Misses holds the simulated misses of a kernel in one order of its instances, by cache level and reference.

    simulation: what the simulator returned, from which the other numbers are computed.
    threads: how many share the iterations of the program's parallel loops.
    coherent: whether writes invalidate lines in the caches of other threads.
    seconds: how long the simulation took.
    """

    simulation: Simulation = field(repr=False)
    threads: int
    coherent: bool
    seconds: float

    def _repr_html_(self) -> str:
        """Returns a table of the misses of each array by level, which notebooks show."""
        levels = range(len(self.levels))
        heads = ["array", "accesses", *(f"L{each.level} misses" for each in self.levels)]
        rows: list[list[object]] = []
        for array in self.arrays:
            found = [self.of_array(array, level) for level in levels]
            rows.append([array, found[0].accesses if found else 0, *(each.misses for each in found)])
        rows.append(["all", self.accesses, *(self.total(level).misses for level in levels)])
        return html_table(f"misses, {self.accuracy}", heads, rows)

    @property
    def accuracy(self) -> str:
        """Returns how exact the numbers are and what they take for granted, as text."""
        if self.threads == 1:
            return f"{EXACT}, one thread"
        return f"{EXACT}; {TURNS.format(self.threads)}" + ("" if self.coherent else f"; {INCOHERENT}")

    @property
    def levels(self) -> tuple[CacheLevel, ...]:
        """Returns the caches, from the nearest outwards."""
        return self.simulation.levels

    @property
    def counts(self) -> Mapping[ArrayReference, Counts]:
        """Returns the numbers of accesses and misses of each reference, over all threads."""
        return self.simulation.counts

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        """Returns the arrays in memory, in the order of their first reference."""
        return tuple(dict.fromkeys(reference.array for reference in self.counts))

    @property
    def accesses(self) -> int:
        """Returns how many accesses all references make."""
        return sum(counts.accesses for counts in self.counts.values())

    def of_array(self, array: str, level: int) -> MissTotal:
        """Returns the sums over the references to one array, at level `level`, counted from 0."""
        counts = [c for reference, c in self.counts.items() if reference.array == array]
        return _total(counts, self.simulation.written[array][level], level)

    def total(self, level: int) -> MissTotal:
        """Returns the sums over all references, at level `level`, counted from 0."""
        return _total(self.counts.values(), sum(row[level] for row in self.simulation.written.values()), level)


def misses(
    form: Form, sizes: Mapping[str, int], levels: Sequence[CacheLevel], threads: int = 1, coherent: bool = False,
    addresses: Mapping[str, int] = MappingProxyType({}),
) -> Misses:  # fmt: skip
    """Returns the misses of a kernel in one order of its instances, found by simulation of all accesses.

    form: the kernel in this order.
    threads: how many run it; only one is simulated where no loop is parallel.
    coherent: whether a write by one thread invalidates the line in the caches of the others.
    addresses: array -> the byte at which it begins; the other arrays get addresses one after another.

    Raises PolymlValueError for what cannot be simulated.
    """
    start = time.perf_counter()
    used = threads if any(loop.parallel for loop in loops(form.program.body)) else 1
    together = coherent and used > 1
    places = placed(form.program, sizes, addresses=addresses, threads=used)
    found = simulate(form.program, sizes, levels, places=places, threads=ThreadModel(used, together))
    return Misses(found, used, together, time.perf_counter() - start)


def _total(counts: Collection[Counts], written: int, level: int) -> MissTotal:
    """Returns the sums over the counts of some references at one level. written: how many lines the level writes back."""
    return MissTotal(
        sum(c.accesses for c in counts),
        sum(c.misses[level] for c in counts),
        sum(c.first[level] for c in counts),
        sum(c.capacity(level) for c in counts),
        sum(c.conflict(level) for c in counts),
        sum(c.coherence(level) for c in counts),
        written,
    )
