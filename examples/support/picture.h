/* SPDX-License-Identifier: MIT */
/* Pictures in files: PNG, by libpng, or PPM where the build found none. */
#ifndef EXAMPLES_SUPPORT_PICTURE_H
#define EXAMPLES_SUPPORT_PICTURE_H

#include <stdbool.h>

/* Rows of pixels, each red, green and blue, 8 bits. */
typedef struct picture {
    int rows, cols;
    unsigned char *rgb; /* to be given to free() */
} picture;

extern const char picture_suffix[]; /* of names of files: ".png" or ".ppm" */

/* Write a file, or tell why not; an earlier one then stays: see output.h. */
bool picture_write(const char *path, const picture *p);

/* Read a PNG file of any kind, or tell why not. Only where there is libpng. */
bool picture_read(const char *path, picture *p);

#endif
