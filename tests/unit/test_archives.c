/* SPDX-License-Identifier: MIT */
/* Files of every form: what is found in them, and what is refused and how. The
 * archives are those of the fuzzers. */
#include "test.h"

#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

#include "files/files.h"
#include "support/files.h"

/* An array of the corpus: 24 bytes of zeros, as f32. */
static const struct {
    const char *name;
    hr_type type;
    int32_t rank;
    const char *form;
} good[] = {
    {"zip/one", HR_F32, 2, "npz"},
    {"zip/packed", HR_F32, 2, "npz"},
    {"zip/two:a", HR_F32, 2, "npz"},
    {"zip/two:b", HR_F32, 1, "npz"},
    {"zip/without-ending:a", HR_F32, 2, "npz"},
    {"zip/comment", HR_F32, 2, "npz"},
    {"zip/zip64-member", HR_F32, 2, "npz"},
    {"zip/zip64-extra", HR_F32, 2, "npz"},
    {"zip/zip64-end:b", HR_F32, 1, "npz"},
    {"safetensors/one", HR_F32, 2, "safetensors"},
    {"safetensors/two:a", HR_F32, 2, "safetensors"},
    {"safetensors/two:b", HR_I8, 1, "safetensors"},
    {"safetensors/metadata", HR_F32, 2, "safetensors"},
    {"safetensors/misaligned:a", HR_F32, 2, "safetensors"},
    {"safetensors/type-BF16", HR_BF16, 2, "safetensors"},
    {"safetensors/type-C64", HR_C32, 2, "safetensors"},
    {"safetensors/type-I32", HR_I32, 2, "safetensors"},
    {"safetensors/text-utf-8:\xc3\xa9", HR_F32, 2, "safetensors"},
    {"safetensors/text-escapes:\"\\/\b\n\xc3\xa9\xf0\x9f\x98\x80", HR_F32, 2,
     "safetensors"},
};

static hr_status open_corpus(const char *name, hr_file **file,
                             hr_file_array *array)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, CORPUS "/%s", name);
    return hr_file_open_array(path, NULL, file, array);
}

static bool is_zero(const hr_file_array *array)
{
    hri_file_header h = {.array = *array};
    const unsigned char *bytes = array->data;
    bool zero = hri_file_measure(&h) &&
                (uintptr_t)bytes % (hr_type_size(array->type) > 4 ? 4 : 1) == 0;
    for (uint64_t i = 0; i < h.data_bytes; i++) {
        zero = zero && bytes[i] == 0;
    }
    return zero;
}

static void arrays_are_found(void)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        TEST_CASE(good[i].name);
        hr_file *file = NULL;
        hr_file_array array = {0};
        const hr_status status = open_corpus(good[i].name, &file, &array);
        if (status == HR_ERROR_UNAVAILABLE) {
            CHECK(strstr(hr_last_error(), "libz.so.1 is not here") != NULL);
            continue;
        }
        if (CHECK(status == HR_OK)) {
            CHECK(array.type == good[i].type && array.rank == good[i].rank);
            CHECK(array.order == HR_ROW_MAJOR && is_zero(&array));
            CHECK(strcmp(hr_file_form(file), good[i].form) == 0);
            CHECK(hr_file_unchanged(file) == HR_OK);
            hr_file_close(file);
        }
    }
}

