/* SPDX-License-Identifier: MIT */
/* Phases: their rules, and the rows of other bands that they need. */
#include "grid/step.h"

#include <string.h>

#include "arrays/launch.h"
#include "base/size.h"
#include "grid/bands.h"

hr_argument hr_field_in(uint32_t field)
{
    return (hr_argument){.kind = HR_PARAMETER_VIEW,
                         .access = HR_IN,
                         .field = field + 1,
                         .near = true};
}

hr_argument hr_field_here(uint32_t field)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW, .access = HR_IN, .field = field + 1};
}

hr_argument hr_field_out(uint32_t field)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW, .access = HR_OUT, .field = field + 1};
}

hr_argument hr_field_inout(uint32_t field)
{
    return (hr_argument){
        .kind = HR_PARAMETER_VIEW, .access = HR_INOUT, .field = field + 1};
}

hr_phase hr_phase_of(const hr_kernel *kernel, const hr_argument *arguments,
                     size_t count)
{
    return (hr_phase){
        .kernel = kernel, .arguments = arguments, .argument_count = count};
}

hr_phase hr_phase_swap(uint32_t a, uint32_t b)
{
    return (hr_phase){.swap = {a, b}};
}

/* ---- rules */

static hr_status check_swap(const hr_grid *grid, const hr_phase *phase)
{
    const uint32_t a = phase->swap[0], b = phase->swap[1];
    if (a >= grid->field_count || b >= grid->field_count) {
        return hri_fail(
            HR_ERROR_INVALID,
            "grid: fields %u and %u are swapped, but the grid has %u", a, b,
            grid->field_count);
    }
    const hri_field *x = &grid->fields[a], *y = &grid->fields[b];
    bool same =
        x->element_bytes == y->element_bytes && x->components == y->components;
    for (int s = 0; s < HRI_SIDES && same; s++) {
        for (uint32_t d = 0; d < grid->extent.rank && same; d++) {
            const hr_side *p = &x->sides[s][d], *q = &y->sides[s][d];
            same = p->halo == q->halo && x->given[s][d] == y->given[s][d] &&
                   memcmp(p->value, q->value, x->element_bytes) == 0;
        }
    }
    return same ? HR_OK
                : hri_fail(HR_ERROR_INVALID,
                           "grid: fields %u and %u are swapped, but their "
                           "components, elements, halos or boundaries differ",
                           a, b);
}

/* How far beyond the extent the cells of a phase may lie. It may write there
 * only where the boundary is the user's. It may read cells there as far as the
 * halo goes, and kernels read no neighbours beyond it. */
static int64_t room_of(const hr_grid *grid, const hr_phase *phase, int side,
                       uint32_t d)
{
    int64_t room = INT64_MAX;
    for (size_t i = 0; i < phase->argument_count; i++) {
        const hr_argument *a = &phase->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        if (f != NULL) {
            const bool any = !hri_argument_writes(a) ||
                             f->given[side][d] == HR_BOUNDARY_USER;
            room = hri_min(room, any ? f->sides[side][d].halo : 0);
        }
    }
    return room == INT64_MAX ? 0 : room;
}

static hr_status check_cells(const hr_grid *grid, const hr_phase *phase)
{
    const char *name = phase->kernel->name;
    const uint32_t rank = grid->extent.rank;
    if (phase->extent.rank != 0 && phase->extent.rank != rank) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: the extent has rank %u, but the grid has %u", name,
                        phase->extent.rank, rank);
    }
    for (uint32_t d = 0; d < rank && phase->extent.rank != 0; d++) {
        const int64_t n = grid->part.whole.size[d], lo = phase->origin[d];
        const int64_t size = phase->extent.size[d];
        if (size < 1 || lo < -room_of(grid, phase, HRI_BEFORE, d) ||
            size > n + room_of(grid, phase, HRI_AFTER, d) - lo) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: %lld cells from %lld on exceed dimension %u, "
                            "which has %lld",
                            name, (long long)size, (long long)lo, d,
                            (long long)n);
        }
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (phase->step[d] < 0 || (d + 1 == rank && phase->step[d] > 1)) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: step is %lld in dimension %u of %u; steps are "
                            "0 or more, the last 0 or 1",
                            name, (long long)phase->step[d], d, rank);
        }
    }
    return HR_OK;
}

