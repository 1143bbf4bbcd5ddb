/* SPDX-License-Identifier: MIT */
/* Sorting the bands of a plan: each accelerator sorts its own, by one byte
 * after the other.
 *
 * If tiles proceed while others wait, it takes the sweeps of
 * kernels/dialect/sort_sweep.inc. One kernel counts all digits, another finds
 * the places of their elements. Then a sweep for each byte moves the elements,
 * unless a row has one digit alone there, which the sweep sees. So the host
 * waits for nothing. */
#include <stdlib.h>

#include "arrays/array.h"
#include "base/size.h"
#include "calls/scan.h"
#include "calls/sort.h"

enum {
    MIN_UNIT = 8192,  /* elements that a tile takes, for which it has a count of
                         each digit */
    UNITS = 1024,     /* at most of a device; a row is not divided further */
    HOST_UNITS = 128, /* at most of the host */
    CHUNK = 1 << 18 /* elements of rows between which a sort may be cancelled */
};

/* ---- sweeps */

/* The first three are as in kernels/dialect/sort_sweep.inc. */
enum {
    TALLIERS = 512,               /* items of a tile that counts */
    SWEEPERS = 384,               /* items of a tile that sweeps */
    PLACES = HRI_SORT_DIGITS + 2, /* what a pass has for each row */
    TALLIES = 4,                  /* tiles that count, for a compute unit */
    MIN_TALLY = 16384,            /* elements that such a tile counts */
    MAX_COLUMNS = 0x3fff0000      /* elements of a row; words have 30 bits */
};

extern const hr_kernel hri_sort_places;

/* Elements of a block: SWEPT in kernels/dialect/sort_sweep.inc. */
static int64_t block_of(const hri_sorting *s)
{
    const bool pairs = s->to.values.array != NULL;
    const bool wide =
        s->key_bytes > 4 || (pairs && s->to.values.element_bytes > 4);
    return SWEEPERS * (wide ? 15 : pairs ? 23 : 19);
}

static int64_t sweep_unit(const hri_accelerator *a, int64_t rows, int64_t cols)
{
    const int64_t tiles = TALLIES * (int64_t)a->device->info.compute_units;
    const int64_t share = hri_ceil_div(rows * cols, hri_max(tiles, 1));
    return hri_round_up(hri_max(share, MIN_TALLY), TALLIERS);
}

static int64_t sweep_bytes(const hri_sorting *s, const hri_sort_band *b)
{
    const int64_t passes = (int64_t)s->key_bytes;
    const int64_t blocks = hri_ceil_div(b->cols, block_of(s));
    return 4 * b->rows *
           (b->units * passes * HRI_SORT_DIGITS + passes * PLACES +
            blocks * HRI_SORT_DIGITS);
}

static hr_status allocate_sweeps(const hri_sorting *s, hri_sort_band *b)
{
    const int64_t passes = (int64_t)s->key_bytes;
    const int64_t blocks = hri_ceil_div(b->cols, block_of(s));
    HRI_TRY(hr_array_create(
        b->queue, sizeof(int32_t),
        hr_extent3(b->rows, b->units, passes * HRI_SORT_DIGITS), &b->counts));
    HRI_TRY(hr_array_create(b->queue, sizeof(int32_t),
                            hr_extent3(b->rows, passes, PLACES), &b->places));
    return hr_array_create(b->queue, sizeof(uint32_t),
                           hr_extent3(b->rows, blocks, HRI_SORT_DIGITS),
                           &b->words);
}

/* Launch so many tiles. */
static hr_status launch_tiles(const hri_sort_band *b, const hr_kernel *kernel,
                              int64_t tiles, int64_t items,
                              const hr_argument *arguments, size_t count)
{
    const hr_extent tile = hr_extent2(1, items);
    return hr_launch(b->queue, kernel, hr_extent2(tiles, items), &tile,
                     arguments, count);
}

static hr_status tally_digits(const hri_sorting *s, const hri_sort_band *b)
{
    const int cols = (int)b->cols;
    const hr_argument tally[] = {
        hr_in(b->from.keys), hr_out(hr_view_of(b->counts)),
        hr_out(hr_view_of(b->words)), hr_value(&s->form, sizeof s->form),
        hr_value(&b->unit, sizeof b->unit)};
    const hr_argument places[] = {hr_in(hr_view_of(b->counts)),
                                  hr_out(hr_view_of(b->places)),
                                  hr_value(&cols, sizeof cols)};
    HRI_TRY(launch_tiles(b, s->kernels.tally, b->rows * b->units, TALLIERS,
                         tally, 5));
    return launch_tiles(b, &hri_sort_places, b->rows * (int64_t)s->key_bytes,
                        TALLIERS, places, 3);
}

