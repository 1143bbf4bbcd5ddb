/* SPDX-License-Identifier: MIT */
/* Names of .npy files: which file a name means, and a temporary one beside. */
#ifndef HRI_NPY_PATH_H
#define HRI_NPY_PATH_H

#include <errno.h>
#include <sys/stat.h>

#include "base/status.h"

enum { HRI_NPY_WORDS_BYTES = 128 };

/* path as messages show it: all of it, or the last 160 bytes. */
const char *hri_npy_name(const char *path);

/* What the system says about an error number. Returns words. */
const char *hri_npy_explain(int error, char words[HRI_NPY_WORDS_BYTES]);

/* "path: what: the system's words"; HR_ERROR_OUT_OF_MEMORY for ENOMEM, else
 * HR_ERROR_IO. */
static inline hr_status hri_npy_fail(const char *path, const char *what,
                                     int error)
{
    char words[HRI_NPY_WORDS_BYTES];
    return hri_fail(error == ENOMEM ? HR_ERROR_OUT_OF_MEMORY : HR_ERROR_IO,
                    "%s: %s: %s", hri_npy_name(path), what,
                    hri_npy_explain(error, words));
}

/* path from the root on, its folder without symbolic links, so that a change of
 * the working folder does not matter. The folder must be there. The caller
 * frees *absolute. */
hr_status hri_npy_absolute(const char *path, char **absolute);

/* As hri_npy_absolute, but of the file to which a symbolic link points, which
 * need not be there yet. */
hr_status hri_npy_follow(const char *path, char **target);

/* A new file beside path, which is absolute, open for reading and writing, with
 * the given mode less the process's mask. The caller closes *fd and frees
 * *name. */
hr_status hri_npy_make_temporary(const char *path, mode_t mode, int *fd,
                                 char **name);

/* Bring a change of names in path's folder to the disk, where the file system
 * can. */
void hri_npy_sync_folder(const char *path);

#endif
