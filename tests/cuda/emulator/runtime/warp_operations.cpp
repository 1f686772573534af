// What the lanes of a warp do together: shuffles, votes, ldmatrix and mma.sync; and asynchronous copies, which a thread does alone.
//
// Layouts of fragments are those of the PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and the sections next
// to it: for each element that a lane holds, its row and column in the matrix by the lane's group (lane / 4) and its number in it.
#include <cmath>

#include "machine.h"

using namespace emulator;

#define PLACE ((const char*)__builtin_return_address(0) - 1)

namespace {

struct Element {
    int row, rows_per_group, rows_per_lane, column, columns_per_group, columns_per_lane;
    int row_of(int group, int lane) const { return row + rows_per_group * group + rows_per_lane * lane; }
    int column_of(int group, int lane) const { return column + columns_per_group * group + columns_per_lane * lane; }
};

// A 16 x 16, elements of 16 bits: a0 to a7
const Element A_16x16[] = {
    {0, 1, 0, 0, 0, 2}, {0, 1, 0, 1, 0, 2}, {8, 1, 0, 0, 0, 2}, {8, 1, 0, 1, 0, 2},
    {0, 1, 0, 8, 0, 2}, {0, 1, 0, 9, 0, 2}, {8, 1, 0, 8, 0, 2}, {8, 1, 0, 9, 0, 2},
};
// B 16 x 8, elements of 16 bits: b0 to b3
const Element B_16x8[] = {{0, 0, 2, 0, 1, 0}, {1, 0, 2, 0, 1, 0}, {8, 0, 2, 0, 1, 0}, {9, 0, 2, 0, 1, 0}};
// A 16 x 8, elements of 16 bits: a0 to a3; B 8 x 8: b0 and b1
const Element A_16x8[] = {{0, 1, 0, 0, 0, 2}, {0, 1, 0, 1, 0, 2}, {8, 1, 0, 0, 0, 2}, {8, 1, 0, 1, 0, 2}};
const Element B_8x8[] = {{0, 0, 2, 0, 1, 0}, {1, 0, 2, 0, 1, 0}};
// A 16 x 8 and B 8 x 8 of tf32, in registers of 32 bits
const Element A_TF32_16x8[] = {{0, 1, 0, 0, 0, 1}, {8, 1, 0, 0, 0, 1}, {0, 1, 0, 4, 0, 1}, {8, 1, 0, 4, 0, 1}};
const Element B_TF32_8x8[] = {{0, 0, 1, 0, 1, 0}, {4, 0, 1, 0, 1, 0}};
// C and D 16 x 8 of f32: c0 to c3
const Element C_16x8[] = {{0, 1, 0, 0, 0, 2}, {0, 1, 0, 1, 0, 2}, {8, 1, 0, 0, 0, 2}, {8, 1, 0, 1, 0, 2}};

struct Shape {
    int depth;
    const Element *a, *b;
    int a_count, b_count, per_register;
};
const Shape M16N8K16 = {16, A_16x16, B_16x8, 8, 4, 2};
const Shape M16N8K8 = {8, A_16x8, B_8x8, 4, 2, 2};
const Shape M16N8K8_TF32 = {8, A_TF32_16x8, B_TF32_8x8, 4, 2, 1};

float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
float of_bf16(uint32_t bits) { return of_bits(bits << 16); }
float of_tf32(uint32_t bits) { return of_bits(bits & 0xffffe000); }
float of_f16(uint32_t bits) {
    int exponent = bits >> 10 & 31, rest = bits & 1023;
    float size = exponent == 31 ? (rest ? NAN : INFINITY) : exponent ? std::ldexp(1024 + rest, exponent - 25) : std::ldexp(rest, -24);
    return bits & 0x8000 ? -size : size;
}

// What all lanes gave, by lane; each gives some words of 32 bits.
struct Values {
    const uint64_t (*lanes)[4];
    uint32_t word(unsigned lane, int number) const { return (uint32_t)(lanes[lane][number / 2] >> (number % 2 * 32)); }
};

Values exchange(const uint32_t* words, int count, unsigned mask, const void* place) {
    uint64_t* mine = warp().values[lane()];
    for (int k = 0; k < (count + 1) / 2; k++) mine[k] = words[2 * k] | (uint64_t)(2 * k + 1 < count ? words[2 * k + 1] : 0) << 32;
    meet(place, mask, false);
    return {warp().received[current->received]};
}

void multiply(float* d, const uint32_t* a, const uint32_t* b, const float* c, const Shape& shape, float (*value)(uint32_t),
              const void* place) {
    int a_words = shape.a_count / shape.per_register, b_words = shape.b_count / shape.per_register;
    uint32_t words[6];
    memcpy(words, a, 4 * a_words);
    memcpy(words + a_words, b, 4 * b_words);
    Values given = exchange(words, a_words + b_words, ~0u, place);
    float left[16][16] = {}, right[16][8] = {};
    auto element = [&](unsigned lane, int first, int number) {
        uint32_t word = given.word(lane, first + number / shape.per_register);
        return value(shape.per_register == 1 ? word : number % 2 ? word >> 16 : word & 0xffff);
    };
    for (int each = 0; each < (int)WARP; each++) {
        for (int k = 0; k < shape.a_count; k++)
            left[shape.a[k].row_of(each / 4, each % 4)][shape.a[k].column_of(each / 4, each % 4)] = element(each, 0, k);
        for (int k = 0; k < shape.b_count; k++)
            right[shape.b[k].row_of(each / 4, each % 4)][shape.b[k].column_of(each / 4, each % 4)] = element(each, a_words, k);
    }
    int me = lane();
    for (int k = 0; k < 4; k++) {
        int row = C_16x8[k].row_of(me / 4, me % 4), column = C_16x8[k].column_of(me / 4, me % 4);
        double sum = c[k];
        for (int depth = 0; depth < shape.depth; depth++) sum += (double)left[row][depth] * right[depth][column];
        d[k] = (float)sum;
    }
}

}  // namespace

