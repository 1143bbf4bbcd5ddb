/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "picture.h"

const char picture_suffix[] = ".ppm";

bool picture_write(const char *path, const picture *p)
{
    const size_t pixels = (size_t)p->rows * (size_t)p->cols;
    FILE *file = fopen(path, "wb");
    bool ok = file != NULL &&
              fprintf(file, "P6\n%d %d\n255\n", p->cols, p->rows) > 0 &&
              fwrite(p->rgb, 3, pixels, file) == pixels;
    if (file != NULL) {
        ok = fclose(file) == 0 && ok;
    }
    if (!ok) {
        perror(path);
    }
    return ok;
}
