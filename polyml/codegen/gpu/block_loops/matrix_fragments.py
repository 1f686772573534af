"""Products of matrices by matrix instructions (tensor cores): the warps of a block compute a block's sums together, a few numbers of each
small matrix in each thread.

    for k: for items a, b:                          for k_chunk by 32:
        C[i + a, j + b] += A[i + a, k]*B[k, j + b]  ->      A_tile, B_tile = the chunk of A and B
                                                            for k in the chunk by 16: for 16 x 8 parts p, q of the warp's rows and columns:
                                                                sums[p][q] += A_tile's rows p * B_tile's columns q     one instruction of the warp

Matched on the statement's value and subscripts. Legal where the update may come in any order (`model.core.reductions`): the loops of the
grid carry no dependence, so any thread of the block may run any of its iterations, and the order of the sum is left to the instruction.
Operands of 16 bits have products that float32 holds exactly, and the sums have "at least single precision" (PTX ISA, mma), so each is as
exact as a sum in float32 in some order. Float32 operands are matched only where that is asked for (`Instructions.operands`): they are
rounded to 11 bits (tf32), with products that float32 holds exactly too.
Related: Katel et al., "MLIR-based code generation for GPU tensor cores", CC 2022.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from polyml.codegen.gpu.block_loops.fragment_layouts import INSTRUCTIONS, LANES, MatrixInstruction
from polyml.codegen.gpu.block_loops.swizzles import Swizzle, across, swizzle
from polyml.codegen.gpu.registers import Registers, instances_of, subscripts_of
from polyml.codegen.gpu.shared_tiles import MOST_ASKED, BlockAxis, SharedTile, tiles_of
from polyml.codegen.ir.program import Loop
from polyml.dtypes import HALVES, DType
from polyml.model.core.products import factors
from polyml.model.core.reductions import Reduction
from polyml.model.core.scop import Access, Scop

CHUNK_BYTES = 128  # of a row of an operand that is in shared memory at a time: the width of all banks
WORD_BYTES = 4  # of a register
SLOTS = 3  # chunks that shared memory has room for: one that is read, and those whose copies are on the way
MOST_SUMS = 128  # of a thread, in registers


@dataclass(frozen=True)
class Operand:
    """An Operand is a matrix that a block multiplies, chunk by chunk, from shared memory.

    tile: the part of the array for a chunk.
    order: where its elements are in a row of shared memory.
    across: whether the rows of the tile are iterations of the loop; if not, they are the operand's rows (of the right operand: the
        product's columns), and iterations of the loop are side by side.
    """

    tile: SharedTile
    order: Swizzle
    across: bool


@dataclass(frozen=True)
class Fragments:
    """A Fragments is a loop whose sums the threads of a block compute together with matrix instructions.

    sums: the elements, with the thread and its items as the scalar code has them.
    chunk: the name of the first iteration of a chunk.
    instruction: what a warp runs.
    rows, columns: the axes of the block along the rows and the columns of the product.
    warps: how many warps of the block lie along the rows and along the columns.
    left, right: what is multiplied.
    """

    sums: Registers
    chunk: str
    instruction: MatrixInstruction
    rows: BlockAxis
    columns: BlockAxis
    warps: tuple[int, int]
    left: Operand
    right: Operand

    @property
    def loop(self) -> Loop:
        return self.sums.loop

    @property
    def length(self) -> int:
        """How many iterations of the loop a chunk has."""
        return CHUNK_BYTES // self.instruction.operand.size_bytes

    def size_bytes(self, scop: Scop) -> int:
        """Returns how many bytes of shared memory the tiles take. scop: that of the loop."""
        tiles = (self.left.tile, self.right.tile)
        return SLOTS * sum(each.elements * scop.arrays[each.array].element.size_bytes for each in tiles)

    @property
    def has_pairs(self) -> bool:
        """Whether two neighbouring columns of the product, whose sums a lane has, are beside each other in memory."""
        *outer, last = self.sums.subscripts
        column = self.columns.start
        return dict(last.terms).get(column) == 1 and not any(column in each.names for each in outer)

    def has_words(self, operand: Operand) -> bool:
        """Returns whether lanes load an operand in words: a matrix load does not transpose numbers of 32 bits."""
        return operand.across and self.instruction.operand.size_bytes == WORD_BYTES

    @property
    def extents(self) -> tuple[int, int]:
        """The rows and columns of the product that a warp computes."""
        return _extent(self.rows) // self.warps[0], _extent(self.columns) // self.warps[1]

    @property
    def parts(self) -> tuple[int, int]:
        """How many small matrices a warp has along its rows and along its columns."""
        return self.extents[0] // self.instruction.rows, self.extents[1] // self.instruction.columns


def fragments(
    held: Registers,
    chunk: str,
    axes: Sequence[BlockAxis],
    written: frozenset[str],
    scop: Scop,
    reductions: Mapping[str, Reduction],
    kinds: Collection[DType] = HALVES,
) -> Fragments | None:
    """Returns the loop of `held` as one whose sums a block computes with matrix instructions; None where it is no product of two
    matrices of one of these types that is summed up in float32, or where the order of the sum is not free.

    chunk: a name for the first iteration of a chunk.
    axes: the axes along which a block has more than one iteration.
    written: arrays that the launch writes.
    reductions: updates whose order is free.
    kinds: types of elements; of float32, products round their operands.
    """
    loop, runs = held.loop, instances_of(held)
    own = {name for axis in axes for name in (axis.start, axis.item)}
    if (
        len(axes) != 2
        or len(runs) != 1
        or held.innermost is not loop
        or loop.step != 1
        or any(own & each.names for each in (*loop.lower, *loop.upper))
    ):
        return None
    statement = scop.statements[runs[0].statement]
    reads = factors(statement, reductions, scop)
    if reads is None or any(each.may or each.array in written for each in reads):
        return None
    kind = scop.arrays[reads[0].array].element
    instruction = INSTRUCTIONS.get(kind) if kind in kinds else None
    if instruction is None:
        return None
    columns, rows = axes
    read = [(each, subscripts_of(each, runs[0], held, scop)) for each in reads]
    operands = [
        _operand(each, subscripts, axis, loop, chunk, axes, scop) for (each, subscripts), axis in _sides(read, rows, columns)
    ]
    if len(operands) != 2:
        return None
    left, right = operands
    warps = _warps(rows, columns, instruction)
    if left is None or right is None or warps is None:
        return None
    made = Fragments(held, chunk, instruction, rows, columns, warps, left, right)
    return made if made.size_bytes(scop) <= MOST_ASKED else None


def _sides(
    read: Sequence[tuple[Access, tuple]], rows: BlockAxis, columns: BlockAxis
) -> list[tuple[tuple[Access, tuple], BlockAxis]]:
    """Returns the factor that moves along the rows of the product alone, and the one that moves along the columns alone; fewer where
    there are none.
    """
    found = []
    for axis, other in ((rows, columns), (columns, rows)):
        for each in read:
            used = frozenset().union(*(subscript.names for subscript in each[1]))
            if axis.start in used and other.start not in used:
                found.append((each, axis))
    return found


def _operand(
    access: Access, subscripts: tuple, axis: BlockAxis, loop: Loop, chunk: str, axes: Sequence[BlockAxis], scop: Scop
) -> Operand | None:
    """Returns a read as an operand whose tile has rows of an array, or parts of rows; None where it has not, or where no order of
    its elements in shared memory is free of conflicts.
    """
    found = next(tiles_of(access.array, subscripts, loop, chunk, axes), None)
    if found is None or [(each.step, each.spare) for each in found.dimensions if each.moves] != [(1, 0)]:
        return None
    size = scop.arrays[access.array].element.size_bytes
    length = CHUNK_BYTES // size
    tile = replace(found, dimensions=tuple(replace(each, extent=length) if each.moves else each for each in found.dimensions))
    whole = [each for each in tile.dimensions if each.extent > 1]
    if len(whole) != 2 or whole[-1] is not tile.dimensions[-1]:
        return None
    is_across = whole[0].moves
    order = across(whole[-1].extent) if is_across and size == WORD_BYTES else swizzle(whole[-1].extent, size)
    return Operand(tile, order, is_across) if order is not None else None


def _warps(rows: BlockAxis, columns: BlockAxis, instruction: MatrixInstruction) -> tuple[int, int] | None:
    """Returns how many warps lie along the rows and along the columns of a block's product, so that all have equal parts and load
    as little as possible; None where there is no way.
    """
    threads = rows.threads * columns.threads
    if threads % LANES or _extent(rows) * _extent(columns) > MOST_SUMS * threads:
        return None
    ways = [(count, threads // LANES // count) for count in range(1, threads // LANES + 1) if threads // LANES % count == 0]
    pair = 2 * instruction.columns  # one matrix load fetches two right operands
    fitting = [(m, n) for m, n in ways if _extent(rows) % (m * instruction.rows) == 0 == _extent(columns) % (n * pair)]
    return min(fitting, key=lambda way: _extent(rows) // way[0] + _extent(columns) // way[1], default=None)


def _extent(axis: BlockAxis) -> int:
    """Returns how many iterations a block has along the axis."""
    return prod((axis.threads, axis.items))
