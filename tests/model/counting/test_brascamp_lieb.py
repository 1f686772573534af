"""Exponents against all vertices of the inequalities, and the inequalities against random sets of points."""

from fractions import Fraction
from itertools import combinations, product
from math import prod
from random import Random

import pytest

from polyml.model.counting.brascamp_lieb import _least_sum, exponents, intersection, kernel, space


def random_rows(rng, dims):
    rows = [[rng.choice([0, 0, 1, 1, -1, 2]) for _ in range(dims)] for _ in range(rng.randint(1, dims))]
    return rows if any(any(row) for row in rows) else [[1] * dims]


@pytest.mark.parametrize("seed", range(60))
def test_the_inequality_holds(seed):
    rng = Random(seed)
    dims = rng.randint(2, 4)
    maps = [random_rows(rng, dims) for _ in range(rng.randint(2, 5))]
    found = exponents([kernel(rows, dims) for rows in maps], dims)
    if found is None:
        return
    cube = list(product(range(4), repeat=dims))
    box = list(product(*(range(rng.randint(1, 4)) for _ in range(dims))))
    for points in [box, *(rng.sample(cube, rng.randint(1, len(cube))) for _ in range(10))]:
        images = [len({tuple(sum(c * x for c, x in zip(row, p)) for row in rows) for p in points}) for rows in maps]
        assert len(points) <= prod(n ** float(s) for n, s in zip(images, found)) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_the_least_sum_is_a_vertex_s(seed):
    rng = Random(seed)
    count = rng.randint(1, 4)
    rows = [([rng.randint(0, 2) for _ in range(count)], rng.randint(1, 3)) for _ in range(rng.randint(1, 5))]
    rows = [(row, bound) for row, bound in rows if any(row)] or [([1] * count, 1)]
    every = rows + [([int(i == j) for i in range(count)], 0) for j in range(count)]
    best = None
    for chosen in combinations(every, count):
        point = solve(chosen, count)
        if point is not None and all(sum(c * x for c, x in zip(row, point)) >= bound for row, bound in every):
            best = sum(point) if best is None else min(best, sum(point))
    found = _least_sum(rows, count)
    assert all(sum(c * x for c, x in zip(row, found)) >= bound for row, bound in every)
    assert sum(found) == best


def solve(rows, count):
    """The point in which the rows are equalities; None where there is not one alone."""
    echelon = space([[*row, bound] for row, bound in rows], count + 1)
    if len(echelon) < count or any(not any(row[:count]) for row in echelon):
        return None
    return [Fraction(row[-1], row[k]) for k, row in enumerate(echelon)]


@pytest.mark.parametrize("seed", range(40))
def test_intersections(seed):
    rng = Random(seed)
    dims = rng.randint(1, 4)
    a, b = (space(random_rows(rng, dims), dims) for _ in range(2))
    both = intersection(a, b, dims)
    assert len(space([*a, *both], dims)) == len(a) and len(space([*b, *both], dims)) == len(b)
    assert len(both) == len(a) + len(b) - len(space([*a, *b], dims))


def test_known_exponents():
    half, third = Fraction(1, 2), Fraction(1, 3)
    unit = [[int(i == j) for j in range(4)] for i in range(4)]
    i, j, k, m = unit
    mttkrp = [kernel(rows, 4) for rows in ([i, j], [i, k, m], [m, j], [k, j])]
    assert exponents(mttkrp, 4) == [third, 2 * third, third, third]
    stencil = [space([d], 3) for d in ((1, 0, 0), (1, 1, 0), (1, 0, 1))]
    assert exponents(stencil, 3) == [half] * 3
    assert exponents([kernel([[1, 0]], 2)], 2) is None
