/* SPDX-License-Identifier: MIT */
/* Which accelerators are worth it: the fastest one, the fastest two, ... */
#include <math.h>
#include <stdlib.h>

#include "distribute/distribute.h"
#include "model/pays.h"

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
    hr_status status = HR_OK;
    *set = (hri_set){now, INFINITY};
    sort(candidates, count);
    if (now > 0) {
        status = predict(data, candidates, now, &set->seconds);
    }
    for (uint32_t n = 1; n <= count && status == HR_OK; n++) {
        double seconds = INFINITY;
        if (n != now) {
            status = predict(data, candidates, n, &seconds);
        }
        if (status == HR_OK && hri_model_pays(seconds, set->seconds)) {
            *set = (hri_set){n, seconds};
        }
    }
    if (isinf(set->seconds)) {
        set->count = 0;
    }
    return status;
}
