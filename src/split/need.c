/* SPDX-License-Identifier: MIT */
/* What a band needs of an accelerator's memory. */
#include <stddef.h>

#include "arrays/array.h"
#include "base/size.h"
#include "split/split.h"

/* ---- arrays */

/* Whether argument j is a view of the same array as view k. */
static bool is_same(const hri_splitting *s, uint32_t j, uint32_t k)
{
    return hri_split_is_view(s, j) &&
           s->arguments[j].view.array == s->arguments[k].view.array;
}

/* Whether k is the first view of its array. */
static bool is_first(const hri_splitting *s, uint32_t k)
{
    uint32_t j = 0;
    while (!is_same(s, j, k)) {
        j++;
    }
    return j == k;
}

/* The part of the array of view k that a band needs, for all views of that
 * array or for those that are given whole. */
static hr_status find_region(const hri_splitting *s, uint32_t k,
                             const hr_band *band, bool whole_alone,
                             hri_boxes *region)
{
    hr_status status = HR_OK;
    for (uint32_t j = 0; j < s->kernel->parameter_count && status == HR_OK;
         j++) {
        hri_boxes boxes = {0};
        hr_view view;
        int64_t first;
        if (!is_same(s, j, k) || (whole_alone && !hri_split_is_whole(s, j))) {
            continue;
        }
        status = hri_split_argument(s, j, band, &view, &first);
        if (status == HR_OK) {
            status = hri_view_region(&view, &boxes);
        }
        boxes.linear = region->linear || boxes.linear;
        if (status == HR_OK && region->count == 0) {
            *region = boxes; /* there may be very many */
            boxes = (hri_boxes){0};
        } else if (status == HR_OK) {
            status = hri_boxes_add_all(region, &boxes);
            region->linear = boxes.linear;
        }
        hri_boxes_finish(&boxes);
    }
    return status;
}

/* The buffer that a band needs at a place for an array, and the one that is
 * freed then, in bytes. 0: none. */
typedef struct lack {
    uint64_t bytes, freed;
} lack;

static hr_status find_lack_of(const hri_splitting *s, uint32_t k, int place,
                              const hr_band *band, bool whole_alone, lack *l)
{
    hri_boxes region = {0};
    hr_status status = find_region(s, k, band, whole_alone, &region);
    *l = (lack){0, 0};
    if (status == HR_OK && region.count > 0) {
        l->bytes = hri_store_lack(s->arguments[k].view.array, place, &region,
                                  &l->freed);
    }
    hri_boxes_finish(&region);
    return status;
}

/* What a band lacks of the array of view k: all of it, and what views lack that
 * are given whole. Where there is a difference, the other views can stream. */
static hr_status find_lack(const hri_splitting *s, uint32_t k, int place,
                           const hr_band *band, lack *all, lack *whole)
{
    hr_status status = find_lack_of(s, k, place, band, false, all);
    *whole = (lack){0, 0};
    return status == HR_OK && all->bytes > 0
               ? find_lack_of(s, k, place, band, true, whole)
               : status;
}

hr_status hri_split_streams(const hri_splitting *s, uint32_t i,
                            const hr_band *band, uint32_t k, bool *streams)
{
    const int place = hri_place_of(s->context, s->participants[i].accelerator);
    lack all, whole;
    *streams = false;
    if (!hri_split_is_view(s, k) || hri_split_is_whole(s, k)) {
        return HR_OK;
    }
    hr_status status = find_lack(s, k, place, band, &all, &whole);
    *streams = status == HR_OK && all.bytes > whole.bytes;
    return status;
}

hr_status hri_split_hold(const hri_splitting *s, uint32_t i,
                         const hr_band *band)
{
    const int place = hri_place_of(s->context, s->participants[i].accelerator);
    hr_status status = HR_OK;
    for (uint32_t k = 0;
         k < s->kernel->parameter_count && status == HR_OK && place != HRI_HOST;
         k++) {
        hri_boxes region = {0};
        if (!hri_split_is_view(s, k) || !is_first(s, k) ||
            hri_split_is_copied(s, k, band)) {
            continue;
        }
        status = find_region(s, k, band, false, &region);
        if (status == HR_OK && region.count > 0) {
            status = hri_store_hold(s->arguments[k].view.array, place, &region);
        }
        hri_boxes_finish(&region);
    }
    return status;
}

/* ---- slots */

uint32_t hri_split_slots(hr_access access)
{
    return access == HR_INOUT ? 3 : 2;
}

