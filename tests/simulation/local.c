/* SPDX-License-Identifier: MIT */
/* In place of what src/mpi calls in its own process: contexts without
 * accelerators, grids whose steps take time, memory that is not there, and
 * products that are not computed. */
#include <headrace/headrace.h>
#include <simgrid/engine.h>
#include <stdlib.h>

#include "base/pages.h"
#include "base/size.h"
#include "mpi/elements.h"
#include "mpi/run.h"
#include "simulate.h"

/* ---- contexts. NULL is one. */

hr_status hr_context_create(const hr_context_options *options,
                            hr_context **context)
{
    (void)options;
    *context = NULL;
    return HR_OK;
}

void hr_context_destroy(hr_context *context)
{
    (void)context;
}

hr_status hr_gemm_plan(hr_context *context, hr_scalar alpha, hr_matrix a,
                       hr_matrix b, hr_scalar beta, hr_matrix c,
                       const hr_gemm_options *options, hr_gemm_report *report)
{
    (void)context;
    (void)alpha;
    (void)a;
    (void)b;
    (void)beta;
    (void)c;
    (void)options;
    (void)report;
    return HR_OK;
}

/* ---- memory of messages */

hr_status hr_allocate_pinned(hr_context *context, size_t bytes, void **memory)
{
    (void)context;
    (void)bytes;
    *memory = simulated_memory();
    return HR_OK;
}

void hr_free_pinned(hr_context *context, void *memory)
{
    (void)context;
    (void)memory;
}

struct hr_array {
    hr_extent extent;
    size_t element_bytes;
};

hr_status hr_array_wrap_typed(hr_context *context, const void *data,
                              const char *type, size_t element_bytes,
                              hr_extent extent, size_t row_bytes,
                              hr_array **array)
{
    hr_array *made = malloc(sizeof *made);
    (void)context;
    (void)data;
    (void)type;
    (void)row_bytes;
    if (made == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "simulate: no memory");
    }
    *made = (hr_array){extent, element_bytes};
    *array = made;
    return HR_OK;
}

void hr_array_destroy(hr_array *array)
{
    free(array);
}

hr_view hr_view_of(hr_array *array)
{
    return (hr_view){.array = array,
                     .extent = array->extent,
                     .element_bytes = array->element_bytes};
}

hr_status hr_map_at(hr_view view, hr_access access, hr_mapping *mapping,
                    const char *file, int line)
{
    (void)view;
    (void)access;
    (void)mapping;
    (void)file;
    (void)line;
    return HR_OK;
}

hr_status hr_unmap(hr_mapping *mapping)
{
    (void)mapping;
    return HR_OK;
}

hr_status hr_map_on(hr_view view, uint32_t index, hr_access access,
                    hr_mapping *mapping)
{
    (void)view;
    (void)index;
    (void)access;
    (void)mapping;
    return HR_OK;
}

/* ---- grids */

struct hr_grid {
    hr_grid_part part;
    hr_extent extent;
};

hr_status hr_grid_create(hr_context *context, hr_extent extent,
                         const hr_field *fields, uint32_t count,
                         const hr_grid_options *options, hr_grid **grid)
{
    hr_grid *made = malloc(sizeof *made);
    (void)context;
    (void)fields;
    (void)count;
    if (made == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "simulate: no memory");
    }
    *made = (hr_grid){*options->part, extent};
    *grid = made;
    return HR_OK;
}

void hr_grid_destroy(hr_grid *grid)
{
    if (grid != NULL) {
        grid->part.release(grid->part.data);
        free(grid);
    }
}

const hr_grid_part *hr_grid_part_of(const hr_grid *grid)
{
    return grid != NULL ? &grid->part : NULL;
}

static hr_status pass_copy(hr_view view)
{
    simulated_pass(simulated_copy_seconds((size_t)hr_extent_count(view.extent) *
                                          view.element_bytes));
    return HR_OK;
}

hr_status hr_grid_read(hr_grid *grid, uint32_t field, const int64_t *origin,
                       hr_view to)
{
    (void)grid;
    (void)field;
    (void)origin;
    return pass_copy(to);
}

hr_status hr_grid_write(hr_grid *grid, uint32_t field, const int64_t *origin,
                        hr_view from)
{
    (void)grid;
    (void)field;
    (void)origin;
    return pass_copy(from);
}

double simulated_copy_seconds(uint64_t bytes)
{
    return machine.link_latency + (double)bytes * machine.link_seconds;
}

double simulated_cells(const hr_grid *grid, double *inner)
{
    double all = 1.0;
    *inner = 1.0;
    for (uint32_t d = 0; d < grid->extent.rank; d++) {
        const double size = (double)grid->extent.size[d];
        const bool shared = grid->part.before[d] || grid->part.after[d];
        all *= size;
        *inner *= shared ? size - 2.0 : size;
    }
    return all;
}

