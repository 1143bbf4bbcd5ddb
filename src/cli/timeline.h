/* SPDX-License-Identifier: MIT */
/* Timelines that HEADRACE_TRACE and --trace have written. */
#ifndef CLI_TIMELINE_H
#define CLI_TIMELINE_H

#include <stddef.h>

typedef struct cli_timeline {
    const char *path;
    char *text; /* JSON, with a 0 behind it */
    size_t bytes;
} cli_timeline;

/* Read a timeline, or standard input, and check every bar. Returns an exit
 * status. */
int cli_timeline_read(cli_timeline *timeline, const char *path);

/* Free it. One that is zeroed is accepted. */
void cli_timeline_free(cli_timeline *timeline);

#endif
