/* SPDX-License-Identifier: MIT */
/* Files that are kept between processes. The folder is HEADRACE_CACHE, else
 * XDG_CACHE_HOME/headrace, else HOME/.cache/headrace. If HEADRACE_CACHE is set
 * but empty, no files are kept. A file that cannot be read or written counts as
 * missing, and nothing reports it. Any thread. */
#ifndef HRI_BASE_CACHE_H
#define HRI_BASE_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* The path of a file in that folder, such as "rates". False when no files are
 * kept. */
bool hri_cache_path(const char *name, char path[PATH_MAX]);

/* Open a file for reading. NULL when it is not an ordinary file, or is
 * missing. */
FILE *hri_cache_open(const char *path);

/* A file of the cache that is being written (base/draft.h). */
typedef struct hri_draft {
    FILE *file;
    const char *path; /* the caller's */
    char *temporary;
} hri_draft;

/* Begin a draft and make the folders above it. False when this fails. End each
 * draft that was begun. */
bool hri_draft_begin(const char *path, hri_draft *draft);

/* Replace the file at the path by the draft. The draft is removed instead when
 * a part of it could not be written. */
void hri_draft_end(hri_draft *draft);

#endif