// Each lane gives a value of up to 8 bytes and gets that of another lane; a source that is not in the mask gives what nobody knows.
extern "C" uint64_t emu_shuffle(unsigned mask, uint64_t value, unsigned source) {
    uint32_t words[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
    if (!(mask >> lane() & 1)) fault(lanes_missing, NONE, PLACE, nullptr, 0, 0);
    Values given = exchange(words, 2, mask, PLACE);
    unsigned from = source % WARP;
    bool there = mask >> from & 1 && from < lane_count(current->number / WARP);
    return there ? given.lanes[from][0] : 0xdeadbeefdeadbeefull;
}

extern "C" unsigned emu_ballot(unsigned mask, int predicate) {
    uint32_t word = predicate != 0;
    Values given = exchange(&word, 1, mask, PLACE);
    unsigned result = 0;
    for (unsigned k = 0; k < lane_count(current->number / WARP); k++)
        if (mask >> k & 1) result |= (given.word(k, 0) & 1) << k;
    return result;
}

extern "C" void emu_sync_warp(unsigned mask) {
    if (!(mask >> lane() & 1)) fault(lanes_missing, NONE, PLACE, nullptr, 0, 0);
    meet(PLACE, mask, true);
}
extern "C" unsigned emu_lane() { return lane(); }

// Loads `count` matrices of 8 x 8 elements of 16 bits: lane l gives the address of row l % 8 of matrix l / 8.
extern "C" void emu_load_matrices(uint32_t* registers, unsigned address, int count, bool transposed) {
    uint32_t row[4] = {};
    if ((int)lane() < 8 * count) {
        const char* from = shared_begin() + address;
        access(from, 16, false, PLACE);
        memcpy(row, from, 16);
    }
    Values given = exchange(row, 4, ~0u, PLACE);
    for (int matrix = 0; matrix < count; matrix++) {
        uint32_t both = 0;
        for (int k = 0; k < 2; k++) {
            int one = lane() / 4, other = lane() % 4 * 2 + k;
            int row = transposed ? other : one, column = transposed ? one : other;
            both |= (given.word(matrix * 8 + row, column / 2) >> (column % 2 * 16) & 0xffff) << (16 * k);
        }
        registers[matrix] = both;
    }
}

extern "C" void emu_multiply_bf16(float* d, const uint32_t* a, const uint32_t* b, const float* c, int depth) {
    multiply(d, a, b, c, depth == 16 ? M16N8K16 : M16N8K8, of_bf16, PLACE);
}
extern "C" void emu_multiply_f16(float* d, const uint32_t* a, const uint32_t* b, const float* c, int depth) {
    multiply(d, a, b, c, depth == 16 ? M16N8K16 : M16N8K8, of_f16, PLACE);
}
extern "C" void emu_multiply_tf32(float* d, const uint32_t* a, const uint32_t* b, const float* c) {
    multiply(d, a, b, c, M16N8K8_TF32, of_tf32, PLACE);
}

extern "C" unsigned emu_shared_address(const void* pointer) { return (unsigned)((const char*)pointer - shared_begin()); }
extern "C" void* emu_shared_pointer(unsigned address) { return shared_begin() + address; }

// The bytes of an asynchronous copy arrive as late as the program allows, when they are waited for.
extern "C" void emu_copy_async(void* to, const void* from, int bytes, int from_bytes) {
    AsyncCopy copy{(char*)to, (const char*)from, bytes, from_bytes, PLACE};
    current->open.push_back(copy);
    begin_copy(copy);
}
extern "C" void emu_commit_copies() {
    current->groups.push_back(current->open);
    current->open.clear();
}
extern "C" void emu_wait_copies(int left) {
    auto& groups = current->groups;
    while ((int)groups.size() > left) {
        for (const AsyncCopy& copy : groups.front()) end_copy(copy);
        groups.erase(groups.begin());
    }
}

extern "C" void emu_atomic(const void* address, int bytes) { access(address, bytes, true, PLACE, true); }
