/* SPDX-License-Identifier: MIT */
#include "model/tuning.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/cache.h"

enum { LINE = 512, MOST_LINES = 1000 };

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

bool hri_tuning_find(const char *kind, const char *key, double *value)
{
    char path[PATH_MAX], line[LINE];
    if (key[0] == '\0' || !hri_cache_path("rates", path)) {
        return false;
    }
    FILE *file = hri_cache_open(path);
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
    FILE *from = hri_cache_open(path);
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

void hri_tuning_keep(const char *kind, const char *key, double value)
{
    char path[PATH_MAX];
    hri_draft draft;
    if (key[0] == '\0' || strlen(key) + strlen(kind) > LINE - 40 ||
        strchr(key, '\n') != NULL || !hri_cache_path("rates", path) ||
        !hri_draft_begin(path, &draft)) {
        return;
    }
    fprintf(draft.file, "%.0f %s %s\n", value, kind, key);
    copy_others(path, draft.file, kind, key);
    hri_draft_end(&draft);
}
