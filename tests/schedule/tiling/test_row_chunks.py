"""Nests that hand local arrays on share a loop over chunks of rows, and of the arrays the rows in use have memory."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml.codegen.ir.program import Jam, every
from polyml.config import Options
from polyml.frontend.argument_types import arg_type
from polyml.frontend.parsing.parse import parse
from polyml.machines import catalogue
from polyml.pipeline.compile import CompileRequest, compile
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.analysis.traffic import Traffic
from polyml.schedule.tiling import row_chunks
from tests.codegen.samples import scop_of
from tests.frontend.define import define
from tests.schedule.pipelines import pipeline

ROWS = 64  # of a chunk


def blurred(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(1, A.shape[1] - 1):
            T[i, j] = A[i, j - 1] + A[i, j + 1]
    for i in range(1, A.shape[0] - 2):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = T[i - 1, j] * T[i + 2, j]


def over_three(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    U = np.zeros((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * A[i, j] + 1.0
    for i in range(2, A.shape[0]):
        for j in range(A.shape[1]):
            U[i, j] = T[i - 2, j] * T[i, j] + T[i - 1, j]
    for i in range(A.shape[0] - 1):
        for j in range(1, A.shape[1]):
            B[i, j] = U[i + 1, j - 1] * T[i, j] + U[i, j]


def in_order(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for j in range(A.shape[1]):
        T[0, j] = A[0, j]
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = T[i - 1, j] * 0.5 + A[i, j]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = T[i, j] * A[i, j]


def turned(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * A[i, j] + 1.0
    for i in range(1, A.shape[1]):
        for j in range(A.shape[0]):
            B[j, i] = T[j, i] * T[j, i - 1] + T[A.shape[0] - 1 - j, i]


def read_later(A, B):
    T = np.empty((A.shape[0], A.shape[1]))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * A[i, j] + 1.0
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = T[i - 1, j] * T[i, j]
    return T[3, 4]


def of_the_caller(A, B, T):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * A[i, j] + 1.0
    for i in range(1, A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = T[i - 1, j] * T[i, j]


def made(function, shape=(2000, 2000), rows=ROWS, **options):
    """The kernel compiled for calls with arrays of this shape, with chunks of so many rows where there are chunks."""
    kernel, names = parse(function), tuple(inspect.signature(function).parameters)
    extents = tuple((name, shape) for name in names)
    limits = tuple((name, tuple((1, 2 * n) for n in shape)) for name in names)
    types = (arg_type(np.ones((2, 2))),) * len(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_chunks, "_rows", lambda *_: rows)
        return compile(kernel, CompileRequest(types, ("C",) * len(types), Options(**options), sizes=Sizes(extents, limits)))


def rows_kept(program):
    """array -> how many of its rows have memory, of those that have not all."""
    return {name: window.lengths[window.folded] for name, window in program.windows.items() if window.folded is not None}


@pytest.mark.parametrize(("function", "kept"), [(blurred, {"T": 3}), (over_three, {"T": 2, "U": 1}), (in_order, {"T": 1})])
def test_a_chunk_and_the_rows_that_are_read_again_have_memory(function, kept):
    assert rows_kept(made(function).program) == {name: ROWS + more for name, more in kept.items()}


def test_one_thread_has_chunks_too():
    found = made(blurred, parallel=False)
    assert rows_kept(found.program) == {"T": ROWS + 3}
    assert any(isinstance(node, Jam) and node.lanes > 1 for node in every(found.program.body))


def test_borders_alone_are_not_worth_chunks():
    assert not rows_kept(made(in_order, parallel=False).program)


@pytest.mark.parametrize("function", [turned, read_later, of_the_caller])
def test_what_is_live_for_longer_is_kept_whole(function):
    assert not rows_kept(made(function).program)


@pytest.mark.parametrize("fusion", ["no", "max", "smart"])
def test_chunks_belong_to_the_model(fusion):
    assert not rows_kept(made(blurred, fusion=fusion).program)


def test_small_arrays_are_not_worth_chunks_but_get_a_form_of_their_own():
    found = made(blurred, (100, 100), rows=0)
    assert not rows_kept(found.program)
    assert found.artifact.sized


def test_kernels_without_arrays_that_are_handed_on_have_one_form():
    assert not made(of_the_caller).artifact.sized


def test_the_notes_say_what_is_kept():
    notes = made(blurred).artifact.notes
    moved = "95,840,096 bytes instead of 191,744,096"
    assert f"S0, S1: chunks of {ROWS} rows, of which T is handed on: {moved}" in notes
    assert f"T: {ROWS + 3} rows at a time in memory" in notes


@pytest.mark.parametrize(
    ("extent", "shift", "rows"),
    [(4000, 1, 64), (4000, 2, 56), (2000, 2, 128), (1100, 2, 232), (300, 2, 0), (4000, 30, 120), (1100, 80, 0)],
)
def test_chunks_fit_the_second_caches(extent, shift, rows):
    scop = scop_of(blurred, {"A": np.ones((3, 3)), "B": np.ones((3, 3))})
    traffic = Traffic(scop, {p.name: extent for p in scop.parameters})
    assert row_chunks._rows(row_chunks.Chunks(0, 1, (0, shift), ("T",)), scop, catalogue.processor("avx2"), traffic) == rows


def test_one_thread_has_chunks_of_smaller_arrays_that_fill_half_of_its_second_cache():
    scop = scop_of(blurred, {"A": np.ones((3, 3)), "B": np.ones((3, 3))})
    machine = replace(catalogue.processor("avx2"), cores=1)
    second = machine.cache(2).size_bytes
    for extent in (400, 700, 1000):
        traffic = Traffic(scop, {p.name: extent for p in scop.parameters})
        rows = row_chunks._rows(row_chunks.Chunks(0, 1, (0, 1), ("T",)), scop, machine, traffic)
        assert (rows > 0) == (extent * extent * 8 >= 2 * second)
        assert rows * extent * 8 <= second / 2


@pytest.mark.parametrize("function", [blurred, over_three, in_order, turned, read_later])
@pytest.mark.parametrize("rows", [1, 5, 49, 77, 400])
@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_of_any_size(function, rows, threads, monkeypatch):
    monkeypatch.setattr(row_chunks, "_rows", lambda *_: 7)
    rng = np.random.default_rng(rows)
    A, own = rng.random((rows, 70)), rng.random((rows, 70))
    other = own.copy()
    if function is read_later and rows < 4:
        return
    wanted, got = function(A, own), polyml.kernel(cache=False, threads=threads)(function)(A, other)
    assert wanted == got or wanted == pytest.approx(got)
    np.testing.assert_allclose(other, own, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::polyml.errors.PolymlPerformanceWarning")
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sweep(keep=14)
def test_random_chains_compute_what_python_does(seed, monkeypatch):
    monkeypatch.setattr(row_chunks, "_rows", lambda *_: 3 + seed % 29)
    case = pipeline(seed)
    function = define(case.text, "pipeline")
    own, other = case.inputs(seed), case.inputs(seed)
    with np.errstate(over="ignore"):
        wanted = function(*own)
    got = polyml.kernel(cache=False, threads=1 + 2 * (seed % 2))(function)(*other)
    for one, two in zip((*own, np.asarray(0 if wanted is None else wanted)), (*other, np.asarray(0 if got is None else got))):
        np.testing.assert_array_equal(two, one)
