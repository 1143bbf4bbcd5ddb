/* SPDX-License-Identifier: MIT */
/* Multiplying files into a file. */
#ifndef CONSOLE_PRODUCT_H
#define CONSOLE_PRODUCT_H

#include <headrace/headrace.h>

#include "json.h"
#include "values.h"

/* The arguments. */
typedef struct cli_product {
    const char *a, *b, *add, *output; /* files; add may be NULL */
    cli_shapes shapes;                /* of A and B without headers */
    hr_type input_type;               /* of these; 0: type */
    bool transpose_a, transpose_b, conjugate_a, conjugate_b;
    hr_scalar alpha, beta;
    hr_type type; /* of the output; 0: that of A, but i32 for i8 */
    hr_compute compute;
    const struct hr_mpi_cluster *cluster; /* of machines that are not there, to
                                             plan for; NULL: none */
    bool dry_run, verify, quiet;
    bool explain; /* say why accelerators were left out */
} cli_product;

/* An accelerator that got no part of the product. */
typedef struct cli_left_out {
    uint32_t accelerator;
    char reason[256];
} cli_left_out;

/* The results. */
typedef struct cli_outcome {
    int64_t m, n, k;     /* of each product */
    hr_file_array shape; /* of C */
    hr_file_array factors[2];
    hr_type type, c_type;
    hr_gemm_report report;   /* with dry_run, the plan; cli_outcome_free frees
                                its shares, */
    cli_left_out *left_out;  /* and these */
    uint32_t left_out_count; /* 0 unless explained */
    hr_verify_report check;  /* trials is 0 without verification */
    double seconds;          /* of everything, from opening to committing */
} cli_outcome;

/* Multiply. On failure a message has been printed, and *context is destroyed
 * and NULL: accelerators may still copy from and to the files, which are closed
 * then. Returns an exit status. If there is a result, signals do nothing from
 * then on. */
int cli_multiply(hr_context **context, const cli_product *product,
                 cli_outcome *outcome);

void cli_outcome_free(cli_outcome *outcome);

/* ---- report.c: what the product did, or would do */

/* Print what is multiplied. */
void cli_report_head(const cli_product *product, const cli_outcome *outcome);

/* Print a table. Returns an exit status. */
int cli_report_table(const hr_context *context, const cli_product *product,
                     const cli_outcome *outcome);

/* Print one JSON object on one line. Returns an exit status. */
int cli_report_json(const hr_context *context, const cli_product *product,
                    const cli_outcome *outcome);

/* Write the members "bytes" and "accelerators" of such an object. */
void cli_report_members(cli_json *json, const hr_context *context,
                        const hr_gemm_report *report);

#endif
