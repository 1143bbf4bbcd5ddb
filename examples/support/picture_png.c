/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "picture.h"

enum { PNG_FIRST = 0x89 }; /* the first byte of a PNG file */

const char picture_suffix[] = ".png";

bool picture_write(const char *path, const picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)p->cols,
                       .height = (png_uint_32)p->rows,
                       .format = PNG_FORMAT_RGB};
    output o;
    if (!output_open(path, &o)) {
        return false;
    }
    const bool made =
        png_image_write_to_stdio(&image, o.stream, 0, p->rgb, 0, NULL);
    if (!made && !ferror(o.stream)) {
        fprintf(stderr, "%s: %s\n", path, image.message);
    }
    return output_close(&o, made);
}

/* Returns NULL, or why not. libpng's message is in the image. */
static const char *read_image(FILE *file, png_image *image, picture *p)
{
    const png_color black = {0, 0, 0}; /* behind what is transparent */
    if (!png_image_begin_read_from_stdio(image, file)) {
        return image->message;
    }
    image->format = PNG_FORMAT_RGB;
    /* the call below counts bytes in 32 bits */
    unsigned char *rgb = image->width <= INT32_MAX / 3 / image->height
                             ? malloc(PNG_IMAGE_SIZE(*image))
                             : NULL;
    if (rgb == NULL) {
        return "the picture is too large";
    }
    if (!png_image_finish_read(image, &black, rgb, 0, NULL)) {
        free(rgb);
        return image->message;
    }
    *p = (picture){(int)image->height, (int)image->width, rgb};
    return NULL;
}

/* Returns NULL, or why not. For a file that is too short, or a folder, libpng
 * only says "Read Error". */
static const char *read_file(FILE *file, png_image *image, picture *p)
{
    const int first = getc(file); /* in a pipe only ungetc can go back */
    const char *why = NULL;
    if (first == PNG_FIRST) {
        ungetc(first, file);
        why = read_image(file, image, p);
    } else if (!ferror(file)) {
        return first == EOF ? "not a PNG picture: it is empty"
                            : "not a PNG picture";
    }
    if (ferror(file)) {
        return strerror(errno);
    }
    return why != NULL && feof(file) ? "it ends before the picture does" : why;
}

bool picture_read(const char *path, picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    FILE *file = fopen(path, "rb");
    const char *why =
        file != NULL ? read_file(file, &image, p) : strerror(errno);
    if (why != NULL) {
        fprintf(stderr, "%s: %s\n", path, why);
    }
    png_image_free(&image);
    if (file != NULL) {
        fclose(file);
    }
    return why == NULL;
}
