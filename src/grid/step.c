/* SPDX-License-Identifier: MIT */
/* A step: what each band does in each phase, and in which queues. */
#include "grid/step.h"

#include <string.h>

#include "arrays/launch.h"
#include "base/size.h"
#include "grid/bands.h"

/* The phase that all bands are running. */
typedef struct running {
    hr_grid *grid;
    const hr_phase *phases, *phase; /* all phases, and the present one */
    size_t count;
    size_t number;            /* of the kernel, of those that run for all rows;
                                 SIZE_MAX: not one of them */
    hri_cells cells;          /* that the phase runs for */
    int64_t extra[HRI_SIDES]; /* rows of neighbours that a band computes
                                 itself */
    int64_t edge[HRI_SIDES];  /* rows of a band that read from neighbours, or
                                 that neighbours wait for; 0: none */
    bool ring;                /* the first and the last band are neighbours */
} running;

/* ---- halos */

/* Whether the phase reads more rows of neighbours than are valid. */
static bool lacks_rows(const hr_grid *grid, const hr_argument *a)
{
    const hri_field *f = hri_argument_field(grid, a);
    return f != NULL && a->near &&
           (f->valid.of[HRI_BEFORE] < f->sides[HRI_BEFORE][0].halo ||
            f->valid.of[HRI_AFTER] < f->sides[HRI_AFTER][0].halo);
}

static bool is_wide(const hr_grid *grid)
{
    return grid->state.steps_per_exchange > 1;
}

/* Fetch what several steps from this phase on read, for all fields. */
static hr_status exchange_wide(running *s)
{
    hr_grid *grid = s->grid;
    hri_rows need[HR_MAX_FIELDS], room[HR_MAX_FIELDS];
    hri_phases_need(grid, s->phases, s->count, (size_t)(s->phase - s->phases),
                    grid->state.steps_per_exchange, need, room);
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (int side = 0; side < HRI_SIDES; side++) {
            need[f].of[side] =
                hri_min(need[f].of[side], grid->fields[f].depth.of[side]);
        }
        HRI_TRY(hri_exchange_rows(grid, &grid->fields[f], need[f]));
    }
    return HR_OK;
}

/* Whether the phase reads rows beyond the ends that must be computed again. */
static bool lacks_ends(const running *s, const hr_argument *a)
{
    const hri_field *f = hri_argument_field(s->grid, a);
    const bool beyond =
        s->cells.lo[0] < 0 || s->cells.hi[0] > s->grid->extent.size[0];
    return f != NULL && f->ends_stale &&
           (a->near || (beyond && (a->access & HR_IN) != 0));
}

/* Fetch what the phase reads. */
static hr_status fetch_needs(running *s, bool *exchanged)
{
    hr_grid *grid = s->grid;
    for (size_t i = 0; i < s->phase->argument_count; i++) {
        const hr_argument *a = &s->phase->arguments[i];
        if (!lacks_rows(grid, a)) {
            continue;
        }
        hri_field *f = &grid->fields[hri_field_index(a->field - 1)];
        const hri_rows halo = {
            {f->sides[HRI_BEFORE][0].halo, f->sides[HRI_AFTER][0].halo}};
        *exchanged = true;
        HRI_TRY(is_wide(grid) ? exchange_wide(s)
                              : hri_exchange_rows(grid, f, halo));
    }
    for (size_t i = 0; i < s->phase->argument_count; i++) {
        const hr_argument *a = &s->phase->arguments[i];
        if (lacks_ends(s, a)) {
            HRI_TRY(hri_boundary_fill_ends(
                grid, &grid->fields[hri_field_index(a->field - 1)]));
        }
    }
    return HR_OK;
}

/* Find how many rows of its neighbours each band can compute itself. These need
 * not be fetched. */
static void find_extra(running *s)
{
    for (int side = 0; side < HRI_SIDES && is_wide(s->grid); side++) {
        int64_t extra = INT64_MAX;
        for (size_t i = 0; i < s->phase->argument_count; i++) {
            const hr_argument *a = &s->phase->arguments[i];
            const hri_field *f = hri_argument_field(s->grid, a);
            if (f != NULL) {
                const int64_t reach = a->near ? f->sides[side][0].halo : 0;
                extra = hri_min(extra, a->access == HR_OUT
                                           ? f->depth.of[side]
                                           : f->valid.of[side] - reach);
            }
        }
        s->extra[side] = extra < INT64_MAX ? hri_max(extra, 0) : 0;
    }
}

