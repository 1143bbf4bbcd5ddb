/* SPDX-License-Identifier: MIT */
/* headrace-bench-copies [LIST [MIB]]: how fast arrays of MIB MiB (1024) travel
 * between host memory and each accelerator of LIST (all), and to all at once,
 * each with an array of its own: GB/s, the best of several times. `call` is how
 * much of the time the calls took that did not wait for the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <headrace/headrace.h>

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

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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
    double start = now();
    for (uint32_t i = b->first; i <= b->last && status == HR_OK; i++) {
        status = ways[way].run(&b->pairs[i]);
    }
    *call = now() - start;
    for (uint32_t i = b->first; i <= b->last && status == HR_OK; i++) {
        status = hr_event_wait(b->pairs[i].event);
    }
    *all = now() - start;
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

int main(int count, char **arguments)
{
    bench b = {0};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    long mib = count > 2 ? strtol(arguments[2], NULL, 10) : 1024;
    if (count > 3 || mib < 1 || mib > 1 << 20) {
        fputs("usage: headrace-bench-copies [LIST [MIB]]\n", stderr);
        return 2;
    }
    options.accelerators = count > 1 ? arguments[1] : NULL;
    b.bytes = (size_t)mib << 20;
    hr_status status = hr_context_create(&options, &b.context);
    if (status == HR_OK && hr_accelerator_count(b.context) > MOST) {
        fprintf(stderr, "more than %d accelerators\n", MOST);
        hr_context_destroy(b.context);
        return 1;
    }
    for (int pinned = 0; pinned < 2 && status == HR_OK; pinned++) {
        status = measure_memory(&b, pinned != 0);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s: %s\n", hr_status_name(status), hr_last_error());
    }
    hr_context_destroy(b.context);
    return status == HR_OK ? 0 : 1;
}