static hr_status sweep_pass(const hri_sorting *s, const hri_sort_band *b,
                            int pass)
{
    const hri_sort_data *one = &b->sides[HRI_SORT_RESULT];
    const hri_sort_data *two = &b->sides[HRI_SORT_TEMPORARY];
    const bool pairs = one->values.array != NULL;
    const int64_t blocks = hri_ceil_div(b->cols, block_of(s));
    hr_argument arguments[8];
    size_t n = 0;
    if (!s->in_place) {
        arguments[n++] = hr_in(b->from.keys);
    }
    arguments[n++] = s->in_place ? hr_inout(one->keys) : hr_out(one->keys);
    arguments[n++] = hr_out(two->keys);
    if (pairs) {
        arguments[n++] = hr_inout(one->values);
        arguments[n++] = hr_out(two->values);
    }
    arguments[n++] = hr_inout(hr_view_of(b->places));
    arguments[n++] = hr_inout(hr_view_of(b->words));
    arguments[n++] = hr_value(&s->form, sizeof s->form);
    arguments[n++] = hr_value(&pass, sizeof pass);
    return launch_tiles(
        b, s->in_place ? s->kernels.sweep_in_place : s->kernels.sweep,
        b->rows * blocks, SWEEPERS, arguments, n);
}

/* Copy rows whose result lies elsewhere. */
static hr_status settle_rows(const hri_sorting *s, const hri_sort_band *b)
{
    const hri_sort_data *to = &b->sides[HRI_SORT_RESULT];
    const hri_sort_data *from =
        s->in_place ? &b->sides[HRI_SORT_TEMPORARY] : &b->from;
    const bool pairs = to->values.array != NULL;
    const int odd = s->in_place;
    hr_argument arguments[7];
    size_t n = 0;
    arguments[n++] = hr_in(from->keys);
    if (pairs) {
        arguments[n++] = hr_in(from->values);
    }
    arguments[n++] = hr_inout(to->keys);
    if (pairs) {
        arguments[n++] = hr_inout(to->values);
    }
    arguments[n++] = hr_in(hr_view_of(b->places));
    arguments[n++] = hr_value(&b->unit, sizeof b->unit);
    arguments[n++] = hr_value(&odd, sizeof odd);
    return launch_tiles(b, s->kernels.settle, b->rows * b->units, TALLIERS,
                        arguments, n);
}

static hr_status sweep_band(const hri_sorting *s, const hri_sort_band *b)
{
    HRI_TRY(tally_digits(s, b));
    for (int pass = 0; pass < (int)s->key_bytes; pass++) {
        HRI_TRY(sweep_pass(s, b, pass));
    }
    return settle_rows(s, b);
}

/* ---- bands */

/* Make temporary memory, so that what does not fit is found before anything is
 * sorted. */
static hr_status allocate_band(const hri_sorting *s, hri_sort_band *b)
{
    hri_sort_data *result = &b->sides[HRI_SORT_RESULT];
    hri_sort_data *temporary = &b->sides[HRI_SORT_TEMPORARY];
    const hr_extent cells = hr_extent2(b->rows, b->cols);
    const hr_extent digits = hr_extent3(b->rows, HRI_SORT_DIGITS, b->units);
    *temporary = *result;
    HRI_TRY(hr_array_create(b->queue, result->keys.element_bytes, cells,
                            &b->temporary[0]));
    temporary->keys = hr_view_of(b->temporary[0]);
    if (result->values.array != NULL) {
        HRI_TRY(hr_array_create(b->queue, result->values.element_bytes, cells,
                                &b->temporary[1]));
        temporary->values = hr_view_of(b->temporary[1]);
    }
    if (b->sweeps) {
        return allocate_sweeps(s, b);
    }
    HRI_TRY(hr_array_create(b->queue, sizeof(uint64_t),
                            hr_extent2(b->rows, b->units), &b->differing));
    HRI_TRY(hr_array_create(b->queue, sizeof(int32_t), digits, &b->counts));
    return hr_array_create(b->queue, sizeof(int64_t), digits, &b->before);
}

/* Elements of a unit, which has a count for each digit. */
static int64_t unit_of(int64_t rows, int64_t cols, bool host)
{
    const int64_t share = hri_ceil_div(rows * cols, host ? HOST_UNITS : UNITS);
    const int64_t unit = hri_round_up(hri_max(share, MIN_UNIT), MIN_UNIT);
    return hri_min(unit, INT32_MAX / MIN_UNIT * MIN_UNIT);
}

