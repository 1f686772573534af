"""Statements that add products of two elements to sums."""

import numpy as np
import pytest

from polyml.model.core.products import factors, multiplies_f32
from polyml.model.core.reductions import reductions
from tests.gpu.mapping import problem


def plain(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] += A[i, k] * B[k]


def turned(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] = np.float32(B[k]) * np.float32(A[i, k]) + C[i]


def scaled(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] += alpha * A[i, k] * B[k]


def by_number(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] += alpha * A[i, k]


def subtracted(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] -= A[i, k] * B[k]


def product_of(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] *= A[i, k] * B[k]


def two(C, A, B, alpha):
    for i in range(C.shape[0]):
        for k in range(A.shape[1]):
            C[i] += A[i, k] * B[k] + A[i, 0] * B[0]


@pytest.mark.parametrize("kind, function, read, multiplies", [
    ("f4", plain, ["A", "B"], True),
    ("f4", turned, ["B", "A"], True),
    ("f2", turned, ["B", "A"], False),
    ("f2", plain, None, False),  # each product is rounded to 16 bits
    ("f8", plain, None, False),
    ("f4", scaled, None, True),
    ("f4", by_number, None, False),
    ("f4", product_of, None, False),
    ("f4", subtracted, None, True),
    ("f4", two, None, True),
])  # fmt: skip
def test_factors_are_found_of_sums_of_products_in_float32(kind, function, read, multiplies):
    A, B = np.zeros((3, 4), kind), np.zeros(4, kind)
    given, _ = problem(function, np.zeros(3, "f8" if kind == "f8" else "f4"), A, B, np.float32(2))
    (statement,) = given.scop.statements.values()
    free = reductions(given.scop, "reassociate")
    found = factors(statement, free, given.scop)
    assert read == (None if found is None else [each.array for each in found])
    assert multiplies_f32(statement, free, given.scop) == multiplies
    assert factors(statement, {}, given.scop) is None and not multiplies_f32(statement, {}, given.scop)
