/* SPDX-License-Identifier: MIT */
#include "npy/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

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

static const char *kind_of(hri_npy_text descr)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (descr.length >= 2 && descr.bytes[1] == (uint8_t)kinds[i].kind) {
            return kinds[i].name;
        }
    }
    return "unknown";
}

/* The type of descr without its byte order. 0 when it is not one of ours. */
static hr_type type_of(hri_npy_text descr)
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

static hr_status parse_type(hri_npy_text descr, hr_type *out)
{
    char shown[HRI_NPY_SHOWN_BYTES];
    hri_npy_show(descr, shown);
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
        "elements '%s' (%s) are not offered: use NumPy's astype with '<f4', "
        "'<f8', '<c8', '<c16', '<f2', '|i1' or '<i4' (bfloat16: '<V2')",
        shown, kind_of(descr));
}

/* Set rows and cols from the shape. An array of one dimension is a column. */
static hr_status parse_extents(const hri_npy_dictionary *dictionary,
                               hri_npy_header *header)
{
    char shown[HRI_NPY_SHOWN_BYTES];
    if (dictionary->dimensions == 0) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "shape () is a scalar; only one or two dimensions are offered");
    }
    if (dictionary->dimensions > 2) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%llu dimensions, shape %s; only one or two are offered",
            (unsigned long long)dictionary->dimensions,
            hri_npy_show(dictionary->shape, shown));
    }
    header->rows = dictionary->extents[0];
    header->cols = dictionary->dimensions == 2 ? dictionary->extents[1] : 1;
    return HR_OK;
}

/* Fill in data_bytes. False when the file's length would reach 2^63. An extent
 * of 0 counts as 1 here: NumPy allows no larger extents even of an empty
 * array. */
static bool measure(hri_npy_header *header)
{
    uint64_t rows = (uint64_t)hri_max(header->rows, 1);
    uint64_t cols = (uint64_t)hri_max(header->cols, 1);
    uint64_t bytes, end;
    if (!hri_mul(rows, cols, &bytes) ||
        !hri_mul(bytes, hr_type_size(header->type), &bytes) ||
        !hri_add(header->data_offset, bytes, &end) || end > INT64_MAX) {
        return false;
    }
    bool empty = header->rows == 0 || header->cols == 0;
    header->data_bytes = empty ? 0 : bytes;
    return true;
}

/* Check that the elements lie inside the file, and where C may read them. */
static hr_status check_place(hri_npy_header *header, uint64_t size)
{
    size_t alignment = hr_type_size(header->type);
    if (header->type == HR_C32 || header->type == HR_C64) {
        alignment /= 2;
    }
    if (!measure(header)) {
        return hri_fail(
            HR_ERROR_IO,
            "its header gives %lldx%lld elements of %s, more than 2^63 bytes",
            (long long)header->rows, (long long)header->cols,
            hr_type_name(header->type));
    }
    if (header->data_bytes > size - header->data_offset) {
        return hri_fail(HR_ERROR_IO,
                        "%lldx%lld elements of %s want %llu bytes after the "
                        "first %llu, but only %llu are there",
                        (long long)header->rows, (long long)header->cols,
                        hr_type_name(header->type),
                        (unsigned long long)header->data_bytes,
                        (unsigned long long)header->data_offset,
                        (unsigned long long)(size - header->data_offset));
    }
    if (header->data_bytes > 0 && header->data_offset % alignment != 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "its elements start at byte %llu, not a multiple of "
                        "%zu: save it again with NumPy",
                        (unsigned long long)header->data_offset, alignment);
    }
    return HR_OK;
}

/* Find the text of the header, and whether Python 2 may have written it. */
static hr_status find_text(const uint8_t *bytes, size_t size,
                           hri_npy_text *text, bool *python2)
{
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
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
    *text = (hri_npy_text){bytes + start, (size_t)length};
    *python2 = bytes[6] < 3;
    return HR_OK;
}

hr_status hri_npy_parse(const uint8_t *bytes, size_t size, hri_npy_header *out)
{
    hri_npy_text text;
    bool python2 = false;
    hri_npy_dictionary dictionary;
    hri_npy_header header = {0};
    hr_status status = find_text(bytes, size, &text, &python2);
    if (status == HR_OK) {
        status = hri_npy_parse_dictionary(text, python2, &dictionary);
    }
    if (status == HR_OK) {
        status = parse_type(dictionary.descr, &header.type);
    }
    if (status == HR_OK) {
        status = parse_extents(&dictionary, &header);
    }
    if (status == HR_OK) {
        header.order =
            dictionary.fortran_order ? HR_COLUMN_MAJOR : HR_ROW_MAJOR;
        header.data_offset = (uint64_t)(text.bytes + text.length - bytes);
        status = check_place(&header, size);
    }
    if (status == HR_OK) {
        *out = header;
    }
    return status;
}

hr_status hri_npy_plan(hr_type type, int64_t rows, int64_t cols, hr_order order,
                       hri_npy_header *out)
{
    hri_npy_header header = {.type = type,
                             .order = order,
                             .rows = rows,
                             .cols = cols,
                             .data_offset = HRI_NPY_HEADER_BYTES};
    if (hr_type_size(type) == 0) {
        return hri_fail(HR_ERROR_INVALID, "unknown element type %d", (int)type);
    }
    if (order != HR_ROW_MAJOR && order != HR_COLUMN_MAJOR) {
        return hri_fail(HR_ERROR_INVALID, "unknown element order %d",
                        (int)order);
    }
    if (rows < 0 || cols < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%lldx%lld elements: a size is negative",
                        (long long)rows, (long long)cols);
    }
    if (!measure(&header)) {
        return hri_fail(HR_ERROR_INVALID,
                        "%lldx%lld elements of %s want more than 2^63 bytes",
                        (long long)rows, (long long)cols, hr_type_name(type));
    }
    *out = header;
    return HR_OK;
}

void hri_npy_format(const hri_npy_header *header,
                    uint8_t bytes[HRI_NPY_HEADER_BYTES])
{
    char text[HRI_NPY_HEADER_BYTES];
    const size_t preamble = 10;
    int length = snprintf(
        text, sizeof text,
        "{'descr': '%s', 'fortran_order': %s, 'shape': (%lld, %lld), }",
        descrs[header->type],
        header->order == HR_COLUMN_MAJOR ? "True" : "False",
        (long long)header->rows, (long long)header->cols);
    memset(bytes, ' ', HRI_NPY_HEADER_BYTES);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (uint8_t)(HRI_NPY_HEADER_BYTES - preamble);
    bytes[9] = 0;
    memcpy(bytes + preamble, text, (size_t)length);
    bytes[HRI_NPY_HEADER_BYTES - 1] = '\n';
}
