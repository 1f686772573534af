"""Which element of a small matrix each lane (thread of a warp) has in each of its registers, for NVIDIA's matrix instructions.

The tables are those of NVIDIA, PTX ISA 8.5, 9.7.14 "Warp Level Matrix Multiply-Accumulate Instructions": "Matrix Fragments for
mma.m16n8k16 with floating point type" and "Matrix Fragments for mma.m16n8k8".
"""

from __future__ import annotations

from dataclasses import dataclass

from polyml.dtypes import BF16, F16, F32, DType

LANES = 32  # of a warp


@dataclass(frozen=True)
class FragmentLayout:
    """A FragmentLayout says which elements of a matrix a lane has, with which it takes part in an instruction of the whole warp.

    step: how many neighbouring columns a lane has. Lane t has the row t // 4 and the columns from step * (t % 4) on, ...
    rows, columns: ... and, for each element of a lane, what is added to the row and to the column.

    >>> FragmentLayout(2, (0, 0, 8, 8), (0, 1, 0, 1)).position(lane=5, element=3)
    (9, 3)
    """

    step: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def position(self, lane: int, element: int) -> tuple[int, int]:
        """Returns the row and the column, in the matrix, of one of a lane's elements."""
        return lane // 4 + self.rows[element], self.step * (lane % 4) + self.columns[element]

    @property
    def origins(self) -> tuple[tuple[int, int], ...]:
        """For each 32-bit register of a lane, the row and the column where the part of the matrix begins that the warp has in it: 8 rows
        of 16 bytes, which are 8 columns of numbers of 16 bits, two to a register, or 4 columns of numbers of 32 bits.
        """
        return tuple(zip(self.rows[:: self.step], self.columns[:: self.step]))


@dataclass(frozen=True)
class MatrixInstruction:
    """A MatrixInstruction adds, for a warp, a product of two small matrices to a third: sums[i, j] += left[i, k] * right[j, k].

    name: of the instruction in PTX.
    operand: the type of the elements of `left` and `right`; sums are float32.
    number: the type as which the instruction takes them, by its name in PTX: "tf32" for float32, of which it has 11 bits.
    rows, columns, depth: how many values i, j and k have.
    left, right, sums: which elements each lane has of the three matrices.
    """

    name: str
    operand: DType
    number: str
    rows: int
    columns: int
    depth: int
    left: FragmentLayout
    right: FragmentLayout
    sums: FragmentLayout

    @property
    def is_rounded(self) -> bool:
        """Whether operands have to be rounded to `number` before the instruction takes them."""
        return self.number != self.operand.name


_SUMS = FragmentLayout(2, (0, 0, 8, 8), (0, 1, 0, 1))


def _of_halves(operand: DType) -> MatrixInstruction:
    """Returns the instruction for numbers of 16 bits, of devices from compute capability 8.0 on."""
    return MatrixInstruction(
        name=f"mma.sync.aligned.m16n8k16.row.col.f32.{operand.name}.{operand.name}.f32",
        operand=operand,
        number=operand.name,
        rows=16,
        columns=8,
        depth=16,
        left=FragmentLayout(2, (0, 0, 8, 8, 0, 0, 8, 8), (0, 1, 0, 1, 8, 9, 8, 9)),
        right=FragmentLayout(2, (0, 0, 0, 0), (0, 1, 8, 9)),
        sums=_SUMS,
    )


_TF32 = MatrixInstruction(  # for numbers of 32 bits, of the same devices
    name="mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    operand=F32,
    number="tf32",
    rows=16,
    columns=8,
    depth=8,
    left=FragmentLayout(1, (0, 8, 0, 8), (0, 0, 4, 4)),
    right=FragmentLayout(1, (0, 0), (0, 4)),
    sums=_SUMS,
)
INSTRUCTIONS = {each.operand: each for each in (_of_halves(F16), _of_halves(BF16), _TF32)}  # by the type of the operands