/* Find the edges: rows that read from neighbours, or that neighbours read. They
 * run first when halos have just been fetched or are fetched next. */
static void find_edges(running *s, bool exchanged)
{
    const bool soon = s->extra[HRI_BEFORE] == 0 && s->extra[HRI_AFTER] == 0;
    const bool alone = hri_grid_busy_bands(s->grid) == 1;
    for (size_t i = 0; !alone && i < s->phase->argument_count; i++) {
        const hr_argument *a = &s->phase->arguments[i];
        const hri_field *f = hri_argument_field(s->grid, a);
        for (int side = 0; side < HRI_SIDES && f != NULL; side++) {
            const int other = HRI_AFTER - side;
            int64_t *edge = &s->edge[side];
            if (a->near && exchanged) {
                *edge = hri_max(*edge, f->sides[side][0].halo);
            }
            /* what the neighbour on this side reads */
            if (hri_argument_writes(a) && soon) {
                *edge =
                    hri_max(*edge, is_wide(s->grid) ? f->depth.of[other]
                                                    : f->sides[other][0].halo);
            }
            s->ring =
                s->ring || f->sides[side][0].boundary == HR_BOUNDARY_PERIODIC;
        }
    }
}

/* ---- launches */

/* The cells of a field that a launch for these cells reads or writes. ends:
 * what its epilogue fills; NULL: there is none. */
static hri_cells cells_for(const running *s, uint32_t argument,
                           const hri_storage *storage, const hri_cells *cells,
                           const hri_row_ends *ends)
{
    const hr_argument *a = &s->phase->arguments[argument];
    const hri_field *f = hri_argument_field(s->grid, a);
    hri_cells c = *cells;
    for (uint32_t d = 0; d < s->grid->extent.rank && a->near; d++) {
        c.lo[d] -= f->sides[HRI_BEFORE][d].halo;
        c.hi[d] += f->sides[HRI_AFTER][d].halo;
    }
    if (ends != NULL) {
        hri_boundary_add_ends(ends, argument, &c);
    }
    return a->near ? hri_box_meet(&c, &storage->cells) : c;
}

/* Launch the phase for these cells. Kernels see indices of the whole grid, so
 * *ends becomes that, too. */
static hr_status launch_cells(const running *s, uint32_t band, hr_queue *queue,
                              const hri_cells *cells, hri_fence **start,
                              hri_row_ends *ends)
{
    const hr_grid *grid = s->grid;
    const int64_t *origin = grid->part.origin;
    const hri_epilogue epilogue = {hri_row_ends_fill, ends,
                                   ends != NULL ? hri_row_ends_bytes(ends) : 0};
    const hr_phase *phase = s->phase;
    const hr_parameter *p = phase->kernel->parameters(phase->kernel);
    hr_argument arguments[HR_MAX_PARAMETERS];
    hri_window windows[HR_MAX_PARAMETERS] = {{{0}, {0}}};
    hri_launch_box box = hri_launch_box_of(grid->part.whole);
    box.windows = windows;
    box.start = start;
    box.epilogue = ends != NULL ? &epilogue : NULL;
    box.kept = grid->keeping;
    box.tile = phase->tile.rank > 0 ? &phase->tile : NULL;
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        box.first[d] = origin[d] + cells->lo[d];
        box.end[d] = origin[d] + cells->hi[d];
        box.step[d] = phase->step[d] > 0 ? phase->step[d] : 1;
    }
    for (uint32_t i = 0; i < phase->argument_count; i++) {
        const hr_argument *a = &phase->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        arguments[i] = *a;
        if (f == NULL) {
            hri_argument_flatten(&p[i], &arguments[i]);
            memcpy(windows[i].extent,
                   arguments[i].view.extent.size + (p[i].list ? 1 : 0),
                   sizeof windows[i].extent);
        } else {
            const hri_storage *storage = &f->storage[band];
            const hri_cells c = cells_for(s, i, storage, cells, ends);
            arguments[i].view = hri_storage_argument(f, storage, &c, &p[i], a);
            for (uint32_t d = 0; d < grid->extent.rank; d++) {
                windows[i].first[d] = origin[d] + c.lo[d];
                windows[i].extent[d] = grid->part.whole.size[d];
            }
        }
    }
    if (ends != NULL) {
        hri_boundary_shift_ends(ends, origin);
    }
    return hri_launch_in_box(queue->context, queue, phase->kernel, &box,
                             arguments, phase->argument_count);
}

