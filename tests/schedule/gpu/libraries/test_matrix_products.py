"""Which launches are products of matrices, and why others are not."""

import pytest

from polyml.config import Options
from polyml.dtypes import F16, F32
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.pass_runner import PassRunner
from polyml.pipeline.stages import ModelRequest, modelled
from polyml.runtime.storage.records import parse_type
from polyml.schedule.gpu.launch_plan import Traits, planned
from polyml.schedule.gpu.libraries.placement import with_libraries
from polyml.schedule.gpu.libraries.products import Scale


def gemm(alpha, beta, C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] *= beta
            for k in range(A.shape[1]):
                C[i, j] += alpha * A[i, k] * B[k, j]


def transposed(C, A, B):
    for j in range(C.shape[1]):
        for k in range(A.shape[0]):
            for i in range(C.shape[0]):
                C[i, j] -= 2 * (B[j, k] * -A[k, i])


def clipped(A, B):
    C = A @ B
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = max(C[i, j], 0)
    return C


def placed(function, *types, fp="reassociate", device=Traits()):
    """The launches of a function with what a library may compute."""
    model = modelled(parse(function), tuple(map(parse_type, types)), ModelRequest(Options(fp=fp)), PassRunner())
    found = planned(model.scop, model.dependences, model.reductions, device)
    return with_libraries(found, model.scop, model.dependences, model.reductions, device)


def test_factors_and_first_values():
    (launch,) = placed(gemm, "f32", "f32", "f32[:,:]", "f32[:,:]", "f32[:,:]")
    product = launch.product
    assert (product.alpha, product.beta) == (Scale(1.0, ("alpha",)), Scale(1.0, ("beta",))) and launch.rest is None
    assert (product.left.array, product.right.array, product.roles) == ("A", "B", ("row", "column", "sum"))
    (launch,) = placed(transposed, "f64[:,:]", "f64[:,:]", "f64[:,:]")
    product = launch.product
    assert (product.alpha, product.beta) == (Scale(2.0), Scale(1.0)), product
    assert {product.left.array, product.right.array} == {"A", "B"}


def test_what_follows_a_product_is_a_launch_of_its_own():
    launches = placed(clipped, "f32[:,:]", "f32[:,:]")
    rests = [each.rest for each in launches if each.product]
    assert len(launches) == 1 and rests[0].nest.statements == ("S2",) and rests[0].product is None
    assert launches[0].product.beta == Scale(0.0)


def product_alone(A, B):
    return A @ B


def test_sums_that_are_only_rounded_are_rounded_by_the_library():
    for kind in ("f16", "bf16"):
        (launch,) = placed(product_alone, *(f"{kind}[:,:]",) * 2)
        assert launch.product.result.array == "_rounded" and launch.product.result.steps == ((1, 0), (0, 1), (0, 0)), launch.product
        assert launch.rest is None
    (launch,) = placed(product_alone, "f32[:,:]", "f32[:,:]")
    assert launch.product.result.array == "_product"


def test_operands_are_rounded_where_the_launch_would_round_them():
    arguments = ("f32", "f32", "f32[:,:]", "f32[:,:]", "f32[:,:]")
    assert [each.product.tf32 for each in placed(gemm, *arguments)] == [False]
    assert [each.product.tf32 for each in placed(gemm, *arguments, device=Traits(False, (F16, F32)))] == [True]


def triangle(C, A):
    for i in range(C.shape[0]):
        for j in range(i):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * A[j, k]


def diagonal(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, i]


def smoothed(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(B.shape[0]):
                C[i, j] += A[i, j + k] * B[k, j]


def begun(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[i, j] = 1.0
            for k in range(B.shape[0]):
                C[i, j] += A[i, k] * B[k, j]


def vector(y, A, x):
    for i in range(y.shape[0]):
        for k in range(x.shape[0]):
            y[i] += A[i, k] * x[k]


def squared(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(B.shape[0]):
                C[i, j] += A[i, k] * B[k, j]


def guarded(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(B.shape[0]):
                if A[i, k] > 0:
                    C[i, j] += A[i, k] * B[k, j]


F64S = ("f64[:,:]",) * 3
REASONS = {
    triangle: "its loops are no box",
    diagonal: "its operands do not move as those of a product of two matrices do",
    smoothed: "it is the product of a matrix and a vector",  # one for each j
    begun: "S0 runs before its sum",
    vector: "it is the product of a matrix and a vector",
}


@pytest.mark.parametrize("function", REASONS, ids=lambda each: each.__name__)
def test_others_are_refused_with_a_reason(function):
    types = {triangle: F64S[:2], vector: ("f64[:]", "f64[:,:]", "f64[:]")}.get(function, F64S)
    assert [(each.product, each.by_library) for each in placed(function, *types)] == [(None, f"not by cuBLAS: {REASONS[function]}")]


def test_types_that_cublas_does_not_have_are_refused():
    (launch,) = placed(squared, "f64[:,:]", "f32[:,:]", "f64[:,:]")
    assert launch.by_library == "not by cuBLAS: its operands are not of one type that cuBLAS multiplies"


def test_a_sum_whose_order_is_kept_is_refused():
    (launch,) = placed(gemm, "f32", "f32", *("f32[:,:]",) * 3, fp="strict")
    assert launch.by_library == "not by cuBLAS: the order of its sum is kept"


def test_a_sum_under_a_condition_is_no_product():
    assert all(each.product is None for each in placed(guarded, *F64S))
