/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* flock, realpath */
#include "base/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hash.h"

enum { LETTERS = 6, KEPT = 100 /* bytes of the file's name: 255 may be */ };

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_~";
static const char ours[] = ".headrace-";

/* ---- names */

enum { DIGITS = 8 /* of a hash */ };

typedef struct origin {
    char machine[DIGITS + 1], start[DIGITS + 1]; /* "": not known */
} origin;

/* The hash of a line that tells machines apart, and of some more text. "": the
 * file has no such line. */
static void hash_line(const char *path, const char *more, char hash[DIGITS + 1])
{
    char line[64];
    FILE *file = fopen(path, "re");
    hash[0] = '\0';
    if (file != NULL && fgets(line, sizeof line, file) != NULL &&
        strlen(line) >= 32) {
        uint64_t sum = hri_hash(HRI_HASH_INIT, line, strlen(line));
        sum = hri_hash(sum, more, strlen(more));
        snprintf(hash, DIGITS + 1, "%08x", (unsigned)(sum ^ sum >> 32));
    }
    if (file != NULL) {
        fclose(file);
    }
}

static origin own_origin(void)
{
    origin own = {"", ""};
    struct utsname system;
    if (uname(&system) != 0) {
        system.nodename[0] = '\0';
    }
    hash_line("/etc/machine-id", system.nodename, own.machine);
    hash_line("/proc/sys/kernel/random/boot_id", "", own.start);
    return own;
}

/* Whether the next part of a name has only these characters, `count` of them
 * or, with 0, any number but none, and ends so. If it does, go on behind it. */
static bool take(const char **at, const char *of, size_t count, char end)
{
    const size_t found = strspn(*at, of);
    if (found == 0 || (count != 0 && found != count) || (*at)[found] != end) {
        return false;
    }
    *at += found + 1;
    return true;
}

static bool is_same(const char *own, const char *other)
{
    return own[0] != '\0' && strncmp(own, other, DIGITS) == 0;
}

/* Whether this is the name of a draft that was made on this machine. */
static bool is_draft(const char *name, const origin *own)
{
    static const char hex[] = "0123456789abcdef";
    const char *tail = NULL;
    for (const char *next = name; (next = strstr(next, ours)) != NULL; next++) {
        tail = next;
    }
    if (name[0] != '.' || tail == NULL) {
        return false;
    }
    const char *machine = tail + sizeof ours - 1;
    const char *start = machine + DIGITS + 1;
    const char *at = machine;
    bool is = take(&at, hex, DIGITS, '-');
    is = is && take(&at, hex, DIGITS, '-');
    return is && take(&at, "0123456789", 0, '-') &&
           take(&at, alphabet, LETTERS, '\0') &&
           (is_same(own->machine, machine) || is_same(own->start, start));
}

/* ---- stale drafts */

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

static void remove_all_stale(const char *path, const origin *own)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (is_draft(entry->d_name, own)) {
            remove_stale(dirfd(folder), entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

/* ---- new drafts */

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

static const char *or_zeros(const char *hash)
{
    return hash[0] != '\0' ? hash : "00000000";
}

int hri_draft_create(const char *path, mode_t mode, int *fd, char **name)
{
    enum { ATTEMPTS = 100, EXTRA = 80 };
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const int folder = (int)(base - path);
    const size_t bytes = strlen(path) + EXTRA;
    const origin own = own_origin();
    char *made = malloc(bytes);
    if (made == NULL) {
        return ENOMEM;
    }
    snprintf(made, bytes, "%.*s.", folder, path);
    remove_all_stale(made, &own);
    snprintf(made, bytes, "%.*s.%.*s%s%s-%s-%ld-%0*d", folder, path, KEPT, base,
             ours, or_zeros(own.machine), or_zeros(own.start), (long)getpid(),
             LETTERS, 0);
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

/* The absolute path of a file that is not there yet. Returns 0, or an error
 * number. */
static int resolve(const char *path, char **target)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const size_t length = (size_t)(base - path);
    if (length + 2 > sizeof folder) {
        return ENAMETOOLONG;
    }
    if (*base == '\0') {
        return ENOENT;
    }
    snprintf(folder, sizeof folder, "%.*s.", (int)length, path);
    if (realpath(folder, real) == NULL) {
        return errno;
    }
    const size_t bytes = strlen(real) + strlen(base) + 2;
    *target = malloc(bytes);
    if (*target == NULL) {
        return ENOMEM;
    }
    snprintf(*target, bytes, "%s/%s", real, base);
    return 0;
}

int hri_draft_target(const char *path, char **target)
{
    *target = realpath(path, NULL);
    return *target != NULL   ? 0
           : errno == ENOENT ? resolve(path, target)
                             : errno;
}

int hri_draft_replace(const char *path, int *fd, char **name, char **target)
{
    struct stat earlier;
    int error = hri_draft_target(path, target);
    if (error != 0) {
        return error;
    }
    const bool there = stat(*target, &earlier) == 0;
    if (there && faccessat(AT_FDCWD, *target, W_OK, AT_EACCESS) != 0) {
        return errno;
    }
    const mode_t mode = there ? earlier.st_mode & 0777 : 0666;
    error = hri_draft_create(*target, mode, fd, name);
    if (error == 0 && there) {
        fchmod(*fd, mode); /* bits that the mask took */
    }
    return error;
}
