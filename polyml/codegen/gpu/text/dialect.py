"""The two languages of kernels for GPUs, where they differ: OpenCL C 1.2 and CUDA C++."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyml.dtypes import HALVES, DType


@dataclass(frozen=True)
class Dialect:
    """A Dialect says how OpenCL C or CUDA C++ writes what kernels need.

    types: names of the types of numbers in registers, by kind ("f", "i", "u", "b") and bits.
    kernel: what stands before the name of a kernel.
    function: what stands before a function that kernels call.
    pointer: what stands before the type of an array in global memory.
    shared: what stands before the type of an array that the threads of a block share.
    barrier: the statement at which the threads of a block wait for one another.
    team_barrier: the same, where what the threads wrote to global memory is seen by all of them behind it.
    shuffle: an expression of the {value} that the thread {distance} places further in the warp has; "" where there is none.
    broadcast: the same of the {value} that the first thread of the warp has.
    warp_barrier: the statement at which the threads of a warp wait for one another, and see what they wrote; "" where there is none.
    block, thread: expressions of the number of a block and of a thread along x, y and z.
    launch_bounds: what says how many threads a block has, with {x}, {y}, {z} and {threads}, their product, and {blocks}: how many blocks
        a multiprocessor is to have at once, behind a comma, where that is known.
    restrict: the word for pointers to arrays that do not overlap.
    splits: for x, y and z, whether there may be more blocks along it than one launch can have, so that several launches share them.
    atomics: names of atomic functions, by operation: "cas" is compare-and-swap.
    preamble: what a text begins with; {contract} is ON in it where a*b + c may be rounded once, else OFF.
    strict_preamble: what stands before it where a*b + c may not be rounded once; nvcc is then called with the option in it.
    half_header: what a text begins with where float16 occurs.
    infinity_header: what a text begins with where INFINITY or NAN occurs.
    """

    name: str
    types: Mapping[tuple[str, int], str]
    kernel: str
    function: str
    pointer: str
    shared: str
    barrier: str
    team_barrier: str
    shuffle: str
    broadcast: str
    warp_barrier: str
    block: tuple[str, str, str]
    thread: tuple[str, str, str]
    launch_bounds: str
    restrict: str
    splits: tuple[bool, bool, bool]
    atomics: Mapping[str, str]
    preamble: str = ""
    strict_preamble: str = ""
    half_header: str = ""
    infinity_header: str = ""

    def register_type(self, dtype: DType) -> str:
        """Returns the name of the type that a value is computed in; halves (f16 and bf16) are computed in float."""
        if dtype in HALVES:
            return self.types["f", 32]
        return self.types[dtype.kind, dtype.bits]

    def memory_type(self, dtype: DType) -> str:
        """Returns the name of the type of an element in memory; halves (f16 and bf16) are stored as their bits."""
        return self.types["u", 16] if dtype in HALVES else self.types[dtype.kind, dtype.bits]

    def size_bytes(self, name: str) -> int:
        """Returns the size of a number of the type of this name."""
        return next(bits for (_, bits), each in self.types.items() if each == name) // 8

    def unsigned(self, bits: int) -> str:
        """Returns the name of the unsigned type of so many bits."""
        return self.types["u", bits]

    @property
    def index(self) -> str:
        """The name of the type of loop variables and sizes."""
        return self.types["i", 64]


_TYPES = {("f", 64): "double", ("f", 32): "float", ("i", 32): "int", ("i", 16): "short", ("b", 8): "uchar"}
OPENCL = Dialect(
    name="opencl",
    types={
        **_TYPES, ("i", 64): "long", ("i", 8): "char", ("u", 64): "ulong", ("u", 32): "uint", ("u", 16): "ushort", ("u", 8): "uchar",
    },
    kernel="__kernel void",
    function="",
    pointer="__global ",
    shared="__local ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    team_barrier="barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
    shuffle="",
    broadcast="",
    warp_barrier="",
    block=("get_group_id(0)", "get_group_id(1)", "get_group_id(2)"),
    thread=("get_local_id(0)", "get_local_id(1)", "get_local_id(2)"),
    launch_bounds="__attribute__((reqd_work_group_size({x}, {y}, {z})))",
    restrict="restrict",
    splits=(False, False, False),
    atomics={"cas": "atomic_cmpxchg"},
    preamble="#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL FP_CONTRACT {contract}\n",
)  # fmt: skip
CUDA = Dialect(
    name="cuda",
    types={
        **_TYPES, ("b", 8): "unsigned char", ("i", 64): "long long", ("i", 8): "signed char", ("u", 64): "unsigned long long",
        ("u", 32): "unsigned int", ("u", 16): "unsigned short", ("u", 8): "unsigned char",
    },
    kernel='extern "C" __global__ void',
    function="__device__ ",
    pointer="",
    shared="__shared__ ",
    barrier="__syncthreads();",
    team_barrier="__syncthreads();",
    shuffle="__shfl_down_sync(0xffffffff, {value}, {distance})",
    broadcast="__shfl_sync(0xffffffff, {value}, 0)",
    warp_barrier="__syncwarp();",
    block=("blockIdx.x", "blockIdx.y", "blockIdx.z"),
    thread=("threadIdx.x", "threadIdx.y", "threadIdx.z"),
    launch_bounds="__launch_bounds__({threads}{blocks})",
    restrict="__restrict__",
    splits=(False, True, True),
    atomics={"cas": "atomicCAS"},
    strict_preamble="// -fmad=false: a*b + c is rounded twice\n",
    half_header="#include <cuda_fp16.h>\n",
    infinity_header=(
        "#ifndef INFINITY  // NVRTC, which has no math.h\n"
        "#define INFINITY __int_as_float(0x7f800000)\n#define NAN __int_as_float(0x7fffffff)\n#endif\n"
    ),
)  # fmt: skip
DIALECTS = {each.name: each for each in (OPENCL, CUDA)}
