/* SPDX-License-Identifier: MIT */
#include "base/machine.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hash.h"

enum { LINE_BYTES = 512, PATH_BYTES = 1024 };

/* Find "key : value" in a file of such lines. Without a key, take the first
 * line. False when there is no such line. */
static bool read_value(const char *path, const char *key, char *value,
                       size_t bytes)
{
    char line[LINE_BYTES];
    bool found = false;
    size_t length = strlen(key);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    while (!found && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, length) == 0 &&
            (length == 0 || strchr(" \t:", line[length]) != NULL)) {
            const char *start = line + length;
            start += strspn(start, " \t:");
            snprintf(value, bytes, "%.*s", (int)strcspn(start, "\n"), start);
            found = true;
        }
    }
    fclose(file);
    return found;
}

/* The same for a number. False also when the value is not a number ("max"). */
static bool read_number(const char *folder, const char *name, const char *key,
                        uint64_t *number)
{
    char path[PATH_BYTES + 64], text[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_value(path, key, text, sizeof text) &&
           sscanf(text, "%" SCNu64, number) == 1;
}

void hri_machine_name(char *name, size_t bytes)
{
    struct utsname system;
    if (!read_value("/proc/cpuinfo", "model name", name, bytes)) {
        bool known = uname(&system) >= 0;
        snprintf(name, bytes, "%s CPU", known ? system.machine : "unknown");
    }
}

/* Those of the first processor, whose lines end with an empty one. */
uint64_t hri_machine_code(void)
{
    static const char *const keys[] = {"vendor_id", "cpu family", "model",
                                       "stepping",  "flags",      "Features",
                                       "CPU "};
    uint64_t hash = HRI_HASH_INIT;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && (length = getline(&line, &room, file)) > 1) {
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            if (strncmp(line, keys[i], strlen(keys[i])) == 0) {
                hash = hri_hash(hash, line, (size_t)length);
                break;
            }
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return hash;
}

uint64_t hri_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page
                                 : UINT64_C(1) << 30;
}

/* The names of the files of one version of cgroups. */
typedef struct group_files {
    const char *root, *limit, *usage, *cache;
} group_files;

static const group_files group_v1 = {
    "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
    "total_inactive_file"};
static const group_files group_v2 = {"/sys/fs/cgroup", "memory.max",
                                     "memory.current", "inactive_file"};

/* What a cgroup leaves free. The cgroup counts cached file pages as used, but
 * the kernel drops them as soon as memory is needed. */
static uint64_t group_free(const group_files *files, const char *folder)
{
    uint64_t limit, usage, unused = 0;
    if (!read_number(folder, files->limit, "", &limit) ||
        !read_number(folder, files->usage, "", &usage)) {
        return UINT64_MAX;
    }
    (void)read_number(folder, "memory.stat", files->cache, &unused);
    usage -= unused < usage ? unused : usage;
    return limit > usage ? limit - usage : 0;
}

/* The least that a cgroup or one of its ancestors leaves free. Inside a
 * container the path may not exist. The root is then the container's own
 * cgroup. */
static uint64_t groups_free(const group_files *files, const char *group)
{
    char folder[PATH_BYTES];
    uint64_t least = UINT64_MAX;
    size_t root = strlen(files->root);
    snprintf(folder, sizeof folder, "%s%s", files->root, group);
    for (;;) {
        uint64_t bytes = group_free(files, folder);
        least = bytes < least ? bytes : least;
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < root) {
            return least;
        }
        *slash = '\0';
    }
}

/* Lines of /proc/self/cgroup: "4:memory:/path" (version 1) or "0::/path". */
static uint64_t cgroup_free_bytes(void)
{
    char line[LINE_BYTES];
    uint64_t least = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (file == NULL) {
        return least;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *path = strchr(line, '/');
        if (path == NULL) {
            continue;
        }
        path[strcspn(path, "\n")] = '\0';
        uint64_t bytes = UINT64_MAX;
        if (strncmp(line, "0::", 3) == 0) {
            bytes = groups_free(&group_v2, path);
        } else if (strstr(line, ":memory:") != NULL) {
            bytes = groups_free(&group_v1, path);
        }
        least = bytes < least ? bytes : least;
    }
    fclose(file);
    return least;
}

uint64_t hri_memory_free(void)
{
    uint64_t kib, bytes = hri_memory_bytes();
    if (read_number("/proc", "meminfo", "MemAvailable", &kib) &&
        kib < bytes / 1024) {
        bytes = kib * 1024;
    }
    uint64_t group = cgroup_free_bytes();
    return group < bytes ? group : bytes;
}
