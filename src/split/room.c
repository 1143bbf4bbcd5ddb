/* SPDX-License-Identifier: MIT */
/* Memory for bands: what a band needs of an accelerator's memory, in which
 * chunks an accelerator streams a band that it cannot hold, and bands that
 * fit. */
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

/* Add the elements of argument j that a band needs to a set of boxes. */
static hr_status add_boxes(const hri_splitting *s, uint32_t j,
                           const hr_band *band, hri_boxes *boxes)
{
    hri_boxes added = {0};
    hr_view view;
    int64_t first;
    HRI_TRY(hri_split_view_rows(s, j, band, &view, &first));
    hr_status status = hri_view_boxes(&view, &added);
    if (status != HR_OK) {
        goto done;
    }
    added.linear = boxes->linear || added.linear;
    if (boxes->count == 0) {
        *boxes = added; /* there may be very many */
        return HR_OK;
    }
    status = hri_boxes_add_all(boxes, &added);
    boxes->linear = added.linear;
done:
    hri_boxes_finish(&added);
    return status;
}

/* The part of the array of view k that a band needs, for all views of that
 * array or for those that are given whole. */
static hr_status find_boxes(const hri_splitting *s, uint32_t k,
                            const hr_band *band, bool whole_alone,
                            hri_boxes *boxes)
{
    for (uint32_t j = 0; j < s->kernel->parameter_count; j++) {
        if (is_same(s, j, k) && (!whole_alone || hri_split_is_whole(s, j))) {
            HRI_TRY(add_boxes(s, j, band, boxes));
        }
    }
    return HR_OK;
}

/* The buffer that a band needs at a place for an array, and the one that is
 * freed then, in bytes. 0: none. */
typedef struct lack {
    uint64_t bytes, freed;
} lack;

static hr_status find_lack_of(const hri_splitting *s, uint32_t k, int place,
                              const hr_band *band, bool whole_alone, lack *l)
{
    hri_boxes boxes = {0};
    hr_status status = find_boxes(s, k, band, whole_alone, &boxes);
    *l = (lack){0, 0};
    if (status == HR_OK && boxes.count > 0) {
        l->bytes = hri_store_lack(s->arguments[k].view.array, place, &boxes,
                                  &l->freed);
    }
    hri_boxes_finish(&boxes);
    return status;
}

/* What a band lacks of the array of view k: all of it, and what views lack that
 * are given whole. The other views can stream if there is a difference. */
static hr_status find_lack(const hri_splitting *s, uint32_t k, int place,
                           const hr_band *band, lack *all, lack *whole)
{
    *whole = (lack){0, 0};
    HRI_TRY(find_lack_of(s, k, place, band, false, all));
    return all->bytes > 0 ? find_lack_of(s, k, place, band, true, whole)
                          : HR_OK;
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
    HRI_TRY(find_lack(s, k, place, band, &all, &whole));
    *streams = all.bytes > whole.bytes;
    return HR_OK;
}

/* Give the array of view k memory at a place, for what a band needs of it. */
static hr_status hold_array(const hri_splitting *s, uint32_t k, int place,
                            const hr_band *band)
{
    hri_boxes boxes = {0};
    hr_status status = find_boxes(s, k, band, false, &boxes);
    if (status == HR_OK && boxes.count > 0) {
        status = hri_store_hold(s->arguments[k].view.array, place, &boxes);
    }
    hri_boxes_finish(&boxes);
    return status;
}

hr_status hri_split_hold(const hri_splitting *s, uint32_t i,
                         const hr_band *band)
{
    const int place = hri_place_of(s->context, s->participants[i].accelerator);
    if (place == HRI_HOST) {
        return HR_OK;
    }
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        if (hri_split_is_view(s, k) && is_first(s, k) &&
            !hri_split_is_copied(s, k, band)) {
            HRI_TRY(hold_array(s, k, place, band));
        }
    }
    return HR_OK;
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
    hri_band_set_reach(size, a->before, a->after, &own);
    return hri_min(own.read_count,
                   hri_min(chunk * rows, own.count) + a->before + a->after);
}

/* Bytes of a row of view k. */
static uint64_t view_row_bytes(const hri_splitting *s, uint32_t k)
{
    const hr_view *v = &s->arguments[k].view;
    const int64_t rows = v->extent.size[hri_split_dimension(s, k)];
    return (uint64_t)(hr_extent_count(v->extent) / rows) * v->element_bytes;
}

/* ---- what a band needs */

