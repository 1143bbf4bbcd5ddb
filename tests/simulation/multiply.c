/* SPDX-License-Identifier: MIT */
/* In place of src/mpi/multiply.c: each panel takes as long as the context says
 * that its products take. The accelerator works beside the process, panel after
 * panel, each from when it has come. */
#include <simgrid/engine.h>
#include <stdlib.h>

#include "base/size.h"
#include "mpi/run.h"
#include "simulate.h"

/* The accelerator of a process. */
typedef struct timeline {
    double *ends; /* [panels] when each has ended, of those that have come */
    int64_t come;
} timeline;

enum { MAX_PROCESSES = 1 << 12 };
static timeline of_process[MAX_PROCESSES];

static timeline *find(const hri_mpi_run *r)
{
    return &of_process[r->context->rank];
}

hr_status hri_multiply_prepare(hri_mpi_run *r)
{
    timeline *t = find(r);
    t->come = 0;
    t->ends = calloc((size_t)r->plan->panels, sizeof *t->ends);
    return t->ends != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for panels");
}

void hri_multiply_finish(hri_mpi_run *r)
{
    free(find(r)->ends);
    find(r)->ends = NULL;
}

void hri_multiply_begin(hri_mpi_run *r)
{
    (void)r;
}

/* The seconds of this process's product of a panel. */
static double seconds_of(const hri_mpi_run *r, int64_t panel)
{
    enum { DOUBLE = 8 };
    const hri_mpi_product *x = r->product;
    const hri_mpi_part a = hri_mpi_part_of_a(r->plan, r->place, panel);
    const hri_mpi_part b = hri_mpi_part_of_b(r->plan, r->place, panel);
    const double terms = (double)hri_mpi_part_rows(&x->a, a) *
                         (double)hri_mpi_part_cols(&x->a, a) *
                         (double)hri_mpi_part_cols(&x->b, b);
    return terms * (double)x->a.element_bytes / DOUBLE *
           r->context->flop_seconds;
}

void hri_multiply_come(hri_mpi_run *r, int64_t panels)
{
    timeline *t = find(r);
    for (; r->place >= 0 && t->come < panels; t->come++) {
        const double now = simgrid_get_clock();
        const double free_at = t->come > 0 ? t->ends[t->come - 1] : now;
        t->ends[t->come] =
            (free_at > now ? free_at : now) + seconds_of(r, t->come);
    }
}

hr_status hri_multiply_await(hri_mpi_run *r, int64_t panels)
{
    const timeline *t = find(r);
    const int64_t last = hri_min(panels, t->come);
    if (last > 0) {
        simulated_pass(t->ends[last - 1] - simgrid_get_clock());
    }
    return HR_OK;
}

hr_status hri_multiply_end(hri_mpi_run *r, bool stop)
{
    (void)stop;
    return hri_multiply_await(r, INT64_MAX);
}
