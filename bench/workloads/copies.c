/* SPDX-License-Identifier: MIT */
/* headrace bench copies: what copies between arrays carry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "console/context.h"
#include "console/text.h"

enum { MOST = 64, TIMES = 5 };

/* What travels between one accelerator and the host. */
typedef struct pair {
    hr_queue *queue;
    hr_array *host, *there, *anywhere;
    void *memory;
    hr_event *event;
} pair;

typedef struct bench {
    hr_context *context;
    size_t bytes;
    bool pinned;
    pair pairs[MOST];
    uint32_t first, last; /* that take part now */
} bench;

/* ---- one way for one accelerator */

static hr_status copy_up(pair *p)
{
    return hr_copy_async(hr_view_of(p->host), hr_view_of(p->there), &p->event);
}

static hr_status copy_down(pair *p)
{
    return hr_copy_async(hr_view_of(p->there), hr_view_of(p->host), &p->event);
}

static hr_status prefetch(pair *p)
{
    hr_status status = hr_prefetch(hr_view_of(p->host), p->queue);
    return status == HR_OK ? hr_queue_mark(p->queue, &p->event) : status;
}

static hr_status synchronize(pair *p)
{
    return hr_synchronize_async(hr_view_of(p->anywhere), &p->event);
}

/* Before prefetch: what is there counts no more. */
static hr_status write_host(pair *p)
{
    return hr_refresh(hr_view_of(p->host));
}

/* Before synchronize: the newest values are there. */
static hr_status write_there(pair *p)
{
    return hr_copy(hr_view_of(p->there), hr_view_of(p->anywhere));
}

static hr_status write_nothing(pair *p)
{
    (void)p;
    return HR_OK;
}

static const struct {
    const char *name;
    hr_status (*before)(pair *p);
    hr_status (*run)(pair *p);
    bool pinned_too; /* memory of the library's is ordinary */
} ways[] = {
    {"hr_copy up", write_nothing, copy_up, true},
    {"hr_copy down", write_nothing, copy_down, true},
    {"hr_prefetch", write_host, prefetch, true},
    {"hr_synchronize", write_there, synchronize, false},
};

/* ---- measuring */

static hr_status run_once(bench *b, size_t way, double *call, double *all)
{
    hr_status status = HR_OK;
    for (uint32_t i = b->first; i <= b->last && status == HR_OK; i++) {
        status = ways[way].before(&b->pairs[i]);
    }
    double start = cli_clock();
    for (uint32_t i = b->first; i <= b->last && status == HR_OK; i++) {
        status = ways[way].run(&b->pairs[i]);
    }
    *call = cli_clock() - start;
    for (uint32_t i = b->first; i <= b->last && status == HR_OK; i++) {
        status = hr_event_wait(b->pairs[i].event);
    }
    *all = cli_clock() - start;
    for (uint32_t i = b->first; i <= b->last; i++) {
        hr_event_destroy(b->pairs[i].event);
        b->pairs[i].event = NULL;
    }
    return status;
}

static hr_status measure(bench *b, const char *name, size_t way)
{
    double best = 0.0, best_call = 0.0;
    hr_status status = HR_OK;
    for (int i = 0; i <= TIMES && status == HR_OK; i++) {
        double call = 0.0, all = 0.0;
        status = run_once(b, way, &call, &all);
        if (i == 1 || (i > 1 && all < best)) { /* the first time is another */
            best = all;
            best_call = call;
        }
    }
    if (status == HR_OK) {
        double bytes = (double)b->bytes * (double)(b->last - b->first + 1);
        printf("%-12s %-9s %-15s %8.2f GB/s, call %3.0f %%\n", name,
               b->pinned ? "pinned" : "ordinary", ways[way].name,
               bytes / best * 1e-9, best_call / best * 100.0);
        fflush(stdout);
    }
    return status;
}

static hr_status measure_ways(bench *b, const char *name)
{
    hr_status status = HR_OK;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0] && status == HR_OK;
         w++) {
        if (!b->pinned || ways[w].pinned_too) {
            status = measure(b, name, w);
        }
    }
    return status;
}

