/* SPDX-License-Identifier: MIT */
/* How many rows of other bands several steps from one exchange ask for: found
 * backwards, from the last stage, after which nobody needs any. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "grid/grid.h"

static void go_back(const hr_grid *grid, const hr_stage *stage, hri_rows *need)
{
    int64_t made[HRI_SIDES] = {0, 0}; /* rows that the stage works out */
    for (size_t i = 0; i < stage->argument_count; i++) {
        const hr_argument *a = &stage->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        for (int s = 0; s < HRI_SIDES && f != NULL; s++) {
            if (hri_argument_writes(a)) {
                made[s] = hri_max(made[s], need[a->field - 1].of[s]);
            }
        }
    }
    for (size_t i = 0; i < stage->argument_count; i++) {
        const hr_argument *a = &stage->arguments[i];
        const hri_field *f = hri_argument_field(grid, a);
        for (int s = 0; s < HRI_SIDES && f != NULL; s++) {
            int64_t *n = &need[a->field - 1].of[s];
            if (a->access == HR_OUT && stage->extent.rank == 0) {
                *n = 0;
            } else {
                *n = hri_max(*n, made[s] + (a->near ? f->sides[s][0].halo : 0));
            }
        }
    }
}

static void swap(hri_rows *need, const uint32_t *pair)
{
    const hri_rows old = need[pair[0]];
    need[pair[0]] = need[pair[1]];
    need[pair[1]] = old;
}

static void find_room(const hr_grid *grid, const hri_rows *need, hri_rows *room)
{
    for (uint32_t f = 0; f < grid->field_count; f++) {
        for (int s = 0; s < HRI_SIDES; s++) {
            room[f].of[s] = hri_max(room[f].of[s], need[f].of[s]);
        }
    }
}

/* Fields that change places have the same room. */
static void share_room(const hr_stage *stages, size_t count, hri_rows *room)
{
    for (size_t i = 0; i < count * count; i++) { /* over chains of swaps, too */
        const hr_stage *stage = &stages[i % count];
        for (int s = 0; s < HRI_SIDES && stage->kernel == NULL; s++) {
            int64_t *a = &room[stage->swap[0]].of[s];
            int64_t *b = &room[stage->swap[1]].of[s];
            *a = *b = hri_max(*a, *b);
        }
    }
}

void hri_stages_need(const hr_grid *grid, const hr_stage *stages, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room)
{
    memset(need, 0, grid->field_count * sizeof *need);
    memset(room, 0, grid->field_count * sizeof *room);
    for (size_t n = steps * count; n-- > 0;) {
        const hr_stage *s = &stages[(first + n) % count];
        find_room(grid, need, room);
        if (s->kernel != NULL) {
            go_back(grid, s, need);
        } else {
            swap(need, s->swap);
        }
    }
    find_room(grid, need, room);
    share_room(stages, count, room);
}
