/* SPDX-License-Identifier: MIT */
/* Sorting the bands of a plan: each accelerator sorts its own, by one byte
 * after the other. */
#include <stdlib.h>

#include "arrays/array.h"
#include "base/size.h"
#include "calls/scan.h"
#include "calls/sort.h"

enum {
    MIN_UNIT = 8192, /* elements that a tile takes, for which it has a count of
                        each digit */
    UNITS = 1024,    /* at most, where a row is not divided further */
    HOST_UNITS = 128,
    PIECE = 1 << 18 /* elements of rows between which a sort may be cancelled */
};

/* ---- parts of data */

static hr_status section(const hri_sort_data *data, const int64_t *origin,
                         hr_extent extent, hri_sort_data *out)
{
    *out = *data;
    hr_status status = hr_view_section(data->keys, origin, extent, &out->keys);
    return status == HR_OK && data->values.array != NULL
               ? hr_view_section(data->values, origin, extent, &out->values)
               : status;
}

hr_status hri_sort_columns(const hri_sort_data *data, int64_t first,
                           int64_t count, hri_sort_data *out)
{
    const int64_t origin[] = {0, first};
    return section(data, origin, hr_extent2(data->keys.extent.size[0], count),
                   out);
}

/* ---- launches */

hr_status hri_sort_launch(const hri_sort_band *band, const hr_kernel *kernel,
                          hr_extent domain, const hr_argument *arguments,
                          size_t count)
{
    const hr_extent tile = hr_extent2(1, HRI_SORT_ITEMS);
    return hr_launch(band->queue, kernel, domain, &tile, arguments, count);
}

hr_status hri_sort_finish(const hri_sorting *s)
{
    hri_error error = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        hri_error_keep(&error, hr_queue_finish(s->bands[i].queue));
    }
    return hri_error_raise(&error);
}

/* ---- bands */

static hr_status create(hri_sort_band *b, size_t bytes, hr_extent extent,
                        hr_array **array)
{
    return hr_array_create(b->queue, bytes, extent, array);
}

/* Make temporary memory, so that what does not fit is found before anything is
 * sorted. */
static hr_status allocate(const hri_sorting *s, hri_sort_band *b)
{
    hri_sort_data *result = &b->sides[HRI_SORT_RESULT];
    hri_sort_data *temporary = &b->sides[HRI_SORT_TEMPORARY];
    const hr_extent cells = hr_extent2(b->rows, b->cols);
    const hr_extent digits = hr_extent3(b->rows, HRI_SORT_DIGITS, b->units);
    const bool pairs = result->values.array != NULL;
    *temporary = *result;
    hr_status status =
        create(b, result->keys.element_bytes, cells, &b->temporary[0]);
    if (status == HR_OK) {
        temporary->keys = hr_view_of(b->temporary[0]);
        status = pairs ? create(b, result->values.element_bytes, cells,
                                &b->temporary[1])
                       : HR_OK;
    }
    if (status == HR_OK && pairs) {
        temporary->values = hr_view_of(b->temporary[1]);
    }
    if (status == HR_OK && b->sweeps) {
        return hri_sort_sweep_allocate(s, b);
    }
    if (status == HR_OK) {
        status = create(b, sizeof(uint64_t), hr_extent2(b->rows, b->units),
                        &b->differing);
    }
    if (status == HR_OK) {
        status = create(b, sizeof(int32_t), digits, &b->counts);
    }
    return status == HR_OK ? create(b, sizeof(int64_t), digits, &b->before)
                           : status;
}

static hr_status prefetch(const hri_sort_band *b)
{
    hr_status status = hr_prefetch(b->from.keys, b->queue);
    return status == HR_OK && b->from.values.array != NULL
               ? hr_prefetch(b->from.values, b->queue)
               : status;
}

/* Elements of a unit, which has a count for each digit. */
static int64_t unit_of(int64_t rows, int64_t cols, bool host)
{
    const int64_t share = hri_ceil_div(rows * cols, host ? HOST_UNITS : UNITS);
    const int64_t unit = hri_round_up(hri_max(share, MIN_UNIT), MIN_UNIT);
    return hri_min(unit, INT32_MAX / MIN_UNIT * MIN_UNIT);
}

