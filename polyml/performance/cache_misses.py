"""Misses and bytes of a form at each cache level, by array and by reference."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from polyml.caches.simulator.simulate import Counts, Simulation, ThreadModel, simulate
from polyml.caches.simulator.trace import Reference
from polyml.codegen.ir.array_layout import placed
from polyml.codegen.ir.program import loops
from polyml.machines.cpu import CacheLevel
from polyml.performance.variants import Form

ENGINE = "simulation"
EXACT = "exact for LRU or its tree of bits, without prefetching"
TURNS = "accesses of {} threads in turn, one each, a model"
INCOHERENT = "without misses for the sake of coherence"


@dataclass(frozen=True)
class Total:
    """Sums over references. coherence: misses of lines that writes of other threads took, where these were asked for. written:
    lines that the level sends on, or the writes of one that writes through.
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
    """threads: that the program's loops were shared by. coherent: whether writes took lines from the caches of other threads.
    seconds: what finding them took.
    """

    simulation: Simulation = field(repr=False)
    threads: int
    coherent: bool
    seconds: float

    @property
    def accuracy(self) -> str:
        if self.threads == 1:
            return f"{EXACT}, one thread"
        return f"{EXACT}; {TURNS.format(self.threads)}" + ("" if self.coherent else f"; {INCOHERENT}")

    @property
    def levels(self) -> tuple[CacheLevel, ...]:
        return self.simulation.levels

    @property
    def counts(self) -> Mapping[Reference, Counts]:
        return self.simulation.counts

    @cached_property
    def arrays(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reference.array for reference in self.counts))

    @property
    def accesses(self) -> int:
        return sum(counts.accesses for counts in self.counts.values())

    def of_array(self, array: str, level: int) -> Total:
        counts = [c for reference, c in self.counts.items() if reference.array == array]
        return _total(counts, self.simulation.written[array][level], level)

    def total(self, level: int) -> Total:
        return _total(self.counts.values(), sum(row[level] for row in self.simulation.written.values()), level)


def misses(
    form: Form, sizes: Mapping[str, int], levels: Sequence[CacheLevel], threads: int = 1, coherent: bool = False,
    addresses: Mapping[str, int] = MappingProxyType({}),
) -> Misses:  # fmt: skip
    """addresses: where arrays begin, of those that are told. threads: that run the form; one does where no loop is for several. coherent: whether their writes take lines from one
    another's caches. Raises PolymlValueError for what cannot be simulated.
    """
    start = time.perf_counter()
    used = threads if any(loop.parallel for loop in loops(form.program.body)) else 1
    together = coherent and used > 1
    places = placed(form.program, sizes, addresses=addresses, threads=used)
    found = simulate(form.program, sizes, levels, places=places, threads=ThreadModel(used, together))
    return Misses(found, used, together, time.perf_counter() - start)


def _total(counts, written: int, level: int) -> Total:
    counts = list(counts)
    return Total(
        sum(c.accesses for c in counts),
        sum(c.misses[level] for c in counts),
        sum(c.first[level] for c in counts),
        sum(c.capacity(level) for c in counts),
        sum(c.conflict(level) for c in counts),
        sum(c.coherence(level) for c in counts),
        written,
    )
