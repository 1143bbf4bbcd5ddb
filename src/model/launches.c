/* SPDX-License-Identifier: MIT */
/* Seconds for rows of kernels, from launches on default queues. */
#include "model/figures.h"
#include "runtime/stream.h"

static hri_kind row_of(const hr_kernel *kernel, int64_t points)
{
    return (hri_kind){.name = "kernel", .shape = points, .what = kernel};
}

/* Learn from the launch that is timed, if it is done. */
static void learn_launch(hri_accelerator *a)
{
    hri_default_queue *queue = &a->default_queue;
    uint64_t ns = 0;
    bool done = false;
    if (queue->kernel == NULL || queue->start == NULL || queue->end == NULL ||
        hri_fence_query(queue->end, &done) != HR_OK || !done) {
        return;
    }
    if (hri_fence_elapsed(queue->start, queue->end, &ns) == HR_OK && ns > 0) {
        const hri_kind kind = row_of(queue->kernel, queue->points);
        const double seconds = (double)ns * 1e-9;
        const double row = hri_figure_learned(hri_subject_of(a), kind);
        if (row > 0.0) {
            hri_model_saw(a->model, HR_ENGINE_SPLIT, row * queue->rows,
                          seconds);
        }
        hri_figure_learn(hri_subject_of(a), kind, seconds / queue->rows);
    }
    queue->kernel = NULL;
}

double hri_model_kernel(hri_accelerator *accelerator, const hr_kernel *kernel,
                        int64_t points)
{
    learn_launch(accelerator);
    return hri_figure_learned(hri_subject_of(accelerator),
                              row_of(kernel, points));
}

bool hri_model_is_curious(hri_accelerator *accelerator, const hr_kernel *kernel,
                          int64_t points)
{
    enum { NOW_AND_THEN = 16 };
    hri_default_queue *queue = &accelerator->default_queue;
    return hri_model_kernel(accelerator, kernel, points) <= 0.0 ||
           ++queue->untimed % NOW_AND_THEN == 0;
}

hri_fence **hri_model_time_kernel(hri_accelerator *accelerator,
                                  const hr_kernel *kernel, int64_t points,
                                  double rows)
{
    hri_default_queue *queue = &accelerator->default_queue;
    learn_launch(accelerator);
    queue->kernel = kernel;
    queue->points = points;
    queue->rows = rows;
    hri_fence_drop(queue->start);
    hri_fence_drop(queue->end);
    queue->start = NULL;
    queue->end = NULL;
    return &queue->start;
}
