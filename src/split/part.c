/* SPDX-License-Identifier: MIT */
/* Launching some of the rows on one accelerator. */
#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/size.h"
#include "split/split.h"

hr_status hri_split_arguments(const hri_splitting *s, uint32_t i,
                              const hr_band *rows, hr_argument *arguments,
                              hri_window *windows)
{
    hr_array *const *copies = s->participants[i].copies;
    hr_status status = HR_OK;
    for (uint32_t k = 0; k < s->kernel->parameter_count && status == HR_OK;
         k++) {
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
            status = hri_split_argument(s, k, rows, view, &windows[k].first[0]);
        }
        for (uint32_t d = 0; d + lead < whole->rank; d++) {
            windows[k].extent[d] = whole->size[d + lead];
        }
    }
    return status;
}

void hri_split_describe(const hri_splitting *s, hri_pieces *pieces)
{
    *pieces = (hri_pieces){.grain = hri_split_grain(s)};
    for (uint32_t k = 0; k < s->kernel->parameter_count; k++) {
        const hr_argument *a = &s->arguments[k];
        if (hri_split_is_view(s, k)) {
            const int64_t size = a->view.extent.size[hri_split_dimension(s, k)];
            pieces->reach[k] = (hri_reach){.any = hri_split_is_whole(s, k),
                                           .before = hri_min(a->before, size),
                                           .after = hri_min(a->after, size),
                                           .rows = hri_split_rows(s, k)};
        }
    }
}

hr_status hri_split_launch(const hri_splitting *s, uint32_t i,
                           const hr_band *rows, hri_stream *stream,
                           const hr_argument *arguments,
                           const hri_window *windows)
{
    hri_accelerator *a = s->participants[i].accelerator;
    hr_queue queue = {
        .context = s->context, .accelerator = a, .stream = stream};
    const double shared = (double)rows->count * hri_split_sharers(s, i);
    const bool is_piece = rows->count < s->domain.size[0] || s->pieces != NULL;
    hri_part part = hri_part_of(s->domain);
    part.first[0] = rows->first;
    part.end[0] = rows->first + rows->count;
    part.tile =
        s->band_tile.rank > 0 && is_piece ? &s->band_tile : s->options.tile;
    part.pieces = s->pieces;
    part.windows = windows;
    if (s->count > 1 || s->options.report != NULL ||
        hri_model_is_curious(a, s->kernel, hri_split_points(s))) {
        part.start =
            hri_model_time_kernel(a, s->kernel, hri_split_points(s), shared);
    }
    hr_status status = hri_launch_part(s->context, &queue, s->kernel, &part,
                                       arguments, s->kernel->parameter_count);
    if (part.start == NULL) {
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
    hri_boxes region = {0};
    hr_view view;
    int64_t first;
    hr_status status = hri_split_argument(s, k, rows, &view, &first);
    if (status == HR_OK) {
        status = hri_view_region(&view, &region);
    }
    if (status == HR_OK) {
        status = hri_array_forget(s->arguments[k].view.array, &region);
    }
    hri_boxes_finish(&region);
    return status;
}
