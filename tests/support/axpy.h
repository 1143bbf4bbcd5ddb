/* SPDX-License-Identifier: MIT */
/* Launches of the kernel axpy of tests/kernels/ranks.c. */
#ifndef TEST_AXPY_H
#define TEST_AXPY_H

#include "kernels/kernels.h"
#include "support/conformance.h"

extern const hr_kernel axpy;

/* Enqueue y := y + a x + 1 for so many elements. The module may be NULL on the
 * host, whose own code runs then. */
static inline hr_status launch_axpy(hri_queue *queue, hri_module *module,
                                    hri_buffer *x, hri_buffer *y, int64_t count,
                                    const float *a)
{
    const struct {
        float x;
        int n;
    } point = {0.5f, 2};
    const hr_list_shape shape = {.extent = {count}, .stride = {1}};
    const hri_kernel_argument arguments[] = {
        {.place = hri_at(x, 0), .shape = shape},
        {.place = hri_at(y, 0), .shape = shape},
        {.value = a, .bytes = sizeof *a},
        {.value = &point, .bytes = sizeof point}};
    const hri_launch l = {.kernel = module != NULL && x->device->info.host
                                        ? module->kernel
                                        : &axpy,
                          .module = module,
                          .rank = 1,
                          .domain = conformance_line(count),
                          .arguments = arguments};
    return queue->ops->launch(queue, &l);
}

#endif
