"""Dependences under what is known of index arrays: which pairs of iterations may meet in an element."""

from __future__ import annotations

import dataclasses
from itertools import combinations, product

import numpy as np
import pytest

import polyml
from polyml.model.core.dependence import dependences
from polyml.polyhedra import points


def scattered(b, k):
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        while b[k[i]] < 2.0:
            b[k[i]] += 1.0


def strips(b, k):
    polyml.assume(polyml.injective(k))
    for i in range(3, k.shape[0]):
        b[k[i]] += 1.0


def overlapping(ptr, data):
    polyml.assume(polyml.monotonic(ptr))
    for i in range(ptr.shape[0] - 2):
        for p in range(ptr[i], ptr[i + 2]):
            data[p] += 1.0


def matrix(b, k):
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        for j in range(b.shape[1]):
            b[k[i], j] = b[k[i], 0] + 1.0


def from_end(b, k):
    """k[i - 1] is the last element where i is zero, so nothing is known of it."""
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        b[k[i - 1]] += 1.0


def mixed(b, k):
    """An element at an index that is affine may be one at any index of k."""
    polyml.assume(polyml.injective(k))
    for i in range(k.shape[0]):
        b[k[i]] = b[i] + 1.0


def pairs(function, types, size):
    """Returns the pairs of iterations of the outermost loop of the region that depend on each other, for arrays of a size."""
    made = polyml.kernel(fallback="error")(function).lower(*types)
    name = next(name for name, s in made.scop.statements.items() if s.region is not None and s.iterators)
    found = dependences(made.scop).validity
    sizes = {p.name: size for p in made.scop.parameters}
    return {(a[1][0], b[1][0]) for a, b in points(found, **sizes) if a[0] == b[0] == name}, made.scop


def test_an_injective_array_has_each_number_at_one_place():
    assert pairs(scattered, ("f64[:]", "i64[:]"), 5)[0] == set()
    found, scop = pairs(scattered, ("f64[:]", "i64[:]"), 5)
    nothing_known = dependences(dataclasses.replace(scop, facts=())).validity
    name = next(name for name, s in scop.statements.items() if s.iterators and s.region)
    every = points(nothing_known, **{p.name: 5 for p in scop.parameters})
    assert {(a[1][0], b[1][0]) for a, b in every if a[0] == b[0] == name} == set(combinations(range(5), 2))


def test_short_iterations_run_in_strips_that_are_independent():
    found, scop = pairs(strips, ("f64[:]", "i64[:]"), 2000)
    assert found == set()
    region = next(s.region for s in scop.statements.values() if s.region is not None and s.iterators == ("strip_0",))
    assert [type(stmt).__name__ for stmt in region.body] == ["For"]


def test_a_row_of_a_matrix_belongs_to_one_iteration():
    found, _ = pairs(matrix, ("f64[:,:]", "i64[:]"), 3)
    assert all(i == j for i, j in found)


@pytest.mark.parametrize("function", [from_end, mixed])
def test_what_is_not_known_may_meet(function):
    made = polyml.kernel(fallback="error")(function)
    made(np.zeros(4), np.arange(4))
    assert "iterations go to threads" not in str(made.explain())


def test_segments_that_overlap_meet():
    made = polyml.kernel(fallback="error")(overlapping)
    [remarks] = made.remarks("i64[:]", "f64[:]")
    assert not any(loop.iterator == "i" for loop in remarks.loops), "the loop is a part of its region"


def test_what_is_found_is_what_happens():
    """Every pair of iterations that meets for some injective array is among the dependences of `matrix`."""
    found, _ = pairs(matrix, ("f64[:,:]", "i64[:]"), 2)
    for k in product(range(2), repeat=2):
        if len(set(k)) == 2:
            met = {(i, j) for i, j in combinations(range(2), 2) if k[i] == k[j]}
            assert met <= found
