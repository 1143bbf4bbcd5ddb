/* SPDX-License-Identifier: MIT */
/* Sorting a band by the sweeps of kernels/dialect/sort_sweep.inc. One kernel
 * counts all digits, another finds the places of their elements. Then a sweep
 * for each byte moves the elements, unless a row has one digit alone there,
 * which the sweep sees. So the host waits for nothing. */
#include "arrays/array.h"
#include "base/size.h"
#include "calls/sort.h"

/* The first three are as in kernels/dialect/sort_sweep.inc. */
enum {
    TALLIERS = 512,               /* items of a tile that counts */
    SWEEPERS = 384,               /* and of one that sweeps */
    PLACES = HRI_SORT_DIGITS + 2, /* what a pass has for each row */
    TALLIES = 4,                  /* tiles that count, for a compute unit */
    MIN_UNIT = 16384,             /* elements for each of them, at least */
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

bool hri_sort_sweeps(const hri_accelerator *a, int64_t cols)
{
    return a->device->info.proceeds && cols <= MAX_COLUMNS;
}

int64_t hri_sort_sweep_unit(const hri_accelerator *a, int64_t rows,
                            int64_t cols)
{
    const int64_t tiles = TALLIES * (int64_t)a->device->info.compute_units;
    const int64_t share = hri_ceil_div(rows * cols, hri_max(tiles, 1));
    return hri_round_up(hri_max(share, MIN_UNIT), TALLIERS);
}

int64_t hri_sort_sweep_bytes(const hri_sorting *s, const hri_sort_band *b)
{
    const int64_t passes = (int64_t)s->key_bytes;
    const int64_t blocks = hri_ceil_div(b->cols, block_of(s));
    return 4 * b->rows *
           (b->units * passes * HRI_SORT_DIGITS + passes * PLACES +
            blocks * HRI_SORT_DIGITS);
}

hr_status hri_sort_sweep_allocate(const hri_sorting *s, hri_sort_band *b)
{
    const int64_t passes = (int64_t)s->key_bytes;
    hr_status status = hr_array_create(
        b->queue, sizeof(int32_t),
        hr_extent3(b->rows, b->units, passes * HRI_SORT_DIGITS), &b->counts);
    if (status == HR_OK) {
        status =
            hr_array_create(b->queue, sizeof(int32_t),
                            hr_extent3(b->rows, passes, PLACES), &b->places);
    }
    return status == HR_OK
               ? hr_array_create(b->queue, sizeof(uint32_t),
                                 hr_extent3(b->rows,
                                            hri_ceil_div(b->cols, block_of(s)),
                                            HRI_SORT_DIGITS),
                                 &b->words)
               : status;
}

/* Launch so many tiles. */
static hr_status launch(const hri_sort_band *b, const hr_kernel *kernel,
                        int64_t tiles, int64_t items,
                        const hr_argument *arguments, size_t count)
{
    const hr_extent tile = hr_extent2(1, items);
    return hr_launch(b->queue, kernel, hr_extent2(tiles, items), &tile,
                     arguments, count);
}

static hr_status count_digits(const hri_sorting *s, const hri_sort_band *b)
{
    const int cols = (int)b->cols;
    const hr_argument tally[] = {
        hr_in(b->from.keys), hr_out(hr_view_of(b->counts)),
        hr_out(hr_view_of(b->words)), hr_value(&s->form, sizeof s->form),
        hr_value(&b->unit, sizeof b->unit)};
    const hr_argument places[] = {hr_in(hr_view_of(b->counts)),
                                  hr_out(hr_view_of(b->places)),
                                  hr_value(&cols, sizeof cols)};
    hr_status status =
        launch(b, s->kernels.tally, b->rows * b->units, TALLIERS, tally, 5);
    return status == HR_OK
               ? launch(b, &hri_sort_places, b->rows * (int64_t)s->key_bytes,
                        TALLIERS, places, 3)
               : status;
}

static hr_status sweep(const hri_sorting *s, const hri_sort_band *b, int pass)
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
    return launch(b, s->in_place ? s->kernels.sweep_in_place : s->kernels.sweep,
                  b->rows * blocks, SWEEPERS, arguments, n);
}

/* Copy rows whose result lies elsewhere. */
static hr_status settle(const hri_sorting *s, const hri_sort_band *b)
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
    return launch(b, s->kernels.settle, b->rows * b->units, TALLIERS, arguments,
                  n);
}

hr_status hri_sort_sweep(const hri_sorting *s, const hri_sort_band *b)
{
    hr_status status = count_digits(s, b);
    for (int pass = 0; pass < (int)s->key_bytes && status == HR_OK; pass++) {
        status = sweep(s, b, pass);
    }
    return status == HR_OK ? settle(s, b) : status;
}
