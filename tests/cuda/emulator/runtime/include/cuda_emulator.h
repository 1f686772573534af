// The words of CUDA C++ for g++: kernels are compiled with  -include cuda_emulator.h  and run by the emulator.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

struct uint3 {
    unsigned x, y, z;
};

extern "C" {
uint3 emu_thread() __attribute__((const));  // a thread's own, the same wherever it asks
uint3 emu_block() __attribute__((const));
uint3 emu_block_size() __attribute__((const));
uint3 emu_grid_size() __attribute__((const));
unsigned emu_lane() __attribute__((const));
void emu_barrier(int line);
void emu_copy_vector(void* to, const void* from, int bytes);
void emu_atomic(const void* address, int bytes);
uint64_t emu_shuffle(unsigned mask, uint64_t value, unsigned source);
unsigned emu_ballot(unsigned mask, int predicate);
void emu_sync_warp(unsigned mask);
void emu_load_matrices(uint32_t* registers, unsigned address, int count, bool transposed);
void emu_multiply_bf16(float* d, const uint32_t* a, const uint32_t* b, const float* c, int depth);
void emu_multiply_f16(float* d, const uint32_t* a, const uint32_t* b, const float* c, int depth);
void emu_multiply_tf32(float* d, const uint32_t* a, const uint32_t* b, const float* c);
unsigned emu_shared_address(const void* pointer);
void* emu_shared_pointer(unsigned address);
void emu_copy_async(void* to, const void* from, int bytes, int from_bytes);
void emu_commit_copies();
extern int emu_mutation, emu_shift;
void emu_wait_copies(int left);
}

#define __global__
#define __device__ static
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __constant__ static const
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("emu_shared"), aligned(128)))
#define threadIdx emu_thread()
#define blockIdx emu_block()
#define blockDim emu_block_size()
#define gridDim emu_grid_size()
#define warpSize 32
#define EMU_MEMORY asm volatile("" ::: "memory")
#define __syncthreads() \
    do {                \
        EMU_MEMORY;     \
        emu_barrier(__LINE__); \
        EMU_MEMORY;     \
    } while (0)
#define EMU_INLINE static inline __attribute__((always_inline, unused))
#define EMU_QUIET static __attribute__((noinline, unused, no_sanitize("thread")))  // its accesses are not looked at

// functions of float and double
using std::abs; using std::fabs; using std::sqrt; using std::cbrt; using std::exp; using std::exp2; using std::expm1;
using std::log; using std::log2; using std::log10; using std::log1p; using std::pow; using std::sin; using std::cos;
using std::tan; using std::asin; using std::acos; using std::atan; using std::atan2; using std::sinh; using std::cosh;
using std::tanh; using std::asinh; using std::acosh; using std::atanh; using std::erf; using std::erfc; using std::tgamma;
using std::lgamma; using std::floor; using std::ceil; using std::trunc; using std::round; using std::rint;
using std::nearbyint; using std::fmod; using std::remainder; using std::hypot; using std::copysign; using std::fma;
using std::fmin; using std::fmax; using std::fdim; using std::ldexp; using std::frexp; using std::logb; using std::ilogb;
using std::nextafter; using std::isnan; using std::isinf; using std::isfinite; using std::signbit;

// -- mistakes that are switched on one at a time (mutations.py)
EMU_QUIET long long EMU_MOVED(int number) { return emu_mutation == number ? emu_shift : 0; }
EMU_QUIET int EMU_KEPT(int number) { return emu_mutation != number; }

// -- vectors, whose copies are single accesses
#define EMU_VECTOR(NAME, OF, COUNT, ...)                                                          \
    struct __attribute__((aligned(sizeof(OF) * COUNT))) NAME {                                    \
        OF __VA_ARGS__;                                                                           \
        NAME() = default;                                                                         \
        NAME(const NAME& from) { emu_copy_vector(this, &from, sizeof(OF) * COUNT); }              \
        NAME& operator=(const NAME& from) {                                                       \
            emu_copy_vector(this, &from, sizeof(OF) * COUNT);                                     \
            return *this;                                                                         \
        }                                                                                         \
    };
