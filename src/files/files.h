/* SPDX-License-Identifier: MIT */
/* What the files of this folder share.
 *
 * A .npy file begins with "\x93NUMPY" and two bytes of version. Then comes the
 * length of a text: 2 bytes in version 1, 4 in versions 2 and 3, little-endian.
 * The text follows, a Python dictionary with the keys 'descr', 'fortran_order'
 * and 'shape'. The elements come last. Source: numpy.lib.format, versions 1.0
 * to 3.0. A .npz file is a zip archive of such files. Source: APPNOTE 6.3 of
 * PKWARE.
 *
 * A safetensors file begins with the length of a text, 8 bytes, little-endian.
 * The text follows, a JSON object with a member for each tensor. The elements
 * of all tensors come last. Source: the safetensors project.
 *
 * hr_file_open_array maps a file and gives its bytes to read.c, which knows no
 * files: the first bytes tell the form. Each form has a reader, a pure function
 * over these bytes. No two members of an archive may have one name or share
 * bytes, and offsets and lengths are compared with the file before anything
 * behind them is read. Memory is used for what cannot be mapped: compressed
 * members and elements that are not aligned. */
#ifndef HRI_FILES_FILES_H
#define HRI_FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <headrace/file.h>

#include "base/status.h"

/* ---- array.c: what a file holds, and where */

/* A part of a file. It borrows the file's bytes. */
typedef struct hri_file_text {
    const uint8_t *bytes;
    size_t length;
} hri_file_text;

enum { HRI_FILE_SHOWN_BYTES = 64 };

/* Copy text for a message (base/printable.h): at most 60 bytes, then "...". It
 * ends at a 0. Returns shown. */
const char *hri_file_show(hri_file_text text, char shown[HRI_FILE_SHOWN_BYTES]);

bool hri_file_text_is(hri_file_text text, const char *wanted);

typedef struct hri_file_header {
    hr_file_array array; /* without its data */
    uint64_t data_offset, data_bytes;
} hri_file_header;

enum { HRI_FILE_SHAPE_BYTES = 160 };

/* Extents for a message: "2x3x4", or "()". Returns shape. */
const char *hri_file_shape(const hr_file_array *array,
                           char shape[HRI_FILE_SHAPE_BYTES]);

/* Fill in data_bytes. False when the file's length would reach 2^63. An extent
 * of 0 counts as 1 here: NumPy allows no larger extents even of an empty
 * array. */
bool hri_file_measure(hri_file_header *header);

/* Fill in data_bytes, and check that the elements lie inside `size` bytes. */
hr_status hri_file_check_place(hri_file_header *header, uint64_t size);

/* Check type, order, rank and extents that a caller gave. HR_ERROR_INVALID. */
hr_status hri_file_check_array(const hr_file_array *array);

/* An array of one or two dimensions. HR_ERROR_UNSUPPORTED for others. */
hr_status hri_file_matrix(const hr_file_array *array, hr_matrix *matrix);

/* ---- dictionary.c: the text of a .npy header */

typedef struct hri_npy_dictionary {
    hri_file_text descr; /* without its quotes */
    hri_file_text shape; /* with its brackets, for messages */
    uint64_t dimensions;
    int64_t extents[HR_MAX_RANK]; /* the first ones */
    bool fortran_order;
} hri_npy_dictionary;

/* Read the dictionary. python2 allows an L after integers. This is a pure
 * function of text.
 *
 * HR_ERROR_IO, with the place, when the text is not such a dictionary.
 * HR_ERROR_UNSUPPORTED for structured element types. */
hr_status hri_npy_parse_dictionary(hri_file_text text, bool python2,
                                   hri_npy_dictionary *out);

/* ---- npy.c: headers of .npy, as pure functions over bytes */

/* The bytes that we write before the elements: a multiple of 64, as NumPy
 * asks. Six extents whose product is below 2^63 fit. */
enum { HRI_NPY_HEADER_BYTES = 128 };

/* Whether bytes begin as a .npy file. */
bool hri_npy_is(const uint8_t *bytes, size_t size);

/* Read the header of a file. bytes has all `size` bytes of the file, and only
 * the header's are read. On success the elements lie inside the file, and
 * data_offset + data_bytes is below 2^63. Errors are those of
 * hr_file_open_array, without the file's name. */
hr_status hri_npy_parse(const uint8_t *bytes, size_t size,
                        hri_file_header *out);

