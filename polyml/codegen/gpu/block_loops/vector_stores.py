"""Elements in registers that a thread stores several at a time.

C[i, j + j_item] = C_held[j_item] for j_item < 8   ->   two stores of 16 bytes
"""

from __future__ import annotations

from collections.abc import Sequence

from polyml.codegen.gpu.axes import MergedLoop
from polyml.codegen.gpu.block_loops.merged_sums import MergedSum
from polyml.codegen.gpu.block_loops.swizzles import VECTOR_BYTES
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.shared_tiles import BlockAxis
from polyml.codegen.ir.accesses import AccessTable
from polyml.dtypes import F32, F64, I32, U32, DType
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import Affine

STORED = (F32, F64, I32, U32)  # elements that are stored in vectors


def vector_width(element: DType) -> int:
    """Returns how many elements a vector has.

    >>> vector_width(F32), vector_width(F64)
    (4, 2)
    """
    return VECTOR_BYTES // element.size_bytes


def vector_axis(held: Registers, blocks: Sequence[BlockAxis], element: DType) -> BlockAxis | None:
    """Returns the axis of the block along which a thread's elements are beside each other in memory, as many as there are in some vectors;
    None where there is none.

    element: the type of the elements.
    """
    if element not in STORED or not held.subscripts:
        return None
    *outer, last = held.subscripts
    for axis in blocks:
        is_row = axis.item and axis.item_step == 1 and dict(last.terms).get(axis.item) == 1
        if is_row and axis.items % vector_width(element) == 0 and not any(axis.item in each.names for each in outer):
            return axis
    return None


def rows_of_positions(found: MergedSum, scop: Scop) -> tuple[MergedLoop, ...]:
    """Returns the innermost loops of the first axis along which positions that follow one another are elements of sums that do; none where
    a thread has not some vectors of such positions, or does more with sums than store them.
    """
    across, array, table = found.axes[0], scop.arrays[found.array], AccessTable(scop.context)
    block, own = across.block, {loop.name for axis in found.axes for loop in axis.loops}
    if found.after or array.element not in STORED or block.item_step != 1 or block.items % vector_width(array.element):
        return ()
    row: list[MergedLoop] = []
    for loop, subscript, extent in zip(reversed(across.loops), reversed(found.subscripts), reversed(array.shape)):
        if own & {*subscript.names} != {loop.name} or subscript.coefficient(loop.name) != 1:
            break
        row.insert(0, loop)
        if loop.first != Affine() or loop.count != table.affine(extent):
            break
    return tuple(row)
