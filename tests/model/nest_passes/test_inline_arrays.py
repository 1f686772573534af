"""Chains of local arrays become one statement, wherever a value can move to its uses."""

import random

import numpy as np
import pytest

import polyml
from polyml.pipeline.passes import without
from tests.frontend.define import define
from tests.model.nest_passes.test_copy_coalescing import check


def chain(A, B, C):
    T = A * B + C
    U = T * T + A * C
    V = U * T + B * U
    C[:] = V * V + U


def in_place(A, B, C):
    T = A * C + B
    C[:] = T * T + C


def shifted_in_place(A, B, C):
    T = A * C + B
    C[1:] = T[:-1] * T[1:] + C[1:]


def upside_down_in_place(A, B, C):
    T = A * C + B
    C[:] = T[::-1] * 2


def in_a_row(A, B, C):
    T = A * C + B
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            C[0, j] = T[i, j] * 2


def in_negative_rows(A, B, C):
    T = A * C + B
    for i in range(-A.shape[0], A.shape[0]):
        for j in range(A.shape[1]):
            C[i, j] = T[i, j] + C[i, j]


def used_twice(A, B, C):
    T = A * B + C
    B[:] = T * T
    C[:] = T + A


def given(dtype=float):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-4, 5, (6, 6)).astype(dtype) for _ in range(3)]
    return [a * (1 + 2j) for a in arrays] if dtype is complex else arrays


@pytest.mark.parametrize("function", [chain, in_place])
def test_chains_are_one_statement(function):
    assert check(function, given()) == []


@pytest.mark.parametrize("function", [shifted_in_place, upside_down_in_place, in_a_row, in_negative_rows, used_twice])
def test_values_stay_where_their_operands_change_or_they_are_needed_twice(function):
    with without("array_contraction"):  # which makes a scalar of what is needed twice
        assert check(function, given()) == ["T_1"]


@pytest.mark.parametrize("function", [chain, in_place, shifted_in_place, upside_down_in_place])
def test_chains_of_complex_numbers(function):
    check(function, given(complex))


def scaled_rows_and_columns(v, M, u):
    return np.diag(v) @ M @ np.diag(u)


def lower_triangle(v, M, u):
    return np.tril(M) @ M * v + M @ np.diag(1 / u)


def identity(v, M, u):
    return np.eye(M.shape[0]) @ M + M * np.where(np.arange(M.shape[0]) < 3, u, v)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fp", ["strict", "reassociate"])
@pytest.mark.parametrize("dtype", [float, np.float32, np.int32])
@pytest.mark.parametrize("function", [scaled_rows_and_columns, lower_triangle, identity])
def test_products_with_matrices_of_a_form_are_numpys(function, dtype, fp, threads):
    compiled = polyml.kernel(cache=False, fallback="error", fp=fp, threads=threads)(function)
    for size in (0, 1, 2, 9, 40):
        rng = np.random.default_rng(size)
        given = [rng.integers(1, 9, shape).astype(dtype) for shape in (size, (size, size), size)]
        if size == 9 and dtype != np.int32:
            given[1][2, 3] = np.inf  # times the zeros beside a diagonal it is NaN
        with np.errstate(invalid="ignore"):
            found, wanted = compiled(*given), function(*given)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5 if wanted.dtype == np.float32 else 1e-13)


def test_a_diagonal_does_not_cut_the_loops_of_a_product():
    compiled = polyml.kernel(scaled_rows_and_columns, threads=1)
    code = str(compiled.inspect_ast("f64[:]", "f64[:, :]", "f64[:]"))
    products = [line for line in code.splitlines() if "*" in line and "_product" in line.partition(" = ")[0]]
    assert products and all(" if " not in line and "0.0*" not in line for line in products)


def program(seed: int) -> str:
    """Whole arrays and parts of them, of each other, some in place."""
    rng = random.Random(seed)
    known, lines = ["A", "B", "C"], []
    parts = ("", "", "", "[::-1]", "[:, ::-1]")
    for k in range(rng.randint(2, 6)):
        value = f" {rng.choice('+-*')} ".join(rng.choice(known) + rng.choice(parts) for _ in range(rng.randint(1, 3)))
        if rng.random() < 0.3:
            lines.append(f"    {rng.choice('ABC')}[:] = {value} + 1")
        else:
            lines.append(f"    T{k} = {value} + {k}")
            known.append(f"T{k}")
    return "def program(A, B, C):\n" + "\n".join(lines) + f"\n    C[:] = {' + '.join(known[-2:])}\n"


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sweep(keep=25)
def test_random_programs_compute_what_numpy_does(seed):
    function = define(program(seed), "program")
    rng = np.random.default_rng(seed)
    own = [rng.integers(-3, 4, (5, 7)) for _ in range(3)]
    other = [a.copy() for a in own]
    with np.errstate(over="ignore"):
        function(*own)
    polyml.kernel(cache=False)(function)(*other)
    for one, two in zip(own, other):
        np.testing.assert_array_equal(two, one)
