/* SPDX-License-Identifier: MIT */
/* Any bytes as a .npz or a safetensors file. The elements of each array are
 * whole, or one sentence says why it is refused. */
#include "fuzz.h"

#include <limits.h>

#include "files/files.h"

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

static void read_members(const uint8_t *bytes, size_t size,
                         const hri_members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        const hri_member *m = &members->list[i];
        fuzz_promise(m->begin <= m->end && m->end <= size,
                     "members lie inside the file");
        char *name = fuzz_text(m->name.bytes, m->name.length);
        read_array(bytes, size, name);
        free(name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const bool zip = hri_zip_is(bytes, size);
    hri_members members = {0};
    if (!zip && !hri_safetensors_is(bytes, size)) {
        return 0;
    }
    const hr_status status =
        zip ? hri_zip_members(bytes, size, &members)
            : hri_safetensors_members(bytes, size, &members);
    if (status == HR_OK) {
        read_members(bytes, size, &members);
    } else {
        check_refused(status);
    }
    read_array(bytes, size, NULL);
    hri_members_free(&members);
    return 0;
}
