/* SPDX-License-Identifier: MIT */
/* Grids: making, describing and freeing them. */
#include "grid/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/structs.h"
#include "grid/bands.h"
#include "grid/step.h"

enum { MAX_STEPS_ASKED = 1024 }; /* from one exchange */

hr_field hr_field_of(size_t element_bytes, int64_t halo, hr_boundary boundary,
                     const void *value)
{
    hr_field field = {.element_bytes = element_bytes};
    for (int d = 0; d < HR_MAX_KERNEL_RANK; d++) {
        field.before[d] = field.after[d] = (hr_side){halo, boundary, value};
    }
    return field;
}

/* ---- rules */

static hr_status check_side(uint32_t field, const hr_side *side)
{
    if (side->halo < 0 || side->halo > INT32_MAX) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: field %u has a halo of %lld, not 0 to %d", field,
                        (long long)side->halo, INT32_MAX);
    }
    if ((int)side->boundary < HR_BOUNDARY_CONSTANT ||
        side->boundary > HR_BOUNDARY_USER) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: field %u has the unknown boundary %d", field,
                        (int)side->boundary);
    }
    return HR_OK;
}

/* Tell why the cells of an extent cannot be counted. */
static hr_status refuse_extent(const hr_extent *extent)
{
    char text[3 * 24] = "";
    size_t length = 0;
    if (extent->rank < 1 || extent->rank > HR_MAX_KERNEL_RANK) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: the extent has rank %u, not 1 to %d",
                        extent->rank, HR_MAX_KERNEL_RANK);
    }
    bool empty = false;
    for (uint32_t d = 0; d < extent->rank; d++) {
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   d > 0 ? " x %lld" : "%lld",
                                   (long long)extent->size[d]);
        empty = empty || extent->size[d] < 1;
    }
    return hri_fail(HR_ERROR_INVALID, "grid: the extent is %s, %s", text,
                    empty ? "but each dimension needs 1 cell or more"
                          : "which is more than 2^63 - 1 cells");
}

static hr_status check_fields(hr_extent extent, const hr_field *fields,
                              uint32_t count)
{
    if (fields == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: the list of fields is NULL");
    }
    if (count < 1 || count > HR_MAX_FIELDS) {
        return hri_fail(HR_ERROR_INVALID, "grid: %u fields, not 1 to %d", count,
                        HR_MAX_FIELDS);
    }
    for (uint32_t f = 0; f < count; f++) {
        if (fields[f].element_bytes == 0 ||
            fields[f].element_bytes > INT32_MAX) {
            return hri_fail(HR_ERROR_INVALID,
                            "grid: field %u has elements of %zu bytes, not "
                            "1 to %d",
                            f, fields[f].element_bytes, INT32_MAX);
        }
        if (fields[f].components > HR_MAX_COMPONENTS) {
            return hri_fail(HR_ERROR_INVALID,
                            "grid: field %u has %u components, not 1 to %d", f,
                            fields[f].components, HR_MAX_COMPONENTS);
        }
        for (uint32_t d = 0; d < extent.rank; d++) {
            HRI_TRY(check_side(f, &fields[f].before[d]));
            HRI_TRY(check_side(f, &fields[f].after[d]));
        }
    }
    return HR_OK;
}

static const hri_struct options_struct = HRI_STRUCT(
    hr_grid_options, "grid options", "HR_GRID_OPTIONS_INIT", weights);
static const hri_struct part_struct =
    HRI_STRUCT(hr_grid_part, "grid part", "HR_GRID_PART_INIT", data);
static const hri_struct state_struct =
    HRI_STRUCT(hr_grid_state, "grid state", "HR_GRID_STATE_INIT", steps);

/* A part lies inside of the whole. Without one the grid is all of itself. */
static hr_status read_part(const hr_grid_part *given, const hr_extent *extent,
                           hr_grid_part *part)
{
    *part = (hr_grid_part)HR_GRID_PART_INIT;
    part->whole = *extent;
    if (given == NULL) {
        return HR_OK;
    }
    HRI_TRY(hri_struct_read(&part_struct, given, part));
    if (part->whole.rank != extent->rank || part->begin == NULL ||
        part->finish == NULL || part->agree == NULL || part->join == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        part->whole.rank != extent->rank
                            ? "grid: a part of rank %u of a grid of rank %u"
                            : "grid: a function of the part is NULL",
                        extent->rank, part->whole.rank);
    }
    for (uint32_t d = 0; d < extent->rank; d++) {
        const int64_t n = part->whole.size[d], at = part->origin[d];
        if (at < 0 || at > n || extent->size[d] > n - at) {
            return hri_fail(HR_ERROR_INVALID,
                            "grid: a part of %lld cells from %lld on exceeds "
                            "dimension %u, which has %lld",
                            (long long)extent->size[d], (long long)at, d,
                            (long long)n);
        }
    }
    return HR_OK;
}

