"""Device functions that are instructions of NVIDIA's GPUs: asynchronous copies to shared memory, and matrix instructions.

`copy_vector` copies 16 bytes, so many at once, without waiting (cp.async) unless that is less than 4, so that a later `wait_for_copies_N` has
to follow; elements from `count` on are zeros. `copy_element` copies 4 or 8 bytes without waiting. `round_matrices_tf32` rounds four numbers of
float32 to 11 bits, to nearest, ties away from zero. NVIDIA, PTX ISA 8.5, 9.7.9.21 "cvt", 9.7.9.25 "Asynchronous copy" and 9.7.14 "Warp Level Matrix Instructions".
"""

from __future__ import annotations

import re

from polyml.codegen.gpu.block_loops.fragment_layouts import INSTRUCTIONS

_COPY_VECTOR = """
template <typename T>
__device__ void copy_vector(T *to, const T *from, int count, int bytes)
{
    const int most = 16 / sizeof(T), each = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
    count = count < 0 ? 0 : count > most ? most : count;
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "r"(count * (int)sizeof(T)) : "memory");
    else if (sizeof(T) >= 4 || bytes == 4)
        for (int e = 0; e < most; e += each) {
            const int left = count < e ? 0 : count - e < each ? count - e : each;
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"((unsigned int)__cvta_generic_to_shared(to + e)), "l"(from + e), "n"(sizeof(T) < 4 ? 4 : sizeof(T)), "r"(left * (int)sizeof(T)) : "memory");
        }
    else
        for (int e = 0; e < most; e++)
            to[e] = e < count ? from[e] : (T)0;
}"""
_COPY_WHOLE_VECTOR = """
__device__ void copy_whole_vector(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}"""
_COPY_ELEMENT = """
template <typename T>
__device__ void copy_element(T *to, const T *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T)) : "memory");
}"""
_COPY_ELEMENT_OR_ZERO = """
template <typename T>
__device__ void copy_element_or_zero(T *to, const T *from, bool is_there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T)), "r"(is_there ? (int)sizeof(T) : 0) : "memory");
}"""
_STORE_VECTOR = """
__device__ void FUNCTION(TYPE *to, PARAMETERS)
{
    *(VECTOR *)to = make_VECTOR(VALUES);
}"""
_AGAIN = """
__device__ long long again(long long value)
{
    asm volatile("" : "+l"(value));  // a compiler does not know that it is the same
    return value;
}"""
STORED = {"f32": ("float", "float4"), "i32": ("int", "int4"), "u32": ("unsigned int", "uint4"), "f64": ("double", "double2")}
_COMMIT_COPIES = """
__device__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}"""
_WAIT = """
__device__ void wait_for_copies_NUMBER()
{
    asm volatile("cp.async.wait_group NUMBER;" ::: "memory");
}"""
_LOAD = """
__device__ void NAME(unsigned int *to, const void *from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.TRANSshared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"((unsigned int)__cvta_generic_to_shared(from)) : "memory");
}"""
_ROUND = """
__device__ void round_matrices_tf32(unsigned int *values)
{
    #pragma unroll
    for (int e = 0; e < 4; e++)
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(values[e]) : "f"(__uint_as_float(values[e])));
}"""
_MULTIPLY = """
__device__ void multiply_matrices_TYPE(float *sums, const unsigned int *left, const unsigned int *right)
{
    asm("NAME {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}"""


def instruction(name: str) -> str | None:
    """Returns the definition in CUDA C++ of the device function of this name; None where it is none of this module's."""
    fixed = {
        "copy_vector": _COPY_VECTOR,
        "copy_whole_vector": _COPY_WHOLE_VECTOR,
        "again": _AGAIN,
        "copy_element": _COPY_ELEMENT,
        "copy_element_or_zero": _COPY_ELEMENT_OR_ZERO,
        "commit_copies": _COMMIT_COPIES,
        "round_matrices_tf32": _ROUND,
        "load_matrices": _LOAD.replace("NAME", "load_matrices").replace("TRANS", ""),
        "load_matrices_transposed": _LOAD.replace("NAME", "load_matrices_transposed").replace("TRANS", "trans."),
    }
    if found := fixed.get(name):
        return found.lstrip("\n")
    if match := re.fullmatch(r"wait_for_copies_(\d)", name):
        return _WAIT.replace("NUMBER", match[1]).lstrip("\n")
    stores = {f"store_vector_{kind}": each for kind, each in STORED.items()} | {"store_pair_f32": ("float", "float2")}
    if name in stores:
        element, vector = stores[name]
        values = "abcd"[: int(vector[-1])]
        made = _STORE_VECTOR.replace("FUNCTION", name).replace("TYPE", element).replace("VECTOR", vector)
        made = made.replace("PARAMETERS", ", ".join(f"{element} {each}" for each in values))
        return made.replace("VALUES", ", ".join(values)).lstrip("\n")
    multiply = {f"multiply_matrices_{each.number}": each for each in INSTRUCTIONS.values()}.get(name)
    if multiply is None:
        return None
    return _MULTIPLY.replace("NAME", multiply.name).replace("TYPE", multiply.number).lstrip("\n")