/* Set the numbers of the band that an accelerator was given. */
static void measure_band(const hri_sorting *s, const hri_accelerator *a,
                         const hr_band *given, hri_sort_band *b)
{
    const hr_extent all = s->to.keys.extent;
    const bool one = all.size[0] == 1;
    b->first = given->first * (one ? HRI_SORT_UNIT : 1);
    b->rows = one ? 1 : given->count;
    b->cols =
        one ? hri_min(given->count * HRI_SORT_UNIT, all.size[1] - b->first)
            : all.size[1];
    b->sweeps = a->device->info.proceeds && b->cols <= MAX_COLUMNS;
    b->unit = b->sweeps ? sweep_unit(a, b->rows, b->cols)
                        : unit_of(b->rows, b->cols, a->device->info.host);
    b->units = hri_ceil_div(b->cols, b->unit);
}

uint64_t hri_sort_extra_bytes(const hri_splitting *split, uint32_t i,
                              const hr_band *band)
{
    enum { COUNTS = HRI_SORT_DIGITS * (sizeof(int32_t) + sizeof(int64_t)) };
    const hri_sorting *s = split->data;
    const bool joins =
        s->to.keys.extent.size[0] == 1 && band->count < split->domain.size[0];
    hri_sort_band b = {0};
    measure_band(s, split->participants[i].accelerator, band, &b);
    const int64_t bytes =
        b.sweeps ? sweep_bytes(s, &b)
                 : b.rows * b.units * (int64_t)(sizeof(uint64_t) + COUNTS);
    return (uint64_t)bytes + (joins ? hri_sort_join_bytes(split->count) : 0);
}

/* Make the band that an accelerator was given. */
static hr_status begin_band(const hri_sorting *s, hri_accelerator *a,
                            const hr_band *given, hri_sort_band *b)
{
    const bool one = s->to.keys.extent.size[0] == 1;
    const uint32_t index = (uint32_t)(a - s->context->accelerators);
    measure_band(s, a, given, b);
    const int64_t origin[] = {one ? 0 : b->first, one ? b->first : 0};
    const hr_extent extent = hr_extent2(b->rows, b->cols);
    HRI_TRY(hri_sort_section(&s->from, origin, extent, &b->from));
    HRI_TRY(
        hri_sort_section(&s->to, origin, extent, &b->sides[HRI_SORT_RESULT]));
    HRI_TRY(hri_queue_open(s->context, index, false, "sort", &b->queue));
    HRI_TRY(allocate_band(s, b));
    HRI_TRY(hr_prefetch(b->from.keys, b->queue));
    return b->from.values.array != NULL ? hr_prefetch(b->from.values, b->queue)
                                        : HR_OK;
}

/* Begin with each band's rows from `done` on, at most so many. */
static hr_status begin_all(hri_sorting *s, const hri_splitting *split,
                           int64_t done, int64_t most)
{
    s->count = 0;
    for (uint32_t i = 0; i < split->count; i++) {
        const hri_participant *p = &split->participants[i];
        hr_band given = split->bands[i];
        given.first += done;
        given.count = hri_min(given.count - done, most);
        if (given.count > 0) {
            hri_sort_band *b = &s->bands[s->count++];
            *b = (hri_sort_band){0};
            HRI_TRY(begin_band(s, p->accelerator, &given, b));
        }
    }
    return HR_OK;
}

static void end_band(hri_sort_band *b)
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
    HRI_TRY(hr_map(hr_view_of(b->differing), HR_IN, &m));
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
    HRI_TRY(hri_sort_launch(b, s->kernels.count,
                            hr_extent2(b->rows * b->units, HRI_SORT_ITEMS),
                            arguments, 5));
    return hri_scan_counts(b->queue, hr_view_of(b->counts),
                           hr_view_of(b->before));
}

static hr_status scatter_keys(const hri_sorting *s, const hri_sort_band *b,
                              const hri_sort_data *from,
                              const hri_sort_data *to, int shift)
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

/* Sort by the bytes that differ. Each pass moves the keys from one of the two
 * sides to the other. In place, the first pass starts on the result's side.
 * Elsewhere it starts from the source, and the sides are chosen so that the
 * last pass ends on the result's side. */
static hr_status sort_band(const hri_sorting *s, const hri_sort_band *b)
{
    int passes = 0, side = HRI_SORT_RESULT;
    uint64_t bits = 0;
    HRI_TRY(read_differing(b, &bits));
    for (size_t k = 0; k < s->key_bytes; k++) {
        passes += (bits >> 8 * k & 0xff) != 0;
    }
    if (!s->in_place) {
        side = passes % 2;
    }
    const hri_sort_data *from = &b->from;
    for (size_t k = 0; k < s->key_bytes; k++) {
        const int shift = 8 * (int)k;
        if ((bits >> shift & 0xff) != 0) {
            side = 1 - side;
            HRI_TRY(count_digits(s, b, from, shift));
            HRI_TRY(scatter_keys(s, b, from, &b->sides[side], shift));
            from = &b->sides[side];
        }
    }
    if (side == HRI_SORT_RESULT && (s->in_place || passes > 0)) {
        return HR_OK;
    }
    return hri_sort_merge(s, b, from, from, 0, &b->sides[HRI_SORT_RESULT]);
}

