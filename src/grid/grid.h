/* SPDX-License-Identifier: MIT */
/* Grids as the library sees them.
 *
 * A field is held in slabs, one for each band: its rows (indices of dimension
 * 0), rows of the bands beside it, and the cells beyond the grid's ends that
 * they come with. Slabs are arrays, so the order of all work on them follows
 * from the boxes that it reads and writes (arrays/array.h). */
#ifndef HRI_GRID_GRID_H
#define HRI_GRID_GRID_H

#include <headrace/grid.h>

#include "arrays/array.h"

enum { HRI_BEFORE, HRI_AFTER, HRI_SIDES };

/* Cells of rank 1 are dealt, and reduced, in blocks of so many. */
enum { HRI_BLOCK = 64 };

/* Of a cache, that rows should start with. */
enum { HRI_LINE_BYTES = 128 };

/* Cells from lo to before hi, in the indices of the grid. */
typedef struct hri_cells {
    int64_t lo[HR_MOST_RANK], hi[HR_MOST_RANK];
} hri_cells;

/* Rows on either side. */
typedef struct hri_rows {
    int64_t of[HRI_SIDES];
} hri_rows;

/* What a band holds of a field. */
typedef struct hri_slab {
    hr_array *array;              /* NULL: the band has no rows */
    hri_cells cells;              /* that there is room for */
    int64_t offset;               /* elements in front of the first of them */
    int64_t stride[HR_MOST_RANK]; /* elements from cell to cell */
} hri_slab;

typedef struct hri_band {
    uint32_t accelerator; /* its index in the context */
    int64_t first, end;   /* rows */
    /* Where the inner part, the rows that neighbours wait for, and copies from
     * neighbours go; one queue where a device has but one kind of work. */
    hr_queue *inner, *edge, *link;
} hri_band;

typedef struct hri_field {
    size_t element_bytes;
    hr_side sides[HRI_SIDES][HR_MOST_RANK]; /* whose values are our own */
    unsigned char *values;                  /* zeros, and those of the sides */
    bool valued; /* a side has a value other than zeros */
    bool filled; /* has cells beyond ends of dimensions from 1 on that follow
                    from cells inside */
    hri_slab *slabs;          /* of each band */
    int64_t depth[HRI_SIDES]; /* rows of other bands that they have room for
                               */
    int64_t fresh[HRI_SIDES]; /* those of them next to the band that are as
                                 their owner has them */
    bool ends_stale; /* rows beyond the ends of dimension 0 do not follow from
                        those inside */
} hri_field;

struct hr_grid {
    hr_context *context;
    hr_extent extent;
    uint32_t field_count, band_count;
    hri_field *fields;
    hri_band *bands;
    bool fixed;      /* bands stay */
    bool full;       /* deeper slabs had no room beside these */
    uint32_t wanted; /* steps from one exchange; 0: as measured */
    hr_grid_state state;
    struct hri_replay *replay;   /* replay.h; NULL: nothing is kept */
    struct hri_balance *balance; /* balance.h; NULL: bands stay */
    bool keeping;                /* what is enqueued becomes a graph */
    hri_error error;             /* of work whose values are lost */
};

