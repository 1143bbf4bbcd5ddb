/* SPDX-License-Identifier: MIT */
#ifndef EXAMPLES_MANDELBROT_H
#define EXAMPLES_MANDELBROT_H

typedef struct pixel {
    unsigned char red, green, blue;
} pixel;

typedef struct window {
    float left, top, width;
    int steps;
} window;

/* checks.c: how many pixels differ from those that plain C computes. */
int mandelbrot_differences(window w, const pixel *pixels, int size);

#endif