static const struct {
    const char *name;
    hr_status want;
    const char *says;
} bad[] = {
    {"zip/none", HR_ERROR_IO, "none: it has no arrays"},
    {"zip/two", HR_ERROR_IO, "it has 2 arrays: write one of their names"},
    {"zip/two:c", HR_ERROR_IO, "it has no array 'c', but a, b"},
    {"zip/two:", HR_ERROR_IO, "it has no array '', but a, b"},
    {"zip/words", HR_ERROR_IO, "words: read.me: not a .npy file"},
    {"zip/empty-member", HR_ERROR_IO, "a: not a .npy file: its 0 bytes"},
    {"zip/twice", HR_ERROR_IO, "it has two members 'a'"},
    {"zip/overlap", HR_ERROR_IO, "its members 'b' and 'a' share bytes"},
    {"zip/bzip2", HR_ERROR_UNSUPPORTED, "method 12 of compression"},
    {"zip/encrypted", HR_ERROR_UNSUPPORTED, "a: it is encrypted"},
    {"zip/parts", HR_ERROR_UNSUPPORTED, "one part of a zip archive"},
    {"zip/count", HR_ERROR_IO, "its directory of 65535 members wants 51 bytes"},
    {"zip/directory-offset", HR_ERROR_IO, "after the first 4294967280"},
    {"zip/directory-bytes", HR_ERROR_IO, "wants 4294967280 bytes"},
    {"zip/crc", HR_ERROR_IO, "a: its CRC is 00000001, but that of its 152"},
    {"zip/stored-bytes", HR_ERROR_IO, "wants 1073741824 bytes from byte 0"},
    {"zip/bytes", HR_ERROR_IO, "a: it has 7 bytes, but 152 are stored"},
    {"zip/bomb", HR_ERROR_IO, "73 bytes cannot unpack to 4294967280"},
    {"zip/name-length", HR_ERROR_IO, "ends within the entry at byte 187"},
    {"zip/extra-length", HR_ERROR_IO, "ends within the entry at byte 187"},
    {"zip/offset", HR_ERROR_IO, "from byte 2147483647 on"},
    {"zip/offset-64", HR_ERROR_IO, "from byte 4294967295 on"},
    {"zip/local-name", HR_ERROR_IO, "it is not at byte 0, as the directory"},
    {"zip/local-extra", HR_ERROR_IO, "it is not at byte 0, as the directory"},
    {"zip/no-entry", HR_ERROR_IO, "byte 187 begins no entry"},
    {"zip/zip64-extra-short", HR_ERROR_IO,
     "the extra fields of its member 'a.npy' make no sense"},
    {"zip/zip64-at", HR_ERROR_IO, "its zip64 record is not at byte"},
    {"zip/zip64-count", HR_ERROR_IO, "of 1152921504606846976 members"},
    {"zip/zip64-offset", HR_ERROR_IO, "the first 9223372036854775808"},
    {"zip/zip64-size", HR_ERROR_IO, "wants 18446744073709551615 bytes"},
    {"zip/cut-4", HR_ERROR_IO, "none of its 4 bytes begin the end"},
    {"zip/cut-259", HR_ERROR_IO, "none of its 259 bytes begin the end"},
    {"safetensors/none", HR_ERROR_IO, "it has no arrays"},
    {"safetensors/two", HR_ERROR_IO, "it has 2 arrays"},
    {"safetensors/text-twice", HR_ERROR_IO, "it has two members 'a'"},
    {"safetensors/text-twice-escaped", HR_ERROR_IO, "it has two members 'a'"},
    {"safetensors/overlap", HR_ERROR_IO, "'a' and 'b' share bytes"},
    {"safetensors/hole", HR_ERROR_IO,
     "its tensors have 24 bytes, but 28 follow the header"},
    {"safetensors/metadata-number", HR_ERROR_IO, "should be a string"},
    {"safetensors/metadata-twice", HR_ERROR_IO, "__metadata__ twice"},
    {"safetensors/type-I64", HR_ERROR_UNSUPPORTED, "elements of 'I64'"},
    {"safetensors/type-BOOL", HR_ERROR_UNSUPPORTED, "elements of 'BOOL'"},
    {"safetensors/shape-scalar", HR_ERROR_IO, "() elements of f32 have 4"},
    {"safetensors/shape-seven", HR_ERROR_UNSUPPORTED, "7 dimensions; up to 6"},
    {"safetensors/shape-empty", HR_ERROR_IO, "0x3 elements of f32 have 0"},
    {"safetensors/shape-short", HR_ERROR_IO, "2x2 elements of f32 have 16"},
    {"safetensors/shape-long", HR_ERROR_IO, "2x4 elements of f32 want 32"},
    {"safetensors/shape-overflow", HR_ERROR_IO, "more than 2^63 bytes"},
    {"safetensors/offsets-turned", HR_ERROR_IO, "at bytes 24 to 0 of 24"},
    {"safetensors/offsets-beyond", HR_ERROR_IO, "at bytes 0 to 25 of 24"},
    {"safetensors/offsets-far", HR_ERROR_IO, "4611686018427387904 of 24"},
    {"safetensors/offsets-one", HR_ERROR_IO, "1 data_offsets instead of 2"},
    {"safetensors/offsets-three", HR_ERROR_IO, "3 data_offsets instead of 2"},
    {"safetensors/text-half-pair", HR_ERROR_IO, "an escape of JSON"},
    {"safetensors/text-low-pair", HR_ERROR_IO, "an escape of JSON"},
    {"safetensors/text-bad-escape", HR_ERROR_IO, "an escape of JSON"},
    {"safetensors/text-control", HR_ERROR_IO, "the rest of a string"},
    {"safetensors/text-open", HR_ERROR_IO, "a comma or a closing bracket"},
    {"safetensors/text-after", HR_ERROR_IO, "should be the end"},
    {"safetensors/text-comma", HR_ERROR_IO, "should be a string"},
    {"safetensors/text-list", HR_ERROR_IO, "should be an object"},
    {"safetensors/text-no-dtype", HR_ERROR_IO, "lacks dtype, shape or"},
    {"safetensors/text-key", HR_ERROR_IO, "the key 'x' which"},
    {"safetensors/text-key-twice", HR_ERROR_IO, "the key 'shape' twice"},
    {"safetensors/text-negative", HR_ERROR_IO, "that is not negative"},
    {"safetensors/text-fraction", HR_ERROR_IO, "a comma or a closing bracket"},
    {"safetensors/text-zeros", HR_ERROR_IO, "a whole number below 2^63"},
    {"safetensors/text-large", HR_ERROR_IO, "a whole number below 2^63"},
    {"safetensors/length-long", HR_ERROR_IO,
     "wants 5000 bytes after the first 8, but only 89"},
    {"safetensors/length-most", HR_ERROR_IO, "wants 281474976710655 bytes"},
    {"safetensors/length-0", HR_ERROR_IO, "not a .npy, .npz or safetensors"},
    {"safetensors/cut-8", HR_ERROR_IO, "its 8 bytes do not begin as one"},
    {"safetensors/cut-8:a", HR_ERROR_IO,
     "its 8 bytes begin neither a .npz nor a safetensors file"},
    {"safetensors/length-0:a", HR_ERROR_IO,
     "bytes begin neither a .npz nor a safetensors file"},
    {"safetensors/length-long:a", HR_ERROR_IO, "its header wants 5000 bytes"},
};

