/* SPDX-License-Identifier: MIT */
/* Predicting the bands of a launch: bytes from what lies where, and time from
 * measurements of links, memory and the kernel. */
#include <math.h>

#include "arrays/array.h"
#include "base/size.h"
#include "model/model.h"
#include "split/split.h"

/* ---- the kernel */

/* Bytes that the kernel reads and writes for a row, if it does each once. At
 * least one, so that no row takes no time. */
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

/* Get the rates of memory and links, and the overheads of launching. */
static hr_status know_rates(hr_context *context, hri_participant *r)
{
    HRI_TRY(hri_bandwidth_know(context, r->accelerator, &r->bandwidth));
    HRI_TRY(hri_model_know_link(context, r->accelerator));
    HRI_TRY(hri_model_overheads(r->accelerator, true, &r->overheads));
    for (int kind = 0; kind < HRI_LINKS; kind++) {
        const bool staged = kind == HRI_STAGED;
        r->flows[kind] = hri_model_link_use(r->accelerator, staged, staged);
    }
    return HR_OK;
}

/* Accelerators that were not measured are assumed to be as much slower or
 * faster than measured ones as their memory is. If none was measured, only
 * memory counts. */
hr_status hri_split_learn(const hri_splitting *s)
{
    const hri_participant *known = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        hri_participant *r = &s->participants[i];
        HRI_TRY(know_rates(s->context, r));
        r->memory = row_bytes(s) / r->bandwidth * (s->times > 0 ? s->times : 1);
        r->row_seconds = hri_model_kernel(r->accelerator, s->kernel,
                                          hri_split_row_points(s));
        known = known == NULL && r->row_seconds > 0 ? r : known;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        hri_participant *r = &s->participants[i];
        if (r->row_seconds == 0) {
            r->row_seconds =
                known != NULL ? known->row_seconds / known->memory * r->memory
                              : r->memory;
        }
    }
    return HR_OK;
}

/* ---- bytes */

/* The way between an array's host memory and an accelerator. */
typedef struct route {
    double up, down; /* bytes/s */
    int kind;        /* HRI_PINNED or HRI_STAGED */
} route;

/* A link's rate, guessed if it was not measured. */
static double rate_of(double measured)
{
    return measured > 0 ? measured : hri_guess(HRI_GUESS_LINK);
}

/* All memory counts as pinned if the accelerator is fast with any memory. In
 * place, the rows that must be copied are those that others have, so their
 * links count. An order of magnitude is enough there. */
static route route_of(const hri_participant *r, const hr_array *array)
{
    const hri_accelerator *a = r->accelerator;
    hri_device *device = a->device;
    const hri_store *s = &array->stores[HRI_HOST];
    const size_t bytes = (size_t)array->size[0] * s->slice;
    const bool pinned = a->in_place || !device->info.staged ||
                        s->host == NULL ||
                        device->ops->is_pinned(device, s->host, bytes);
    const int kind = pinned ? HRI_PINNED : HRI_STAGED;
    const hri_link *link = &r->flows[kind].own;
    return (route){rate_of(link->up), rate_of(link->down), kind};
}

/* Add the seconds of bytes. Links between peers are assumed to be no slower
 * than the host's. */
static void add_traffic(hri_cost *c, const route *r, const hr_traffic *t,
                        bool whole)
{
    const double home = (double)t->down / r->down;
    const double seconds = (double)(t->up + t->peer) / r->up + home;
    c->traffic.up += t->up;
    c->traffic.down += t->down;
    c->traffic.peer += t->peer;
    c->link[r->kind] += seconds;
    c->home[r->kind] += home;
    c->whole += whole ? seconds : 0;
}

/* Whether what a band writes of view k goes home. It does so where its home is
 * the host, and where it streams. */
static hr_status goes_home(const hri_splitting *s, const hri_participant *p,
                           const hr_band *band, uint32_t k, bool *goes)
{
    const hr_argument *a = &s->arguments[k];
    const bool written = (a->access & HR_OUT) != 0 && !p->accelerator->in_place;
    *goes = written && a->view.array->home == HRI_HOST;
    if (!written || *goes || p->chunk == 0) {
        return HR_OK;
    }
    return hri_split_streams(s, (uint32_t)(p - s->participants), band, k, goes);
}

/* What the accelerator at a place lacks of a view. */
static hr_status predict_view(const hr_view *view, int place, hr_traffic *t)
{
    hri_boxes boxes = {0};
    hr_status status = hri_view_boxes(view, &boxes);
    if (status == HR_OK) {
        status = hri_array_predict(view->array, place, &boxes, t);
    }
    hri_boxes_finish(&boxes);
    return status;
}

static hr_status add_view(const hri_splitting *s, uint32_t i,
                          const hri_participant *participant,
                          const hr_band *band, hri_cost *cost)
{
    const hr_argument *argument = &s->arguments[i];
    const bool fresh = s->fresh && hri_split_is_combined(s, i);
    const int place = hri_place_of(s->context, participant->accelerator);
    const route r = route_of(participant, argument->view.array);
    bool home = false;
    hr_traffic t = {0};
    hr_view view = argument->view;
    int64_t first;
    HRI_TRY(hri_split_view_rows(s, i, band, &view, &first));
    if ((argument->access & HR_IN) != 0 && !fresh) {
        HRI_TRY(predict_view(&view, place, &t));
    }
    HRI_TRY(goes_home(s, participant, band, i, &home));
    if (home) {
        t.down += (uint64_t)hr_extent_count(view.extent) * view.element_bytes;
    }
    add_traffic(cost, &r, &t, hri_split_is_whole(s, i));
    return HR_OK;
}