static hr_status check_grid(const hr_context *context, hr_extent extent,
                            const hr_field *fields, uint32_t count,
                            const hr_grid_options *options,
                            hri_indices *indices)
{
    HRI_TRY(hri_context_check(context, "grid"));
    if (hr_extent_count(extent) == 0 || extent.rank > HR_MAX_KERNEL_RANK) {
        return refuse_extent(&extent);
    }
    if (options->steps_per_exchange > MAX_STEPS_ASKED) {
        return hri_fail(HR_ERROR_INVALID,
                        "grid: steps_per_exchange is %u, not 0 to %d",
                        options->steps_per_exchange, MAX_STEPS_ASKED);
    }
    HRI_TRY(hri_indices_read(context, "grid", options->accelerators,
                             options->accelerator_count, indices));
    return check_fields(extent, fields, count);
}

/* ---- fields */

/* How many sides have a constant beyond them. */
static size_t count_constants(const hr_field *field, uint32_t rank)
{
    size_t count = 0;
    for (uint32_t d = 0; d < rank; d++) {
        count += field->before[d].boundary == HR_BOUNDARY_CONSTANT;
        count += field->after[d].boundary == HR_BOUNDARY_CONSTANT;
    }
    return count;
}

/* Copy the sides and their values. Constants that are not given are zeros. */
static hr_status copy_sides(const hr_grid *grid, const hr_field *from,
                            hri_field *field)
{
    const size_t bytes = field->element_bytes;
    const size_t count = count_constants(from, grid->extent.rank);
    unsigned char *at = field->values = calloc(1 + count, bytes);
    if (at == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    for (int s = 0; s < HRI_SIDES; s++) {
        for (uint32_t d = 0; d < grid->extent.rank; d++) {
            hr_side side = s == HRI_BEFORE ? from->before[d] : from->after[d];
            const void *value = side.value;
            side.value = field->values;
            field->given[s][d] = side.boundary;
            if (hri_field_is_far(grid, field, s, d)) {
                side.boundary = HR_BOUNDARY_USER;
            }
            if (side.boundary == HR_BOUNDARY_CONSTANT && value != NULL) {
                side.value = memcpy(at += bytes, value, bytes);
                field->valued = true;
            }
            field->filled =
                field->filled || (d > 0 && side.halo > 0 &&
                                  side.boundary != HR_BOUNDARY_CONSTANT &&
                                  side.boundary != HR_BOUNDARY_USER);
            field->sides[s][d] = side;
        }
        field->depth.of[s] = field->sides[s][0].halo;
    }
    field->far_stale = true;
    return HR_OK;
}

/* ---- the calls */

/* Make a band for each accelerator. Lost ones are left out, unless the caller
 * gives each one a weight. */
static hr_status make_bands(hr_grid *grid, const hri_indices *indices,
                            bool weighted)
{
    for (uint32_t i = 0; i < indices->count; i++) {
        const uint32_t index = hri_indices_at(indices, i);
        if (weighted ||
            !hri_accelerator_is_lost(&grid->context->accelerators[index])) {
            grid->bands[grid->band_count++] =
                (hri_band){.accelerator = index, .given = i};
        }
    }
    return weighted || grid->band_count == 0
               ? hri_indices_check(grid->context, indices)
               : HR_OK;
}

static hr_status set_up(hr_grid *grid, const hr_field *fields,
                        const hr_grid_options *options,
                        const hri_indices *indices)
{
    HRI_TRY(make_bands(grid, indices, options->weights != NULL));
    grid->wanted = options->steps_per_exchange;
    if (hri_grid_has_far(grid)) { /* it exchanges with others in each step */
        grid->wanted = 1;
    }
    grid->state.steps_per_exchange = 1;
    for (uint32_t f = 0; f < grid->field_count; f++) {
        grid->fields[f].element_bytes = fields[f].element_bytes;
        grid->fields[f].components =
            fields[f].components > 0 ? fields[f].components : 1;
        HRI_TRY(copy_sides(grid, &fields[f], &grid->fields[f]));
    }
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status =
        hri_grid_lay_out(grid, options->weights, false, grid->bands);
    pthread_mutex_unlock(&grid->context->lock);
    HRI_TRY(status);
    if (options->weights == NULL) { /* else bands stay */
        HRI_TRY(hri_timing_create(grid));
    }
    return hri_grid_renew(grid);
}

void hr_grid_destroy(hr_grid *grid)
{
    if (grid == NULL) {
        return;
    }
    if (grid->part.release != NULL) {
        grid->part.release(grid->part.data);
    }
    hri_grid_forget_graph(grid);
    hri_timing_destroy(grid->timing);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        hri_storage_destroy(grid->fields[f].storage, grid->band_count);
        free(grid->fields[f].values);
    }
    for (uint32_t b = 0; b < grid->band_count; b++) {
        hri_band_destroy_queues(&grid->bands[b]);
    }
    free(grid);
}

