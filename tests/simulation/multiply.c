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
    double *ends; /* [panels] when each that has arrived has ended */
    int64_t arrived;
} timeline;

enum { MAX_PROCESSES = 1 << 12 };
static timeline of_process[MAX_PROCESSES];

static timeline *find(const hri_mpi_run *r)
{
    return &of_process[r->context->rank];
}

void hri_multiply_begin(hri_mpi_run *r)
{
    timeline *t = find(r);
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
    const hri_mpi_part a = hri_mpi_part_of_a(&r->plan, r->place, panel);
    const hri_mpi_part b = hri_mpi_part_of_b(&r->plan, r->place, panel);
    const double terms = (double)hri_mpi_part_rows(&x->a, a) *
                         (double)hri_mpi_part_cols(&x->a, a) *
                         (double)hri_mpi_part_cols(&x->b, b);
    return terms * (double)x->a.element_bytes / DOUBLE *
           r->context->flop_seconds;
}

void hri_multiply_arrived(hri_mpi_run *r, int64_t panels)
{
    timeline *t = find(r);
    for (; r->place >= 0 && t->arrived < panels; t->arrived++) {
        const double now = simgrid_get_clock();
        const double free_at = t->arrived > 0 ? t->ends[t->arrived - 1] : now;
        t->ends[t->arrived] =
            (free_at > now ? free_at : now) + seconds_of(r, t->arrived);
    }
}

hr_status hri_multiply_await(hri_mpi_run *r, int64_t panels)
{
    const timeline *t = find(r);
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
    free(find(r)->ends);
    find(r)->ends = NULL;
    return status;
}
