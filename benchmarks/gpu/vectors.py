"""What instructions of NVIDIA's GPUs give for known operands, as a file: the tests compare their emulator with one that a GPU has written.

Operands of products are small integers, whose sums have no rounding, so that the results are the same bit for bit in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import ml_dtypes
import numpy as np

_HEAD = """#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(32)
"""


@dataclass(frozen=True)
class Instruction:
    """An Instruction is a kernel of one warp around an instruction.

    name: of the kernel.
    text: CUDA C++.
    operands: what it reads.
    results: shape and type of what it writes, its last parameter.
    """

    name: str
    text: str
    operands: tuple[np.ndarray, ...]
    results: tuple[tuple[int, ...], type]


class Runner(Protocol):
    """What runs a kernel of one warp: a device, or the emulator."""

    def run(self, text: str, name: str, operands: Sequence[np.ndarray], result: np.ndarray) -> np.ndarray:
        """Returns what the kernel writes to its last parameter, which is `result` before."""
        ...


class Emulated:
    """The emulator of the tests."""

    def run(self, text: str, name: str, operands: Sequence[np.ndarray], result: np.ndarray) -> np.ndarray:
        from tests.cuda.emulator.launches import Library, Memory

        library = Library(text)
        memory = [Memory(each.nbytes) for each in (*operands, result)]
        for one, array in zip(memory, (*operands, result)):
            one.upload(array)
        faults, _ = library.launch(name, (1, 1, 1), (32, 1, 1), memory)
        if faults:
            raise ValueError(f"{name}: {faults[0]}")
        memory[-1].download(result)
        return result


class Hardware:
    """The first NVIDIA GPU."""

    def run(self, text: str, name: str, operands: Sequence[np.ndarray], result: np.ndarray) -> np.ndarray:
        from polyml.runtime.gpu.cuda.driver import open_device

        driver = open_device()
        queue = driver.queue()
        buffers = [driver.allocate(each.nbytes) for each in (*operands, result)]
        for buffer, array in zip(buffers, (*operands, result)):
            queue.upload(buffer, array)
        driver.compile(text).kernel(name, (32, 1, 1))(queue, (1, 1, 1), buffers)
        queue.download(buffers[-1], result)
        return result


def written(path: str, runner: Runner) -> None:
    """Writes the operands and the results of all instructions to a file of NumPy's, compressed."""
    found = {}
    for each in instructions():
        shape, kind = each.results
        found[each.name] = runner.run(each.text, each.name, each.operands, np.zeros(shape, kind))
    np.savez_compressed(path, **found)
    print(f"{len(found)} instructions: {Path(path).resolve()}")


def instructions() -> Iterator[Instruction]:
    """Yields all instructions that the emulator has and generated code uses, with operands."""
    yield from _loads()
    yield from _products()
    yield from _copies()
    yield from _warp_operations()
    yield from _conversions()


def _loads() -> Iterator[Instruction]:
    """ldmatrix of 1, 2 and 4 matrices, as they are and transposed; each row has an address of its own."""
    matrix = np.arange(4 * 64, dtype=np.uint16)
    for count in (1, 2, 4):
        for transposed in ("", ".trans"):
            registers = ", ".join(f"%{k}" for k in range(count))
            outputs = ", ".join(f'"=r"(r[{k}])' for k in range(count))
            name = f"ldmatrix_x{count}{transposed.replace('.', '_')}"
            text = f"""{_HEAD}{name}(const unsigned short *A, unsigned int *B)
{{
    __shared__ __align__(16) unsigned short tile[256];
    const int t = threadIdx.x;
    for (int e = t; e < 256; e += 32)
        tile[e] = A[e];
    __syncthreads();
    unsigned int r[{count}];
    asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{registers}}}, [%{count}];" : {outputs} : "r"((unsigned int)__cvta_generic_to_shared(&tile[t * 8])) : "memory");
    for (int k = 0; k < {count}; k++)
        B[k * 32 + t] = r[k];
}}
"""
            yield Instruction(name, text, (matrix,), ((count, 32), np.uint32))


def _products() -> Iterator[Instruction]:
    """mma.sync of float16, bfloat16 and tf32 with sums in float32."""
    rng = np.random.default_rng(3)
    halves = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
    for kind, shape, left, right in (
        ("f16", "m16n8k16", 4, 2),
        ("bf16", "m16n8k16", 4, 2),
        ("f16", "m16n8k8", 2, 1),
        ("tf32", "m16n8k8", 4, 2),
    ):
        name = f"mma_{shape}_{kind}"
        d, a, b = (
            ", ".join(f"%{k}" for k in range(first, first + count)) for first, count in ((0, 4), (4, left), (4 + left, right))
        )
        inputs = ", ".join([f'"r"(A[{k} * 32 + t])' for k in range(left)] + [f'"r"(B[{k} * 32 + t])' for k in range(right)])
        sums = ", ".join(f'"+f"(d[{k}])' for k in range(4))
        text = f"""{_HEAD}{name}(const unsigned int *A, const unsigned int *B, const float *C, float *D)
{{
    const int t = threadIdx.x;
    float d[4] = {{C[t], C[32 + t], C[64 + t], C[96 + t]}};
    asm volatile("mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32 {{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};" : {sums} : {inputs});
    for (int k = 0; k < 4; k++)
        D[k * 32 + t] = d[k];
}}
"""
        integers = [rng.integers(-8, 9, (count, 32, 1 if kind == "tf32" else 2)) for count in (left, right)]
        operands = [each.astype(halves.get(kind, np.float32)).view(np.uint32)[..., 0] for each in integers]
        yield Instruction(name, text, (*operands, rng.integers(-8, 9, (4, 32)).astype(np.float32)), ((4, 32), np.float32))


