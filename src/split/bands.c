/* SPDX-License-Identifier: MIT */
/* Bands of rows: which rows they have, what they read, and whether memory can
 * hold them. */
#include <stddef.h>
#include <stdlib.h>

#include "arrays/array.h"
#include "base/size.h"
#include "split/split.h"

enum { SIZE_BITS = 62 };

/* ---- rows only */

void hri_band_reach(int64_t size, int64_t before, int64_t after, hr_band *band)
{
    const int64_t end = band->first + band->count;
    const bool empty = band->count == 0;
    before = empty ? 0 : hri_min(band->first, before);
    after = empty ? 0 : hri_min(size - end, after);
    band->read_first = band->first - before;
    band->read_count = before + band->count + after;
}

static hr_status check(int64_t size, uint32_t count, int64_t before,
                       int64_t after, const hr_band *bands)
{
    if (bands == NULL) {
        return hri_fail(HR_ERROR_INVALID, "split: bands is NULL");
    }
    if (size < 1 || size > INT64_C(1) << SIZE_BITS) {
        return hri_fail(HR_ERROR_INVALID, "split: %lld rows, not 1 to 2^62",
                        (long long)size);
    }
    if (count == 0) {
        return hri_fail(HR_ERROR_INVALID, "split: %lld rows into 0 bands",
                        (long long)size);
    }
    if (before < 0 || after < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "split: %lld rows before and %lld after, not 0 or more",
                        (long long)before, (long long)after);
    }
    return HR_OK;
}

/* Make the bands for these weights (NULL: equal ones). If not *held, the bands
 * stay as they were. */
static hr_status cut(const hri_distribution *d, const double *weights,
                     int64_t before, int64_t after, hr_band *bands, bool *held)
{
    hri_portion *p = d->portions;
    for (uint32_t i = 0; i < d->count; i++) {
        p[i].weight = weights != NULL ? weights[i] : 1;
        p[i].most = INT64_MAX;
    }
    hr_status status = hri_distribute(d, held);
    for (uint32_t i = 0; i < d->count && status == HR_OK && *held; i++) {
        bands[i] = (hr_band){
            .accelerator = i, .first = p[i].first, .count = p[i].count};
        hri_band_reach(d->units, before, after, &bands[i]);
    }
    return status;
}

hr_status hr_split(int64_t size, const double *weights, uint32_t count,
                   int64_t before, int64_t after, hr_band *bands)
{
    bool held;
    hr_status status = check(size, count, before, after, bands);
    if (status != HR_OK) {
        return status;
    }
    const hri_distribution d = {.caller = "split",
                                .units = size,
                                .grain = 1,
                                .portions = calloc(count, sizeof(hri_portion)),
                                .count = count};
    status = d.portions != NULL
                 ? cut(&d, weights, before, after, bands, &held)
                 : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "split: no memory for %u bands", count);
    free(d.portions);
    return status;
}

/* ---- what bands read of views */

hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view, int64_t *first)
{
    const hr_argument *a = &s->arguments[i];
    int64_t origin[HR_MAX_RANK] = {0};
    hr_extent extent = a->view.extent;
    if (!a->whole) {
        hr_band own = *band;
        hri_band_reach(extent.size[0], a->before, a->after, &own);
        origin[0] = own.read_first;
        extent.size[0] = own.read_count;
    }
    *first = origin[0];
    return hr_view_section(a->view, origin, extent, view);
}

/* ---- memory */

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

/* The part of the array of view k that a band needs, for this view and later
 * ones of the same array. */
static hr_status find_region(const hri_splitting *s, uint32_t k,
                             const hr_band *band, hri_boxes *region)
{
    hr_status status = HR_OK;
    for (uint32_t j = k; j < s->kernel->parameter_count && status == HR_OK;
         j++) {
        hri_boxes boxes = {0};
        hr_view view;
        int64_t first;
        if (!is_same(s, j, k)) {
            continue;
        }
        status = hri_split_argument(s, j, band, &view, &first);
        if (status == HR_OK) {
            status = hri_view_region(&view, &boxes);
        }
        if (status == HR_OK) {
            status = hri_boxes_add_all(region, &boxes);
        }
        region->linear = region->linear || boxes.linear;
        hri_boxes_finish(&boxes);
    }
    return status;
}

