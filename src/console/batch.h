/* SPDX-License-Identifier: MIT */
/* Which matrices of two arrays are multiplied, by the rules of numpy.matmul. A
 * vector is a row on the left and a column on the right. Dimensions before the
 * last two count matrices, and are broadcast. */
#ifndef CONSOLE_BATCH_H
#define CONSOLE_BATCH_H

#include <headrace/headrace.h>

#include "output.h"

/* How a factor is used. */
typedef struct cli_use {
    bool transpose, conjugate; /* a vector has no transpose */
} cli_use;

typedef struct cli_batch {
    bool single;         /* one product. All matrices of A times one of B are
                            one, too: that of all their rows */
    int64_t count;       /* of products; 0 when the result has no elements */
    hr_matrices a, b;    /* as they are multiplied */
    hr_matrix c;         /* one result, without data */
    hr_file_array shape; /* all results, as numpy.matmul gives them */
    hr_file_array factors[2]; /* shapes of A and B as they are multiplied */
    void **lists[2];          /* cli_batch_free frees them */
} cli_batch;

/* Match A and B. type is that of the result. Returns an exit status. */
int cli_batch_init(cli_batch *batch, const cli_array *a, cli_use use_a,
                   const cli_array *b, cli_use use_b, hr_type type);

/* Result `index`, in an array of all of them. Unless A and B are matrices it is
 * in row order. */
hr_matrix cli_batch_result(const cli_batch *batch, const hr_file_array *array,
                           int64_t index);

/* The matrix of a factor that product `index` multiplies. */
hr_matrix cli_batch_factor(const hr_matrices *all, int64_t index);

void cli_batch_free(cli_batch *batch);

#endif
