"""The text of kernels for GPUs."""

import numpy as np
import pytest

import polyml
from tests.frontend.define import define


def smooth(A, B):
    n, m = A.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            B[i, j] = 0.25 * (A[i, j - 1] + 2.0 * A[i, j] + A[i, j + 1])


HEADING = """\
// test_printer.py:14: B[i, j] = 0.25 * (A[i, j - 1] + 2.0 * A[i, j] + A[i, j + 1])
// blocks of 32 x 8 = 256 threads: along x for j, along y for i
"""
OPENCL = f"""\
{HEADING}__kernel void __attribute__((reqd_work_group_size(32, 8, 1)))
smooth_0(__global float *restrict B, __global const float *restrict A, const long B_1, const long m, const long n)
{{
    const long j = (long)get_group_id(0) * 32 + get_local_id(0);
    const long i = (long)get_group_id(1) * 8 + get_local_id(1);
    if (i > 0 && j > 0 && j + 1 < m && i + 1 < n)
        B[i*B_1 + j] = 0.25f * (A[i*m + j - 1] + 2.0f * A[i*m + j] + A[i*m + j + 1]);
}}
"""
CUDA = f"""\
{HEADING}extern "C" __global__ void __launch_bounds__(256)
smooth_0(float *__restrict__ B, const float *__restrict__ A, const long long B_1, const long long m, const long long n,
    const long long first_i)
{{
    const long long j = (long long)blockIdx.x * 32 + threadIdx.x;
    const long long i = (long long)(blockIdx.y + first_i) * 8 + threadIdx.y;
    if (i > 0 && j > 0 && j + 1 < m && i + 1 < n)
        B[i*B_1 + j] = 0.25f * (A[i*m + j - 1] + 2.0f * A[i*m + j] + A[i*m + j + 1]);
}}
"""


def test_a_kernel_has_the_names_of_the_source():
    kernel = polyml.kernel(smooth)
    assert kernel.inspect_opencl("f32[:, :]", "f32[:, :]").endswith(OPENCL)
    assert kernel.inspect_cuda("f32[:, :]", "f32[:, :]") == CUDA


def body_of(function, *types, **settings):
    """The lines between the braces of the only launch."""
    text = polyml.kernel(function, **settings).inspect_opencl(*types)
    return text[text.rindex("__kernel") :].partition("{\n")[2]


def one_element(value):
    """A kernel that stores the value, of a, b and x."""
    return define(f"def store(y, x, a, b):\n    y[0] = {value}\n", "store")


@pytest.mark.parametrize("value, kinds, expected", [
    ("x[0] - (a - b)", ("f64", "f64"), "y[0] = x[0] - (a - b);"),
    ("x[0] - a - b", ("f64", "f64"), "y[0] = x[0] - a - b;"),
    ("-x[0] * -a", ("f64", "f64"), "y[0] = -x[0] * -a;"),
    ("a if x[0] < b else -a", ("f64", "f64"), "y[0] = x[0] < b ? a : -a;"),
    ("np.arctan2(x[0], a)", ("f64", "f64"), "y[0] = atan2(x[0], a);"),
    ("np.maximum(x[0], a)", ("f64", "f64"), "y[0] = maximum_f64(x[0], a);"),
    ("max(x[0], a)", ("f64", "f64"), "y[0] = first_max_f64(x[0], a);"),
    ("x[0] // a", ("f64", "f64"), "y[0] = floor_divide_f64(x[0], a);"),
    ("x[0] + x[0]", ("i32", "i32"), "y[0] = (int)((uint)x[0] + (uint)x[0]);"),
    ("x[0] * x[0]", ("i16", "i16"), "y[0] = (short)((uint)x[0] * (uint)x[0]);"),
    ("x[0] // x[0]", ("i64", "i64"), "y[0] = floor_divide_i64(x[0], x[0]);"),
    ("x[0] << x[0]", ("u8", "u8"), "y[0] = shift_left_u8(x[0], x[0]);"),
    ("a * b + 1", ("i64", "int"), "y[0] = checked_add(checked_multiply(a, b, status), 1l, status);"),
    ("x[0]", ("bf16", "f16"), "y[0] = bf16_bits(rounded_bf16(f16_value(x[0])));"),
])  # fmt: skip
def test_values_are_c_that_computes_what_numpy_does(value, kinds, expected):
    element, other = kinds
    number = element if other == "f64" or other == "int" else "f64"
    number = "int" if other == "int" else number
    array = "i64" if other == "int" else other
    assert expected in body_of(one_element(value), f"{element}[:]", f"{array}[:]", number, number)


