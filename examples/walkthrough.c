/* SPDX-License-Identifier: MIT */
/* A product of matrices of int in three steps: plain loops in C, a kernel with
 * an item for each element, and a kernel with items that work in tiles. The
 * kernels are in kernels/walkthrough.c. */
#include <headrace/headrace.h>
#include <stdio.h>

extern const hr_kernel multiply_simple, multiply_tiled;

enum { MAX = 16 };

static void multiply_plain(const int *a, const int *b, int *c, int m, int n,
                           int k)
{
    for (int row = 0; row < m; row++) {
        for (int col = 0; col < n; col++) {
            int sum = 0;
            for (int i = 0; i < k; i++) {
                sum += a[row * k + i] * b[i * n + col];
            }
            c[row * n + col] = sum;
        }
    }
}

/* The same on an accelerator: views over the caller's memory, a launch over C's
 * extent, then C is copied home. */
static hr_status multiply(hr_context *context, hr_queue *queue,
                          const hr_kernel *kernel, const hr_extent *tile,
                          const int *const data[3], const hr_extent extents[3])
{
    hr_array *arrays[3] = {NULL};
    hr_status status = HR_OK;
    for (int i = 0; i < 3 && status == HR_OK; i++) {
        status = hr_array_wrap(context, data[i], sizeof(int), extents[i], 0,
                               &arrays[i]);
    }
    if (status == HR_OK) {
        const hr_argument arguments[] = {hr_in(hr_view_of(arrays[0])),
                                         hr_in(hr_view_of(arrays[1])),
                                         hr_out(hr_view_of(arrays[2]))};
        status = hr_launch(queue, kernel, extents[2], tile, arguments, 3);
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(arrays[2]));
    }
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    return status;
}

static void print(const char *name, const int *c, int m, int n)
{
    printf("%s\n", name);
    for (int i = 0; i < m * n; i++) {
        printf("%4d%c", c[i], i % n == n - 1 ? '\n' : ' ');
    }
}

int main(void)
{
    const int a[] = {1, 4, 2, 5, 3, 6}, b[] = {7, 8, 9, 10, 11, 12};
    const int square[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
    const hr_extent two = hr_extent2(2, 2); /* as in the tiled kernel */
    int c[MAX];
    hr_context *context = NULL;
    hr_queue *queue = NULL;
    multiply_plain(a, b, c, 3, 3, 2);
    print("plain", c, 3, 3);
    hr_status status = hr_context_create(NULL, &context);
    if (status == HR_OK) {
        status = hr_queue_create(context, 0, &queue);
    }
    if (status == HR_OK) {
        const int *const data[] = {a, b, c};
        const hr_extent extents[] = {hr_extent2(3, 2), hr_extent2(2, 3),
                                     hr_extent2(3, 3)};
        status =
            multiply(context, queue, &multiply_simple, NULL, data, extents);
    }
    if (status == HR_OK) {
        const int *const data[] = {square, square, c};
        const hr_extent extents[] = {hr_extent2(4, 4), hr_extent2(4, 4),
                                     hr_extent2(4, 4)};
        print("one item for each element", c, 3, 3);
        status = multiply(context, queue, &multiply_tiled, &two, data, extents);
    }
    if (status == HR_OK) {
        print("in tiles of 2 x 2", c, 4, 4);
    }
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    hr_queue_destroy(queue);
    hr_context_destroy(context);
    return status != HR_OK;
}
