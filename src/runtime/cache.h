/* SPDX-License-Identifier: MIT */
/* Files that are kept between processes, in the folder HEADRACE_CACHE, else
 * XDG_CACHE_HOME/headrace, else HOME/.cache/headrace. HEADRACE_CACHE set to
 * nothing: none are. They are a convenience: what cannot be read or written is
 * as good as not there, and nobody is told. Any thread. */
#ifndef HRI_RUNTIME_CACHE_H
#define HRI_RUNTIME_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* The path of a file in that folder, such as "rates"; false when there is to be
 * none. */
bool hri_cache_path(const char *name, char path[PATH_MAX]);

/* Open it for reading; NULL when there is no ordinary file. */
FILE *hri_cache_open(const char *path);

/* A file that is being written, under a name of its own beside its path. */
typedef struct hri_draft {
    FILE *file;
    const char *path; /* the caller's */
    char temporary[PATH_MAX + 8];
} hri_draft;

/* Begin one, making the folders above it; false when it cannot be. Whoever has
 * begun ends it. */
bool hri_draft_begin(const char *path, hri_draft *draft);

/* Put it whole in the place of what was at its path, or remove it when not all
 * of it could be written. */
void hri_draft_end(hri_draft *draft);

#endif
