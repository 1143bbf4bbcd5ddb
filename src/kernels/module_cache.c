/* SPDX-License-Identifier: MIT */
#include "kernels/kernels.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/hash.h"

enum { VERSION = 1, MAX_FILES = 256, MAX_REMOVED = 16 };
enum { MAX_IMAGE_BYTES = 1 << 26 };
enum { NAME_LENGTH = 33 }; /* of a file */

/* A file holds this header, the target, the source and the image, and nothing
 * more. */
typedef struct header {
    char magic[8];
    uint64_t version, target_bytes, source_bytes, image_bytes, image_sum;
} header;

static const char magic[8] = {'H', 'R', 'M', 'O', 'D', 'U', 'L', 'E'};

static uint64_t sum_of(const void *bytes, size_t count)
{
    return hri_hash(HRI_HASH_INIT, bytes, count);
}

/* The name only helps to find the file. The file holds target and source in
 * full. */
static bool path_of(const char *target, const char *source, char path[PATH_MAX])
{
    char name[sizeof "modules/" + NAME_LENGTH];
    snprintf(name, sizeof name, "modules/%016" PRIx64 "-%016" PRIx64,
             sum_of(target, strlen(target)), sum_of(source, strlen(source)));
    return hri_cache_path(name, path);
}

/* Whether the header's lengths match these texts and the file. The file is code
 * that will run. So this user must own it, and nobody else may be able to write
 * to it. */
static bool fits(const header *h, const struct stat *s, const char *target,
                 const char *source)
{
    return memcmp(h->magic, magic, sizeof magic) == 0 &&
           h->version == VERSION && h->target_bytes == strlen(target) &&
           h->source_bytes == strlen(source) && h->image_bytes > 0 &&
           h->image_bytes <= MAX_IMAGE_BYTES && s->st_uid == geteuid() &&
           (s->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (uint64_t)s->st_size ==
               sizeof *h + h->target_bytes + h->source_bytes + h->image_bytes;
}

/* Whether this text comes next in the file. */
static bool follows(FILE *file, const char *text, size_t bytes)
{
    char read[4096];
    while (bytes > 0) {
        const size_t part = bytes < sizeof read ? bytes : sizeof read;
        if (fread(read, 1, part, file) != part ||
            memcmp(read, text, part) != 0) {
            return false;
        }
        text += part;
        bytes -= part;
    }
    return true;
}

static bool read_image(FILE *file, const header *h, hri_image *image)
{
    size_t count = (size_t)h->image_bytes;
    void *bytes = malloc(count);
    if (bytes == NULL || fread(bytes, 1, count, file) != count ||
        sum_of(bytes, count) != h->image_sum) {
        free(bytes);
        return false;
    }
    *image = (hri_image){.bytes = bytes, .count = count};
    return true;
}

bool hri_module_cache_wanted(void)
{
    char path[PATH_MAX];
    return hri_cache_path("modules", path);
}

bool hri_module_cache_find(const char *target, const char *source,
                           hri_image *image)
{
    char path[PATH_MAX];
    header h;
    struct stat s;
    FILE *file = path_of(target, source, path) ? hri_cache_open(path) : NULL;
    if (file == NULL) {
        return false;
    }
    bool found =
        fread(&h, sizeof h, 1, file) == 1 && fstat(fileno(file), &s) == 0 &&
        fits(&h, &s, target, source) && follows(file, target, strlen(target)) &&
        follows(file, source, strlen(source)) && read_image(file, &h, image);
    if (found) { /* the time of use decides what is removed */
        (void)futimens(fileno(file), NULL);
    }
    fclose(file);
    return found;
}

/* Whether a file has a name that path_of makes. Drafts of such files do not
 * count: the next draft removes those that are stale. */
static bool is_ours(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    return strlen(name) == NAME_LENGTH && strspn(name, digits) == 16 &&
           name[16] == '-' && strspn(name + 17, digits) == 16;
}

static bool is_older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
                                  : a->tv_nsec < b->tv_nsec;
}

/* Remove the file that was used longest ago, when there are too many. */
static bool remove_one(DIR *folder)
{
    char oldest[NAME_LENGTH + 1] = "";
    struct timespec since = {0};
    const struct dirent *entry;
    int count = 0;
    rewinddir(folder);
    while ((entry = readdir(folder)) != NULL) {
        struct stat s;
        if (!is_ours(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) !=
                0 ||
            S_ISDIR(s.st_mode)) { /* a folder would stay, and always be the
                                     oldest */
            continue;
        }
        if (count++ == 0 || is_older(&s.st_mtim, &since)) {
            since = s.st_mtim;
            memcpy(oldest, entry->d_name, sizeof oldest);
        }
    }
    /* ENOENT: another process removed it first */
    return count > MAX_FILES &&
           (unlinkat(dirfd(folder), oldest, 0) == 0 || errno == ENOENT);
}

static void remove_old(void)
{
    char path[PATH_MAX];
    DIR *folder = hri_cache_path("modules", path) ? opendir(path) : NULL;
    if (folder != NULL) {
        for (int i = 0; i < MAX_REMOVED && remove_one(folder); i++) {
        }
        closedir(folder);
    }
}

void hri_module_cache_keep(const char *target, const char *source,
                           const hri_image *image)
{
    char path[PATH_MAX];
    hri_draft draft;
    if (image->count == 0 || image->count > MAX_IMAGE_BYTES ||
        !path_of(target, source, path) || !hri_draft_begin(path, &draft)) {
        return;
    }
    header h = {.version = VERSION,
                .target_bytes = strlen(target),
                .source_bytes = strlen(source),
                .image_bytes = image->count,
                .image_sum = sum_of(image->bytes, image->count)};
    memcpy(h.magic, magic, sizeof magic);
    fwrite(&h, sizeof h, 1, draft.file);
    fwrite(target, 1, strlen(target), draft.file);
    fwrite(source, 1, strlen(source), draft.file);
    fwrite(image->bytes, 1, image->count, draft.file);
    hri_draft_end(&draft);
    remove_old();
}
