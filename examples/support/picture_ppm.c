/* SPDX-License-Identifier: MIT */
#include "output.h"
#include "picture.h"

const char picture_suffix[] = ".ppm";

bool picture_write(const char *path, const picture *p)
{
    const size_t pixels = (size_t)p->rows * (size_t)p->cols;
    output o;
    return output_open(path, &o) &&
           output_close(&o, fprintf(o.stream, "P6\n%d %d\n255\n", p->cols,
                                    p->rows) > 0 &&
                                fwrite(p->rgb, 3, pixels, o.stream) == pixels);
}
