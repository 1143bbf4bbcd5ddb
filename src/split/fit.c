/* SPDX-License-Identifier: MIT */
/* Bands that fit into what memory limits leave of their accelerators. */
#include "arrays/array.h"
#include "base/size.h"
#include "runtime/memory.h"
#include "split/split.h"

/* Whether views before k are of the same array. */
static bool is_known(const hri_splitting *s, uint32_t k)
{
    bool known = false;
    for (uint32_t j = 0; j < k; j++) {
        known =
            known || (hri_split_is_view(s, j) &&
                      s->arguments[j].view.array == s->arguments[k].view.array);
    }
    return known;
}

/* What a band needs of the array of view k, by this view and later ones. */
static hr_status find_region(const hri_splitting *s, uint32_t k,
                             const hr_band *band, hri_boxes *region,
                             bool *linear)
{
    hr_status status = HR_OK;
    for (uint32_t j = k; j < s->kernel->parameter_count && status == HR_OK;
         j++) {
        hri_boxes boxes = {0};
        hr_view view;
        int64_t first;
        bool alone = false;
        if (!hri_split_is_view(s, j) ||
            s->arguments[j].view.array != s->arguments[k].view.array) {
            continue;
        }
        status = hri_split_argument(s, j, band, &view, &first);
        if (status == HR_OK) {
            status = hri_view_region(&view, &boxes, &alone);
        }
        if (status == HR_OK) {
            status = hri_boxes_add_all(region, &boxes);
        }
        *linear = *linear || alone;
        hri_boxes_finish(&boxes);
    }
    return status;
}

/* Whether accelerator i has room for what a band lacks there. An array's old
 * memory is freed once the new one has its values. */
static hr_status check_fits(const hri_splitting *s, uint32_t i,
                            const hr_band *band, bool *fits)
{
    const hri_accelerator *a = s->runners[i].accelerator;
    const int place = hri_place_of(s->context, a);
    uint64_t room = hri_accelerator_room(a);
    hr_status status = HR_OK;
    *fits = true;
    if (place == HRI_HOST || band->count == 0) {
        return HR_OK;
    }
    for (uint32_t k = 0; k < s->kernel->parameter_count && status == HR_OK;
         k++) {
        hri_boxes region = {0};
        bool linear = false;
        if (!hri_split_is_view(s, k) || is_known(s, k)) {
            continue;
        }
        status = find_region(s, k, band, &region, &linear);
        if (status == HR_OK) {
            uint64_t freed;
            const uint64_t bytes = hri_store_lack(
                s->arguments[k].view.array, place, &region, linear, &freed);
            *fits = *fits && bytes <= room &&
                    bytes <= a->device->info.allocation_bytes;
            room += *fits ? freed - bytes : 0;
        }
        hri_boxes_finish(&region);
    }
    return status;
}

/* How many tiles of rows fit of a band that does not. */
static hr_status find_most(const hri_splitting *s, uint32_t i, int64_t step,
                           int64_t *most)
{
    int64_t below = hri_ceil_div(s->bands[i].count, step);
    hr_status status = HR_OK;
    *most = 0;
    while (below - *most > 1 && status == HR_OK) {
        const int64_t middle = *most + (below - *most) / 2;
        hr_band band = s->bands[i];
        bool fits;
        band.count = middle * step;
        status = check_fits(s, i, &band, &fits);
        *(fits ? most : &below) = middle;
    }
    return status;
}

/* Weights that give the full ones what they hold, and the others the rest in
 * their proportions; false: nobody is left who could have it. */
static bool deal(const hri_splitting *s, int64_t tiles, double *weights)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const int64_t most = s->runners[i].most;
        tiles -= most >= 0 ? most : 0;
        sum += most >= 0 ? 0 : weights[i];
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const int64_t most = s->runners[i].most;
        weights[i] = most >= 0 ? (double)most
                     : sum > 0 ? weights[i] / sum * (double)tiles
                               : 0;
    }
    return sum > 0;
}

hr_status hri_split_fit(hri_splitting *s, double *weights, bool *fits)
{
    const int64_t step = s->options.tile != NULL ? s->options.tile->size[0] : 1;
    const int64_t tiles = hri_ceil_div(s->domain.size[0], step);
    /* Bands move when others get less, so one may be found full twice. */
    uint32_t rounds = 4 * s->count;
    bool full = true;
    hr_status status = HR_OK;
    *fits = true;
    for (uint32_t i = 0; i < s->count; i++) {
        s->runners[i].most = -1;
    }
    while (full && *fits && status == HR_OK) {
        full = false;
        status = hri_split_cut(s, weights);
        for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
            bool fit = true;
            status = check_fits(s, i, &s->bands[i], &fit);
            if (status == HR_OK && !fit) {
                full = true;
                status = find_most(s, i, step, &s->runners[i].most);
            }
        }
        if (full) {
            *fits = rounds-- > 0 && deal(s, tiles, weights);
        }
    }
    return status;
}
