/* SPDX-License-Identifier: MIT */
/* A weighted average of a picture: on one accelerator, on all of them from one
 * thread, and on all of them with a thread for each.
 *
 *     weighted_average [EXTENT SHIFT]
 *
 * The picture has EXTENT x EXTENT elements. The window is radial and reaches
 * SHIFT elements far. The border of the picture is read, and never written.
 * With arguments the program also prints times. The published times beside them
 * are for 2000 60, on GPUs of 2012. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/example.h"

extern const hr_kernel weighted_average;

enum { FORMS = 3, TRIES = 3 };

typedef struct picture {
    hr_context *context;
    hr_queue *queue; /* of the first accelerator */
    int extent, shift;
    float *from, *window, *to[FORMS + 1];
} picture;

static const struct {
    const char *name;
    double published; /* milliseconds */
} forms[FORMS] = {{"one accelerator", 1198.91},
                  {"all, from one thread", 652.04},
                  {"all, a thread for each", 649.92}};

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fill(picture *p)
{
    const int edge = 2 * p->shift + 1;
    unsigned bits = 1;
    for (int i = 0; i < p->extent * p->extent; i++) {
        bits = bits * 1664525u + 1013904223u;
        p->from[i] = (float)(bits >> 8) * 0x1p-24f;
    }
    for (int i = 0; i < edge * edge; i++) {
        const int row = i / edge - p->shift, col = i % edge - p->shift;
        p->window[i] = (float)(1.0 - hypot(row, col) / (p->shift * sqrt(2.0)));
    }
}

/* Launch one form of the kernel, or with weights bands of it. */
static hr_status launch(const picture *p, int form, const double *weights,
                        const hr_argument *arguments)
{
    const hr_extent domain = hr_extent2(p->extent, p->extent);
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    if (form == 0) {
        return hr_launch(p->queue, &weighted_average, domain, NULL, arguments,
                         3);
    }
    options.threads = form == 2;
    options.weights = weights;
    return hr_launch_split(p->context, &weighted_average, domain, arguments, 3,
                           &options);
}

/* The picture goes to the accelerators, and its inner part is copied home. */
static hr_status average(const picture *p, int form, const double *weights,
                         float *to, double *seconds)
{
    const int edge = 2 * p->shift + 1, inner = p->extent - 2 * p->shift;
    const int64_t origin[] = {p->shift, p->shift};
    const hr_extent all = hr_extent2(p->extent, p->extent);
    hr_array *arrays[3] = {NULL};
    hr_view result = {0};
    hr_status status =
        hr_array_wrap(p->context, p->from, sizeof(float), all, 0, &arrays[0]);
    if (status == HR_OK) {
        status = hr_array_wrap(p->context, p->window, sizeof(float),
                               hr_extent2(edge, edge), 0, &arrays[1]);
    }
    if (status == HR_OK) {
        status =
            hr_array_wrap(p->context, to, sizeof(float), all, 0, &arrays[2]);
    }
    const double start = now();
    if (status == HR_OK) {
        const hr_argument arguments[] = {
            hr_near(hr_in(hr_view_of(arrays[0])), p->shift, p->shift),
            hr_whole(hr_in(hr_view_of(arrays[1]))),
            hr_out(hr_view_of(arrays[2]))};
        status = launch(p, form, weights, arguments);
    }
    if (status == HR_OK) {
        status = hr_view_section(hr_view_of(arrays[2]), origin,
                                 hr_extent2(inner, inner), &result);
    }
    if (status == HR_OK) {
        status = hr_synchronize(result);
    }
    *seconds = now() - start;
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(arrays[i]);
    }
    return status;
}

/* Whether every 97th element is right. None of the products is negative here,
 * so rounding changes a sum of n products by at most about n * 2^-24 of
 * itself. */
static int is_right(const picture *p, const float *to)
{
    const int edge = 2 * p->shift + 1, inner = p->extent - 2 * p->shift;
    const double tolerance = (edge * edge + 2) * 0x1p-24;
    int right = 1;
    for (int i = 0; i < inner * inner; i += 97) {
        const int row = i / inner, col = i % inner;
        double sum = 0;
        for (int k = 0; k < edge * edge; k++) {
            sum += (double)p->window[k] *
                   p->from[(row + k / edge) * p->extent + col + k % edge];
        }
        sum /= edge * edge;
        const double got = to[(row + p->shift) * p->extent + col + p->shift];
        right = right && fabs(got - sum) <= 1.01 * tolerance * sum;
    }
    return right;
}

static hr_status run(picture *p, int with_times)
{
    const size_t bytes = (size_t)p->extent * (size_t)p->extent * sizeof(float);
    double *equal = example_equal_weights(p->context);
    double best, seconds;
    hr_status status = HR_OK;
    for (int f = 0; f < FORMS && status == HR_OK; f++) {
        best = INFINITY;
        for (int i = 0; i < (with_times ? TRIES : 1) && status == HR_OK; i++) {
            status = average(p, f, NULL, p->to[f], &seconds);
            best = seconds < best ? seconds : best;
        }
        if (status == HR_OK && with_times) {
            printf("%-24s%10.2f ms, published %8.2f ms\n", forms[f].name,
                   best * 1e3, forms[f].published);
        }
    }
    if (status == HR_OK) { /* whether that is fast or not */
        status = average(p, 1, equal, p->to[FORMS], &seconds);
    }
    int same = 1, right = 1;
    for (int f = 0; f <= FORMS && status == HR_OK; f++) {
        same = same && memcmp(p->to[0], p->to[f], bytes) == 0;
        right = right && is_right(p, p->to[f]);
    }
    if (status == HR_OK) {
        printf("averages are %s\n", right ? "right" : "wrong");
        printf("whatever the bands, they are %s\n",
               same ? "the same to the bit"
                    : "the same but for how unlike accelerators round");
    }
    free(equal);
    return status;
}

int main(int count, char **arguments)
{
    picture p = {.extent = 100, .shift = 6};
    if ((count != 1 && count != 3) ||
        (count == 3 &&
         (!example_number("EXTENT", arguments[1], 3, 40000, &p.extent) ||
          !example_number("SHIFT", arguments[2], 1, (p.extent - 1) / 2,
                          &p.shift)))) {
        fputs("usage: weighted_average [EXTENT SHIFT], EXTENT > 2 SHIFT\n",
              stderr);
        return 2;
    }
    const size_t pixels = (size_t)p.extent * (size_t)p.extent;
    const size_t edge = 2 * (size_t)p.shift + 1;
    p.from = example_memory(pixels * sizeof(float));
    p.window = example_memory(edge * edge * sizeof(float));
    for (int i = 0; i <= FORMS; i++) {
        p.to[i] = example_zeros(pixels, sizeof(float));
    }
    fill(&p);
    hr_status status = hr_context_create(NULL, &p.context);
    if (status == HR_OK) {
        status = hr_queue_create(p.context, 0, &p.queue);
    }
    if (status == HR_OK) {
        status = run(&p, count == 3);
    }
    hr_queue_destroy(p.queue);
    hr_context_destroy(p.context);
    for (int i = 0; i <= FORMS; i++) {
        free(p.to[i]);
    }
    free(p.window);
    free(p.from);
    return example_end(status);
}
