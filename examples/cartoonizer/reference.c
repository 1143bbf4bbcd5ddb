/* SPDX-License-Identifier: MIT */
/* Cartoons in plain C, pixel by pixel, in double. */
#include <math.h>
#include <stdlib.h>

#include "cartoonizer/cartoonizer.h"
#include "support/example.h"

enum { Y, U, V, CHANNELS };

typedef double pixel[CHANNELS];

typedef struct image {
    int rows, cols;
    pixel *at;
} image;

static const double *beside(const image *m, int i, int j)
{
    i = i < 0 ? 0 : i >= m->rows ? m->rows - 1 : i;
    j = j < 0 ? 0 : j >= m->cols ? m->cols - 1 : j;
    return m->at[i * m->cols + j];
}

static void read_pixel(const unsigned char *rgb, double *p)
{
    const double r = rgb[0] / 255.0, g = rgb[1] / 255.0, b = rgb[2] / 255.0;
    p[Y] = 0.299 * r + 0.587 * g + 0.114 * b;
    p[U] = 0.436 / 0.886 * (b - p[Y]);
    p[V] = 0.615 / 0.701 * (r - p[Y]);
}

static void simplify_pixel(const image *m, int reach, int i, int j, double *to)
{
    const double *own = beside(m, i, j);
    double sums[CHANNELS] = {0, 0, 0}, weights = 0.0;
    for (int y = i - reach; y <= i + reach; y++) {
        for (int x = j - reach; x <= j + reach; x++) {
            const double *p = beside(m, y, x);
            const double d = hypot(p[U] - own[U], p[V] - own[V]) / 0.025;
            const double weight = y == i && x == j ? 0.0 : exp(-0.5 * d * d);
            for (int c = 0; c < CHANNELS; c++) {
                sums[c] += weight * p[c];
            }
            weights += weight;
        }
    }
    for (int c = 0; c < CHANNELS; c++) {
        to[c] = weights > 0 ? sums[c] / weights : own[c];
    }
}

static double sobel(const image *m, int i, int j, int c)
{
    static const int smooth[] = {1, 2, 1};
    double down = 0.0, right = 0.0;
    for (int n = -1; n <= 1; n++) {
        down += smooth[n + 1] *
                (beside(m, i + 1, j + n)[c] - beside(m, i - 1, j + n)[c]);
        right += smooth[n + 1] *
                 (beside(m, i + n, j + 1)[c] - beside(m, i + n, j - 1)[c]);
    }
    return hypot(down, right);
}

static double edge_at(const image *m, int i, int j, double low, double high)
{
    const double e = 0.7 * sobel(m, i, j, Y) +
                     0.3 * (sobel(m, i, j, U) + sobel(m, i, j, V)) / 2;
    const double t = fmin(fmax((e - low) / (high - low), 0), 1);
    return t * t * (3 - 2 * t);
}

static void write_pixel(const double *p, double light, unsigned char *rgb)
{
    const double r = p[Y] + p[V] * 0.701 / 0.615;
    const double b = p[Y] + p[U] * 0.886 / 0.436;
    const double g = (p[Y] - 0.299 * r - 0.114 * b) / 0.587;
    const double all[] = {r, g, b};
    for (int c = 0; c < 3; c++) {
        rgb[c] = (unsigned char)fmin(fmax(255 * light * all[c] + 0.5, 0), 255);
    }
}

void cartoon_reference(style s, const picture *from, picture *to)
{
    const int rows = from->rows, cols = from->cols, count = rows * cols;
    const size_t bytes = (size_t)count * sizeof(pixel);
    image original = {rows, cols, example_memory(bytes)};
    image now = {rows, cols, example_memory(bytes)};
    image next = {rows, cols, example_memory(bytes)};
    for (int n = 0; n < count; n++) {
        read_pixel(from->rgb + 3 * n, original.at[n]);
        read_pixel(from->rgb + 3 * n, now.at[n]);
    }
    for (int phase = 0; phase < s.phases; phase++) {
        for (int n = 0; n < count; n++) {
            simplify_pixel(&now, s.window / 2, n / cols, n % cols, next.at[n]);
        }
        const image old = now;
        now = next;
        next = old;
    }
    for (int n = 0; n < count; n++) {
        const int i = n / cols, j = n % cols;
        const double light = 1 - 0.2 * edge_at(&now, i, j, 0.054, 0.064) -
                             0.8 * edge_at(&original, i, j, 0.3, 0.7);
        write_pixel(now.at[n], light, to->rgb + 3 * n);
    }
    free(original.at);
    free(now.at);
    free(next.at);
}