hr_status hr_grid_create(hr_context *context, hr_extent extent,
                         const hr_field *fields, uint32_t count,
                         const hr_grid_options *options, hr_grid **grid)
{
    HRI_USUAL_ARITHMETIC;
    hr_grid_options read = HR_GRID_OPTIONS_INIT;
    hr_grid_part part;
    hri_indices indices;
    if (grid == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: grid is NULL");
    }
    HRI_TRY(hri_struct_read(&options_struct, options, &read));
    HRI_TRY(check_grid(context, extent, fields, count, &read, &indices));
    HRI_TRY(read_part(read.part, &extent, &part));
    hr_grid *g = calloc(1, sizeof *g + indices.count * sizeof g->bands[0]);
    if (g == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "grid: out of memory");
    }
    g->context = context;
    g->extent = extent;
    g->part = part;
    g->field_count = count;
    const hr_status status = set_up(g, fields, &read, &indices);
    if (status != HR_OK) {
        g->part.release = NULL; /* its data stay the caller's */
        hr_grid_destroy(g);
        return status;
    }
    *grid = g;
    return HR_OK;
}

hr_status hr_grid_describe_field(const hr_grid *grid, uint32_t field,
                                 hr_field *described)
{
    if (grid == NULL || described == NULL) {
        return hri_fail(HR_ERROR_INVALID, "grid: %s is NULL",
                        grid == NULL ? "the grid" : "described");
    }
    HRI_TRY(hri_field_find(grid, "grid", field));
    const hri_field *f = &grid->fields[hri_field_index(field)];
    *described = (hr_field){.element_bytes = f->element_bytes,
                            .components =
                                hri_component_index(field) == HRI_ALL_COMPONENTS
                                    ? f->components
                                    : 1};
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        described->before[d] = f->sides[HRI_BEFORE][d];
        described->after[d] = f->sides[HRI_AFTER][d];
        described->before[d].boundary = f->given[HRI_BEFORE][d];
        described->after[d].boundary = f->given[HRI_AFTER][d];
    }
    return HR_OK;
}

hr_status hr_grid_finish(hr_grid *grid)
{
    HRI_USUAL_ARITHMETIC;
    return grid != NULL
               ? hri_grid_keep_error(
                     grid, hri_grid_agree(grid, hri_grid_finish(grid), NULL))
               : hri_fail(HR_ERROR_INVALID, "grid: the grid is NULL");
}

hr_status hr_grid_describe(const hr_grid *grid, hr_grid_state *state,
                           hr_band *bands, uint32_t room)
{
    if (grid == NULL || state == NULL || (bands == NULL && room > 0)) {
        return hri_fail(HR_ERROR_INVALID, "grid: %s is NULL",
                        grid == NULL    ? "the grid"
                        : state == NULL ? "state"
                                        : "bands");
    }
    HRI_TRY(hri_struct_check(&state_struct, state));
    hr_grid_state now = grid->state;
    now.band_count = 0;
    for (uint32_t b = 0; b < grid->band_count; b++) {
        const hri_band *band = &grid->bands[b];
        if (hri_band_is_empty(band)) {
            continue;
        }
        if (now.band_count < room) {
            bands[now.band_count] =
                (hr_band){.accelerator = band->accelerator,
                          .first = grid->part.origin[0] + band->first,
                          .count = band->end - band->first,
                          .read_first = grid->part.origin[0] + band->first,
                          .read_count = band->end - band->first};
        }
        now.band_count++;
    }
    hri_struct_write(&state_struct, &now, state);
    return HR_OK;
}
