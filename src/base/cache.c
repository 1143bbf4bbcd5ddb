/* SPDX-License-Identifier: MIT */
#include "base/cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/environment.h"

bool hri_cache_path(const char *name, char path[PATH_MAX])
{
    const char *own = hri_environment("HEADRACE_CACHE");
    const char *cache = hri_environment("XDG_CACHE_HOME");
    const char *home = hri_environment("HOME");
    int length = 0;
    if (own != NULL) {
        length =
            own[0] != '\0' ? snprintf(path, PATH_MAX, "%s/%s", own, name) : 0;
    } else if (cache != NULL && cache[0] == '/') {
        length = snprintf(path, PATH_MAX, "%s/headrace/%s", cache, name);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, PATH_MAX, "%s/.cache/headrace/%s", home, name);
    }
    return length > 0 && length < PATH_MAX;
}

/* Make the folders above a file. */
static void make_folders(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(folder, 0777);
            *at = '/';
        }
    }
}

FILE *hri_cache_open(const char *path)
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

bool hri_draft_begin(const char *path, hri_draft *draft)
{
    make_folders(path);
    draft->path = path;
    int descriptor;
    if (hri_draft_create(path, S_IRUSR | S_IWUSR, &descriptor,
                         &draft->temporary) != 0) {
        return false;
    }
    draft->file = fdopen(descriptor, "w");
    if (draft->file == NULL) {
        close(descriptor);
        unlink(draft->temporary);
        free(draft->temporary);
    }
    return draft->file != NULL;
}

void hri_draft_end(hri_draft *draft)
{
    /* The lock is held until the file has its name. Without it another process
     * might remove the file before. */
    const int lock = dup(fileno(draft->file));
    bool written = lock >= 0 && ferror(draft->file) == 0;
    written = fclose(draft->file) == 0 && written;
    /* Rename fails where there is a folder: an empty one is removed, and the
     * file put in its place. */
    if (!written || (rename(draft->temporary, draft->path) != 0 &&
                     (rmdir(draft->path) != 0 ||
                      rename(draft->temporary, draft->path) != 0))) {
        unlink(draft->temporary);
    }
    if (lock >= 0) {
        close(lock);
    }
    free(draft->temporary);
}