/* Run rows lo to before hi of the phase on a band, then fill the cells that
 * follow from them beyond the ends of other dimensions. Inner rows may be
 * timed. */
static hr_status run_rows(const running *s, uint32_t band, bool inner,
                          int64_t lo, int64_t hi)
{
    hr_grid *grid = s->grid;
    hr_queue *queue = inner ? grid->bands[band].inner : grid->bands[band].edge;
    hri_cells cells = s->cells;
    cells.lo[0] = hri_max(cells.lo[0], lo);
    cells.hi[0] = hri_min(cells.hi[0], hi);
    if (cells.lo[0] >= cells.hi[0]) {
        return HR_OK;
    }
    hri_fence **start = inner ? hri_timing_start(grid, s->number, band,
                                                 cells.hi[0] - cells.lo[0])
                              : NULL;
    hri_row_ends ends;
    hri_row_ends *done =
        hri_boundary_row_ends(grid, s->phase, band, queue, &cells, &ends)
            ? &ends
            : NULL;
    HRI_TRY(launch_cells(s, band, queue, &cells, start, done));
    if (start != NULL) {
        HRI_TRY(hri_timing_end(grid, s->number, band));
    }
    for (size_t i = 0; i < s->phase->argument_count; i++) {
        const hr_argument *a = &s->phase->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        if (f != NULL && hri_argument_writes(a)) {
            HRI_TRY(hri_boundary_fill(grid, f, band, queue, cells.lo[0],
                                      cells.hi[0], done));
        }
    }
    return HR_OK;
}

/* Run the edges of a band, or its inner part. Both together are the band's own
 * rows, extra rows of its neighbours, and rows beyond the ends as far as the
 * phase goes. The inner part is everything where there are no edges, or nothing
 * is left between them. */
static hr_status run_band(const running *s, uint32_t band, bool inner)
{
    const hri_band *b = &s->grid->bands[band];
    const int64_t n = s->grid->extent.size[0];
    const int64_t *extra = s->extra, *edge = s->edge;
    const int64_t lo = b->first == 0 ? hri_min(0, s->cells.lo[0])
                                     : hri_max(0, b->first - extra[HRI_BEFORE]);
    const int64_t hi = b->end == n ? hri_max(n, s->cells.hi[0])
                                   : hri_min(n, b->end + extra[HRI_AFTER]);
    int64_t first = b->first > 0 || s->ring ? b->first + edge[HRI_BEFORE] : lo;
    int64_t end = b->end < n || s->ring ? b->end - edge[HRI_AFTER] : hi;
    if ((edge[HRI_BEFORE] == 0 && edge[HRI_AFTER] == 0) || first >= end) {
        first = lo;
        end = hi;
    }
    if (inner) {
        return run_rows(s, band, true, first, end);
    }
    HRI_TRY(run_rows(s, band, false, lo, first));
    return run_rows(s, band, false, end, hi);
}

/* Run the edges of all bands, then their inner parts. */
static hr_status run_bands(const running *s)
{
    const hr_grid *grid = s->grid;
    for (int inner = 0; inner < 2; inner++) {
        for (uint32_t b = 0; b < grid->band_count; b++) {
            if (!hri_band_is_empty(&grid->bands[b])) {
                HRI_TRY(run_band(s, b, inner == 1));
            }
        }
    }
    return HR_OK;
}

/* Note which rows are valid once the phase has run. */
static void settle(const running *s)
{
    for (size_t i = 0; i < s->phase->argument_count; i++) {
        const hr_argument *a = &s->phase->arguments[i];
        if (hri_argument_field(s->grid, a) == NULL || !hri_argument_writes(a)) {
            continue;
        }
        hri_field *f = &s->grid->fields[hri_field_index(a->field - 1)];
        const bool all =
            s->phase->extent.rank == 0 && hri_argument_is_whole(s->grid, a);
        for (int side = 0; side < HRI_SIDES; side++) {
            f->valid.of[side] =
                all ? s->extra[side]
                    : hri_min(f->valid.of[side], s->extra[side]);
        }
        f->far_stale = true;
        /* ends of all components follow at once */
        f->ends_stale =
            !hri_boundary_fills_all(s->grid, f, s->cells.lo[0], s->cells.hi[0]);
    }
}

