/* SPDX-License-Identifier: MIT */
/* Grids as the library sees them.
 *
 * A field is held in storage of each band: its rows (indices of dimension
 * 0), rows of the bands beside it, and the cells beyond the grid's ends that
 * they come with. Storage is arrays, so the order of all work on them follows
 * from the boxes that it reads and writes (arrays/array.h). */
#ifndef HRI_GRID_GRID_H
#define HRI_GRID_GRID_H

#include <headrace/grid.h>

#include "arrays/array.h"

enum { HRI_BEFORE, HRI_AFTER, HRI_SIDES };

/* Cells of rank 1 are distributed, and reduced, in blocks of so many. */
enum { HRI_BLOCK = 64 };

/* Of a cache, that rows should start with. */
enum { HRI_LINE_BYTES = 128 };

/* Of all arguments of phases that are kept as a graph, to be compared. */
enum { HRI_MAX_KEY_BYTES = 4096 };

/* Cells in the indices of the grid; one in dimensions that it does not have. */
typedef hri_box hri_cells;
_Static_assert((int)HRI_DIMENSIONS == HR_MAX_RANK, "boxes hold cells");

/* Rows on either side. */
typedef struct hri_rows {
    int64_t of[HRI_SIDES];
} hri_rows;

/* What a band holds of a field. */
typedef struct hri_storage {
    hr_array *array; /* NULL: the band has no rows */
    hri_cells cells; /* that there is room for */
    int64_t offset;  /* elements in front of the first of them */
} hri_storage;

typedef struct hri_band {
    uint32_t accelerator; /* its index in the context */
    int64_t first, end;   /* rows */
    /* Where the inner part, the rows that neighbours wait for, and copies from
     * neighbours go; one queue where a device has but one kind of work. */
    hr_queue *inner, *edge, *link;
} hri_band;

typedef struct hri_field {
    size_t element_bytes;
    hr_side sides[HRI_SIDES][HR_MAX_RANK]; /* whose values are our own */
    unsigned char *values;                 /* zeros, and those of the sides */
    bool valued; /* a side has a value other than zeros */
    bool filled; /* has cells beyond ends of dimensions from 1 on that follow
                    from cells inside */
    hri_storage *storage; /* of each band */
    hri_rows depth;       /* of other bands that they have room for */
    hri_rows valid;       /* those of them next to the band that are as their
                             owner has them */
    bool ends_stale; /* rows beyond the ends of dimension 0 do not follow from
                        those inside */
} hri_field;

/* Steps that are kept as a graph (replay.c): that these phases would be kept
 * again is the same graph, when the fields lie as they did. */
typedef struct hri_replay {
    hri_graph *graph; /* NULL: there is none for these phases */
    int64_t steps, period;
    hri_field fields[HR_MAX_FIELDS];      /* as they were when it was made */
    unsigned char key[HRI_MAX_KEY_BYTES]; /* the phases */
    size_t key_bytes;
} hri_replay;

struct hr_grid {
    hr_context *context;
    hr_extent extent;
    uint32_t field_count, band_count;
    hri_field fields[HR_MAX_FIELDS];
    bool full;       /* wider halos had no room beside these */
    uint32_t wanted; /* steps from one exchange; 0: as measured */
    hr_grid_state state;
    hri_replay *replay;        /* NULL: nothing is kept */
    struct hri_timing *timing; /* step.h; NULL: bands stay */
    bool keeping;              /* what is enqueued becomes a graph */
    hri_error error;           /* of work whose values are lost */
    hri_band bands[];
};

/* The field that an argument of a phase is; NULL: it is none. */
static inline const hri_field *hri_argument_field(const hr_grid *grid,
                                                  const hr_argument *argument)
{
    return argument->kind == HR_PARAMETER_VIEW && argument->field > 0
               ? &grid->fields[argument->field - 1]
               : NULL;
}

static inline bool hri_argument_writes(const hr_argument *argument)
{
    return (argument->access & HR_OUT) != 0;
}

/* ---- state.c: bands */

static inline bool hri_band_is_empty(const hri_band *band)
{
    return band->first == band->end;
}

/* Bands that have rows. */
uint32_t hri_grid_busy(const hr_grid *grid);
/* The band that has a row; rows beyond the ends are of the first and the last
 * one. */
uint32_t hri_grid_owner(const hr_grid *grid, int64_t row);

/* Dimension 0 is distributed in grains of so many rows. */
static inline int64_t hri_grid_grain(const hr_grid *grid)
{
    return grid->extent.rank == 1 ? HRI_BLOCK : 1;
}

/* The queue of the first band that has rows; the only one when that is alone.
 */
static inline hr_queue *hri_grid_origin(const hr_grid *grid)
{
    return grid->bands[hri_grid_owner(grid, 0)].inner;
}

/* Queues of a band; destroying accepts what is not there. */
hr_status hri_band_create_queues(const hr_grid *grid, hri_band *band);
void hri_band_destroy_queues(hri_band *band);

/* ---- state.c: work on the grid */

/* Keep the first error of work on the grid; returns status. */
hr_status hri_grid_keep(hr_grid *grid, hr_status status);
/* Wait for all work on the grid, and keep its error. The context's lock is not
 * held. */
hr_status hri_grid_finish(hr_grid *grid);

/* The steps that are kept as a graph count no more: the storage is new, or
 * the grid goes. */
void hri_grid_forget_graph(hr_grid *grid);
/* Destroy the graph alone, if there is one, when it has run. */
void hri_grid_drop_graph(const hr_grid *grid, hri_replay *replay);

#endif