def test_what_is_shared_is_computed_once():
    def powers(x, y):
        for i in range(x.shape[0]):
            t = np.exp(x[i]) + 1
            y[i] = t * t * t

    assert "const double v0 = exp(x[i]) + 1.0;" in body_of(powers, "f64[:]", "f64[:]")


def test_fused_multiply_adds_are_off_in_strict_mode_alone():
    assert "FP_CONTRACT OFF" in polyml.kernel(smooth, fp="strict").inspect_opencl("f32[:, :]", "f32[:, :]")
    assert "FP_CONTRACT ON" in polyml.kernel(smooth).inspect_opencl("f32[:, :]", "f32[:, :]")


def test_words_of_c_are_no_names():
    def kernel(int, long):
        for half in range(int.shape[0]):
            int[half] = long[half]

    text = polyml.kernel(kernel).inspect_opencl("f64[:]", "f64[:]")
    assert "int_[half_] = long_[half_];" in text


def test_functions_of_complex_numbers_are_device_functions():
    def spectrum(z, y):
        for i in range(z.shape[0]):
            y[i] = np.arctan(z[i])

    kernel = polyml.kernel(spectrum)
    assert "= complex_arctan(z[i], z[z_0 + i]).imag;" in kernel.inspect_opencl("c128[:]", "c128[:]")
    text = kernel.inspect_cuda("c128[:]", "c128[:]")
    assert text.count("__device__ complex_number complex_arctanh(double x, double y)") == 1
    assert text.startswith("#ifndef INFINITY")


def test_what_is_not_finite_has_the_type_of_a_double():
    def ends(x, y):
        for i in range(x.shape[0]):
            y[i] = np.copysign(np.inf, x[i]) + np.arctan2(x[i], -np.inf)

    text = polyml.kernel(ends).inspect_opencl("f64[:]", "f64[:]")
    assert "copysign((double)INFINITY, x[i]) + atan2(x[i], (double)-INFINITY)" in text
    assert "copysign(INFINITY, x[i])" in polyml.kernel(ends).inspect_opencl("f32[:]", "f32[:]")


def test_what_is_added_to_an_element_is_written_so():
    def updates(x, y, n):
        for i in range(x.shape[0]):
            x[i] = x[i] * (y[i] + 1)
            y[i] = y[i] - x[i] - 2
            n[i] += 1

    text = polyml.kernel(updates).inspect_opencl("f64[:]", "f64[:]", "i32[:]")
    assert "x[i] *= y[i] + 1.0;" in text  # y[i] - x[i] is subtracted from first: C's -= would round another difference
    assert "y[i] = y[i] - x[i] - 2.0;" in text and "n[i] = (int)(" in text


def test_sizes_that_are_clear_where_a_thread_runs_have_no_tests():
    def inner(x):
        y = np.zeros((x.shape[0] - 2, x.shape[1] - 2))
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = x[i, j]
        return y

    text = polyml.kernel(inner).inspect_opencl("f64[:, :]")
    assert "[i*(x_1 - 2) + j] = x[i*x_1 + j];" in text and "?" not in text


def test_loops_that_follow_one_another_have_their_own_names():
    """They have one variable in the program, which in the first part goes through k, and in the second one through items."""

    def product_and_sum(C, A, B, D):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]
                D[i, j] = C[i, j] + D[i, j]

    text = polyml.kernel(product_and_sum).inspect_opencl(*["f64[:, :]"] * 4)
    assert "for (long k = 0; k < A_1; k++) {" in text and "C[(i + i_item)*C_1 + j + j_item] += A[(i + i_item)*A_1 + k]" in text
    assert "D[(i + i_item)*D_1 + j + j_item] = C[(i + i_item)*C_1 + j + j_item] + D" in text


def test_a_kernel_without_instances_does_nothing():
    def unused(x):
        t = np.ones(x.shape[0])
        t[0] = x[0]
        return x

    assert "{\n}\n" in polyml.kernel(unused).inspect_opencl("f64[:]")
