/* SPDX-License-Identifier: MIT */
/* cuBLASXt as a peer. No header of CUDA is needed: libcublas and the driver are
 * opened at run time. */
#include "bench/peers/cublasxt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "bench/peers/peer.h"
#include "console/text.h"
#include "console/values.h"

extern char **environ;

/* ---- asking it */

bool bench_xt_start(bench_peer *peer)
{
    const char *program = getenv("HEADRACE_CUBLASXT");
    if (program != NULL && program[0] == '\0') {
        program = NULL;
    }
    bool good = bench_peer_start(peer, "cublasxt", program, environ) &&
                strncmp(peer->name, "error ", 6) != 0;
    if (!good) {
        bench_peer_stop(peer);
    }
    return good;
}

/* Read one answer. Blocks before an error do not count. */
static bool read_answer(bench_peer *peer, bench_xt_result *result, char *error,
                        size_t size)
{
    char line[512];
    bench_xt_result best = {.block = 0};
    while (bench_peer_read(peer, line, sizeof line)) {
        bench_xt_result r;
        if (strcmp(line, "end") == 0 && best.block > 0) {
            *result = best;
            return true;
        }
        if (sscanf(line, "%d %lf %lf %lf", &r.block, &r.first, &r.best,
                   &r.median) == 4) {
            best = best.block == 0 || r.best < best.best ? r : best;
            continue;
        }
        bool sentence = strncmp(line, "error ", 6) == 0;
        snprintf(error, size, "%.*s", (int)size - 1,
                 sentence ? line + 6 : "its answer is not understood");
        return false;
    }
    snprintf(error, size, "its process ended");
    return false;
}

bool bench_xt_run(bench_peer *peer, const bench_xt_request *q,
                  bench_xt_result *result, char *error, size_t size)
{
    if (peer->to == NULL) {
        snprintf(error, size, "not there");
        return false;
    }
    if (!bench_peer_ask(
            peer, "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %s\n",
            q->type, q->m, q->n, q->k, q->repeat,
            q->pinned ? "pinned" : "ordinary", q->gpus)) {
        snprintf(error, size, "its process ended");
        return false;
    }
    return read_answer(peer, result, error, size);
}

/* ---- being it */

enum { MOST_GPUS = 64, MOST_REPEATS = 100, SAMPLES = 8 };

/* Large ones first: they are the fastest on large matrices, and what is much
 * slower than the best so far is not repeated. */
static const int blocks[] = {8192, 4096, 2048};

typedef struct request {
    bench_operands_wish wish;
    int repeat;
    int gpus[MOST_GPUS];
    int gpu_count;
} request;

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
    bench_operands_wish *w = &r->wish;
    *w = (bench_operands_wish){.memory = NULL};
    if (sscanf(line, "%7s %" SCNd64 " %" SCNd64 " %" SCNd64 " %d %15s %511s",
               type, &w->m, &w->n, &w->k, &r->repeat, memory, gpus) != 7 ||
        !cli_take_type(type, &w->type) || w->type > HR_C64 || r->repeat < 1 ||
        r->repeat > MOST_REPEATS || w->m < 1 || w->n < 1 || w->k < 1) {
        return false;
    }
    w->c_type = w->type;
    w->memory = strcmp(memory, "pinned") == 0 ? &xt_pinned : NULL;
    return (w->memory != NULL || strcmp(memory, "ordinary") == 0) &&
           read_gpus(gpus, r);
}

/* One product. Row-major C = A B is column-major C' = B' A'. Returns cuBLAS's
 * status. */
static int multiply(xt_handle handle, const bench_operands *o)
{
    static const double one[] = {1.0, 0.0}, zero[] = {0.0, 0.0};
    static const float onef[] = {1.0f, 0.0f}, zerof[] = {0.0f, 0.0f};
    int (*const gemm[])(xt_handle, int, int, size_t, size_t, size_t,
                        const void *, const void *, size_t, const void *,
                        size_t, const void *, void *, size_t) = {
        [HR_F32] = xt.cublasXtSgemm,
        [HR_F64] = xt.cublasXtDgemm,
        [HR_C32] = xt.cublasXtCgemm,
        [HR_C64] = xt.cublasXtZgemm,
    };
    const bool wide = o->a.type == HR_F64 || o->a.type == HR_C64;
    const size_t m = (size_t)o->c.rows, n = (size_t)o->c.cols,
                 k = (size_t)o->a.cols;
    return gemm[o->a.type](
        handle, 0, 0, n, m, k, wide ? (const void *)one : onef, o->b.data, n,
        o->a.data, k, wide ? (const void *)zero : zerof, o->c.data, n);
}

/* Generously: this finds blunders. */
static bool is_right(const bench_operands *o)
{
    const bool wide = o->a.type == HR_F64 || o->a.type == HR_C64;
    return bench_product_error(o->a, o->b, o->c, SAMPLES) <=
           (double)(2 * o->a.cols + 4) * (wide ? 0x1p-52 : 0x1p-23);
}

/* Time one block dimension. What is far behind *best after its second run is
 * not run again. Returns cuBLAS's status. */
static int time_block(xt_handle handle, const request *r,
                      const bench_operands *operands, int block, double *best)
{
    double first = 0.0, seconds[MOST_REPEATS];
    int done = 0;
    int status = xt.cublasXtSetBlockDim(handle, block);
    for (int i = 0; i <= r->repeat && status == 0; i++) {
        double begin = cli_clock();
        status = multiply(handle, operands);
        double time = cli_clock() - begin;
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
        double least, median;
        bench_sum_up(seconds, done, &least, &median);
        *best = *best <= 0.0 || least < *best ? least : *best;
        printf("%d %.9f %.9f %.9f\n", block, first, least, median);
        fflush(stdout);
    }
    return status;
}

static int time_all(const request *r, const bench_operands *operands)
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

static void answer(const char *line, bench_operands *operands)
{
    request r;
    if (!read_request(line, &r)) {
        printf("error this request is not understood\n");
        return;
    }
    if (!bench_operands_keep(operands, &r.wish) ||
        !bench_operands_spoil(operands)) {
        printf("error no memory for the matrices\n");
        return;
    }
    int status = time_all(&r, operands);
    if (status != 0) {
        printf("error cuBLASXt returned %d\n", status);
    } else if (!is_right(operands)) {
        printf("error its product is wrong\n");
    } else {
        printf("end\n");
    }
}

int bench_be_cublasxt(void)
{
    bench_operands operands = {.memory = {.release = NULL}};
    char line[1024], sentence[512];
    bool open = xt_open(sentence, sizeof sentence);
    printf("%s%s\n", open ? "" : "error ", sentence);
    fflush(stdout);
    while (open && fgets(line, sizeof line, stdin) != NULL) {
        answer(line, &operands);
        fflush(stdout);
    }
    bench_operands_free(&operands);
    return open ? CLI_OK : CLI_FAILED;
}
