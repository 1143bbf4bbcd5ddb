/* SPDX-License-Identifier: MIT */
/* A product of files under way: what one process and several do alike. */
#ifndef CONSOLE_WORK_H
#define CONSOLE_WORK_H

#include "batch.h"
#include "loop.h"
#include "output.h"
#include "product.h"

enum { A, B, C0 }; /* the indices of inputs */

typedef struct cli_work {
    hr_context *context;
    const cli_product *product;
    cli_files files;
    cli_batch batch;
    hr_file_array c; /* all results */
    hr_gemm_options options;
    cli_progress progress;
    double planning; /* seconds */
} cli_work;

/* Open A and B, and find which matrices are multiplied. Returns an exit status.
 */
int cli_work_open(cli_work *work, cli_outcome *outcome);

/* Open C0. Without a header it has C's shape and type. Returns an exit status.
 */
int cli_work_open_c0(cli_work *work);

#endif
