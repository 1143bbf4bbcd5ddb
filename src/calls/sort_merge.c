/* SPDX-License-Identifier: MIT */
/* One sorted row of several sorted runs, one of each accelerator. Each gets the
 * part of the result that its band is: its share of each run. Then it merges
 * these shares, two at a time. */
#include <stdlib.h>
#include <string.h>

#include "arrays/array.h"
#include "base/size.h"
#include "calls/sort.h"

enum {
    EACH = 16,       /* elements that an item merges */
    HOST_EACH = 256, /* the same on the host, where an item is a round of a
                        loop */
    DIGITS = HRI_SORT_DIGITS
};

/* ---- columns of data */

hr_status hri_sort_section(const hri_sort_data *data, const int64_t *origin,
                           hr_extent extent, hri_sort_data *out)
{
    *out = *data;
    HRI_TRY(hr_view_section(data->keys, origin, extent, &out->keys));
    return data->values.array != NULL
               ? hr_view_section(data->values, origin, extent, &out->values)
               : HR_OK;
}

/* The columns from `first` on of rows. */
static hr_status take_columns(const hri_sort_data *data, int64_t first,
                              int64_t count, hri_sort_data *out)
{
    const int64_t origin[] = {0, first};
    return hri_sort_section(data, origin,
                            hr_extent2(data->keys.extent.size[0], count), out);
}

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

/* ---- merging two runs */

hr_status hri_sort_merge(const hri_sorting *s, const hri_sort_band *band,
                         const hri_sort_data *left, const hri_sort_data *right,
                         int64_t rights, const hri_sort_data *to)
{
    const bool pairs = to->values.array != NULL;
    const int64_t each =
        band->queue->accelerator->device->info.host ? HOST_EACH : EACH;
    hr_argument arguments[9];
    size_t n = 0;
    arguments[n++] = hr_in(left->keys);
    if (pairs) {
        arguments[n++] = hr_in(left->values);
    }
    arguments[n++] = hr_in(right->keys);
    if (pairs) {
        arguments[n++] = hr_in(right->values);
    }
    arguments[n++] = hr_out(to->keys);
    if (pairs) {
        arguments[n++] = hr_out(to->values);
    }
    arguments[n++] = hr_value(&s->form, sizeof s->form);
    arguments[n++] = hr_value(&rights, sizeof rights);
    arguments[n++] = hr_value(&each, sizeof each);
    return hri_sort_launch(
        band, s->kernels.merge,
        hr_extent2(to->keys.extent.size[0],
                   hri_ceil_div(to->keys.extent.size[1], each)),
        arguments, n);
}

/* ---- cutting runs
 *
 * Cut m is before the result's element at which band m + 1 begins. The elements
 * of run i before begin[i] are before the cut. The key there is found from its
 * highest byte to its lowest: a kernel counts the elements of each run that are
 * below a prefix and each next digit. */

typedef struct cut {
    int64_t rank;    /* elements before it */
    uint64_t prefix; /* of the key there, as far as it is known */
} cut;

typedef struct joining {
    hri_sorting *sort;
    uint32_t runs;  /* at least 2 */
    cut *cuts;      /* [runs - 1] */
    int64_t *begin; /* [runs + 1][runs]: where each share of each run begins */
    int64_t *end;   /* [runs - 1][runs]: elements up to the prefix of a cut */
    int64_t *found; /* [runs][runs - 1][DIGITS] */
} joining;

static int64_t *begin_at(const joining *j, uint32_t m)
{
    return j->begin + (size_t)m * j->runs;
}

static const int64_t *found_at(const joining *j, uint32_t run, uint32_t m)
{
    return j->found + ((size_t)run * (j->runs - 1) + m) * DIGITS;
}

static hr_status write_prefixes(const joining *j, const hri_sort_band *b)
{
    hr_mapping m = {0};
    HRI_TRY(hr_map(hr_view_of(b->prefixes), HR_OUT, &m));
    for (uint32_t i = 0; i + 1 < j->runs; i++) {
        ((uint64_t *)m.data)[i] = j->cuts[i].prefix;
    }
    return hr_unmap(&m);
}

static hr_status count_below(const joining *j, const hri_sort_band *b,
                             int shift)
{
    const hr_argument arguments[] = {
        hr_in(b->sides[HRI_SORT_RESULT].keys), hr_in(hr_view_of(b->prefixes)),
        hr_out(hr_view_of(b->ranks)),
        hr_value(&j->sort->form, sizeof j->sort->form),
        hr_value(&shift, sizeof shift)};
    HRI_TRY(write_prefixes(j, b));
    return hri_sort_launch(b, j->sort->kernels.ranks,
                           hr_extent2(j->runs - 1, DIGITS), arguments, 5);
}

