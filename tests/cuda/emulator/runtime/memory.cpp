// Arrays, and what is wrong with an access to them: races, bounds, elements that were never written, copies not waited for.
#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>

#include "launch.h"
#include "machine.h"

namespace emulator {
namespace {

constexpr uintptr_t FIRST_ADDRESS = (uintptr_t)1 << 44, DISTANCE = (uintptr_t)1 << 36;
constexpr size_t MOST_FAULTS = 64;

// A Buffer is global memory, so far from others that an address out of bounds tells which array was meant.
struct Buffer {
    std::unique_ptr<uint8_t[]> written;
    std::vector<Cell> cells;
    size_t bytes;
};

std::map<uintptr_t, Buffer> buffers;
std::vector<Region> regions;
std::map<int, std::pair<std::vector<uint8_t>, std::vector<Cell>>> shared_state;
Region* last_region;
std::vector<Fault> faults;
std::map<std::tuple<int, int, const void*, const void*, int, int>, size_t> known_faults;
const Cell NEW = {0, 0, 0, 0, 0, NONE, NONE, NONE, NONE, NONE, nullptr, nullptr, nullptr, nullptr, false, NONE};

void put(unsigned (&to)[3], uint3 from) { to[0] = from.x, to[1] = from.y, to[2] = from.z; }

void race(const Region& region, uintptr_t address, int bytes, bool is_write, const void* place, int other, bool other_is_write,
          const void* other_place, uint32_t other_epoch) {
    bool between = !region.shared && other_epoch < block_epoch;
    Fault& found = fault(between ? race_between_blocks : race_in_block, region.array, place, other_place, 0, 0);
    if (found.times > 1) return;
    found.offset_bytes = address - region.begin, found.bytes = bytes;
    found.is_write = is_write, found.other_is_write = other_is_write, found.other = 1;
    put(found.other_thread, index_of(other));
    put(found.other_block, between ? block_of(other_epoch) : block_index);
}

bool same_warp(int one, int other) { return one / (int)WARP == other / (int)WARP; }

// Whether this thread and another one did their accesses in the same interval between barriers of the block and of the warp.
bool unordered(int me, int other, uint32_t other_epoch, uint32_t other_warp_epoch) {
    return other != NONE && other != me && other_epoch == epoch && !(same_warp(me, other) && other_warp_epoch < warp().epoch);
}

void check_element(const Region& region, Cell& cell, uintptr_t address, int bytes, bool is_write, const void* place, bool atomic) {
    int me = current->number;
    bool global = !region.shared;
    auto report = [&](int other, bool wrote, const void* where, uint32_t when) {
        race(region, address, bytes, is_write, place, other, wrote, where, when);
    };
    if (cell.copying != NONE) fault(not_waited_for, region.array, place, cell.write_place, 0, 0).offset_bytes = address - region.begin;
    bool both_atomic = atomic && cell.atomic;
    if (cell.writer != NONE && !both_atomic) {
        bool earlier = global && cell.write_epoch >= launch_epoch && cell.write_epoch < block_epoch;
        if (earlier || unordered(me, cell.writer, cell.write_epoch, cell.write_warp_epoch))
            report(cell.writer, true, cell.write_place, cell.write_epoch);
    }
    if (!is_write) {
        bool before = cell.read_epoch < block_epoch;  // the last read was made by an earlier block
        if (before && cell.reader != NONE && cell.read_epoch >= launch_epoch)
            cell.earlier_epoch = cell.read_epoch, cell.earlier_reader = cell.reader, cell.earlier_place = cell.read_place;
        if (cell.read_epoch != epoch) cell.reader = cell.reader_of_warp = cell.reader_elsewhere = NONE;
        if (cell.reader != NONE && cell.reader != me) {
            if (!same_warp(me, cell.reader))
                cell.reader_elsewhere = cell.reader, cell.other_read_place = cell.read_place, cell.reader_of_warp = NONE;
            else
                cell.reader_of_warp = cell.read_warp_epoch == warp().epoch ? cell.reader : NONE;
        }
        cell.read_epoch = epoch, cell.read_warp_epoch = warp().epoch, cell.reader = me, cell.read_place = place;
        return;
    }
    if (global && cell.reader != NONE && cell.read_epoch >= launch_epoch && cell.read_epoch < block_epoch)
        report(cell.reader, false, cell.read_place, cell.read_epoch);
    else if (global && cell.earlier_reader != NONE && cell.earlier_epoch >= launch_epoch)
        report(cell.earlier_reader, false, cell.earlier_place, cell.earlier_epoch);
    if (cell.read_epoch == epoch) {
        if (unordered(me, cell.reader, cell.read_epoch, cell.read_warp_epoch))
            report(cell.reader, false, cell.read_place, cell.read_epoch);
        else if (cell.reader_elsewhere != NONE && !same_warp(me, cell.reader_elsewhere))
            report(cell.reader_elsewhere, false, cell.other_read_place, epoch);
        else if (unordered(me, cell.reader_of_warp, cell.read_epoch, cell.read_warp_epoch))
            report(cell.reader_of_warp, false, cell.read_place, epoch);
    }
    cell.write_epoch = epoch, cell.write_warp_epoch = warp().epoch, cell.writer = me, cell.write_place = place, cell.atomic = atomic;
}

void check(Region& region, uintptr_t address, int bytes, bool is_write, const void* place, bool atomic) {
    for (uintptr_t at = address; at < address + bytes; at += region.granule) {
        size_t offset = at - region.begin;
        check_element(region, (*region.cells)[offset / region.granule], at, region.granule, is_write, place, atomic);
    }
    uint8_t* written = region.written + (address - region.begin);
    if (is_write)
        memset(written, 1, bytes);
    else if (memchr(written, 0, bytes)) {
        Fault& found = fault(uninitialised, region.array, place, nullptr, 0, 0);
        found.offset_bytes = address - region.begin, found.bytes = bytes;
        memset(written, 1, bytes);  // told once
    }
}

[[noreturn]] void outside(uintptr_t address, int bytes, bool is_write, const void* place) {
    const Region* nearest = nullptr;
    auto away = [&](const Region& each) { return address < each.begin ? each.begin - address : address - each.end; };
    for (const Region& each : regions)
        if (!nearest || away(each) < away(*nearest)) nearest = &each;
    Fault& found = fault(out_of_bounds, nearest ? nearest->array : NONE, place, nullptr, 0, 0);
    found.offset_bytes = nearest ? (int64_t)(address - nearest->begin) : 0;
    found.bytes = bytes, found.is_write = is_write;
    stop();
}

}  // namespace

Fault& fault(Kind kind, int array, const void* place, const void* other_place, int line, int other_line) {
    auto [found, is_new] = known_faults.try_emplace({kind, array, place, other_place, line, other_line}, faults.size());
    if (is_new && faults.size() == MOST_FAULTS) {
        known_faults.erase(found);
        static Fault dropped;
        return dropped = Fault{};
    }
    if (is_new) {
        Fault made{};
        made.kind = kind, made.array = array, made.place = place, made.other_place = other_place;
        made.line = line, made.other_line = other_line;
        if (current) put(made.thread, current->index);
        put(made.block, block_index);
        faults.push_back(made);
    }
    Fault& result = faults[found->second];
    result.times++;
    return result;
}

Region* region_of(uintptr_t address) {
    if (last_region && address >= last_region->begin && address < last_region->end) return last_region;
    for (Region& each : regions)
        if (address >= each.begin && address < each.end) return last_region = &each;
    return nullptr;
}

void access(const void* pointer, int bytes, bool is_write, const void* place, bool atomic) {
    uintptr_t address = (uintptr_t)pointer;
    if (!current || on_a_stack(address)) return;
    if (time_is_over) end_in_time();
    Region* region = region_of(address);
    if (!region || address + bytes > region->end) outside(address, bytes, is_write, place);
    if (counting) count(*region, address, bytes, is_write, place);
    if ((bytes & (bytes - 1)) == 0 && address % bytes) {
        Fault& found = fault(misaligned, region->array, place, nullptr, 0, 0);
        found.offset_bytes = address - region->begin, found.bytes = bytes;
    }
    check(*region, address, bytes, is_write, place, atomic);
}

// An asynchronous copy may land at any time until it is waited for: the place that it goes to is nobody else's meanwhile.
void begin_copy(const AsyncCopy& copy) {
    if (copy.from_bytes) access(copy.from, copy.from_bytes, false, copy.place);
    access(copy.to, copy.bytes, true, copy.place);
    Region* region = region_of((uintptr_t)copy.to);
    memset(copy.to, 0xff, copy.bytes);
    for (int k = 0; k < copy.bytes; k += region->granule)
        (*region->cells)[((uintptr_t)copy.to + k - region->begin) / region->granule].copying = current->number;
}

void end_copy(const AsyncCopy& copy) {
    Region* region = region_of((uintptr_t)copy.to);
    for (int k = 0; k < copy.bytes; k += region->granule) {
        Cell& cell = (*region->cells)[((uintptr_t)copy.to + k - region->begin) / region->granule];
        cell.copying = NONE;
        cell.writer = current->number, cell.write_epoch = epoch, cell.write_warp_epoch = warp().epoch, cell.write_place = copy.place;
    }
    memcpy(copy.to, copy.from, copy.from_bytes);
    memset(copy.to + copy.from_bytes, 0, copy.bytes - copy.from_bytes);
}

void forget_shared() {
    for (Region& each : regions) {
        if (!each.shared) continue;
        memset((void*)each.begin, 0xff, each.end - each.begin);
        memset(each.written, 0, each.end - each.begin);
        each.cells->assign(each.cells->size(), NEW);
    }
}

char* shared_begin() {
    uintptr_t first = 0;
    for (Region& each : regions)
        if (each.shared && (!first || each.begin < first)) first = each.begin;
    return (char*)first;
}

// Makes the arrays of a launch known, or returns the number of an argument that is no memory of the device.
int declare(const Launch& launch) {
    regions.clear();
    last_region = nullptr;
    for (int k = 0; k < launch.array_count; k++) {
        const Array& array = launch.arrays[k];
        uintptr_t begin = (uintptr_t)array.address;
        if (array.shared) {
            auto& [written, cells] = shared_state[k];
            written.assign(array.bytes, 0);
            cells.assign(array.bytes / array.granule + 1, NEW);
            regions.push_back({begin, begin + array.bytes, k, array.granule, true, written.data(), &cells});
            continue;
        }
        auto after = buffers.upper_bound(begin);
        if (after == buffers.begin()) return k;
        auto& [start, buffer] = *--after;
        if (begin > start + buffer.bytes) return k;
        if (region_of(begin)) continue;
        size_t cells = buffer.bytes / array.granule + 1;
        if (buffer.cells.size() != cells) buffer.cells.assign(cells, NEW);
        regions.push_back({start, start + buffer.bytes, k, array.granule, false, buffer.written.get(), &buffer.cells});
    }
    return NONE;
}

}  // namespace emulator

