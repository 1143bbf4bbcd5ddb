/* SPDX-License-Identifier: MIT */
/* The text of a .npy header: a Python dictionary with the keys 'descr',
 * 'fortran_order' and 'shape'. */
#ifndef HRI_NPY_DICTIONARY_H
#define HRI_NPY_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

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

#endif
