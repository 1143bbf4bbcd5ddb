/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* flock */
#include "base/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LETTERS = 6, KEPT = 100 /* bytes of the file's name: 255 may be */ };

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_~";
static const char ours[] = ".headrace-";

/* Whether this is the name of a draft. */
static bool is_draft(const char *name)
{
    const char *tail = NULL;
    for (const char *next = name; (next = strstr(next, ours)) != NULL; next++) {
        tail = next;
    }
    if (name[0] != '.' || tail == NULL) {
        return false;
    }
    const char *process = tail + sizeof ours - 1;
    const char *letters = process + strspn(process, "0123456789") + 1;
    return letters > process + 1 && letters[-1] == '-' &&
           strspn(letters, alphabet) == LETTERS && letters[LETTERS] == '\0';
}

/* Remove a draft if nothing has a lock on it. */
static void remove_stale(int folder, const char *name)
{
    struct stat opened, named;
    const int fd =
        openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* It may have become the result, and the name another draft's. */
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 &&
        S_ISREG(opened.st_mode) &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        opened.st_dev == named.st_dev && opened.st_ino == named.st_ino) {
        unlinkat(folder, name, 0);
    }
    close(fd);
}

static void remove_all_stale(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (is_draft(entry->d_name)) {
            remove_stale(dirfd(folder), entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* Lock a new draft. False when another process is about to remove it, or has
 * done so. A file system without locks does not matter: nothing is removed
 * there. */
static bool lock(int fd)
{
    struct stat s;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        return errno != EWOULDBLOCK;
    }
    return fstat(fd, &s) != 0 || s.st_nlink > 0;
}

/* Fill in the letters of a name, and create that file. Returns 0, or an error
 * number. */
static int try_name(char *name, mode_t mode, int *fd)
{
    char *letters = name + strlen(name) - LETTERS;
    unsigned char random[LETTERS];
    if (getrandom(random, LETTERS, 0) != LETTERS) {
        return errno;
    }
    for (int i = 0; i < LETTERS; i++) {
        letters[i] = alphabet[random[i] % 64];
    }
    const int opened = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (opened < 0) {
        return errno;
    }
    if (!lock(opened)) {
        unlink(name);
        close(opened);
        return EEXIST;
    }
    *fd = opened;
    return 0;
}

int hri_draft_create(const char *path, mode_t mode, int *fd, char **name)
{
    enum { ATTEMPTS = 100, EXTRA = 48 };
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const int folder = (int)(base - path);
    const size_t bytes = strlen(path) + EXTRA;
    char *made = malloc(bytes);
    if (made == NULL) {
        return ENOMEM;
    }
    snprintf(made, bytes, "%.*s.", folder, path);
    remove_all_stale(made);
    snprintf(made, bytes, "%.*s.%.*s%s%ld-%0*d", folder, path, KEPT, base, ours,
             (long)getpid(), LETTERS, 0);
    int error = EEXIST;
    for (int i = 0; i < ATTEMPTS && error == EEXIST; i++) {
        error = try_name(made, mode, fd);
    }
    if (error == 0) {
        *name = made;
    } else {
        free(made);
    }
    return error;
}