/* Add what a copy of argument k costs participant p: setting it to the neutral
 * element, and folding it where the first band is. Nothing else goes on then,
 * so the links are alone. */
static void add_copy(const hri_splitting *s, uint32_t k,
                     const hri_participant *p, hri_cost *cost)
{
    const hri_participant *first = &s->participants[hri_split_first(s)];
    const double bytes = (double)hri_split_copy_bytes(s, k);
    const hri_link *from = &p->flows[HRI_PINNED].own,
                   *to = &first->flows[HRI_PINNED].own;
    hr_traffic t = {0};
    hri_traffic_predict(s->context, hri_place_of(s->context, p->accelerator),
                        hri_place_of(s->context, first->accelerator),
                        hri_split_copy_bytes(s, k), &t);
    const double down = (double)(t.down + t.peer), up = (double)t.up;
    cost->traffic.up += t.up;
    cost->traffic.down += t.down;
    cost->traffic.peer += t.peer;
    cost->run += bytes / p->bandwidth;
    cost->fold += down / rate_of(from->down) + up / rate_of(to->up) +
                  3 * bytes / first->bandwidth + first->overheads.wait;
}

hr_status hri_split_cost(const hri_splitting *s, uint32_t i,
                         const hr_band *band, hri_cost *cost)
{
    const hri_participant *r = &s->participants[i];
    *cost = (hri_cost){.run = r->row_seconds * (double)band->count};
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        if (band->count > 0 && hri_split_is_copied(s, k, band)) {
            add_copy(s, k, r, cost);
        } else if (hri_split_is_view(s, k) && band->count > 0) {
            HRI_TRY(add_view(s, k, r, band, cost));
        }
    }
    return HR_OK;
}

/* ---- time */

double hri_split_seconds(const hri_participant *p, const hr_band *band,
                         double up, double home, double run)
{
    const double chunks =
        p->chunk > 0 ? (double)hri_ceil_div(band->count, p->chunk) : 1;
    const double all = up + home + run, most = fmax(fmax(up, home), run);
    return most + (all - most) / chunks;
}

/* Seconds of one direction, beside the links of others. */
static double seconds_beside(const hri_participant *p, const double *seconds)
{
    return seconds[HRI_PINNED] * p->slower[HRI_PINNED] +
           seconds[HRI_STAGED] * p->slower[HRI_STAGED];
}

/* Set how much slower links of this kind are when all accelerators with rows
 * use theirs. 1 where this was not measured. */
static void set_slower(const hri_splitting *s, int kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->bands[i].count > 0) {
            s->flows[count++] = s->participants[i].flows[kind];
        }
    }
    hri_model_link_uses(s->context, s->flows, count);
    for (uint32_t i = 0, k = 0; i < s->count; i++) {
        double *slower = &s->participants[i].slower[kind];
        *slower = 1;
        if (s->bands[i].count > 0) {
            const hri_link_use *f = &s->flows[k++];
            *slower = f->beside.up > 0 ? f->alone.up / f->beside.up : 1;
        }
    }
}

static hr_bound bound_of(const hri_participant *slowest, double run,
                         double moving)
{
    if (run < moving) {
        return HR_BOUND_LINK;
    }
    return slowest->accelerator->in_place &&
                   slowest->row_seconds < 2 * slowest->memory
               ? HR_BOUND_HOST_MEMORY
               : HR_BOUND_COMPUTE;
}

/* Seconds of host memory for everything that the host does in it, and for what
 * copies of others read and write there at the same time. 0 where the host has
 * no rows. */
static double host_memory(const hri_splitting *s)
{
    hri_host_load load = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        const hri_participant *r = &s->participants[i];
        const hr_traffic *t = &r->cost.traffic;
        const double bytes = (double)(t->up + t->down);
        if (s->bands[i].count == 0) {
            continue;
        }
        if (r->accelerator->in_place) {
            load.rate = r->bandwidth;
            load.in_place += row_bytes(s) * (double)s->bands[i].count;
        } else if (r->cost.link[HRI_STAGED] > 0) {
            load.staged += bytes;
        } else {
            load.copied += bytes;
        }
    }
    return hri_host_memory_seconds(&load);
}

hr_status hri_split_predict(const hri_splitting *s, double *seconds,
                            hr_bound *bound)
{
    double begin = 0, fold = 0;
    set_slower(s, HRI_PINNED);
    set_slower(s, HRI_STAGED);
    *seconds = 0;
    *bound = HR_BOUND_COMPUTE;
    for (uint32_t i = 0; i < s->count; i++) {
        hri_participant *r = &s->participants[i];
        hri_cost *c = &r->cost;
        HRI_TRY(hri_split_cost(s, i, &s->bands[i], c));
        if (s->bands[i].count == 0) {
            continue;
        }
        const double sharers = hri_split_count_siblings(s, i);
        const double moving = sharers * seconds_beside(r, c->link);
        const double home = sharers * seconds_beside(r, c->home);
        const double run = sharers * c->run;
        const double longest =
            r->chunk > 0 ? fmax(moving - home, home) : moving;
        begin += r->overheads.wait;
        fold += c->fold;
        const double end = begin + hri_split_seconds(r, &s->bands[i],
                                                     moving - home, home, run);
        if (end > *seconds) {
            *seconds = end;
            *bound = bound_of(r, run, longest);
        }
    }
    const double shared = host_memory(s);
    if (shared > *seconds) {
        *seconds = shared;
        *bound = HR_BOUND_HOST_MEMORY;
    }
    *bound = fold > *seconds ? HR_BOUND_LINK : *bound;
    *seconds += fold; /* behind all bands */
    return HR_OK;
}
