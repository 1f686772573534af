// A look-alike of libcuda.so.1 whose device is the emulator: initialisation, the device's properties, contexts and memory.
//
// Work in streams is done as late as a program allows (streams.cpp); a kernel that makes a mistake is an error from then on.
// POLYML_EMULATOR_MEMORY: bytes of the device, 1 GiB where it is not set. POLYML_EMULATOR_DEVICES: how many devices there are, 1.
#include "device.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

const int VERSION = 13000, MAJOR = 9, MINOR = 0;
// CUdevice_attribute -> value, of an H100 as the CUDA C++ Programming Guide and its data sheet give them
const std::map<int, int> ATTRIBUTES = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536}, {10, 32}, {11, 2147483647},
    {12, 65536}, {13, 1755000}, {14, 512}, {15, 1}, {16, 132}, {17, 0}, {18, 0}, {19, 1}, {20, 0}, {31, 1}, {32, 1}, {33, 1}, {34, 0},
    {35, 0}, {36, 2619000}, {37, 5120}, {38, 52428800}, {39, 2048}, {40, 3}, {41, 1}, {50, 0}, {75, MAJOR}, {76, MINOR}, {78, 1}, {79, 1},
    {80, 1}, {81, 233472}, {82, 65536}, {83, 1}, {84, 0}, {88, 1}, {89, 1}, {95, 1}, {96, 1}, {97, 232448}, {106, 32}, {111, 1024}, {115, 1},
};
bool initialised;
Result broken;
thread_local std::vector<void*> contexts;  // of this thread, the current one last
int primary_uses, made;
std::map<Address, size_t> allocated;
std::map<uintptr_t, size_t> pinned;
size_t in_use;

size_t setting(const char* name, size_t otherwise) {
    const char* text = getenv(name);
    return text && *text ? strtoull(text, nullptr, 10) : otherwise;
}
int devices() { return (int)setting("POLYML_EMULATOR_DEVICES", 1); }
size_t memory_bytes() { return setting("POLYML_EMULATOR_MEMORY", (size_t)1 << 30); }
void* const PRIMARY = (void*)0x1000;

bool is_pinned(const void* memory) {
    auto after = pinned.upper_bound((uintptr_t)memory);
    return after != pinned.begin() && (uintptr_t)memory < (--after)->first + after->second;
}

// Copies n bytes; what a copy writes on the device counts as written.
void copy(void* to, const void* from, size_t bytes) {
    memmove(to, from, bytes);
    emu_written(to, bytes);
}
bool on_device(Address at, size_t bytes) { return bytes == 0 || emu_size_from((const void*)at) >= bytes; }

}  // namespace

Result ready() { return !initialised ? NOT_INITIALIZED : contexts.empty() ? INVALID_CONTEXT : broken; }
Result failed(Result error) { return broken = error; }

