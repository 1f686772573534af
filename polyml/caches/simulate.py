"""Exact misses of a program's accesses in a hierarchy of caches, by running them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polyml import machine
from polyml.caches import trace
from polyml.caches.layout import ARRAY, COLD, NODE_BYTES, REGION, Layout
from polyml.caches.placement import Placed, placed
from polyml.caches.sets import LARGEST_LINE
from polyml.caches.trace import Reference
from polyml.codegen import ir
from polyml.codegen.ast import Program
from polyml.errors import PolymlValueError
from polyml.machine import CacheLevel
from polyml.runtime.load import assemble_together, load


@dataclass(frozen=True)
class Counts:
    """What one reference does. cold: uses of lines that nothing used before: compulsory misses at every level. misses: per
    level. far: per level, misses of a fully associative cache of its size, where they were asked for.
    """

    accesses: int
    cold: int
    misses: tuple[int, ...]
    far: tuple[int, ...]

    def capacity(self, level: int) -> int:
        """Misses that full associativity would not help."""
        return self.far[level] - self.cold

    def conflict(self, level: int) -> int:
        """What full associativity would help; negative where sets keep lines that it would not."""
        return self.misses[level] - self.far[level]


@dataclass(frozen=True)
class Simulation:
    """counts: by reference. written: by array, the lines that each level sends on; the writes, of one that writes through."""

    levels: tuple[CacheLevel, ...]
    counts: dict[Reference, Counts]
    written: dict[str, tuple[int, ...]]
    places: dict[str, Placed]


def simulate(
    program: Program,
    sizes: Mapping[str, int],
    levels: Sequence[CacheLevel],
    *,
    classify: bool = True,
    places: Mapping[str, Placed] | None = None,
) -> Simulation:
    """levels: from the nearest outwards, with lines of one length. classify: tell capacity from conflict misses.

    Raises PolymlValueError for arrays of more lines than the simulator numbers, and where data decide which elements are used.
    """
    found = trace.references(program)
    where = dict(placed(program, sizes) if places is None else places)
    line_bytes = levels[0].line_bytes
    if max((place.end for place in where.values()), default=0) > LARGEST_LINE * line_bytes:
        raise PolymlValueError(f"the arrays have more than {LARGEST_LINE} lines of {line_bytes} bytes, which is not simulated")
    lines = [level.size_bytes // level.line_bytes for level in levels]
    capacities = sorted(set(lines)) if classify else []
    layout = Layout(tuple(levels), tuple(capacities), len(where))
    text = ir.text(trace.trace(program, sizes, where, layout))
    state = np.zeros(layout.state_bytes // 8 + 8, np.int64)
    first = (-state.ctypes.data % 64) // 8
    nodes = _nodes(where.values(), layout)
    counters = np.zeros((len(found), layout.counters), np.int64)
    host = machine.host()
    code = load(assemble_together([text], cpu=host.cpu_name, features=host.features), trace.ENTRY)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_void_p,) * 3)(code.address(trace.ENTRY))
    run(state[first:].ctypes.data, nodes.ctypes.data, counters.ctypes.data)
    count = len(levels)
    written = state[first : first + len(where) * count].reshape(len(where), count)
    misses = slice(layout.misses, layout.misses + count)
    counts = {
        r: Counts(
            int(row[layout.accesses]),
            int(row[layout.cold]),
            tuple(map(int, row[misses])),
            tuple(int(row[layout.far + capacities.index(size)]) for size in lines) if classify else (),
        )
        for r, row in zip(found, counters)
    }
    return Simulation(tuple(levels), counts, {a: tuple(map(int, row)) for a, row in zip(where, written)}, where)


def _nodes(places: Sequence[Placed], layout: Layout) -> np.ndarray:
    """A node for each line of the arrays, and one for none."""
    last = max((place.end for place in places), default=0)
    nodes = np.zeros((-(-last // layout.line_bytes) + 2, NODE_BYTES), np.uint8)
    nodes[1:, COLD] = 1
    nodes.view(np.int32)[1:, REGION // 4] = len(layout.capacities) + 1
    for number, place in enumerate(places):
        start, end = place.address // layout.line_bytes, -(-place.end // layout.line_bytes)
        nodes[1 + start : 1 + end, ARRAY] = number
    return nodes
