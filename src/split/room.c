/* SPDX-License-Identifier: MIT */
/* Memory for bands: in which chunks an accelerator streams a band that it
 * cannot hold, and bands that fit. */
#include <stddef.h>

#include "arrays/array.h"
#include "base/size.h"
#include "split/split.h"

/* ---- chunks */

/* A band that streams. */
typedef struct streamed {
    const hri_splitting *split;
    uint32_t index;
    const hr_band *band;
    int64_t grain;
} streamed;

static hr_status fits_grains(void *data, int64_t grains, bool *holds)
{
    const streamed *x = data;
    return hri_split_fits(x->split, x->index, x->band, grains * x->grain,
                          holds);
}

/* The rows of the least chunk; 0: nothing streams, and the band is held. */
static int64_t least_chunk(const hri_splitting *s)
{
    return s->at_once ? 0 : hri_split_grain(s);
}

/* Grains of so few bytes that the first chunk goes up, and the last one home,
 * in little of the time. */
static int64_t grains_that_suffice(const streamed *x)
{
    const uint64_t most = (uint64_t)64 << 20;
    uint64_t bytes = 1;
    for (uint32_t k = 0; k < x->split->kernel->parameter_count; k++) {
        if (hri_split_is_view(x->split, k) &&
            !hri_split_is_whole(x->split, k)) {
            bytes += hri_split_row_bytes(x->split, k) *
                     (uint64_t)hri_split_rows(x->split, k);
        }
    }
    return hri_max(1, (int64_t)(most / bytes) / x->grain);
}

hr_status hri_split_chunk(const hri_splitting *s, uint32_t i,
                          const hr_band *band, int64_t *chunk)
{
    streamed x = {s, i, band, hri_split_grain(s)};
    const int64_t grains = hri_ceil_div(band->count, x.grain);
    int64_t most = 1;
    bool held = false;
    *chunk = 0;
    hr_status status = hri_split_fits(s, i, band, 0, &held);
    if (status != HR_OK || held) {
        return status;
    }
    status = s->at_once ? HR_OK : fits_grains(&x, 1, &held);
    if (status == HR_OK && !held) {
        *chunk = HRI_NO_CHUNK;
    } else if (status == HR_OK) {
        const int64_t end = hri_min(grains, grains_that_suffice(&x)) + 1;
        status = hri_bisect(1, end, fits_grains, &x, &most);
        /* all chunks of about the same size */
        const int64_t count = hri_ceil_div(grains, most);
        *chunk = hri_ceil_div(grains, count) * x.grain;
    }
    return status;
}

/* ---- limits */

/* The memory limit that accelerator i needs for a band, at once or in the least
 * chunks, and how much of it is for copies of combined views. */
static hr_status find_limit(const hri_splitting *s, uint32_t i,
                            const hr_band *band, uint64_t *limit,
                            uint64_t *copies)
{
    hri_accelerator *a = s->participants[i].accelerator;
    hri_need all, least = {0};
    hr_status status = hri_split_need(s, i, band, 0, &all);
    if (status == HR_OK) {
        status = hri_split_need(s, i, band, least_chunk(s), &least);
    }
    *limit = all.most < least.most ? all.most : least.most;
    *copies = all.copies;
    if (!hri_add(*limit, a->device->info.gemm_bytes + hri_accelerator_held(a),
                 limit)) {
        *limit = UINT64_MAX;
    }
    return status;
}

/* Find the memory limit with which equal bands fit everywhere. */
static hr_status find_common_limit(const hri_splitting *s, uint64_t *limit)
{
    const int64_t rows = s->domain.size[0];
    const int64_t share =
        hri_round_up(hri_ceil_div(rows, s->count), hri_split_grain(s));
    hr_status status = HR_OK;
    int64_t first = 0;
    *limit = 0;
    for (uint32_t i = 0; i < s->count && first < rows && status == HR_OK; i++) {
        const hr_band band = {.first = first,
                              .count = hri_min(share, rows - first)};
        uint64_t needed = 0, copies = 0;
        status = find_limit(s, i, &band, &needed, &copies);
        *limit = needed > *limit ? needed : *limit;
        first += band.count;
    }
    return status;
}

/* No limit helps where a buffer is larger than the accelerator allocates. */
static hr_status check_buffers(const hri_splitting *s, uint32_t i)
{
    const hri_accelerator *a = s->participants[i].accelerator;
    const uint64_t most = a->device->info.allocation_bytes;
    hri_need n;
    const hr_status status =
        hri_split_need(s, i, &s->bands[i], least_chunk(s), &n);
    return status != HR_OK || n.largest <= most
               ? status
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "%s: the least part needs a buffer of %llu bytes, "
                          "but %s allocates at most %llu",
                          hri_split_name(s), (unsigned long long)n.largest,
                          a->path, (unsigned long long)most);
}