/* One step, as src/grid/step.c has it: the accelerator computes the inner cells
 * while halos come, and then those at the sides. */
static hr_status step_once(hr_grid *grid)
{
    const uint32_t field = 0;
    double inner;
    const double all = simulated_cells(grid, &inner);
    const double begin = simgrid_get_clock();
    hr_status status = grid->part.begin(grid->part.data, grid, &field, 1);
    const hr_status finished =
        grid->part.finish(grid->part.data, grid, &field, 1);
    status = status == HR_OK ? finished : status;
    simulated_pass(begin + inner / machine.cells_per_second -
                   simgrid_get_clock());
    simulated_pass((all - inner) / machine.cells_per_second);
    return status;
}

/* All parts agree before the first one, as src/grid/run.c has it. */
hr_status hr_grid_step(hr_grid *grid, const hr_phase *phases, size_t count,
                       int64_t steps)
{
    uint64_t any[2] = {0, 0};
    int64_t least[2] = {0, 0};
    (void)phases;
    (void)count;
    HRI_TRY(grid->part.agree(grid->part.data, HR_OK, any, least));
    for (int64_t n = 0; n < steps; n++) {
        HRI_TRY(step_once(grid));
    }
    return HR_OK;
}

/* ---- in place of src/base/pages.c and src/mpi/elements.c: to copy memory or
 * to add it up takes time */

void *hri_pages(size_t bytes)
{
    return bytes > 0 ? malloc(1) : NULL; /* an address that free() takes */
}

void hri_mpi_copy_box(hri_mpi_place to, hri_mpi_place from, int64_t rows,
                      int64_t cols, size_t element_bytes)
{
    (void)to;
    (void)from;
    simulated_pass((double)rows * (double)cols * (double)element_bytes *
                   machine.copy_seconds);
}

void hri_mpi_sum_box(const hri_mpi_sum *sum, const hri_mpi_box *box,
                     const char **terms)
{
    const double bytes = (double)box->rows * (double)box->cols *
                         (double)hr_type_size(sum->term_type);
    (void)terms;
    simulated_pass(bytes * sum->count * machine.copy_seconds);
}

/* ---- in place of src/mpi/multiply.c: each panel takes as long as the context
 * says that its products take. The accelerator works beside the process, panel
 * after panel, each from when it has come. */

/* The accelerator of a process. */
typedef struct timeline {
    double *ends; /* [panels] when each that has arrived has ended */
    int64_t arrived;
} timeline;

enum { MAX_PROCESSES = 1 << 12 };
static timeline of_process[MAX_PROCESSES];

static timeline *find_timeline(const hri_mpi_run *r)
{
    return &of_process[r->context->rank];
}

void hri_multiply_begin(hri_mpi_run *r)
{
    timeline *t = find_timeline(r);
    t->arrived = 0;
    t->ends = calloc((size_t)r->plan.panels, sizeof *t->ends);
    if (t->ends == NULL) {
        abort();
    }
}

/* The seconds of this process's product of a panel. */
static double seconds_of(const hri_mpi_run *r, int64_t panel)
{
    enum { DOUBLE = 8 };
    const hri_mpi_product *x = &r->product;
    const hri_mpi_tile a = hri_mpi_tile_of_a(&r->plan, r->grid_rank, panel);
    const hri_mpi_tile b = hri_mpi_tile_of_b(&r->plan, r->grid_rank, panel);
    const double terms = (double)hri_mpi_tile_rows(&x->a, a) *
                         (double)hri_mpi_tile_cols(&x->a, a) *
                         (double)hri_mpi_tile_cols(&x->b, b);
    return terms * (double)x->a.element_bytes / DOUBLE *
           r->context->flop_seconds;
}

void hri_multiply_arrived(hri_mpi_run *r, int64_t panels)
{
    timeline *t = find_timeline(r);
    for (; r->grid_rank >= 0 && t->arrived < panels; t->arrived++) {
        const double now = simgrid_get_clock();
        const double free_at = t->arrived > 0 ? t->ends[t->arrived - 1] : now;
        t->ends[t->arrived] =
            (free_at > now ? free_at : now) + seconds_of(r, t->arrived);
    }
}

hr_status hri_multiply_await(hri_mpi_run *r, int64_t panels)
{
    const timeline *t = find_timeline(r);
    const int64_t last = hri_min(panels, t->arrived);
    if (last > 0) {
        simulated_pass(t->ends[last - 1] - simgrid_get_clock());
    }
    return HR_OK;
}

hr_status hri_multiply_end(hri_mpi_run *r, bool stop)
{
    (void)stop;
    const hr_status status = hri_multiply_await(r, INT64_MAX);
    free(find_timeline(r)->ends);
    find_timeline(r)->ends = NULL;
    return status;
}
