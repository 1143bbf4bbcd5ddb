/* SPDX-License-Identifier: MIT */
/* What bands will take: bytes by what lies where, and time by what was measured
 * of links, memory and the kernel. */
#include "arrays/array.h"
#include "grid/split.h"
#include "runtime/bandwidth.h"
#include "runtime/worker.h"

/* Launching and waiting for one more accelerator: 4 us through CUDA, 40 through
 * PoCL (docs/kernels.md), so an order of magnitude. */
static const double enqueueing = 2e-5;

/* ---- the kernel */

/* Bytes that the kernel reads and writes for a row, if each once; at least one,
 * so that nothing takes no time. */
static double row_bytes(const hri_splitting *s)
{
    double bytes = 1;
    for (uint32_t i = 0; i < s->kernel->parameter_count; i++) {
        const hr_argument *a = &s->arguments[i];
        if (hri_split_is_view(s, i)) {
            const double all = (double)hr_extent_count(a->view.extent) *
                               (double)a->view.element_bytes;
            bytes += (a->access == HR_INOUT ? 2 : 1) * all /
                     (double)s->domain.size[0];
        }
    }
    return bytes;
}

/* What has not been measured is as much slower or faster than what has been as
 * its memory is; when nothing has been, memory is all that counts. */
hr_status hri_split_learn(const hri_splitting *s)
{
    const hri_runner *known = NULL;
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        hri_runner *r = &s->runners[i];
        status = hri_bandwidth_know(s->context, r->accelerator);
        r->memory = row_bytes(s) / r->accelerator->bandwidth.memory;
        r->pace = hri_accelerator_pace(r->accelerator, s->kernel,
                                       hri_split_points(s));
        known = known == NULL && r->pace > 0 ? r : known;
    }
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        hri_runner *r = &s->runners[i];
        if (r->pace == 0) {
            r->pace = known != NULL ? known->pace / known->memory * r->memory
                                    : r->memory;
        }
    }
    return status;
}

/* ---- bytes */

/* How an array's host memory is reached from an accelerator. */
typedef struct route {
    double up, down, peer; /* bytes/s */
    bool held;
} route;

static route route_of(const hri_accelerator *a, const hr_array *array)
{
    hri_device *device = a->device;
    const size_t bytes = (size_t)array->size[0] * array->stores[HRI_HOST].slice;
    const bool pinned = !a->in_place && array->host != NULL &&
                        device->ops->is_pinned(device, array->host, bytes);
    return (route){
        .up = pinned ? a->up : a->bandwidth.up,
        .down = pinned ? a->down : a->bandwidth.down,
        .peer = a->in_place ? a->bandwidth.up : a->up,
        .held = device->info.staged && !pinned,
    };
}

static void add_home(hri_cost *c, const route *r, uint64_t bytes)
{
    const double seconds = (double)bytes / r->down;
    c->traffic.down += bytes;
    c->home += r->held ? 0 : seconds;
    c->home_held += r->held ? seconds : 0;
}

static void add_fetch(hri_cost *c, const route *r, const hr_traffic *t,
                      bool whole)
{
    const double seconds = (double)t->up / r->up + (double)t->down / r->down;
    const double peer = (double)t->peer / r->peer;
    c->traffic.up += t->up;
    c->traffic.down += t->down;
    c->traffic.peer += t->peer;
    c->link += peer + (r->held ? 0 : seconds);
    c->held += r->held ? seconds : 0;
    c->whole += whole ? seconds + peer : 0;
}

static hr_status add_view(const hri_splitting *s, uint32_t i,
                          const hri_accelerator *a, const hr_band *band,
                          hri_cost *cost)
{
    const hr_argument *argument = &s->arguments[i];
    hr_array *array = argument->view.array;
    const int place = hri_place_of(s->context, a);
    const route r = route_of(a, array);
    hri_boxes region = {0};
    hr_traffic t = {0};
    hr_view view;
    int64_t first;
    bool linear;
    hr_status status = hri_split_argument(s, i, band, &view, &first);
    if (status == HR_OK) {
        status = hri_view_region(&view, &region, &linear);
    }
    if (status == HR_OK && (argument->access & HR_IN) != 0) {
        status = hri_array_foresee(array, place, &region, &t);
    }
    if (status == HR_OK) {
        add_fetch(cost, &r, &t, argument->whole);
        if ((argument->access & HR_OUT) != 0 && array->home == HRI_HOST &&
            place != HRI_HOST) {
            add_home(cost, &r,
                     (uint64_t)hr_extent_count(view.extent) *
                         view.element_bytes);
        }
    }
    hri_boxes_finish(&region);
    return status;
}

hr_status hri_split_cost(const hri_splitting *s, uint32_t i,
                         const hr_band *band, hri_cost *cost)
{
    const hri_runner *r = &s->runners[i];
    hr_status status = HR_OK;
    *cost = (hri_cost){.run = r->pace * (double)band->count};
    for (uint32_t k = 0; k < s->kernel->parameter_count && status == HR_OK;
         k++) {
        if (hri_split_is_view(s, k) && band->count > 0) {
            status = add_view(s, k, r->accelerator, band, cost);
        }
    }
    return status;
}

/* ---- time */

/* How much slower links are when all devices with rows use theirs; 1 when that
 * was not measured. */
static double crowd(const hri_splitting *s)
{
    const hri_link *all = &s->context->links[HRI_PINNED];
    double sum = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->bands[i].count > 0) {
            sum += s->runners[i].accelerator->links[HRI_PINNED].up /
                   hri_split_sharers(s, i);
        }
    }
    return all->up > 0 && sum > all->up ? sum / all->up : 1;
}

static hr_bound bound_of(const hri_runner *slowest, double run, double moving)
{
    if (run < moving) {
        return HR_BOUND_LINK;
    }
    return slowest->accelerator->in_place && slowest->pace < 2 * slowest->memory
               ? HR_BOUND_HOST_MEMORY
               : HR_BOUND_COMPUTE;
}

hr_status hri_split_foresee(const hri_splitting *s, double *seconds,
                            hr_bound *bound)
{
    const double slower = crowd(s);
    double held = 0, home_held = 0, last = 0, moving = 0;
    const hri_runner *slowest = &s->runners[0];
    for (uint32_t i = 0; i < s->count; i++) {
        hri_runner *r = &s->runners[i];
        hr_status status = hri_split_cost(s, i, &s->bands[i], &r->cost);
        if (status != HR_OK) {
            return status;
        }
        if (s->bands[i].count == 0) {
            continue;
        }
        const double sharers = hri_split_sharers(s, i);
        const double link = (r->cost.link + r->cost.home) * sharers * slower;
        held += r->cost.held + enqueueing;
        home_held += r->cost.home_held;
        if (held + link + r->cost.run * sharers > last) {
            last = held + link + r->cost.run * sharers;
            moving = held - enqueueing + link;
            slowest = r;
        }
    }
    *seconds = last + home_held;
    *bound = bound_of(slowest, last - moving, moving + home_held);
    return HR_OK;
}