static hr_status read_counts(const joining *j, uint32_t run)
{
    const size_t each = (size_t)(j->runs - 1) * DIGITS;
    hr_mapping m = {0};
    HRI_TRY(hr_map(hr_view_of(j->sort->bands[run].ranks), HR_IN, &m));
    memcpy(j->found + run * each, m.data, each * sizeof *j->found);
    return hr_unmap(&m);
}

/* Find the next digit of a cut's key: the largest one below which there are no
 * more elements than before the cut. */
static void find_digit(const joining *j, uint32_t m, int shift)
{
    cut *c = &j->cuts[m];
    int digit = DIGITS - 1;
    for (; digit > 0; digit--) {
        int64_t below = 0;
        for (uint32_t i = 0; i < j->runs; i++) {
            below += found_at(j, i, m)[digit];
        }
        if (below <= c->rank) {
            break;
        }
    }
    c->prefix |= (uint64_t)digit << shift;
    for (uint32_t i = 0; i < j->runs; i++) {
        const int64_t *found = found_at(j, i, m);
        begin_at(j, m + 1)[i] = found[digit];
        if (digit + 1 < DIGITS) {
            j->end[(size_t)m * j->runs + i] = found[digit + 1];
        }
    }
}

/* Elements that are equal to the key are before the cut in the first runs, and
 * behind it in the others. */
static void share_equals(const joining *j, uint32_t m)
{
    int64_t *begin = begin_at(j, m + 1), left = j->cuts[m].rank;
    for (uint32_t i = 0; i < j->runs; i++) {
        left -= begin[i];
    }
    for (uint32_t i = 0; i < j->runs; i++) {
        const int64_t equal = j->end[(size_t)m * j->runs + i] - begin[i];
        const int64_t taken = hri_min(left, equal);
        begin[i] += taken;
        left -= taken;
    }
}

static hr_status cut_byte(const joining *j, int shift)
{
    for (uint32_t i = 0; i < j->runs; i++) {
        HRI_TRY(count_below(j, &j->sort->bands[i], shift));
    }
    for (uint32_t i = 0; i < j->runs; i++) {
        HRI_TRY(read_counts(j, i));
    }
    for (uint32_t m = 0; m + 1 < j->runs; m++) {
        find_digit(j, m, shift);
    }
    return HR_OK;
}

static hr_status cut_runs(const joining *j)
{
    hri_sort_band *bands = j->sort->bands;
    const int64_t cuts = j->runs - 1;
    for (uint32_t i = 0; i < j->runs; i++) {
        begin_at(j, j->runs)[i] = bands[i].cols;
        for (uint32_t m = 0; m + 1 < j->runs; m++) {
            j->cuts[m].rank = bands[m + 1].first;
            j->end[(size_t)m * j->runs + i] = bands[i].cols;
        }
        HRI_TRY(hr_array_create_anywhere(j->sort->context, sizeof(uint64_t),
                                         hr_extent2(cuts, 1),
                                         &bands[i].prefixes));
        HRI_TRY(hr_array_create_anywhere(j->sort->context, sizeof(int64_t),
                                         hr_extent2(cuts, DIGITS),
                                         &bands[i].ranks));
    }
    for (size_t k = j->sort->key_bytes; k-- > 0;) {
        HRI_TRY(cut_byte(j, 8 * (int)k));
    }
    for (uint32_t m = 0; m + 1 < j->runs; m++) {
        share_equals(j, m);
    }
    return HR_OK;
}

/* ---- bringing shares together */

static int64_t share_of(const joining *j, uint32_t band, uint32_t run)
{
    return begin_at(j, band + 1)[run] - begin_at(j, band)[run];
}

static hr_status copy_share(const hri_sort_data *from, const hri_sort_data *to,
                            hr_event **events)
{
    HRI_TRY(hr_copy_async(from->keys, to->keys, &events[0]));
    return to->values.array != NULL
               ? hr_copy_async(from->values, to->values, &events[1])
               : HR_OK;
}

/* Start copies of all shares of a band into its temporary memory. */
static hr_status gather_band(const joining *j, uint32_t band, hr_event **events)
{
    const hri_sort_data *to = &j->sort->bands[band].sides[HRI_SORT_TEMPORARY];
    int64_t at = 0;
    for (uint32_t i = 0; i < j->runs; i++) {
        const int64_t count = share_of(j, band, i);
        hri_sort_data from, share;
        if (count == 0) {
            continue;
        }
        HRI_TRY(take_columns(&j->sort->bands[i].sides[HRI_SORT_RESULT],
                             begin_at(j, band)[i], count, &from));
        HRI_TRY(take_columns(to, at, count, &share));
        HRI_TRY(copy_share(&from, &share, &events[2 * (size_t)i]));
        at += count;
    }
    return HR_OK;
}

