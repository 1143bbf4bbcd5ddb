/* SPDX-License-Identifier: MIT */
/* The state of a grid: names of fields, bands, queues, errors, and the graph of
 * its steps. */
#include <stdlib.h>

#include "grid/grid.h"
#include "runtime/stream.h"

/* ---- fields as callers name them */

uint32_t hr_field_component(uint32_t field, uint32_t component)
{
    return component < HR_MAX_COMPONENTS
               ? field | (component + 1) << HRI_FIELD_BITS
               : UINT32_MAX - 1; /* no field */
}

hr_status hri_field_find(const hr_grid *grid, const char *who, uint32_t name)
{
    const uint32_t index = hri_field_index(name);
    const int64_t part = hri_component_index(name);
    if (index >= grid->field_count) {
        return hri_fail(HR_ERROR_INVALID, "%s: field index %u is not below %u",
                        who, part == HRI_ALL_COMPONENTS ? name : index,
                        grid->field_count);
    }
    const uint32_t components = grid->fields[index].components;
    return part < components
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "%s: component %lld of field %u is not below %u", who,
                          (long long)part, index, components);
}

/* ---- bands */

uint32_t hri_grid_busy_bands(const hr_grid *grid)
{
    uint32_t busy = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        busy += !hri_band_is_empty(&grid->bands[b]);
    }
    return busy;
}

uint32_t hri_grid_owner(const hr_grid *grid, int64_t row)
{
    uint32_t owner = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_band *band = &grid->bands[b];
        if (!hri_band_is_empty(band)) {
            owner = b;
            if (row < band->end) {
                break;
            }
        }
    }
    return owner;
}

/* Create the queues of a band. The host's threads are one pool, so several
 * queues would gain nothing there. */
hr_status hri_band_create_queues(const hr_grid *grid, hri_band *band)
{
    const hri_accelerator *a = &grid->context->accelerators[band->accelerator];
    const bool one = a->device->info.host || a->device->info.emulated;
    hr_queue **const queues[] = {&band->inner, &band->edge, &band->link};
    static const char *const names[] = {"inner", "edge", "link"};
    for (int q = 0; q < 3; q++) {
        if (one && q > 0) {
            *queues[q] = band->inner;
        } else {
            HRI_TRY(hri_queue_open(grid->context, band->accelerator, q > 0,
                                   names[q], queues[q]));
        }
    }
    return HR_OK;
}

void hri_band_destroy_queues(hri_band *band)
{
    if (band->link != band->inner) {
        hr_queue_destroy(band->link);
    }
    if (band->edge != band->inner) {
        hr_queue_destroy(band->edge);
    }
    hr_queue_destroy(band->inner);
    band->inner = band->edge = band->link = NULL;
}

/* ---- parts */

bool hri_grid_has_far(const hr_grid *grid)
{
    bool any = false;
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        any = any || grid->part.before[d] || grid->part.after[d];
    }
    return any;
}

const hr_grid_part *hr_grid_part_of(const hr_grid *grid)
{
    return grid != NULL && hri_grid_is_part(grid) ? &grid->part : NULL;
}

/* ---- work on the grid */

hr_status hri_grid_agree(const hr_grid *grid, hr_status status,
                         hri_agreement *a)
{
    return hri_grid_is_part(grid)
               ? grid->part.agree(grid->part.data, status,
                                  a != NULL ? a->any : NULL,
                                  a != NULL ? a->least : NULL)
               : status;
}

hr_status hri_grid_keep_error(hr_grid *grid, hr_status status)
{
    hri_error_keep(&grid->error, status);
    return status;
}

/* Wait for everything that uses a band's storage. Copies into the grid and out
 * of it are not in its queues. */
static hr_status finish_storage(const hri_storage *storage)
{
    hri_fences fences = {0};
    if (storage->array == NULL) {
        return HR_OK;
    }
    const hri_box all = hri_array_box(storage->array);
    const hri_boxes boxes = hri_boxes_of(&all);
    hr_status status =
        hri_uses_collect(storage->array, HRI_NOWHERE, &boxes, false, &fences);
    if (status == HR_OK) {
        status = hri_array_wait(storage->array, NULL, &fences);
    }
    hri_fences_finish(&fences);
    return status;
}

static hr_status finish_fields(const hr_grid *grid)
{
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (uint32_t b = 0; b < grid->band_count; b++) {
            HRI_TRY(finish_storage(&grid->fields[f].storage[b]));
        }
    }
    return HR_OK;
}

hr_status hri_grid_finish(hr_grid *grid)
{
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_band *band = &grid->bands[b];
        hr_queue *queues[] = {band->link, band->edge, band->inner};
        for (int q = 0; q < 3; q++) {
            hri_error_keep(&grid->error, hr_queue_finish(queues[q]));
        }
    }
    pthread_mutex_lock(&grid->context->lock);
    if (grid->error.status == HR_OK) { /* else storage may be incomplete */
        hri_error_keep(&grid->error, finish_fields(grid));
    }
    pthread_mutex_unlock(&grid->context->lock);
    return hri_error_raise(&grid->error);
}

void hri_grid_drop_graph(const hr_grid *grid, hri_replay *r)
{
    if (r->graph != NULL) {
        const hr_queue *queue = hri_grid_first_queue(grid);
        (void)hri_stream_finish(queue->stream); /* its error does not matter */
        queue->accelerator->device->ops->destroy_graph(r->graph);
        r->graph = NULL;
    }
}

void hri_grid_forget_graph(hr_grid *grid)
{
    hri_replay *r = grid->replay;
    grid->replay = NULL;
    if (r != NULL) {
        hri_grid_drop_graph(grid, r);
    }
    free(r);
}
