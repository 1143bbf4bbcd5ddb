/* SPDX-License-Identifier: MIT */
/* Headers of .npy files: what is read, what is refused and how. Each row
 * differs from a good header in one thing. */
#include "test.h"

#include <limits.h>

#include "files/files.h"

#define GOOD "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"

/* A file in memory of exactly its size, so that ASan sees a read beyond. */
typedef struct image {
    uint8_t *bytes;
    size_t size;
} image;

/* major.0, a text of `length` bytes, of which the header tells `told`, and
 * data_bytes of elements. */
static image make_image(int major, const char *text, size_t length,
                        uint64_t told, size_t data_bytes)
{
    size_t start = major == 1 ? 10 : 12;
    image file = {calloc(1, start + length + data_bytes),
                  start + length + data_bytes};
    if (file.bytes == NULL) {
        abort();
    }
    memcpy(file.bytes, "\x93NUMPY", 6);
    file.bytes[6] = (uint8_t)major;
    for (size_t i = 8; i < start; i++) {
        file.bytes[i] = (uint8_t)(told >> 8 * (i - 8));
    }
    memcpy(file.bytes + start, text, length);
    return file;
}

static hr_status parse_image(image file, hri_file_header *header)
{
    hr_status status = hri_npy_parse(file.bytes, file.size, header);
    free(file.bytes);
    return status;
}

/* The text padded with spaces until the elements start at a multiple of 64. */
static hr_status parse_text(int major, const char *text, size_t data_bytes,
                            hri_file_header *header)
{
    char padded[1024];
    size_t start = major == 1 ? 10 : 12;
    size_t length = (start + strlen(text) + 63) / 64 * 64 - start;
    memset(padded, ' ', sizeof padded);
    memcpy(padded, text, strlen(text));
    return parse_image(make_image(major, padded, length, length, data_bytes),
                       header);
}

static const struct {
    const char *name;
    int major;
    const char *text;
    size_t data_bytes;
    hr_type type;
    hr_order order;
    int64_t rows, cols; /* cols -1: one dimension */
} good[] = {
    {"as NumPy writes it", 1, GOOD, 24, HR_F32, HR_ROW_MAJOR, 2, 3},
    {"version 2", 2, GOOD, 24, HR_F32, HR_ROW_MAJOR, 2, 3},
    {"version 3", 3, GOOD, 24, HR_F32, HR_ROW_MAJOR, 2, 3},
    {"bytes after the elements", 1, GOOD, 99, HR_F32, HR_ROW_MAJOR, 2, 3},
    {"Fortran order", 1,
     "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}", 48, HR_F64,
     HR_COLUMN_MAJOR, 2, 3},
    {"one dimension", 1,
     "{'descr': '<c8', 'fortran_order': False, 'shape': (5,)}", 40, HR_C32,
     HR_ROW_MAJOR, 5, -1},
    {"other keys first, double quotes, no spaces", 1,
     "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<c16\"}", 96, HR_C64,
     HR_ROW_MAJOR, 2, 3},
    {"spaces and lines wherever Python allows them", 1,
     "\t{ 'descr'\n:\r'<f2' , 'fortran_order' :\fTrue , 'shape' : ( 2 , 3 , ) "
     ", } \n",
     12, HR_F16, HR_COLUMN_MAJOR, 2, 3},
    {"Python 2's long integers", 1,
     "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 3L)}", 24, HR_I32,
     HR_ROW_MAJOR, 2, 3},
    {"bytes", 1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3)}", 6,
     HR_I8, HR_ROW_MAJOR, 2, 3},
    {"the order of single bytes means nothing", 1,
     "{'descr': '>i1', 'fortran_order': False, 'shape': (2, 3)}", 6, HR_I8,
     HR_ROW_MAJOR, 2, 3},
    {"bfloat16", 1, "{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3)}",
     12, HR_BF16, HR_ROW_MAJOR, 2, 3},
    {"bfloat16 read and written again by NumPy", 1,
     "{'descr': '|V2', 'fortran_order': False, 'shape': (2, 3)}", 12, HR_BF16,
     HR_ROW_MAJOR, 2, 3},
    {"no rows", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}",
     0, HR_F32, HR_ROW_MAJOR, 0, 3},
    {"no columns, and nearly as many rows as a file could have", 1,
     "{'descr': '|i1', 'fortran_order': False, "
     "'shape': (9223372036854775000, 0)}",
     0, HR_I8, HR_ROW_MAJOR, INT64_C(9223372036854775000), 0},
    {"an empty vector", 1,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 0, HR_F32,
     HR_ROW_MAJOR, 0, -1},
};