using namespace emulator;

// Returns new memory of at least one byte, null where there is none.
extern "C" void* emu_allocate(size_t bytes) {
    uintptr_t begin = FIRST_ADDRESS;
    for (const auto& [start, buffer] : buffers) {
        if (start != begin) break;
        begin += DISTANCE;
    }
    void* mapped = bytes > DISTANCE / 2 ? MAP_FAILED
                                        : mmap((void*)begin, bytes, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    memset(mapped, 0xff, bytes);
    buffers[begin] = {std::make_unique<uint8_t[]>(bytes), {}, bytes};
    return mapped;
}
extern "C" int emu_free(void* memory) {
    auto found = buffers.find((uintptr_t)memory);
    if (found == buffers.end()) return 1;
    munmap(memory, found->second.bytes);
    buffers.erase(found);
    return 0;
}

// How many bytes of an allocation there are from an address on, 0 where it is no memory of the device.
extern "C" size_t emu_size_from(const void* memory) {
    auto after = buffers.upper_bound((uintptr_t)memory);
    if (after == buffers.begin()) return 0;
    auto& [start, buffer] = *--after;
    return (uintptr_t)memory < start + buffer.bytes ? start + buffer.bytes - (uintptr_t)memory : 0;
}

// Tells that memory of the device has been written from outside; returns 1 where it is not the device's.
extern "C" int emu_written(void* memory, size_t bytes) {
    if (emu_size_from(memory) < bytes) return 1;
    auto& [start, buffer] = *--buffers.upper_bound((uintptr_t)memory);
    memset(buffer.written.get() + ((uintptr_t)memory - start), 1, bytes);
    return 0;
}

// Runs a launch. Returns how many faults there are, or -1 - k where argument array k is no memory of the device.
extern "C" int emu_launch(const Launch* launch) {
    faults.clear();
    known_faults.clear();
    int foreign = declare(*launch);
    if (foreign != NONE) return -1 - foreign;
    counting = launch->counts;
    forget_counts();
    run(*launch);
    return (int)faults.size();
}
extern "C" const Fault* emu_faults() { return faults.data(); }
