"""How many blocks a multiprocessor is to have at once, where a thread's registers decide.

    sums of 8 x 8 float32 and what two iterations load for them: 96 registers   ->   2 blocks of 256 threads, 128 registers for each

A compiler that is not told takes more registers than it needs, for addresses, and half the blocks are left: a product of float32 then took 1.5
times as long on an H200.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polyml.codegen.gpu.block_loops.merged_sums import MergedSum
from polyml.codegen.gpu.registers import Registers, accesses_of
from polyml.dtypes import DType
from polyml.model.core.scop import Scop

REGISTERS = 65536  # of a multiprocessor, of 4 bytes (CUDA C++ Programming Guide, "Technical specifications per compute capability")
SHARED_BYTES = 164 << 10  # of a multiprocessor of compute capability 8.0 (the same); newer ones have more
_POSITIONS = 16  # registers for the numbers of positions of merged loops, and for where elements of them are
_ADDRESSES = 28  # registers for addresses, counters and predicates


def resident_blocks(loops: Sequence[Registers], threads: int, shared_bytes: int, scop: Scop) -> int | None:
    """Returns how many blocks of so many threads have registers for what a thread keeps in them, and shared memory; None where no loop
    keeps elements of several items.
    """
    tiles = [words(each, scop) for each in loops if each.items]
    return min(blocks_of(max(tiles), threads), max(1, SHARED_BYTES // max(shared_bytes, 1))) if tiles else None


def blocks_of(words: int, threads: int) -> int:
    """Returns how many blocks of so many threads have registers for so many words of each, and what else a thread needs.

    >>> blocks_of(96, 256), blocks_of(96, 128), blocks_of(256, 256)
    (2, 4, 1)
    """
    return max(1, REGISTERS // (threads * (words + _ADDRESSES)))


def words_of_positions(found: MergedSum, scop: Scop) -> int:
    """Returns the same as `words` for a sum for positions of merged loops, with what their numbers and distances take."""
    sums = prod(count for _, count in found.items) * registers_of(scop.arrays[found.array].element)
    loads = (each.axis.block.items * registers_of(scop.arrays[each.array].element) for each in found.operands)
    return sums + 2 * sum(loads) + _POSITIONS


def words(held: Registers, scop: Scop) -> int:
    """Returns how many registers of 4 bytes hold a thread's sums, and what it loads for them in two iterations of the loop; smaller
    elements have a register each.

    For sums of integers of 64 bits it loads four: a product of two is several instructions, which nvcc starts early. With such sums of
    8 x 8 items it takes 255 registers, and memory besides, where float64 does with 254.
    """
    element = scop.arrays[held.array].element
    return words_of_iterations(held, scop, 4 if element.kind in "iu" and element.size_bytes == 8 else 2)


def words_of_iterations(held: Registers, scop: Scop, iterations: int) -> int:
    """Returns the same where a thread loads for so many iterations of the loop together."""
    items = dict(held.items)
    total = prod(items.values()) * registers_of(scop.arrays[held.array].element)
    for array, subscripts in dict.fromkeys(accesses_of(held, scop)):
        used = frozenset().union(*(each.names for each in subscripts))
        if array != held.array:
            loaded = prod(count for name, count in items.items() if name in used)
            total += iterations * loaded * registers_of(scop.arrays[array].element)
    return total


def registers_of(element: DType) -> int:
    """Returns how many registers of 4 bytes hold an element."""
    return -(-element.size_bytes // 4)