/* Describe a file to write: version 1.0. HR_ERROR_INVALID for a wrong type,
 * order, rank or extent, or one that is too large. */
hr_status hri_npy_plan(hr_file_array array, hri_file_header *out);

/* Write the data_offset bytes of a header made by hri_npy_plan. */
void hri_npy_format(const hri_file_header *header, uint8_t *bytes);

/* ---- members.c: one of the arrays in a file */

typedef struct hri_member {
    hri_file_text name;
    uint64_t begin, end; /* the bytes of the file that are its own */
    /* of zip: */
    uint64_t stored_bytes, bytes; /* in the file, and when it is unpacked */
    uint32_t crc;
    uint16_t method;
    bool encrypted;
    /* of safetensors: */
    hri_file_text dtype;
    uint64_t rank;
    int64_t extents[HR_MAX_RANK];
} hri_member;

typedef struct hri_members {
    hri_member *list; /* zeroed at first; hri_members_free frees it */
    size_t count, capacity;
    uint8_t *text; /* names that are not in the file as they are */
} hri_members;

/* Add a zeroed member. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_members_add(hri_members *members, hri_member **added);

/* Sort by place. HR_ERROR_IO when two have one name, or share bytes. */
hr_status hri_members_check(hri_members *members);

/* Find the member of this name. NULL: there must be exactly one member.
 * HR_ERROR_IO, with the first names there are. */
hr_status hri_members_choose(const hri_members *members, const char *name,
                             const hri_member **chosen);

void hri_members_free(hri_members *members);

/* ---- zip.c, crc.c, inflate.c */

/* Whether bytes begin as a zip archive. */
bool hri_zip_is(const uint8_t *bytes, size_t size);

/* List the members. Names are without ".npy". */
hr_status hri_zip_members(const uint8_t *bytes, size_t size,
                          hri_members *members);

/* Find where the member's bytes begin. They lie inside the file. */
hr_status hri_zip_place(const uint8_t *bytes, size_t size,
                        const hri_member *member, uint64_t *offset);

/* The CRC-32 of zip archives. */
uint32_t hri_crc32(const uint8_t *bytes, size_t size);

/* Unpack deflated bytes into `bytes` bytes, with libz. HR_ERROR_IO when they
 * make more or fewer bytes, or none; HR_ERROR_UNAVAILABLE without libz. */
hr_status hri_inflate(const uint8_t *from, uint64_t from_bytes, uint8_t *to,
                      uint64_t bytes);

/* ---- safetensors.c */

/* Whether bytes begin as a safetensors file. */
bool hri_safetensors_is(const uint8_t *bytes, size_t size);

/* List the tensors. */
hr_status hri_safetensors_members(const uint8_t *bytes, size_t size,
                                  hri_members *members);

/* Where the elements of a tensor are, of a type and rank that we have. */
hr_status hri_safetensors_header(const hri_member *member, size_t size,
                                 hri_file_header *out);

/* ---- read.c: an array in the bytes of any file */

typedef struct hri_file_content {
    const char *form; /* as hr_file_form has it */
    hr_file_array array;
    void *memory; /* of an array that is not in place; else NULL */
    size_t memory_bytes;
} hri_file_content;

/* Find the array. member and raw may be NULL. Errors are those of
 * hr_file_open_array, without the file's name. */
hr_status hri_file_read(const uint8_t *bytes, size_t size, const char *member,
                        const hr_file_array *raw, hri_file_content *out);

/* Free its memory. */
void hri_file_content_free(hri_file_content *content);

/* ---- path.c: the file that a name means */

/* path as messages show it: the whole path, or its last 160 bytes. */
const char *hri_file_name(const char *path);

/* Set the error message "path: what: the system's words".
 * HR_ERROR_OUT_OF_MEMORY for ENOMEM, else HR_ERROR_IO. */
hr_status hri_file_fail(const char *path, const char *what, int error);

/* path from the root on. Its folder must exist, and has no symbolic links in
 * it. So later changes of the working folder do not matter. The caller frees
 * *absolute. */
hr_status hri_file_absolute(const char *path, char **absolute);

/* Like hri_file_absolute, but of the file that a symbolic link points to, which
 * need not exist. HR_ERROR_IO for /dev/stdout and its like: a program has that
 * file open. */
hr_status hri_file_follow(const char *path, char **target);

/* Write changes of names in path's folder to the disk, where the file system
 * can. */
void hri_file_sync_folder(const char *path);

#endif