#define EMU_VECTORS(OF, NAME)                                                                     \
    EMU_VECTOR(NAME##2, OF, 2, x, y)                                                              \
    EMU_VECTOR(NAME##4, OF, 4, x, y, z, w)                                                        \
    EMU_INLINE NAME##2 make_##NAME##2(OF x, OF y) {                                               \
        NAME##2 made;                                                                             \
        made.x = x, made.y = y;                                                                   \
        return made;                                                                              \
    }                                                                                             \
    EMU_INLINE NAME##4 make_##NAME##4(OF x, OF y, OF z, OF w) {                                   \
        NAME##4 made;                                                                             \
        made.x = x, made.y = y, made.z = z, made.w = w;                                           \
        return made;                                                                              \
    }
EMU_VECTORS(float, float)
EMU_VECTORS(int, int)
EMU_VECTORS(unsigned, uint)
EMU_VECTORS(unsigned short, ushort)
EMU_VECTORS(short, short)
EMU_VECTORS(unsigned char, uchar)
EMU_VECTORS(signed char, char)
EMU_VECTOR(double2, double, 2, x, y)
EMU_VECTOR(longlong2, long long, 2, x, y)
EMU_VECTOR(ulonglong2, unsigned long long, 2, x, y)
EMU_INLINE double2 make_double2(double x, double y) {
    double2 made;
    made.x = x, made.y = y;
    return made;
}

// -- bits
template <class To, class From>
EMU_INLINE To emu_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
EMU_INLINE unsigned __float_as_uint(float a) { return emu_bits<unsigned>(a); }
EMU_INLINE int __float_as_int(float a) { return emu_bits<int>(a); }
EMU_INLINE float __uint_as_float(unsigned a) { return emu_bits<float>(a); }
EMU_INLINE float __int_as_float(int a) { return emu_bits<float>(a); }
EMU_INLINE long long __double_as_longlong(double a) { return emu_bits<long long>(a); }
EMU_INLINE double __longlong_as_double(long long a) { return emu_bits<double>(a); }
EMU_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
EMU_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
EMU_INLINE int __popc(unsigned a) { return __builtin_popcount(a); }
EMU_INLINE int __clz(int a) { return a ? __builtin_clz(a) : 32; }
EMU_INLINE int __ffs(int a) { return __builtin_ffs(a); }
template <class T>
EMU_INLINE T __ldg(const T* from) {
    return *from;
}
template <class A, class B>
EMU_INLINE auto min(A a, B b) {
    return b < a ? b : a;
}
template <class A, class B>
EMU_INLINE auto max(A a, B b) {
    return a < b ? b : a;
}
EMU_INLINE float rsqrtf(float a) { return 1.0f / sqrtf(a); }
EMU_INLINE double rsqrt(double a) { return 1.0 / sqrt(a); }
EMU_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
EMU_INLINE double __dadd_rn(double a, double b) { return a + b; }
EMU_INLINE double __dmul_rn(double a, double b) { return a * b; }
EMU_INLINE float __fadd_rn(float a, float b) { return a + b; }
EMU_INLINE float __fmul_rn(float a, float b) { return a * b; }

