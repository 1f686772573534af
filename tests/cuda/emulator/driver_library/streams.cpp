// Streams, events, modules and launches of the emulated driver library.
//
// Work in a stream is done when something waits for it, or for an event after it: a program that waits too little sees old data. Work in the
// default stream is done at once, after that of all others.
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../runtime/launch.h"
#include "device.h"

using emulator::Array;
using emulator::Fault;
using emulator::Launch;
extern "C" int emu_launch(const Launch* launch);
extern "C" const Fault* emu_faults();

struct Stream {
    std::deque<std::function<Result()>> work;
};

// A Record is one recording of an event: done when the work that was in its stream before is done.
struct Record {
    void* stream;
    bool done;
    double seconds;
};
struct Event {
    std::shared_ptr<Record> record;
    bool has(bool done) const { return record && record->done == done; }
};

// A Parameter of a kernel: bytes of an element where it is an array, else 0.
struct Parameter {
    std::string name;
    int element_bytes;
};
struct Shared {
    std::string name;
    long offset;
    size_t bytes;
    int element_bytes;
};
struct Function {
    std::string name;
    std::vector<Parameter> parameters;
    std::vector<Shared> shared;
    int most_threads = 1024;
    int most_asked = 48 << 10;  // bytes of shared memory
    void (*thunk)(void**);
    void (*unpack)(void*, void**);
    int file;  // of the library
    char* base;
    size_t shared_bytes() const {
        size_t bytes = 0;
        for (const Shared& each : shared) bytes += each.bytes;
        return bytes;
    }
};
struct Module {
    void* library;
    int file;
    std::string path;
    std::map<std::string, Function> functions;
};

namespace {

std::set<Stream*> streams;
double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}
bool is_default(void* stream) { return (uintptr_t)stream <= 2; }  // the legacy one, and that of each thread

Result work_off(Stream& stream, const bool* until = nullptr) {
    while (!stream.work.empty() && !(until && *until)) {
        auto next = std::move(stream.work.front());
        stream.work.pop_front();
        if (Result error = next()) return failed(error);
    }
    return SUCCESS;
}

// Does the work before a recording of an event.
Result reach(const std::shared_ptr<Record>& record) {
    return !record || record->done || is_default(record->stream) ? Result(SUCCESS) : work_off(*(Stream*)record->stream, &record->done);
}

// The line of the CUDA text in which an instruction stands, 0 where it is not known.
int line_of(const Function& function, const void* place) {
    Dl_info library;
    if (!place || !dladdr(place, &library)) return 0;
    char command[256], answer[1024];
    snprintf(command, sizeof command, "addr2line -i -e /proc/%d/fd/%d 0x%lx", getpid(), function.file,
             (unsigned long)((const char*)place - (const char*)library.dli_fbase));
    FILE* lines = popen(command, "r");
    int line = 0;
    while (lines && fgets(answer, sizeof answer, lines))
        if (const char* found = strstr(answer, ".cu:"); found && !line) line = atoi(found + 4);
    if (lines) pclose(lines);
    return line;
}

void tell(const Function& function, int count) {
    static const char* KINDS[] = {
        "race in a block", "race between blocks", "access out of bounds", "index out of bounds", "read of an element that was never written",
        "cp.async not waited for", "barrier that not all threads reach", "threads at different barriers",
        "warp operation that not all lanes reach", "misaligned access", "launch that does not end in time",
    };
    std::vector<std::string> arrays;
    for (const Parameter& each : function.parameters)
        if (each.element_bytes) arrays.push_back(each.name);
    for (const Shared& each : function.shared) arrays.push_back(each.name);
    for (const Fault* fault = emu_faults(); fault != emu_faults() + count; fault++) {
        std::string array = fault->array < 0 ? "" : ", " + arrays[fault->array] + " at byte " + std::to_string(fault->offset_bytes);
        int line = fault->line ? fault->line : line_of(function, fault->place), other = fault->other_line;
        if (fault->other_place) other = line_of(function, fault->other_place);
        fprintf(stderr, "emulated driver: %s: %s%s, in line %d by thread (%u, %u, %u) of block (%u, %u, %u)", function.name.c_str(),
                KINDS[fault->kind], array.c_str(), line, fault->thread[0], fault->thread[1], fault->thread[2], fault->block[0],
                fault->block[1], fault->block[2]);
        if (other)
            fprintf(stderr, ", and in line %d by thread (%u, %u, %u) of block (%u, %u, %u)", other, fault->other_thread[0],
                    fault->other_thread[1], fault->other_thread[2], fault->other_block[0], fault->other_block[1], fault->other_block[2]);
        fprintf(stderr, "\n");
    }
}