/* Set the numbers of the band that an accelerator was given. */
static void measure(const hri_sorting *s, const hri_accelerator *a,
                    const hr_band *given, hri_sort_band *b)
{
    const hr_extent all = s->to.keys.extent;
    const bool one = all.size[0] == 1;
    b->first = given->first * (one ? HRI_SORT_UNIT : 1);
    b->rows = one ? 1 : given->count;
    b->cols =
        one ? hri_min(given->count * HRI_SORT_UNIT, all.size[1] - b->first)
            : all.size[1];
    b->sweeps = hri_sort_sweeps(a, b->cols);
    b->unit = b->sweeps ? hri_sort_sweep_unit(a, b->rows, b->cols)
                        : unit_of(b->rows, b->cols, a->device->info.host);
    b->units = hri_ceil_div(b->cols, b->unit);
}

uint64_t hri_sort_beside(const hri_splitting *split, uint32_t i,
                         const hr_band *band)
{
    enum { COUNTS = HRI_SORT_DIGITS * (sizeof(int32_t) + sizeof(int64_t)) };
    const hri_sorting *s = split->data;
    const bool joins =
        s->to.keys.extent.size[0] == 1 && band->count < split->domain.size[0];
    hri_sort_band b = {0};
    measure(s, split->participants[i].accelerator, band, &b);
    const int64_t bytes =
        b.sweeps ? hri_sort_sweep_bytes(s, &b)
                 : b.rows * b.units * (int64_t)(sizeof(uint64_t) + COUNTS);
    return (uint64_t)bytes + (joins ? hri_sort_join_bytes(split->count) : 0);
}

/* Make the band that an accelerator was given. */
static hr_status begin(const hri_sorting *s, hri_accelerator *a,
                       const hr_band *given, hri_sort_band *b)
{
    const bool one = s->to.keys.extent.size[0] == 1;
    const uint32_t index = (uint32_t)(a - s->context->accelerators);
    measure(s, a, given, b);
    const int64_t origin[] = {one ? 0 : b->first, one ? b->first : 0};
    const hr_extent extent = hr_extent2(b->rows, b->cols);
    hr_status status = section(&s->from, origin, extent, &b->from);
    if (status == HR_OK) {
        status = section(&s->to, origin, extent, &b->sides[HRI_SORT_RESULT]);
    }
    if (status == HR_OK) {
        status = hri_queue_open(s->context, index, false, "sort", &b->queue);
    }
    if (status == HR_OK) {
        status = allocate(s, b);
    }
    return status == HR_OK ? prefetch(b) : status;
}

/* Begin with each band's rows from `done` on, at most so many. */
static hr_status begin_all(hri_sorting *s, const hri_splitting *split,
                           int64_t done, int64_t most)
{
    hr_status status = HR_OK;
    s->count = 0;
    for (uint32_t i = 0; i < split->count && status == HR_OK; i++) {
        const hri_participant *p = &split->participants[i];
        hr_band given = split->bands[i];
        given.first += done;
        given.count = hri_min(given.count - done, most);
        if (given.count > 0) {
            hri_sort_band *b = &s->bands[s->count++];
            *b = (hri_sort_band){0};
            status = begin(s, p->accelerator, &given, b);
        }
    }
    return status;
}

static void end(hri_sort_band *b)
{
    hr_queue_destroy(b->queue); /* waits, so that arrays are at rest */
    hr_array_destroy(b->temporary[0]);
    hr_array_destroy(b->temporary[1]);
    hr_array_destroy(b->differing);
    hr_array_destroy(b->counts);
    hr_array_destroy(b->before);
    hr_array_destroy(b->places);
    hr_array_destroy(b->words);
    hr_array_destroy(b->prefixes);
    hr_array_destroy(b->ranks);
}

/* ---- one byte after the other */

static hr_status find_differing(const hri_sorting *s, const hri_sort_band *b)
{
    const hr_argument arguments[] = {
        hr_in(b->from.keys), hr_out(hr_view_of(b->differing)),
        hr_value(&s->form, sizeof s->form), hr_value(&b->unit, sizeof b->unit)};
    return hri_sort_launch(b, s->kernels.differ,
                           hr_extent2(b->rows * b->units, HRI_SORT_ITEMS),
                           arguments, 4);
}

