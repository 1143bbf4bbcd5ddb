/* SPDX-License-Identifier: MIT */
/* What the files of this folder share.
 *
 * A file is "\x93NUMPY", two bytes of version, the length of a text (2 bytes in
 * version 1, 4 in versions 2 and 3, little-endian), the text, which is a Python
 * dictionary with the keys 'descr', 'fortran_order' and 'shape', and the
 * elements. Source: numpy.lib.format, versions 1.0 to 3.0. */
#ifndef HRI_NPY_NPY_H
#define HRI_NPY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <headrace/npy.h>

#include "base/status.h"

/* ---- dictionary.c: the text of a header */

/* A part of the header; borrows its bytes. */
typedef struct hri_npy_text {
    const uint8_t *bytes;
    size_t length;
} hri_npy_text;

typedef struct hri_npy_dictionary {
    hri_npy_text descr; /* without its quotes */
    hri_npy_text shape; /* with its brackets, for messages */
    uint64_t dimensions;
    int64_t extents[2]; /* the first two */
    bool fortran_order;
} hri_npy_dictionary;

enum { HRI_NPY_SHOWN_BYTES = 64 };

/* Copy text for a message: at most 60 bytes (then "..."), everything that is
 * not printable ASCII as '?', ended by a 0. Returns shown. */
const char *hri_npy_show(hri_npy_text text, char shown[HRI_NPY_SHOWN_BYTES]);

/* Read the dictionary; python2 allows the L after its integers. Pure: looks at
 * nothing but text.
 *
 * HR_ERROR_IO, with the place, when the text is no such dictionary;
 * HR_ERROR_UNSUPPORTED for structured element types. */
hr_status hri_npy_parse_dictionary(hri_npy_text text, bool python2,
                                   hri_npy_dictionary *out);

/* ---- header.c: headers, as pure functions over bytes */

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

/* ---- path.c: which file a name means, and a temporary one beside */

/* path as messages show it: all of it, or the last 160 bytes. */
const char *hri_npy_name(const char *path);

/* "path: what: the system's words"; HR_ERROR_OUT_OF_MEMORY for ENOMEM, else
 * HR_ERROR_IO. */
hr_status hri_npy_fail(const char *path, const char *what, int error);

/* path from the root on, its folder without symbolic links, so that a change of
 * the working folder does not matter. The folder must be there. The caller
 * frees *absolute. */
hr_status hri_npy_absolute(const char *path, char **absolute);

/* As hri_npy_absolute, but of the file to which a symbolic link points, which
 * need not be there yet. */
hr_status hri_npy_follow(const char *path, char **target);

/* A new file beside path, which is absolute, open for reading and writing, with
 * the given mode less the process's mask. The caller closes *fd and frees
 * *name. */
hr_status hri_npy_make_temporary(const char *path, mode_t mode, int *fd,
                                 char **name);

/* Bring a change of names in path's folder to the disk, where the file system
 * can. */
void hri_npy_sync_folder(const char *path);

#endif
