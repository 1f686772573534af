"""What a region may access, which numbers are its own, and what is no region."""

import numpy as np
import pytest

from polyml.dtypes import F64, I64, PYINT
from polyml.errors import NotAffineError
from polyml.frontend import syntax
from polyml.frontend.name_resolution import statements
from polyml.model.core.printer import statement_text
from polyml.model.lowering.regions.region_building import has_nest_in_loop, pays_tiles
from polyml.quasi_affine.affine import Affine, variable
from tests.model.modelling import INT, MATRIX, VECTOR, model

INDICES = syntax.ArrayType(I64, 1)


def csr_product(ptr, col, val, x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s


def regions(function, *types):
    """The statements of a function that are regions."""
    found = model(function, *types, regions=True).statements.values()
    return [statement for statement in found if statement.region is not None]


def numbers(statement):
    return dict(statement.region.numbers)


def test_a_sparse_product_knows_its_row_and_not_its_columns():
    [statement] = regions(csr_product, INDICES, INDICES, VECTOR, VECTOR, VECTOR)
    i = variable(statement.iterators[0])
    assert [(access.array, access.subscripts, access.writes) for access in statement.region.accesses] == [
        ("ptr", (i,), False),
        ("ptr", (i + 1,), False),
        ("val", (None,), False),
        ("col", (None,), False),
        ("x", (None,), False),
        ("y", (i,), True),
    ]
    assert numbers(statement) == {"s": F64, "k": PYINT}


def whole_rows(ptr, val, y):
    for i in range(y.shape[0]):
        for k in range(ptr[i], ptr[i + 1]):
            y[i] = y[i] + val[k]


def test_relations_have_the_row_alone_or_every_element():
    [statement] = regions(whole_rows, INDICES, VECTOR, VECTOR)
    assert statement_text(statement) == "y[i] = region(ptr[i], ptr[i + 1], y[i], val[?])"
    [write], reads = statement.writes, {read.array: str(read.relation) for read in statement.reads}
    assert str(write.relation) == reads["y"] == "[y_0] -> { S0[i] -> y[i] }"
    assert reads["val"] == "[val_0, y_0] -> { S0[i] -> val[o0] : 0 <= o0 < val_0 }"


def own_numbers(A, n):
    while n > 1:
        half = n // 2
        part = A[half] * 2.0
        A[0] = A[0] + part
        n = half


def test_numbers_that_only_the_region_has_are_its_own():
    [statement] = regions(own_numbers, VECTOR, INT)
    assert statement_text(statement) == "A[0] = region(A[?], A[0])"
    assert numbers(statement) == {"half": PYINT, "part": F64, "n.1": PYINT}


def read_behind(A, n):
    count = 0
    last = A[0]
    while A[count] > 0.0:
        last = A[count]
        count += 1
    A[0] = last
    return count


def test_numbers_that_are_read_behind_a_region_are_written_at_its_end():
    [statement] = regions(read_behind, VECTOR, INT)
    assert statement_text(statement) == "count, last = region(A[0], A[?])"
    assert numbers(statement) == {"count": PYINT, "last": F64}
    assert [(stmt.target.array, stmt.value.name) for stmt in statement.region.body[-2:]] == [("count", "count"), ("last", "last")]


def rows_of_a_loop(A, k):
    for i in range(k.shape[0]):
        total = 0.0
        while total < k[i]:
            total += A[i]
        A[i] = total


def test_a_number_of_an_iteration_is_no_access():
    [statement] = regions(rows_of_a_loop, VECTOR, VECTOR)
    assert statement_text(statement) == "A[i] = region(k[i], A[i])" and numbers(statement) == {"total": F64}


def strided_and_scaled(A, k):
    for i in range(3):
        for j in range(k[i]):
            A[2 * i + 1] = A[j + i] + A[i * j] + A[3]


def test_subscripts_are_exact_where_they_are_affine_in_the_loops_around():
    [statement] = regions(strided_and_scaled, VECTOR, INDICES)
    assert statement_text(statement) == "A[2*i + 1] = region(k[i], A[?], A[3])"


def sweeps(A, n):
    while n > 0:
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] *= 0.5
        n -= 1


def sweeps_over_one_loop(A, n):
    while n > 0:
        for i in range(A.shape[0]):
            A[i] *= 0.5
        n -= 1


