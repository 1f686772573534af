// Numbers of 16 bits with 8 bits of exponent, the upper half of a float.
#pragma once

struct __nv_bfloat16 {
    unsigned short bits;
};
EMU_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return {bits}; }
EMU_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
EMU_INLINE float __bfloat162float(__nv_bfloat16 a) { return __uint_as_float((unsigned)a.bits << 16); }
// to nearest, ties to even
EMU_INLINE __nv_bfloat16 __float2bfloat16(float a) {
    unsigned bits = __float_as_uint(a);
    if (a != a) return {0x7fff};
    return {(unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
EMU_INLINE __nv_bfloat16 __float2bfloat16_rn(float a) { return __float2bfloat16(a); }
