/* SPDX-License-Identifier: MIT */
/* Staging. Numbers are made in host memory that the accelerator copies from at
 * full speed. They go to an array there, and come back to another staging
 * array. */
#include <headrace/headrace.h>
#include <stdio.h>

enum { COUNT = 1000 };

int main(void)
{
    hr_context *context = NULL;
    hr_queue *queue = NULL;
    hr_array *in = NULL, *there = NULL, *out = NULL;
    const hr_extent extent = hr_extent1(COUNT);
    hr_event *arrived = NULL;
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK) {
        status = hr_queue_create(context, 0, &queue);
    }
    if (status == HR_OK) {
        status = hr_array_create_staging(queue, sizeof(double), extent, &in);
    }
    if (status == HR_OK) {
        status = hr_array_create_staging(queue, sizeof(double), extent, &out);
    }
    if (status == HR_OK) {
        status = hr_array_create(queue, sizeof(double), extent, &there);
    }
    if (status == HR_OK) {
        double *numbers = hr_array_data(in);
        for (int i = 0; i < COUNT; i++) {
            numbers[i] = i;
        }
        status = hr_invalidate(hr_view_of(in)); /* its memory was written */
    }
    if (status == HR_OK) { /* other work could be done meanwhile */
        status = hr_copy_async(hr_view_of(in), hr_view_of(there), NULL);
    }
    if (status == HR_OK) {
        status = hr_copy_async(hr_view_of(there), hr_view_of(out), &arrived);
    }
    if (status == HR_OK) {
        status = hr_event_wait(arrived);
    }
    if (status == HR_OK) {
        const double *numbers = hr_array_data(out);
        double sum = 0.0;
        for (int i = 0; i < COUNT; i++) {
            sum += numbers[i];
        }
        printf("the sum is %g\n", sum);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    hr_event_destroy(arrived);
    hr_array_destroy(in);
    hr_array_destroy(there);
    hr_array_destroy(out);
    hr_queue_destroy(queue);
    hr_context_destroy(context);
    return status != HR_OK;
}
