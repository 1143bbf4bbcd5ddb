/* SPDX-License-Identifier: MIT */
/* What a file is that is not an ordinary one. */
#ifndef HRI_BASE_KIND_H
#define HRI_BASE_KIND_H

#include <sys/stat.h>

/* "a folder", "a device", "a pipe" or "a socket". */
static inline const char *hri_kind_of(mode_t mode)
{
    return S_ISDIR(mode)                    ? "a folder"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
           : S_ISFIFO(mode)                 ? "a pipe"
                                            : "a socket";
}

#endif
