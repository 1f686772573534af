"""Sparse matrices are known by their attributes, and the ranks of arrays by the text of a function."""

import ast

import numpy as np
import pytest

import polyml
from polyml.frontend.sparse.matrices import SparseMatrix, part, recognised
from polyml.frontend.sparse.ranks import ranks


class Holder:
    def __init__(self, **given):
        self.__dict__.update(given)


def rows(**others):
    given = {
        "data": np.ones(2),
        "indices": np.array([1, 0]),
        "indptr": np.array([0, 1, 2]),
        "shape": (2, 3),
        "format": "csr",
        "nnz": 2,
    }
    return Holder(**{**given, **others})


class Computed:
    """A class whose format is computed."""

    data, indices, indptr, shape = np.ones(2), np.array([1, 0]), np.array([0, 1, 2]), (2, 3)

    @property
    def format(self):
        raise AssertionError("reading this runs code")


def test_what_has_the_attributes_of_a_format_is_a_sparse_matrix_without_operators():
    assert recognised(rows()) == SparseMatrix("csr", "", small=False)
    assert recognised(rows(data=np.ones(2, np.int8))) == SparseMatrix("csr", "", small=True)
    assert part(rows(), "rows") == 2 and part(rows(), "columns") == 3 and part(rows(), "nnz") == 2


@pytest.mark.parametrize(
    "value",
    [
        3,
        np.ones(3),
        None,
        "csr",
        rows(format="lil"),
        rows(shape=(2,)),
        rows(shape=[2, 3]),
        rows(data=[1.0]),
        rows(indptr=np.ones((1, 1))),
        Computed(),
    ],
)
def test_other_values_are_none(value):
    assert recognised(value) is None


def test_loops_over_its_arrays_are_compiled_whole():
    @polyml.kernel(fallback="error")
    def sums(A):
        found = np.zeros(A.shape[0], dtype=A.dtype)
        for i in range(A.shape[0]):
            for k in range(A.indptr[i], A.indptr[i + 1]):
                found[i] += A.data[k] * (A.indices[k] + 1)
        return found * A.nnz

    assert sums(rows()).tolist() == [4.0, 2.0] and sums.compiled
    assert sums(rows(data=np.ones(2, np.float32))).dtype == np.float32
    with pytest.raises(polyml.PolymlError, match=r"`A.nnz` is not compiled"):
        polyml.kernel(changed, fallback="error")(rows())


def changed(A):
    A.indptr[0] = 1
    return A.nnz


@pytest.mark.parametrize(
    "text, rank",
    [
        ("y = A @ x", 1), ("y = A.T @ B", 2), ("y = x @ A", 1), ("y = np.zeros(3)", 1), ("y = np.zeros((3, 4))", 2), ("y = np.zeros(B.shape)", 2),
        ("y = np.zeros(A.shape)", 2), ("y = B[0]", 1), ("y = B[:, 1:]", 2), ("y = x.copy() + 1", 1), ("y = B @ x", 1), ("y = x @ x", 0),
        ("z = x * 2\n    y = np.zeros_like(z)", 1), ("y = unknown(x)", None), ("y = B[x]", None),
    ],
)  # fmt: skip
def test_ranks_are_read_from_the_text(text, rank):
    tree = ast.parse(f"def f(A, B, x):\n    {text}\n").body[0]
    assert ranks(tree, {"B": 2, "x": 1}, {"A"}).get("y") == rank
