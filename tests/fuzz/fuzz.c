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

static void check_refused(hr_status status)
{
    fuzz_promise(status == HR_ERROR_IO || status == HR_ERROR_UNSUPPORTED ||
                     status == HR_ERROR_UNAVAILABLE,
                 "a file is refused as unreadable or unsupported");
    fuzz_check_sentence(500);
}

static void read_array(const uint8_t *bytes, size_t size, const char *member)
{
    hri_file_content c = {0};
    const hr_status status = hri_file_read(bytes, size, member, NULL, &c);
    if (status != HR_OK) {
        fuzz_promise(c.memory == NULL, "outputs are written on success only");
        check_refused(status);
        return;
    }
    hri_file_header header = {.array = c.array};
    fuzz_promise(hri_file_check_array(&c.array) == HR_OK &&
                     hri_file_measure(&header),
                 "the array is one");
    const uint8_t *data = c.array.data, *memory = c.memory;
    const bool in_file = data >= bytes && data <= bytes + size;
    const uint64_t left = in_file ? (uint64_t)(bytes + size - data)
                                  : c.memory_bytes - (uint64_t)(data - memory);
    fuzz_promise(in_file || (memory != NULL && data >= memory &&
                             data <= memory + c.memory_bytes),
                 "the elements are in the file, or in its memory");
    fuzz_promise(header.data_bytes <= left, "the elements are whole");
    unsigned sum = 0; /* a sanitizer sees what must not be read */
    for (uint64_t i = 0; i < header.data_bytes; i++) {
        sum += data[i];
    }
    fuzz_promise(sum < UINT_MAX, "the elements can be read");
    hri_file_content_free(&c);
}

void fuzz_archive(const uint8_t *bytes, size_t size,
                  hr_status (*list)(const uint8_t *bytes, size_t size,
                                    hri_members *members))
{
    hri_members members = {0};
    const hr_status status = list(bytes, size, &members);
    if (status != HR_OK) {
        check_refused(status);
    }
    for (size_t i = 0; status == HR_OK && i < members.count; i++) {
        const hri_member *m = &members.list[i];
        fuzz_promise(m->begin <= m->end && m->end <= size,
                     "members lie inside the file");
        char *name = fuzz_text(m->name.bytes, m->name.length);
        read_array(bytes, size, name);
        free(name);
    }
    read_array(bytes, size, NULL);
    hri_members_free(&members);
}