/* Find what a band needs that accelerator i lacks: the most bytes at a time,
 * and the largest buffer. The old memory of an array is freed only after its
 * values have moved to the new one. */
static hr_status find_lack(const hri_splitting *s, uint32_t i,
                           const hr_band *band, uint64_t *most,
                           uint64_t *largest)
{
    const hri_accelerator *a = s->participants[i].accelerator;
    const int place = hri_place_of(s->context, a);
    uint64_t taken = 0; /* so far, less what was freed */
    hr_status status = HR_OK;
    *most = *largest = 0;
    for (uint32_t k = 0;
         k < s->kernel->parameter_count && place != HRI_HOST && status == HR_OK;
         k++) {
        hri_boxes region = {0};
        if (!hri_split_is_view(s, k) || !is_first(s, k)) {
            continue;
        }
        status = find_region(s, k, band, &region);
        if (status == HR_OK) {
            uint64_t freed, sum;
            const uint64_t bytes = hri_store_lack(s->arguments[k].view.array,
                                                  place, &region, &freed);
            sum = hri_add(taken, bytes, &sum) ? sum : UINT64_MAX;
            *most = sum > *most ? sum : *most;
            *largest = bytes > *largest ? bytes : *largest;
            taken = sum - freed;
        }
        hri_boxes_finish(&region);
    }
    return status;
}

/* Whether accelerator i has memory for what a band lacks there. */
static hr_status fits_rows(void *data, uint32_t i, int64_t first, int64_t count,
                           bool *fits)
{
    const hri_splitting *s = data;
    const hr_band band = {.first = first, .count = count};
    hri_accelerator *a = s->participants[i].accelerator;
    uint64_t most, largest;
    hr_status status = find_lack(s, i, &band, &most, &largest);
    *fits = most <= hri_accelerator_room(a) &&
            largest <= a->device->info.allocation_bytes;
    return status;
}

hr_status hri_split_limit(const hri_splitting *s, uint32_t i,
                          const hr_band *band, uint64_t *limit)
{
    hri_accelerator *a = s->participants[i].accelerator;
    uint64_t largest;
    hr_status status = find_lack(s, i, band, limit, &largest);
    if (!hri_add(*limit, a->device->info.gemm_bytes + hri_accelerator_held(a),
                 limit)) {
        *limit = UINT64_MAX;
    }
    return status;
}

/* ---- bands of a launch */

int64_t hri_split_points(const hri_splitting *s)
{
    return hr_extent_count(s->domain) / s->domain.size[0];
}

uint32_t hri_split_sharers(const hri_splitting *s, uint32_t i)
{
    const hri_participant *p = s->participants;
    uint32_t count = 0;
    for (uint32_t j = 0; j < s->count; j++) {
        count += s->bands[j].count > 0 &&
                 hri_accelerators_same_kind(p[j].accelerator, p[i].accelerator);
    }
    return count;
}

/* The rows near its own that any argument of a point may read. */
static void find_reach(const hri_splitting *s, int64_t *before, int64_t *after)
{
    const int64_t rows = s->domain.size[0];
    *before = *after = 0;
    for (uint32_t i = 0; i < s->kernel->parameter_count; i++) {
        if (hri_split_is_view(s, i)) {
            const hr_argument *a = &s->arguments[i];
            *before = hri_max(*before, a->whole ? rows : a->before);
            *after = hri_max(*after, a->whole ? rows : a->after);
        }
    }
}

hr_status hri_split_cut(hri_splitting *s, const double *weights, bool limited,
                        bool *held)
{
    const int64_t rows = s->domain.size[0];
    int64_t before, after;
    const hri_distribution d = {
        .caller = s->kernel->name,
        .units = rows,
        .grain = s->options.tile != NULL ? s->options.tile->size[0] : 1,
        .portions = s->portions,
        .count = s->count,
        .fits = limited ? fits_rows : NULL,
        .data = s};
    find_reach(s, &before, &after);
    hr_status status = cut(&d, weights, before, after, s->bands, held);
    for (uint32_t i = 0; i < s->count; i++) {
        s->bands[i].accelerator = (uint32_t)(s->participants[i].accelerator -
                                             s->context->accelerators);
    }
    return status;
}
