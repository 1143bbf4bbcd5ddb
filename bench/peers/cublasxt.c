/* SPDX-License-Identifier: MIT */
/* cuBLASXt as a peer of `headrace bench`, in a process of its own. No header of
 * CUDA is needed: libcublas and the driver are opened at run time.
 *
 * The protocol, in lines of text: it begins with the version of cuBLAS, or with
 * "error SENTENCE" and ends. To each request
 *
 *     TYPE M N K REPEAT pinned|ordinary GPU,GPU,...
 *
 * it answers "BLOCK FIRST BEST MEDIAN" for each block dimension, in seconds,
 * and "end"; or "error SENTENCE". Operands stay for the next request. At the
 * end of its input it exits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cublasxt.h"

enum { MOST_GPUS = 64, MOST_REPEATS = 100, SAMPLES = 8 };

/* Large ones first: they are the fastest on large matrices, and what is much
 * slower than the best so far is not repeated. */
static const int blocks[] = {8192, 4096, 2048};

typedef struct request {
    xt_problem problem;
    int repeat;
    int gpus[MOST_GPUS];
    int gpu_count;
} request;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static bool read_gpus(const char *text, request *r)
{
    r->gpu_count = 0;
    while (r->gpu_count < MOST_GPUS) {
        char *end;
        long gpu = strtol(text, &end, 10);
        if (end == text || gpu < 0 || gpu > 1000) {
            return false;
        }
        r->gpus[r->gpu_count++] = (int)gpu;
        if (*end != ',') {
            return *end == '\0';
        }
        text = end + 1;
    }
    return false;
}

static bool read_request(const char *line, request *r)
{
    char type[8], memory[16], gpus[512];
    xt_problem *p = &r->problem;
    if (sscanf(line, "%7s %zu %zu %zu %d %15s %511s", type, &p->m, &p->n, &p->k,
               &r->repeat, memory, gpus) != 7 ||
        !xt_find_type(type, &p->type) || r->repeat < 1 ||
        r->repeat > MOST_REPEATS || p->m < 1 || p->n < 1 || p->k < 1) {
        return false;
    }
    p->pinned = strcmp(memory, "pinned") == 0;
    return (p->pinned || strcmp(memory, "ordinary") == 0) && read_gpus(gpus, r);
}

/* Time one block dimension. What is far behind *best after its second run is
 * not run again. Returns cuBLAS's status. */
static int time_block(xt_handle handle, const request *r,
                      const xt_operands *operands, int block, double *best)
{
    double first = 0.0, seconds[MOST_REPEATS];
    int done = 0;
    int status = xt.cublasXtSetBlockDim(handle, block);
    for (int i = 0; i <= r->repeat && status == 0; i++) {
        double begin = now();
        status = xt_multiply(handle, &r->problem, operands);
        double time = now() - begin;
        if (i == 0) {
            first = time;
            continue;
        }
        seconds[done++] = time;
        if (*best > 0.0 && time > 1.3 * *best) {
            break;
        }
    }
    if (status == 0) {
        qsort(seconds, (size_t)done, sizeof seconds[0], compare);
        *best = *best <= 0.0 || seconds[0] < *best ? seconds[0] : *best;
        printf("%d %.9f %.9f %.9f\n", block, first, seconds[0],
               seconds[done / 2]);
        fflush(stdout);
    }
    return status;
}

static int time_all(const request *r, const xt_operands *operands)
{
    xt_handle handle = NULL;
    double best = 0.0;
    int status = xt.cublasXtCreate(&handle);
    if (status == 0) {
        status = xt.cublasXtDeviceSelect(handle, r->gpu_count, (int *)r->gpus);
    }
    if (status == 0) { /* no page-locking of its own: we have seen to that */
        status = xt.cublasXtSetPinningMemMode(handle, 0);
    }
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0] && status == 0;
         i++) {
        status = time_block(handle, r, operands, blocks[i], &best);
    }
    if (handle != NULL) {
        int destroyed = xt.cublasXtDestroy(handle);
        status = status == 0 ? destroyed : status;
    }
    return status;
}

static void answer(const char *line, xt_operands *operands)
{
    request r;
    if (!read_request(line, &r)) {
        printf("error this request is not understood\n");
        return;
    }
    if (!xt_operands_prepare(operands, &r.problem)) {
        printf("error no memory for the matrices\n");
        return;
    }
    int status = time_all(&r, operands);
    if (status != 0) {
        printf("error cuBLASXt returned %d\n", status);
    } else if (!xt_operands_check(operands, &r.problem, SAMPLES)) {
        printf("error its product is wrong\n");
    } else {
        printf("end\n");
    }
}

int main(void)
{
    xt_operands operands = {.a = NULL};
    char line[1024], sentence[512];
    bool open = xt_open(sentence, sizeof sentence);
    printf("%s%s\n", open ? "" : "error ", sentence);
    fflush(stdout);
    while (open && fgets(line, sizeof line, stdin) != NULL) {
        answer(line, &operands);
        fflush(stdout);
    }
    xt_operands_free(&operands);
    return open ? 0 : 1;
}
