/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are used as they lie in the file: little-endian");

/* The descr of each type. Its first character is the byte order. */
static const char *const descrs[] = {
    [HR_F32] = "<f4", [HR_F64] = "<f8",  [HR_C32] = "<c8", [HR_C64] = "<c16",
    [HR_F16] = "<f2", [HR_BF16] = "<V2", [HR_I8] = "|i1",  [HR_I32] = "<i4",
};

/* The kinds of elements by the second character, for messages. */
static const struct {
    char kind;
    const char *name;
} kinds[] = {
    {'f', "floating-point numbers"},
    {'i', "signed integers"},
    {'u', "unsigned integers"},
    {'c', "complex numbers"},
    {'b', "booleans"},
    {'O', "Python objects"},
    {'U', "Unicode text"},
    {'S', "byte strings"},
    {'V', "raw bytes"},
    {'M', "dates"},
    {'m', "time spans"},
};

static const char *kind_of(hri_file_text descr)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (descr.length >= 2 && descr.bytes[1] == (uint8_t)kinds[i].kind) {
            return kinds[i].name;
        }
    }
    return "unknown";
}

/* The type of descr without its byte order. 0 when it is not one of ours. */
static hr_type type_of(hri_file_text descr)
{
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        size_t length = strlen(descrs[type]);
        if (descr.length == length &&
            memcmp(descr.bytes + 1, descrs[type] + 1, length - 1) == 0) {
            return type;
        }
    }
    return (hr_type)0;
}

/* Whether elements in memory have this byte order. Single bytes have none.
 * NumPy writes '|' for raw bytes that it has read as '<V2'. */
static bool order_fits(hr_type type, uint8_t order)
{
    if (hr_type_size(type) == 1) {
        return order == '|' || order == '<' || order == '>' || order == '=';
    }
    return order == '<' || (order == '|' && type == HR_BF16);
}

static hr_status parse_type(hri_file_text descr, hr_type *out)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    hri_file_show(descr, shown);
    hr_type type = type_of(descr);
    if (type != 0 && order_fits(type, descr.bytes[0])) {
        *out = type;
        return HR_OK;
    }
    if (descr.length > 0 && descr.bytes[0] == '>') {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "big-endian elements ('%s') are not offered: convert "
                        "them with NumPy, array.astype('<%s')",
                        shown, shown + 1);
    }
    return hri_fail(
        HR_ERROR_UNSUPPORTED,
        "elements '%s' (%s) are not read: use NumPy's astype with '<f4', "
        "'<f8', '<c8', '<c16', '<f2', '|i1' (bfloat16: '<V2') or, where "
        "nothing is multiplied, '<i4'",
        shown, kind_of(descr));
}

/* Set rank and extents from the shape. */
static hr_status parse_extents(const hri_npy_dictionary *dictionary,
                               hr_file_array *array)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    if (dictionary->dimensions > HR_MAX_RANK) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%llu dimensions, shape %s; up to %d are offered",
                        (unsigned long long)dictionary->dimensions,
                        hri_file_show(dictionary->shape, shown), HR_MAX_RANK);
    }
    array->rank = (int32_t)dictionary->dimensions;
    memcpy(array->extents, dictionary->extents, sizeof array->extents);
    return HR_OK;
}

bool hri_npy_is(const uint8_t *bytes, size_t size)
{
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Find the text of the header, and whether Python 2 may have written it. */
static hr_status find_text(const uint8_t *bytes, size_t size,
                           hri_file_text *text, bool *python2)
{
    if (!hri_npy_is(bytes, size)) {
        return hri_fail(HR_ERROR_IO,
                        "not a .npy file: its %zu bytes do not start "
                        "with \\x93NUMPY",
                        size);
    }
    size_t length_bytes = size > 6 && bytes[6] == 1 ? 2 : 4;
    size_t start = 8 + length_bytes;
    if (size < start) {
        return hri_fail(HR_ERROR_IO,
                        "its header wants %zu bytes or more, but only %zu are "
                        "there",
                        start, size);
    }
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "version %u.%u of the format is not offered, only 1.0, "
                        "2.0 and 3.0",
                        bytes[6], bytes[7]);
    }
    uint64_t length = 0;
    memcpy(&length, bytes + 8, length_bytes);
    if (length > size - start) {
        return hri_fail(HR_ERROR_IO,
                        "its header wants %llu bytes after the first %zu, but "
                        "only %zu are there",
                        (unsigned long long)length, start, size - start);
    }
    *text = (hri_file_text){bytes + start, (size_t)length};
    *python2 = bytes[6] < 3;
    return HR_OK;
}

hr_status hri_npy_parse(const uint8_t *bytes, size_t size, hri_file_header *out)
{
    hri_file_text text;
    bool python2 = false;
    hri_npy_dictionary dictionary;
    hri_file_header header = {0};
    HRI_TRY(find_text(bytes, size, &text, &python2));
    HRI_TRY(hri_npy_parse_dictionary(text, python2, &dictionary));
    HRI_TRY(parse_type(dictionary.descr, &header.array.type));
    HRI_TRY(parse_extents(&dictionary, &header.array));
    header.array.order =
        dictionary.fortran_order ? HR_COLUMN_MAJOR : HR_ROW_MAJOR;
    header.data_offset = (uint64_t)(text.bytes + text.length - bytes);
    HRI_TRY(hri_file_check_place(&header, size));
    *out = header;
    return HR_OK;
}

/* The text of the header, whose length is returned. */
static size_t describe(const hr_file_array *array,
                       char text[HRI_NPY_HEADER_BYTES])
{
    size_t length = (size_t)snprintf(
        text, HRI_NPY_HEADER_BYTES,
        "{'descr': '%s', 'fortran_order': %s, 'shape': (", descrs[array->type],
        array->order == HR_COLUMN_MAJOR ? "True" : "False");
    for (int32_t i = 0; i < array->rank; i++) {
        length += (size_t)snprintf(text + length, HRI_NPY_HEADER_BYTES - length,
                                   "%s%lld", i > 0 ? ", " : "",
                                   (long long)array->extents[i]);
    }
    return length + (size_t)snprintf(text + length,
                                     HRI_NPY_HEADER_BYTES - length, "%s), }",
                                     array->rank == 1 ? "," : "");
}

hr_status hri_npy_plan(hr_file_array array, hri_file_header *out)
{
    hri_file_header header = {.array = array,
                              .data_offset = HRI_NPY_HEADER_BYTES};
    hr_status status = hri_file_check_array(&array);
    if (status != HR_OK) {
        return status;
    }
    if (!hri_file_measure(&header)) {
        char shape[HRI_FILE_SHAPE_BYTES];
        return hri_fail(
            HR_ERROR_INVALID, "%s elements of %s want more than 2^63 bytes",
            hri_file_shape(&array, shape), hr_type_name(array.type));
    }
    *out = header;
    return HR_OK;
}

void hri_npy_format(const hri_file_header *header, uint8_t *bytes)
{
    enum { PREAMBLE = 10 };
    char text[HRI_NPY_HEADER_BYTES];
    const size_t length = describe(&header->array, text);
    memset(bytes, ' ', HRI_NPY_HEADER_BYTES);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = HRI_NPY_HEADER_BYTES - PREAMBLE;
    bytes[9] = 0;
    memcpy(bytes + PREAMBLE, text, length);
    bytes[HRI_NPY_HEADER_BYTES - 1] = '\n';
}
