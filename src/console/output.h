/* SPDX-License-Identifier: MIT */
/* Files that are read, and one that is written. If the work fails, the
 * written file is removed. "-" is standard input or output (standard.h). */
#ifndef CONSOLE_OUTPUT_H
#define CONSOLE_OUTPUT_H

#include <headrace/headrace.h>

#include "args.h"
#include "loop.h"

typedef struct cli_array {
    const char *path;
    hr_file *file; /* NULL: not mapped */
    hr_file_array array;
    void *copy; /* of an input whose elements were put in row order */
} cli_array;

enum { CLI_MAX_INPUTS = 3 };

/* The files of a subcommand; zeroed at first. */
typedef struct cli_files {
    cli_array in[CLI_MAX_INPUTS], out;
} cli_files;

/* Map a file, and guard it by a signal handler. path may be NULL: nothing is
 * mapped. raw: what a file without a header holds, or NULL. An array of more
 * than two dimensions in Fortran order is copied in row order. Returns an exit
 * status. */
int cli_input_open(cli_array *input, const char *path,
                   const hr_file_array *raw);

/* Copy an array in row order, if it is not so. Returns an exit status. */
int cli_input_in_rows(cli_array *input);

/* An array as one matrix: one dimension as a column, more than two as the rows
 * of all its matrices. Those are in row order. */
hr_matrix cli_matrix(const hr_file_array *array);

/* Check what `option`, such as -o, names. It must be absent or a regular file,
 * which will be replaced: a device would be replaced by a file. It must not be
 * standard output or one of the inputs, not even through links. Some inputs may
 * be NULL. For "-", what is printed goes to standard error from now on. Returns
 * an exit status. */
int cli_output_check(const cli_command *command, const char *option,
                     const char *path, const char *const *inputs,
                     int input_count);

/* Check that the timeline, of --trace (NULL: none) or else HEADRACE_TRACE, is
 * none of the files of a command. Some may be NULL. Returns an exit status. */
int cli_timeline_check(const cli_command *command, const char *trace,
                       const char *const *files, int file_count);

/* Create a file of that type and shape under a temporary name. A signal or a
 * full disk will remove it. Returns an exit status. */
int cli_output_create(cli_array *output, const char *path, hr_file_array like);

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
