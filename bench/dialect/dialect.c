/* SPDX-License-Identifier: MIT */
/* The side of the dialect. */
#include "bench/dialect/dialect.h"

#include <stdlib.h>

#include "base/status.h"

typedef struct own_side {
    hr_context *context;
    hr_queue *queue;
    dialect_problem *problem;
    hr_array *arrays[DIALECT_ARRAYS];
    hr_argument arguments[DIALECT_ARRAYS];
    hr_extent domain, tile; /* rank 0: the library chooses */
} own_side;

static void choose_domain(own_side *s)
{
    const dialect_problem *p = s->problem;
    const unsigned *items = p->work->items;
    s->domain = p->of[p->count - 1];
    s->tile = (hr_extent){.rank = 0};
    if (p->work->tiled) {
        s->domain =
            hr_extent2(p->groups[1] * items[1], p->groups[0] * items[0]);
        s->tile = hr_extent2(items[1], items[0]);
    }
}

static hr_status prepare_arrays(void *data, dialect_problem *p)
{
    own_side *s = data;
    s->problem = p;
    choose_domain(s);
    for (int i = 0; i < p->count; i++) {
        HRI_TRY(hr_array_wrap(s->context, p->arrays[i], sizeof(float), p->of[i],
                              0, &s->arrays[i]));
        const hr_view view = hr_view_of(s->arrays[i]);
        s->arguments[i] = i + 1 < p->count             ? hr_in(view)
                          : p->kind == DIALECT_NOTHING ? hr_inout(view)
                                                       : hr_out(view);
        HRI_TRY(hr_prefetch(view, s->queue));
    }
    return hr_queue_finish(s->queue);
}

static hr_status launch_kernel(void *data, int times)
{
    const own_side *s = data;
    for (int i = 0; i < times; i++) {
        HRI_TRY(hr_launch(s->queue, s->problem->work->kernel, s->domain,
                          s->tile.rank > 0 ? &s->tile : NULL, s->arguments,
                          (size_t)s->problem->count));
    }
    return HR_OK;
}

static hr_status wait_for_launches(void *data)
{
    return hr_queue_finish(((own_side *)data)->queue);
}

static hr_status time_between(own_side *s, int times, hr_event *events[2],
                              double *seconds)
{
    HRI_TRY(hr_queue_record(s->queue, &events[0]));
    HRI_TRY(launch_kernel(s, times));
    HRI_TRY(hr_queue_record(s->queue, &events[1]));
    HRI_TRY(hr_event_wait(events[1]));
    return hr_event_elapsed(events[0], events[1], seconds);
}

static hr_status time_launches(void *data, int times, double *seconds)
{
    hr_event *events[2] = {NULL, NULL};
    const hr_status status = time_between(data, times, events, seconds);
    hr_event_destroy(events[0]);
    hr_event_destroy(events[1]);
    return status;
}

static hr_status fetch_result(void *data)
{
    const own_side *s = data;
    return hr_synchronize(hr_view_of(s->arrays[s->problem->count - 1]));
}

static void free_problem(void *data)
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
        hr_queue_destroy(s->queue);
        hr_context_destroy(s->context);
        free(s);
    }
}

bool dialect_open(const char *accelerators, dialect_side *side,
                  hr_accelerator_info *info)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    own_side *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return false;
    }
    options.accelerators = accelerators;
    *info = (hr_accelerator_info)HR_ACCELERATOR_INFO_INIT;
    if (hr_context_create(&options, &s->context) != HR_OK ||
        hr_queue_create(s->context, 0, &s->queue) != HR_OK ||
        hr_accelerator_describe(s->context, 0, info) != HR_OK) {
        close_side(s);
        return false;
    }
    *side = (dialect_side){.prepare = prepare_arrays,
                           .launch = launch_kernel,
                           .wait = wait_for_launches,
                           .time = time_launches,
                           .fetch = fetch_result,
                           .finish = free_problem,
                           .close = close_side,
                           .data = s};
    return true;
}
