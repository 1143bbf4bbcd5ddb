/* SPDX-License-Identifier: MIT */
/* Reductions: the kernels, and joining what they give for each unit. */
#ifndef HRI_CALLS_REDUCTION_H
#define HRI_CALLS_REDUCTION_H

#include <headrace/kernel.h>
#include <headrace/reduce.h>

#include "runtime/runtime.h"

/* Items of a tile: LINE_LANES and CELL_LANES in kernels/dialect/reduce.inc. */
enum { HRI_REDUCE_ITEMS = 64, HRI_REDUCE_CELL_ITEMS = 256 };

/* Rows, lines and columns of a unit. kernels/dialect/reduce_with.c has the same
 * struct. */
typedef struct hri_unit {
    int64_t rows, lines, cols;
} hri_unit;

/* A reduction's views, and their units. */
typedef struct hri_layout {
    uint32_t count;   /* of views, of one extent: 1 or 2 */
    hr_view views[2]; /* as kernels take them: of rank 1 (cells) or 3 */
    hri_unit unit;
    int64_t rows, row_units; /* results: for so many units of rows, this many */
} hri_layout;

/* How many elements a unit of a reduction has, about, of so many in
 * all. items: of its tile. */
int64_t hri_unit_elements(int64_t all, int64_t items);

/* Choose units, and bring the views to rank 1 or 3. Units have about
 * of_cells elements in rank 1, and of_lines in rank 3. Messages name the call.
 * Units follow from the extent, and for short rows from whether there are gaps
 * between them. Their elements follow each other by rows: a unit has several
 * rows only if it has whole rows, and several lines only if it has whole
 * lines. */
hr_status hri_layout_choose(hri_layout *layout, const char *call,
                            int64_t of_cells, int64_t of_lines);

/* A value of kernels/dialect/reduce.inc, which has the same struct. */
typedef struct hri_units {
    int64_t kind; /* enum hr_reduction */
    hri_unit unit;
    double scale; /* of what is squared for HR_REDUCE_NORM */
} hri_units;

/* The kernel of a reduction, for elements of a type in views of rank 1 (cells)
 * or 3. Its arguments are view a, view b if the reduction takes two, a view of
 * rank 2 for the results, and hri_units. A reduction that finds an element has
 * another view behind the results, for the element's numbers in the units.
 * exact: integers, with results of 64 bits that may wrap around. NULL: there is
 * none. */
const hr_kernel *hri_reduction_kernel(hr_reduction reduction, hr_type type,
                                      bool exact, bool cells);

/* Whether a reduction reads two views. */
bool hri_reduction_takes_two(hr_reduction reduction);
/* Whether it tells where an element is. */
bool hri_reduction_finds(hr_reduction reduction);

/* Join the results of all units in halves, so that errors grow with the
 * logarithm of the count. */
double hri_reduction_join(hr_reduction reduction, const double *x,
                          int64_t count);
uint64_t hri_reduction_join_exact(hr_reduction reduction, const uint64_t *x,
                                  int64_t count);

#endif
