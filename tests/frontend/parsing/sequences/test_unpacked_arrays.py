"""Arrays that are unpacked into names, by assignments and by loops."""

import numpy as np
import pytest

import polyml
from tests.frontend.library.compare import check, runs_as_python


def pairs(P):
    total = P.sum() * 0
    for i in range(P.shape[0]):
        x, y = P[i]
        total += x * x + y
    return total


def distances(P):
    out = np.zeros(P.shape[0])
    for i in range(P.shape[0]):
        (x, y) = P[i]
        for j in range(P.shape[0]):
            u, v = P[j]
            out[i] += (x - u) ** 2 + (y - v) ** 2
    return out


def nearest(P, q):
    x, y = q
    best, least = 0, np.inf
    for i in range(len(P)):
        u, v = P[i]
        d = (u - x) ** 2 + (v - y) ** 2
        if d < least:
            least, best = d, i
    return best, least


def numbers(v):
    a, b, c = v
    v[0] = 9
    d, e, f = v * 2
    return a, b * c, d, e, f


def columns(P):
    x, y = P.T
    x[0] = 7
    return x + y


def in_each_other(P):
    (a, b), c = P[0], P[1]
    return a + b * c


def exchanged(v):
    v[0], v[1], v[2] = v[::-1].copy()
    return v


def gone_through(P):
    total = P.sum() * 0
    for x, y in P:
        total += x * y
    for i, (x, y) in enumerate(P):
        total += x * y * i
    for a, (x, y) in zip(P[:, 0], P):
        total += a * x * y
    return total, np.array([x + y for x, y in P])


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "uint8", "complex128"])
def test_elements_and_rows_are_those_of_python(kind):
    P = np.random.default_rng(0).integers(0, 9, (6, 2)).astype(kind)
    v = np.array([1, 2, 3]).astype(kind)
    for function, given in ((pairs, P), (numbers, v), (columns, P), (in_each_other, P[:2]), (exchanged, v), (gone_through, P)):
        check(function, (given,), settings=({"fp": "strict"},))
    if kind[0] == "f":
        check(nearest, (P, P[3]), (P, P[3] // 2 + 1), settings=({},))


def test_results_are_the_same_in_each_setting():
    P = np.random.default_rng(0).random((300, 2))
    check(pairs, (P,), (P[:1],), bound=1e-13)
    check(distances, (P,), (P[:1],), (P[:0],), bound=1e-13)
    check(gone_through, (P,), (P[:1],), bound=1e-13)


def test_other_sizes_raise_what_python_raises():
    runs_as_python(pairs, np.ones((2, 3)))
    runs_as_python(numbers, np.ones(2))
    runs_as_python(numbers, np.ones(4))
    runs_as_python(pairs, np.ones(3))


def of_a_number(x):
    for i in range(2):
        a, b = x[i]
    return a


def test_a_number_is_not_unpacked():
    with pytest.raises(polyml.PolymlError, match="is a number, not an array"):
        polyml.kernel(fallback="error")(of_a_number)(np.ones(3))
