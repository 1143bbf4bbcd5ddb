/* SPDX-License-Identifier: MIT */
/* Any bytes as a .npy file. The parser stays inside them. What it accepts is
 * consistent and can be written again. What it refuses has a message that any
 * terminal can show. */
#include "fuzz.h"

#include <string.h>

#include "npy/npy.h"

static void check_refused(hr_status status, const hri_npy_header *header)
{
    const hri_npy_header untouched = {.rows = -1, .cols = -2};
    const char *message = hr_last_error();
    size_t length = strlen(message);
    fuzz_promise(status == HR_ERROR_IO || status == HR_ERROR_UNSUPPORTED,
                 "a file is refused as unreadable or unsupported");
    fuzz_promise(memcmp(header, &untouched, sizeof untouched) == 0,
                 "outputs are written on success only");
    fuzz_promise(length > 0 && length < 400, "a refusal is one sentence");
    for (size_t i = 0; i < length; i++) {
        fuzz_promise(message[i] >= ' ' && message[i] <= '~',
                     "a sentence is printable");
    }
}

static void check_accepted(const hri_npy_header *header, size_t size)
{
    size_t element = hr_type_size(header->type);
    fuzz_promise(element > 0, "the type is one");
    fuzz_promise(header->rows >= 0 && header->cols >= 0, "no negative extent");
    fuzz_promise(header->data_offset <= size &&
                     header->data_bytes <= size - header->data_offset,
                 "the elements lie inside the file");
    fuzz_promise(header->cols == 0
                     ? header->data_bytes == 0
                     : header->data_bytes / element / (uint64_t)header->cols ==
                               (uint64_t)header->rows &&
                           header->data_bytes % element == 0,
                 "the bytes are those of the elements");
    fuzz_promise(header->data_bytes == 0 || element == 1 ||
                     header->data_offset % 2 == 0,
                 "the elements are aligned");
}

static void check_written(const hri_npy_header *header)
{
    uint8_t bytes[HRI_NPY_HEADER_BYTES];
    hri_npy_header written, read;
    hr_status status = hri_npy_plan(header->type, header->rows, header->cols,
                                    header->order, &written);
    fuzz_promise(status == HR_OK, "what was read can be written");
    hri_npy_format(&written, bytes);
    /* the parser looks only at the header: the elements need not exist */
    status = hri_npy_parse(bytes, sizeof bytes + written.data_bytes, &read);
    fuzz_promise(status == HR_OK, "what was written can be read");
    fuzz_promise(read.type == header->type && read.order == header->order &&
                     read.rows == header->rows && read.cols == header->cols &&
                     read.data_bytes == header->data_bytes,
                 "what was written is what was read");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    hri_npy_header header;
    memset(&header, 0, sizeof header); /* padding, too, for memcmp */
    header.rows = -1;
    header.cols = -2;
    hr_status status = hri_npy_parse(bytes, size, &header);
    if (status == HR_OK) {
        check_accepted(&header, size);
        check_written(&header);
    } else {
        check_refused(status, &header);
    }
    return 0;
}