static void swap(hr_grid *grid, const uint32_t *pair)
{
    hri_field *a = &grid->fields[pair[0]], *b = &grid->fields[pair[1]];
    const hri_field old = *a;
    *a = *b;
    *b = old;
}

/* ---- what other parts of the grid have */

/* Fields that the phase reads beyond sides where other parts lie, as far as
 * they must be brought, and how far it reads there. */
typedef struct far_fields {
    uint32_t fields[HR_MAX_FIELDS], count;
    int64_t reach[HRI_SIDES][HR_MAX_KERNEL_RANK];
} far_fields;

/* Whether the phase has cells beyond an end that other parts have values of.
 * All parts ask this of the whole grid. */
static bool goes_beyond(const running *s, const hri_field *f)
{
    const hr_grid_part *part = &s->grid->part;
    const hr_phase *phase = s->phase;
    bool beyond = false;
    for (uint32_t d = 0; d < phase->extent.rank; d++) {
        const int64_t lo = phase->origin[d], hi = lo + phase->extent.size[d];
        const hr_boundary before = f->given[HRI_BEFORE][d];
        const hr_boundary after = f->given[HRI_AFTER][d];
        beyond =
            beyond ||
            ((part->before[d] || part->after[d]) &&
             ((lo < 0 && before == HR_BOUNDARY_PERIODIC) ||
              (hi > part->whole.size[d] && after == HR_BOUNDARY_PERIODIC)));
    }
    return beyond;
}

/* Add how far an argument reads of a field. Returns whether anything comes for
 * it, here or in another part. */
static bool add_reach(const hr_grid *grid, const hri_field *f, bool near,
                      far_fields *far)
{
    bool any = false;
    for (int side = 0; side < HRI_SIDES; side++) {
        for (uint32_t d = 0; d < grid->extent.rank; d++) {
            const int64_t halo = f->sides[side][d].halo;
            int64_t *reach = &far->reach[side][d];
            if (halo > 0 && hri_field_is_far(grid, f, side, d)) {
                *reach = hri_max(*reach, near ? halo : 1);
            }
            any = any ||
                  (halo > 0 && (grid->part.before[d] || grid->part.after[d]));
        }
    }
    return any;
}

/* Find the far fields of the phase. They count as brought afterwards. */
static void find_far(const running *s, far_fields *far)
{
    hr_grid *grid = s->grid;
    bool reads[HR_MAX_FIELDS] = {false}, comes[HR_MAX_FIELDS] = {false};
    *far = (far_fields){.count = 0};
    for (size_t i = 0; i < s->phase->argument_count; i++) {
        const hr_argument *a = &s->phase->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        if (f != NULL && f->far_stale && (a->access & HR_IN) != 0 &&
            (a->near || goes_beyond(s, f))) {
            const uint32_t index = hri_field_index(a->field - 1);
            reads[index] = true;
            comes[index] = add_reach(grid, f, a->near, far);
        }
    }
    for (uint32_t f = 0; f < grid->field_count; f++) {
        if (comes[f]) {
            far->fields[far->count++] = f;
        }
        grid->fields[f].far_stale = grid->fields[f].far_stale && !reads[f];
    }
}

/* Let the program begin to bring them, or finish. It calls the grid. */
static hr_status bring(const running *s, const far_fields *far, bool finish)
{
    const hr_grid_part *part = &s->grid->part;
    pthread_mutex_unlock(&s->grid->context->lock);
    hr_status status = (finish ? part->finish : part->begin)(
        part->data, s->grid, far->fields, far->count);
    pthread_mutex_lock(&s->grid->context->lock);
    return status;
}

/* The cells of the phase that read nothing there. */
static hri_cells find_inner(const running *s, const far_fields *far)
{
    hri_cells inner = s->cells;
    for (uint32_t d = 0; d < s->grid->extent.rank; d++) {
        const int64_t n = s->grid->extent.size[d];
        if (far->reach[HRI_BEFORE][d] > 0) {
            inner.lo[d] = hri_max(inner.lo[d], far->reach[HRI_BEFORE][d]);
        }
        if (far->reach[HRI_AFTER][d] > 0) {
            inner.hi[d] = hri_min(inner.hi[d], n - far->reach[HRI_AFTER][d]);
        }
    }
    return inner;
}

