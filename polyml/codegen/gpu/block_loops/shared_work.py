"""What the threads of a block do together for the loops that keep sums in registers: the best of three ways that is possible.

matrix instructions (`matrix_fragments`), tiles copied ahead (`pipelined_tiles`), tiles copied between barriers (`shared_tiles`)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from polyml.codegen.gpu.block_loops.matrix_fragments import Fragments, fragments
from polyml.codegen.gpu.block_loops.pipelined_tiles import MOST_WORDS, Pipelined, pipelined
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.residency import words
from polyml.codegen.gpu.shared_tiles import MOST_ASKED, MOST_BYTES, BlockAxis, Staged, staged
from polyml.dtypes import HALVES, DType
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Scop
from polyml.schedule.gpu.mapping import BlockCopies


@dataclass(frozen=True)
class Instructions:
    """An Instructions says which instructions a launch may use that not all devices have.

    sums: updates whose order is free, by the names of the statements, that may be done with matrix instructions.
    operands: the types of the elements of which these take products; of float32 they round them.
    copies: whether there are asynchronous copies to shared memory.
    vectors: whether a thread stores 16 bytes at once.
    """

    sums: Mapping[str, Reduction] = field(default_factory=dict)
    operands: Collection[DType] = HALVES
    copies: bool = False
    vectors: bool = False


PLAIN = Instructions()


@dataclass(frozen=True)
class SharedWork:
    """A SharedWork holds the loops that the threads of a block run together, each in one of three ways."""

    fragments: tuple[Fragments, ...] = ()
    pipelined: tuple[Pipelined, ...] = ()
    staged: tuple[Staged, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fragments or self.pipelined or self.staged)


@dataclass(frozen=True)
class WantedLoop:
    """A WantedLoop is a loop that keeps sums in registers.

    chunk: a name for the first iteration of a chunk.
    asked: the copies to shared memory that a schedule asks for in it; None: those that save loads.
    """

    held: Registers
    chunk: str
    asked: BlockCopies | None = None


def shared_work(
    loops: Sequence[WantedLoop], blocks: Sequence[BlockAxis], written: frozenset[str], scop: Scop, instructions: Instructions
) -> SharedWork:
    """Returns how the threads of a block run the loops together. Loops for which shared memory does not suffice are left out, unless
    a schedule asks for their copies.

    blocks: the axes along which a block has more than one iteration.
    written: arrays that the launch writes.
    """
    found: list[Fragments | Pipelined | Staged] = []
    left = MOST_ASKED if instructions.copies or instructions.sums else MOST_BYTES
    for wanted in loops:
        each = _best(wanted, blocks, written, scop, instructions)
        if each is not None and (each.size_bytes(scop) <= left or wanted.asked is not None):
            found.append(each)
            left -= each.size_bytes(scop)
    return SharedWork(
        tuple(each for each in found if isinstance(each, Fragments)),
        tuple(each for each in found if isinstance(each, Pipelined)),
        tuple(each for each in found if isinstance(each, Staged)),
    )


def _best(
    wanted: WantedLoop, blocks: Sequence[BlockAxis], written: frozenset[str], scop: Scop, instructions: Instructions
) -> Fragments | Pipelined | Staged | None:
    """Returns the loop with matrix instructions, if the schedule asks for copies of both operands or of nothing; else with tiles that
    are copied ahead, where a thread has enough registers for them, else with tiles; None where it has none.
    """
    held, chunk, asked = wanted.held, wanted.chunk, wanted.asked
    by_warps = fragments(held, chunk, blocks, written, scop, instructions.sums, instructions.operands)
    if by_warps is not None:
        arrays = {operand.tile.array for operand in (by_warps.left, by_warps.right)}
        if asked is None or not asked.chunk and arrays == {*asked.arrays}:
            return by_warps
    tiles = staged(held, chunk, blocks, written, scop, asked)
    if tiles is None or not instructions.copies or words(held, scop) > MOST_WORDS:
        return tiles
    return pipelined(tiles, blocks, scop) or tiles