/* Whether two arguments are the same field, and not two components of it. */
static bool share_values(const hr_grid *grid, const hr_argument *a,
                         const hr_argument *b)
{
    const hri_field *f = hri_argument_field(grid, a);
    return f != NULL && f == hri_argument_field(grid, b) &&
           (hri_argument_is_whole(grid, a) || hri_argument_is_whole(grid, b) ||
            a->field == b->field);
}

/* Check argument i by itself and against those before it. */
static hr_status check_argument(const hr_grid *grid, const hr_phase *phase,
                                size_t i)
{
    const hr_argument *a = &phase->arguments[i];
    const char *name = phase->kernel->name;
    if (a->kind != HR_PARAMETER_VIEW) {
        return HR_OK;
    }
    if (a->field == 0) {
        return a->access == HR_IN
                   ? HR_OK
                   : hri_fail(HR_ERROR_INVALID,
                              "%s: argument %zu is a written view, but phases "
                              "write fields alone",
                              name, i);
    }
    const uint32_t index = hri_field_index(a->field - 1);
    if (index >= grid->field_count) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: argument %zu is field %u, but the grid has %u",
                        name, i, index, grid->field_count);
    }
    HRI_TRY(hri_field_find(grid, name, a->field - 1));
    const hr_parameter *p = &phase->kernel->parameters(phase->kernel)[i];
    if (!p->list && !hri_argument_is_view(grid, a)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is one view, but field %u has %u components",
                        name, p->name, index, grid->fields[index].components);
    }
    for (size_t j = 0; j < i; j++) {
        const hr_argument *b = &phase->arguments[j];
        if (share_values(grid, a, b) &&
            (hri_argument_writes(a) || hri_argument_writes(b))) {
            return hri_fail(
                HR_ERROR_INVALID,
                "%s: field %u is two arguments, and one of them is written",
                name, index);
        }
    }
    return HR_OK;
}

hri_cells hri_phase_cells(const hr_grid *grid, const hr_phase *phase)
{
    hri_cells cells = {{0, 0, 0}, {1, 1, 1}};
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        const int64_t n = grid->extent.size[d];
        const int64_t lo = phase->origin[d] - grid->part.origin[d];
        const int64_t hi = lo + phase->extent.size[d];
        const bool all = phase->extent.rank == 0;
        /* what another part has is its own */
        const bool before = !hri_grid_ends(grid, HRI_BEFORE, d);
        const bool after = !hri_grid_ends(grid, HRI_AFTER, d);
        cells.lo[d] = all ? 0 : before ? hri_max(0, lo) : lo;
        cells.hi[d] = all ? n : after ? hri_min(n, hi) : hi;
    }
    return cells;
}

/* Check what a launch would refuse, so that none is refused in the middle of a
 * step. The launches of bands and of other parts differ only in their boxes. */
static hr_status check_launch(const hr_grid *grid, const hr_phase *phase)
{
    const uint32_t band = hri_grid_owner(grid, 0);
    const hr_parameter *p = phase->kernel->parameters(phase->kernel);
    hr_argument arguments[HR_MAX_PARAMETERS];
    hri_window windows[HR_MAX_PARAMETERS] = {0};
    hri_launch_box box = hri_launch_box_of(grid->part.whole);
    box.windows = windows;
    box.tile = phase->tile.rank > 0 ? &phase->tile : NULL;
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        if (phase->extent.rank > 0) {
            box.first[d] = phase->origin[d];
            box.end[d] = box.first[d] + phase->extent.size[d];
        }
        box.step[d] = phase->step[d] > 0 ? phase->step[d] : 1;
    }
    for (size_t i = 0; i < phase->argument_count; i++) {
        const hr_argument *a = &phase->arguments[i];
        arguments[i] = *a;
        const hri_field *f = hri_argument_field(grid, a);
        if (f == NULL) {
            hri_argument_flatten(&p[i], &arguments[i]);
        } else {
            const hri_storage *storage = &f->storage[band];
            arguments[i].view =
                hri_storage_argument(f, storage, &storage->cells, &p[i], a);
        }
    }
    return hri_launch_in_box(grid->context, NULL, phase->kernel, &box,
                             arguments, phase->argument_count);
}