/* The field that an argument of a stage is; NULL: it is none. */
static inline hri_field *hri_argument_field(const hr_grid *grid,
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

/* ---- layout.c: which band has which rows */

/* Set first and end of bands by these weights (NULL: all alike), so that every
 * band's slabs fit into its memory beside those that it has, which stay until
 * the new ones have their values: who cannot hold its share has less. stay:
 * what a band has already counts as fitting, for who asks whether all can stay
 * as it is. HR_ERROR_OUT_OF_MEMORY with the numbers. */
hr_status hri_grid_lay_out(const hr_grid *grid, const double *weights,
                           bool stay, hri_band *bands);

/* The band that has a row; rows beyond the ends are of the first and the last
 * one. */
uint32_t hri_grid_owner(const hr_grid *grid, int64_t row);
bool hri_band_is_empty(const hri_band *band);
/* Bands that have rows. */
uint32_t hri_grid_busy(const hr_grid *grid);

/* ---- slab.c */

/* Make the slabs of a field for these bands, whose cells are all set to what
 * the boundaries hold, or 0. */
hr_status hri_slabs_create(hr_grid *grid, const hri_field *field,
                           const hri_band *bands, hri_slab **slabs);
void hri_slabs_destroy(hri_slab *slabs, uint32_t count);
/* Of a row with all that lies beyond its ends; UINT64_MAX: as many or more. */
uint64_t hri_slab_row_bytes(const hr_grid *grid, const hri_field *field);

/* The view of cells that a slab holds. */
hr_view hri_slab_view(const hr_grid *grid, const hri_field *field,
                      const hri_slab *slab, const hri_cells *cells);

/* All cells of rows first to before end that the field has beside those of the
 * extent, ends included. */
hri_cells hri_field_rows(const hr_grid *grid, const hri_field *field,
                         int64_t first, int64_t end);

/* ---- boundary.c; the context's lock is held */

/* Give a slab's cells of rows first to before end that lie beyond the ends of
 * dimensions from 1 on their values. */
hr_status hri_boundary_fill(hr_grid *grid, uint32_t field, uint32_t band,
                            hr_queue *queue, int64_t first, int64_t end);
/* And rows first to before end, which lie beyond an end of dimension 0, out of
 * rows that the slab has. */
hr_status hri_boundary_fill_end(hr_grid *grid, uint32_t field, uint32_t band,
                                int64_t first, int64_t end);
/* The row inside, or of the caller's own boundary, that a row beyond an end has
 * its values from; false: from none. */
bool hri_boundary_source(const hr_grid *grid, const hri_field *field,
                         int64_t row, int64_t *source);
/* Set a new slab. Takes the context's lock itself. */
hr_status hri_boundary_set(hr_grid *grid, const hri_field *field,
                           const hri_slab *slab, hr_queue *queue);

/* ---- exchange.c; the context's lock is held */

/* Let bands have `depth` rows of those beside them as these have them. */
hr_status hri_exchange(hr_grid *grid, uint32_t field, hri_rows depth);
/* And rows beyond the ends of dimension 0. */
hr_status hri_exchange_ends(hr_grid *grid, uint32_t field);
/* Copy rows of one slab to another of the same field, or of an older one. */
hr_status hri_copy_cells(hr_grid *grid, const hri_field *field,
                         const hri_slab *from, const hri_cells *cells,
                         const hri_slab *to, int64_t shift, hr_queue *queue,
                         uint64_t *bytes);

/* ---- step.c: enqueue a step. The context's lock is held. */
hr_status hri_grid_run_step(hr_grid *grid, const hr_stage *stages,
                            size_t count);

/* Give slabs the room that so many steps from one exchange ask for, if they
 * have less; one step, when bands are not as wide, rows come from the other end
 * of the grid, or memory is short. The lock is not held. */
hr_status hri_grid_deepen(hr_grid *grid, const hr_stage *stages, size_t count,
                          uint32_t steps);

/* ---- stage.c: the rules of stages */
hr_status hri_stages_check(const hr_grid *grid, const hr_stage *stages,
                           size_t count);
/* The cells that a stage runs for. */
hri_cells hri_stage_cells(const hr_grid *grid, const hr_stage *stage);

/* ---- needs.c: rows of other bands that so many steps, from stage `first` on,
 * ask for of each field when they are made from one exchange, and those that
 * they work out as well, for which there must be room. */
void hri_stages_need(const hr_grid *grid, const hr_stage *stages, size_t count,
                     size_t first, uint32_t steps, hri_rows *need,
                     hri_rows *room);

/* ---- move.c: give the bands other rows, and slabs other depths, and bring all
 * values over. On failure the grid is as it was. */
hr_status hri_grid_move(hr_grid *grid, const hri_band *bands,
                        const hri_rows *depth);

/* ---- grid.c */

/* New queues, and new slabs with the cells of a new grid, in place of old ones,
 * which failed work may have left without values. Forgets the error. */
hr_status hri_grid_renew(hr_grid *grid);
/* Keep the first error of work on the grid; returns status. */
hr_status hri_grid_keep(hr_grid *grid, hr_status status);
/* The error that is kept. */
hr_status hri_grid_check(const hr_grid *grid);

#endif
