/* SPDX-License-Identifier: MIT */
/** @file grid.h
 *  Grids: fields that live on accelerators while kernels step them.
 *
 *  A grid is an extent of rank 1 to 3 and any number of fields, whose elements
 *  are called cells. It is cut along dimension 0 into bands, one for each
 *  accelerator. A faster accelerator gets a wider band. A step is a list of
 *  phases: kernels (headrace/dialect.h) that run for every cell, and swaps of
 *  two fields. What a kernel reads of neighbours lies in halos around each
 *  band. At the ends of the grid it lies in cells beyond it, at indices -1, -2,
 *  ... and extent, extent + 1, ...
 *
 *  The library fills both. Halos come from the neighbouring bands, copied from
 *  accelerator to accelerator while the inner part of the band is still at
 *  work. Cells beyond the grid follow the rule of the boundary. Nothing else
 *  moves while a grid steps.
 *
 *      HR_KERNEL2(heat, (IN, float, 2, now), (OUT, float, 2, next))
 *      {
 *          HR_EACH2(i, j)
 *          {
 *              HR_AT2(next, i, j) =
 *                  0.25f * (HR_AT2(now, i - 1, j) + HR_AT2(now, i + 1, j) +
 *                           HR_AT2(now, i, j - 1) + HR_AT2(now, i, j + 1));
 *          }
 *      }
 *
 *  Indices, HR_DOMAIN and HR_EXTENT are those of the whole grid, so a kernel
 *  does not know of bands. Its results are the same, bit for bit, on any number
 *  of accelerators of one kind, whatever the bands. Kinds of accelerators
 *  differ by what their compilers round, unless the kernel is compiled with
 *  HR_REPRODUCIBLE (dialect.h).
 *
 *  Calls enqueue and return; hr_grid_finish waits. When one has failed, the
 *  fields have no values any more. All that follows fails with the same
 *  sentence, until you scatter new values.
 *
 *  With HEADRACE_CHECK=1 the checker (headrace/check.h) finds a kernel that
 *  reads beyond the halo of its field or writes another cell than its own. It
 *  does not find neighbours that a kernel reads of a field given by
 *  hr_field_here, where the band has them. Nor does it find cells of
 *  HR_BOUNDARY_USER that nobody has written.
 *
 *  A grid is used by one thread at a time. Grids are destroyed before their
 *  context. */
#ifndef HEADRACE_GRID_H
#define HEADRACE_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <headrace/kernel.h>
#include <headrace/matrix.h>
#include <headrace/reduce.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Fields on the accelerators of a context. */
typedef struct hr_grid hr_grid;

/** What cells beyond an end of the grid hold. n is its extent there. */
typedef enum hr_boundary {
    HR_BOUNDARY_CONSTANT = 0, /**< a value that stays */
    HR_BOUNDARY_CLAMP,        /**< the last cell inside: -2 is 0 */
    HR_BOUNDARY_MIRROR,       /**< a mirror on the end: -1 is 0, -2 is 1 */
    HR_BOUNDARY_PERIODIC,     /**< the other end: -1 is n - 1 */
    HR_BOUNDARY_USER          /**< what your own phases write there, or
                                   hr_grid_write */
} hr_boundary;

/** One side of a field in one dimension. Each side follows its own boundary,
 *  whatever the other side has. With HR_BOUNDARY_PERIODIC before and
 *  HR_BOUNDARY_CLAMP after, -1 is n - 1 and n is n - 1. */
typedef struct hr_side {
    int64_t halo;         /**< how many cells are read beyond one's own; 0 to
                               2147483647 */
    hr_boundary boundary; /**< beyond the end of the grid */
    const void *value;    /**< of a constant boundary: of each component of a
                               cell; NULL: zeros */
} hr_side;

/** A field. Each cell has one or several values, its components: the velocity
 *  in space has three, a lattice of nine directions nine. Values of a component
 *  lie together. A kernel takes all components as one list of views (INS, OUTS
 *  and INOUTS in dialect.h), which it indexes by their number, or one of them
 *  (hr_field_component) as a view. What the field says holds for each of them.
 *
 *  Cells beyond two ends at once follow the boundary of both. They are
 *  constant where one of the two is, that of the lower dimension first. Where
 *  one of the two is HR_BOUNDARY_USER, they follow the other from what your
 *  phases have written. Where both are, your phases write them too. */
