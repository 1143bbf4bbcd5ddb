/* SPDX-License-Identifier: MIT */
/* "-" in the place of a file: standard input or standard output. Matrices are
 * mapped, which pipes cannot be. So standard input is copied into a file
 * without a name, and a result for standard output is made as a file first.
 * Both lie in TMPDIR, else in /var/tmp. */
#ifndef CONSOLE_STANDARD_H
#define CONSOLE_STANDARD_H

#include <limits.h>
#include <stdbool.h>

#include <headrace/headrace.h>

#include "args.h"

/* Whether path means standard input or output. */
bool cli_is_standard(const char *path);

/* Map a file, or standard input, for reading. It can be read once. Returns an
 * exit status. */
int cli_open(const char *path, hr_npy **file, hr_matrix *matrix);

/* Keep standard output for a result. From now on what is printed goes to
 * standard error. Returns an exit status. */
int cli_standard_reserve(const cli_command *command);

/* The name of a new file whose bytes will go to standard output. */
void cli_standard_name(char path[PATH_MAX]);

/* Write the bytes of a file to the standard output kept. Returns an exit
 * status. */
int cli_standard_send(const char *path);

#endif
