"""How much memory the local arrays of a program take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from polyml.codegen.ir.array_layout import Placed, in_memory, placed
from polyml.codegen.ir.program import Program, loops
from polyml.model.core.scop import Role

ARRAY_GAP = 128  # bytes after a local array, which vectors may read
_LINE_BYTES = 64


@dataclass(frozen=True)
class LocalMemory:
    """A LocalMemory says what the local arrays of one call take, in bytes, with the lines that keep them apart.

    peak_bytes: the block that a call asks for, in which arrays that are never in use at the same time begin at the same place.
    apart_bytes: what it would be if none shared memory.
    """

    peak_bytes: int
    apart_bytes: int


def local_memory(program: Program, sizes: Mapping[str, int], threads: int = 1) -> LocalMemory:
    """Returns what the local arrays take, exactly as the compiled kernel asks for it.

    sizes: the values of the program's parameters. threads: how many threads run it; each has private arrays of its own.
    """
    places = placed(program, sizes, threads=threads)
    own = {array for loop in loops(program.body) for array in loop.private}
    needed = {
        array.name: _bytes(places[array.name], array.name in own, threads)
        for array in program.scop.arrays.values()
        if array.role is Role.LOCAL and in_memory(array)
    }
    of_place: dict[str, int] = {}
    for name, size_bytes in needed.items():
        owner = program.shared.get(name, name)
        of_place[owner] = max(of_place.get(owner, 0), size_bytes)
    alone = placed(replace(program, shared={}), sizes, threads=threads)
    return LocalMemory(sum(of_place.values()), sum(_bytes(alone[name], name in own, threads) for name in needed))


def _bytes(place: Placed, is_private: bool, threads: int) -> int:
    size_bytes = place.apart_bytes * threads if is_private else place.size_bytes
    return -(-(size_bytes + ARRAY_GAP) // _LINE_BYTES) * _LINE_BYTES
