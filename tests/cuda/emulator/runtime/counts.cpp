// How many requests warps make of each array at each place, how many 32-byte sectors of global memory and how many passes through
// the banks of shared memory (wavefronts) these take.
//
// The lanes of a warp run one after the other here. Accesses are taken to be one request where each lane makes its n-th one at that
// place since the last barrier of the block.
#include <algorithm>
#include <map>
#include <tuple>

#include "launch.h"
#include "machine.h"

namespace emulator {

bool counting;

namespace {

constexpr int BANKS = 32, BANK_BYTES = 4, SECTOR_BYTES = 32;

struct Request {
    unsigned lanes;
    uintptr_t addresses[WARP];
};

struct Site {
    Count count;
    std::vector<unsigned> times;                  // by thread: accesses since the last barrier
    std::vector<std::vector<Request>> requests;  // by warp
};

std::map<std::tuple<const void*, int, int, bool>, Site> sites;
std::vector<Count> counts;

// A pass serves as many lanes as get 128 bytes at most: 32 with 4 bytes each, 16 with 8, 8 with 16.
unsigned lanes_at_once(int bytes) { return std::max(1, std::min((int)WARP, BANKS * BANK_BYTES / bytes)); }

unsigned passes(const Request& request, int bytes, unsigned first, unsigned lanes) {
    std::vector<uintptr_t> words;
    for (unsigned k = first; k < first + lanes; k++) {
        if (!(request.lanes >> k & 1)) continue;
        uintptr_t last = (request.addresses[k] + bytes - 1) / BANK_BYTES;
        for (uintptr_t word = request.addresses[k] / BANK_BYTES; word <= last; word++) words.push_back(word);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    unsigned per_bank[BANKS] = {}, most = 0;
    for (uintptr_t word : words) most = std::max(most, ++per_bank[word % BANKS]);
    return most;
}

unsigned sectors(const Request& request, int bytes) {
    std::vector<uintptr_t> found;
    for (unsigned k = 0; k < WARP; k++) {
        if (!(request.lanes >> k & 1)) continue;
        uintptr_t last = (request.addresses[k] + bytes - 1) / SECTOR_BYTES;
        for (uintptr_t sector = request.addresses[k] / SECTOR_BYTES; sector <= last; sector++) found.push_back(sector);
    }
    std::sort(found.begin(), found.end());
    return std::unique(found.begin(), found.end()) - found.begin();
}

void add(Count& count, const Request& request) {
    count.requests++;
    if (!count.is_shared) {
        count.sectors += sectors(request, count.bytes);
        return;
    }
    unsigned at_once = lanes_at_once(count.bytes);
    for (unsigned first = 0; first < WARP; first += at_once) {
        unsigned group = at_once == WARP ? request.lanes : request.lanes >> first & ((1u << at_once) - 1);
        count.wavefronts += passes(request, count.bytes, first, at_once);
        count.least_wavefronts += group != 0;
    }
}

}  // namespace

void count(const Region& region, uintptr_t address, int bytes, bool is_write, const void* place) {
    Site& site = sites[{place, region.array, bytes, is_write}];
    Count& found = site.count;
    unsigned thread = current->number, warp_number = thread / WARP;
    if (!found.accesses) found.place = place, found.array = region.array, found.bytes = bytes, found.is_write = is_write;
    found.is_shared = region.shared;
    found.accesses++;
    if (site.times.empty()) site.times.resize(warps.size() * WARP), site.requests.resize(warps.size());
    // relative to the array, as if it began at a multiple of 128 bytes
    uintptr_t at = address - region.begin;
    std::vector<Request>& requests = site.requests[warp_number];
    size_t number = site.times[thread]++;
    if (requests.size() <= number) requests.resize(number + 1);
    requests[number].lanes |= 1u << lane();
    requests[number].addresses[lane()] = at;
}

void count_all() {
    for (auto& [key, site] : sites) {
        for (auto& requests : site.requests) {
            for (Request& each : requests)
                if (each.lanes) add(site.count, each);
            requests.clear();
        }
        std::fill(site.times.begin(), site.times.end(), 0);
    }
}

void forget_counts() { sites.clear(); }

}  // namespace emulator

using namespace emulator;

extern "C" int emu_counts(const Count** found) {
    counts.clear();
    for (auto& [key, site] : sites) counts.push_back(site.count);
    *found = counts.data();
    return (int)counts.size();
}
