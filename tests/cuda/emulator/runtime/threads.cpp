// The threads of a block as fibers, one after the other, and the barriers at which they wait for each other.
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <algorithm>

#include "launch.h"
#include "machine.h"

#if defined(__x86_64__) && !defined(EMULATOR_UCONTEXT)
#define OWN_SWITCH
#else
#include <ucontext.h>
#endif

namespace emulator {

Thread* current;
uint3 block_index, block_size, grid_size;
uint32_t epoch = 1, block_epoch = 1, launch_epoch = 1;
std::vector<Warp> warps;
bool stopped;
volatile sig_atomic_t time_is_over;

namespace {

constexpr size_t STACK_BYTES = 256 * 1024;
std::vector<Thread> threads;
char* stacks;
size_t stack_count;
const Launch* launch;
std::vector<uint32_t> epochs_of_blocks;  // of those that ran so far, in their order
std::vector<unsigned> blocks;
uint64_t random_state;

unsigned thread_count() { return block_size.x * block_size.y * block_size.z; }

#ifdef OWN_SWITCH
void* scheduler;
extern "C" void emulator_switch(void** save, void* to);
asm(R"(
.text
.globl emulator_switch
.hidden emulator_switch
.type emulator_switch,@function
emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
void to_scheduler() { emulator_switch(&current->stack_pointer, scheduler); }
void to_thread(Thread& thread) { emulator_switch(&scheduler, thread.stack_pointer); }
#else
ucontext_t scheduler;
std::vector<ucontext_t> contexts;
void to_scheduler() { swapcontext(&contexts[current->number], &scheduler); }
void to_thread(Thread& thread) { swapcontext(&scheduler, &contexts[thread.number]); }
#endif

void entry() {
    launch->thunk(launch->arguments);
    current->state = State::done;
    to_scheduler();
    __builtin_unreachable();
}

void prepare(Thread& thread, unsigned number) {
    thread.number = number;
    thread.index = index_of(number);
    thread.state = State::ready;
    thread.groups.clear();
    thread.open.clear();
    char* stack = stacks + number * STACK_BYTES;
#ifdef OWN_SWITCH
    void** top = (void**)(stack + STACK_BYTES);
    *--top = nullptr;
    *--top = (void*)entry;
    for (int k = 0; k < 6; k++) *--top = nullptr;
    thread.stack_pointer = top;
#else
    if (contexts.size() <= number) contexts.resize(thread_count());
    getcontext(&contexts[number]);
    contexts[number].uc_stack = {stack, 0, STACK_BYTES};
    contexts[number].uc_link = nullptr;
    makecontext(&contexts[number], entry, 0);
#endif
}

// Lets the lanes of a warp go on that wait in one operation, if all that take part in it are there.
void release_lanes(unsigned number, std::vector<unsigned>& ready) {
    unsigned first = number * WARP, lanes = lane_count(number), alive = 0;
    for (unsigned k = 0; k < lanes; k++) alive |= (unsigned)(threads[first + k].state != State::done) << k;
    for (unsigned k = 0; k < lanes; k++) {
        Thread& one = threads[first + k];
        if (one.state != State::in_warp) continue;
        unsigned there = 0;
        for (unsigned other = k; other < lanes; other++) {
            Thread& each = threads[first + other];
            bool same = each.state == State::in_warp && each.place == one.place && each.mask == one.mask;
            there |= (unsigned)same << other;
        }
        if ((one.mask & alive) != there) continue;
        Warp& warp = warps[number];
        if (one.orders_memory && there == alive) warp.epoch++;
        unsigned copy = warp.next_copy++ % Warp::COPIES;
        memcpy(warp.received[copy], warp.values, sizeof warp.values);
        for (unsigned other = 0; other < lanes; other++) {
            if (!(there >> other & 1)) continue;
            threads[first + other].state = State::ready;
            threads[first + other].received = copy;
            ready.push_back(first + other);
        }
    }
}

// Puts threads, or blocks, into the order in which they run.
void arrange(std::vector<unsigned>& ready) {
    std::sort(ready.begin(), ready.end());
    if (launch->order == 1) std::reverse(ready.begin(), ready.end());
    if (launch->order != 2) return;
    for (size_t k = ready.size(); k > 1; k--) {
        random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
        std::swap(ready[k - 1], ready[random_state % k]);
    }
}

// Tells of threads that wait for ever, or passes a barrier; returns whether the block can go on.
bool pass_barrier(std::vector<unsigned>& ready) {
    unsigned waiting = 0, done = 0, stuck = NONE, other = NONE;
    const Thread* first = nullptr;
    for (unsigned k = 0; k < thread_count(); k++) {
        Thread& thread = threads[k];
        done += thread.state == State::done;
        if (thread.state == State::in_warp) stuck = k;
        if (thread.state != State::at_barrier) continue;
        waiting++;
        if (!first) first = &thread;
        if (thread.line != first->line) other = k;
    }
    if (stuck != (unsigned)NONE) {
        current = &threads[stuck];
        fault(lanes_missing, NONE, current->place, nullptr, 0, 0).other = waiting;
        current = nullptr;
        return false;
    }
    if (other != (unsigned)NONE || done) {
        current = (Thread*)first;
        Fault& found = fault(done ? barrier_not_reached : barriers_differ, NONE, nullptr, nullptr, first->line,
                             done ? 0 : threads[other].line);
        found.other = waiting;
        if (!done) {
            uint3 index = threads[other].index;
            found.other_thread[0] = index.x, found.other_thread[1] = index.y, found.other_thread[2] = index.z;
            memcpy(found.other_block, found.block, sizeof found.block);
        }
        current = nullptr;
        return false;
    }
    for (unsigned k = 0; k < thread_count(); k++) {
        threads[k].state = State::ready;
        ready.push_back(k);
    }
    epoch++;
    if (counting) count_all();
    return true;
}

// The time of a launch is over. The first time this is noted for `access` and the scheduler; a thread that has met neither when it comes
// again is left where it is.
void on_timer(int) {
    if (time_is_over && current) end_in_time();
    time_is_over = 1;
}

void set_timer(int seconds) {
    struct sigaction action = {};
    action.sa_handler = on_timer;
    action.sa_flags = SA_NODEFER;  // the handler does not return
    sigaction(SIGVTALRM, &action, nullptr);
    time_is_over = 0;
    itimerval time = {{seconds, 0}, {seconds, 0}};
    setitimer(ITIMER_VIRTUAL, &time, nullptr);
}

void run_block() {
    std::vector<unsigned> ready, next;
    unsigned done = 0, all = thread_count();
    for (unsigned k = 0; k < all; k++) {
        prepare(threads[k], k);
        ready.push_back(k);
    }
    for (Warp& each : warps) each.epoch = 0;
    while (done < all) {
        arrange(ready);
        next.clear();
        for (unsigned number : ready) {
            Thread& thread = threads[number];
            current = &thread;
            to_thread(thread);
            current = nullptr;
            if (time_is_over && !stopped) {
                fault(too_long, NONE, thread.place, nullptr, thread.line, 0);
                stopped = true;
            }
            if (stopped) return;
            done += thread.state == State::done;
            if (thread.state == State::in_warp || thread.state == State::done) release_lanes(number / WARP, next);
        }
        if (next.empty() && done < all && !pass_barrier(next)) {
            stopped = true;
            return;
        }
        ready.swap(next);
    }
}

}  // namespace

uint3 index_of(unsigned thread) {
    unsigned x = block_size.x, y = block_size.y;
    return {thread % x, thread / x % y, thread / (x * y)};
}

uint3 block_of(uint32_t when) {
    size_t place = std::upper_bound(epochs_of_blocks.begin(), epochs_of_blocks.end(), when) - epochs_of_blocks.begin() - 1;
    unsigned number = blocks[place], x = grid_size.x, y = grid_size.y;
    return {number % x, number / x % y, number / (x * y)};
}

bool on_a_stack(uintptr_t address) { return address - (uintptr_t)stacks < stack_count * STACK_BYTES; }

void end_in_time() {
    fault(too_long, NONE, current->place, nullptr, current->line, 0);
    stop();
}

void stop() {
    stopped = true;
    to_scheduler();
    __builtin_unreachable();
}

void meet(const void* place, unsigned mask, bool orders_memory) {
    current->state = State::in_warp;
    current->place = place;
    current->mask = mask;
    current->orders_memory = orders_memory;
    to_scheduler();
}

void run(const Launch& given) {
    launch = &given;
    block_size = {given.block[0], given.block[1], given.block[2]};
    grid_size = {given.grid[0], given.grid[1], given.grid[2]};
    random_state = given.seed * 0x9E3779B97F4A7C15ull + 1;
    if (stack_count < thread_count()) {
        if (stacks) munmap(stacks, stack_count * STACK_BYTES);
        stack_count = thread_count();
        stacks = (char*)mmap(nullptr, stack_count * STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    threads.resize(thread_count());
    warps.resize((thread_count() + WARP - 1) / WARP);
    launch_epoch = ++epoch;
    epochs_of_blocks.clear();
    stopped = false;
    blocks.resize((size_t)given.grid[0] * given.grid[1] * given.grid[2]);
    for (size_t k = 0; k < blocks.size(); k++) blocks[k] = k;
    arrange(blocks);
    if (given.most_seconds) set_timer(given.most_seconds);
    for (size_t k = 0; k < blocks.size() && !stopped; k++) {
        block_epoch = ++epoch;
        epochs_of_blocks.push_back(epoch);
        block_index = block_of(epoch);
        forget_shared();
        run_block();
        if (counting) count_all();
    }
    if (given.most_seconds) set_timer(0);
    epoch++;
}

}  // namespace emulator

using namespace emulator;

extern "C" void emu_barrier(int line) {
    current->state = State::at_barrier;
    current->line = line;
    to_scheduler();
}
extern "C" uint3 emu_thread() { return current->index; }
extern "C" uint3 emu_block() { return block_index; }
extern "C" uint3 emu_block_size() { return block_size; }
extern "C" uint3 emu_grid_size() { return grid_size; }
