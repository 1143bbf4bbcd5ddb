/* SPDX-License-Identifier: MIT */
/* Any bytes as a .npy file. The parser stays inside them. What it accepts is
 * consistent and can be written again. What it refuses has a message that any
 * terminal can show. */
#include "fuzz.h"

#include <string.h>

#include "files/files.h"

static void check_refused(hr_status status, const hri_file_header *header)
{
    const hri_file_header untouched = {.data_bytes = 7};
    fuzz_promise(status == HR_ERROR_IO || status == HR_ERROR_UNSUPPORTED,
                 "a file is refused as unreadable or unsupported");
    fuzz_promise(memcmp(header, &untouched, sizeof untouched) == 0,
                 "outputs are written on success only");
    fuzz_check_sentence(400);
}

static void check_accepted(const hri_file_header *header, size_t size)
{
    const hr_file_array *array = &header->array;
    size_t element = hr_type_size(array->type);
    uint64_t left = header->data_bytes;
    fuzz_promise(element > 0, "the type is one");
    fuzz_promise(array->rank >= 0 && array->rank <= HR_MAX_RANK,
                 "the rank is one");
    fuzz_promise(header->data_offset <= size &&
                     header->data_bytes <= size - header->data_offset,
                 "the elements lie inside the file");
    for (int32_t i = 0; i < array->rank; i++) {
        const uint64_t extent = (uint64_t)array->extents[i];
        fuzz_promise(array->extents[i] >= 0, "no negative extent");
        fuzz_promise(extent == 0 ? header->data_bytes == 0 : left % extent == 0,
                     "the bytes are those of the elements");
        left /= extent > 0 ? extent : 1;
    }
    fuzz_promise(header->data_bytes == 0 || left == element,
                 "there are no others");
}

static void check_written(const hri_file_header *header)
{
    uint8_t bytes[HRI_NPY_HEADER_BYTES];
    hri_file_header written, read;
    hr_status status = hri_npy_plan(header->array, &written);
    fuzz_promise(status == HR_OK, "what was read can be written");
    hri_npy_format(&written, bytes);
    /* the parser looks only at the header: the elements need not exist */
    status =
        hri_npy_parse(bytes, written.data_offset + written.data_bytes, &read);
    fuzz_promise(status == HR_OK, "what was written can be read");
    fuzz_promise(read.array.type == header->array.type &&
                     read.array.order == header->array.order &&
                     read.array.rank == header->array.rank &&
                     memcmp(read.array.extents, header->array.extents,
                            sizeof read.array.extents) == 0 &&
                     read.data_bytes == header->data_bytes,
                 "what was written is what was read");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    hri_file_header header;
    memset(&header, 0, sizeof header); /* padding, too, for memcmp */
    header.data_bytes = 7;
    hr_status status = hri_npy_parse(bytes, size, &header);
    if (status == HR_OK) {
        check_accepted(&header, size);
        check_written(&header);
    } else {
        check_refused(status, &header);
    }
    return 0;
}
