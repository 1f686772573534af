"""CUDA texts that nvcc compiles, where there is one."""

import pytest

import polyml
from tests.cuda.__main__ import texts
from tests.cuda.compiler import ARCHITECTURES, compiled, nvcc
from tests.opencl.test_opencl import conversions, float_operations, integer_operations

pytestmark = pytest.mark.skipif(nvcc() is None, reason="there is no nvcc")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_product_of_matrices_keeps_its_sums_in_registers(architecture):
    ((_, text),) = [each for each in texts("gemm") if not each[0].startswith("arrays")]
    found = compiled(text, architecture, nvcc())
    assert [each.name for each in found] == ["gemm_0", "gemm_1"] or {each.name for each in found} == {"gemm_0", "gemm_1"}
    assert all(each.registers <= 128 and not each.spilled and not each.stack_bytes for each in found)


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
def test_operations_on_floats_compile(kind):
    assert compiled(polyml.kernel(float_operations).inspect_cuda(*[f"{kind}[:]"] * 2, f"{kind}[:, :]"), "sm_90", nvcc())


@pytest.mark.parametrize("kind", ["i8", "u16", "i32", "u64"])
def test_operations_on_integers_compile(kind):
    assert compiled(polyml.kernel(integer_operations).inspect_cuda(*[f"{kind}[:]"] * 2, f"{kind}[:, :]"), "sm_90", nvcc())


def test_conversions_compile():
    kinds = ["f64", "f64", "f32", "f16", "i8", "u16", "i64", "u64", "bool"]
    assert compiled(polyml.kernel(conversions).inspect_cuda(*(f"{kind}[:]" for kind in kinds)), "sm_90", nvcc())
