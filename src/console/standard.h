/* SPDX-License-Identifier: MIT */
/* "-" in the place of a file: standard input or standard output. "-.raw" and
 * "-.bin" are standard output without a header. Arrays are mapped, which pipes
 * cannot be. So standard input is copied into a file without a name, and a
 * result for standard output is made as a file first. Both lie in TMPDIR, else
 * in /var/tmp. */
#ifndef CONSOLE_STANDARD_H
#define CONSOLE_STANDARD_H

#include <limits.h>
#include <stdbool.h>

#include <headrace/headrace.h>

#include "args.h"

/* Whether path means standard input or output. */
bool cli_is_standard(const char *path);
/* Whether it means standard input, or "-:NAME", an array of the file there. */
bool cli_reads_standard(const char *path);

/* Map an array of a file, or of standard input, for reading. It can be read
 * once. raw: what a file without a header holds, or NULL. Returns an exit
 * status. */
int cli_open(const char *path, const hr_file_array *raw, hr_file **file,
             hr_file_array *array);

/* Keep standard output for a result. From now on what is printed goes to
 * standard error. Returns an exit status. */
int cli_standard_reserve(const cli_command *command);

/* The name of a new file whose bytes will go to standard output, which `output`
 * means. */
void cli_standard_name(const char *output, char path[PATH_MAX]);

/* Write the bytes of a file to the standard output kept. Returns an exit
 * status. */
int cli_standard_send(const char *path);

#endif
