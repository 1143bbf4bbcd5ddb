/* SPDX-License-Identifier: MIT */
/* Bands of rows: which rows they have, what they read, and launching some of
 * them on one accelerator. */
#include <stdlib.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/arithmetic.h"
#include "base/size.h"
#include "split/split.h"

enum { SIZE_BITS = 62 };

/* ---- rows only */

void hri_band_set_reach(int64_t size, int64_t before, int64_t after,
                        hr_band *band)
{
    const int64_t end = band->first + band->count;
    const bool empty = band->count == 0;
    before = empty ? 0 : hri_min(band->first, before);
    after = empty ? 0 : hri_min(size - end, after);
    band->read_first = band->first - before;
    band->read_count = before + band->count + after;
}

static hr_status check_rows(int64_t size, uint32_t count, int64_t before,
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
    hri_share *p = d->shares;
    for (uint32_t i = 0; i < d->count; i++) {
        p[i].weight = weights != NULL ? weights[i] : 1;
        p[i].most = INT64_MAX;
    }
    HRI_TRY(hri_distribute(d, held));
    for (uint32_t i = 0; i < d->count && *held; i++) {
        bands[i] = (hr_band){
            .accelerator = i, .first = p[i].first, .count = p[i].count};
        hri_band_set_reach(d->units, before, after, &bands[i]);
    }
    return HR_OK;
}

hr_status hr_split(int64_t size, const double *weights, uint32_t count,
                   int64_t before, int64_t after, hr_band *bands)
{
    HRI_USUAL_ARITHMETIC;
    bool held;
    HRI_TRY(check_rows(size, count, before, after, bands));
    const hri_distribution d = {.caller = "split",
                                .units = size,
                                .grain = 1,
                                .shares = calloc(count, sizeof(hri_share)),
                                .count = count};
    if (d.shares == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "split: no memory for %u bands",
                        count);
    }
    const hr_status status =
        hri_bands_cut(&d, weights, before, after, bands, &held);
    free(d.shares);
    return status;
}

/* ---- what bands read of views */

hr_status hri_split_view_rows(const hri_splitting *s, uint32_t i,
                              const hr_band *band, hr_view *view,
                              int64_t *first)
{
    const hr_argument *a = &s->arguments[i];
    int64_t origin[HR_MAX_RANK] = {0};
    hr_extent extent = a->view.extent;
    const uint32_t d = hri_split_dimension(s, i);
    if (!hri_split_is_whole(s, i)) {
        const int64_t rows = hri_split_rows(s, i);
        hr_band own = {.first = band->first * rows};
        own.count = hri_min(band->count * rows, extent.size[d] - own.first);
        hri_band_set_reach(extent.size[d], a->before, a->after, &own);
        origin[d] = own.read_first;
        extent.size[d] = own.read_count;
    }
    *first = origin[d];
    return hr_view_section(a->view, origin, extent, view);
}

/* ---- bands of a launch */

int64_t hri_split_row_points(const hri_splitting *s)
{
    return hr_extent_count(s->domain) / s->domain.size[0];
}

uint32_t hri_split_count_siblings(const hri_splitting *s, uint32_t i)
{
    const hri_participant *p = s->participants;
    uint32_t count = 0;
    for (uint32_t j = 0; j < s->count; j++) {
        count += s->bands[j].count > 0 &&
                 hri_accelerators_same_kind(p[j].accelerator, p[i].accelerator);
    }
    return count;
}

/* ---- rows on one accelerator */

hr_status hri_split_make_arguments(const hri_splitting *s, uint32_t i,
                                   const hr_band *rows, hr_argument *arguments,
                                   hri_window *windows)
{
    hr_array *const *copies = s->participants[i].copies;
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        hr_view *view = &arguments[k].view;
        arguments[k] = s->arguments[k];
        windows[k] = (hri_window){.first = {0}};
        if (!hri_split_is_view(s, k)) {
            continue;
        }
        const hr_extent *whole = &s->arguments[k].view.extent;
        const uint32_t lead = hri_split_dimension(s, k);
        if (copies[k] != NULL) {
            *view = hr_view_of(copies[k]);
        } else {
            HRI_TRY(
                hri_split_view_rows(s, k, rows, view, &windows[k].first[0]));
        }
        for (uint32_t d = 0; d + lead < whole->rank; d++) {
            windows[k].extent[d] = whole->size[d + lead];
        }
    }
    return HR_OK;
}

void hri_split_describe_chunks(const hri_splitting *s, hri_chunks *chunks)
{
    *chunks = (hri_chunks){.grain = hri_split_grain(s)};
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        const hr_argument *a = &s->arguments[k];
        if (hri_split_is_view(s, k)) {
            const int64_t size = a->view.extent.size[hri_split_dimension(s, k)];
            chunks->reach[k] = (hri_reach){.any = hri_split_is_whole(s, k),
                                           .before = hri_min(a->before, size),
                                           .after = hri_min(a->after, size),
                                           .rows = hri_split_rows(s, k)};
        }
    }
}

hr_status hri_split_launch_rows(const hri_splitting *s, uint32_t i,
                                const hr_band *rows, hri_stream *stream,
                                const hr_argument *arguments,
                                const hri_window *windows)
{
    hri_accelerator *a = s->participants[i].accelerator;
    hr_queue queue = {
        .context = s->context, .accelerator = a, .stream = stream};
    const double shared = (double)rows->count * hri_split_count_siblings(s, i);
    const bool is_chunk = rows->count < s->domain.size[0] || s->chunks != NULL;
    hri_launch_box box = hri_launch_box_of(s->domain);
    box.first[0] = rows->first;
    box.end[0] = rows->first + rows->count;
    box.tile =
        s->band_tile.rank > 0 && is_chunk ? &s->band_tile : s->options.tile;
    box.chunks = s->chunks;
    box.windows = windows;
    if (s->count > 1 || s->options.report != NULL ||
        hri_model_is_curious(a, s->kernel, hri_split_row_points(s))) {
        box.start = hri_model_time_kernel(a, s->kernel, hri_split_row_points(s),
                                          shared);
    }
    hr_status status = hri_launch_in_box(s->context, &queue, s->kernel, &box,
                                         arguments, s->kernel->parameter_count);
    if (box.start == NULL) {
        return status;
    }
    if (status == HR_OK) { /* a profiled launch has recorded its fence */
        a->default_queue.end =
            stream->pending != NULL ? stream->pending : stream->last;
        hri_fence_hold(a->default_queue.end);
    } else {
        a->default_queue.kernel = NULL;
    }
    return status;
}

hr_status hri_split_forget(const hri_splitting *s, uint32_t k,
                           const hr_band *rows)
{
    hri_boxes boxes = {0};
    hr_view view;
    int64_t first;
    HRI_TRY(hri_split_view_rows(s, k, rows, &view, &first));
    hr_status status = hri_view_boxes(&view, &boxes);
    if (status == HR_OK) {
        status = hri_array_forget(s->arguments[k].view.array, &boxes);
    }
    hri_boxes_finish(&boxes);
    return status;
}
