/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include <limits.h>
#include <string.h>

#include "base/cache.h"
#include "base/printable.h"
#include "support/files.h"

static char folder[64];

static void remove_folder(void)
{
    files_remove_folder(folder);
}

char *fuzz_text(const uint8_t *bytes, size_t size)
{
    const size_t length = strnlen((const char *)bytes, size);
    char *text = malloc(length + 1);
    fuzz_promise(text != NULL, "memory for a text");
    memcpy(text, bytes, length);
    text[length] = '\0';
    return text;
}

void fuzz_cache_file(const char *name, const uint8_t *bytes, size_t size)
{
    char path[PATH_MAX];
    hri_draft draft;
    if (folder[0] == '\0') {
        files_make_folder(folder, sizeof folder);
        fuzz_promise(atexit(remove_folder) == 0 &&
                         setenv("HEADRACE_CACHE", folder, 1) == 0,
                     "a folder");
    }
    fuzz_promise(hri_cache_path(name, path) && hri_draft_begin(path, &draft),
                 "a file");
    fwrite(bytes, 1, size, draft.file);
    hri_draft_end(&draft);
}

void fuzz_check_sentence(size_t bytes)
{
    const char *message = hr_last_error();
    const size_t length = strlen(message);
    fuzz_promise(length > 0 && length < bytes, "a refusal is one sentence");
    for (int step; *message != '\0'; message += step) {
        step = hri_printable_length(message);
        fuzz_promise(step > 0, "a sentence is printable");
    }
}
