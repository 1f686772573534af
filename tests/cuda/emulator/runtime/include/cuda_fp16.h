// Numbers of 16 bits with 5 bits of exponent, computed in float and rounded.
#pragma once

struct __half {
    unsigned short bits;
};
EMU_INLINE __half __ushort_as_half(unsigned short bits) { return {bits}; }
EMU_INLINE unsigned short __half_as_ushort(__half a) { return a.bits; }

static inline float __half2float(__half a) {
    unsigned exponent = a.bits >> 10 & 31, rest = a.bits & 1023, sign = (a.bits & 0x8000u) << 16;
    if (exponent == 31 && rest) return __uint_as_float(0x7fffffffu);  // as the instruction has it, whatever the bits
    if (exponent == 0) {
        float small = (float)rest / 16777216.0f;  // rest * 2^-24
        return sign ? -small : small;
    }
    return __uint_as_float(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | rest << 13);
}
// to nearest, ties to even
static inline __half __double2half(double a) {
    unsigned long long bits = emu_bits<unsigned long long>(a);
    unsigned short sign = (unsigned short)(bits >> 48 & 0x8000);
    double size = fabs(a);
    if (a != a) return {0x7fff};
    if (size >= 65520.0) return {(unsigned short)(sign | 0x7c00)};
    if (size < 6.103515625e-05) return {(unsigned short)(sign | (unsigned short)nearbyint(size * 16777216.0))};
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    int rest = (int)nearbyint(ldexp(size, 10 - exponent));  // 1024 to 2048; 2048 carries into the exponent
    return {(unsigned short)(sign | (((exponent + 15) << 10) + (rest - 1024)))};
}
static inline __half __float2half(float a) { return __double2half(a); }
static inline __half __float2half_rn(float a) { return __double2half(a); }
