/* SPDX-License-Identifier: MIT */
/* Bands of rows: which rows they have, and what they read. */
#include <stdlib.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
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

uint32_t hri_split_first(const hri_splitting *s)
{
    uint32_t i = 0;
    while (s->bands[i].count == 0) {
        i++;
    }
    return i;
}

hr_status hri_bands_cut(const hri_distribution *d, const double *weights,
                        int64_t before, int64_t after, hr_band *bands,
                        bool *held)
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
    HRI_USUAL_ARITHMETIC;
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
                 ? hri_bands_cut(&d, weights, before, after, bands, &held)
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
    const uint32_t d = hri_split_dimension(s, i);
    if (!hri_split_is_whole(s, i)) {
        const int64_t rows = hri_split_rows(s, i);
        hr_band own = {.first = band->first * rows};
        own.count = hri_min(band->count * rows, extent.size[d] - own.first);
        hri_band_reach(extent.size[d], a->before, a->after, &own);
        origin[d] = own.read_first;
        extent.size[d] = own.read_count;
    }
    *first = origin[d];
    return hr_view_section(a->view, origin, extent, view);
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
