/* SPDX-License-Identifier: MIT */
/* A file that is written whole or not at all. It has another name, NAME.XXXXXX,
 * until it is complete. A name that is no ordinary file, such as a device or a
 * pipe, is written to directly. */
#ifndef EXAMPLES_SUPPORT_OUTPUT_H
#define EXAMPLES_SUPPORT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct output {
    const char *path; /* as it was given */
    FILE *stream;     /* to write to */
    char *name;       /* its final name; NULL: it has this already */
    char *temporary;  /* its name until then */
} output;

/* Begin a file, or print why not. One at a time. SIGINT and SIGTERM remove its
 * temporary file, unless the program handles or ignores them. */
bool output_open(const char *path, output *o);

/* End the file. If it is not complete, it is removed as if it had never begun.
 * False when it is not complete; if writing failed, this prints why. */
bool output_close(output *o, bool complete);

#endif
