"""Tensor cores, matrices loaded by a warp, asynchronous copies and halves, as the PTX ISA defines them."""

import numpy as np
import pytest

from tests.cuda.emulator.ptx import as_calls
from tests.cuda.emulator.test_emulator import pytestmark, run  # noqa: F401  # the same g++

MULTIPLY = """
extern "C" __global__ void multiply(const unsigned *A, const unsigned *B, const float *C, float *D)
{
    const int group = threadIdx.x / 4, lane = threadIdx.x % 4;
    unsigned a[4], b[2];
    float d[4];
    LOADS
    for (int k = 0; k < 4; k++)
        d[k] = C[(group + k / 2 * 8) * 8 + lane * 2 + k % 2];
    asm volatile("mma.sync.aligned.SHAPE.row.col.f32.TYPE.TYPE.f32 "
                 "{%0, %1, %2, %3}, {A_OPERANDS}, {B_OPERANDS}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int k = 0; k < 4; k++)
        D[(group + k / 2 * 8) * 8 + lane * 2 + k % 2] = d[k];
}
"""
# as the figures of the PTX ISA 8.x show it, "Matrix Fragments for mma.m16n8k16 with floating point type" and the others:
# A row by row and B column by column, so that a register of two elements is one word of 32 bits
LOADS = {
    "m16n8k16": "for (int k = 0; k < 4; k++) a[k] = A[((group + k % 2 * 8) * 16 + lane * 2 + k / 2 * 8) / 2];"
    " for (int k = 0; k < 2; k++) b[k] = B[(group * 16 + lane * 2 + k * 8) / 2];",
    "m16n8k8": "for (int k = 0; k < 2; k++) a[k] = A[((group + k * 8) * 8 + lane * 2) / 2]; b[0] = B[(group * 8 + lane * 2) / 2];",
    "tf32": "for (int k = 0; k < 4; k++) a[k] = A[(group + k % 2 * 8) * 8 + lane + k / 2 * 4];"
    " for (int k = 0; k < 2; k++) b[k] = B[group * 8 + lane + k * 4];",
}
OPERANDS = {4: "%4, %5, %6, %7", 2: "%4, %5"}


def bits(values, kind):
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    wide = values.astype(np.float32).view(np.uint32)
    return (wide >> 16).astype(np.uint16) if kind == "bf16" else wide


@pytest.mark.parametrize(("kind", "depth"), [("bf16", 16), ("f16", 16), ("bf16", 8), ("f16", 8), ("tf32", 8)])
def test_mma_multiplies_matrices(kind, depth):
    rng = np.random.default_rng(0)
    A, B = rng.integers(-8, 8, (16, depth)).astype(np.float32), rng.integers(-8, 8, (depth, 8)).astype(np.float32)
    C = rng.integers(-8, 8, (16, 8)).astype(np.float32)
    shape = f"m16n8k{depth}"
    a, b = ("%4, %5, %6, %7", "%8, %9") if depth == 16 or kind == "tf32" else ("%4, %5", "%8")
    text = MULTIPLY.replace("SHAPE", shape).replace("TYPE", kind).replace("A_OPERANDS", a).replace("B_OPERANDS", b)
    text = text.replace("LOADS", LOADS.get(kind, LOADS[shape]))
    words = [np.ascontiguousarray(bits(each, kind)).view(np.uint32).ravel() for each in (A, B.T)]
    faults, _, (_, _, _, D) = run(text, [*words, C, np.zeros((16, 8), np.float32)])
    assert not faults and (D == A @ B + C).all()


MATRICES = """
extern "C" __global__ void matrices(const unsigned short *A, unsigned *D)
{
    __shared__ unsigned short tile[32][8];
    unsigned r[4];
    for (int k = 0; k < 8; k++)
        tile[threadIdx.x][k] = A[threadIdx.x * 8 + k];
    __syncwarp();
    unsigned at = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    for (int k = 0; k < 4; k++)
        D[k * 32 + threadIdx.x] = r[k];
}
"""


