/* SPDX-License-Identifier: MIT */
/* What the files of this folder share.
 *
 * A file begins with "\x93NUMPY" and two bytes of version. Then comes the
 * length of a text: 2 bytes in version 1, 4 in versions 2 and 3, little-endian.
 * The text follows, a Python dictionary with the keys 'descr', 'fortran_order'
 * and 'shape'. The elements come last. Source: numpy.lib.format, versions 1.0
 * to 3.0. */
#ifndef HRI_NPY_NPY_H
#define HRI_NPY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <headrace/npy.h>

#include "base/status.h"

/* ---- dictionary.c: the text of a header */

/* A part of the header. It borrows the header's bytes. */
typedef struct hri_npy_text {
    const uint8_t *bytes;
    size_t length;
} hri_npy_text;

typedef struct hri_npy_dictionary {
    hri_npy_text descr; /* without its quotes */
    hri_npy_text shape; /* with its brackets, for messages */
    uint64_t dimensions;
    int64_t extents[2]; /* the first two extents */
    bool fortran_order;
} hri_npy_dictionary;

enum { HRI_NPY_SHOWN_BYTES = 64 };

/* Copy text for a message: at most 60 bytes (then "..."), with '?' for
 * everything that is not printable ASCII, ended by a 0. Returns shown. */
const char *hri_npy_show(hri_npy_text text, char shown[HRI_NPY_SHOWN_BYTES]);

/* Read the dictionary. python2 allows an L after integers. This is a pure
 * function of text.
 *
 * HR_ERROR_IO, with the place, when the text is not such a dictionary.
 * HR_ERROR_UNSUPPORTED for structured element types. */
hr_status hri_npy_parse_dictionary(hri_npy_text text, bool python2,
                                   hri_npy_dictionary *out);

/* ---- header.c: headers, as pure functions over bytes */

/* The bytes that we write before the elements: a multiple of 64, as NumPy
 * asks. */
enum { HRI_NPY_HEADER_BYTES = 128 };

typedef struct hri_npy_header {
    hr_type type;
    hr_order order;
    int64_t rows, cols;
    uint64_t data_offset; /* bytes before the elements, aligned for type */
    uint64_t data_bytes;
} hri_npy_header;

/* Read the header of a file. bytes has all `size` bytes of the file, and only
 * the header's are read. On success the elements lie inside the file, and
 * data_offset + data_bytes is below 2^63. Errors are those of hr_npy_open,
 * without the file's name. */
hr_status hri_npy_parse(const uint8_t *bytes, size_t size, hri_npy_header *out);

/* Describe a file to write: version 1.0, two dimensions. HR_ERROR_INVALID for a
 * wrong type, order or extent, or one that is too large. */
hr_status hri_npy_plan(hr_type type, int64_t rows, int64_t cols, hr_order order,
                       hri_npy_header *out);

/* Write the bytes of a header made by hri_npy_plan. */
void hri_npy_format(const hri_npy_header *header,
                    uint8_t bytes[HRI_NPY_HEADER_BYTES]);

/* ---- path.c: the file that a name means */

/* path as messages show it: the whole path, or its last 160 bytes. */
const char *hri_npy_name(const char *path);

/* Set the error message "path: what: the system's words".
 * HR_ERROR_OUT_OF_MEMORY for ENOMEM, else HR_ERROR_IO. */
hr_status hri_npy_fail(const char *path, const char *what, int error);

/* path from the root on. Its folder must exist, and has no symbolic links in
 * it. So later changes of the working folder do not matter. The caller frees
 * *absolute. */
hr_status hri_npy_absolute(const char *path, char **absolute);

/* Like hri_npy_absolute, but of the file that a symbolic link points to, which
 * need not exist. HR_ERROR_IO for /dev/stdout and its like: a program has that
 * file open. */
hr_status hri_npy_follow(const char *path, char **target);

/* Write changes of names in path's folder to the disk, where the file system
 * can. */
void hri_npy_sync_folder(const char *path);

#endif
