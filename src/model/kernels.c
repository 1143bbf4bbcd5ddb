/* SPDX-License-Identifier: MIT */
/* What rows of kernels take, as launches on the accelerators' workers show. */
#include "model/figures.h"
#include "model/model.h"
#include "runtime/stream.h"

static hri_kind figure_of(const hr_kernel *kernel, int64_t points)
{
    return (hri_kind){.name = "kernel", .shape = points, .what = kernel};
}

/* Take note of the launch that is timed, if it is done. */
static void learn(hri_accelerator *a)
{
    hri_worker *w = &a->worker;
    uint64_t ns = 0;
    bool done = false;
    if (w->kernel == NULL || w->last == NULL || w->start == NULL ||
        hri_fence_query(w->last, &done) != HR_OK || !done) {
        return;
    }
    if (hri_fence_elapsed(w->start, w->last, &ns) == HR_OK && ns > 0) {
        const hri_kind kind = figure_of(w->kernel, w->points);
        const double seconds = (double)ns * 1e-9;
        const double row = hri_figure_learned(hri_subject_of(a), kind);
        if (row > 0.0) {
            hri_model_saw(a->model, HR_ENGINE_SPLIT, row * w->rows, seconds);
        }
        hri_figure_learn(hri_subject_of(a), kind, seconds / w->rows);
    }
    w->kernel = NULL;
}

double hri_model_kernel(hri_accelerator *accelerator, const hr_kernel *kernel,
                        int64_t points)
{
    learn(accelerator);
    return hri_figure_learned(hri_subject_of(accelerator),
                              figure_of(kernel, points));
}

hri_fence **hri_model_time_kernel(hri_accelerator *accelerator,
                                  const hr_kernel *kernel, int64_t points,
                                  double rows)
{
    hri_worker *w = &accelerator->worker;
    learn(accelerator);
    w->kernel = kernel;
    w->points = points;
    w->rows = rows;
    hri_fence_drop(w->start);
    w->start = NULL;
    return &w->start;
}