/* Say what is needed when band i does not even fit in chunks. */
static hr_status refuse(const hri_splitting *s, uint32_t i)
{
    const hr_band *band = &s->bands[i];
    const hri_accelerator *a = s->participants[i].accelerator;
    const bool chosen = s->options.weights == NULL && s->count > 1;
    uint64_t needed = 0, copies = 0;
    hr_status status = check_buffers(s, i);
    if (status == HR_OK) {
        status = chosen ? find_common_limit(s, &needed)
                        : find_limit(s, i, band, &needed, &copies);
    }
    if (status != HR_OK) {
        return status;
    }
    if (chosen) {
        return hri_fail(
            HR_ERROR_OUT_OF_MEMORY,
            "%s: the launch does not fit into the memory limits of "
            "%u accelerators; %llu bytes for each are enough for it",
            hri_split_name(s), s->count, (unsigned long long)needed);
    }
    if (s->at_once) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: %s needs %llu bytes for its part, but its limit "
                        "is %llu",
                        hri_split_name(s), a->path, (unsigned long long)needed,
                        (unsigned long long)a->memory_limit);
    }
    return copies > 0
               ? hri_fail(
                     HR_ERROR_OUT_OF_MEMORY,
                     "%s: a band of %lld row%s needs %llu bytes, %llu of them "
                     "for copies of combined views, but %s's limit is %llu",
                     hri_split_name(s), (long long)band->count,
                     hri_plural((uint64_t)band->count),
                     (unsigned long long)needed, (unsigned long long)copies,
                     a->path, (unsigned long long)a->memory_limit)
               : hri_fail(
                     HR_ERROR_OUT_OF_MEMORY,
                     "%s: a band of %lld row%s does not fit into %s's limit of "
                     "%llu bytes: even a part at a time it needs %llu",
                     hri_split_name(s), (long long)band->count,
                     hri_plural((uint64_t)band->count), a->path,
                     (unsigned long long)a->memory_limit,
                     (unsigned long long)needed);
}

hr_status hri_split_find_chunks(const hri_splitting *s)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        int64_t *chunk = &s->participants[i].chunk;
        *chunk = 0;
        if (s->bands[i].count > 0) {
            status = hri_split_chunk(s, i, &s->bands[i], chunk);
        }
    }
    return status;
}

hr_status hri_split_chunks(const hri_splitting *s)
{
    hr_status status = hri_split_find_chunks(s);
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        if (s->participants[i].chunk == HRI_NO_CHUNK) {
            status = refuse(s, i);
        }
    }
    return status;
}

/* ---- cutting */

/* hri_fits: the accelerator holds the band at once, or in chunks. */
static hr_status fits_at_once(void *data, uint32_t i, int64_t first,
                              int64_t count, bool *held)
{
    const hr_band band = {.first = first, .count = count};
    return hri_split_fits(data, i, &band, 0, held);
}

static hr_status fits_in_chunks(void *data, uint32_t i, int64_t first,
                                int64_t count, bool *held)
{
    const hr_band band = {.first = first, .count = count};
    hr_status status = fits_at_once(data, i, first, count, held);
    return status == HR_OK && !*held
               ? hri_split_fits(data, i, &band, least_chunk(data), held)
               : status;
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

hr_status hri_split_cut(hri_splitting *s, const double *weights, hri_hold hold,
                        bool *held)
{
    static hri_fits *const rules[] = {[HRI_HOLD_ANY] = NULL,
                                      [HRI_HOLD_ALL] = fits_at_once,
                                      [HRI_HOLD_CHUNKS] = fits_in_chunks};
    int64_t before, after;
    const hri_distribution d = {.caller = hri_split_name(s),
                                .units = s->domain.size[0],
                                .grain = hri_split_grain(s),
                                .portions = s->portions,
                                .count = s->count,
                                .fits = rules[hold],
                                .data = s};
    find_reach(s, &before, &after);
    hr_status status =
        hri_bands_cut(&d, weights, before, after, s->bands, held);
    for (uint32_t i = 0; i < s->count; i++) {
        s->bands[i].accelerator = (uint32_t)(s->participants[i].accelerator -
                                             s->context->accelerators);
        s->participants[i].chunk = 0;
    }
    return status;
}