// -- the library and the device
DRIVER cuInit(unsigned flags) {
    if (flags) return INVALID_VALUE;
    if (!devices()) return NO_DEVICE;
    initialised = true;
    return SUCCESS;
}
DRIVER cuDriverGetVersion(int* version) { return *version = VERSION, SUCCESS; }
DRIVER cuGetErrorName(Result error, const char** name) {
    static const std::map<int, const char*> NAMES = {
        {0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {3, "CUDA_ERROR_NOT_INITIALIZED"},
        {100, "CUDA_ERROR_NO_DEVICE"}, {101, "CUDA_ERROR_INVALID_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"},
        {201, "CUDA_ERROR_INVALID_CONTEXT"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {400, "CUDA_ERROR_INVALID_HANDLE"},
        {500, "CUDA_ERROR_NOT_FOUND"}, {600, "CUDA_ERROR_NOT_READY"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
        {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {719, "CUDA_ERROR_LAUNCH_FAILED"}, {801, "CUDA_ERROR_NOT_SUPPORTED"},
    };
    auto found = NAMES.find(error);
    *name = found == NAMES.end() ? nullptr : found->second;
    return *name ? SUCCESS : INVALID_VALUE;
}
DRIVER cuGetErrorString(Result error, const char** text) {
    static thread_local std::string made;
    const char* name;
    if (cuGetErrorName(error, &name)) return *text = nullptr, INVALID_VALUE;
    made = std::string(name) + " of the emulated driver";
    *text = made.c_str();
    return SUCCESS;
}
DRIVER cuDeviceGetCount(int* count) { return *count = devices(), SUCCESS; }
DRIVER cuDeviceGet(int* device, int number) { return number < 0 || number >= devices() ? INVALID_DEVICE : (*device = number, SUCCESS); }
DRIVER cuDeviceGetName(char* name, int most, int device) {
    snprintf(name, most, device ? "the emulator of CUDA, device %d" : "the emulator of CUDA", device);
    return SUCCESS;
}
DRIVER cuDeviceGetUuid_v2(void* uuid, int device) { return memset(uuid, device + 1, 16), SUCCESS; }
DRIVER cuDeviceGetPCIBusId(char* id, int most, int device) { return snprintf(id, most, "0000:%02x:00.0", device), SUCCESS; }
DRIVER cuDeviceComputeCapability(int* major, int* minor, int) { return *major = MAJOR, *minor = MINOR, SUCCESS; }
DRIVER cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = memory_bytes(), SUCCESS; }
DRIVER cuDeviceGetAttribute(int* value, int attribute, int device) {
    if (device < 0 || device >= devices()) return INVALID_DEVICE;
    auto found = ATTRIBUTES.find(attribute);
    *value = found == ATTRIBUTES.end() ? 0 : found->second;
    return SUCCESS;
}

// -- contexts, which differ in nothing
DRIVER cuDevicePrimaryCtxRetain(void** context, int) { return primary_uses++, *context = PRIMARY, SUCCESS; }
DRIVER cuDevicePrimaryCtxRelease_v2(int) { return primary_uses ? (primary_uses--, SUCCESS) : INVALID_CONTEXT; }
DRIVER cuDevicePrimaryCtxReset_v2(int) { return broken = SUCCESS, SUCCESS; }
DRIVER cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return SUCCESS; }
DRIVER cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) { return *flags = 0, *active = primary_uses > 0, SUCCESS; }
DRIVER cuCtxCreate_v2(void** context, unsigned, int) {
    if (!initialised) return NOT_INITIALIZED;
    *context = (void*)(uintptr_t)(0x2000 + ++made);
    contexts.push_back(*context);
    return SUCCESS;
}
DRIVER cuCtxCreate_v4(void** context, void*, unsigned flags, int device) { return cuCtxCreate_v2(context, flags, device); }
DRIVER cuCtxDestroy_v2(void* context) {
    if (!contexts.empty() && contexts.back() == context) contexts.pop_back();
    return broken = SUCCESS, SUCCESS;
}
DRIVER cuCtxAttach(void** context, unsigned) { return contexts.empty() ? INVALID_CONTEXT : (*context = contexts.back(), SUCCESS); }
DRIVER cuCtxDetach(void* context) { return cuCtxDestroy_v2(context); }
DRIVER cuCtxPushCurrent_v2(void* context) { return contexts.push_back(context), SUCCESS; }
DRIVER cuCtxPopCurrent_v2(void** context) {
    if (contexts.empty()) return INVALID_CONTEXT;
    if (context) *context = contexts.back();
    contexts.pop_back();
    return SUCCESS;
}
DRIVER cuCtxSetCurrent(void* context) {
    if (!contexts.empty()) contexts.pop_back();
    if (context) contexts.push_back(context);
    return SUCCESS;
}
DRIVER cuCtxGetCurrent(void** context) { return *context = contexts.empty() ? nullptr : contexts.back(), SUCCESS; }
DRIVER cuCtxGetDevice(int* device) { return contexts.empty() ? INVALID_CONTEXT : (*device = 0, SUCCESS); }
DRIVER cuCtxGetApiVersion(void*, unsigned* version) { return *version = VERSION, SUCCESS; }
DRIVER cuCtxGetFlags(unsigned* flags) { return *flags = 0, SUCCESS; }
DRIVER cuCtxGetLimit(size_t* value, int) { return *value = 1 << 20, SUCCESS; }
DRIVER cuCtxSetLimit(int, size_t) { return SUCCESS; }
DRIVER cuCtxSetCacheConfig(int) { return SUCCESS; }
DRIVER cuCtxSynchronize() {
    if (Result error = ready()) return error;
    return finish_all();
}
DRIVER cuCtxSynchronize_v2(void*) { return cuCtxSynchronize(); }

// -- memory
DRIVER cuMemAlloc_v2(Address* address, size_t bytes) {
    if (Result error = ready()) return error;
    if (!bytes) return INVALID_VALUE;
    void* memory = in_use + bytes > memory_bytes() ? nullptr : emu_allocate(bytes);
    if (!memory) return OUT_OF_MEMORY;
    in_use += bytes;
    allocated[*address = (Address)memory] = bytes;
    return SUCCESS;
}
DRIVER cuMemAllocAsync(Address* address, size_t bytes, void*) { return cuMemAlloc_v2(address, bytes); }
DRIVER cuMemAllocManaged(Address* address, size_t bytes, unsigned) { return cuMemAlloc_v2(address, bytes); }
DRIVER cuMemAllocPitch_v2(Address* address, size_t* pitch, size_t width, size_t height, unsigned) {
    return *pitch = (width + 511) / 512 * 512, cuMemAlloc_v2(address, *pitch * height);
}
DRIVER cuMemFree_v2(Address address) {
    if (!address) return SUCCESS;
    if (Result error = ready()) return error;
    auto found = allocated.find(address);
    if (found == allocated.end()) return INVALID_VALUE;
    Result error = finish_all();  // as the real one waits for all work
    emu_free((void*)address);
    in_use -= found->second;
    allocated.erase(found);
    return error;
}
DRIVER cuMemFreeAsync(Address address, void* stream) {
    return put_in(stream, [=] {
        auto found = allocated.find(address);
        if (found == allocated.end()) return failed(INVALID_VALUE);
        emu_free((void*)address);
        in_use -= found->second;
        allocated.erase(found);
        return Result(SUCCESS);
    });
}
DRIVER cuMemGetInfo_v2(size_t* free_bytes, size_t* total) { return *total = memory_bytes(), *free_bytes = *total - in_use, SUCCESS; }
DRIVER cuMemGetAddressRange_v2(Address* base, size_t* size, Address address) {
    auto after = allocated.upper_bound(address);
    if (after == allocated.begin() || address >= (--after)->first + after->second) return NOT_FOUND;
    if (base) *base = after->first;
    if (size) *size = after->second;
    return SUCCESS;
}
DRIVER cuPointerGetAttribute(void* value, int attribute, Address address) {
    Address base;
    size_t size;
    bool device = !cuMemGetAddressRange_v2(&base, &size, address);
    if (!device && !is_pinned((void*)address)) return INVALID_VALUE;
    switch (attribute) {
        case 1: *(void**)value = PRIMARY; return SUCCESS;               // context
        case 2: *(unsigned*)value = device ? 2 : 1; return SUCCESS;     // memory type: of the device, of the host
        case 3: case 4: *(Address*)value = address; return SUCCESS;     // device and host pointer
        case 8: *(int*)value = 0; return SUCCESS;                       // is managed
        case 9: *(int*)value = 0; return SUCCESS;                       // the device's number
        case 11: *(Address*)value = base; return SUCCESS;
        case 12: *(size_t*)value = size; return SUCCESS;
        default: return NOT_SUPPORTED;
    }
}
DRIVER cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    if (Result error = ready()) return error;
    *memory = malloc(bytes);
    pinned[(uintptr_t)*memory] = bytes;
    return SUCCESS;
}
DRIVER cuMemAllocHost_v2(void** memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }
DRIVER cuMemFreeHost(void* memory) {
    if (!pinned.erase((uintptr_t)memory)) return INVALID_VALUE;
    Result error = finish_all();
    free(memory);
    return error;
}
DRIVER cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) { return pinned[(uintptr_t)memory] = bytes, SUCCESS; }
DRIVER cuMemHostUnregister(void* memory) { return pinned.erase((uintptr_t)memory) ? SUCCESS : INVALID_VALUE; }
DRIVER cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned) { return *address = (Address)memory, SUCCESS; }