/* What a band needs that its accelerator lacks, in bytes of buffers. */
typedef struct need {
    uint64_t taken;         /* so far, less what was freed */
    uint64_t most;          /* at a time */
    uint64_t largest;       /* of one buffer */
    uint64_t slots, copies; /* the parts of taken for these */
} need;

static void take_bytes(need *n, lack l)
{
    uint64_t sum;
    sum = hri_add(n->taken, l.bytes, &sum) ? sum : UINT64_MAX;
    n->most = sum > n->most ? sum : n->most;
    n->largest = l.bytes > n->largest ? l.bytes : n->largest;
    n->taken = sum - l.freed;
}

/* Take the slots of all views of the array of view k. */
static void take_slots(const hri_splitting *s, uint32_t k, const hr_band *band,
                       int64_t chunk, need *n)
{
    for (uint32_t j = k; j < s->kernel->parameter_count; j++) {
        if (!is_same(s, j, k) || hri_split_is_whole(s, j)) {
            continue;
        }
        const int64_t rows = hri_split_slot_rows(s, j, band, chunk);
        const uint64_t bytes = (uint64_t)rows * view_row_bytes(s, j);
        const uint32_t slots = hri_split_slots(s->arguments[j].access);
        for (uint32_t i = 0; i < slots; i++) {
            take_bytes(n, (lack){bytes, 0});
            n->slots += bytes;
        }
    }
}

/* Copies of other bands come to the accelerator of the first band, one at a
 * time. Its slots are gone then. */
static void take_folded(const hri_splitting *s, const hr_band *band, need *n)
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
    take_bytes(n, (lack){most, most});
    n->copies += most;
}

/* Find what a band needs on accelerator i. chunk: rows that stream at a time;
 * 0: nothing streams. The old memory of an array is freed only after its values
 * have moved to the new one. */
static hr_status find_need(const hri_splitting *s, uint32_t i,
                           const hr_band *band, int64_t chunk, need *n)
{
    const int place = hri_place_of(s->context, s->participants[i].accelerator);
    *n = (need){0};
    if (place == HRI_HOST) {
        return HR_OK;
    }
    if (s->extra_bytes != NULL) {
        n->taken = n->most = s->extra_bytes(s, i, band);
    }
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        lack all, whole;
        if (hri_split_is_copied(s, k, band)) {
            if (s->participants[i].copies[k] == NULL) {
                const uint64_t bytes = hri_split_copy_bytes(s, k);
                take_bytes(n, (lack){bytes, 0});
                n->copies += bytes;
            }
            continue;
        }
        if (!hri_split_is_view(s, k) || !is_first(s, k)) {
            continue;
        }
        HRI_TRY(find_lack(s, k, place, band, &all, &whole));
        const bool streams = chunk > 0 && all.bytes > whole.bytes;
        take_bytes(n, streams ? whole : all);
        if (streams) {
            take_slots(s, k, band, chunk, n);
        }
    }
    take_folded(s, band, n);
    return HR_OK;
}

/* Whether accelerator i has memory for that. */
static hr_status find_fit(const hri_splitting *s, uint32_t i,
                          const hr_band *band, int64_t chunk, bool *fits)
{
    hri_accelerator *a = s->participants[i].accelerator;
    need n;
    HRI_TRY(find_need(s, i, band, chunk, &n));
    *fits = n.most <= hri_accelerator_room(a) &&
            n.largest <= a->device->info.allocation_bytes;
    return HR_OK;
}

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
    return find_fit(x->split, x->index, x->band, grains * x->grain, holds);
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
            bytes += view_row_bytes(x->split, k) *
                     (uint64_t)hri_split_rows(x->split, k);
        }
    }
    return hri_max(1, (int64_t)(most / bytes) / x->grain);
}

hr_status hri_split_find_chunk(const hri_splitting *s, uint32_t i,
                               const hr_band *band, int64_t *chunk)
{
    streamed x = {s, i, band, hri_split_grain(s)};
    const int64_t grains = hri_ceil_div(band->count, x.grain);
    int64_t most = 1;
    bool held = false;
    *chunk = 0;
    HRI_TRY(find_fit(s, i, band, 0, &held));
    if (held) {
        return HR_OK;
    }
    if (!s->at_once) {
        HRI_TRY(fits_grains(&x, 1, &held));
    }
    if (!held) {
        *chunk = HRI_NO_CHUNK;
        return HR_OK;
    }
    const int64_t end = hri_min(grains, grains_that_suffice(&x)) + 1;
    HRI_TRY(hri_bisect(1, end, fits_grains, &x, &most));
    /* all chunks of about the same size */
    const int64_t count = hri_ceil_div(grains, most);
    *chunk = hri_ceil_div(grains, count) * x.grain;
    return HR_OK;
}

