"""`benchmarks.sparse`: its matrices are what they are said to be, and every peer's result is checked."""

import numpy as np
import pytest

import benchmarks.sparse as benchmark
from benchmarks import sparse_matrices as given
from benchmarks.interleaved_processes import Failed
from benchmarks.sparse import OPERATIONS, Job, Row, line, prepare


@pytest.mark.parametrize("name", given.MATRICES)
def test_matrices_are_square_and_about_as_large_as_asked(name):
    rows = given.matrix(name, 4000)
    assert rows.ptr[-1] == len(rows.col) == len(rows.val) and 2000 < len(rows.val) < 8000
    assert rows.col.min() >= 0 and rows.col.max() < rows.size
    same_row = np.diff(rows.row_of_each) == 0
    assert (np.diff(rows.col)[same_row] >= 0).all()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("peer", ["polyml", "scipy"])
def test_every_operation_is_right(operation, peer):
    pytest.importorskip("scipy")
    prepared = prepare(Job(peer, operation, "ragged_8", 3000, 1))
    assert not isinstance(prepared, Failed), prepared
    assert prepared[1].shape[0] > 0


def test_a_wrong_result_is_told(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setattr(given, "vector_product", lambda A, x: A @ x)
    monkeypatch.setattr(benchmark, "scipy_form", lambda job, A, x: lambda: x)
    found = prepare(Job("scipy", "product", "banded_5", 3000, 1))
    assert isinstance(found, Failed) and found.kind == "wrong"


def test_a_row_has_times_ratios_and_the_share():
    row = Row(
        "product", "banded_5", (10, 50), {"polyml": 0.001, "scipy": 0.002}, {"scipy": 2.0}, 0.5, {"numba": "unavailable: none"}
    )
    text = line(row, ["scipy", "numba"])
    assert text.split() == "product banded_5 10 50 1.000 2.000 2.00 nan 50% numba unavailable: none".split()