Result start(const Function& function, const unsigned (&grid)[3], const unsigned (&block)[3], const std::vector<std::vector<char>>& values) {
    std::vector<void*> arguments;
    for (auto& each : values) arguments.push_back((void*)each.data());
    std::vector<Array> arrays;
    for (size_t k = 0; k < function.parameters.size(); k++)
        if (function.parameters[k].element_bytes) arrays.push_back({*(void**)arguments[k], 0, function.parameters[k].element_bytes, 0});
    for (const Shared& each : function.shared) arrays.push_back({function.base + each.offset, each.bytes, each.element_bytes, 1});
    Launch launch{function.thunk, arguments.data(), {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, 0, 0, 0, 1, arrays.data(),
                  (int)arrays.size()};
    int faults = emu_launch(&launch);
    if (faults < 0) return ILLEGAL_ADDRESS;
    if (!faults) return SUCCESS;
    tell(function, faults);
    return emu_faults()[faults - 1].kind == emulator::out_of_bounds ? ILLEGAL_ADDRESS : LAUNCH_FAILED;
}

// Reads an image as `image.py` writes it: lines of text, then a library.
bool read_image(Module& module, const char* image) {
    const std::string MAGIC = "polyml emulator image 1\n";
    if (strncmp(image, MAGIC.c_str(), MAGIC.size())) return false;
    const char* end = strstr(image, "\n\n");
    std::istringstream lines(std::string(image + MAGIC.size(), end - image - MAGIC.size()));
    std::string kind, name;
    size_t bytes = 0;
    Function* function = nullptr;
    while (lines >> kind) {
        if (kind == "library") lines >> bytes;
        if (kind == "kernel") lines >> name, function = &module.functions[name], function->name = name, lines >> function->most_threads;
        if (kind == "parameter") function->parameters.emplace_back(), lines >> function->parameters.back().name >> function->parameters.back().element_bytes;
        if (kind == "shared") {
            Shared shared;
            lines >> shared.name >> shared.offset >> shared.bytes >> shared.element_bytes;
            function->shared.push_back(shared);
        }
    }
    module.file = memfd_create("kernels", 0);
    module.path = "/proc/self/fd/" + std::to_string(module.file);
    if (write(module.file, end + 2, bytes) != (ssize_t)bytes) return false;
    module.library = dlopen(module.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!module.library) return fprintf(stderr, "emulated driver: %s\n", dlerror()), false;
    for (auto& [each, function] : module.functions) {
        function.thunk = (void (*)(void**))dlsym(module.library, ("emu_kernel_" + each).c_str());
        function.unpack = (void (*)(void*, void**))dlsym(module.library, ("emu_unpack_" + each).c_str());
        function.base = (char*)function.thunk, function.file = module.file;
    }
    return true;
}

}  // namespace

