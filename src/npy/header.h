/* SPDX-License-Identifier: MIT */
/* Headers of .npy files, as pure functions over bytes.
 *
 * A file is "\x93NUMPY", two bytes of version, the length of a text (2 bytes in
 * version 1, 4 in versions 2 and 3, little-endian), the text (dictionary.h) and
 * the elements. Source: numpy.lib.format, versions 1.0 to 3.0. */
#ifndef HRI_NPY_HEADER_H
#define HRI_NPY_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include <headrace/npy.h>

#include "base/status.h"

/* What is written before the elements; a multiple of 64, as NumPy asks. */
enum { HRI_NPY_HEADER_BYTES = 128 };

typedef struct hri_npy_header {
    hr_type type;
    hr_order order;
    int64_t rows, cols;
    uint64_t data_offset; /* bytes before the elements, aligned for type */
    uint64_t data_bytes;
} hri_npy_header;

/* Read the header of a file of which all `size` bytes are given; only the
 * header's are looked at. The elements are known to lie inside the file, and
 * data_offset + data_bytes is below 2^63. Errors as those of hr_npy_open,
 * without the file's name. */
hr_status hri_npy_parse(const uint8_t *bytes, size_t size, hri_npy_header *out);

/* Describe a file to be written: version 1.0, two dimensions.
 * HR_ERROR_INVALID for a wrong type, order or extent, or one too large. */
hr_status hri_npy_plan(hr_type type, int64_t rows, int64_t cols, hr_order order,
                       hri_npy_header *out);

/* The bytes of a header made by hri_npy_plan. */
void hri_npy_format(const hri_npy_header *header,
                    uint8_t bytes[HRI_NPY_HEADER_BYTES]);

#endif
