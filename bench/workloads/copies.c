/* SPDX-License-Identifier: MIT */
/* headrace bench copies: how fast copies between arrays are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "console/context.h"
#include "console/text.h"

enum { MAX_ACCELERATORS = 64, TIMES = 5 };

/* Arrays that are copied between one accelerator and the host. */
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
    pair pairs[MAX_ACCELERATORS];
    uint32_t first, last; /* the accelerators that take part now */
    int printed; /* CLI_OK, or a row could not be printed, as was told */
} bench;

/* ---- one direction, one accelerator */

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
    return status == HR_OK ? hr_queue_record(p->queue, &p->event) : status;
}

static hr_status synchronize(pair *p)
{
    return hr_synchronize_async(hr_view_of(p->anywhere), &p->event);
}

/* Before prefetch: make the copies on the accelerator invalid. */
static hr_status write_host(pair *p)
{
    return hr_invalidate(hr_view_of(p->host));
}

/* Before synchronize: make the accelerator's values the newest. */
static hr_status write_there(pair *p)
{
    return hr_copy(hr_view_of(p->there), hr_view_of(p->anywhere));
}

static const struct {
    const char *name;
    hr_status (*before)(pair *p); /* NULL: nothing */
    hr_status (*run)(pair *p);
    bool pinned_too; /* the library's memory would be ordinary without */
} ways[] = {
    {"hr_copy up", NULL, copy_up, true},
    {"hr_copy down", NULL, copy_down, true},
    {"hr_prefetch", write_host, prefetch, true},
    {"hr_synchronize", write_there, synchronize, false},
};

/* ---- measuring */

static bool run_once(bench *b, size_t way, double *call, double *all)
{
    bool good = true;
    for (uint32_t i = b->first; i <= b->last && good; i++) {
        good =
            ways[way].before == NULL || ways[way].before(&b->pairs[i]) == HR_OK;
    }
    double start = cli_clock();
    for (uint32_t i = b->first; i <= b->last && good; i++) {
        good = ways[way].run(&b->pairs[i]) == HR_OK;
    }
    *call = cli_clock() - start;
    for (uint32_t i = b->first; i <= b->last && good; i++) {
        good = hr_event_wait(b->pairs[i].event) == HR_OK;
    }
    *all = cli_clock() - start;
    for (uint32_t i = b->first; i <= b->last; i++) {
        hr_event_destroy(b->pairs[i].event);
        b->pairs[i].event = NULL;
    }
    return good;
}

static bool measure(bench *b, const char *name, size_t way)
{
    double best = 0.0, best_call = 0.0;
    for (int i = 0; i <= TIMES; i++) {
        double call = 0.0, all = 0.0;
        if (!run_once(b, way, &call, &all)) {
            return false;
        }
        if (i == 1 || (i > 1 && all < best)) { /* the first time is not
                                                  typical */
            best = all;
            best_call = call;
        }
    }
    double bytes = (double)b->bytes * (double)(b->last - b->first + 1);
    printf("%-12s %-9s %-15s %8.2f GB/s, call %3.0f %%\n", name,
           b->pinned ? "pinned" : "ordinary", ways[way].name,
           bytes / best * 1e-9, best_call / best * 100.0);
    b->printed = cli_flush();
    return b->printed == CLI_OK;
}

static bool measure_ways(bench *b, const char *name)
{
    bool good = true;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0] && good; w++) {
        good = (b->pinned && !ways[w].pinned_too) || measure(b, name, w);
    }
    return good;
}

/* ---- arrays */

static bool open_pair(bench *b, uint32_t i)
{
    pair *p = &b->pairs[i];
    const hr_extent extent = hr_extent1((int64_t)b->bytes);
    p->memory = bench_allocate(b->pinned ? b->context : NULL, b->bytes);
    if (p->memory == NULL) {
        return false;
    }
    memset(p->memory, 1, b->bytes); /* so that the pages exist */
    return hr_queue_create(b->context, i, &p->queue) == HR_OK &&
           hr_array_wrap(b->context, p->memory, 1, extent, 0, &p->host) ==
               HR_OK &&
           hr_array_create(p->queue, 1, extent, &p->there) == HR_OK &&
           hr_array_create_anywhere(b->context, 1, extent, &p->anywhere) ==
               HR_OK &&
           hr_copy(hr_view_of(p->host), hr_view_of(p->there)) == HR_OK;
}

static void close_pair(bench *b, pair *p)
{
    hr_array_destroy(p->anywhere);
    hr_array_destroy(p->there);
    hr_array_destroy(p->host);
    hr_queue_destroy(p->queue);
    bench_release(b->pinned ? b->context : NULL, p->memory);
    *p = (pair){0};
}

static bool measure_memory(bench *b, bool pinned)
{
    const uint32_t count = hr_accelerator_count(b->context);
    bool good = true;
    b->pinned = pinned;
    for (uint32_t i = 0; i < count && good; i++) {
        good = open_pair(b, i);
    }
    for (uint32_t i = 0; i < count && good; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        b->first = b->last = i;
        good = hr_accelerator_describe(b->context, i, &info) == HR_OK &&
               measure_ways(b, info.path);
    }
    b->first = 0;
    good = good && (count == 1 || measure_ways(b, "all at once"));
    for (uint32_t i = 0; i < count; i++) {
        close_pair(b, &b->pairs[i]);
    }
    return good;
}

/* ---- the command */

static int measure_all(bench *b)
{
    if (hr_accelerator_count(b->context) > MAX_ACCELERATORS) {
        return cli_fail("more than %d accelerators", MAX_ACCELERATORS);
    }
    return measure_memory(b, false) && measure_memory(b, true) ? CLI_OK
           : b->printed != CLI_OK                              ? b->printed
                                  : cli_failed_call();
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
    const cli_machine machine = {.accelerators = list};
    int status = bench_timeline_begin();
    if (status == CLI_OK) {
        status = cli_context(&bench_copies, &machine, false, &b.context);
    }
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
        "Measures copies of arrays of MIB MiB (1024) between host memory and\n"
        "each accelerator of LIST (all), and to all at once, each with an\n"
        "array of its own. Prints GB/s, the best of several times. `call` is\n"
        "the share of that time that the calls took, which do not wait for\n"
        "the end.",
    .examples = "  headrace bench copies\n"
                "  headrace bench copies cuda 256\n",
    .options = table,
    .run = run,
};
