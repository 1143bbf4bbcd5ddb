/* SPDX-License-Identifier: MIT */
/* cuBLASXt in a process of its own: the program headrace-cublasxt of
 * bench/peers, which HEADRACE_CUBLASXT names or which lies beside this one. */
#ifndef CLI_CUBLASXT_H
#define CLI_CUBLASXT_H

#include <stdint.h>

#include "child.h"

typedef struct cli_xt {
    cli_child child;
    char name[64]; /* "cuBLASXt 13.0" */
} cli_xt;

typedef struct cli_xt_request {
    const char *type; /* its name */
    int64_t m, n, k, repeat;
    bool pinned;
    const char *gpus; /* "0,1" */
} cli_xt_request;

/* Of its best block dimension; seconds. */
typedef struct cli_xt_result {
    int block;
    double first, best, median;
} cli_xt_result;

/* False when the program, cuBLAS or the driver is not there. */
bool cli_xt_start(cli_xt *xt);

/* False with a sentence in error when it has not worked. It frees all memory of
 * the GPUs before it answers. */
bool cli_xt_run(cli_xt *xt, const cli_xt_request *request,
                cli_xt_result *result, char *error, size_t size);

/* Accepts one that was never started. */
void cli_xt_stop(cli_xt *xt);

#endif
