/* SPDX-License-Identifier: MIT */
/* A picture of the Mandelbrot set: one kernel, one call. The kernel is in
 * kernels/mandelbrot.c.
 *
 *     mandelbrot [SIZE [PICTURE]]
 *
 * writes SIZE x SIZE pixels to the file PICTURE, if there is one. It ends with
 * 1 when a pixel is not that of plain C. */
#include <stdio.h>
#include <stdlib.h>

#include "mandelbrot/mandelbrot.h"
#include "support/example.h"
#include "support/picture.h"

extern const hr_kernel mandelbrot;

int main(int count, char **words)
{
    const window w = {-2.2f, 1.5f, 3.0f, 200};
    int size = 480;
    if (count > 3 ||
        (count > 1 && !example_number("SIZE", words[1], 1, 16384, &size))) {
        fprintf(stderr, "usage: mandelbrot [SIZE [PICTURE]]\n");
        return 2;
    }
    pixel *pixels = example_zeros((size_t)size * (size_t)size, sizeof *pixels);
    const hr_status status =
        hr_run(NULL, &mandelbrot, hr_extent2(size, size),
               HR_ARGUMENTS(hr_value(w), hr_out(pixels, size, size)), NULL);
    if (status == HR_OK) {
        example_check(mandelbrot_differences(w, pixels, size) == 0,
                      "%d x %d pixels are those of plain C", size, size);
    }
    const picture p = {size, size, (unsigned char *)pixels};
    const bool drawn =
        status != HR_OK || count < 3 || picture_write(words[2], &p);
    free(pixels);
    return example_end(status) || !drawn;
}
