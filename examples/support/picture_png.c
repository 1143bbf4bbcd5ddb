/* SPDX-License-Identifier: MIT */
#include <png.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

const char picture_suffix[] = ".png";

static bool finish(png_image *image, const char *path, bool ok)
{
    if (!ok) {
        fprintf(stderr, "%s: %s\n", path, image->message);
    }
    png_image_free(image);
    return ok;
}

bool picture_write(const char *path, const picture *p)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)p->cols,
                       .height = (png_uint_32)p->rows,
                       .format = PNG_FORMAT_RGB};
    return finish(&image, path,
                  png_image_write_to_file(&image, path, 0, p->rgb, 0, NULL));
}

bool picture_read(const char *path, picture *p)
{
    const png_color black = {0, 0, 0}; /* behind what is transparent */
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path)) {
        return finish(&image, path, false);
    }
    image.format = PNG_FORMAT_RGB;
    /* the call below counts bytes in 32 bits */
    unsigned char *rgb = image.width <= INT32_MAX / 3 / image.height
                             ? malloc(PNG_IMAGE_SIZE(image))
                             : NULL;
    if (rgb == NULL) {
        strcpy(image.message, "the picture is too large");
        return finish(&image, path, false);
    }
    if (!png_image_finish_read(&image, &black, rgb, 0, NULL)) {
        free(rgb);
        return finish(&image, path, false);
    }
    *p = (picture){(int)image.height, (int)image.width, rgb};
    return finish(&image, path, true);
}
