/* SPDX-License-Identifier: MIT */
/* Measuring single copies by the accelerator's clock: over its link from and to
 * pinned memory, and within its memory. */
#include <string.h>

#include "model/figures.h"
#include "model/probe.h"

/* The directions: from pinned memory, to it, and within the accelerator's
 * memory. */
enum { UP, DOWN, WAYS, WITHIN = WAYS };

typedef struct single {
    hri_stopwatch watch;
    int way;
    hri_copy copy;
} single;

static hr_status prepare_single(void *data, int64_t bytes)
{
    single *s = data;
    hri_stopwatch *w = &s->watch;
    HRI_TRY(hri_stopwatch_take(w, 0, (uint64_t)bytes, false));
    HRI_TRY(hri_stopwatch_take(w, 1, (uint64_t)bytes, s->way != WITHIN));
    if (s->way != WITHIN) {
        memset(w->places[1].host, 1, (size_t)bytes); /* so that the pages
                                                        exist */
    }
    s->copy = hri_flat_copy(w->places[s->way == DOWN],
                            w->places[s->way != DOWN], (size_t)bytes);
    return HR_OK;
}

static hr_status run_single(void *data, double *seconds)
{
    const single *s = data;
    return hri_stopwatch_time(&s->watch, NULL, &s->copy, seconds);
}

static hr_status finish_single(void *data)
{
    single *s = data;
    return hri_stopwatch_clear(&s->watch);
}

/* Copies of `first` to `most` bytes, as far as there is room. */
typedef struct series {
    hri_accelerator *accelerator;
    int way;
    uint64_t first;
    int64_t most;
    hri_probed found;
} series;

static hr_status try_copies(void *job)
{
    enum { MIN_COPY = 64 << 10 }; /* smaller copies only show latency */
    series *x = job;
    hri_accelerator *a = x->accelerator;
    const uint64_t room = hri_accelerator_room(a) / (x->way == WITHIN ? 2 : 1);
    const uint64_t largest = a->device->info.allocation_bytes;
    uint64_t first = room < x->first ? room : x->first;
    first = largest < first ? largest : first;
    const hri_trial trial = {.prepare = prepare_single,
                             .run = run_single,
                             .finish = finish_single,
                             .first = (int64_t)first,
                             .most =
                                 first >= MIN_COPY ? x->most : -1, /* none */
                             .growth = 4,
                             .enough = hri_long_enough};
    single s = {.way = x->way};
    HRI_TRY(hri_stopwatch_open(a, &s.watch));
    const hr_status status = hri_probe(&trial, &s, &x->found);
    hri_stopwatch_close(&s.watch);
    return status;
}

static hr_status measure(series *x)
{
    return hri_measure(&x->accelerator, 1, try_copies, x, sizeof *x);
}

static const hri_kind kinds[WAYS] = {{.name = "up"}, {.name = "down"}};

hr_status hri_link_measure(hri_accelerator *a)
{
    enum { FIRST = 4 << 20, MAX_COPY = 64 << 20 };
    for (int way = UP; way < WAYS; way++) {
        series x = {a, way, FIRST, MAX_COPY, {0}};
        HRI_TRY(measure(&x));
        hri_figure_note(hri_subject_of(a), kinds[way], x.found.settled,
                        x.found.size > 0
                            ? (double)x.found.size / x.found.seconds
                            : hri_guess(HRI_GUESS_LINK));
    }
    return HR_OK;
}

hr_status hri_memory_measure(hri_accelerator *a, int64_t bytes,
                             hri_probed *found)
{
    series x = {a, WITHIN, (uint64_t)bytes, bytes, {0}};
    hr_status status = measure(&x);
    *found = x.found;
    return status;
}

hri_link hri_link_alone(const hri_accelerator *a)
{
    hri_link link = {0};
    if (!a->in_place) {
        const hri_subject of = hri_subject_of(a);
        link.up = hri_figure_find(of, kinds[UP]);
        link.down = hri_figure_find(of, kinds[DOWN]);
    }
    return link;
}

hr_status hri_accelerator_link(hri_accelerator *accelerator)
{
    const hri_link link = hri_link_alone(accelerator);
    return accelerator->in_place || (link.up > 0.0 && link.down > 0.0)
               ? HR_OK
               : hri_link_measure(accelerator);
}
