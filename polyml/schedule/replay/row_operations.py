"""Matrices of integers as row operations that make them of the identity: interchanges, reversals, scalings and skews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

Matrix = tuple[tuple[int, ...], ...]
_MOST_PERMUTED = 5  # rows of which all permutations are tried


@dataclass(frozen=True)
class RowOperation:
    """A row operation changes one row of a matrix, or exchanges two.

    at: the row. other: another row.
    factor: what the row is multiplied by.
    times: how often `other` is added to it; where `is_interchange`, the two are exchanged instead.
    """

    at: int
    other: int = 0
    factor: int = 1
    times: int = 0
    is_interchange: bool = False

    def applied(self, rows: Matrix) -> Matrix:
        """Returns the matrix after the operation."""
        changed = list(rows)
        if self.is_interchange:
            changed[self.at], changed[self.other] = rows[self.other], rows[self.at]
        else:
            changed[self.at] = tuple(self.factor * a + self.times * b for a, b in zip(rows[self.at], rows[self.other]))
        return tuple(changed)


def identity(size: int) -> Matrix:
    """Returns the identity matrix of this many rows."""
    return tuple(tuple(int(row == column) for column in range(size)) for row in range(size))


def operations_to(wanted: Matrix) -> tuple[RowOperation, ...]:
    """Returns row operations that make the nonsingular matrix `wanted` of the identity, one after the other; the fewest that are found.

    Interchanges come first; for each order of the rows after them, the rest is found by elimination over the integers.

    >>> [(o.at, o.other, o.times) for o in operations_to(((1, 0), (2, 1)))]
    [(1, 0, 2)]
    """
    size = len(wanted)
    orders = permutations(range(size)) if size <= _MOST_PERMUTED else [tuple(range(size))]
    tried = ((*_interchanges(order), *_eliminated(tuple(tuple(row[c] for c in order) for row in wanted))) for order in orders)
    return min(tried, key=len)


def _interchanges(order: Sequence[int]) -> list[RowOperation]:
    """Returns the interchanges after which row k of the identity is the unit row of order[k]."""
    now, found = list(range(len(order))), []
    for k, wanted in enumerate(order):
        other = now.index(wanted)
        if other != k:
            now[k], now[other] = now[other], now[k]
            found.append(RowOperation(k, other, is_interchange=True))
    return found


def _eliminated(wanted: Matrix) -> list[RowOperation]:
    """Returns row operations from the identity to a nonsingular matrix: those that take the matrix to its Hermite normal form, undone in
    reverse order, behind those that make that form.
    """
    rows, undone = wanted, list[RowOperation]()

    def do(operation: RowOperation, undo: RowOperation) -> None:
        nonlocal rows
        rows = operation.applied(rows)
        undone.append(undo)

    for column in range(len(rows)):
        while below := [r for r in range(column + 1, len(rows)) if rows[r][column]]:
            smallest = min([column, *below], key=lambda r: (rows[r][column] == 0, abs(rows[r][column])))
            if smallest != column:
                exchange = RowOperation(column, smallest, is_interchange=True)
                do(exchange, exchange)
            for r in range(column + 1, len(rows)):
                times = rows[r][column] // rows[column][column]
                if times:
                    do(RowOperation(r, column, times=-times), RowOperation(r, column, times=times))
        if rows[column][column] < 0:
            do(RowOperation(column, factor=-1), RowOperation(column, factor=-1))
        for r in range(column):
            times = rows[r][column] // rows[column][column]
            if times:
                do(RowOperation(r, column, times=-times), RowOperation(r, column, times=times))
    return [*_upper_triangular(rows), *reversed(undone)]


def _upper_triangular(rows: Matrix) -> list[RowOperation]:
    """Returns row operations from the identity to an upper triangular matrix with a positive diagonal."""
    found = []
    for r, row in enumerate(rows):
        if row[r] != 1:
            found.append(RowOperation(r, factor=row[r]))
        found += [RowOperation(r, column, times=row[column]) for column in range(r + 1, len(row)) if row[column]]
    return found