typedef struct hr_field {
    size_t element_bytes;               /**< 1 to 2147483647 */
    hr_side before[HR_MAX_KERNEL_RANK]; /**< lower indices, of each dimension */
    hr_side after[HR_MAX_KERNEL_RANK];  /**< higher indices */
    uint32_t components; /**< values of a cell, 1 to HR_MAX_COMPONENTS, of
                              element_bytes each; 0: 1 */
} hr_field;

/** A field whose sides are all alike.
 * @owner   value is borrowed until hr_grid_create has returned.
 * @threads Any thread. */
HR_API hr_field hr_field_of(size_t element_bytes, int64_t halo,
                            hr_boundary boundary, const void *value);

/** One component of a field, for calls and arguments that take a field: they
 *  then stand for that component alone, as for a field of one.
 * @errors  None here: what takes a field checks it.
 * @threads Any thread. */
HR_API uint32_t hr_field_component(uint32_t field, uint32_t component);

/** A grid that is a part of a larger one, whose other parts belong to other
 *  programs. Kernels, phases, sections and bands count cells in the whole grid.
 *  A phase runs for those of its cells that the part has. Values that kernels
 *  read beyond a side where another part lies come from there: the program that
 *  made the grid brings them, in functions that calls of the grid call. Those
 *  calls are made by all parts, in the same order: hr_grid_step, hr_grid_run,
 *  hr_grid_reduce, hr_grid_reduced and hr_grid_finish. libheadrace_mpi does all
 *  of this (headrace/processes.h).
 *
 *  Sums of blocks of cells are added exactly, and blocks start at multiples of
 *  HR_GRID_BLOCKn in the last dimensions of a whole grid of rank n. If parts
 *  start there, too, a reduction has the same bits for any parts. */
typedef struct hr_grid_part {
    uint32_t size;                      /**< sizeof(hr_grid_part) */
    uint32_t unused;                    /**< room for later fields */
    hr_extent whole;                    /**< of the whole grid */
    int64_t origin[HR_MAX_KERNEL_RANK]; /**< where the part starts in it */
    bool before[HR_MAX_KERNEL_RANK];    /**< another part lies beyond this
                                             side, */
    bool after[HR_MAX_KERNEL_RANK];     /**< or this one; also beyond an end
                                             that is periodic */
    /** Begin to bring what lies beyond the sides of these fields. Sections read
     *  now have what must be sent. */
    hr_status (*begin)(void *data, hr_grid *grid, const uint32_t *fields,
                       uint32_t count);
    /** Wait for it, and write it with hr_grid_write. It is called after every
     *  begin, also one that has failed. */
    hr_status (*finish)(void *data, hr_grid *grid, const uint32_t *fields,
                        uint32_t count);
    /** The status of the first part that has failed. any[0] and any[1] get the
     *  bits that any part has set, least[0] and least[1] the least of all. Both
     *  are NULL where the status is all. */
    hr_status (*agree)(void *data, hr_status status, uint64_t *any,
                       int64_t *least);
    /** Numbers become their sums over all parts, or their largest. */
    hr_status (*join)(void *data, int64_t *numbers, uint32_t count,
                      bool largest);
    /** The grid is destroyed. */
    void (*release)(void *data);
    void *data; /**< handed to these functions */
} hr_grid_part;

/** The initial value: its size is set, everything else is 0. */
#define HR_GRID_PART_INIT                                                      \
    {                                                                          \
        sizeof(hr_grid_part), 0, {0, {0}}, {0}, {0}, {0}, NULL, NULL, NULL,    \
            NULL, NULL, NULL                                                   \
    }

/** Cells of the blocks that reductions of grids have in the last dimensions:
 *  of rank 1, of rank 2, and lines and cells of rank 3. */
enum {
    HR_GRID_BLOCK1 = 64,
    HR_GRID_BLOCK2 = 1024,
    HR_GRID_BLOCK3_LINES = 16,
    HR_GRID_BLOCK3 = 64
};

