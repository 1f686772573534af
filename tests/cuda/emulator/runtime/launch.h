// What a caller gives and gets, as launches.py has it.
#pragma once
#include "machine.h"

namespace emulator {

// An array that a kernel may access: an argument, or one in shared memory.
struct Array {
    void* address;
    size_t bytes;  // of one in shared memory
    int granule;   // bytes of an element
    int shared;
};

struct Launch {
    void (*thunk)(void**);
    void** arguments;
    unsigned grid[3], block[3];
    int order;  // 0: threads forward, 1: backward, 2: as the seed has it
    int counts;
    int most_seconds;  // of the processor's time; 0: no limit
    uint64_t seed;
    const Array* arrays;
    int array_count;
};

// Of one instruction and array: how often threads, and warps, execute it, and what that costs.
struct Count {
    const void* place;
    int array, bytes, is_write, is_shared;
    uint64_t accesses, requests, sectors, wavefronts, least_wavefronts;
};

void run(const Launch& launch);
void forget_shared();

}  // namespace emulator