/* Bits in which any key of a row differs from the first one. */
static hr_status read_differing(const hri_sort_band *b, uint64_t *bits)
{
    hr_mapping m = {0};
    *bits = 0;
    hr_status status = hr_map(hr_view_of(b->differing), HR_IN, &m);
    if (status != HR_OK) {
        return status;
    }
    for (int64_t i = 0; i < b->rows * b->units; i++) {
        *bits |= ((const uint64_t *)m.data)[i];
    }
    return hr_unmap(&m);
}

static hr_status count_digits(const hri_sorting *s, const hri_sort_band *b,
                              const hri_sort_data *from, int shift)
{
    const hr_argument arguments[] = {
        hr_in(from->keys), hr_out(hr_view_of(b->counts)),
        hr_value(&s->form, sizeof s->form), hr_value(&b->unit, sizeof b->unit),
        hr_value(&shift, sizeof shift)};
    const hr_status status = hri_sort_launch(
        b, s->kernels.count, hr_extent2(b->rows * b->units, HRI_SORT_ITEMS),
        arguments, 5);
    return status == HR_OK ? hri_scan_counts(b->queue, hr_view_of(b->counts),
                                             hr_view_of(b->before))
                           : status;
}

static hr_status scatter(const hri_sorting *s, const hri_sort_band *b,
                         const hri_sort_data *from, const hri_sort_data *to,
                         int shift)
{
    const bool pairs = to->values.array != NULL;
    hr_argument arguments[9];
    size_t n = 0;
    arguments[n++] = hr_in(from->keys);
    if (pairs) {
        arguments[n++] = hr_in(from->values);
    }
    arguments[n++] = hr_in(hr_view_of(b->counts));
    arguments[n++] = hr_in(hr_view_of(b->before));
    arguments[n++] = hr_out(to->keys);
    if (pairs) {
        arguments[n++] = hr_out(to->values);
    }
    arguments[n++] = hr_value(&s->form, sizeof s->form);
    arguments[n++] = hr_value(&b->unit, sizeof b->unit);
    arguments[n++] = hr_value(&shift, sizeof shift);
    return hri_sort_launch(b, s->kernels.scatter,
                           hr_extent2(b->rows * b->units, HRI_SORT_ITEMS),
                           arguments, n);
}

/* Sort by the bytes that differ. Memory changes sides each time, and the result
 * ends on its side; from there another source starts on the side that leads to
 * this. */
static hr_status sort_band(const hri_sorting *s, const hri_sort_band *b)
{
    int passes = 0, side = HRI_SORT_RESULT;
    uint64_t bits = 0;
    hr_status status = read_differing(b, &bits);
    for (size_t k = 0; k < s->key_bytes; k++) {
        passes += (bits >> 8 * k & 0xff) != 0;
    }
    if (!s->in_place) {
        side = passes % 2;
    }
    const hri_sort_data *from = &b->from;
    for (size_t k = 0; k < s->key_bytes && status == HR_OK; k++) {
        const int shift = 8 * (int)k;
        if ((bits >> shift & 0xff) != 0) {
            side = 1 - side;
            status = count_digits(s, b, from, shift);
            if (status == HR_OK) {
                status = scatter(s, b, from, &b->sides[side], shift);
            }
            from = &b->sides[side];
        }
    }
    const bool there = side == HRI_SORT_RESULT && (s->in_place || passes > 0);
    return status == HR_OK && !there
               ? hri_sort_merge(s, b, from, from, 0, &b->sides[HRI_SORT_RESULT])
               : status;
}

static hr_status sort_all(hri_sorting *s)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        const hri_sort_band *b = &s->bands[i];
        status = b->sweeps ? hri_sort_sweep(s, b) : find_differing(s, b);
    }
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        status = s->bands[i].sweeps ? HR_OK : sort_band(s, &s->bands[i]);
    }
    const hr_status finished = hri_sort_finish(s);
    return status == HR_OK ? finished : status;
}

/* What was being sorted has no values. */
static hr_status forget(const hri_sorting *s)
{
    hr_status status = hr_discard(s->to.keys);
    return status == HR_OK && s->to.values.array != NULL
               ? hr_discard(s->to.values)
               : status;
}

