/* SPDX-License-Identifier: MIT */
#include "mandelbrot/mandelbrot.h"

int mandelbrot_differences(window w, const pixel *pixels, int size)
{
    const float step = w.width / (float)size;
    int wrong = 0;
    for (int i = 0; i < size * size; i++) {
        const int row = i / size;
        const float re = w.left + step * (float)(i % size);
        const float im = w.top - step * (float)row;
        float x = 0.0f, y = 0.0f;
        int n = 0;
        while (n < w.steps) {
            const float next = x * x - y * y + re;
            y = 2.0f * x * y + im;
            x = next;
            if (x * x + y * y > 4.0f) {
                break;
            }
            n++;
        }
        n = n < w.steps ? n : 0;
        wrong += pixels[i].red != n * 3 % 256 ||
                 pixels[i].green != n * 5 % 256 ||
                 pixels[i].blue != n * 11 % 256;
    }
    return wrong;
}