static void others_are_refused(void)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        TEST_CASE(bad[i].name);
        hr_file *file = NULL;
        hr_file_array array = {.rank = -7};
        CHECK_FAILS(open_corpus(bad[i].name, &file, &array), bad[i].want,
                    bad[i].says);
        CHECK(file == NULL && array.rank == -7);
    }
}

static void wrong_sizes_do_not_unpack(void)
{
    hr_file *file = NULL;
    hr_file_array array;
    TEST_CASE("fewer and more bytes than the directory says");
    const hr_status status = open_corpus("zip/packed-bytes", &file, &array);
    if (status != HR_ERROR_UNAVAILABLE) { /* libz is here */
        CHECK_FAILS(status, HR_ERROR_IO, "it does not unpack to 7 bytes");
        CHECK_FAILS(open_corpus("zip/packed-more", &file, &array), HR_ERROR_IO,
                    "it does not unpack to 200 bytes: libz stops after 152");
    }
}

/* ---- files without a header, and files that are written */

static void raw_files_come_back(void)
{
    static const char *const names[] = {"a.raw", "a.bin", "a.npy"};
    for (int i = 0; i < 6; i++) {
        TEST_CASE(names[i / 2]);
        hr_file *file = NULL;
        hr_file_array array;
        const hr_file_array like = {.type = HR_I8,
                                    .order =
                                        i % 2 ? HR_COLUMN_MAJOR : HR_ROW_MAJOR,
                                    .rank = 3,
                                    .extents = {2, 3, 4}};
        if (CHECK(hr_file_create_array(names[i / 2], like, &file, &array) ==
                  HR_OK)) {
            memset(array.data, 5, 24);
            CHECK(strcmp(hr_file_form(file), "?") == 0);
            CHECK(hr_file_commit(file) == HR_OK);
            hr_file_close(file);
        }
        if (CHECK(hr_file_open_array(names[i / 2], &like, &file, &array) ==
                  HR_OK)) {
            CHECK(strcmp(hr_file_form(file), i < 4 ? "raw" : "npy") == 0);
            CHECK(array.rank == 3 && array.order == like.order &&
                  array.extents[2] == 4);
            CHECK(memcmp(array.data, "\5\5\5\5\5\5\5\5", 8) == 0);
            hr_file_close(file);
        }
        hr_matrix m = {.rows = -7};
        hr_file *none = NULL;
        CHECK(hr_file_open(names[i / 2], &none, &m) != HR_OK);
        CHECK(none == NULL && m.rows == -7);
        unlink(names[i / 2]);
    }
}