/* Tell how many rows the bands have sorted, in points of the domain. */
static void count_rows(const hri_sorting *s, hri_progress *progress)
{
    for (uint32_t i = 0; i < s->count; i++) {
        hri_progress_add(progress, (uint64_t)s->bands[i].rows * HRI_SORT_ITEMS);
    }
}

/* Sort each band's rows from `done` on, at most so many. *spoiled: it failed
 * when these rows were no longer what they had been. */
static hr_status sort_piece(hri_sorting *s, const hri_splitting *split,
                            int64_t done, int64_t most, bool *spoiled)
{
    hri_error error = {0};
    hr_status status = begin_all(s, split, done, most);
    const bool begun = status == HR_OK;
    if (status == HR_OK) {
        status = sort_all(s);
    }
    if (status == HR_OK && s->count > 1 && s->to.keys.extent.size[0] == 1) {
        status = hri_sort_join(s);
    }
    *spoiled = begun && status != HR_OK;
    hri_error_keep(&error, status);
    for (uint32_t i = 0; i < s->count; i++) {
        end(&s->bands[i]);
    }
    return hri_error_raise(&error);
}

static int64_t rows_of_longest(const hri_splitting *split)
{
    int64_t rows = 0;
    for (uint32_t i = 0; i < split->count; i++) {
        rows = hri_max(rows, split->bands[i].count);
    }
    return rows;
}

static hr_status hold_view(hri_accelerator *a, const hr_view *view)
{
    hr_array *array = view->array;
    hri_boxes region = {0};
    hr_status status = hri_view_region(view, &region);
    if (status == HR_OK) {
        pthread_mutex_lock(&array->context->lock);
        status =
            hri_store_hold(array, hri_place_of(array->context, a), &region);
        pthread_mutex_unlock(&array->context->lock);
    }
    hri_boxes_finish(&region);
    return status;
}

static hr_status hold_rows(hri_accelerator *a, const hri_sort_data *data,
                           const hr_band *band)
{
    const int64_t origin[] = {band->first, 0};
    hri_sort_data rows;
    hr_status status =
        section(data, origin,
                hr_extent2(band->count, data->keys.extent.size[1]), &rows);
    if (status == HR_OK) {
        status = hold_view(a, &rows.keys);
    }
    return status == HR_OK && rows.values.array != NULL
               ? hold_view(a, &rows.values)
               : status;
}

/* Make accelerators hold all rows that they sort, so that no piece makes what
 * they hold grow. */
static hr_status hold(const hri_sorting *s, const hri_splitting *split)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < split->count && status == HR_OK; i++) {
        hri_accelerator *a = split->participants[i].accelerator;
        const hr_band *band = &split->bands[i];
        if (band->count == 0 || a->in_place) {
            continue;
        }
        status = hold_rows(a, &s->from, band);
        if (status == HR_OK) {
            status = hold_rows(a, &s->to, band);
        }
    }
    return status;
}

/* Sort everything at once; in pieces of rows if the program is told of it. */
static hr_status sort_pieces(hri_sorting *s, const hri_splitting *split,
                             bool *spoiled)
{
    const hr_extent all = s->to.keys.extent;
    const bool told = all.size[0] > 1 && hri_progress_is_told(split->progress);
    const int64_t grain = hri_max(PIECE / all.size[1], 1);
    const int64_t rows = rows_of_longest(split);
    hri_rounds rounds = {0};
    hr_status status = told ? hold(s, split) : HR_OK;
    for (int64_t done = 0, most; done < rows && status == HR_OK; done += most) {
        most = told ? grain * hri_rounds_next(&rounds, rows) : rows;
        status = sort_piece(s, split, done, most, spoiled);
        if (status == HR_OK && told) {
            count_rows(s, split->progress);
            status = hri_progress_status(split->progress, HR_OK);
        }
    }
    return status;
}

hr_status hri_sort_run(void *sorting, const hri_splitting *split)
{
    hri_sorting *s = sorting;
    bool spoiled = false;
    s->bands = calloc(split->count, sizeof *s->bands);
    if (s->bands == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "sort: no memory for %u bands",
                        split->count);
    }
    hri_error error = {0};
    hri_error_keep(&error, sort_pieces(s, split, &spoiled));
    if (spoiled) {
        hri_error_keep(&error, forget(s));
    }
    free(s->bands);
    s->bands = NULL;
    return hri_error_raise(&error);
}
