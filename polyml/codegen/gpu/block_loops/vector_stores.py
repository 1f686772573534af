"""Elements in registers that a thread stores several at a time.

C[i, j + j_item] = C_held[j_item] for j_item < 8   ->   two stores of 16 bytes
"""

from __future__ import annotations

from collections.abc import Sequence

from polyml.codegen.gpu.block_loops.swizzles import VECTOR_BYTES
from polyml.codegen.gpu.registers import Registers
from polyml.codegen.gpu.shared_tiles import BlockAxis
from polyml.dtypes import F32, F64, I32, U32, DType

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
