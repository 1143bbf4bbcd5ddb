/* SPDX-License-Identifier: MIT */
/* The sum of two matrices of int on each accelerator alone, and on all of them.
 *
 *     matrix_addition [ROWS COLS]
 *
 * Adding takes little time beside copying. The report tells what bounds it, and
 * how many accelerators are worth it. With arguments the program prints times;
 * 16384 16384 are matrices of 1 GiB. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/example.h"

extern const hr_kernel matrix_addition;

enum { TRIES = 5 };

typedef struct problem {
    hr_context *context;
    hr_extent extent;
    int *data[3];
    int with_times;
} problem;

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Add matrices in the caller's memory. */
static hr_status add(const problem *p, const hr_split_options *options,
                     double *seconds)
{
    hr_array *arrays[3] = {NULL};
    hr_status status = HR_OK;
    const double start = now();
    for (int i = 0; i < 3 && status == HR_OK; i++) {
        status = hr_array_wrap(p->context, p->data[i], sizeof(int), p->extent,
                               0, &arrays[i]);
    }
    if (status == HR_OK) {
        const hr_argument arguments[] = {hr_in(hr_view_of(arrays[0])),
                                         hr_in(hr_view_of(arrays[1])),
                                         hr_out(hr_view_of(arrays[2]))};
        status = hr_launch_split(p->context, &matrix_addition, p->extent,
                                 arguments, 3, options);
    }
    if (status == HR_OK) {
        status = hr_synchronize(hr_view_of(arrays[2]));
    }
    *seconds = now() - start;
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    return status;
}

/* Check the sums, then overwrite them for the next run. */
static int check(const problem *p)
{
    const int64_t count = hr_extent_count(p->extent);
    int right = 1;
    for (int64_t i = 0; i < count; i++) {
        right = right && p->data[2][i] == p->data[0][i] + p->data[1][i];
        p->data[2][i] = 0;
    }
    return right;
}

/* The best of some times. The first runs teach the library how long this takes.
 * accelerator < 0: as many of all accelerators as are worth it. */
static hr_status measure(const problem *p, int64_t accelerator, int *right)
{
    const uint32_t one[] = {(uint32_t)accelerator};
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_status status = HR_OK;
    double best = 0, seconds;
    snprintf(info.path, sizeof info.path, "all");
    options.report = &report;
    if (accelerator >= 0) {
        options.accelerators = one;
        options.accelerator_count = 1;
        status = hr_accelerator_describe(p->context, one[0], &info);
    }
    for (int i = 0; i < TRIES && status == HR_OK; i++) {
        status = add(p, &options, &seconds);
        best = i == 0 || seconds < best ? seconds : best;
        *right = *right && (status != HR_OK || check(p));
    }
    if (status == HR_OK && p->with_times) {
        printf("%-12s%9.2f ms, predicted %9.2f ms, bound by %s, %u used\n",
               info.path, best * 1e3, report.seconds * 1e3,
               hr_bound_name(report.bound), report.used);
    }
    return status;
}

static hr_status run(const problem *p)
{
    int right = 1;
    hr_status status = HR_OK;
    for (uint32_t i = 0;
         i < hr_accelerator_count(p->context) && status == HR_OK; i++) {
        status = measure(p, i, &right);
    }
    if (status == HR_OK) {
        status = measure(p, -1, &right);
    }
    if (status == HR_OK) {
        printf("all sums are %s\n", right ? "right" : "wrong");
    }
    return status;
}

int main(int count, char **arguments)
{
    int rows = 300, cols = 200;
    if ((count != 1 && count != 3) ||
        (count == 3 &&
         (!example_number("ROWS", arguments[1], 1, INT_MAX, &rows) ||
          !example_number("COLS", arguments[2], 1, INT_MAX, &cols)))) {
        fputs("usage: matrix_addition [ROWS COLS]\n", stderr);
        return 2;
    }
    problem p = {.extent = hr_extent2(rows, cols), .with_times = count == 3};
    const int64_t elements = hr_extent_count(p.extent);
    for (int i = 0; i < 3; i++) {
        p.data[i] = example_zeros((size_t)elements, sizeof(int));
    }
    for (int64_t i = 0; i < elements; i++) {
        p.data[0][i] = (int)(i % 1000003);
        p.data[1][i] = (int)(i % 999983) * 2;
    }
    hr_status status = hr_context_create(NULL, &p.context);
    if (status == HR_OK) {
        status = run(&p);
    }
    hr_context_destroy(p.context);
    for (int i = 0; i < 3; i++) {
        free(p.data[i]);
    }
    return example_end(status);
}