/** Options of hr_grid_create; zero is the default of each. */
typedef struct hr_grid_options {
    uint32_t size; /**< sizeof(hr_grid_options) */
    uint32_t accelerator_count;
    const uint32_t *accelerators; /**< indices in the context, in the order of
                                       their bands, each once; NULL: all */
    const double *weights; /**< of bands, as many: shares of dimension 0 that
                                stay. NULL: the library measures while it steps,
                                and moves bands when that pays. It moves them to
                                fewer accelerators, too, when more would be
                                slower */
    uint32_t steps_per_exchange; /**< steps made from one exchange of halos, at
                                      most 1024. More steps compute some halo
                                      cells twice, and save exchanges. 0: as
                                      measured; with weights it is 1. It is 1,
                                      too, when a field is periodic in dimension
                                      0 with a halo there. The same while bands
                                      are thinner than that asks for, or deeper
                                      halos do not fit beside the old ones */
    uint32_t unused;             /**< room for later fields */
    const hr_grid_part *part;    /**< the grid is this part of a larger one;
                                      NULL: it is whole */
} hr_grid_options;

/** Options with their size set and every default. */
#define HR_GRID_OPTIONS_INIT                                                   \
    {                                                                          \
        sizeof(hr_grid_options), 0, NULL, NULL, 0, 0, NULL                     \
    }

/** A grid whose fields hold zeros.
 *
 * @shape   Bands of rank 1 start at multiples of 64 cells. There are fewer
 *          bands than accelerators where there are not as many rows, and where
 *          weights are 0.
 * @owner   *grid is the caller's, to be given to hr_grid_destroy. Written only
 *          on success. options may be NULL.
 * @errors  HR_ERROR_INVALID for NULL, and for an extent without cells or with
 *          more than 2^63 - 1. The same for no field or more than
 *          HR_MAX_FIELDS, and for element_bytes, components or a halo beyond
 *          their limits. The same for options that are not valid.
 *          HR_ERROR_OUT_OF_MEMORY, with the numbers, when the accelerators
 *          together do not hold the fields. HR_ERROR_LOST when all of them are
 *          lost, or with weights one of them.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status
hr_grid_create(hr_context *context, hr_extent extent, const hr_field *fields,
               uint32_t count, const hr_grid_options *options, hr_grid **grid);

enum { HR_MAX_FIELDS = 64, HR_MAX_COMPONENTS = 1024 };

/** Wait for all work and free the grid. NULL is accepted.
 * @threads One at a time for each grid. */
HR_API void hr_grid_destroy(hr_grid *grid);

/** Copy packed values of the whole extent into a field, and wait. An earlier
 *  failure is forgotten: other fields hold zeros then. Of a field of several
 *  components, all values of component 0 come first, then those of the others.
 *
 * @owner   Reads data during the call.
 * @errors  HR_ERROR_INVALID for NULL or a field that is none;
 *          HR_ERROR_OUT_OF_MEMORY; whatever the accelerators report.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_scatter(hr_grid *grid, uint32_t field,
                                              const void *data);

/** Copy a field's values to packed memory, and wait.
 *
 * @owner   Writes data during the call.
 * @errors  Those of hr_grid_scatter, and of the work that made the values.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_gather(hr_grid *grid, uint32_t field,
                                             void *data);

/** Copy a view into the section of a field that starts at origin. The copy
 *  comes after all that was enqueued before, and before all that follows.
 *
 * @shape   The view has the grid's rank and the field's element_bytes, and fits
 *          inside at origin[0 .. rank - 1]; NULL: at the start. It may reach
 *          beyond sides of HR_BOUNDARY_USER, as far as the halo does. For all
 *          of several components it has a dimension more: dimension 0 counts
 *          them.
 * @owner   As hr_copy_async.
 * @errors  Those of hr_copy_async; HR_ERROR_INVALID when it does not fit.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_write(hr_grid *grid, uint32_t field,
                                            const int64_t *origin,
                                            hr_view from);

/** Copy a section of a field to a view, likewise. It gets the values as of now,
 *  while later steps go on. hr_synchronize or hr_map of the view waits for it.
 *
 *  Otherwise as hr_grid_write.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_read(hr_grid *grid, uint32_t field,
                                           const int64_t *origin, hr_view to);

/** A field as an argument of a phase: read, neighbours within its halo too. See
 *  also hr_in, which gives an ordinary view, whole, to every band.
 * @threads Any thread. */
HR_API hr_argument hr_field_in(uint32_t field);
/** Read, of each cell itself alone.
 * @threads Any thread. */
