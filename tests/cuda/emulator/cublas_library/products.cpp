// A look-alike of libcublas.so on the emulated driver: products in the plain order, in streams as launches are.
//
// It takes what polyml calls and refuses the rest as cuBLAS does. A matrix that is not inside memory of the device ends the program's use of
// the device, as an illegal address does. Where alpha is 0 the operands are not read, where beta is 0 the result is not.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "../driver_library/device.h"

#define CUBLAS extern "C" __attribute__((visibility("default"))) int

namespace {

// as in cublas_api.h and library_types.h
enum { OK = 0, NOT_READY_YET = 1, INVALID = 7, FAILED = 13, UNSUPPORTED = 15 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14, COMPUTE_32F = 68, COMPUTE_32F_FAST_TF32 = 77, COMPUTE_64F = 70 };
const unsigned MAGIC = 0xb1a5;

struct Handle {
    unsigned magic;
    void* stream;
};

struct Matrix {
    const char* memory;
    int type, transposed, leading;
    long long stride;

    size_t element() const { return type == R_64F ? 8 : type == R_32F ? 4 : 2; }
    size_t offset(long long row, long long column, long long batch) const {
        return element() * ((transposed ? row * leading + column : column * (long long)leading + row) + batch * stride);
    }
    bool is_inside(int rows, int columns, int batch) const {
        size_t end = offset(rows - 1, columns - 1, batch - 1) + element();
        return emu_size_from(memory) >= end;
    }
};

double half(uint16_t bits) {
    _Float16 value;
    memcpy(&value, &bits, 2);
    return (double)value;
}
double read(const Matrix& matrix, long long row, long long column, long long batch) {
    const char* at = matrix.memory + matrix.offset(row, column, batch);
    if (matrix.type == R_64F) return *(const double*)at;
    if (matrix.type == R_32F) return *(const float*)at;
    uint16_t bits;
    memcpy(&bits, at, 2);
    if (matrix.type == R_16F) return half(bits);
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}
double rounded_to_tf32(double value) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, 4);
    if ((bits >> 23 & 0xff) != 0xff) bits = (bits + 0x1000) & ~0x1fffu;
    memcpy(&single, &bits, 4);
    return single;
}

// Rounds to the nearest number of 16 bits, ties to even.
uint16_t rounded_to_half(float value, int type) {
    uint16_t bits;
    if (type == R_16F) {
        _Float16 half = (_Float16)value;
        return memcpy(&bits, &half, 2), bits;
    }
    uint32_t wide;
    memcpy(&wide, &value, 4);
    if (value != value) return 0x7fff;
    return (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
}

// Sums are of the type of the result, or of float for one of 16 bits; each product and sum is rounded.
template <class T>
void multiply(const Matrix& a, const Matrix& b, const Matrix& c, int m, int n, int k, int batch, double alpha, double beta, bool is_tf32) {
    for (long long z = 0; z < batch; z++)
        for (long long j = 0; j < n; j++)
            for (long long i = 0; i < m; i++) {
                T sum = 0;
                for (long long p = 0; p < k && alpha != 0; p++) {
                    double one = read(a, i, p, z), other = read(b, p, j, z);
                    if (is_tf32) one = rounded_to_tf32(one), other = rounded_to_tf32(other);
                    sum += (T)((T)one * (T)other);
                }
                void* out = (void*)(c.memory + c.offset(i, j, z));
                T value = (T)alpha * sum;
                if (beta != 0) value += (T)((T)beta * (T)read(c, i, j, z));
                uint16_t half = rounded_to_half((float)value, c.type);
                memcpy(out, c.element() == 2 ? (void*)&half : (void*)&value, c.element());
                emu_written(out, c.element());
            }
}

int started(void* given, int m, int n, int k, const void* alpha, Matrix a, Matrix b, const void* beta, Matrix c, int batch, int compute,
            int algorithm) {
    Handle* handle = (Handle*)given;
    if (!handle || handle->magic != MAGIC) return NOT_READY_YET;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || algorithm != -1) return INVALID;
    if (a.leading < (a.transposed ? k : m) || b.leading < (b.transposed ? n : k) || c.leading < m || c.leading < 1) return INVALID;
    bool is_double = c.type == R_64F && a.type == R_64F && compute == COMPUTE_64F;
    bool is_single = c.type == R_32F && (a.type == R_32F || a.type == R_16F || a.type == R_16BF) && compute == COMPUTE_32F;
    is_single |= c.type == a.type && (c.type == R_16F || c.type == R_16BF) && compute == COMPUTE_32F;
    bool is_tf32 = c.type == R_32F && a.type == R_32F && compute == COMPUTE_32F_FAST_TF32;
    if (a.type != b.type || !(is_double || is_single || is_tf32)) return UNSUPPORTED;
    if (!m || !n || !batch) return OK;
    double by = is_double ? *(const double*)alpha : *(const float*)alpha, and_by = is_double ? *(const double*)beta : *(const float*)beta;
    Result error = put_in(handle->stream, [=] {
        if (k && (!a.is_inside(m, k, batch) || !b.is_inside(k, n, batch)) || !c.is_inside(m, n, batch)) {
            fprintf(stderr, "emulated cuBLAS: a matrix is not inside memory of the device\n");
            return Result(ILLEGAL_ADDRESS);
        }
        if (is_double) multiply<double>(a, b, c, m, n, k, batch, by, and_by, false);
        else multiply<float>(a, b, c, m, n, k, batch, by, and_by, is_tf32);
        return Result(SUCCESS);
    });
    return error ? FAILED : OK;
}

}  // namespace

CUBLAS cublasCreate_v2(void** handle) {
    if (Result error = ready()) return error == OUT_OF_MEMORY ? 3 : NOT_READY_YET;
    return *handle = new Handle{MAGIC, nullptr}, OK;
}
CUBLAS cublasDestroy_v2(void* handle) { return delete (Handle*)handle, OK; }
CUBLAS cublasSetStream_v2(void* handle, void* stream) { return ((Handle*)handle)->stream = stream, OK; }
CUBLAS cublasGemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int at, int lda, const void* b, int bt,
                    int ldb, const void* beta, void* c, int ct, int ldc, int compute, int algorithm) {
    return started(handle, m, n, k, alpha, {(const char*)a, at, ta, lda, 0}, {(const char*)b, bt, tb, ldb, 0}, beta,
                   {(const char*)c, ct, 0, ldc, 0}, 1, compute, algorithm);
}
CUBLAS cublasGemmStridedBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int at, int lda,
                                  long long sa, const void* b, int bt, int ldb, long long sb, const void* beta, void* c, int ct, int ldc,
                                  long long sc, int batch, int compute, int algorithm) {
    return started(handle, m, n, k, alpha, {(const char*)a, at, ta, lda, sa}, {(const char*)b, bt, tb, ldb, sb}, beta,
                   {(const char*)c, ct, 0, ldc, sc}, batch, compute, algorithm);
}
