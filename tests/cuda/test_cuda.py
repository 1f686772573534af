"""CUDA texts that nvcc compiles, where there is one."""

import numpy as np
import pytest

import polyml
from tests.cuda.compiler import ARCHITECTURES, compiled, instructions, nvcc, tool
from tests.cuda.programs import random_texts, texts
from tests.gpu import kernels, sums, tf32
from tests.opencl.test_complex import functions, power
from tests.opencl.test_opencl import conversions, float_operations, integer_operations

pytestmark = pytest.mark.skipif(nvcc() is None, reason="there is no nvcc")


def usual(text):
    """The text without the form of a launch that has smaller blocks."""
    return text[: text.rindex("\n}\n", 0, text.index("_small(")) + 3]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_product_of_matrices_keeps_its_sums_in_registers(architecture):
    ((_, text),) = [each for each in texts("gemm") if not each[0].startswith("arrays")]
    found = compiled(text, architecture, nvcc())
    assert {each.name for each in found} == {"gemm_0", "gemm_0_small"}
    assert all(each.registers <= 255 and not each.spilled and not each.stack_bytes for each in found)


@pytest.mark.skipif(tool("nvdisasm") is None, reason="there is no nvdisasm")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_a_product_of_float32_loads_four_numbers_at_once_for_sixteen_multiplications(architecture):
    text = usual(polyml.kernel(kernels.gemm).inspect_cuda("f32[:, :]", "f32[:, :]", "f32[:, :]"))
    (found,) = compiled(text, architecture, nvcc())
    assert found.registers <= 128 and not found.spilled and not found.stack_bytes
    counted = instructions(text, architecture, nvcc(), tool("nvdisasm"))
    loads = sum(number for name, number in counted.items() if name.startswith("LDS"))
    assert (
        counted["FFMA"] >= 8 * loads
        and counted["LDS.128"] == loads
        and not any(name.startswith(("LDL", "STL")) for name in counted)
    )


@pytest.mark.skipif(tool("nvdisasm") is None, reason="there is no nvdisasm")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_a_convolution_of_float32_is_the_loop_of_a_product(architecture):
    """Three blocks of 128 threads have 168 registers for each of them."""
    text = usual(polyml.kernel(sums.convolution).inspect_cuda(*["f32[:, :, :, :]"] * 3))
    (found,) = compiled(text, architecture, nvcc())
    assert found.registers <= 168 and not found.spilled and not found.stack_bytes
    counted = instructions(text, architecture, nvcc(), tool("nvdisasm"))
    assert counted["FFMA"] >= 16 * counted["LDS.128"] - 16 * 8  # besides loads of distances
    assert not any(name.startswith(("LDL", "STL")) for name in counted)


@pytest.mark.skipif(tool("nvdisasm") is None, reason="there is no nvdisasm")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_a_product_of_halves_is_matrix_instructions_fed_by_matrix_loads_and_asynchronous_copies(kind, architecture):
    text = usual(polyml.kernel(half_product).inspect_cuda("f32[:, :]", *[f"{kind}[:, :]"] * 2))
    (found,) = compiled(text, architecture, nvcc())
    assert found.registers <= 255 and not found.spilled and not found.stack_bytes
    counted = instructions(text, architecture, nvcc(), tool("nvdisasm"))

    def of(start):
        return sum(number for name, number in counted.items() if name.startswith(start))

    assert of("HMMA.16816.F32") == 128 and of("LDSM.16.M88.4") == 16 and of("LDSM.16.MT88.4") == 16
    assert of("LDGSTS.E.BYPASS.128") == 18 and of(("LDL", "STL")) == 0


@pytest.mark.skipif(tool("nvdisasm") is None, reason="there is no nvdisasm")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name, by_matrices, by_words", [
    ("product", 4, 16),
    ("left_transposed", 0, 32),
    ("right_transposed", 8, 0),
    ("both_transposed", 4, 16),
])  # fmt: skip
def test_a_product_of_tf32_is_matrix_instructions_and_spills_nothing(name, by_matrices, by_words, architecture):
    """In each of four steps of a chunk, 32 products of 16 x 8 x 8."""
    text = polyml.kernel(tf32.PRODUCTS[name][0], tf32=True).inspect_cuda(*["f32[:, :]"] * 3)
    assert all(each.registers <= 255 and not each.spilled and not each.stack_bytes for each in compiled(text, architecture, nvcc()))
    counted = instructions(usual(text), architecture, nvcc(), tool("nvdisasm"))

    def of(start):
        return sum(number for name, number in counted.items() if name.startswith(start))

    assert of("HMMA.1688.F32.TF32") == of("HMMA") == 4 * 32
    assert of("LDSM.16.M88.4") == of("LDSM") == 4 * by_matrices and counted["LDS"] == 4 * by_words and of("LDS.") == 0
    assert of("LDGSTS.E.BYPASS.128") == 18 and of(("LDL", "STL")) == 0


def half_product(C, A, B):
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16"])
def test_operations_on_floats_compile(kind):
    assert compiled(polyml.kernel(float_operations).inspect_cuda(*[f"{kind}[:]"] * 2, f"{kind}[:, :]"), "sm_90", nvcc())


@pytest.mark.parametrize("kind", ["i8", "u16", "i32", "u64"])
def test_operations_on_integers_compile(kind):
    assert compiled(polyml.kernel(integer_operations).inspect_cuda(*[f"{kind}[:]"] * 2, f"{kind}[:, :]"), "sm_90", nvcc())


def test_conversions_compile():
    kinds = ["f64", "f64", "f32", "f16", "i8", "u16", "i64", "u64", "bool"]
    assert compiled(polyml.kernel(conversions).inspect_cuda(*(f"{kind}[:]" for kind in kinds)), "sm_90", nvcc())


def test_functions_of_complex_numbers_compile():
    assert compiled(polyml.kernel(functions).inspect_cuda("c128[:]", "c128[:, :]"), "sm_90", nvcc())
    assert compiled(polyml.kernel(power).inspect_cuda("c128[:]", "c128[:]", "c128[:]"), "sm_90", nvcc())


@pytest.mark.parametrize("name", ["lu", "deriche", "arrays softmax"])
def test_programs_compile_without_memory_of_a_thread_s_own(name):
    ((_, text),) = [each for each in texts(name.rpartition(" ")[2], ("float32",)) if each[0] == f"{name} float32"]
    assert all(not each.spilled and not each.stack_bytes for each in compiled(text, "sm_80", nvcc()))


def test_a_random_program_is_compiled_or_has_no_text():
    ((_, text),) = random_texts(3, 1)
    assert compiled(text, "sm_90", nvcc())