// -- lanes of a warp
template <class T>
EMU_INLINE uint64_t emu_wide(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves up to 8 bytes");
    uint64_t wide = 0;
    __builtin_memcpy(&wide, &value, sizeof value);
    return wide;
}
template <class T>
EMU_INLINE T emu_narrow(uint64_t wide) {
    T value;
    __builtin_memcpy(&value, &wide, sizeof value);
    return value;
}
// source: of the lane; a segment is `width` lanes, beyond whose ends a lane gets its own value
template <class T>
EMU_INLINE T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    unsigned lane = emu_lane();
    return emu_narrow<T>(emu_shuffle(mask, emu_wide(value), (lane & ~(width - 1)) | (source & (width - 1))));
}
template <class T>
EMU_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    unsigned lane = emu_lane(), first = lane & ~(width - 1);
    return emu_narrow<T>(emu_shuffle(mask, emu_wide(value), lane < first + delta ? lane : lane - delta));
}
template <class T>
EMU_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    unsigned lane = emu_lane(), last = lane | (width - 1);
    return emu_narrow<T>(emu_shuffle(mask, emu_wide(value), lane + delta > last ? lane : lane + delta));
}
template <class T>
EMU_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
    unsigned lane = emu_lane(), other = lane ^ lanes;
    return emu_narrow<T>(emu_shuffle(mask, emu_wide(value), other > (lane | (width - 1)) ? lane : other));
}
EMU_INLINE void __syncwarp(unsigned mask = 0xffffffffu) {
    EMU_MEMORY;
    emu_sync_warp(mask);
    EMU_MEMORY;
}
EMU_INLINE unsigned __ballot_sync(unsigned mask, int predicate) { return emu_ballot(mask, predicate); }
EMU_INLINE int __any_sync(unsigned mask, int predicate) { return emu_ballot(mask, predicate) != 0; }
EMU_INLINE int __all_sync(unsigned mask, int predicate) { return emu_ballot(mask, !predicate) == 0; }
EMU_INLINE void __threadfence() { EMU_MEMORY; }
EMU_INLINE void __threadfence_block() { EMU_MEMORY; }

// -- atomics
template <class T, class F>
EMU_QUIET T emu_change(T* at, F change) {
    T old = *at;
    *at = change(old);
    return old;
}
#define EMU_ATOMIC(NAME, RESULT)                                        \
    template <class T>                                                  \
    EMU_INLINE T NAME(T* at, decltype(T()) value) {                     \
        emu_atomic(at, sizeof *at);                                     \
        return emu_change(at, [=](T old) -> T { return RESULT; });      \
    }
EMU_ATOMIC(atomicAdd, old + value)
EMU_ATOMIC(atomicSub, old - value)
EMU_ATOMIC(atomicExch, value)
EMU_ATOMIC(atomicMin, value < old ? value : old)
EMU_ATOMIC(atomicMax, old < value ? value : old)
EMU_ATOMIC(atomicAnd, old& value)
EMU_ATOMIC(atomicOr, old | value)
EMU_ATOMIC(atomicXor, old ^ value)
template <class T>
EMU_INLINE T atomicCAS(T* at, decltype(T()) compare, decltype(T()) value) {
    emu_atomic(at, sizeof *at);
    return emu_change(at, [=](T old) -> T { return old == compare ? value : old; });
}

EMU_INLINE size_t __cvta_generic_to_shared(const void* pointer) { return emu_shared_address(pointer); }

#include "ptx.h"

// -- calls with the arguments of a launch, each by its address
template <class... A, size_t... I>
EMU_QUIET void emu_call_with(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*(A*)arguments[I]...);
}
template <class... A>
EMU_QUIET void emu_call(void (*kernel)(A...), void** arguments) {
    emu_call_with(kernel, arguments, std::index_sequence_for<A...>{});
}
// -- the addresses of arguments that stand one after the other in a buffer, each aligned as its type is
template <class... A>
EMU_QUIET void emu_unpack(void (*)(A...), void* buffer, void** arguments) {
    size_t at = 0;
    auto next = [&](size_t bytes, size_t alignment) {
        at = (at + alignment - 1) / alignment * alignment;
        *arguments++ = (char*)buffer + at;
        at += bytes;
    };
    (next(sizeof(A), alignof(A)), ...);
}
#define EMU_KERNEL(NAME)                                                                                                           \
    extern "C" __attribute__((no_sanitize("thread"))) void emu_kernel_##NAME(void** arguments) { emu_call(&NAME, arguments); }       \
    extern "C" void emu_unpack_##NAME(void* buffer, void** arguments) { emu_unpack(&NAME, buffer, arguments); }
