/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <string.h>

#include "base/format.h"
#include "base/printable.h"
#include "base/size.h"

const char *hri_file_show(hri_file_text text, char shown[HRI_FILE_SHOWN_BYTES])
{
    enum { SHOWN = HRI_FILE_SHOWN_BYTES - sizeof "...", LONGEST = 4 };
    char start[SHOWN + 2], all[LONGEST * sizeof start];
    const size_t length =
        text.length < sizeof start ? text.length : sizeof start - 1;
    memcpy(start, text.bytes, length);
    start[length] = '\0';
    hri_printable(start, all, sizeof all);
    hri_printable(start, shown, SHOWN + 1);
    return strcmp(all, shown) != 0 ? strcat(shown, "...") : shown;
}

bool hri_file_text_is(hri_file_text text, const char *wanted)
{
    return text.length == strlen(wanted) &&
           memcmp(text.bytes, wanted, text.length) == 0;
}

const char *hri_file_shape(const hr_file_array *array,
                           char shape[HRI_FILE_SHAPE_BYTES])
{
    return hri_format_extents(shape, HRI_FILE_SHAPE_BYTES, array->extents,
                              array->rank);
}

bool hri_file_measure(hri_file_header *header)
{
    const hr_file_array *array = &header->array;
    uint64_t bytes = hr_type_size(array->type), end;
    bool fits = true, empty = false;
    for (int32_t i = 0; i < array->rank; i++) {
        empty = empty || array->extents[i] == 0;
        fits = fits &&
               hri_mul(bytes, (uint64_t)hri_max(array->extents[i], 1), &bytes);
    }
    header->data_bytes = empty ? 0 : bytes;
    return fits && hri_add(header->data_offset, bytes, &end) &&
           end <= INT64_MAX;
}

hr_status hri_file_check_place(hri_file_header *header, uint64_t size)
{
    char shape[HRI_FILE_SHAPE_BYTES];
    const hr_file_array *array = &header->array;
    if (!hri_file_measure(header)) {
        return hri_fail(
            HR_ERROR_IO,
            "its header gives %s elements of %s, more than 2^63 bytes",
            hri_file_shape(array, shape), hr_type_name(array->type));
    }
    if (header->data_bytes > size - header->data_offset) {
        return hri_fail(HR_ERROR_IO,
                        "%s elements of %s want %llu bytes after the "
                        "first %llu, but only %llu are there",
                        hri_file_shape(array, shape), hr_type_name(array->type),
                        (unsigned long long)header->data_bytes,
                        (unsigned long long)header->data_offset,
                        (unsigned long long)(size - header->data_offset));
    }
    return HR_OK;
}

hr_status hri_file_check_array(const hr_file_array *array)
{
    if (hr_type_size(array->type) == 0) {
        return hri_fail(HR_ERROR_INVALID, "unknown element type %d",
                        (int)array->type);
    }
    if (array->order != HR_ROW_MAJOR && array->order != HR_COLUMN_MAJOR) {
        return hri_fail(HR_ERROR_INVALID, "unknown element order %d",
                        (int)array->order);
    }
    if (array->rank < 0 || array->rank > HR_MAX_RANK) {
        return hri_fail(HR_ERROR_INVALID,
                        "an array of %d dimensions, not of 0 to %d",
                        (int)array->rank, HR_MAX_RANK);
    }
    for (int32_t i = 0; i < array->rank; i++) {
        char shape[HRI_FILE_SHAPE_BYTES];
        if (array->extents[i] < 0) {
            return hri_fail(HR_ERROR_INVALID, "%s elements: a size is negative",
                            hri_file_shape(array, shape));
        }
    }
    return HR_OK;
}

hr_status hri_file_matrix(const hr_file_array *array, hr_matrix *matrix)
{
    const int64_t *e = array->extents;
    const int64_t cols = array->rank > 1 ? e[1] : 1;
    if (array->rank < 1 || array->rank > 2) {
        char shape[HRI_FILE_SHAPE_BYTES];
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%d dimensions, shape %s; a matrix has one or two",
                        (int)array->rank, hri_file_shape(array, shape));
    }
    *matrix =
        array->order == HR_ROW_MAJOR
            ? hr_matrix_row_major(array->data, array->type, e[0], cols, 0)
            : hr_matrix_column_major(array->data, array->type, e[0], cols, 0);
    return HR_OK;
}
