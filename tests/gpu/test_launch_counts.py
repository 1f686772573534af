"""What the model says that requests move, against threads that run the same program in step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyml import kernels as polybench
from polyml.gpu.launch_model import modelled
from tests.gpu import kernels, lockstep
from tests.gpu.mapping import H100, launches_of, predicted, program_of

DTYPES = [np.float32, np.float64]
BLOCKS = [(), (32, 8), (32, 1), (16, 16), (8, 4), (5, 7), (1, 64), (128, 2)]


def check_call(kernel, arguments, **wanted):
    mapped, program, sizes = program_of(kernel, arguments, **wanted)
    for found in modelled(program, mapped, sizes, H100):
        if program.launches[found.name].team is not None:
            continue  # of which `tests.cuda.test_predicted` has some
        assert predicted(found) == lockstep.counted(program, program.launches[found.name], sizes)


def check(function, shapes, dtype=np.float32, **wanted):
    check_call(function, [np.zeros(shape, dtype) for shape in shapes], **wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ni, nj, nk", [(130, 140, 21), (128, 128, 32)])
def test_a_product_in_tiles(ni, nj, nk, dtype):
    check(kernels.gemm, [(ni, nj), (ni, nk), (nk, nj)], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("block", BLOCKS)
def test_any_block(block, dtype):
    """Without whole tiles: a product, a transposition, a stencil and a triangle."""
    check(kernels.gemm, [(13, 45), (13, 5), (5, 45)], dtype, block=block)
    check(kernels.transpose, [(37, 70), (70, 37)], dtype, block=block)
    check(kernels.five_point, [(19, 71)] * 2, dtype, block=block)
    check(kernels.triangle, [(69, 69)] * 2, dtype, block=block)


@pytest.mark.parametrize("dtype", DTYPES)
def test_other_loops(dtype):
    check(kernels.dots, [(130, 19), (150, 19), (130, 150)], dtype)
    check(kernels.syrk, [(133, 133), (133, 18)], dtype)
    check(kernels.trmm, [(12, 12), (12, 77)], dtype)
    check(kernels.matvec, [(75, 11), 11, 75], dtype)
    check(kernels.sweeps, [200, 200, 7], dtype)
    check(kernels.prefix, [30], dtype)
    for function in (kernels.every_third, kernels.halved, kernels.reflected):
        check(function, [303, 101], dtype)


@settings(max_examples=10, deadline=None)
@given(st.tuples(st.integers(1, 40), st.integers(1, 90), st.integers(1, 5)), st.sampled_from(DTYPES),
       st.tuples(st.integers(1, 70), st.integers(1, 14)))  # fmt: skip
def test_products_of_any_size_in_any_block(sizes, dtype, block):
    ni, nj, nk = sizes
    check(kernels.gemm, [(ni, nj), (ni, nk), (nk, nj)], dtype, block=block)


@pytest.mark.parametrize("name", ["jacobi_2d", "trisolv", "doitgen", "atax", "lu", "seidel_2d"])
def test_kernels_of_polybench(name):
    benchmark = polybench.load(name)
    arguments = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(0), benchmark.dtype)
    check_call(benchmark.kernel, arguments.values())


def test_a_contraction_of_five_dimensions():
    def contraction(C, A, B):
        for a in range(C.shape[0]):
            for b in range(C.shape[1]):
                for c in range(C.shape[2]):
                    for d in range(A.shape[2]):
                        for e in range(A.shape[3]):
                            C[a, b, c] += A[a, b, d, e] * B[d, e, c]

    check(contraction, [(3, 4, 35), (3, 4, 2, 3), (2, 3, 35)], block=(32, 4))


def test_sizes_that_are_not_looked_at_thread_by_thread():
    """4096 x 4096 in blocks of 32 x 8: a warp has 4 sectors of B, 1 of A."""
    (found,) = launches_of(kernels.gemm, [(4096, 4096)] * 3, block=(32, 8))
    warps = 4096**3 // 32
    made = {access.touch.array: requests for access, requests in found.of_global() if not access.touch.is_write}
    assert (made["A"].sectors, made["B"].sectors) == (warps, 4 * warps)
    assert made["B"].efficiency == 1 and made["A"].efficiency == 1 / 8
