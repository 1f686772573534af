// What the parts of the emulated driver library share: results, streams of work, and memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

typedef int Result;
typedef unsigned long long Address;
#define DRIVER extern "C" __attribute__((visibility("default"))) Result

// as in cuda.h
enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201, NO_BINARY = 209, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701, LAUNCH_FAILED = 719, NOT_SUPPORTED = 801,
};

// of the emulator (runtime/memory.cpp)
extern "C" void* emu_allocate(size_t bytes);
extern "C" int emu_free(void* memory);
extern "C" int emu_written(void* memory, size_t bytes);
extern "C" size_t emu_size_from(const void* memory);

// A stream does its work as late as a program allows: when something waits for it.
Result put_in(void* stream, std::function<Result()> work);  // for the default stream: at once, after all others
Result finish(void* stream);
Result finish_all();
Result ready();         // NOT_INITIALIZED, INVALID_CONTEXT, or the error after which a context is of no use any more
Result failed(Result);  // remembers such an error, and returns it
