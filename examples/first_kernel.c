/* SPDX-License-Identifier: MIT */
/* A first kernel: c = a + b on the first accelerator. The kernel is in
 * kernels/first_kernel.c. */
#include <headrace/headrace.h>
#include <stdio.h>

extern const hr_kernel add;

int main(void)
{
    float a[] = {1, 2, 3, 4, 5}, b[] = {10, 20, 30, 40, 50}, c[5] = {0};
    hr_context *context = NULL;
    hr_queue *queue = NULL;
    hr_array *arrays[3] = {NULL};
    const float *data[] = {a, b, c};
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK) {
        status = hr_queue_create(context, 0, &queue);
    }
    for (int i = 0; i < 3 && status == HR_OK; i++) {
        status = hr_array_wrap(context, data[i], sizeof(float), hr_extent1(5),
                               0, &arrays[i]);
    }
    if (status == HR_OK) {
        const hr_argument arguments[] = {hr_in(hr_view_of(arrays[0])),
                                         hr_in(hr_view_of(arrays[1])),
                                         hr_out(hr_view_of(arrays[2]))};
        status = hr_launch(queue, &add, hr_extent1(5), NULL, arguments, 3);
    }
    if (status == HR_OK) { /* c comes home */
        status = hr_synchronize(hr_view_of(arrays[2]));
    }
    for (int i = 0; i < 5 && status == HR_OK; i++) {
        printf("%g%c", c[i], i == 4 ? '\n' : ' ');
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    hr_queue_destroy(queue);
    hr_context_destroy(context);
    return status != HR_OK;
}