def _copies() -> Iterator[Instruction]:
    """cp.async of 16 bytes of which some are zeros in place of what is in memory."""
    values = np.arange(1, 129, dtype=np.float32)
    counts = np.array([4 * (t % 5) for t in range(32)], np.int32)
    text = f"""{_HEAD}cp_async_zeros(const float *A, const int *bytes, float *B)
{{
    __shared__ __align__(16) float tile[128];
    const int t = threadIdx.x;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"((unsigned int)__cvta_generic_to_shared(&tile[4 * t])), "l"(&A[4 * t]), "r"(bytes[t]) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 4; k++)
        B[4 * t + k] = tile[4 * t + k];
}}
"""
    yield Instruction("cp_async_zeros", text, (values, counts), ((128,), np.float32))


def _warp_operations() -> Iterator[Instruction]:
    """Shuffles, within the warp and within eight lanes, and votes."""
    values = np.random.default_rng(4).integers(0, 1 << 30, 32).astype(np.int32)
    calls = [
        f"__shfl_{kind}sync(0xffffffffu, A[t], {amount}, {width})"
        for kind, amount in (("", 5), ("down_", 3), ("up_", 3), ("xor_", 6))
        for width in (32, 8)
    ]
    calls += ["(int)__ballot_sync(0xffffffffu, A[t] & 1)", "__any_sync(0xffffffffu, t == 7)", "__all_sync(0xffffffffu, t < 31)"]
    lines = "\n".join(f"    B[{32 * k} + t] = {call};" for k, call in enumerate(calls))
    text = f"{_HEAD}warp_operations(const int *A, int *B)\n{{\n    const int t = threadIdx.x;\n{lines}\n}}\n"
    yield Instruction("warp_operations", text, (values,), ((len(calls), 32), np.int32))


def _conversions() -> Iterator[Instruction]:
    """Halves of floats and doubles, near the middle between two halves too, and floats of all halves."""
    every = np.arange(1 << 16, dtype=np.uint16)
    yield _conversion("float_of_half", "unsigned short", "float", "__half2float(__ushort_as_half(A[e]))", every, np.float32)
    halves = every[(every & 0x7C00) < 0x7800].view(np.float16)  # but for the largest, whose neighbours may be infinite
    steps = np.spacing(halves).astype(float)
    middle = np.concatenate([halves.astype(float) + steps * part for part in (0.0, 0.25, 0.5, 0.5000001, 0.75)])
    ends = np.array([np.inf, -np.inf, 65519.99, 65520.0, 1e300, -1e-300, 2.0**-25, 2.0**-24 * 1.5])
    doubles = np.concatenate([middle[::7], ends])
    yield _conversion("half_of_double", "double", "unsigned short", "__half_as_ushort(__double2half(A[e]))", doubles, np.uint16)
    with np.errstate(over="ignore"):
        floats = doubles.astype(np.float32)
    yield _conversion("half_of_float", "float", "unsigned short", "__half_as_ushort(__float2half(A[e]))", floats, np.uint16)
    yield _rounding()


def _rounding() -> Instruction:
    """cvt.rna.tf32: numbers of tf32, and such that are a quarter, half and nearly half of a unit above, of all exponents; the ends; NaN."""
    rng = np.random.default_rng(5)
    numbers = rng.integers(0, 1 << 19, 200, dtype=np.uint32) << 13
    ends = [
        0x00000000,
        0x00000001,
        0x00000FFF,
        0x00001000,
        0x007FFFFF,
        0x7F7FE000,
        0x7F7FEFFF,
        0x7F7FF000,
        0x7F7FFFFF,
        0x7F800000,
        0x7FC00000,
        0x7FFFFFFF,
    ]
    below = np.array([0, 0x800, 0xFFF, 0x1000, 0x1001, 0x1FFF], np.uint32)
    finite = numbers[numbers & 0x7F800000 != 0x7F800000]
    bits = np.concatenate(
        [(finite[:, None] | below).ravel(), *(np.array(ends, np.uint32) | sign for sign in (np.uint32(0), np.uint32(1 << 31)))]
    )
    lines = f"""    for (int e = threadIdx.x; e < {len(bits)}; e += 32) {{
        unsigned int r;
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(A[e])));
        B[e] = r;
    }}"""
    text = f"{_HEAD}cvt_rna_tf32(const unsigned int *A, unsigned int *B)\n{{\n{lines}\n}}\n"
    return Instruction("cvt_rna_tf32", text, (bits,), ((len(bits),), np.uint32))


def _conversion(name: str, source: str, to: str, call: str, values: np.ndarray, result: type) -> Instruction:
    lines = f"    for (int e = threadIdx.x; e < {len(values)}; e += 32)\n        B[e] = {call};"
    text = f"{_HEAD}{name}(const {source} *A, {to} *B)\n{{\n{lines}\n}}\n"
    return Instruction(name, text, (values,), ((len(values),), result))
