// Instructions of PTX as functions: ptx.py writes  asm("mma.sync.aligned. ... {%0, %1}, ...")  as a call of the function with the
// instruction's name, its operands in order.
#pragma once

#define EMU_LOAD_MATRICES(NAME, TRANSPOSED)                                                                                    \
    EMU_INLINE void ptx_ldmatrix_sync_aligned_m8n8_x4_##NAME(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned at) { \
        unsigned made[4];                                                                                                      \
        EMU_MEMORY;                                                                                                            \
        emu_load_matrices(made, at, 4, TRANSPOSED);                                                                            \
        a = made[0], b = made[1], c = made[2], d = made[3];                                                                    \
    }                                                                                                                          \
    EMU_INLINE void ptx_ldmatrix_sync_aligned_m8n8_x2_##NAME(unsigned& a, unsigned& b, unsigned at) {                          \
        unsigned made[2];                                                                                                      \
        EMU_MEMORY;                                                                                                            \
        emu_load_matrices(made, at, 2, TRANSPOSED);                                                                            \
        a = made[0], b = made[1];                                                                                              \
    }                                                                                                                          \
    EMU_INLINE void ptx_ldmatrix_sync_aligned_m8n8_x1_##NAME(unsigned& a, unsigned at) {                                       \
        EMU_MEMORY;                                                                                                            \
        emu_load_matrices(&a, at, 1, TRANSPOSED);                                                                              \
    }
EMU_LOAD_MATRICES(shared_b16, false)
EMU_LOAD_MATRICES(trans_shared_b16, true)

#define EMU_MULTIPLY_K16(NAME, FUNCTION)                                                                                          \
    EMU_INLINE void ptx_mma_sync_aligned_m16n8k16_row_col_##NAME(float& d0, float& d1, float& d2, float& d3, unsigned a0,         \
                                                                 unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, \
                                                                 float c0, float c1, float c2, float c3) {                       \
        unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};                                                                        \
        float c[4] = {c0, c1, c2, c3}, d[4];                                                                                      \
        FUNCTION(d, a, b, c, 16);                                                                                                 \
        d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];                                                                               \
    }                                                                                                                             \
    EMU_INLINE void ptx_mma_sync_aligned_m16n8k8_row_col_##NAME(float& d0, float& d1, float& d2, float& d3, unsigned a0,          \
                                                                unsigned a1, unsigned b0, float c0, float c1, float c2,           \
                                                                float c3) {                                                       \
        unsigned a[2] = {a0, a1}, b[1] = {b0};                                                                                    \
        float c[4] = {c0, c1, c2, c3}, d[4];                                                                                      \
        FUNCTION(d, a, b, c, 8);                                                                                                  \
        d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];                                                                               \
    }
EMU_MULTIPLY_K16(f32_bf16_bf16_f32, emu_multiply_bf16)
EMU_MULTIPLY_K16(f32_f16_f16_f32, emu_multiply_f16)
EMU_INLINE void ptx_mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(float& d0, float& d1, float& d2, float& d3, unsigned a0,
                                                                       unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                                                                       unsigned b1, float c0, float c1, float c2, float c3) {
    unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    float c[4] = {c0, c1, c2, c3}, d[4];
    emu_multiply_tf32(d, a, b, c);
    d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];
}

// To tf32, 10 bits of mantissa: to nearest, ties away from zero (rna) or to even (rn). Infinities and NaN lose the bits that tf32 has not, as in
// the instructions that ptxas makes of it for sm_80, sm_90 and sm_100 (FSETP, IADD, LOP3).
EMU_INLINE void ptx_cvt_rna_tf32_f32(unsigned& to, float from) {
    unsigned bits = __float_as_uint(from);
    to = (bits + ((bits & 0x7f800000) == 0x7f800000 ? 0 : 0x1000)) & 0xffffe000;
}
EMU_INLINE void ptx_cvt_rn_tf32_f32(unsigned& to, float from) {
    unsigned bits = __float_as_uint(from);
    to = (bits + ((bits & 0x7f800000) == 0x7f800000 ? 0 : 0xfff + (bits >> 13 & 1))) & 0xffffe000;
}

template <class P>
EMU_INLINE void emu_copy_from(unsigned to, P from, int bytes, int from_bytes) {
    EMU_MEMORY;
    emu_copy_async(emu_shared_pointer(to), (const void*)from, bytes, from_bytes);
    EMU_MEMORY;
}
template <class P>
EMU_INLINE void ptx_cp_async_ca_shared_global(unsigned to, P from, int bytes) {
    emu_copy_from(to, from, bytes, bytes);
}
template <class P>
EMU_INLINE void ptx_cp_async_ca_shared_global(unsigned to, P from, int bytes, int from_bytes) {
    emu_copy_from(to, from, bytes, from_bytes);
}
template <class P>
EMU_INLINE void ptx_cp_async_cg_shared_global(unsigned to, P from, int bytes) {
    static_assert(sizeof(P) == 8, "an address");
    emu_copy_from(to, from, bytes, bytes);
}
template <class P>
EMU_INLINE void ptx_cp_async_cg_shared_global(unsigned to, P from, int bytes, int from_bytes) {
    emu_copy_from(to, from, bytes, from_bytes);
}
EMU_INLINE void ptx_cp_async_commit_group() { emu_commit_copies(); }
EMU_INLINE void ptx_cp_async_wait_group(int left) {
    EMU_MEMORY;
    emu_wait_copies(left);
    EMU_MEMORY;
}
EMU_INLINE void ptx_cp_async_wait_all() {
    emu_commit_copies();
    ptx_cp_async_wait_group(0);
}