HR_API hr_argument hr_field_here(uint32_t field);
/** Written: each cell of the phase, none read.
 * @threads Any thread. */
HR_API hr_argument hr_field_out(uint32_t field);
/** Read and written, of each cell itself alone.
 * @threads Any thread. */
HR_API hr_argument hr_field_inout(uint32_t field);

/** One phase of a step. */
typedef struct hr_phase {
    const hr_kernel *kernel; /**< NULL: fields swap[0] and swap[1] change
                                  places, which moves nothing; all their
                                  components do */
    const hr_argument *arguments;
    size_t argument_count;
    uint32_t swap[2];
    hr_extent extent; /**< of the cells that it runs for; of rank 0: the grid's
                           own. They may lie beyond the grid as far as all
                           fields of the phase have halos. The boundary of those
                           written must be HR_BOUNDARY_USER there. A kernel
                           reads neighbours there no further out than their
                           field's halo goes */
    int64_t origin[HR_MAX_KERNEL_RANK]; /**< where those start */
    hr_extent tile;                     /**< of rank 0: the library chooses */
    int64_t step[HR_MAX_KERNEL_RANK]; /**< cells of an item (HR_STEP); 0: 1. The
                                     last dimension has 1 */
} hr_phase;

/** A phase that runs kernel for every cell.
 * @threads Any thread. */
HR_API hr_phase hr_phase_of(const hr_kernel *kernel,
                            const hr_argument *arguments, size_t count);
/** A phase that swaps two fields, which have the same halos, boundaries,
 *  components and element_bytes.
 * @threads Any thread. */
HR_API hr_phase hr_phase_swap(uint32_t a, uint32_t b);

/** Enqueue the list of phases `steps` times.
 *
 * @owner   The list and what it points to need not outlive the call. Views of
 *          arguments must, until the steps have run.
 * @errors  Found before anything runs, so that the grid is as it was:
 *          HR_ERROR_INVALID for NULL, a field that is none, cells outside, and
 *          arguments that do not suit the kernel. The same for a view that is
 *          written, and for swapped fields that are unlike.
 *          HR_ERROR_COMPUTE_DOMAIN for a tile that cannot run.
 *          HR_ERROR_CANCELLED as hr_grid_set_progress says. Found while
 *          steps are enqueued or run: the other errors of hr_launch, and what
 *          the checker finds. This call or a later one returns them; the fields
 *          have no values then.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_step(hr_grid *grid,
                                           const hr_phase *phases, size_t count,
                                           int64_t steps);

/** Receives how many steps of this run are enqueued. What it reads with
 *  hr_grid_read or hr_grid_gather are the values after them. Returns false to
 *  end the run. */
typedef bool (*hr_grid_function)(void *data, hr_grid *grid, int64_t steps);

/** hr_grid_step, with function(data, grid, n) called after every `every` steps.
 *  The calling thread makes the calls. It waits for the accelerators only where
 *  the function does.
 *
 * @errors  Those of hr_grid_step; HR_ERROR_INVALID when every is less than 1;
 *          HR_ERROR_CANCELLED when the function returned false, or that of
 *          hr_grid_set_progress did.
 * @threads One at a time for each grid; the function may use it. */
HR_API HR_NODISCARD hr_status hr_grid_run(hr_grid *grid, const hr_phase *phases,
                                          size_t count, int64_t steps,
                                          int64_t every,
                                          hr_grid_function function,
                                          void *data);

/** Tell a function how many steps of a call are done, from now on: in
 *  hr_grid_step and hr_grid_run. NULL: none. These calls then make as many
 *  steps at a time as take about a tenth of a second, and wait for them. When
 *  the function cancels, the call ends with HR_ERROR_CANCELLED between two
 *  steps. The grid has the values after as many steps as hr_grid_state.steps
 *  says, and can be used as before. The function itself may read the grid.
 *
 * @owner   data is borrowed until another function is set, or the grid is
 *          destroyed.
 * @errors  HR_ERROR_INVALID when the grid is NULL.
 * @threads One at a time for each grid; not from the function. */
HR_API HR_NODISCARD hr_status
hr_grid_set_progress(hr_grid *grid, hr_progress_function function, void *data);

