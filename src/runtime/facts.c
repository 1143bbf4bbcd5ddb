/* SPDX-License-Identifier: MIT */
#include "runtime/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 512, MOST_LINES = 1000 };

/* The folder's name; false when there is to be none. */
static bool find_folder(char *folder, size_t bytes)
{
    const char *own = getenv("HEADRACE_CACHE");
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = 0;
    if (own != NULL) {
        length = snprintf(folder, bytes, "%s", own);
    } else if (cache != NULL && cache[0] == '/') {
        length = snprintf(folder, bytes, "%s/headrace", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(folder, bytes, "%s/.cache/headrace", home);
    }
    return length > 0 && (size_t)length < bytes;
}

/* Make the folder and those above it. */
static void make_folder(char *folder)
{
    for (char *at = folder + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(folder, 0777);
            *at = '/';
        }
    }
    (void)mkdir(folder, 0777);
}

/* Whether a line is of this kind and key, or of any when kind is NULL. */
static bool parse(const char *line, const char *kind, const char *key,
                  double *value)
{
    char *end;
    *value = (double)strtoull(line, &end, 10); /* the same in every locale */
    if (line[0] < '1' || line[0] > '9' || *end != ' ') {
        return false;
    }
    if (kind == NULL) {
        return strchr(line, '\n') != NULL;
    }
    size_t kind_length = strlen(kind), key_length = strlen(key);
    const char *at = end + 1;
    return strncmp(at, kind, kind_length) == 0 && at[kind_length] == ' ' &&
           strncmp(at + kind_length + 1, key, key_length) == 0 &&
           strcmp(at + kind_length + 1 + key_length, "\n") == 0;
}

/* NULL when there is no ordinary file. */
static FILE *open_file(const char *path)
{
    struct stat s;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file =
        descriptor >= 0 && fstat(descriptor, &s) == 0 && S_ISREG(s.st_mode)
            ? fdopen(descriptor, "r")
            : NULL;
    if (file == NULL && descriptor >= 0) {
        close(descriptor);
    }
    return file;
}

bool hri_facts_find(const char *kind, const char *key, double *value)
{
    char folder[PATH_MAX], path[PATH_MAX + 8], line[LINE];
    if (key[0] == '\0' || !find_folder(folder, sizeof folder)) {
        return false;
    }
    snprintf(path, sizeof path, "%s/rates", folder);
    FILE *file = open_file(path);
    if (file == NULL) {
        return false;
    }
    double read;
    bool found = false;
    for (int i = 0;
         i < MOST_LINES && !found && fgets(line, sizeof line, file) != NULL;
         i++) {
        found = parse(line, kind, key, &read);
    }
    fclose(file);
    if (found) {
        *value = read;
    }
    return found;
}

/* All lines of the old file but that of this kind and key. */
static void copy_others(const char *path, FILE *to, const char *kind,
                        const char *key)
{
    char line[LINE];
    double value;
    FILE *from = open_file(path);
    for (int i = 0; from != NULL && i < MOST_LINES - 1 &&
                    fgets(line, sizeof line, from) != NULL;
         i++) {
        if (parse(line, NULL, NULL, &value) &&
            !parse(line, kind, key, &value)) {
            fputs(line, to);
        }
    }
    if (from != NULL) {
        fclose(from);
    }
}

void hri_facts_keep(const char *kind, const char *key, double value)
{
    char folder[PATH_MAX], path[PATH_MAX + 8], fresh[PATH_MAX + 16];
    if (key[0] == '\0' || strlen(key) + strlen(kind) > LINE - 40 ||
        strchr(key, '\n') != NULL || !find_folder(folder, sizeof folder)) {
        return;
    }
    make_folder(folder);
    snprintf(path, sizeof path, "%s/rates", folder);
    snprintf(fresh, sizeof fresh, "%s/rates.XXXXXX", folder);
    int descriptor = mkstemp(fresh);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file == NULL) {
        if (descriptor >= 0) {
            close(descriptor);
            unlink(fresh);
        }
        return;
    }
    fprintf(file, "%.0f %s %s\n", value, kind, key);
    copy_others(path, file, kind, key);
    bool written = ferror(file) == 0;
    written = fclose(file) == 0 && written;
    if (!written || rename(fresh, path) != 0) {
        unlink(fresh);
    }
}