@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_gives_each_lane_two_elements_of_each_matrix(transposed):
    A = np.arange(4 * 64, dtype=np.uint16).reshape(4, 8, 8)
    faults, counted, (_, D) = run(
        MATRICES.replace("TRANS", ".trans" if transposed else ""), [A, np.zeros(128, np.uint32)], counts=True
    )
    matrices = A.transpose(0, 2, 1) if transposed else A  # lane l holds elements 2 * (l % 4) and the next one of row l / 4
    assert not faults and (D.view(np.uint16).reshape(4, 32, 2) == matrices.reshape(4, 32, 2)).all()
    (load,) = [each for each in counted if each.array == "tile" and not each.is_write]
    assert (load.bytes, load.requests, load.wavefronts, load.least_wavefronts) == (16, 1, 4, 4)


COPY = """
extern "C" __global__ void copy(const float *A, float *B)
{
    __shared__ float tile[2][128];
    const int t = threadIdx.x;
    for (int k = 0; k < 2; k++) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"((unsigned)__cvta_generic_to_shared(&tile[k][4 * t])), "l"(&A[128 * k + 4 * t]) : "memory");
        asm volatile("cp.async.commit_group;");
    }
    for (int k = 0; k < 2; k++) {
        if (k == 0)
            asm volatile("cp.async.wait_group %0;" :: "n"(1) : "memory");
        else
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int e = 0; e < 4; e++)
            B[128 * k + t + 32 * e] = tile[k][t + 32 * e];
    }
}
"""


def test_asynchronous_copies_arrive_when_they_are_waited_for():
    A = np.arange(256, dtype=np.float32)
    faults, _, (_, B) = run(COPY, [A, np.zeros_like(A)])
    assert not faults and (B == A).all()


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ('"n"(1)', '"n"(2)', "cp.async not waited for"),
        ("wait_group 0;", "wait_group 1;", "cp.async not waited for"),
        ("__syncthreads();", "", "race in a block"),
    ],
)
def test_copies_that_are_read_too_early_are_told(old, new, kind):
    A = np.arange(256, dtype=np.float32)
    faults, _, (_, B) = run(COPY.replace(old, new), [A, np.zeros_like(A)])
    found = [each for each in faults if each.kind == kind]
    assert found and {(each.array, each.one.line) for each in found} >= {("tile", 17)}


def test_copies_of_fewer_bytes_fill_up_with_zeros():
    text = COPY.replace("[%1], 16;", "[%1], 16, %2;").replace(
        ' : "memory");\n        asm volatile("cp.async.commit',
        ', "r"(4 * (t % 5)) : "memory");\n        asm volatile("cp.async.commit',
    )
    A = np.arange(1, 257, dtype=np.float32)
    faults, _, (_, B) = run(text, [A, np.zeros_like(A)])
    keeps = np.tile(np.arange(32) % 5, 2)[:, None] > np.arange(4)
    assert not faults and (B == (A.reshape(64, 4) * keeps).ravel()).all()


def test_halves_are_rounded_as_numpy_rounds_them():
    text = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halves(const unsigned short *A, const double *B, float *C, unsigned short *D)
{
    for (int k = threadIdx.x; k < 65536; k += 32) {
        C[k] = __half2float(__ushort_as_half(A[k]));
        D[k] = __half_as_ushort(__double2half(B[k]));
    }
}
"""
    A = np.arange(65536, dtype=np.uint16)
    numbers = A.view(np.float16).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        B = numbers + np.where(np.isfinite(numbers), numbers, 0) * np.resize([0, 2.0**-11, 2.0**-12, 3 * 2.0**-11, 1e-12], 65536)
        wanted = B.astype(np.float16)
    faults, _, (_, _, C, D) = run(text, [A, B, np.zeros(65536, np.float32), A.copy()])
    assert not faults and np.array_equal(C, A.view(np.float16).astype(np.float32), equal_nan=True)
    assert np.array_equal(D.view(np.float16), wanted, equal_nan=True)


def test_ptx_that_is_no_list_of_plain_instructions_is_refused():
    with pytest.raises(ValueError, match="no predicates or labels: @%p0 bra DONE"):
        as_calls('asm volatile("@%p0 bra DONE;");')
