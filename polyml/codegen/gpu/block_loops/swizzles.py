"""Where the elements of a tile are in shared memory, so that no two lanes of a request need the same bank at once.

    row r, column c   ->   row r, column c XOR 8*(r % 8)        rows of 64 numbers of 16 bits

Shared memory has 32 banks of 4 bytes: eight groups of 16 bytes, the size of a vector. A matrix load reads 16 bytes of each of eight
rows that follow one another, and a copy writes vectors of a row. Both are free of conflicts if the groups differ. Words of 4 bytes that
lanes load across, eight of each of four rows that follow one another, take two groups of a row, which differ from those of other rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polyml.quasi_affine.affine import Affine, floor_div, modulo

VECTOR_BYTES = 16
PAIR_BYTES = 4  # the fewest that an asynchronous copy copies: two halves
GROUPS = 8  # of banks, each as wide as a vector
_PAIRS = GROUPS // 2


@dataclass(frozen=True)
class Swizzle:
    """A Swizzle permutes the vectors of 16 bytes in each row of a tile by an exclusive or with a few bits of the row's number.

    vectors: how many vectors of a row change places among one another, or pairs of them, a power of 2.
    rows: how many rows that follow one another have the same order.
    width: elements of a vector.
    together: how many vectors stay beside one another: 1, or 2 for pairs.

    >>> [Swizzle(4, 2, 8).column(row, 8) for row in range(8)]
    [8, 8, 0, 0, 24, 24, 16, 16]
    >>> [Swizzle(4, 1, 4, together=2).column(row, 4) for row in range(4)]
    [4, 12, 20, 28]
    """

    vectors: int
    rows: int
    width: int
    together: int = 1

    def column(self, row: int, column: int) -> int:
        """Returns the column at which the tile has an element in shared memory."""
        return column ^ row // self.rows % self.vectors * self.width * self.together

    def text(self, row: str, column: str) -> str:
        """Returns `column` as a C expression, of those of a row and a column."""
        if self.vectors == 1:
            return column
        one, other = (each if each.isidentifier() else f"({each})" for each in (row, column))
        part = one if self.rows == 1 else f"{one} / {self.rows}"
        return f"{other} ^ {part} % {self.vectors} * {self.width * self.together}"


@dataclass(frozen=True)
class RowOrder:
    """A RowOrder says where a row of a tile has its vectors of 16 bytes, for threads that read some neighbouring vectors each.

        vector own*t + h   ->   vector h*pitch + t        eight threads read vector h of each at once

    own: how many vectors a thread reads: 1, 2, 4 or 8.
    width: elements of a vector.
    vectors: vectors of a row, a multiple of `own`.

    >>> order = RowOrder(own=2, width=4, vectors=32)
    >>> [order.column(column) for column in range(0, 32, 4)]
    [0, 80, 4, 84, 8, 88, 12, 92]
    """

    own: int
    width: int
    vectors: int

    @property
    def pitch(self) -> int:
        """How many vectors lie between two that a thread reads one after the other: as many as threads, and some more, so that eight
        vectors that follow one another in the array are in eight groups of banks.
        """
        threads = self.vectors // self.own
        return threads + (GROUPS // self.own - threads) % GROUPS if self.own > 1 else threads

    @property
    def length(self) -> int:
        """Elements of a row in shared memory."""
        return ((self.own - 1) * self.pitch + self.vectors // self.own) * self.width

    def column(self, column: int) -> int:
        """Returns the column at which the tile has an element in shared memory."""
        vector, within = divmod(column, self.width)
        return (vector % self.own * self.pitch + vector // self.own) * self.width + within

    def text(self, row: str, column: str) -> str:
        """Returns the place of `column`, the C text of the number of a vector's first element, as a C expression."""
        if self.own == 1:
            return column
        pitch = self.pitch * self.width
        return f"{column} / {self.width} % {self.own} * {pitch} + {column} / {self.own * self.width} * {self.width}"

    def read(self, thread: Affine, item: Affine) -> Affine:
        """Returns the place of the element `item` of those that a thread reads."""
        return floor_div(item, self.width) * (self.pitch * self.width) + modulo(item, self.width) + thread * self.width


def swizzle(length: int, element_bytes: int) -> Swizzle | None:
    """Returns the order of vectors with which eight rows that follow one another have equal columns in eight groups of banks, or
    None where there is none, as when rows are no multiples of a vector.

    length: elements of a row.
    element_bytes: the size of an element.
    """
    width = VECTOR_BYTES // element_bytes
    vectors, rest = divmod(length, width)
    if rest or vectors & -vectors < min(vectors, GROUPS):
        return None
    orders = [Swizzle(min(vectors, GROUPS), rows, width) for rows in (1, 2, 4, 8)]
    return next((each for each in orders if conflicts(each, length, element_bytes) == 1), None)


def conflicts(order: Swizzle, length: int, element_bytes: int) -> int:
    """Returns how many of eight vectors, at the start of eight rows that follow one another, are in one group of banks at most.

    order: where the vectors are in their rows.
    length: elements of a row.
    element_bytes: the size of an element.

    >>> conflicts(Swizzle(1, 1, 8), 32, 2), conflicts(Swizzle(4, 2, 8), 32, 2)
    (4, 1)
    """
    groups = [(row * length + order.column(row, 0)) * element_bytes // VECTOR_BYTES % GROUPS for row in range(GROUPS)]
    return max(map(groups.count, groups))


def across(length: int) -> Swizzle | None:
    """Returns the order of pairs of vectors with which four rows of float32 that follow one another have equal columns in four parts of
    32 bytes of the banks, so that a warp loads 8 words of each without conflicts; None where there is none.

    length: elements of a row.
    """
    pairs, rest = divmod(length, 8)
    if rest or pairs & -pairs < min(pairs, _PAIRS):
        return None
    orders = [Swizzle(min(pairs, _PAIRS), rows, 4, together=2) for rows in (1, 2, 4)]
    return next((each for each in orders if conflicts_across(each, length) == 1), None)


def conflicts_across(order: Swizzle, length: int) -> int:
    """Returns how many of four runs of 8 words, at the start of four rows that follow one another, are in the same banks at most.

    order: where the vectors are in their rows.
    length: elements of a row.

    >>> conflicts_across(Swizzle(1, 1, 4), 128), conflicts_across(Swizzle(4, 1, 4, together=2), 128)
    (4, 1)
    """
    parts = [(row * length + order.column(row, 0)) // 8 % _PAIRS for row in range(_PAIRS)]
    return max(map(parts.count, parts))


def copied_width(width: int, element_bytes: int, numbers: Iterable[int]) -> int:
    """Returns how many elements of a row an asynchronous copy copies at once: a vector, or as many as PAIR_BYTES have, where all numbers
    are multiples of that; else one.

    width: elements of a vector.
    numbers: where the first vector is and how many elements lie between rows, in elements.

    >>> copied_width(8, 2, (64, 40)), copied_width(8, 2, (64, 42)), copied_width(8, 2, (64, 41)), copied_width(4, 4, (6,))
    (8, 2, 1, 1)
    """
    known = [*numbers]
    ways = (each for each in (width, PAIR_BYTES // element_bytes) if each and all(number % each == 0 for number in known))
    return next(ways, 1)
