/* SPDX-License-Identifier: MIT */
#include "distribute/distribute.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/size.h"
#include "model/pays.h"

/* Weights become integers with sums below 2^WEIGHT_BITS, so that share_of can
 * count in 64 bits. */
enum { WEIGHT_BITS = 60, SIZE_BITS = 62 };

/* ---- bisection */

hr_status hri_bisect(int64_t low, int64_t high, hri_holds *holds, void *data,
                     int64_t *largest)
{
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        bool yes = false;
        HRI_TRY(holds(data, middle, &yes));
        *(yes ? &low : &high) = middle;
    }
    *largest = low;
    return HR_OK;
}

/* ---- weights */

static hr_status check_weights(const hri_distribution *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->count; i++) {
        const double w = d->shares[i].weight;
        if (!(w >= 0) || isinf(w)) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: weight %u is %g, not finite and 0 or more",
                            d->caller, i, isnan(w) ? NAN : w);
        }
        any = any || w > 0;
    }
    return any ? HR_OK
               : hri_fail(HR_ERROR_INVALID, "%s: all %u weights are 0",
                          d->caller, d->count);
}

static bool is_open(const hri_share *p)
{
    return p->weight > 0 && !p->full;
}

/* Find the power of two that turns the weights of open shares into integers.
 * False: no share is open. */
static bool find_scale(const hri_distribution *d, int *scale)
{
    double largest = 0;
    int exponent, spare;
    for (uint32_t i = 0; i < d->count; i++) {
        if (is_open(&d->shares[i])) {
            largest = fmax(largest, d->shares[i].weight);
        }
    }
    (void)frexp(largest, &exponent);
    (void)frexp((double)d->count, &spare);
    *scale = WEIGHT_BITS - exponent - spare;
    return largest > 0;
}

static int64_t weight_of(const hri_share *p, int scale)
{
    return is_open(p) ? (int64_t)ldexp(p->weight, scale) : 0;
}

/* ---- shares */

/* grains * weight / whole, rounded down, and the rest. By long division, since
 * the product has twice the bits. */
static int64_t share_of(int64_t grains, int64_t weight, int64_t whole,
                        int64_t *rest)
{
    int64_t share = 0, left = 0;
    for (int bit = SIZE_BITS; bit >= 0; bit--) {
        left = 2 * left + ((grains >> bit & 1) != 0 ? weight : 0);
        share *= 2;
        for (; left >= whole; left -= whole) { /* twice at most */
            share++;
        }
    }
    *rest = left;
    return share;
}

/* Set the grains of the open shares, rounded down. Their rests are in units of
 * 1 / *whole grains. A share that exceeds its limit becomes full,
 * and *left is reduced. False: some became full. */
static bool share_out(const hri_distribution *d, int scale, int64_t *left,
                      int64_t *whole)
{
    const int64_t grains = *left;
    bool good = true;
    *whole = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        *whole += weight_of(&d->shares[i], scale);
    }
    for (uint32_t i = 0; i < d->count; i++) {
        hri_share *p = &d->shares[i];
        if (!is_open(p)) {
            continue;
        }
        p->count = share_of(grains, weight_of(p, scale), *whole, &p->rest);
        const int64_t most = p->most / d->grain;
        if (p->count > most || (p->count == most && p->rest > 0)) {
            p->full = true;
            p->count = most;
            p->rest = 0;
            *left -= most;
            good = false;
        }
    }
    return good;
}

typedef struct ranking {
    const hri_distribution *d;
    int64_t grains;
} ranking;

/* Whether at least `grains` shares have a rest of `rest` or more. */
static hr_status has_rests(void *data, int64_t rest, bool *holds)
{
    const ranking *r = data;
    int64_t count = 0;
    for (uint32_t i = 0; i < r->d->count; i++) {
        count += r->d->shares[i].rest >= rest;
    }
    *holds = count >= r->grains;
    return HR_OK;
}

/* Give the grains that rounding left to the largest rests. There are fewer such
 * grains than rests above 0. */
static void give_rest(const hri_distribution *d, int64_t grains, int64_t whole)
{
    ranking r = {d, grains};
    int64_t least = 0;
    if (grains == 0) {
        return;
    }
    (void)hri_bisect(0, whole, has_rests, &r, &least);
    for (uint32_t i = 0; i < d->count; i++) {
        hri_share *p = &d->shares[i];
        p->count += p->rest > least;
        grains -= p->rest > least;
    }
    for (uint32_t i = 0; i < d->count && grains > 0; i++) {
        hri_share *p = &d->shares[i];
        p->count += p->rest == least;
        grains -= p->rest == least;
    }
}

