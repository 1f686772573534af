#pragma once
EMU_INLINE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
    EMU_MEMORY;
    emu_copy_async(to, from, (int)bytes, (int)(bytes - zeros));
    EMU_MEMORY;
}
EMU_INLINE void __pipeline_commit() { emu_commit_copies(); }
EMU_INLINE void __pipeline_wait_prior(int left) { ptx_cp_async_wait_group(left); }
