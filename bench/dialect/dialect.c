/* SPDX-License-Identifier: MIT */
/* The side of the dialect. */
#include "bench/dialect/dialect.h"

#include <stdlib.h>

extern const hr_kernel bench_add, bench_nothing, transpose_blocked,
    matmul_naive, matmul_blocked;

typedef struct own_side {
    hr_context *context;
    hr_queue *queue;
    dialect_problem *problem;
    hr_array *arrays[DIALECT_ARRAYS];
    hr_argument arguments[DIALECT_ARRAYS];
    const hr_kernel *kernel;
    hr_extent domain, tile; /* rank 0: the library chooses */
    hr_event *marks[2];
} own_side;

static int64_t items(int64_t extent, int64_t elements, int64_t in_tile)
{
    return (extent + elements - 1) / elements * in_tile;
}

static void choose(own_side *s)
{
    const dialect_problem *p = s->problem;
    s->tile = (hr_extent){.rank = 0};
    switch (p->kind) {
    case DIALECT_ADD:
    case DIALECT_NOTHING:
        s->kernel = p->kind == DIALECT_ADD ? &bench_add : &bench_nothing;
        s->domain = hr_extent1(p->cols);
        break;
    case DIALECT_TRANSPOSE:
        s->kernel = &transpose_blocked;
        s->domain = hr_extent2(items(p->rows, 32, 4), items(p->cols, 32, 32));
        s->tile = hr_extent2(4, 32);
        break;
    case DIALECT_MULTIPLY:
        s->kernel = &matmul_naive;
        s->domain = hr_extent2(p->rows, p->cols);
        break;
    case DIALECT_BLOCKED:
        s->kernel = &matmul_blocked;
        s->domain =
            hr_extent2(items(p->rows, 128, 16), items(p->cols, 128, 16));
        s->tile = hr_extent2(16, 16);
        break;
    }
}

static hr_status prepare(void *data, dialect_problem *p)
{
    own_side *s = data;
    hr_status status = HR_OK;
    s->problem = p;
    choose(s);
    for (int i = 0; i < p->count && status == HR_OK; i++) {
        status = hr_array_wrap(s->context, p->arrays[i], sizeof(float),
                               p->of[i], 0, &s->arrays[i]);
        if (status == HR_OK) {
            hr_view view = hr_view_of(s->arrays[i]);
            s->arguments[i] = i + 1 < p->count             ? hr_in(view)
                              : p->kind == DIALECT_NOTHING ? hr_inout(view)
                                                           : hr_out(view);
            status = hr_prefetch(view, s->queue);
        }
    }
    return status == HR_OK ? hr_queue_finish(s->queue) : status;
}

static hr_status launch(void *data, int times, bool copies)
{
    const own_side *s = data;
    hr_status status = HR_OK;
    (void)copies;
    for (int i = 0; i < times && status == HR_OK; i++) {
        status = hr_launch(s->queue, s->kernel, s->domain,
                           s->tile.rank > 0 ? &s->tile : NULL, s->arguments,
                           (size_t)s->problem->count);
    }
    return status;
}

static hr_status wait(void *data)
{
    return hr_queue_finish(((own_side *)data)->queue);
}

static hr_status mark(void *data, int i)
{
    own_side *s = data;
    hr_event_destroy(s->marks[i]);
    s->marks[i] = NULL;
    return hr_queue_mark(s->queue, &s->marks[i]);
}

static hr_status elapsed(void *data, double *seconds)
{
    const own_side *s = data;
    hr_status status = hr_event_wait(s->marks[1]);
    return status == HR_OK ? hr_event_elapsed(s->marks[0], s->marks[1], seconds)
                           : status;
}

static hr_status fetch(void *data)
{
    const own_side *s = data;
    return hr_synchronize(hr_view_of(s->arrays[s->problem->count - 1]));
}

static void finish(void *data)
{
    own_side *s = data;
    for (int i = 0; i < DIALECT_ARRAYS; i++) {
        hr_array_destroy(s->arrays[i]);
        s->arrays[i] = NULL;
    }
}

static void close_side(void *data)
{
    own_side *s = data;
    if (s != NULL) {
        hr_event_destroy(s->marks[0]);
        hr_event_destroy(s->marks[1]);
        hr_queue_destroy(s->queue);
        hr_context_destroy(s->context);
        free(s);
    }
}

hr_status dialect_open(const char *accelerators, dialect_side *side,
                       hr_accelerator_info *info)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    own_side *s = calloc(1, sizeof *s);
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
    *side = (dialect_side){.prepare = prepare,
                           .launch = launch,
                           .wait = wait,
                           .mark = mark,
                           .elapsed = elapsed,
                           .fetch = fetch,
                           .finish = finish,
                           .close = close_side,
                           .data = s};
    return HR_OK;
}
