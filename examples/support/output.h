/* SPDX-License-Identifier: MIT */
/* A file that is written whole or not at all: it has another name, NAME.XXXXXX,
 * until it is complete. What is there and is no ordinary file, such as a device
 * or a pipe, is written to as it is. */
#ifndef EXAMPLES_SUPPORT_OUTPUT_H
#define EXAMPLES_SUPPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct output {
    const char *path; /* as it was given */
    FILE *stream;     /* to write to */
    char *name;       /* of the file in the end; NULL: it has it already */
    char *temporary;  /* until then */
} output;

/* Begin, or tell why not. One at a time: SIGINT and SIGTERM, unless the program
 * has taken or ignores them, remove its temporary file. */
bool output_open(const char *path, output *o);

/* End: complete, or, when not all was written, as if it had never begun. False,
 * when it is not complete, and why, if writing to the file failed. */
bool output_close(output *o, bool complete);

#endif
