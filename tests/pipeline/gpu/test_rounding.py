"""What `explain` says of the setting `tf32`: which statements are rounded, and why others are not."""

import numpy as np
import pytest

import polyml
from tests.gpu import kernels, sums
from tests.gpu.tf32 import PRODUCTS, batched, layer

F1, F2, F3, F4 = "f32[:]", "f32[:, :]", "f32[:, :, :]", "f32[:, :, :, :]"


def notes(function, *types, language="cuda", **settings):
    """The lines that `explain` has of launches, as far as they speak of tensor cores."""
    kernel = polyml.kernel(function, cache=False, **{"tf32": True, **settings})
    made = kernel._of_these(types, lambda known, layouts, sizes: kernel._compiled_for_gpu(known, sizes, language))
    return [each for each in made.notes if "tensor cores" in each or "tf32" in each]


def scaled(alpha, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def batch_last(C, A, B):
    for b in range(C.shape[0]):
        for i in range(C.shape[1]):
            for j in range(C.shape[2]):
                for k in range(A.shape[1]):
                    C[b, i, j] += A[i, k, b] * B[k, b, j]


def symmetric(C, A):
    for i in range(C.shape[0]):
        for j in range(i + 1):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def squares(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]


def of_arrays(A, B, C):
    return 2 * (A @ B) + C


@pytest.mark.parametrize("function, types", [
    *((made, (F2, F2, F2)) for made, _, _ in PRODUCTS.values()),
    (batched, (F3, F3, F3)),
    (layer, (F3, F3, F2)),
    (of_arrays, (F2, F2, F2)),
])  # fmt: skip
def test_a_statement_that_runs_on_tensor_cores_is_said_to_be_rounded(function, types):
    (found,) = notes(function, *types)
    assert "runs on tensor cores, with operands rounded to 11 bits (tf32)" in found


def test_of_loops_that_are_no_box_whole_blocks_are_rounded():
    (found,) = notes(symmetric, F2, F2)
    assert "runs, in whole blocks, on tensor cores" in found


@pytest.mark.parametrize("function, types, why", [
    (scaled, ("f32", F2, F2, F2), "what it adds is not a product of two elements alone"),
    (sums.convolution, (F4, F4, F4), "it adds up along several loops"),
    (batch_last, (F3, F3, F3), "a factor has no rows in memory along the loop of the sum or of the result"),
    (kernels.matvec, (F2, F1, F1), "threads do not share loads of both factors"),
])  # fmt: skip
def test_what_is_not_rounded_has_a_reason(function, types, why):
    (found,) = notes(function, *types)
    assert "runs without tensor cores, in float32: " in found and why in found


@pytest.mark.parametrize("function, types", [(squares, (F1, F1)), (PRODUCTS["product"][0], ("f64[:, :]",) * 3)])
def test_a_kernel_without_products_of_float32_says_that_nothing_changes(function, types):
    assert notes(function, *types) == ["tf32 changes nothing: no launch adds up products of arrays of float32"]


def test_other_targets_say_that_nothing_changes():
    assert notes(PRODUCTS["product"][0], F2, F2, F2, language="opencl") == [
        "tf32 changes nothing: there are no tensor cores in OpenCL C"
    ]
    kernel = polyml.kernel(PRODUCTS["product"][0], cache=False, tf32=True)
    kernel(*np.ones((3, 4, 4), np.float32))
    assert "tf32, which the target has no use for" in kernel.explain()


def test_a_schedule_with_other_blocks_is_the_reason():
    kernel = polyml.kernel(PRODUCTS["product"][0], target="cuda", cache=False, tf32=True)
    given = kernel.schedule("source", F2, F2, F2).grid("i", "j").block(32, 8).items(2, 2)
    changed = kernel.with_schedule(given)
    made = changed._of_these((F2, F2, F2), lambda known, layouts, sizes: changed._compiled_for_gpu(known, sizes, "cuda"))
    assert any("runs without tensor cores" in each and "the schedule asks for other blocks" in each for each in made.notes)


def test_without_the_setting_nothing_is_said():
    assert notes(PRODUCTS["product"][0], F2, F2, F2, tf32=False) == []
