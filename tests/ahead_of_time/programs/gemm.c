/* Products of matrices by a library of polyml: no Python, no runtime. The library's header says how it is called. */
#include <stdio.h>
#include <stdlib.h>

#include "gemm.h"

int main(void)
{
    const int64_t N = 90, M = 70, K = 110;
    double *A = malloc(sizeof(double) * N * K), *B = malloc(sizeof(double) * K * M), *C = calloc(N * M, sizeof(double));
    if (!A || !B || !C)
        return 1;
    for (int64_t i = 0; i < N * K; i++)
        A[i] = (double)(i % 17) - 8;
    for (int64_t i = 0; i < K * M; i++)
        B[i] = (double)(i % 13) - 6;

    int status = gemm(0.5, A, B, C, N, K, M);
    if (status != GEMM_OK) {
        fprintf(stderr, "gemm: %s\n", gemm_error(status));
        return 1;
    }
    for (int64_t i = 0; i < N * M; i++)
        printf("%.17g\n", C[i]);

    /* Nothing is written where arrays overlap, or where a size is none. */
    if (gemm(0.5, A, B, A, N, K, M) != GEMM_OVERLAP || gemm(0.5, A, B, C, -1, K, M) != GEMM_SIZES || gemm(0.5, A, B, NULL, N, K, M) != GEMM_POINTER)
        return 2;
    free(A);
    free(B);
    free(C);
    return 0;
}