int64_t hri_split_slot_rows(const hri_splitting *s, uint32_t k,
                            const hr_band *band, int64_t chunk)
{
    const hr_argument *a = &s->arguments[k];
    const int64_t rows = hri_split_rows(s, k);
    const int64_t size = a->view.extent.size[hri_split_dimension(s, k)];
    hr_band own = {.first = band->first * rows};
    own.count = hri_min(band->count * rows, size - own.first);
    hri_band_reach(size, a->before, a->after, &own);
    return hri_min(own.read_count,
                   hri_min(chunk * rows, own.count) + a->before + a->after);
}

uint64_t hri_split_row_bytes(const hri_splitting *s, uint32_t k)
{
    const hr_view *v = &s->arguments[k].view;
    const int64_t rows = v->extent.size[hri_split_dimension(s, k)];
    return (uint64_t)(hr_extent_count(v->extent) / rows) * v->element_bytes;
}

/* ---- what a band needs */

static void take(hri_need *n, lack l)
{
    uint64_t sum;
    sum = hri_add(n->taken, l.bytes, &sum) ? sum : UINT64_MAX;
    n->most = sum > n->most ? sum : n->most;
    n->largest = l.bytes > n->largest ? l.bytes : n->largest;
    n->taken = sum - l.freed;
}

/* Take the slots of all views of the array of view k. */
static void take_slots(const hri_splitting *s, uint32_t k, const hr_band *band,
                       int64_t chunk, hri_need *n)
{
    for (uint32_t j = k; j < s->kernel->parameter_count; j++) {
        if (!is_same(s, j, k) || hri_split_is_whole(s, j)) {
            continue;
        }
        const int64_t rows = hri_split_slot_rows(s, j, band, chunk);
        const uint64_t bytes = (uint64_t)rows * hri_split_row_bytes(s, j);
        const uint32_t slots = hri_split_slots(s->arguments[j].access);
        for (uint32_t i = 0; i < slots; i++) {
            take(n, (lack){bytes, 0});
            n->slots += bytes;
        }
    }
}

/* Take the copy of argument k, if the participant does not have it. */
static void take_copy(const hri_splitting *s, uint32_t i, uint32_t k,
                      hri_need *n)
{
    if (s->participants[i].copies[k] == NULL) {
        const uint64_t bytes = hri_split_copy_bytes(s, k);
        take(n, (lack){bytes, 0});
        n->copies += bytes;
    }
}

/* Where the first band is, copies of others come one at a time. Its slots are
 * gone then. */
static void take_folded(const hri_splitting *s, const hr_band *band,
                        hri_need *n)
{
    uint64_t most = 0;
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        if (hri_split_is_combined(s, k) && band->first == 0 &&
            band->count < s->domain.size[0]) {
            const uint64_t bytes = hri_split_copy_bytes(s, k);
            most = bytes > most ? bytes : most;
        }
    }
    n->taken -= n->slots;
    take(n, (lack){most, most});
    n->copies += most;
}

/* The old memory of an array is freed only after its values have moved to the
 * new one. */
hr_status hri_split_need(const hri_splitting *s, uint32_t i,
                         const hr_band *band, int64_t chunk, hri_need *n)
{
    const int place = hri_place_of(s->context, s->participants[i].accelerator);
    hr_status status = HR_OK;
    *n = (hri_need){0};
    if (place == HRI_HOST) {
        return HR_OK;
    }
    if (s->beside != NULL) {
        n->taken = n->most = s->beside(s, i, band);
    }
    for (uint32_t k = 0; k < s->kernel->parameter_count && status == HR_OK;
         k++) {
        lack all, whole;
        if (hri_split_is_copied(s, k, band)) {
            take_copy(s, i, k, n);
            continue;
        }
        if (!hri_split_is_view(s, k) || !is_first(s, k)) {
            continue;
        }
        status = find_lack(s, k, place, band, &all, &whole);
        const bool streams = chunk > 0 && all.bytes > whole.bytes;
        take(n, streams ? whole : all);
        if (streams) {
            take_slots(s, k, band, chunk, n);
        }
    }
    take_folded(s, band, n);
    return status;
}

hr_status hri_split_fits(const hri_splitting *s, uint32_t i,
                         const hr_band *band, int64_t chunk, bool *fits)
{
    hri_accelerator *a = s->participants[i].accelerator;
    hri_need n;
    hr_status status = hri_split_need(s, i, band, chunk, &n);
    *fits = n.most <= hri_accelerator_room(a) &&
            n.largest <= a->device->info.allocation_bytes;
    return status;
}
