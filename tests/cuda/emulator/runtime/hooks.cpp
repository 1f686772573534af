// What the compiler calls in kernels: at each access (-fsanitize=thread), and at an index out of bounds (-fsanitize=bounds).
#include "machine.h"

using namespace emulator;

#define PLACE ((const char*)__builtin_return_address(0) - 1)
#define HOOKS(BYTES)                                                                                          \
    extern "C" void __tsan_read##BYTES(void* address) { access(address, BYTES, false, PLACE); }              \
    extern "C" void __tsan_write##BYTES(void* address) { access(address, BYTES, true, PLACE); }              \
    extern "C" void __tsan_unaligned_read##BYTES(void* address) { access(address, BYTES, false, PLACE); }    \
    extern "C" void __tsan_unaligned_write##BYTES(void* address) { access(address, BYTES, true, PLACE); }    \
    extern "C" void __tsan_volatile_read##BYTES(void* address) { access(address, BYTES, false, PLACE); }     \
    extern "C" void __tsan_volatile_write##BYTES(void* address) { access(address, BYTES, true, PLACE); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
extern "C" void __tsan_read_range(void* address, size_t bytes) { access(address, (int)bytes, false, PLACE); }
extern "C" void __tsan_write_range(void* address, size_t bytes) { access(address, (int)bytes, true, PLACE); }
extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}

// Of GCC's libubsan: where an array is indexed, the types of the array and of the index.
struct BoundsData {
    const char* file;
    uint32_t line, column;
    const void *array_type, *index_type;
};
extern "C" void __ubsan_handle_out_of_bounds(BoundsData* data, uintptr_t index) {
    fault(index_out_of_bounds, NONE, PLACE, nullptr, (int)data->line, (int)data->column).offset_bytes = (int64_t)index;
    stop();
}
extern "C" void __ubsan_handle_out_of_bounds_abort(BoundsData* data, uintptr_t index) { __ubsan_handle_out_of_bounds(data, index); }

extern "C" void emu_copy_vector(void* to, const void* from, int bytes) {
    access(from, bytes, false, PLACE);
    access(to, bytes, true, PLACE);
    memcpy(to, from, bytes);
}

extern "C" {
int emu_mutation = NONE, emu_shift;  // of kernels with switches: the mistake that is on
void emu_mutate(int number, int shift) { emu_mutation = number, emu_shift = shift; }
}
