/* SPDX-License-Identifier: MIT */
/* The Mandelbrot set, for examples/mandelbrot.c. */
#include <headrace/dialect.h>

typedef struct pixel {
    unsigned char red, green, blue;
} pixel;

typedef struct window {
    float left, top, width; /* of the picture, in the complex plane */
    int steps;
} window;

/* How many steps z stays near 0. The loop has the same length for all pixels,
 * so that the host takes several at once. */
HR_KERNEL2(mandelbrot, (VALUE, window, 0, w), (OUT, pixel, 2, out))
{
    HR_EACH2(row, col)
    {
        const float step = w.width / (float)HR_EXTENT(out, 1);
        const float re = w.left + step * (float)col;
        const float im = w.top - step * (float)row;
        float x = 0.0f, y = 0.0f;
        int inside = 0;
        for (int k = 0; k < w.steps; k++) {
            const float next = x * x - y * y + re;
            y = 2.0f * x * y + im;
            x = next;
            inside += x * x + y * y <= 4.0f;
        }
        const int light = inside < w.steps ? inside : 0;
        HR_AT2(out, row, col).red = (unsigned char)(light * 3);
        HR_AT2(out, row, col).green = (unsigned char)(light * 5);
        HR_AT2(out, row, col).blue = (unsigned char)(light * 11);
    }
}
