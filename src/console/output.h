/* SPDX-License-Identifier: MIT */
/* .npy files that are read, and one that is written. If the work fails, the
 * written file is removed. "-" is standard input or output (standard.h). */
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

/* The files of a subcommand; zeroed at first. */
typedef struct cli_files {
    cli_npy in[CLI_MAX_INPUTS], out;
} cli_files;

/* Map a file, and guard it by a signal handler. path may be NULL: nothing is
 * mapped. Returns an exit status. */
int cli_input_open(cli_npy *input, const char *path);

/* Check what -o names. It must be absent or a regular file, which will be
 * replaced: a device would be replaced by a file. It must not be standard
 * output or one of the inputs, not even through links. Some inputs may be NULL.
 * For "-", what is printed goes to standard error from now on. Returns an exit
 * status. */
int cli_output_check(const cli_command *command, const char *path,
                     const char *const *inputs, int input_count);

/* Create a file of that type and shape under a temporary name. A signal or a
 * full disk will remove it. Returns an exit status. */
int cli_output_create(cli_npy *output, const char *path, hr_matrix like,
                      hr_order order);

/* Give the output its name, or write it to standard output, unless the inputs
 * have been changed meanwhile: then the result would not belong to the files of
 * these names. After that it is too late to stop. Returns an exit status. */
int cli_files_commit(cli_files *files);

/* Unmap all files. Removes the output unless it was committed. */
void cli_files_close(cli_files *files);

/* Write a whole file of random numbers, of that type and shape. progress may be
 * NULL, and ends with the numbers. Returns an exit status. */
int cli_output_random(const char *path, hr_matrix like, hr_order order,
                      uint64_t seed, cli_progress *progress);

/* to := from, of the same shape and type. to is row-major, from has any layout.
 * progress may be NULL. Returns an exit status. */
int cli_copy(hr_matrix from, hr_matrix to, cli_progress *progress);

#endif