static hr_status check_phase(const hr_grid *grid, const hr_phase *phase)
{
    if (phase->kernel == NULL) {
        return check_swap(grid, phase);
    }
    const char *name = phase->kernel->name;
    if (phase->arguments == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the list of arguments is NULL",
                        name);
    }
    if (phase->argument_count != phase->kernel->parameter_count) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: the kernel has %u parameter%s, but %zu argument%s given", name,
            phase->kernel->parameter_count,
            hri_plural(phase->kernel->parameter_count), phase->argument_count,
            phase->argument_count == 1 ? " was" : "s were");
    }
    for (size_t i = 0; i < phase->argument_count; i++) {
        HRI_TRY(check_argument(grid, phase, i));
    }
    HRI_TRY(check_cells(grid, phase));
    return check_launch(grid, phase);
}

static hr_status check_phases(const hr_grid *grid, const hr_phase *phases,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        HRI_TRY(check_phase(grid, &phases[i]));
    }
    return HR_OK;
}

hr_status hri_phases_check(const hr_grid *grid, const hr_phase *phases,
                           size_t count)
{
    pthread_mutex_lock(&grid->context->lock);
    const hr_status status = check_phases(grid, phases, count);
    pthread_mutex_unlock(&grid->context->lock);
    return status;
}

/* ---- needs: how many rows of other bands several steps from one exchange
 * need. They are found backwards from the last phase, after which no rows are
 * needed */

static void go_back(const hr_grid *grid, const hr_phase *phase, hri_rows *need)
{
    int64_t made[HRI_SIDES] = {0, 0}; /* rows of neighbours that the phase must
                                         compute */
    for (size_t i = 0; i < phase->argument_count; i++) {
        const hr_argument *a = &phase->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        for (int s = 0; s < HRI_SIDES && f != NULL; s++) {
            if (hri_argument_writes(a)) {
                made[s] =
                    hri_max(made[s], need[hri_field_index(a->field - 1)].of[s]);
            }
        }
    }
    for (size_t i = 0; i < phase->argument_count; i++) {
        const hr_argument *a = &phase->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        for (int s = 0; s < HRI_SIDES && f != NULL; s++) {
            int64_t *n = &need[hri_field_index(a->field - 1)].of[s];
            if (a->access == HR_OUT && phase->extent.rank == 0 &&
                hri_argument_is_whole(grid, a)) {
                *n = 0;
            } else {
                *n = hri_max(*n, made[s] + (a->near ? f->sides[s][0].halo : 0));
            }
        }
    }
}

static void find_room(const hr_grid *grid, const hri_rows *need, hri_rows *room)
{
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (int s = 0; s < HRI_SIDES; s++) {
            room[f].of[s] = hri_max(room[f].of[s], need[f].of[s]);
        }
    }
}

/* Fields that are swapped get the same room. */
static void share_room(const hr_phase *phases, size_t count, hri_rows *room)
{
    for (size_t i = 0; i < count * count; i++) { /* often enough for chains of
                                                    swaps */
        const hr_phase *phase = &phases[i % count];
        for (int s = 0; s < HRI_SIDES && phase->kernel == NULL; s++) {
            int64_t *a = &room[phase->swap[0]].of[s];
            int64_t *b = &room[phase->swap[1]].of[s];
            *a = *b = hri_max(*a, *b);
        }
    }
}

void hri_phases_need(const hr_grid *grid, const hr_phase *phases, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room)
{
    memset(need, 0, grid->field_count * sizeof *need);
    memset(room, 0, grid->field_count * sizeof *room);
    for (size_t n = steps * count; n-- > 0;) {
        const hr_phase *s = &phases[(first + n) % count];
        find_room(grid, need, room);
        if (s->kernel != NULL) {
            go_back(grid, s, need);
        } else {
            const hri_rows old = need[s->swap[0]];
            need[s->swap[0]] = need[s->swap[1]];
            need[s->swap[1]] = old;
        }
    }
    find_room(grid, need, room);
    share_room(phases, count, room);
}
