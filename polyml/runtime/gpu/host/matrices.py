"""A product of matrices in terms of loops as a BLAS takes it: three matrices that are stored by columns.

for i < 5: for j < 7: for k < 3: C[i, j] += A[i, k]*B[k, j]   ->   C' = B' A', 7 x 5 of 7 x 3 and 3 x 5, leading dimensions 7, 7, 3

C stored by rows is C' (C transposed) stored by columns. Loops that play one part in the product are one loop where one step of the outer
one is as long as all steps of the inner one: rows (n, i, j) of x[n, i, j, c] are n*h*w + ... + j, with a distance of c elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from polyml.runtime.gpu.host.nodes import PRODUCT_ROLES, HostProduct, MatrixWalk

MOST = 2**31 - 1  # of each number of a product


@dataclass(frozen=True)
class Matrix:
    """A Matrix is where a BLAS finds a matrix.

    array: the name of the array that it is in.
    first: the number of its first element in the array.
    transposed: whether its rows are stored one after the other, in place of its columns.
    leading: elements from the start of a column (of a row, if transposed) to that of the next one.
    stride: elements from a matrix to the next one of the batch.
    """

    array: str
    first: int
    transposed: bool
    leading: int
    stride: int


@dataclass(frozen=True)
class MatrixCall:
    """A MatrixCall is result = alpha * left * right + beta * result for a batch of matrices; the result is not transposed.

    rows, columns, depth: result is rows x columns, left is rows x depth, right is depth x columns.
    batch: how many products there are.
    """

    rows: int
    columns: int
    depth: int
    batch: int
    left: Matrix
    right: Matrix
    result: Matrix


@dataclass(frozen=True)
class _Line:
    """Iterations at equal distances: how many, and the elements from one to the next in the result and both operands."""

    count: int = 1
    steps: tuple[int, int, int] = (0, 0, 0)


def matrix_call(
    product: HostProduct, extents: Sequence[int], firsts: Sequence[Sequence[int]], shapes: Sequence[Sequence[int]]
) -> MatrixCall | None:
    """Returns the call of a BLAS for a product; None where the matrices are not stored as it takes them.

    extents: how many iterations each loop has.
    firsts, shapes: of the result and both operands, the subscripts in the first iteration and the shapes of the arrays.
    """
    walks = (product.result, product.left, product.right)
    pitches = [_pitches(shape) for shape in shapes]
    loops = [
        (role, _Line(count, _steps(walks, number, pitches))) for number, (role, count) in enumerate(zip(product.roles, extents))
    ]
    lines = [_joined([line for each, line in loops if each == role]) for role in PRODUCT_ROLES]
    if any(len(each) > 1 for each in lines) or any(step < 0 for each in lines for line in each for step in line.steps):
        return None
    batch, rows, columns, depth = (each[0] if each else _Line() for each in lines)
    offsets = [sum(map(mul, first, pitch)) for first, pitch in zip(firsts, pitches)]
    down, across, left, right = rows, columns, 1, 2
    if across.steps[0] == 1 or across.count == 1 and down.steps[0] != 1:
        down, across, left, right = columns, rows, 2, 1
    made = [
        _matrix(walks[number].array, offsets[number], one, other, number, batch)
        for number, one, other in ((left, down, depth), (right, depth, across), (0, down, across))
    ]
    if any(each is None for each in made) or made[2] is None or made[2].transposed:
        return None
    first, second, result = (each for each in made if each is not None)
    numbers = (down.count, across.count, depth.count, batch.count, first.leading, second.leading, result.leading)
    return MatrixCall(*numbers[:4], first, second, result) if max(numbers) <= MOST else None


def _pitches(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns how many elements lie between neighbours along each dimension of an array that is stored row by row."""
    return (*accumulate(shape[:0:-1], mul, initial=1),)[::-1]


def _steps(walks: Sequence[MatrixWalk], loop: int, pitches: Sequence[Sequence[int]]) -> tuple[int, int, int]:
    """Returns how many elements an iteration of a loop goes on, in the result and both operands."""
    result, left, right = (sum(map(mul, walk.steps[loop], pitch)) for walk, pitch in zip(walks, pitches))
    return result, left, right


def _joined(lines: Sequence[_Line]) -> list[_Line]:
    """Returns the lines, those of one iteration left out, and pairs as one line where that has the same elements."""
    found: list[_Line] = []
    for line in sorted((line for line in lines if line.count != 1), key=lambda line: line.steps):
        inner = found[-1] if found else None
        if inner is not None and line.steps == tuple(inner.count * step for step in inner.steps):
            found[-1] = _Line(inner.count * line.count, inner.steps)
        else:
            found.append(line)
    return found


def _matrix(array: str, first: int, rows: _Line, columns: _Line, number: int, batch: _Line) -> Matrix | None:
    """Returns a matrix with these rows and columns; None where neither rows nor columns are elements beside each other.

    number: which of the result and the operands it is.
    """
    stride = batch.steps[number]
    for one, other, transposed in ((rows, columns, False), (columns, rows, True)):
        leading = other.steps[number] if other.count > 1 else max(one.count, 1)
        if (one.steps[number] == 1 or one.count == 1) and leading >= max(one.count, 1):
            return Matrix(array, first, transposed, leading, stride)
    return None
