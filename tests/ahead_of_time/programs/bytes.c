/* Products of matrices of bytes by a library of polyml. */
#include <stdio.h>
#include <stdlib.h>

#include "bytes.h"

int main(void)
{
    const int64_t N = 90, M = 70, K = 110;
    int8_t *A = malloc(N * K), *B = malloc(K * M);
    int32_t *C = calloc(N * M, sizeof(int32_t));
    if (!A || !B || !C)
        return 1;
    for (int64_t i = 0; i < N * K; i++)
        A[i] = (int8_t)(i * 37 % 256 - 128);
    for (int64_t i = 0; i < K * M; i++)
        B[i] = (int8_t)(i * 91 % 256 - 128);
    int status = bytes(A, B, C, N, K, M);
    if (status != BYTES_OK) {
        fprintf(stderr, "bytes: %s\n", bytes_error(status));
        return 1;
    }
    for (int64_t i = 0; i < N * M; i++)
        printf("%d\n", (int)C[i]);
    free(A);
    free(B);
    free(C);
    return 0;
}
