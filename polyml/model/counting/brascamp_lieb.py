"""Hölder-Brascamp-Lieb inequalities |E| <= product of |f(E)| ** s(f) over linear maps f, for all finite sets E of integer points.

They hold exactly where rank(H) <= sum of s(f) * rank(f(H)) for every subgroup H (Christ, Demmel, Knight, Scanlon and Yelick,
"Communication lower bounds and optimal algorithms for programs that reference arrays", 2013). It suffices to test the H that come
from the kernels of the maps by sums and intersections (Valdimarsson, "The Brascamp-Lieb polyhedron", 2010).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm

MOST_SPACES = 200  # sums and intersections of kernels

Space = tuple[tuple[int, ...], ...]  # a basis in reduced echelon form, of rows without factors


def exponents(kernels: Sequence[Space], dims: int) -> list[Fraction] | None:
    """Returns exponents s(f) with the least sum so that |E| <= product of |f(E)| ** s(f) for all finite sets E of integer points.

    This is the Hölder-Brascamp-Lieb inequality; f goes over some linear maps. The result is None where there are no such exponents,
    or where too many spaces would have to be tested.

    kernels: for each map, the space of the vectors that it maps to 0
    dims: the number of dimensions of E

    >>> gemm = [space([row], 3) for row in ((0, 1, 0), (1, 0, 0), (0, 0, 1))]
    >>> [str(s) for s in exponents(gemm, 3)]
    ['1/2', '1/2', '1/2']
    """
    spaces = _lattice([*kernels, space(_identity(dims), dims)], dims)
    if spaces is None:
        return None
    rows = {tuple(len(h) - len(intersection(h, k, dims)) for k in kernels): len(h) for h in spaces if h}
    if any(not any(row) for row in rows):
        return None
    found = _least_sum(list(rows.items()), len(kernels))
    return found if all(s <= 1 for s in found) else None


def space(rows: Iterable[Sequence[int]], dims: int) -> Space:
    """Returns the space that the rows span, as a basis in reduced echelon form.

    >>> space([(1, 2, 3), (2, 4, 6), (0, 0, -2)], 3)
    ((1, 2, 0), (0, 0, 1))
    """
    left = [list(row) for row in rows]
    found: list[list[int]] = []
    for column in range(dims):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        left, found = ([_without(row, pivot, column) for row in each] for each in (left, found))
        found.append(pivot)
    return tuple(_primitive(row) for row in found)


def kernel(rows: Iterable[Sequence[int]], dims: int) -> Space:
    """Returns the kernel of the linear map whose matrix has these rows, as a basis in reduced echelon form."""
    basis = space(rows, dims)
    pivots = [next(k for k, v in enumerate(row) if v) for row in basis]
    common = lcm(*(row[pivot] for row, pivot in zip(basis, pivots)))
    found = []
    for free in (k for k in range(dims) if k not in pivots):
        vector = [common * (k == free) for k in range(dims)]
        for row, pivot in zip(basis, pivots):
            vector[pivot] = -row[free] * common // row[pivot]
        found.append(vector)
    return space(found, dims)


def intersection(a: Space, b: Space, dims: int) -> Space:
    """Returns the intersection of two spaces of vectors with `dims` numbers each."""
    return kernel([*kernel(a, dims), *kernel(b, dims)], dims)


def _without(row: list[int], pivot: Sequence[int], column: int) -> list[int]:
    """Returns a multiple of a row minus a multiple of the pivot row, with 0 in the column."""
    return [v * pivot[column] - row[column] * p for v, p in zip(row, pivot)] if row[column] else row


def _primitive(row: Sequence[int]) -> tuple[int, ...]:
    """Returns the row divided by the common factor of its numbers, with its first nonzero number positive."""
    common = gcd(*row) * (1 if next(v for v in row if v) > 0 else -1)
    return tuple(v // common for v in row)


def _less(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    return [v - row[column] * p for v, p in zip(row, pivot)] if row[column] else row


def _identity(dims: int) -> list[list[int]]:
    return [[int(i == j) for j in range(dims)] for i in range(dims)]


def _lattice(first: Sequence[Space], dims: int) -> list[Space] | None:
    """Returns all spaces that come from the given ones by sums and intersections; None where there are more than 200."""
    found: list[Space] = []
    waiting = list(dict.fromkeys(first))
    while waiting:
        new = waiting.pop()
        found.append(new)
        if len(found) + len(waiting) > MOST_SPACES:
            return None
        known = {*found, *waiting}
        for other in found:
            for made in (space([*new, *other], dims), intersection(new, other, dims)):
                if made not in known:
                    known.add(made)
                    waiting.append(made)
    return found


def _least_sum(rows: Sequence[tuple[Sequence[int], int]], count: int) -> list[Fraction]:
    """Returns the vector s >= 0 with the least sum of its numbers for which row . s >= bound for all pairs (row, bound).

    Each row must have a positive number. The dual, max bound . y for y >= 0 with sum over rows of row * y <= 1, is solved by the
    simplex method with exact fractions, from y = 0 by Bland's rule; s are the reduced costs of its slack variables, negated.

    count: the length of s and of the rows
    """
    numbers = [[*(row[j] for row, _ in rows), *(int(i == j) for i in range(count)), 1] for j in range(count)]
    table = [[Fraction(v) for v in row] for row in numbers]
    gain = [Fraction(bound) for _, bound in rows] + [Fraction(0)] * (count + 1)
    basis = [len(rows) + j for j in range(count)]
    while any(g > 0 for g in gain[:-1]):
        enters = next(k for k, g in enumerate(gain[:-1]) if g > 0)
        leaves = min((j for j in range(count) if table[j][enters] > 0), key=lambda j: (table[j][-1] / table[j][enters], basis[j]))
        pivot = [v / table[leaves][enters] for v in table[leaves]]
        table = [pivot if j == leaves else _less(row, pivot, enters) for j, row in enumerate(table)]
        gain, basis[leaves] = _less(gain, pivot, enters), enters
    return [-g for g in gain[len(rows) : -1]]
