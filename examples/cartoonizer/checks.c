/* SPDX-License-Identifier: MIT */
/* Checks of the filter, on any accelerators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cartoonizer/cartoonizer.h"
#include "support/example.h"

enum { ROWS = 45, COLS = 61 };

/* Balls of several colours before a sky, with some noise everywhere. */
picture checks_picture(int rows, int cols, int number)
{
    const picture p = {rows, cols,
                       example_memory(3 * (size_t)rows * (size_t)cols)};
    unsigned noise = 12345U + (unsigned)number;
    for (int n = 0; n < rows * cols; n++) {
        const int row = n / cols;
        const double y = (double)row / rows, x = (double)(n % cols) / cols;
        double rgb[] = {90 + 120 * y, 140 + 60 * y, 230 - 60 * y};
        for (int ball = 0; ball < 6; ball++) {
            const double dx = x - (0.5 + ball * 7 % 6) / 6;
            const double dy = y - (0.5 + (ball * 5 + number) % 6) / 6;
            const double d = (dx * dx + dy * dy) / 0.02;
            for (int c = 0; c < 3 && d < 1; c++) {
                rgb[c] = (ball + 1) >> c & 1 ? 230 - 120 * d : 40;
            }
        }
        for (int c = 0; c < 3; c++) {
            noise = noise * 1664525U + 1013904223U;
            p.rgb[3 * n + c] = (unsigned char)(rgb[c] + (noise >> 24) % 16);
        }
    }
    return p;
}

static picture blank(void)
{
    return (picture){ROWS, COLS, example_memory(3 * (size_t)ROWS * COLS)};
}

static bool same(const picture *a, const picture *b)
{
    return memcmp(a->rgb, b->rgb, 3 * (size_t)ROWS * COLS) == 0;
}

/* The largest difference of two pictures, in levels of 255. */
static int difference(const picture *a, const picture *b)
{
    int most = 0;
    for (int n = 0; n < 3 * ROWS * COLS; n++) {
        const int d = abs(a->rgb[n] - b->rgb[n]);
        most = d > most ? d : most;
    }
    return most;
}

/* In bands: on the first accelerator, on the first two, and so on. */
static hr_status check_bands(hr_context *context, style s, const picture *from,
                             const picture *alone)
{
    const uint32_t all = hr_accelerator_count(context);
    uint32_t *list = example_memory(all * sizeof *list);
    picture to = blank();
    bool equal = true;
    hr_status status = HR_OK;
    for (uint32_t n = 1; n <= all && status == HR_OK; n++) {
        hr_grid_options options = HR_GRID_OPTIONS_INIT;
        list[n - 1] = n - 1;
        options.accelerators = list;
        options.accelerator_count = n;
        status = cartoon_make(context, &options, s, from, &to);
        equal = equal && same(&to, alone);
    }
    if (status == HR_OK) {
        example_check(equal, "the same bits on 1 to %u accelerators", all);
    }
    free(list);
    free(to.rgb);
    return status;
}

typedef struct album {
    int count, taken;
    picture *from, *to;
} album;

static bool take(void *data, int n)
{
    album *a = data;
    return n == a->taken++;
}

/* Each picture must be as from the first accelerator alone, and come in
 * order. */
static hr_status check_distribution(hr_context *context, style s,
                                    const hr_grid_options *first)
{
    const int count = 2 * (int)hr_accelerator_count(context) + 1;
    const size_t bytes = (size_t)count * sizeof(picture);
    album a = {.count = count,
               .from = example_memory(bytes),
               .to = example_memory(bytes)};
    picture alone = blank();
    hr_status status = HR_OK;
    for (int n = 0; n < count; n++) {
        a.from[n] = checks_picture(ROWS, COLS, n);
        a.to[n] = blank();
    }
    bool right = cartoon_distribute(context, s, count, a.from, a.to, take, &a);
    for (int n = 0; n < count && status == HR_OK; n++) {
        status = cartoon_make(context, first, s, &a.from[n], &alone);
        right = right && same(&a.to[n], &alone);
    }
    if (status == HR_OK) {
        example_check(
            right && a.taken == count,
            "%d pictures distributed to %u accelerators, each as from one "
            "alone",
            count, hr_accelerator_count(context));
    }
    for (int n = 0; n < count; n++) {
        free(a.from[n].rgb);
        free(a.to[n].rgb);
    }
    free(a.from);
    free(a.to);
    free(alone.rgb);
    return status;
}

hr_status checks_run(hr_context *context, style s)
{
    const uint32_t zero = 0;
    hr_grid_options first = HR_GRID_OPTIONS_INIT;
    picture from = checks_picture(ROWS, COLS, 0), want = blank();
    picture alone = blank();
    first.accelerators = &zero;
    first.accelerator_count = 1;
    cartoon_reference(s, &from, &want);
    hr_status status = cartoon_make(context, &first, s, &from, &alone);
    if (status == HR_OK) { /* float instead of double */
        const int levels = difference(&alone, &want);
        example_check(levels <= 1, "at most %d of 255 beside plain C", levels);
    }
    if (status == HR_OK && example_same_kind(context)) {
        status = check_bands(context, s, &from, &alone);
        if (status == HR_OK) {
            status = check_distribution(context, s, &first);
        }
    }
    free(from.rgb);
    free(want.rgb);
    free(alone.rgb);
    return status;
}
