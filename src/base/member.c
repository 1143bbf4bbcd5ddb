/* SPDX-License-Identifier: MIT */
#include "base/member.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *name, size_t length)
{
    char path[PATH_MAX];
    struct stat there;
    if (length == 0 || length >= sizeof path) {
        return false;
    }
    memcpy(path, name, length);
    path[length] = 0;
    return stat(path, &there) == 0 && !S_ISDIR(there.st_mode);
}

const char *hri_member_of(const char *name)
{
    size_t length = strlen(name);
    struct stat there;
    if (stat(name, &there) == 0) {
        return NULL;
    }
    while (length-- > 0) {
        if (name[length] == ':' && is_file(name, length)) {
            return name + length + 1;
        }
    }
    return NULL;
}