// -- copies: from memory of a program that is not pinned the bytes are taken at once, as the real driver stages them
DRIVER cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* stream) {
    if (Result error = ready()) return error;
    if (!on_device(to, bytes)) return INVALID_VALUE;
    if (is_pinned(from)) return put_in(stream, [=] { return copy((void*)to, from, bytes), Result(SUCCESS); });
    std::vector<char> staged((const char*)from, (const char*)from + bytes);
    return put_in(stream, [=] { return copy((void*)to, staged.data(), bytes), Result(SUCCESS); });
}
DRIVER cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* stream) {
    if (Result error = ready()) return error;
    if (!on_device(from, bytes)) return INVALID_VALUE;
    Result error = put_in(stream, [=] { return memmove(to, (void*)from, bytes), Result(SUCCESS); });
    return error || is_pinned(to) ? error : finish(stream);
}
DRIVER cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* stream) {
    if (Result error = ready()) return error;
    if (!on_device(to, bytes) || !on_device(from, bytes)) return INVALID_VALUE;
    return put_in(stream, [=] { return copy((void*)to, (void*)from, bytes), Result(SUCCESS); });
}
DRIVER cuMemcpyAsync(Address to, Address from, size_t bytes, void* stream) {
    bool there = on_device(to, 1), here = on_device(from, 1);
    if (there && here) return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
    if (there) return cuMemcpyHtoDAsync_v2(to, (const void*)from, bytes, stream);
    return here ? cuMemcpyDtoHAsync_v2((void*)to, from, bytes, stream) : INVALID_VALUE;
}
DRIVER cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) { return cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr); }
DRIVER cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) { return cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr); }
DRIVER cuMemcpyDtoD_v2(Address to, Address from, size_t bytes) { return cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr); }
DRIVER cuMemcpy(Address to, Address from, size_t bytes) { return cuMemcpyAsync(to, from, bytes, nullptr); }

