/* Calls from one thread, from several at once, and in a child of a fork; all give the same. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gemm.h"

enum { N = 160 };
static double A[N * N], B[N * N], expected[N * N];

static int wrong(void)
{
    double *C = calloc(N * N, sizeof(double));
    int bad = C == NULL;
    for (int turn = 0; turn < 20 && !bad; turn++) {
        memset(C, 0, sizeof(double) * N * N);
        bad = gemm(1.0, A, B, C, N, N, N) != GEMM_OK;
        for (int i = 0; i < N * N; i++)
            bad |= fabs(C[i] - expected[i]) > 1e-9;
    }
    free(C);
    return bad;
}

static void *call(void *result)
{
    *(int *)result = wrong();
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    int results[4], bad = 0, status;
    for (int i = 0; i < N * N; i++) {
        A[i] = i % 7 - 3;
        B[i] = i % 5 - 2;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                expected[i * N + j] += A[i * N + k] * B[k * N + j];
    for (int i = 0; i < 4; i++)
        bad |= pthread_create(&threads[i], NULL, call, &results[i]);
    for (int i = 0; i < 4; i++) {
        bad |= pthread_join(threads[i], NULL);
        bad |= results[i];
    }
    for (int count = 0; count < 4; count++) {
        gemm_set_threads(count);
        bad |= wrong();
    }
    gemm_set_threads(0);
    pid_t child = fork();
    if (child == 0)
        _exit(wrong());
    bad |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
    bad |= wrong();
    printf("%s\n", bad ? "wrong" : "well");
    return bad;
}
