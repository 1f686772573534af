"""The exact misses of a kernel's loops, by line of memory and by reference in the source, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from polyml.caches.simulator.simulate import simulate
from polyml.codegen.ir.accesses import reads_and_write
from polyml.codegen.ir.array_layout import Placed, placed
from polyml.codegen.ir.program import Program
from polyml.machines.cpu import CacheLevel
from polyml.model.core.printer import access_text
from polyml.pictures.arrays.grids import Index
from polyml.pictures.sizes_text import source_sizes
from polyml.source import Loc
from polyml.values import cached_property


@dataclass(frozen=True)
class ReferenceMisses:
    """The accesses and misses of one read or write in the source.

    statement: its name.
    text: as the statement has it, such as "A[i, k]".
    misses: by level.
    line, source: the number and the text of the source's line; 0 and "" where they are not known.
    """

    statement: str
    text: str
    is_write: bool
    accesses: int
    misses: tuple[int, ...]
    line: int
    source: str


@dataclass(frozen=True)
class ArrayMisses:
    """The misses of one array by line of memory.

    shape: of the memory that it has.
    line_of: {index of an element: the number of its line of memory}.
    misses: {number of a line of memory: its misses by level}; every line of the array is there.
    """

    array: str
    shape: Index
    line_of: Mapping[Index, int]
    misses: Mapping[int, tuple[int, ...]]

    @cached_property
    def firsts(self) -> dict[int, Index]:
        """The array's first element in each line of memory."""
        found: dict[int, Index] = {}
        for index, line in self.line_of.items():
            found.setdefault(line, index)
        return found

    def total(self, level: int) -> int:
        """Returns the misses of all lines at a level, counted from 0."""
        return sum(each[level] for each in self.misses.values())


@dataclass(frozen=True)
class MissMap:
    """Where the misses of a kernel's loops fall, for some sizes and caches.

    sizes: by what they are in the source, such as "A.shape[0]".
    """

    kernel: str
    sizes: Mapping[str, int]
    levels: tuple[CacheLevel, ...]
    arrays: tuple[ArrayMisses, ...]
    references: tuple[ReferenceMisses, ...]


def miss_map(program: Program, sizes: Mapping[str, int], levels: Sequence[CacheLevel]) -> MissMap:
    """Returns where the misses of a program fall, which one thread runs. Each array begins with a line of memory.

    Raises PolymlValueError where data decide which elements are used.
    """
    places = placed(program, sizes, alignment=max(64, levels[0].line_bytes))
    found = simulate(program, sizes, levels, classify=False, places=places, by_line=True)
    assert found.line_misses is not None
    references = []
    for reference, counts in found.counts.items():
        statement = program.scop.statements[reference.statement]
        access = reads_and_write(statement)[reference.position]
        line, source = _line(access.loc or statement.loc)
        references.append(
            ReferenceMisses(
                reference.statement, access_text(access), reference.is_write, counts.accesses, counts.misses, line, source
            )
        )
    used = dict.fromkeys(reference.array for reference in found.counts)
    arrays = (_of_array(name, places[name], found.line_misses, levels[0].line_bytes) for name in used)
    return MissMap(program.scop.name, source_sizes(program.scop, sizes), tuple(levels), tuple(arrays), tuple(references))


def _line(loc: Loc | None) -> tuple[int, str]:
    return (0, "") if loc is None else (loc.line, loc.source.line(loc.line).rstrip())


def _of_array(name: str, place: Placed, table: np.ndarray, line_bytes: int) -> ArrayMisses:
    """Returns the misses of an array. table: those of all memory, [line, level]."""
    line_of = {}
    for index in product(*map(range, place.shape)):
        line_of[index] = (place.address + sum(i * stride for i, stride in zip(index, place.strides))) // line_bytes
    lines = range(place.address // line_bytes, -(-place.end // line_bytes))
    return ArrayMisses(name, place.shape, line_of, {line: tuple(map(int, table[line])) for line in lines})