def below_a_diagonal(A, n):
    for k in range(n):
        if A[k, k] == 0.0:
            break
        for i in range(k + 1, n):
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


def from_a_moving_start(A, n):
    start = 0
    while A[start, start] > 0.0:
        for i in range(start, A.shape[0]):
            for j in range(A.shape[1]):
                A[i, j] *= 0.5
        start += 1


def data_in_the_nest(A, k, n):
    while n > 0:
        for i in range(k.shape[0]):
            for j in range(k[i]):
                A[j] *= 0.5
        n -= 1


@pytest.mark.parametrize(
    "function, types, is_so",
    [
        (sweeps, (MATRIX, INT), True),
        (sweeps_over_one_loop, (VECTOR, INT), False),
        (below_a_diagonal, (MATRIX, INT), False),
        (from_a_moving_start, (MATRIX, INT), False),
        (data_in_the_nest, (VECTOR, INDICES, INT), False),
    ],
)
def test_affine_nests_that_a_region_runs_again_and_again_are_seen(function, types, is_so):
    [statement] = regions(function, *types)
    assert has_nest_in_loop(statement) is is_so


def product_and_region(A, B, C, k):
    for i in range(3):
        for j in range(3):
            for l in range(3):
                C[i, j] += A[i, l] * B[l, j]
    for i in range(k[0]):
        C[i, 0] = 0.0


def filled_and_region(C, k):
    for i in range(3):
        for j in range(3):
            C[i, j] = 1.0
    for i in range(k[0]):
        C[i, 0] = 0.0


def rows_summed_and_region(A, w, k):
    for i in range(3):
        for j in range(3):
            w[i] += A[i, j]
    for i in range(k[0]):
        w[i] = 0.0


def columns_summed_and_region(A, w, k):
    for i in range(3):
        for j in range(3):
            w[i] += A[j, i]
    for i in range(k[0]):
        w[i] = 0.0


def blocks_summed_and_region(A, w, k):
    for i in range(3):
        for j in range(0, 9, 3):
            for l in range(3):
                w[i] += A[i, j + l]
    for i in range(k[0]):
        w[i] = 0.0


def rows_in_steps(C, k, w):
    for t in range(5):
        for i in range(3):
            s = 0.0
            for p in range(k[i], k[i + 1]):
                s += C[t, p]
            w[i] = s
        for i in range(3):
            C[t, i] += w[i]


@pytest.mark.parametrize(
    "function, types, is_so",
    [
        (rows_in_steps, (MATRIX, INDICES, VECTOR), False),
        (product_and_region, (MATRIX,) * 3 + (INDICES,), True),
        (filled_and_region, (MATRIX, INDICES), False),
        (rows_summed_and_region, (MATRIX, VECTOR, INDICES), False),
        (blocks_summed_and_region, (MATRIX, VECTOR, INDICES), False),
        (columns_summed_and_region, (MATRIX, VECTOR, INDICES), True),
    ],
)
def test_nests_beside_a_region_pay_tiles_where_they_use_elements_again(function, types, is_so):
    scop = model(function, *types, regions=True)
    assert pays_tiles(scop) is is_so


def filled_in_a_loop(A, n):
    while n > 0:
        T = np.full(3, 2.0)
        A[0] += T[n % 3]
        n -= 1


def test_an_array_of_a_region_is_filled_by_loops_of_it():
    [statement] = regions(filled_in_a_loop, VECTOR, INT)
    [loop] = [stmt for stmt in statements(statement.region.body) if isinstance(stmt, syntax.For)]
    [fill] = loop.body
    assert isinstance(fill, syntax.Assign) and fill.target.inside and loop.stop.affine == Affine(3)


def allocates_what_data_say(A, k):
    for i in range(k[0]):
        T = np.zeros(k[i])
        A[i] = T.shape[0]


def slice_at_data(A, k):
    for i in range(k[0]):
        A[k[i] :] = 1.0


@pytest.mark.parametrize("function", [allocates_what_data_say, slice_at_data])
def test_what_needs_to_be_known_at_entry_is_no_region(function):
    with pytest.raises(NotAffineError):
        model(function, VECTOR, INDICES, regions=True)
