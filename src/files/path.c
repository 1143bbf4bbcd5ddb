/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* realpath */
#include "files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *hri_file_name(const char *path)
{
    enum { SHOWN = 160 }; /* leaves most of a message for the rest */
    size_t length = strlen(path);
    return path + (length > SHOWN ? length - SHOWN : 0);
}

hr_status hri_file_fail(const char *path, const char *what, int error)
{
    char words[128];
    if (strerror_r(error, words, sizeof words) != 0) {
        snprintf(words, sizeof words, "error %d", error);
    }
    return hri_fail(error == ENOMEM ? HR_ERROR_OUT_OF_MEMORY : HR_ERROR_IO,
                    "%s: %s: %s", hri_file_name(path), what, words);
}

/* folder/name. The caller frees it. NULL when there is no memory. */
static char *join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *joined = malloc(bytes);
    if (joined != NULL) {
        snprintf(joined, bytes, "%s%s%s", folder,
                 strcmp(folder, "/") == 0 ? "" : "/", name);
    }
    return joined;
}

/* Where the last part of path starts. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The folder in path, as written there. NULL when there is no memory. */
static char *folder_of(const char *path)
{
    size_t length = (size_t)(base_name(path) - path);
    if (length == 0) {
        return strdup(".");
    }
    return strndup(path, length > 1 ? length - 1 : 1);
}

hr_status hri_file_absolute(const char *path, char **absolute)
{
    const char *name = base_name(path);
    if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return hri_fail(HR_ERROR_IO, "%s: %s", hri_file_name(path),
                        path[0] != 0 ? "it is a folder, not a file"
                                     : "the name is empty");
    }
    char *folder = folder_of(path);
    if (folder == NULL) {
        return hri_file_fail(path, "its name", ENOMEM);
    }
    char *real = realpath(folder, NULL);
    int error = errno;
    free(folder);
    if (real == NULL) {
        return hri_file_fail(path, "its folder cannot be used", error);
    }
    char *joined = join(real, name);
    free(real);
    if (joined == NULL) {
        return hri_file_fail(path, "its name", ENOMEM);
    }
    *absolute = joined;
    return HR_OK;
}

/* Follow one link. *next is where the link at `at`, an absolute path, points.
 * NULL when there is no link, or nothing at all. */
static hr_status follow_link(const char *at, char **next)
{
    char link[PATH_MAX];
    ssize_t length = readlink(at, link, sizeof link - 1);
    if (length < 0) {
        *next = NULL;
        return errno == EINVAL || errno == ENOENT
                   ? HR_OK
                   : hri_file_fail(at, "it cannot be used", errno);
    }
    link[length] = 0;
    char *folder = folder_of(at);
    char *pointed = link[0] == '/'   ? strdup(link)
                    : folder != NULL ? join(folder, link)
                                     : NULL;
    free(folder);
    if (pointed == NULL) {
        return hri_file_fail(at, "its name", ENOMEM);
    }
    hr_status status = hri_file_absolute(pointed, next);
    free(pointed);
    return status;
}

hr_status hri_file_follow(const char *path, char **target)
{
    enum { LINKS = 40 }; /* as many as Linux follows */
    char *at;
    HRI_TRY(hri_file_absolute(path, &at));
    for (int i = 0; i < LINKS; i++) {
        if (strncmp(at, "/proc/", 6) == 0) {
            free(at);
            return hri_fail(HR_ERROR_IO,
                            "%s: it stands for an open file, so it is not "
                            "replaced",
                            hri_file_name(path));
        }
        char *next = NULL;
        const hr_status status = follow_link(at, &next);
        if (status != HR_OK) {
            free(at);
            return status;
        }
        if (next == NULL) {
            *target = at;
            return HR_OK;
        }
        free(at);
        at = next;
    }
    free(at);
    return hri_file_fail(path, "it cannot be used", ELOOP);
}

void hri_file_sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd =
        folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (fd >= 0) {
        /* some file systems cannot, but the name is there all the same */
        fsync(fd);
        close(fd);
    }
}
