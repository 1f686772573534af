"""polyml's kernels in the emulator: right in every order of threads, and without a fault."""

import numpy as np
import pytest

import polyml
from polyml.errors import CompileError, PolymlError
from polyml.schedule.gpu import launch_plan
from tests.cuda.emulator.campaign import outcomes
from tests.cuda.emulator.compiler import compiler
from tests.cuda.emulator.counts import by_array
from tests.cuda.emulator.driver import Emulator, counted, emulated
from tests.cuda.emulator.launches import ORDERS, Run
from tests.gpu import kernels

pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no g++")


@pytest.mark.parametrize("name", ["atax", "jacobi_1d", "durbin", "nussinov", "layernorm", "black_scholes"])
def test_kernels_equal_their_references(name):
    found = list(outcomes(name))
    assert found and not any(each.problem or each.refused for each in found), found


def test_random_programs_equal_plain_python():
    assert not any(each.problem or each.refused for each in outcomes("no such kernel", range(1, 4)))


@pytest.mark.parametrize("template", ["rows", "sums_of_products"])
def test_random_programs_of_forms_for_gpus_equal_plain_python(template):
    assert not any(each.problem for each in outcomes("no such kernel", range(1, 3), template=template))


@pytest.mark.parametrize("order", ORDERS)
def test_a_product_of_matrices_in_tiles_is_right_in_every_order_of_threads(order, monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", ((8, 8), (4, 4)))
    monkeypatch.setattr(launch_plan, "TILE_OF_HALVES", ((8, 8), (4, 4)))
    rng = np.random.default_rng(0)
    A, B = rng.random((37, 45), np.float32), rng.random((45, 70), np.float32)
    C = np.zeros((37, 70), np.float32)
    with emulated(Emulator(Run(order, 3))):
        polyml.kernel(kernels.gemm, target="cuda", fallback="error")(C, A, B)
    assert np.allclose(C, A @ B, rtol=1e-5)


def test_a_text_that_gcc_refuses_is_an_error_with_its_messages():
    with pytest.raises(CompileError, match=r"(?s)g\+\+ refuses a kernel.*no_such_function"):
        Emulator().compile('extern "C" __global__ void k(int *A)\n{\n    no_such_function(A);\n}\n')


def test_memory_that_there_is_not_is_an_error():
    with pytest.raises(polyml.PolymlMemoryError, match="1,000,000,000,000 bytes"):
        Emulator().allocate(10**12)


def test_a_transposition_through_shared_memory_touches_each_sector_once_and_has_no_bank_conflicts():
    A = np.zeros((64, 96), np.float32)
    counts = counted(kernels.transpose, A, np.zeros((96, 64), np.float32))
    found = by_array(counts)
    assert [
        (each.accesses, each.requests, each.sectors) for each in (found["transpose_0", "A", False], found["transpose_0", "B", True])
    ] == [(64 * 96, 64 * 96 // 32, 64 * 96 // 8)] * 2
    shared = [each for each in counts if each.is_shared]
    assert shared and all(each.wavefronts == each.least_wavefronts for each in shared)


class OfCaller:
    """An array in the emulated device's memory, which is that of the process."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False), "version": 3,
        }  # fmt: skip


def test_arrays_of_callers_are_read_and_written():
    A, B = np.arange(12.0).reshape(3, 4), np.zeros((4, 3))
    with emulated(Emulator()):
        polyml.kernel(kernels.transpose, target="cuda", fallback="error", cache=False)(OfCaller(A), OfCaller(B))
    assert np.array_equal(B, A.T) and np.array_equal(A, np.arange(12.0).reshape(3, 4))


def test_indices_of_callers_are_looked_at():
    def gather(A, at, B):
        for i in range(B.shape[0]):
            B[i] = A[at[i]]

    A, at, B = np.arange(5.0), np.array([4, 0, 2]), np.zeros(3)
    with emulated(Emulator()):
        kernel = polyml.kernel(gather, target="cuda", fallback="error", cache=False)
        kernel(*map(OfCaller, (A, at, B)))
        assert B.tolist() == [4, 0, 2]
        at[0] = 5
        with pytest.raises(PolymlError, match="no index of `A`"):
            kernel(*map(OfCaller, (A, at, B)))


def outer_product(C, A, B):
    for m in range(C.shape[0]):
        for e in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[m, e] += A[m, k] * B[k, e]


def test_loops_may_have_the_names_that_polyml_gives_in_its_own_texts_for_isl(monkeypatch):
    monkeypatch.setattr(launch_plan, "TILE", ((2, 2), (2, 2)))
    rng = np.random.default_rng(0)
    A, B, C = rng.random((9, 5)), rng.random((5, 7)), np.zeros((9, 7))
    with emulated(Emulator()):
        polyml.kernel(outer_product, target="cuda", fallback="error", cache=False)(C, A, B)
    assert np.allclose(C, A @ B)