static void good_headers_are_read(void)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        TEST_CASE(good[i].name);
        hri_file_header h = {0};
        if (CHECK(parse_text(good[i].major, good[i].text, good[i].data_bytes,
                             &h) == HR_OK)) {
            const hr_file_array *a = &h.array;
            const int64_t cols = good[i].cols < 0 ? 1 : good[i].cols;
            CHECK(a->type == good[i].type && a->order == good[i].order);
            CHECK(a->rank == (good[i].cols < 0 ? 1 : 2) &&
                  a->extents[0] == good[i].rows);
            CHECK(a->rank == 1 || a->extents[1] == cols);
            CHECK(h.data_offset % 64 == 0);
            CHECK(h.data_bytes ==
                  (uint64_t)(good[i].rows * cols) * hr_type_size(a->type));
        }
    }
}

static const struct {
    const char *name, *text;
    hr_status want;
    const char *says;
} bad[] = {
    {"empty text", "", HR_ERROR_IO, "opening brace"},
    {"a list", "['descr', '<f4']", HR_ERROR_IO, "opening brace"},
    {"an empty dictionary", "{}", HR_ERROR_IO, "lacks the key 'descr'"},
    {"a lone comma", "{,}", HR_ERROR_IO, "a key in quotes"},
    {"no descr", "{'fortran_order': False, 'shape': (2, 3)}", HR_ERROR_IO,
     "lacks the key 'descr'"},
    {"no order", "{'descr': '<f4', 'shape': (2, 3)}", HR_ERROR_IO,
     "lacks the key 'fortran_order'"},
    {"no shape", "{'descr': '<f4', 'fortran_order': False}", HR_ERROR_IO,
     "lacks the key 'shape'"},
    {"a key twice",
     "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_IO, "'descr' twice"},
    {"a foreign key",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}",
     HR_ERROR_IO, "the key 'x' which .npy headers do not have"},
    {"a key without quotes", "{descr: '<f4'}", HR_ERROR_IO, "a key in quotes"},
    {"quotes that differ", "{'descr\": '<f4'}", HR_ERROR_IO, "key"},
    {"an open quote", "{'descr", HR_ERROR_IO, "the end of a string"},
    {"a line break in a string", "{'des\ncr': 1}", HR_ERROR_IO,
     "the end of a string"},
    {"an escape", "{'des\\cr': 1}", HR_ERROR_IO, "the end of a string"},
    {"no colon", "{'descr' '<f4'}", HR_ERROR_IO, "a colon"},
    {"no comma", "{'descr': '<f4' 'fortran_order': False}", HR_ERROR_IO,
     "a comma or the closing brace"},
    {"no closing brace",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", HR_ERROR_IO,
     "ends after"},
    {"words after the brace",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x", HR_ERROR_IO,
     "white space"},
    {"an order that is a number",
     "{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", HR_ERROR_IO,
     "True or False"},
    {"an order that goes on",
     "{'descr': '<f4', 'fortran_order': Falsely, 'shape': (2, 3)}", HR_ERROR_IO,
     "a comma or the closing brace"},
    {"a shape that is a number",
     "{'descr': '<f4', 'fortran_order': False, 'shape': 6}", HR_ERROR_IO,
     "round brackets"},
    {"a number in brackets is no tuple",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}", HR_ERROR_IO,
     "(6) as shape, not a tuple"},
    {"a shape that is a list",
     "{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}", HR_ERROR_IO,
     "round brackets"},
    {"a shape without end",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", HR_ERROR_IO,
     "ends after"},
    {"a shape of nothing but a comma",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", HR_ERROR_IO,
     "an extent"},
    {"two commas", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3)}",
     HR_ERROR_IO, "an extent"},
    {"a negative extent",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3)}", HR_ERROR_IO,
     "never negative"},
    {"a fraction",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3)}", HR_ERROR_IO,
     "a comma or the end of the shape"},
    {"a leading zero",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 03)}", HR_ERROR_IO,
     "the end of the extent 0"},
    {"hexadecimal",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0x3)}", HR_ERROR_IO,
     "a comma or the end"},
    {"an extent of 2^63",
     "{'descr': '<f4', 'fortran_order': False, "
     "'shape': (9223372036854775808, 1)}",
     HR_ERROR_IO, "below 2^63"},
    {"an extent of thirty digits",
     "{'descr': '<f4', 'fortran_order': False, "
     "'shape': (100000000000000000000000000000, 0)}",
     HR_ERROR_IO, "below 2^63"},
    {"elements that overflow 64 bits to zero",
     "{'descr': '<f4', 'fortran_order': False, "
     "'shape': (4294967296, 4294967296)}",
     HR_ERROR_IO, "more than 2^63 bytes"},
    {"bytes that overflow 64 bits",
     "{'descr': '<f4', 'fortran_order': False, "
     "'shape': (2147483648, 2147483648)}",
     HR_ERROR_IO, "more than 2^63 bytes"},
    {"an end beyond 2^63 for the header alone",
     "{'descr': '|i1', 'fortran_order': False, "
     "'shape': (9223372036854775807,)}",
     HR_ERROR_IO, "more than 2^63 bytes"},
    {"no elements, but a row of more than 2^63 bytes",
     "{'descr': '<f4', 'fortran_order': False, "
     "'shape': (0, 4611686018427387904)}",
     HR_ERROR_IO, "more than 2^63 bytes"},
    {"more elements than there are",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4)}", HR_ERROR_IO,
     "2x4 elements of f32 want 32 bytes after the first 128, but only 24"},
    {"seven dimensions",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 2, 3)}",
     HR_ERROR_UNSUPPORTED, "7 dimensions, shape (1, 1, 1, 1, 1, 2, 3)"},
    {"more elements of three dimensions than there are",
     "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4)}",
     HR_ERROR_IO,
     "2x3x4 elements of f32 want 96 bytes after the first 128, but only 24"},
    {"big-endian", "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "big-endian elements ('>f4')"},
    {"big-endian says how to convert",
     "{'descr': '>c16', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "astype('<c16')"},
    {"no byte order", "{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'f4'"},
    {"no byte order where one matters",
     "{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'|f4' (floating-point numbers)"},
    {"unknown element type",
     "{'descr': '', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "''"},
    {"extended precision",
     "{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'<f16' (floating-point numbers)"},
    {"64-bit integers",
     "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "'<i8' (signed integers)"},
    {"unsigned integers",
     "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "'|u1' (unsigned integers)"},
    {"booleans", "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "'|b1' (booleans)"},
    {"objects", "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "'|O' (Python objects)"},
    {"a long element type, shown in part",
     "{'descr': '<M8[1234567890123456789012345678901234567890123456789012345678"
     "9012345678]', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED,
     "'<M8[12345678901234567890123456789012345678901234567890123456...'"},
    {"text", "{'descr': '<U7', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "'<U7' (Unicode text)"},
    {"byte strings", "{'descr': '|S7', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'|S7' (byte strings)"},
    {"raw bytes", "{'descr': '|V8', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'|V8' (raw bytes)"},
    {"dates", "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'<M8[ns]' (dates)"},
    {"time spans", "{'descr': '<m8', 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "'<m8' (time spans)"},
    {"records",
     "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "structured"},
    {"arrays as elements",
     "{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (2,)}",
     HR_ERROR_UNSUPPORTED, "structured"},
    {"bytes that no terminal should see",
     "{'descr': '<\x1b\xff', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_IO, "the end of a string"},
    {"bytes above ASCII",
     "{'descr': '<\xc3\xa4', 'fortran_order': False, 'shape': (2, 3)}",
     HR_ERROR_UNSUPPORTED, "'<\xc3\xa4'"},
};

static void bad_headers_are_refused(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (int major = 1; major <= 3; major++) {
            TEST_CASE(bad[i].name);
            hri_file_header h = {.data_bytes = 7};
            CHECK_FAILS(parse_text(major, bad[i].text, 24, &h), bad[i].want,
                        bad[i].says);
            CHECK(h.data_bytes == 7);
        }
    }
}

static void up_to_six_dimensions_are_read(void)
{
    char text[256];
    for (int rank = 0; rank <= HR_MAX_RANK; rank++) {
        TEST_CASE("dimensions");
        int length = snprintf(text, sizeof text,
                              "{'descr': '<f2', 'fortran_order': True, "
                              "'shape': (");
        size_t bytes = 2;
        for (int i = 0; i < rank; i++) {
            length += snprintf(text + length, sizeof text - (size_t)length,
                               "%d, ", i + 1);
            bytes *= (size_t)i + 1;
        }
        snprintf(text + length, sizeof text - (size_t)length, ")}");
        hri_file_header h;
        if (CHECK(parse_text(1, text, bytes, &h) == HR_OK)) {
            CHECK(h.array.rank == rank && h.data_bytes == bytes);
            CHECK(rank == 0 || h.array.extents[rank - 1] == rank);
        }
    }
}

static void long_integers_are_of_python_2(void)
{
    TEST_CASE("version 3 has no L");
    hri_file_header h;
    CHECK_FAILS(parse_text(3,
                           "{'descr': '<f4', 'fortran_order': False, 'shape': "
                           "(2L, 3)}",
                           24, &h),
                HR_ERROR_IO, "a comma or the end of the shape");
}

/* Every prefix of a good file is refused, but for those that lack nothing. */
static void short_files_are_refused(void)
{
    TEST_CASE("a file cut anywhere");
    for (int major = 1; major <= 3; major++) {
        image whole = make_image(major, GOOD, strlen(GOOD), strlen(GOOD), 24);
        for (size_t size = 0; size < whole.size; size++) {
            uint8_t *cut = malloc(size > 0 ? size : 1);
            if (cut == NULL) {
                abort();
            }
            memcpy(cut, whole.bytes, size);
            hri_file_header h;
            CHECK(parse_image((image){cut, size}, &h) == HR_ERROR_IO);
            CHECK((strstr(hr_last_error(), "not a .npy") != NULL) ==
                  (size < 6)); /* without all of its magic */
        }
        free(whole.bytes);
    }
}

static void preambles_are_checked(void)
{
    static const struct {
        const char *name;
        size_t place;
        int byte;
        hr_status want;
        const char *says;
    } rows[] = {
        {"another magic", 0, 'N', HR_ERROR_IO, "not a .npy file"},
        {"the last letter of the magic", 5, 'y', HR_ERROR_IO,
         "not a .npy file"},
        {"version 0", 6, 0, HR_ERROR_UNSUPPORTED, "version 0.0"},
        {"version 4", 6, 4, HR_ERROR_UNSUPPORTED, "version 4.0"},
        {"version 1.1", 7, 1, HR_ERROR_UNSUPPORTED, "version 1.1"},
        {"a header longer than the file", 9, 0xff, HR_ERROR_IO,
         "but only 84 are there"},
        {"a header that ends too early", 8, 10, HR_ERROR_IO, "ends after"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        image file = make_image(1, GOOD, strlen(GOOD), strlen(GOOD), 24);
        file.bytes[rows[i].place] = (uint8_t)rows[i].byte;
        hri_file_header h;
        CHECK_FAILS(parse_image(file, &h), rows[i].want, rows[i].says);
    }
    TEST_CASE("a header of nearly 4 GiB in a short file");
    hri_file_header h;
    CHECK_FAILS(
        parse_image(make_image(2, GOOD, strlen(GOOD), UINT32_MAX, 24), &h),
        HR_ERROR_IO, "4294967295 bytes");
}

/* The longest header of version 1, and a longer one of version 2. */
static void long_headers_are_read(void)
{
    static const struct {
        const char *name;
        int major;
        size_t length;
    } rows[] = {
        {"65,535 bytes in version 1", 1, 65535},
        {"65,535 bytes in version 2", 2, 65535},
        {"a million bytes in version 3", 3, 1000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        char *text = malloc(rows[i].length);
        if (text == NULL) {
            abort();
        }
        const char *start = "{'descr': '|i1', 'fortran_order': False, 'shape': "
                            "(2, 3), ";
        memset(text, ' ', rows[i].length);
        memcpy(text, start, strlen(start));
        text[rows[i].length - 1] = '}';
        hri_file_header h;
        CHECK(parse_image(make_image(rows[i].major, text, rows[i].length,
                                     rows[i].length, 6),
                          &h) == HR_OK);
        text[rows[i].length - 1] = ' ';
        CHECK_FAILS(parse_image(make_image(rows[i].major, text, rows[i].length,
                                           rows[i].length, 6),
                                &h),
                    HR_ERROR_IO, "before a key in quotes");
        free(text);
    }
}

static void plans_are_checked(void)
{
    static const struct {
        const char *name;
        int type;
        int64_t rows, cols;
        int order;
        hr_status want;
        const char *says;
    } rows[] = {
        {"nothing wrong", HR_F32, 2, 3, HR_ROW_MAJOR, HR_OK, ""},
        {"nothing inside", HR_F32, 0, INT64_C(1) << 60, HR_ROW_MAJOR, HR_OK,
         ""},
        {"nothing inside, but too long a row", HR_F32, 0, INT64_MAX,
         HR_ROW_MAJOR, HR_ERROR_INVALID, "more than 2^63 bytes"},
        {"type 0", 0, 2, 3, HR_ROW_MAJOR, HR_ERROR_INVALID,
         "unknown element type 0"},
        {"type 9", 9, 2, 3, HR_ROW_MAJOR, HR_ERROR_INVALID,
         "unknown element type 9"},
        {"order 2", HR_F32, 2, 3, 2, HR_ERROR_INVALID,
         "unknown element order 2"},
        {"negative rows", HR_F32, -2, 3, HR_ROW_MAJOR, HR_ERROR_INVALID,
         "-2x3"},
        {"negative columns", HR_F32, 2, -3, HR_ROW_MAJOR, HR_ERROR_INVALID,
         "2x-3"},
        {"elements overflow", HR_I8, INT64_MAX, 3, HR_ROW_MAJOR,
         HR_ERROR_INVALID, "more than 2^63 bytes"},
        {"bytes overflow", HR_C64, INT64_C(1) << 30, INT64_C(1) << 30,
         HR_ROW_MAJOR, HR_ERROR_INVALID, "more than 2^63 bytes"},
        {"the header overflows", HR_I8, INT64_MAX, 1, HR_ROW_MAJOR,
         HR_ERROR_INVALID, "more than 2^63 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TEST_CASE(rows[i].name);
        hri_file_header h;
        hr_status status = hri_npy_plan(
            (hr_file_array){.type = (hr_type)rows[i].type,
                            .order = (hr_order)rows[i].order,
                            .rank = 2,
                            .extents = {rows[i].rows, rows[i].cols}},
            &h);
        CHECK(status == rows[i].want);
        CHECK(status == HR_OK || strstr(hr_last_error(), rows[i].says) != NULL);
    }
}

/* Also with the longest numbers: they fit into the header. */
static void what_is_written_is_read(void)
{
    const int64_t most = INT64_C(576460752303423000); /* c64: below 2^63 */
    const int64_t extents[][2] = {{2, 3}, {1, 1},    {0, 5},
                                  {5, 0}, {most, 0}, {0, most}};
    TEST_CASE("a header of ours");
    for (hr_type type = HR_F32; type <= HR_I32; type++) {
        for (size_t i = 0; i < 2 * sizeof extents / sizeof extents[0]; i++) {
            hri_file_header in, out;
            const hr_file_array array = {
                .type = type,
                .order = i % 2 ? HR_COLUMN_MAJOR : HR_ROW_MAJOR,
                .rank = 2,
                .extents = {extents[i / 2][0], extents[i / 2][1]}};
            if (!CHECK(hri_npy_plan(array, &in) == HR_OK)) {
                continue;
            }
            uint8_t file[HRI_NPY_HEADER_BYTES + 96] = {0};
            hri_npy_format(&in, file);
            CHECK(hri_npy_parse(file, sizeof file, &out) == HR_OK);
            CHECK(out.array.type == type && out.array.order == array.order);
            CHECK(memcmp(out.array.extents, array.extents,
                         sizeof array.extents) == 0);
            CHECK(out.data_offset == HRI_NPY_HEADER_BYTES);
            CHECK(out.data_bytes == in.data_bytes);
            CHECK(file[HRI_NPY_HEADER_BYTES - 1] == '\n');
        }
    }
}

/* A shape so long that the header has 256 bytes. And no dimensions at all. */
static void long_and_empty_shapes_are_written(void)
{
    hr_file_array array = {
        .type = HR_I8, .rank = 6, .extents = {0, 1, 1, 1, 1, 1}};
    hri_file_header in, out;
    uint8_t file[HRI_NPY_HEADER_BYTES + 8] = {0};
    TEST_CASE("a short header");
    CHECK(hri_npy_plan(array, &in) == HR_OK);
    CHECK(in.data_offset == HRI_NPY_HEADER_BYTES);
    TEST_CASE("the longest header");
    array.extents[1] = INT64_C(1000000000000000000);
    CHECK(hri_npy_plan(array, &in) == HR_OK);
    hri_npy_format(&in, file);
    CHECK(hri_npy_parse(file, sizeof file, &out) == HR_OK);
    CHECK(memcmp(out.array.extents, array.extents, sizeof array.extents) == 0);
    TEST_CASE("no dimensions");
    array.rank = 0;
    CHECK(hri_npy_plan(array, &in) == HR_OK && in.data_bytes == 1);
    hri_npy_format(&in, file);
    CHECK(strstr((char *)file + 10, "'shape': (), }") != NULL);
    TEST_CASE("wrong ranks");
    array.rank = 7;
    CHECK_FAILS(hri_npy_plan(array, &in), HR_ERROR_INVALID, "7 dimensions");
    array.rank = -1;
    CHECK_FAILS(hri_npy_plan(array, &in), HR_ERROR_INVALID, "-1 dimensions");
}

int main(void)
{
    TEST(good_headers_are_read());
    TEST(bad_headers_are_refused());
    TEST(long_integers_are_of_python_2());
    TEST(up_to_six_dimensions_are_read());
    TEST(short_files_are_refused());
    TEST(preambles_are_checked());
    TEST(long_headers_are_read());
    TEST(plans_are_checked());
    TEST(what_is_written_is_read());
    TEST(long_and_empty_shapes_are_written());
    return test_end();
}