static hr_status sort_bands(const hri_sorting *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const hri_sort_band *b = &s->bands[i];
        HRI_TRY(b->sweeps ? sweep_band(s, b) : find_differing(s, b));
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (!s->bands[i].sweeps) {
            HRI_TRY(sort_band(s, &s->bands[i]));
        }
    }
    return HR_OK;
}

/* What was being sorted has no values. */
static hr_status forget_results(const hri_sorting *s)
{
    HRI_TRY(hr_discard(s->to.keys));
    return s->to.values.array != NULL ? hr_discard(s->to.values) : HR_OK;
}

static hr_status sort_and_join(hri_sorting *s)
{
    const hr_status status = sort_bands(s);
    const hr_status finished = hri_sort_finish(s);
    HRI_TRY(status == HR_OK ? finished : status);
    return s->count > 1 && s->to.keys.extent.size[0] == 1 ? hri_sort_join(s)
                                                          : HR_OK;
}

/* Sort each band's rows from `done` on, at most so many. *spoiled: it failed
 * when these rows were no longer what they had been. */
static hr_status sort_chunk(hri_sorting *s, const hri_splitting *split,
                            int64_t done, int64_t most, bool *spoiled)
{
    hri_error error = {0};
    hri_error_keep(&error, begin_all(s, split, done, most));
    if (error.status == HR_OK) {
        hri_error_keep(&error, sort_and_join(s));
        *spoiled = error.status != HR_OK;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        end_band(&s->bands[i]);
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
    hri_boxes boxes = {0};
    hr_status status = hri_view_boxes(view, &boxes);
    if (status == HR_OK) {
        pthread_mutex_lock(&array->context->lock);
        status = hri_store_hold(array, hri_place_of(array->context, a), &boxes);
        pthread_mutex_unlock(&array->context->lock);
    }
    hri_boxes_finish(&boxes);
    return status;
}

static hr_status hold_rows(hri_accelerator *a, const hri_sort_data *data,
                           const hr_band *band)
{
    const int64_t origin[] = {band->first, 0};
    hri_sort_data rows;
    HRI_TRY(hri_sort_section(data, origin,
                             hr_extent2(band->count, data->keys.extent.size[1]),
                             &rows));
    HRI_TRY(hold_view(a, &rows.keys));
    return rows.values.array != NULL ? hold_view(a, &rows.values) : HR_OK;
}

/* Make accelerators hold all rows that they sort, so that no chunk makes what
 * they hold grow. */
static hr_status hold_all(const hri_sorting *s, const hri_splitting *split)
{
    for (uint32_t i = 0; i < split->count; i++) {
        hri_accelerator *a = split->participants[i].accelerator;
        const hr_band *band = &split->bands[i];
        if (band->count > 0 && !a->in_place) {
            HRI_TRY(hold_rows(a, &s->from, band));
            HRI_TRY(hold_rows(a, &s->to, band));
        }
    }
    return HR_OK;
}

/* Sort everything at once; in chunks of rows if the program is told of it. */
static hr_status sort_chunks(hri_sorting *s, const hri_splitting *split,
                             bool *spoiled)
{
    const hr_extent all = s->to.keys.extent;
    const bool told = all.size[0] > 1 && hri_progress_is_told(split->progress);
    const int64_t grain = hri_max(CHUNK / all.size[1], 1);
    const int64_t rows = rows_of_longest(split);
    hri_rounds rounds = {0};
    if (told) {
        HRI_TRY(hold_all(s, split));
    }
    for (int64_t done = 0, most; done < rows; done += most) {
        most = told ? grain * hri_rounds_next(&rounds, rows) : rows;
        HRI_TRY(sort_chunk(s, split, done, most, spoiled));
        if (told) {
            for (uint32_t i = 0; i < s->count; i++) { /* in points */
                hri_progress_add(split->progress,
                                 (uint64_t)s->bands[i].rows * HRI_SORT_ITEMS);
            }
            HRI_TRY(hri_progress_status(split->progress, HR_OK));
        }
    }
    return HR_OK;
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
    hri_error_keep(&error, sort_chunks(s, split, &spoiled));
    if (spoiled) {
        hri_error_keep(&error, forget_results(s));
    }
    free(s->bands);
    s->bands = NULL;
    return hri_error_raise(&error);
}