/* ---- limits */

/* The memory limit that accelerator i needs for a band, at once or in the least
 * chunks. *copies: the bytes of it for copies of combined views. */
static hr_status find_limit(const hri_splitting *s, uint32_t i,
                            const hr_band *band, uint64_t *limit,
                            uint64_t *copies)
{
    hri_accelerator *a = s->participants[i].accelerator;
    need all, least = {0};
    HRI_TRY(find_need(s, i, band, 0, &all));
    HRI_TRY(find_need(s, i, band, least_chunk(s), &least));
    *limit = all.most < least.most ? all.most : least.most;
    *copies = all.copies;
    if (!hri_add(*limit, a->device->info.gemm_bytes + hri_accelerator_held(a),
                 limit)) {
        *limit = UINT64_MAX;
    }
    return HR_OK;
}

/* Find the memory limit with which equal bands fit everywhere. */
static hr_status find_common_limit(const hri_splitting *s, uint64_t *limit)
{
    const int64_t rows = s->domain.size[0];
    const int64_t share =
        hri_round_up(hri_ceil_div(rows, s->count), hri_split_grain(s));
    int64_t first = 0;
    *limit = 0;
    for (uint32_t i = 0; i < s->count && first < rows; i++) {
        const hr_band band = {.first = first,
                              .count = hri_min(share, rows - first)};
        uint64_t needed = 0, copies = 0;
        HRI_TRY(find_limit(s, i, &band, &needed, &copies));
        *limit = needed > *limit ? needed : *limit;
        first += band.count;
    }
    return HR_OK;
}

/* No limit helps where a buffer is larger than the accelerator allocates. */
static hr_status check_buffers(const hri_splitting *s, uint32_t i)
{
    const hri_accelerator *a = s->participants[i].accelerator;
    const uint64_t most = a->device->info.allocation_bytes;
    need n;
    HRI_TRY(find_need(s, i, &s->bands[i], least_chunk(s), &n));
    if (n.largest > most) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: the least part needs a buffer of %llu bytes, "
                        "but %s allocates at most %llu",
                        hri_split_name(s), (unsigned long long)n.largest,
                        a->path, (unsigned long long)most);
    }
    return HR_OK;
}

/* Say what is needed when band i does not even fit in chunks. */
static hr_status refuse(const hri_splitting *s, uint32_t i)
{
    const hr_band *band = &s->bands[i];
    const hri_accelerator *a = s->participants[i].accelerator;
    const bool chosen = s->options.weights == NULL && s->count > 1;
    uint64_t needed = 0, copies = 0;
    HRI_TRY(check_buffers(s, i));
    HRI_TRY(chosen ? find_common_limit(s, &needed)
                   : find_limit(s, i, band, &needed, &copies));
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
    for (uint32_t i = 0; i < s->count; i++) {
        int64_t *chunk = &s->participants[i].chunk;
        *chunk = 0;
        if (s->bands[i].count > 0) {
            HRI_TRY(hri_split_find_chunk(s, i, &s->bands[i], chunk));
        }
    }
    return HR_OK;
}

hr_status hri_split_require_chunks(const hri_splitting *s)
{
    HRI_TRY(hri_split_find_chunks(s));
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->participants[i].chunk == HRI_NO_CHUNK) {
            HRI_TRY(refuse(s, i));
        }
    }
    return HR_OK;
}

/* ---- cutting */

/* hri_fits: the accelerator holds the band at once, or in chunks. */
static hr_status fits_at_once(void *data, uint32_t i, int64_t first,
                              int64_t count, bool *held)
{
    const hr_band band = {.first = first, .count = count};
    return find_fit(data, i, &band, 0, held);
}

static hr_status fits_in_chunks(void *data, uint32_t i, int64_t first,
                                int64_t count, bool *held)
{
    const hr_band band = {.first = first, .count = count};
    HRI_TRY(fits_at_once(data, i, first, count, held));
    return *held ? HR_OK : find_fit(data, i, &band, least_chunk(data), held);
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
                                .shares = s->shares,
                                .count = s->count,
                                .fits = rules[hold],
                                .data = s};
    find_reach(s, &before, &after);
    HRI_TRY(hri_bands_cut(&d, weights, before, after, s->bands, held));
    for (uint32_t i = 0; i < s->count; i++) {
        s->bands[i].accelerator = (uint32_t)(s->participants[i].accelerator -
                                             s->context->accelerators);
        s->participants[i].chunk = 0;
    }
    return HR_OK;
}
