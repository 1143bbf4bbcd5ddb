/* SPDX-License-Identifier: MIT */
#include "model/tuning.h"

#include <stdlib.h>
#include <string.h>

#include "base/cache.h"

enum { LINE = 512, MAX_LINES = 1000 };
static const double max_value = 1e18; /* integers hold the sums of a few */

/* Whether a line has this kind and key. If kind is NULL, any line will do. */
static bool parse(const char *line, const char *kind, const char *key,
                  double *value)
{
    char *end;
    *value = (double)strtoull(line, &end, 10); /* the same in every locale */
    if (line[0] < '1' || line[0] > '9' || *end != ' ' || *value > max_value) {
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
         i < MAX_LINES && !found && fgets(line, sizeof line, file) != NULL;
         i++) {
        found = parse(line, kind, key, &read);
    }
    fclose(file);
    if (found) {
        *value = read;
    }
    return found;
}

static bool is_any(const char *line, const hri_tuning_line *lines, size_t count)
{
    double value;
    bool found = false;
    for (size_t i = 0; i < count && !found; i++) {
        found = parse(line, lines[i].kind, lines[i].key, &value);
    }
    return found;
}

/* Copy all lines of the old file, except those that are new. */
static void copy_others(const char *path, FILE *to,
                        const hri_tuning_line *lines, size_t count)
{
    char line[LINE];
    double value;
    FILE *from = hri_cache_open(path);
    for (size_t i = count; from != NULL && i < MAX_LINES &&
                           fgets(line, sizeof line, from) != NULL;
         i++) {
        if (parse(line, NULL, NULL, &value) && !is_any(line, lines, count)) {
            fputs(line, to);
        }
    }
    if (from != NULL) {
        fclose(from);
    }
}

static bool can_be_kept(const hri_tuning_line *l)
{
    return l->key[0] != '\0' && strlen(l->key) + strlen(l->kind) <= LINE - 40 &&
           strchr(l->key, '\n') == NULL;
}

void hri_tuning_keep_all(const hri_tuning_line *lines, size_t count)
{
    char path[PATH_MAX];
    hri_draft draft;
    bool all = count > 0;
    for (size_t i = 0; i < count; i++) {
        all = all && can_be_kept(&lines[i]);
    }
    if (!all || !hri_cache_path("rates", path) ||
        !hri_draft_begin(path, &draft)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        /* 0 is what is not there */
        if (lines[i].value >= 0.5 && lines[i].value <= max_value) {
            fprintf(draft.file, "%.0f %s %s\n", lines[i].value, lines[i].kind,
                    lines[i].key);
        }
    }
    copy_others(path, draft.file, lines, count);
    hri_draft_end(&draft);
}

void hri_tuning_keep(const char *kind, const char *key, double value)
{
    const hri_tuning_line line = {kind, key, value};
    hri_tuning_keep_all(&line, 1);
}
