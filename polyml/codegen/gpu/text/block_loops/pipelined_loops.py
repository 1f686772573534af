"""The text of loops whose tiles in shared memory are copied ahead.

Pipelined   ->   wait_for_copies_0(); __syncthreads(); copy_vector(...); for (k in the chunk) C_held[..] += A_tile[slot][..] * ...;
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polyml.codegen.gpu.block_loops.pipelined_tiles import Pipelined, PipelinedTile
from polyml.codegen.gpu.text.block_loops.tile_copies import ElementCopy, Ring, Surroundings, VectorCopy, copied_ahead
from polyml.codegen.gpu.text.integers import extreme
from polyml.codegen.gpu.text.shared_memory import SharedArray
from polyml.codegen.ir.program import Loop
from polyml.quasi_affine.affine import variable

_STEP = "    "
_WORD = 4  # bytes of elements of which all iterations of a chunk are unrolled: ptxas then finds registers of other banks for most operands
_WIDE = 1  # iterations of a chunk that are, of larger elements: with more ptxas keeps some of their operands in memory


def pipelined_loop(
    found: Pipelined, names: list[str], around: Surroundings, lines: Callable[[Loop, str, str], Iterator[str]]
) -> Iterator[str]:
    """Yields the C lines of a loop whose tiles are copied ahead: one for chunks of the usual length, unrolled, and one for the rest.

    names: of the tiles.
    lines: returns the lines of the first iterations of a chunk, which read from the tiles: of a loop, the name of the chunk's first one,
        and the C text of how many there are.
    """
    loop, chunk = found.loop, found.source.chunk
    copies = [
        ElementCopy(each.tile, name) if each.order is None else VectorCopy(each.tile, each.order, name)
        for each, name in zip(found.tiles, names)
    ]

    unrolled = f" {_WIDE}" if any(each.element_bytes > _WORD for each in found.tiles) else ""

    def compute() -> Iterator[str]:
        left = extreme("min", [around.renamed(each + 1 - variable(chunk)) for each in loop.upper], around.use)
        yield f"if ({chunk} + {found.length} <= {around.end(loop)}) {{"
        yield f"{_STEP}#pragma unroll{unrolled}"
        yield from (_STEP + line for line in lines(loop, chunk, str(found.length)))
        yield "}"
        yield "else {"
        yield from (_STEP + line for line in lines(loop, chunk, left))
        yield "}"

    yield from copied_ahead(copies, Ring(loop, found.source.chunk, found.length, found.slots), around, compute())


def shared_array(found: PipelinedTile, name: str, slots: int, around: Surroundings) -> SharedArray:
    """Returns the array in shared memory that has a tile in each slot."""
    element = around.dialect.memory_type(around.scop.arrays[found.tile.array].element)
    return SharedArray(element, name, (slots, *found.lengths), is_aligned=True)


def read(found: PipelinedTile, name: str, around: Surroundings) -> str:
    """Returns the C text of the element of a tile that an iteration of a thread reads."""
    return f"{name}[slot]" + "".join(f"[{around.values.index(each)}]" for each in found.indices)
