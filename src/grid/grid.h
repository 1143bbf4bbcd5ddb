/* SPDX-License-Identifier: MIT */
/* Grids inside the library.
 *
 * Each band has storage for each field: its rows (indices of dimension 0), rows
 * of the bands beside it, and the cells beyond the grid's ends in these rows.
 * Storage is made of arrays. So the boxes that work reads and writes decide its
 * order (arrays/array.h).
 *
 * A grid keeps no order of its own: a launch waits for just those copies and
 * launches that touch its boxes. It knows how many halo rows of each field are
 * valid, as the neighbour has them. The files depend on each other in one
 * direction, which the test unit/circles asks the object files about. From the
 * bottom: state.c (names, queues, errors), bands.c (rows of bands), phase.c
 * (rules, and how many halo rows several steps need), halo.c (rows between
 * bands), boundary.c and shell.h (cells beyond the ends), step.c (a step: edges
 * of bands in urgent queues), timing.c, move.c (new storage), balance.c (which
 * accelerators, how many steps from one exchange), replay.c (small grids as
 * graphs), and the public calls on top: grid.c, run.c, section.c, reduce.c.
 *
 * In a part of a larger grid (src/mpi) indices of callers and kernels are those
 * of the whole, and a side where another part lies has the boundary of the
 * user's. After an error the messages go on, so that no other part waits. */
#ifndef HRI_GRID_GRID_H
#define HRI_GRID_GRID_H

#include <headrace/grid.h>

#include "arrays/array.h"

enum { HRI_BEFORE, HRI_AFTER, HRI_SIDES };

/* In rank 1, cells are distributed and reduced in blocks of this size. */
enum { HRI_BLOCK = HR_GRID_BLOCK1 };

/* The cache line that rows should start with. */
enum { HRI_LINE_BYTES = 128 };

/* The limit for all arguments of phases that are kept as a graph, which are
 * compared as bytes. */
enum { HRI_MAX_KEY_BYTES = 4096 };

/* Cells, as indices of the grid. Dimensions that the grid does not have count
 * one. */
typedef hri_box hri_cells;
_Static_assert((int)HRI_DIMENSIONS == HR_MAX_KERNEL_RANK, "boxes hold cells");

/* Numbers of rows on either side. */
typedef struct hri_rows {
    int64_t of[HRI_SIDES];
} hri_rows;

/* A band's storage for a field. */
typedef struct hri_storage {
    hr_array *array;                    /* NULL: the band has no rows */
    hri_cells cells;                    /* the cells that there is room for */
    int64_t offset;                     /* elements before the first of them */
    uint32_t rank;                      /* of the grid */
    int64_t stride[HR_MAX_KERNEL_RANK]; /* elements from cell to cell in each
                                           dimension of the grid */
    int64_t plane; /* elements from component to component */
} hri_storage;

typedef struct hri_band {
    uint32_t accelerator; /* its index in the context */
    uint32_t given;       /* its place in the caller's list of accelerators */
    int64_t first, end;   /* rows */
    /* The queues for the inner part, for the rows that neighbours wait for, and
     * for copies from neighbours. They are one queue where a device runs only
     * one kind of work at a time. */
    hr_queue *inner, *edge, *link;
} hri_band;

typedef struct hri_field {
    size_t element_bytes;
    uint32_t components;                          /* 1 or more */
    hr_side sides[HRI_SIDES][HR_MAX_KERNEL_RANK]; /* their values are copied to
                                              `values`. The boundary where
                                              another part lies is the user's */
    hr_boundary given[HRI_SIDES][HR_MAX_KERNEL_RANK]; /* by the caller */
    unsigned char *values; /* zeros, and the values of the
                              sides */
    bool valued;           /* a side has a value that is not zero */
    bool filled; /* it has cells beyond the ends of dimensions 1 and higher that
                    follow from cells inside */
    hri_storage *storage; /* [bands] */
    hri_rows depth;       /* rows of other bands that there is room for */
    hri_rows valid;       /* how many of these rows, counted from the band, have
                             the values that their owner has */
    bool ends_stale; /* rows beyond the ends of dimension 0 must be computed
                        again */
    bool far_stale;  /* what other parts have must be brought again */
} hri_field;

/* Steps that are kept as a graph (replay.c). The graph can run again for the
 * same phases, when the fields are where they were. */
typedef struct hri_replay {
    hri_graph *graph; /* NULL: there is none for these phases */
    int64_t steps, period;
    hri_field fields[HR_MAX_FIELDS];      /* as they were when the graph was
                                             made */
    unsigned char key[HRI_MAX_KEY_BYTES]; /* the bytes of the phases */
    size_t key_bytes;
} hri_replay;

struct hr_grid {
    hr_context *context;
    hr_extent extent;
    hr_grid_part part; /* of a larger grid, or all of this one */
    uint32_t field_count, band_count;
    hri_field fields[HR_MAX_FIELDS];
    bool full;       /* there was no memory for wider halos */
    uint32_t wanted; /* steps from one exchange that the caller chose; 0: as
                        measured */
    hr_grid_state state;
    hri_replay *replay;            /* NULL: nothing is kept */
    struct hri_timing *timing;     /* step.h; NULL: bands do not move */
    hr_progress_function progress; /* of calls that step; NULL: none */
    void *progress_data;
    bool keeping;    /* commands are being recorded in a graph */
    hri_error error; /* of work that failed, so that values are
                        lost */
    hri_band bands[];
};