/** Wait for everything enqueued.
 *
 * @errors  HR_ERROR_INVALID for NULL; the error of what was enqueued.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_finish(hr_grid *grid);

/** A reduction under way. */
typedef struct hr_reducing hr_reducing;

/** Enqueue a reduction (reduce.h) of fields a and b after all that was enqueued
 *  before. Reductions of one field ignore b. Steps may follow at once.
 *
 *  It works in double, in blocks of cells (hr_grid_part) whose sums are then
 *  added exactly. The bits are the same on any accelerators. NORM, ARGMIN and
 *  ARGMAX are not offered, and PRODUCT not for a part of a larger grid.
 *
 * @shape   Elements are numbers of `type`: HR_F32, HR_F64 or HR_I32. A field of
 *          several components is given by one of them (hr_field_component).
 * @owner   *reducing is the caller's, to be given to hr_grid_reduced before the
 *          grid is destroyed. Written only on success.
 * @errors  HR_ERROR_INVALID for NULL, a field that is none, or a type that is
 *          not as large as its elements. HR_ERROR_UNSUPPORTED for other types,
 *          and on an accelerator without double. HR_ERROR_OUT_OF_MEMORY; those
 *          of hr_launch.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_reduce(hr_grid *grid,
                                             hr_reduction reduction,
                                             hr_type type, uint32_t a,
                                             uint32_t b,
                                             hr_reducing **reducing);

/** Wait for a reduction, give its result, and free it. NULL is refused.
 *
 * @owner   *value is written only on success; value may be NULL.
 * @errors  HR_ERROR_INVALID for NULL; the error of what was enqueued.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_reduced(hr_reducing *reducing,
                                              double *value);

/** How a grid is spread out, and what it has done. */
typedef struct hr_grid_state {
    uint32_t size; /**< sizeof(hr_grid_state) */
    uint32_t band_count;
    uint32_t steps_per_exchange;
    uint64_t steps;       /**< made so far */
    uint64_t exchanges;   /**< times that halos were copied */
    uint64_t halo_bytes;  /**< copied from band to band for them */
    uint64_t moves;       /**< times that bands were moved */
    uint64_t moved_bytes; /**< for that, between accelerators */
} hr_grid_state;

/** The initial value: its size is set, everything else is 0. */
#define HR_GRID_STATE_INIT                                                     \
    {                                                                          \
        sizeof(hr_grid_state), 0, 0, 0, 0, 0, 0, 0                             \
    }

/** Describe a grid and the bands that have rows, at most as many as
 *  accelerators. As rows that a band reads it gives the band's own (read_first
 *  is first, read_count is count). How far halos reach depends on the field.
 *
 * @owner   *state and bands[0 .. room - 1] are written; bands may be NULL when
 *          room is 0.
 * @errors  HR_ERROR_INVALID for NULL or a state without its size.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_describe(const hr_grid *grid,
                                               hr_grid_state *state,
                                               hr_band *bands, uint32_t room);

/** What a field was made as; of a component, with that one alone.
 *
 * @owner   *described is written on success; values of its sides are the
 *          grid's.
 * @errors  HR_ERROR_INVALID for NULL, and for a field that is none.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_describe_field(const hr_grid *grid,
                                                     uint32_t field,
                                                     hr_field *described);

/** The part of a larger grid that the grid is; NULL: it is whole.
 * @owner   The grid's.
 * @threads Any thread. */
HR_API const hr_grid_part *hr_grid_part_of(const hr_grid *grid);

/** Move the bands: band i gets weights[i] of the whole. It gets no more than
 *  fits beside what it has now, which stays until the new bands have their
 *  values. Values stay as they are. Where the grid was made without weights,
 *  the next step that is timed may move the bands again.
 *
 * @shape   As many weights as the grid was given accelerators. Those of
 *          accelerators that were lost when it was made do not count.
 * @errors  HR_ERROR_INVALID for NULL or weights that are none.
 *          HR_ERROR_OUT_OF_MEMORY, with the numbers, when the accelerators do
 *          not hold old and new bands at once: the grid is as it was. Whatever
 *          the accelerators report.
 * @threads One at a time for each grid. */
HR_API HR_NODISCARD hr_status hr_grid_rebalance(hr_grid *grid,
                                                const double *weights);

#ifdef __cplusplus
}
#endif
#endif
