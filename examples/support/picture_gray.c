/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "example.h"
#include "picture.h"

bool picture_gray(const char *path, const float *x, int rows, int cols)
{
    const size_t count = (size_t)rows * (size_t)cols;
    picture p = {rows, cols, example_memory(3 * count)};
    float low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    const float scale = high > low ? 255.0f / (high - low) : 0.0f;
    for (size_t i = 0; i < 3 * count; i++) {
        const float light = scale * (x[i / 3] - low);
        p.rgb[i] = (unsigned char)(light > 0.0f ? light : 0.0f); /* NaN: 0 */
    }
    const bool good = picture_write(path, &p);
    free(p.rgb);
    return good;
}
