/* SPDX-License-Identifier: MIT */
/* Sorts: what src/calls/sort*.c share. */
#ifndef HRI_CALLS_SORT_H
#define HRI_CALLS_SORT_H

#include <headrace/kernel.h>
#include <headrace/sort.h>

#include "split/split.h"

enum {
    HRI_SORT_ITEMS = 256, /* LANES in kernels/dialect/sort.inc */
    HRI_SORT_DIGITS = 256,
    HRI_SORT_UNIT = 4096 /* elements in which the only row is divided among
                            accelerators */
};

/* kernels/dialect/sort_keys.inc has the same struct. */
typedef struct hri_sort_form {
    uint64_t positive, below, above, last, flip;
} hri_sort_form;

/* The kernels for keys of a size, and for values that they carry. */
typedef struct hri_sort_kernels {
    const hr_kernel *differ, *count, *ranks; /* of keys alone */
    const hr_kernel *scatter, *merge;
    const hr_kernel *brief, *brief_in_place; /* for short rows; brief: of keys
                                                alone */
    const hr_kernel *tally;                  /* of sweeps, of keys alone */
    const hr_kernel *sweep, *sweep_in_place; /* sweep: of keys alone */
    const hr_kernel *settle;
} hri_sort_kernels;

/* Keys, and values that go with them, as views of rows x columns. */
typedef struct hri_sort_data {
    hr_view keys, values; /* values.array is NULL: there are none */
} hri_sort_data;

enum { HRI_SORT_RESULT, HRI_SORT_TEMPORARY, HRI_SORT_SIDES };

/* What an accelerator sorts: rows, or a part of the only one. */
typedef struct hri_sort_band {
    hr_queue *queue; /* of its own: once it has failed, it skips the rest */
    int64_t first;   /* element of the row, or row */
    hri_sort_data from;
    hri_sort_data sides[HRI_SORT_SIDES];
    hr_array *temporary[2]; /* keys, values */
    bool sweeps;
    hr_array *differing;        /* rows x units: bits in which keys differ */
    hr_array *counts;           /* rows x digits x units; of sweeps: rows x
                                   units x (passes x digits) */
    hr_array *before;           /* rows x digits x units: elements before those
                                   counted */
    hr_array *places, *words;   /* of sweeps: rows x passes x (digits + 2), rows
                                   x blocks x digits */
    hr_array *prefixes, *ranks; /* of a merge: cuts x 1, cuts x digits */
    int64_t rows, cols, units, unit; /* units of a row, and their elements */
} hri_sort_band;

/* A sort under way. */
typedef struct hri_sorting {
    hr_context *context;
    const hr_split_options *options;
    hri_sort_kernels kernels;
    hri_sort_form form;
    size_t key_bytes;
    bool in_place;
    hri_sort_data from, to; /* the same in place */
    hri_sort_band *bands;   /* that have elements, in order */
    uint32_t count;
} hri_sorting;

/* sort_run.c: sort in the bands of a split that was planned. sorting is an
 * hri_sorting. */
hr_status hri_sort_run(void *sorting, const hri_splitting *split);

/* Bytes that a band of such a split takes beside elements. */
uint64_t hri_sort_extra_bytes(const hri_splitting *split, uint32_t i,
                              const hr_band *band);

/* sort_merge.c: launch a kernel on a band's queue, in tiles of 1 x
 * HRI_SORT_ITEMS. */
hr_status hri_sort_launch(const hri_sort_band *band, const hr_kernel *kernel,
                          hr_extent domain, const hr_argument *arguments,
                          size_t count);
/* Wait for all that the bands' queues have. */
hr_status hri_sort_finish(const hri_sorting *s);
/* A box of the keys, and of the values if there are any. */
hr_status hri_sort_section(const hri_sort_data *data, const int64_t *origin,
                           hr_extent extent, hri_sort_data *out);

/* Merge the first `rights` elements of a run with another one;
 * rights is 0: copy `left`. */
hr_status hri_sort_merge(const hri_sorting *s, const hri_sort_band *band,
                         const hri_sort_data *left, const hri_sort_data *right,
                         int64_t rights, const hri_sort_data *to);
/* Make one sorted row of those that the bands have sorted. */
hr_status hri_sort_join(hri_sorting *s);
/* Bytes that this takes of each accelerator, with so many bands at most. */
uint64_t hri_sort_join_bytes(uint32_t bands);

#endif
