// What the parts of the emulator share: the threads of the block that runs, the arrays of a launch, and faults.
#pragma once
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

struct uint3 {
    unsigned x, y, z;
};

namespace emulator {

constexpr unsigned WARP = 32;
constexpr int NONE = -1;

enum class State { ready, at_barrier, in_warp, done };

// An asynchronous copy (cp.async) that was started and has not been waited for.
struct AsyncCopy {
    char* to;
    const char* from;
    int bytes, from_bytes;  // where from_bytes < bytes, the rest is zeros
    const void* place;
};

// A Thread is a CUDA thread of the block that runs, on a stack of its own.
struct Thread {
    void* stack_pointer;
    uint3 index;
    unsigned number;  // in the block, x fastest
    State state;
    int line;            // of the barrier at which it waits
    const void* place;   // of the warp-wide operation in which it waits
    unsigned mask;       // of the lanes that take part in that operation
    unsigned received;   // the copy of what the warp's lanes gave, once they had met
    bool orders_memory;  // whether that operation is __syncwarp
    std::vector<std::vector<AsyncCopy>> groups;  // committed ones, the oldest first
    std::vector<AsyncCopy> open;                 // those since the last commit
};

// A Warp holds what its lanes exchange: what each has given, and copies of that, made when all lanes of an operation were there.
// A lane reads its copy before it takes part in another operation, so that a few copies suffice.
struct Warp {
    static constexpr unsigned COPIES = 2 * WARP;
    uint64_t values[WARP][4];
    uint64_t received[COPIES][WARP][4];
    unsigned next_copy;
    uint32_t epoch;  // how many __syncwarp all its lanes have passed
};

// The kinds of faults, numbered as in faults.py.
enum Kind {
    race_in_block,
    race_between_blocks,
    out_of_bounds,
    index_out_of_bounds,
    uninitialised,
    not_waited_for,
    barrier_not_reached,
    barriers_differ,
    lanes_missing,
    misaligned,
    too_long,
};

// A Fault is one mistake of a kernel, told once for each pair of places.
struct Fault {
    int kind, array;
    int line, other_line;  // 0: as the addresses of the instructions say
    const void *place, *other_place;
    int64_t offset_bytes;
    unsigned thread[3], block[3], other_thread[3], other_block[3];
    int other;  // whether there is another thread; at barriers: how many threads wait
    int bytes, is_write, other_is_write;
    uint64_t times;
};

// What is known of one element: the last write, and the last reads, since the launch began. A thread is told by its number, a point
// of time by the number of the interval between two barriers of a block.
struct Cell {
    uint32_t write_epoch, write_warp_epoch, read_epoch, read_warp_epoch, earlier_epoch;
    int32_t writer, reader, reader_of_warp, reader_elsewhere, earlier_reader;
    const void *write_place, *read_place, *other_read_place, *earlier_place;
    bool atomic;
    int32_t copying;  // the thread whose asynchronous copy is on its way here
};

// A Region is an array of a launch.
struct Region {
    uintptr_t begin, end;
    int array;            // as the caller numbers arrays
    int granule;          // bytes of an element
    bool shared;
    uint8_t* written;     // for each byte, whether it has been written
    std::vector<Cell>* cells;
};

extern Thread* current;  // the thread that runs; null outside of launches
extern uint3 block_index, block_size, grid_size;
extern uint32_t epoch, block_epoch, launch_epoch;
extern std::vector<Warp> warps;
extern bool stopped;  // whether a fault ends the launch

inline unsigned lane() { return current->number % WARP; }
inline unsigned lane_count(unsigned warp) {
    unsigned all = block_size.x * block_size.y * block_size.z;
    return all - warp * WARP < WARP ? all - warp * WARP : WARP;
}
inline Warp& warp() { return warps[current->number / WARP]; }
uint3 index_of(unsigned thread);
uint3 block_of(uint32_t epoch);

// threads.cpp
bool on_a_stack(uintptr_t address);
void meet(const void* place, unsigned mask, bool orders_memory);  // returns once all lanes in the mask are here
extern volatile sig_atomic_t time_is_over;  // of this launch
[[noreturn]] void end_in_time();            // tells that, and ends the launch
[[noreturn]] void stop();                                         // ends the launch, from within a thread

// memory.cpp
Region* region_of(uintptr_t address);
void access(const void* address, int bytes, bool is_write, const void* place, bool atomic = false);
void begin_copy(const AsyncCopy& copy);
void end_copy(const AsyncCopy& copy);
Fault& fault(Kind kind, int array, const void* place, const void* other_place, int line, int other_line);
char* shared_begin();

// counts.cpp
extern bool counting;
void count(const Region& region, uintptr_t address, int bytes, bool is_write, const void* place);
void count_all();   // sums up the requests so far: no lane will take part in them any more
void forget_counts();

}  // namespace emulator