Result put_in(void* stream, std::function<Result()> work) {
    if (Result error = ready()) return error;
    if (!is_default(stream)) return ((Stream*)stream)->work.push_back(work), SUCCESS;
    if (Result error = finish_all()) return error;
    Result error = work();
    return error ? failed(error) : SUCCESS;
}
Result finish(void* stream) {
    if (Result error = ready()) return error;
    return is_default(stream) ? finish_all() : work_off(*(Stream*)stream);
}
Result finish_all() {
    for (Stream* stream : std::set<Stream*>(streams))
        if (Result error = work_off(*stream)) return error;
    return ready();
}

// -- streams and events
DRIVER cuStreamCreate(void** stream, unsigned) {
    if (Result error = ready()) return error;
    *stream = *streams.insert(new Stream).first;
    return SUCCESS;
}
DRIVER cuStreamCreateWithPriority(void** stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
DRIVER cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = *greatest = 0, SUCCESS; }
DRIVER cuStreamDestroy_v2(void* stream) {
    if (!streams.count((Stream*)stream)) return INVALID_HANDLE;
    Result error = finish(stream);
    streams.erase((Stream*)stream);
    delete (Stream*)stream;
    return error;
}
DRIVER cuStreamSynchronize(void* stream) { return finish(stream); }
DRIVER cuStreamQuery(void* stream) {
    if (Result error = ready()) return error;
    return is_default(stream) || ((Stream*)stream)->work.empty() ? SUCCESS : NOT_READY;
}
DRIVER cuStreamGetCtx(void*, void** context) { return *context = (void*)0x1000, SUCCESS; }
DRIVER cuStreamGetFlags(void*, unsigned* flags) { return *flags = 0, SUCCESS; }
DRIVER cuStreamGetPriority(void*, int* priority) { return *priority = 0, SUCCESS; }
DRIVER cuStreamWaitEvent(void* stream, void* event, unsigned) {
    return put_in(stream, [record = ((Event*)event)->record] { return reach(record); });
}
DRIVER cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
    return put_in(stream, [=] { return function(data), Result(SUCCESS); });
}
DRIVER cuEventCreate(void** event, unsigned) { return *event = new Event, SUCCESS; }
DRIVER cuEventRecord(void* event, void* stream) {
    auto record = ((Event*)event)->record = std::make_shared<Record>(Record{stream, false, 0});
    return put_in(stream, [=] { return record->done = true, record->seconds = now(), Result(SUCCESS); });
}
DRIVER cuEventRecordWithFlags(void* event, void* stream, unsigned) { return cuEventRecord(event, stream); }
DRIVER cuEventSynchronize(void* event) {
    if (Result error = ready()) return error;
    return reach(((Event*)event)->record);
}
DRIVER cuEventQuery(void* event) { return ((Event*)event)->has(false) ? NOT_READY : SUCCESS; }
DRIVER cuEventDestroy_v2(void* event) { return delete (Event*)event, SUCCESS; }
DRIVER cuEventElapsedTime_v2(float* milliseconds, void* begin, void* end) {
    Event *one = (Event*)begin, *other = (Event*)end;
    if (!one->record || !other->record) return INVALID_HANDLE;
    if (!one->record->done || !other->record->done) return NOT_READY;
    *milliseconds = (float)((other->record->seconds - one->record->seconds) * 1e3);
    return SUCCESS;
}
DRIVER cuEventElapsedTime(float* milliseconds, void* begin, void* end) { return cuEventElapsedTime_v2(milliseconds, begin, end); }