static hr_status gather_all(const joining *j)
{
    const size_t count = 2 * (size_t)j->runs * j->runs;
    hr_event **events = calloc(count, sizeof(hr_event *));
    hri_error error = {0};
    if (events == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "sort: no memory for %zu events", count);
    }
    for (uint32_t i = 0; i < j->runs; i++) {
        hri_error_keep(&error,
                       gather_band(j, i, events + 2 * (size_t)i * j->runs));
        if (error.status != HR_OK) {
            break;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (events[i] != NULL) {
            hri_error_keep(&error, hr_event_wait(events[i]));
            hr_event_destroy(events[i]);
        }
    }
    free(events);
    return hri_error_raise(&error);
}

/* ---- merging the shares of a band */

/* Merge neighbours among `count` shares that begin at at[0 .. count]. */
static hr_status merge_pairs(const joining *j, const hri_sort_band *b, int side,
                             int64_t *at, uint32_t count)
{
    const hri_sort_data *from = &b->sides[side];
    for (uint32_t i = 0; i < count; i += 2) {
        const int64_t lefts = at[i + 1] - at[i];
        const int64_t rights = i + 1 < count ? at[i + 2] - at[i + 1] : 0;
        hri_sort_data left, right, to;
        HRI_TRY(take_columns(from, at[i], lefts, &left));
        right = left;
        if (rights > 0) {
            HRI_TRY(take_columns(from, at[i + 1], rights, &right));
        }
        HRI_TRY(take_columns(&b->sides[1 - side], at[i], lefts + rights, &to));
        HRI_TRY(hri_sort_merge(j->sort, b, &left, &right, rights, &to));
        at[i / 2] = at[i];
    }
    at[(count + 1) / 2] = b->cols;
    return HR_OK;
}

/* Merge pairs of `count` shares until there is one, on the result's side. */
static hr_status merge_rounds(const joining *j, const hri_sort_band *b,
                              int64_t *at, uint32_t count)
{
    int side = HRI_SORT_TEMPORARY;
    while (count > 1 || side == HRI_SORT_TEMPORARY) {
        HRI_TRY(merge_pairs(j, b, side, at, count));
        count = (count + 1) / 2;
        side = 1 - side;
    }
    return HR_OK;
}

/* Merge the shares that were gathered. */
static hr_status merge_shares(const joining *j, uint32_t band)
{
    const hri_sort_band *b = &j->sort->bands[band];
    int64_t *at = calloc((size_t)j->runs + 1, sizeof *at);
    uint32_t count = 0;
    if (at == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "sort: no memory for %u shares",
                        j->runs);
    }
    for (uint32_t i = 0; i < j->runs; i++) {
        const int64_t share = share_of(j, band, i);
        if (share > 0) {
            at[count + 1] = at[count] + share;
            count++;
        }
    }
    const hr_status status = merge_rounds(j, b, at, count);
    free(at);
    return status;
}

/* ---- the join */

static hr_status join_runs(const joining *j)
{
    HRI_TRY(cut_runs(j));
    HRI_TRY(gather_all(j));
    for (uint32_t i = 0; i < j->runs; i++) {
        HRI_TRY(merge_shares(j, i));
    }
    return HR_OK;
}

uint64_t hri_sort_join_bytes(uint32_t bands)
{
    enum { CUT = sizeof(uint64_t) + DIGITS * sizeof(int64_t) };
    return (uint64_t)(bands - 1) * CUT;
}

hr_status hri_sort_join(hri_sorting *s)
{
    const size_t runs = s->count;
    joining j = {.sort = s,
                 .runs = s->count,
                 .cuts = calloc(runs - 1, sizeof *j.cuts),
                 .begin = calloc((runs + 1) * runs, sizeof *j.begin),
                 .end = calloc((runs - 1) * runs, sizeof *j.end),
                 .found = calloc(runs * (runs - 1) * DIGITS, sizeof *j.found)};
    const bool made =
        j.cuts != NULL && j.begin != NULL && j.end != NULL && j.found != NULL;
    hr_status status;
    if (made) {
        status = join_runs(&j);
        const hr_status finished = hri_sort_finish(s);
        status = status == HR_OK ? finished : status;
    } else {
        status = hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "sort: no memory to join %u runs", s->count);
    }
    free(j.cuts);
    free(j.begin);
    free(j.end);
    free(j.found);
    return status;
}
