/* SPDX-License-Identifier: MIT */
/* Pictures in files: PNG with libpng, or PPM where the build found none. */
#ifndef EXAMPLES_SUPPORT_PICTURE_H
#define EXAMPLES_SUPPORT_PICTURE_H

#include <stdbool.h>

/* Rows of pixels, each red, green and blue, 8 bits. */
typedef struct picture {
    int rows, cols;
    unsigned char *rgb; /* for free() */
} picture;

extern const char picture_suffix[]; /* of names of files: ".png" or ".ppm" */

/* Write a file, or print why not. Then an earlier file stays: see output.h. */
bool picture_write(const char *path, const picture *p);

/* Write a file of rows x cols values, from black for the least to white. */
bool picture_gray(const char *path, const float *x, int rows, int cols);

/* Read a PNG file of any kind, or print why not. Only where there is libpng. */
bool picture_read(const char *path, picture *p);

#endif