template <class T>
static Result set(Address to, T value, size_t count, void* stream) {
    if (Result error = ready()) return error;
    if (!on_device(to, count * sizeof value)) return INVALID_VALUE;
    return put_in(stream, [=] {
        for (size_t k = 0; k < count; k++) memcpy((char*)to + k * sizeof value, &value, sizeof value);
        emu_written((void*)to, count * sizeof value);
        return Result(SUCCESS);
    });
}
DRIVER cuMemsetD8Async(Address to, unsigned char value, size_t count, void* stream) { return set(to, value, count, stream); }
DRIVER cuMemsetD16Async(Address to, unsigned short value, size_t count, void* stream) { return set(to, value, count, stream); }
DRIVER cuMemsetD32Async(Address to, unsigned value, size_t count, void* stream) { return set(to, value, count, stream); }
DRIVER cuMemsetD8_v2(Address to, unsigned char value, size_t count) { return set(to, value, count, nullptr); }
DRIVER cuMemsetD16_v2(Address to, unsigned short value, size_t count) { return set(to, value, count, nullptr); }
DRIVER cuMemsetD32_v2(Address to, unsigned value, size_t count) { return set(to, value, count, nullptr); }

// -- the functions by name, the newest version that there is
DRIVER cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* status) {
    Dl_info self;
    dladdr((void*)cuInit, &self);
    void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *function = nullptr;
    for (const char* version : {"_v4", "_v3", "_v2", ""})
        if (!*function) *function = dlsym(library, (std::string(name) + version).c_str());
    dlclose(library);
    if (status) *status = *function ? 0 : 1;
    return *function ? SUCCESS : NOT_FOUND;
}
DRIVER cuGetProcAddress(const char* name, void** function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
