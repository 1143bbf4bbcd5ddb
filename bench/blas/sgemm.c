/* SPDX-License-Identifier: MIT */
/* sgemm N [REPEAT]: sgemm_ of whatever BLAS there is on random N x N matrices,
 * column by column; a JSON line. It is what NVBLAS takes, too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void sgemm_(const char *, const char *, const int *, const int *, const int *,
            const float *, const float *, const int *, const float *,
            const int *, const float *, float *, const int *, size_t, size_t);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(float *data, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)(seed >> 40) * 0x1p-24f - 0.5f;
    }
}

/* The largest difference of some elements from sums in double. */
static double error_of(const float *a, const float *b, const float *c, size_t n)
{
    double most = 0;
    for (size_t probe = 0; probe < 8; probe++) {
        const size_t row = probe * 7919 % n, col = probe * 104729 % n;
        double sum = 0;
        for (size_t p = 0; p < n; p++) {
            sum += (double)a[row + p * n] * (double)b[p + col * n];
        }
        const double off = sum - (double)c[row + col * n];
        most = off > most ? off : -off > most ? -off : most;
    }
    return most;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 0;
    const int repeat = argc > 2 ? atoi(argv[2]) : 4;
    const size_t count = (size_t)n * (size_t)n;
    float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b);
    float *c = calloc(count, sizeof *c);
    const float one = 1, none = 0;
    double first = 0, best = 0;
    if (n < 1 || a == NULL || b == NULL || c == NULL) {
        fprintf(stderr, "usage: sgemm N [REPEAT]\n");
        return 2;
    }
    fill(a, count, 1);
    fill(b, count, 2);
    fill(c, count, 3);
    for (int i = 0; i < repeat; i++) {
        const double start = now();
        sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &none, c, &n, 1, 1);
        const double seconds = now() - start;
        first = i == 0 ? seconds : first;
        best = i == 0 || seconds < best ? seconds : best;
    }
    printf("{\"bench\": \"blas\", \"n\": %d, \"type\": \"float32\", "
           "\"first_seconds\": %.4f, \"min_seconds\": %.4f, \"gflops\": %.0f, "
           "\"error\": %.1e}\n",
           n, first, best, 2e-9 * n * n * n / best,
           error_of(a, b, c, (size_t)n));
    free(a);
    free(b);
    free(c);
    return 0;
}
