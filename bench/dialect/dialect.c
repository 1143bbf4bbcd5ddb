/* SPDX-License-Identifier: MIT */
/* The side of the dialect. */
#include <stdlib.h>

#include "base/clock.h"
#include "bench.h"

extern const hr_kernel bench_add, bench_nothing, transpose_blocked,
    matmul_naive, matmul_blocked;

typedef struct dialect_side {
    hr_context *context;
    hr_queue *queue;
    bench_problem *problem;
    hr_array *arrays[BENCH_ARRAYS];
    hr_argument arguments[BENCH_ARRAYS];
    const hr_kernel *kernel;
    hr_extent domain, tile; /* rank 0: the library chooses */
} dialect_side;

static int64_t items(int64_t extent, int64_t elements, int64_t in_tile)
{
    return (extent + elements - 1) / elements * in_tile;
}

static void choose(dialect_side *s)
{
    const bench_problem *p = s->problem;
    s->tile = (hr_extent){.rank = 0};
    switch (p->kind) {
    case BENCH_ADD:
    case BENCH_NOTHING:
        s->kernel = p->kind == BENCH_ADD ? &bench_add : &bench_nothing;
        s->domain = hr_extent1(p->cols);
        break;
    case BENCH_TRANSPOSE:
        s->kernel = &transpose_blocked;
        s->domain = hr_extent2(items(p->rows, 32, 4), items(p->cols, 32, 32));
        s->tile = hr_extent2(4, 32);
        break;
    case BENCH_MULTIPLY:
        s->kernel = &matmul_naive;
        s->domain = hr_extent2(p->rows, p->cols);
        break;
    case BENCH_BLOCKED:
        s->kernel = &matmul_blocked;
        s->domain =
            hr_extent2(items(p->rows, 128, 16), items(p->cols, 128, 16));
        s->tile = hr_extent2(16, 16);
        break;
    }
}

static hr_status prepare(void *data, bench_problem *p)
{
    dialect_side *s = data;
    hr_status status = HR_OK;
    s->problem = p;
    choose(s);
    for (int i = 0; i < p->count && status == HR_OK; i++) {
        status = hr_array_wrap(s->context, p->arrays[i], sizeof(float),
                               p->of[i], 0, &s->arrays[i]);
        if (status == HR_OK) {
            hr_view view = hr_view_of(s->arrays[i]);
            s->arguments[i] = i + 1 < p->count           ? hr_in(view)
                              : p->kind == BENCH_NOTHING ? hr_inout(view)
                                                         : hr_out(view);
            status = hr_prefetch(view, s->queue);
        }
    }
    return status == HR_OK ? hr_queue_finish(s->queue) : status;
}

static hr_status launch(const dialect_side *s)
{
    return hr_launch(s->queue, s->kernel, s->domain,
                     s->tile.rank > 0 ? &s->tile : NULL, s->arguments,
                     (size_t)s->problem->count);
}

static hr_status run_by_clock(const dialect_side *s, int times, double *seconds)
{
    hr_status status = HR_OK;
    uint64_t start = hri_clock_ns();
    for (int i = 0; i < times && status == HR_OK; i++) {
        status = launch(s);
    }
    if (status == HR_OK) {
        status = hr_queue_finish(s->queue);
    }
    *seconds = hri_seconds_since(start) / times;
    return status;
}

static hr_status first(void *data, double *seconds)
{
    return run_by_clock(data, 1, seconds);
}

static hr_status run(void *data, int times, bool by_clock, double *seconds)
{
    const dialect_side *s = data;
    hr_event *begun = NULL, *ended = NULL;
    if (by_clock) {
        return run_by_clock(s, times, seconds);
    }
    hr_status status = hr_queue_mark(s->queue, &begun);
    for (int i = 0; i < times && status == HR_OK; i++) {
        status = launch(s);
    }
    if (status == HR_OK) {
        status = hr_queue_mark(s->queue, &ended);
    }
    if (status == HR_OK) {
        status = hr_event_wait(ended);
    }
    if (status == HR_OK) {
        status = hr_event_elapsed(begun, ended, seconds);
        *seconds /= times;
    }
    hr_event_destroy(begun);
    hr_event_destroy(ended);
    return status;
}

static hr_status fetch(void *data)
{
    const dialect_side *s = data;
    return hr_synchronize(hr_view_of(s->arrays[s->problem->count - 1]));
}

static void finish(void *data)
{
    dialect_side *s = data;
    for (int i = 0; i < BENCH_ARRAYS; i++) {
        hr_array_destroy(s->arrays[i]);
        s->arrays[i] = NULL;
    }
}

static void close_side(void *data)
{
    dialect_side *s = data;
    if (s != NULL) {
        hr_queue_destroy(s->queue);
        hr_context_destroy(s->context);
        free(s);
    }
}

hr_status bench_dialect_open(const char *accelerators, bench_side *side,
                             hr_accelerator_info *info)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    dialect_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    options.accelerators = accelerators;
    hr_status status = hr_context_create(&options, &s->context);
    if (status == HR_OK) {
        status = hr_queue_create(s->context, 0, &s->queue);
    }
    if (status == HR_OK) {
        *info = (hr_accelerator_info)HR_ACCELERATOR_INFO_INIT;
        status = hr_accelerator_describe(s->context, 0, info);
    }
    if (status != HR_OK) {
        close_side(s);
        return status;
    }
    *side = (bench_side){.prepare = prepare,
                         .first = first,
                         .run = run,
                         .fetch = fetch,
                         .finish = finish,
                         .close = close_side,
                         .data = s};
    return HR_OK;
}