static hr_status run_cells(running *s, const hri_cells *cells, bool exchanged)
{
    s->cells = *cells;
    s->edge[HRI_BEFORE] = s->edge[HRI_AFTER] = 0;
    s->ring = false;
    if (hri_box_is_empty(cells)) {
        return HR_OK;
    }
    find_edges(s, exchanged);
    return run_bands(s);
}

/* Run what lies between the inner cells and all of them: the borders on both
 * sides of each dimension. */
static hr_status run_borders(running *s, const hri_cells *all,
                             const hri_cells *inner, bool exchanged)
{
    hri_cells left = *all;
    for (uint32_t d = 0; d < s->grid->extent.rank; d++) {
        hri_cells border = left;
        border.hi[d] = inner->lo[d];
        HRI_TRY(run_cells(s, &border, exchanged));
        border.hi[d] = left.hi[d];
        border.lo[d] = inner->hi[d];
        HRI_TRY(run_cells(s, &border, exchanged));
        left.lo[d] = inner->lo[d];
        left.hi[d] = inner->hi[d];
    }
    return HR_OK;
}

/* Run what reads values of other parts, once these have come. The inner cells
 * have run if they are not empty. */
static hr_status run_outer(running *s, const hri_cells *all,
                           const hri_cells *inner, bool exchanged)
{
    HRI_TRY(fetch_needs(s, &exchanged));
    return hri_box_is_empty(inner) ? run_cells(s, all, exchanged)
                                   : run_borders(s, all, inner, exchanged);
}

/* Run the phase, most of it while values of other parts come. After an error
 * they come all the same, for the other parts' sake. */
static hr_status run_beside(running *s, const far_fields *far, bool exchanged,
                            hr_status status)
{
    const hri_cells all = s->cells, inner = find_inner(s, far);
    const bool split = !hri_box_is_empty(&inner);
    const hr_status begun = bring(s, far, false);
    status = status == HR_OK ? begun : status;
    if (status == HR_OK && split) {
        status = run_cells(s, &inner, exchanged);
    }
    const hr_status finished = bring(s, far, true);
    status = status == HR_OK ? finished : status;
    s->number = split ? SIZE_MAX : s->number;
    s->cells = all;
    if (status == HR_OK) {
        status = run_outer(s, &all, &inner, exchanged);
    }
    s->cells = all;
    return status;
}

/* ---- phases */

static hr_status prepare_phase(running *s, bool *exchanged)
{
    HRI_TRY(fetch_needs(s, exchanged));
    find_extra(s);
    return HR_OK;
}

/* Run one phase. *kernels counts the kernels that have run for all rows. After
 * an error only what other parts wait for is done. */
static hr_status run_phase(hr_grid *grid, const hr_phase *phases, size_t count,
                           size_t index, size_t *kernels, hr_status status)
{
    const hr_phase *phase = &phases[index];
    running s = {
        .grid = grid, .phases = phases, .phase = phase, .count = count};
    far_fields far = {.count = 0};
    bool exchanged = false;
    if (phase->kernel == NULL) {
        swap(grid, phase->swap);
        return status;
    }
    s.cells = hri_phase_cells(grid, phase);
    const bool all =
        s.cells.lo[0] <= 0 && s.cells.hi[0] >= grid->extent.size[0];
    s.number = all ? (*kernels)++ : SIZE_MAX;
    if (hri_grid_is_part(grid)) {
        find_far(&s, &far);
    }
    if (status == HR_OK) {
        status = prepare_phase(&s, &exchanged);
    }
    if (far.count > 0) {
        status = run_beside(&s, &far, exchanged, status);
    } else if (status == HR_OK) {
        const hri_cells cells = s.cells;
        status = run_cells(&s, &cells, exchanged);
    }
    settle(&s);
    return status;
}

hr_status hri_grid_run_step(hr_grid *grid, const hr_phase *phases, size_t count,
                            hr_status status)
{
    size_t kernels = 0;
    const bool all = hri_grid_is_part(grid);
    for (size_t i = 0; i < count; i++) {
        if (status != HR_OK && !all) {
            return status;
        }
        status = run_phase(grid, phases, count, i, &kernels, status);
    }
    grid->state.steps += status == HR_OK;
    return status;
}