/* Distribute all grains within `most`. False: the shares do not hold all.
 * Once no share exceeds its limit, rounding up does not either. */
static bool fill(const hri_distribution *d)
{
    int64_t left = hri_ceil_div(d->units, d->grain), whole = 0;
    int scale = 0;
    bool good = false, open = true;
    for (uint32_t i = 0; i < d->count; i++) {
        d->shares[i].full = false;
        d->shares[i].count = d->shares[i].rest = 0;
    }
    while (!good && open) {
        open = find_scale(d, &scale);
        good = open && share_out(d, scale, &left, &whole);
    }
    for (uint32_t i = 0; i < d->count && open; i++) {
        left -= is_open(&d->shares[i]) ? d->shares[i].count : 0;
    }
    if (open) {
        give_rest(d, left, whole);
    }
    return open || left == 0;
}

/* Turn grains into units, one share after the other. */
static void place(const hri_distribution *d)
{
    int64_t first = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        hri_share *p = &d->shares[i];
        const int64_t left = d->units - first;
        p->first = first;
        p->count = p->count > left / d->grain ? left : p->count * d->grain;
        first += p->count;
    }
}

/* ---- limits that depend on where a share lies */

typedef struct question {
    const hri_distribution *d;
    uint32_t index;
} question;

static hr_status ask(void *data, int64_t grains, bool *holds)
{
    const question *q = data;
    const hri_distribution *d = q->d;
    return d->fits(d->data, q->index, d->shares[q->index].first,
                   grains * d->grain, holds);
}

/* Lower `most` of shares that do not fit. *fit: all do. */
static hr_status lower(const hri_distribution *d, bool *fit)
{
    *fit = true;
    for (uint32_t i = 0; i < d->count; i++) {
        hri_share *p = &d->shares[i];
        question q = {d, i};
        bool fits = true;
        if (p->count > 0) {
            HRI_TRY(d->fits(d->data, i, p->first, p->count, &fits));
        }
        if (!fits) {
            int64_t most = 0;
            HRI_TRY(hri_bisect(0, hri_ceil_div(p->count, d->grain), ask, &q,
                               &most));
            p->most = most * d->grain;
            *fit = false;
        }
    }
    return HR_OK;
}

hr_status hri_distribute(const hri_distribution *d, bool *held)
{
    hri_distribution x = *d;
    /* Shares move when others get less, so a share may turn out too large
     * again. */
    int64_t rounds = 4 * (int64_t)d->count;
    HRI_TRY(check_weights(d));
    x.grain = hri_min(d->grain, d->units); /* so that products have few enough
                                              bits */
    for (bool fit = false; !fit;) {
        *held = rounds-- >= 0 && fill(&x);
        if (!*held) {
            break;
        }
        place(&x);
        fit = true;
        if (x.fits != NULL) {
            HRI_TRY(lower(&x, &fit));
        }
    }
    return HR_OK;
}

/* ---- sets: the fastest one, the fastest two, ... */

static int compare(const void *left, const void *right)
{
    const hri_candidate *a = left, *b = right;
    if (a->ahead != b->ahead) {
        return a->ahead < b->ahead ? -1 : 1;
    }
    if (a->seconds != b->seconds) {
        return a->seconds < b->seconds ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static void sort(hri_candidate *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        all[i].ahead = 0;
    }
    qsort(all, count, sizeof *all, compare);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            all[i].ahead += all[j].device == all[i].device;
        }
    }
    qsort(all, count, sizeof *all, compare);
}

hr_status hri_choose_set(hri_candidate *candidates, uint32_t count,
                         hri_predict *predict, void *data, hri_set *set)
{
    const uint32_t now = set->count <= count ? set->count : 0;
    *set = (hri_set){now, INFINITY};
    sort(candidates, count);
    if (now > 0) {
        HRI_TRY(predict(data, candidates, now, &set->seconds));
    }
    for (uint32_t n = 1; n <= count; n++) {
        double seconds = INFINITY;
        if (n != now) {
            HRI_TRY(predict(data, candidates, n, &seconds));
        }
        if (hri_model_pays(seconds, set->seconds)) {
            *set = (hri_set){n, seconds};
        }
    }
    if (isinf(set->seconds)) {
        set->count = 0;
    }
    return HR_OK;
}