// -- modules
DRIVER cuModuleLoadData(void** module, const void* image) {
    if (Result error = ready()) return error;
    Dl_info self;  // modules find the emulator's functions
    dladdr((void*)emu_launch, &self);
    dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    Module* made = new Module;
    if (!read_image(*made, (const char*)image)) return delete made, INVALID_IMAGE;
    *module = made;
    return SUCCESS;
}
DRIVER cuModuleLoadDataEx(void** module, const void* image, unsigned, void*, void*) { return cuModuleLoadData(module, image); }
DRIVER cuModuleUnload(void* module) {
    Result error = finish_all();
    dlclose(((Module*)module)->library);
    close(((Module*)module)->file);
    delete (Module*)module;
    return error;
}
DRIVER cuModuleGetFunction(void** function, void* module, const char* name) {
    auto& functions = ((Module*)module)->functions;
    auto found = functions.find(name);
    return found == functions.end() ? NOT_FOUND : (*function = &found->second, SUCCESS);
}
DRIVER cuModuleGetFunctionCount(unsigned* count, void* module) { return *count = ((Module*)module)->functions.size(), SUCCESS; }
DRIVER cuLibraryLoadData(void** library, const void* image, void*, void*, unsigned, void*, void*, unsigned) {
    return cuModuleLoadData(library, image);
}
DRIVER cuLibraryUnload(void* library) { return cuModuleUnload(library); }
DRIVER cuLibraryGetKernel(void** kernel, void* library, const char* name) { return cuModuleGetFunction(kernel, library, name); }
DRIVER cuKernelGetFunction(void** function, void* kernel) { return *function = kernel, SUCCESS; }
DRIVER cuFuncGetAttribute(int* value, int attribute, void* function) {
    const Function& one = *(Function*)function;
    *value = attribute == 0 ? one.most_threads : attribute == 1 ? (int)one.shared_bytes() : attribute == 4 ? 32 : attribute == 5 ? 90 : 0;
    return SUCCESS;
}
DRIVER cuFuncSetAttribute(void* function, int attribute, int value) {
    if (attribute != 8) return SUCCESS;
    if (value < 0 || value > 227 << 10) return INVALID_VALUE;
    return ((Function*)function)->most_asked = value, SUCCESS;
}
DRIVER cuFuncSetCacheConfig(void*, int) { return SUCCESS; }
DRIVER cuFuncGetName(const char** name, void* function) { return *name = ((Function*)function)->name.c_str(), SUCCESS; }
DRIVER cuFuncSetBlockShape(void*, int, int, int) { return SUCCESS; }  // pycuda gives the shape with the launch as well
DRIVER cuFuncSetSharedSize(void*, unsigned) { return SUCCESS; }
DRIVER cuFuncLoad(void*) { return SUCCESS; }
DRIVER cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int threads, size_t) { return *blocks = 2048 / threads, SUCCESS; }

// -- launches; the values of arguments are taken at once
DRIVER cuLaunchKernel(void* given, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dynamic_shared,
                      void* stream, void** parameters, void** extra) {
    if (Result error = ready()) return error;
    const Function* function = (const Function*)given;
    if (!gx || !gy || !gz || !bx || !by || !bz || gy > 65535 || gz > 65535 || bx > 1024 || by > 1024 || bz > 64) return INVALID_VALUE;
    if (bx * by * bz > 1024) return INVALID_VALUE;
    if ((int)(bx * by * bz) > function->most_threads) return OUT_OF_RESOURCES;
    if ((int)dynamic_shared > function->most_asked) return INVALID_VALUE;
    std::vector<void*> pointers(function->parameters.size());
    if (parameters && !extra) std::copy(parameters, parameters + pointers.size(), pointers.begin());
    for (void** each = extra; each && *each; each += 2)
        if (*each == (void*)1) function->unpack(each[1], pointers.data());
    std::vector<std::vector<char>> values;
    for (void* each : pointers) values.emplace_back((char*)each, (char*)each + 8);
    return put_in(stream, [=] { return start(*function, {gx, gy, gz}, {bx, by, bz}, values); });
}
struct LaunchConfig {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void* stream;
    void* attributes;
    unsigned attribute_count;
};
DRIVER cuLaunchKernelEx(const LaunchConfig* c, void* function, void** parameters, void** extra) {
    if (c->attribute_count) return NOT_SUPPORTED;
    return cuLaunchKernel(function, c->gx, c->gy, c->gz, c->bx, c->by, c->bz, c->shared, c->stream, parameters, extra);
}