static void empty_raw_files_come_back(void)
{
    TEST_CASE("no elements, so no bytes");
    hr_file *file = NULL;
    hr_file_array array;
    const hr_file_array like = {.type = HR_F64, .rank = 2, .extents = {0, 3}};
    if (CHECK(hr_file_create_array("e.raw", like, &file, &array) == HR_OK)) {
        CHECK(hr_file_commit(file) == HR_OK);
        hr_file_close(file);
    }
    if (CHECK(hr_file_open_array("e.raw", &like, &file, &array) == HR_OK)) {
        CHECK(array.extents[0] == 0 && array.extents[1] == 3);
        hr_file_close(file);
    }
    unlink("e.raw");
}

static void wrong_arrays_are_refused(void)
{
    hr_file *file = NULL;
    hr_file_array array, like = {.type = HR_F32, .rank = 2, .extents = {2, 3}};
    TEST_CASE("forms that are not written");
    CHECK_FAILS(hr_file_create_array("a.npz", like, &file, &array),
                HR_ERROR_UNSUPPORTED, "a.npz: files of this form");
    CHECK_FAILS(hr_file_create_array("a.safetensors", like, &file, &array),
                HR_ERROR_UNSUPPORTED, "files of this form");
    TEST_CASE("what raw says makes no sense");
    FILE *text = fopen("t", "w");
    CHECK(text != NULL && fputs("Call me Ishmael.", text) >= 0 &&
          fclose(text) == 0);
    CHECK_FAILS(hr_file_open_array("t", &like, &file, &array), HR_ERROR_IO,
                "t: 2x3 elements of f32 have 24 bytes, but the file has 16");
    like.rank = 7;
    CHECK_FAILS(hr_file_open_array("t", &like, &file, &array), HR_ERROR_INVALID,
                "t: an array of 7 dimensions");
    CHECK_FAILS(hr_file_create_array("a.npy", like, &file, &array),
                HR_ERROR_INVALID, "a.npy: an array of 7 dimensions");
    TEST_CASE("a member of a file without members");
    CHECK_FAILS(hr_file_open_array("t:x", NULL, &file, &array), HR_ERROR_IO,
                "t: its 16 bytes begin neither a .npz nor a safetensors "
                "file; only these have arrays with names");
    CHECK_FAILS(hr_file_open_array("u:x", NULL, &file, &array), HR_ERROR_IO,
                "u:x: it cannot be opened");
    TEST_CASE("no place for the array");
    CHECK_FAILS(hr_file_open_array("t", NULL, &file, NULL), HR_ERROR_INVALID,
                "array or matrix is NULL");
    CHECK(file == NULL && strcmp(hr_file_form(NULL), "?") == 0);
    CHECK(truncate("t", 0) == 0);
    CHECK_FAILS(hr_file_open_array("t:x", NULL, &file, &array), HR_ERROR_IO,
                "its 0 bytes begin neither");
    unlink("t");
}

/* Against values that others publish, and all lengths against byte by byte. */
static void sums_are_those_of_zip(void)
{
    uint8_t bytes[100];
    TEST_CASE("CRC-32");
    CHECK(hri_crc32((const uint8_t *)"123456789", 9) == 0xCBF43926u);
    CHECK(hri_crc32(bytes, 0) == 0);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 37 + 11);
    }
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint32_t sum = ~0u;
        for (size_t i = 0; i < size; i++) {
            sum ^= bytes[i];
            for (int bit = 0; bit < 8; bit++) {
                sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xEDB88320u : 0);
            }
        }
        CHECK(hri_crc32(bytes, size) == ~sum);
    }
}

int main(void)
{
    char folder[64];
    files_make_folder(folder, sizeof folder);
    files_must(chdir(folder) == 0, folder);
    TEST(arrays_are_found());
    TEST(others_are_refused());
    TEST(wrong_sizes_do_not_unpack());
    TEST(raw_files_come_back());
    TEST(empty_raw_files_come_back());
    TEST(wrong_arrays_are_refused());
    TEST(sums_are_those_of_zip());
    files_remove_folder(folder);
    return test_end();
}
