/* SPDX-License-Identifier: MIT */
/* .npy files that are read; and one that is being made, and is gone without a
 * trace if it fails. */
#ifndef CONSOLE_OUTPUT_H
#define CONSOLE_OUTPUT_H

#include <headrace/headrace.h>

#include "args.h"
#include "loop.h"

typedef struct cli_npy {
    const char *path;
    hr_npy *file; /* NULL: not mapped */
    hr_matrix matrix;
} cli_npy;

enum { CLI_MAX_INPUTS = 3 };

/* What is read and made together; zeroed at first. */
typedef struct cli_files {
    cli_npy in[CLI_MAX_INPUTS], out;
} cli_files;

/* Map it, and have a signal's handler know of it. Returns an exit status. path
 * may be NULL: there is nothing to map. */
int cli_input_open(cli_npy *input, const char *path);

/* What -o names is absent, or a regular file, which will be replaced (and not a
 * device, which the new file would take the place of); and none of the inputs,
 * through links either. Some of these may be NULL. Returns an exit status. */
int cli_output_check(const cli_command *command, const char *path,
                     const char *const *inputs, int input_count);

/* Make a file of that type and shape under its temporary name, and see to it
 * that a signal or a full disk removes it. Returns an exit status. */
int cli_output_create(cli_npy *output, const char *path, hr_matrix like,
                      hr_order order);

/* Give the output its name, if nobody has changed the inputs in the meantime:
 * it stands for the files as they are named. Returns an exit status. */
int cli_files_commit(cli_files *files);

/* Unmap those that are mapped; removes the output unless committed. */
void cli_files_close(cli_files *files);

/* A whole file of random numbers, of that type and shape. progress, which may
 * be NULL, ends with them. Returns an exit status. */
int cli_output_random(const char *path, hr_matrix like, hr_order order,
                      uint64_t seed, cli_progress *progress);

/* to := from, of the same shape and type; to is row-major, from has any layout.
 * progress may be NULL. Returns an exit status. */
int cli_copy(hr_matrix from, hr_matrix to, cli_progress *progress);

#endif
