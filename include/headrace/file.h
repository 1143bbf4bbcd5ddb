/* SPDX-License-Identifier: MIT */
/** @file file.h
 *  Arrays in files, mapped into memory.
 *
 *  Because files are mapped, operands may be larger than memory. A new file
 *  appears under its name whole or not at all.
 *
 *  Forms that are read, told apart by their first bytes:
 *  - .npy of NumPy, versions 1 to 3, in C and Fortran order. Types: `<f4` f32,
 *    `<f8` f64, `<c8` c32, `<c16` c64, `<f2` f16, `|i1` i8, `<i4` i32, and
 *    `<V2` bf16. `<V2` is what NumPy writes for ml_dtypes' bfloat16. It is
 *    `|V2` when NumPy reads it and writes it again without ml_dtypes.
 *  - .npz of NumPy: a zip archive of .npy files, stored or compressed. Each is
 *    a member. Compressed ones need libz at run time.
 *  - safetensors: each tensor of F32, F64, F16, BF16, I8, I32 or C64 (c32) is
 *    a member.
 *  - Elements alone, little-endian, where the caller gives type and shape.
 *
 *  "model.safetensors:blk.0.w" names a member, behind the last colon that has
 *  the name of a file before it. A file that has the whole name comes first.
 *  Where there is one member, the name of the file will do. */
#ifndef HEADRACE_FILE_H
#define HEADRACE_FILE_H

#include <headrace/array.h>
#include <headrace/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A file mapped into memory. */
typedef struct hr_file hr_file;

/** Element order of a file. */
typedef enum hr_order {
    HR_ROW_MAJOR = 0,   /**< C order */
    HR_COLUMN_MAJOR = 1 /**< Fortran order */
} hr_order;

/** An array that lies whole in memory, without gaps. */
typedef struct hr_file_array {
    void *data;
    hr_type type;
    hr_order order; /**< which index runs fastest: row major the last one,
                         column major the first one */
    int32_t rank;   /**< 0 to 6 */
    int64_t extents[HR_MAX_RANK]; /**< those from rank on are not used */
} hr_file_array;

/** Map an array of a file for reading. What is compressed, or does not begin at
 *  a multiple of its elements' size, is copied into memory instead. Members of
 *  a .npz are read once to compare their CRC.
 *
 * @owner   *file is the caller's, to be given to hr_file_close; *array lives as
 *          long as it. Both are written only on success. Writing through
 *          *array is an error that the system answers with a signal. So is
 *          reading what another program has cut off the file meanwhile.
 * @shape   raw has the type, order, rank and extents of a file that has no
 *          header; its data is not used. Files with a header are read by that.
 *          NULL: only these are read.
 * @errors  HR_ERROR_INVALID when an argument but raw is NULL, or raw makes no
 *          sense. HR_ERROR_IO when the file cannot be read, is in none of the
 *          forms, is shorter than its header says, has a header that makes no
 *          sense, or lacks the member. The same for members whose CRC is wrong,
 *          and elements without a header whose bytes are more or fewer than raw
 *          says. HR_ERROR_UNSUPPORTED, by name, for versions, element types,
 *          numbers of dimensions and compressions that Headrace does not take,
 *          and for big-endian data. HR_ERROR_UNAVAILABLE when libz is missing.
 *          HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread.
 * @source  numpy.lib.format, versions 1.0 to 3.0; PKWARE's APPNOTE 6.3; the
 *          format of the safetensors project. */
HR_API HR_NODISCARD hr_status hr_file_open_array(const char *name,
                                                 const hr_file_array *raw,
                                                 hr_file **file,
                                                 hr_file_array *array);

/** hr_file_open_array of a file with a header whose array has one dimension (a
 *  column) or two.
 *
 * @owner   As hr_file_open_array.
 * @errors  As hr_file_open_array. HR_ERROR_UNSUPPORTED for other ranks.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_file_open(const char *name, hr_file **file,
                                           hr_matrix *matrix);

/** The form of an opened file: "npy", "npz", "safetensors" or "raw". "?" for a
 *  created file and NULL.
 * @owner   A constant string.
 * @threads Any thread. */
HR_API const char *hr_file_form(const hr_file *file);

/** Make a file for an array like `like` and map it for writing. A name that
 *  ends in .raw or .bin gives elements alone, little-endian; every other one
 *  gives a .npy file. It has all its disk space at once, and a temporary name
 *  beside path. hr_file_commit puts it in its place, and in the place of any
 *  earlier file of that name. A symbolic link stays, and what it points to is
 *  replaced. The permissions are those of the earlier file, else those of any
 *  new file. Temporary files that killed processes of this machine left in the
 *  folder are removed, where the file system has locks.
 *
 * @owner   As hr_file_open_array. hr_file_close without hr_file_commit removes
 *          it. like.data is not used.
 * @errors  HR_ERROR_INVALID for negative sizes, a wrong type, rank or order,
 *          sizes that overflow, or a pointer that is NULL. HR_ERROR_UNSUPPORTED
 *          for names that end in .npz or .safetensors. HR_ERROR_IO when the
 *          disk is full or the folder cannot be written. The same when the
 *          name is that of a folder, a device or a write-protected file, or
 *          stands for an open file, as /dev/stdout does.
 *          HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_file_create_array(const char *path,
                                                   hr_file_array like,
                                                   hr_file **file,
                                                   hr_file_array *array);

/** hr_file_create_array for rows x cols elements.
 *
 * @owner   As hr_file_create_array.
 * @errors  As hr_file_create_array.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_file_create(const char *path, hr_type type,
                                             int64_t rows, int64_t cols,
                                             hr_order order, hr_file **file,
                                             hr_matrix *matrix);

/** Write a created file to the disk and give it its name. Its matrix stays
 *  mapped until hr_file_close.
 *
 * @errors  HR_ERROR_INVALID for NULL, and for a file that was opened, or
 *          committed before. HR_ERROR_IO when the disk or the renaming fails:
 *          the earlier file of that name is then still there.
 * @threads One thread at a time for each file. */
HR_API HR_NODISCARD hr_status hr_file_commit(hr_file *file);

/** Whether an opened file is still as it was when it was opened: same size,
 *  same time of change, same file under the name.
 *
 * @errors  HR_ERROR_IO when it is not; HR_ERROR_INVALID for a created file and
 *          for NULL.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_file_unchanged(const hr_file *file);

/** The temporary name of a created file, for a program that must remove it when
 *  it exits. NULL when there is none, and for NULL.
 * @owner   The file's; valid until hr_file_commit or hr_file_close.
 * @threads Any thread. */
HR_API const char *hr_file_temporary(const hr_file *file);

/** Unmap and close; remove a created file that was not committed. NULL is
 *  accepted.
 * @threads One thread at a time for each file. */
HR_API void hr_file_close(hr_file *file);

#ifdef __cplusplus
}
#endif
#endif