/* ---- state.c: fields as callers name them, whole or one of their components
 */

enum { HRI_FIELD_BITS = 16, HRI_ALL_COMPONENTS = -1 };

static inline uint32_t hri_field_index(uint32_t name)
{
    return name & ((1u << HRI_FIELD_BITS) - 1);
}

/* The component that is named, or HRI_ALL_COMPONENTS. */
static inline int64_t hri_component_index(uint32_t name)
{
    return (int64_t)(name >> HRI_FIELD_BITS) - 1;
}

/* The field that a caller's name stands for. The sentence of a refusal begins
 * with `who`. */
hr_status hri_field_find(const hr_grid *grid, const char *who, uint32_t name);

/* The field that an argument of a phase stands for. NULL: it is not a field. */
static inline const hri_field *hri_argument_field(const hr_grid *grid,
                                                  const hr_argument *argument)
{
    return argument->kind == HR_PARAMETER_VIEW && argument->field > 0
               ? &grid->fields[hri_field_index(argument->field - 1)]
               : NULL;
}

/* Whether an argument that is a field stands for one view. */
static inline bool hri_argument_is_view(const hr_grid *grid,
                                        const hr_argument *argument)
{
    return hri_component_index(argument->field - 1) != HRI_ALL_COMPONENTS ||
           hri_argument_field(grid, argument)->components == 1;
}

/* Whether an argument that is a field stands for all of its components. */
static inline bool hri_argument_is_whole(const hr_grid *grid,
                                         const hr_argument *argument)
{
    return hri_component_index(argument->field - 1) == HRI_ALL_COMPONENTS ||
           hri_argument_field(grid, argument)->components == 1;
}

static inline bool hri_argument_writes(const hr_argument *argument)
{
    return (argument->access & HR_OUT) != 0;
}

/* ---- parts of larger grids. Indices of callers and kernels are those of the
 * whole grid. All others are the part's own. */

static inline bool hri_grid_is_part(const hr_grid *grid)
{
    return grid->part.agree != NULL;
}

/* Whether the part has an end of the whole grid on a side. */
static inline bool hri_grid_ends(const hr_grid *grid, int side, uint32_t d)
{
    const int64_t first = grid->part.origin[d];
    return side == HRI_BEFORE
               ? first == 0
               : first + grid->extent.size[d] == grid->part.whole.size[d];
}

/* Whether another part has what lies beyond a side of a field. */
static inline bool hri_field_is_far(const hr_grid *grid, const hri_field *f,
                                    int side, uint32_t d)
{
    return (side == HRI_BEFORE ? grid->part.before : grid->part.after)[d] &&
           (!hri_grid_ends(grid, side, d) ||
            f->given[side][d] == HR_BOUNDARY_PERIODIC);
}

/* Whether other parts have what lies beyond any side. */
bool hri_grid_has_far(const hr_grid *grid);

/* What all parts agree on. */
typedef struct hri_agreement {
    uint64_t any[2];  /* bits: those that any part has set */
    int64_t least[2]; /* the least of all */
} hri_agreement;

/* state.c: agree on that, and on the status of the first part that has failed.
 * A whole grid agrees with itself. *a may be NULL. */
hr_status hri_grid_agree(const hr_grid *grid, hr_status status,
                         hri_agreement *a);

/* ---- state.c: bands */

static inline bool hri_band_is_empty(const hri_band *band)
{
    return band->first == band->end;
}

/* How many bands have rows. */
uint32_t hri_grid_busy_bands(const hr_grid *grid);
/* The band that has a row. Rows beyond the ends belong to the first and the
 * last band with rows. */
uint32_t hri_grid_owner(const hr_grid *grid, int64_t row);

/* Dimension 0 is distributed in grains of so many rows. */
static inline int64_t hri_grid_grain(const hr_grid *grid)
{
    return grid->extent.rank == 1 ? HRI_BLOCK : 1;
}

/* The queue of the first band that has rows. With one band it is the only
 * queue. */
static inline hr_queue *hri_grid_first_queue(const hr_grid *grid)
{
    return grid->bands[hri_grid_owner(grid, 0)].inner;
}

/* Make a band's queues, and destroy those that exist. */
hr_status hri_band_create_queues(const hr_grid *grid, hri_band *band);
void hri_band_destroy_queues(hri_band *band);

/* ---- state.c: work on the grid */

/* Keep the first error of work on the grid. Returns status. */
hr_status hri_grid_keep_error(hr_grid *grid, hr_status status);
/* Wait for all work on the grid, and keep its error. The caller does not hold
 * the context's lock. */
hr_status hri_grid_finish(hr_grid *grid);

/* Forget the steps that are kept as a graph, since the storage is new or the
 * grid is destroyed. */
void hri_grid_forget_graph(hr_grid *grid);
/* Destroy the graph, if there is one, after it has run. The rest of *replay
 * stays. */
void hri_grid_drop_graph(const hr_grid *grid, hri_replay *replay);

#endif