/* ---- arrays */

static hr_status open_pair(bench *b, uint32_t i)
{
    pair *p = &b->pairs[i];
    const hr_extent extent = hr_extent1((int64_t)b->bytes);
    hr_status status = HR_OK;
    if (b->pinned) {
        status = hr_allocate_pinned(b->context, b->bytes, &p->memory);
    } else {
        p->memory = malloc(b->bytes);
        status = p->memory != NULL ? HR_OK : HR_ERROR_OUT_OF_MEMORY;
    }
    if (status == HR_OK) {
        memset(p->memory, 1, b->bytes); /* its pages exist */
        status = hr_queue_create(b->context, i, &p->queue);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(b->context, p->memory, 1, extent, 0, &p->host);
    }
    if (status == HR_OK) {
        status = hr_array_create(p->queue, 1, extent, &p->there);
    }
    if (status == HR_OK) {
        status = hr_array_create_anywhere(b->context, 1, extent, &p->anywhere);
    }
    return status == HR_OK ? hr_copy(hr_view_of(p->host), hr_view_of(p->there))
                           : status;
}

static void close_pair(bench *b, pair *p)
{
    hr_array_destroy(p->anywhere);
    hr_array_destroy(p->there);
    hr_array_destroy(p->host);
    hr_queue_destroy(p->queue);
    if (b->pinned) {
        hr_free_pinned(b->context, p->memory);
    } else {
        free(p->memory);
    }
    *p = (pair){0};
}

static hr_status measure_memory(bench *b, bool pinned)
{
    const uint32_t count = hr_accelerator_count(b->context);
    hr_status status = HR_OK;
    b->pinned = pinned;
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        status = open_pair(b, i);
    }
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        b->first = b->last = i;
        status = hr_accelerator_describe(b->context, i, &info);
        if (status == HR_OK) {
            status = measure_ways(b, info.path);
        }
    }
    if (status == HR_OK && count > 1) {
        b->first = 0;
        status = measure_ways(b, "all at once");
    }
    for (uint32_t i = 0; i < count; i++) {
        close_pair(b, &b->pairs[i]);
    }
    return status;
}

/* ---- the command */

static int measure_all(bench *b)
{
    hr_status status = HR_OK;
    if (hr_accelerator_count(b->context) > MOST) {
        return cli_fail("more than %d accelerators", MOST);
    }
    for (int pinned = 0; pinned < 2 && status == HR_OK; pinned++) {
        status = measure_memory(b, pinned != 0);
    }
    return cli_called(status);
}

static int run(int argc, char **argv)
{
    bench b = {0};
    const char *list = argc > 0 ? argv[0] : NULL;
    const long mib = argc > 1 ? strtol(argv[1], NULL, 10) : 1024;
    if (argc > 2 || mib < 1 || mib > 1 << 20 ||
        (list != NULL && list[0] == '-')) {
        return cli_wrong(&bench_copies,
                         "headrace bench copies takes a list of accelerators "
                         "and MiB from 1 to 1048576");
    }
    b.bytes = (size_t)mib << 20;
    int status = cli_context(&bench_copies, list, 0, &b.context);
    if (status == CLI_OK) {
        status = measure_all(&b);
    }
    hr_context_destroy(b.context);
    return status;
}

static const cli_option table[] = {{NULL, NULL, NULL, 0, NULL}};

const cli_command bench_copies = {
    .name = "bench copies",
    .usage = "[LIST [MIB]]",
    .details =
        "How fast arrays of MIB MiB (1024) travel between host memory and "
        "each\n"
        "accelerator of LIST (all), and to all at once, each with an array of "
        "its\n"
        "own: GB/s, the best of several times. `call` is how much of the time "
        "the\n"
        "calls took that did not wait for the end.",
    .examples = "  headrace bench copies cuda 256\n",
    .options = table,
    .run = run,
};
