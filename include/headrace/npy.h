/* SPDX-License-Identifier: MIT */
/** @file npy.h
 *  Matrices in NumPy's .npy files, mapped into memory.
 *
 *  Because files are mapped, operands may be larger than memory. A new file
 *  appears under its name whole or not at all.
 *
 *  Types: `<f4` f32, `<f8` f64, `<c8` c32, `<c16` c64, `<f2` f16, `|i1` i8,
 *  `<i4` i32, and `<V2` bf16. `<V2` is what NumPy writes for ml_dtypes'
 *  bfloat16. It is `|V2` when NumPy reads it and writes it again without
 *  ml_dtypes. Format versions 1 to 3, C and Fortran order, one or two
 *  dimensions (one: a column). */
#ifndef HEADRACE_NPY_H
#define HEADRACE_NPY_H

#include <headrace/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A file mapped into memory. */
typedef struct hr_npy hr_npy;

/** Element order of a file. */
typedef enum hr_order {
    HR_ROW_MAJOR = 0,   /**< C order */
    HR_COLUMN_MAJOR = 1 /**< Fortran order */
} hr_order;

/** Map a file for reading.
 *
 * @owner   *file is the caller's, to be given to hr_npy_close; *matrix lives as
 *          long as it. Both are written only on success. Writing through
 *          *matrix is an error that the system answers with a signal. So is
 *          reading what another program has cut off the file meanwhile.
 * @errors  HR_ERROR_INVALID when an argument is NULL. HR_ERROR_IO when the file
 *          cannot be read, is no .npy file, is shorter than its header says, or
 *          has a header that makes no sense. HR_ERROR_UNSUPPORTED, by name, for
 *          format versions, element types and numbers of dimensions that
 *          Headrace does not take. The same for big-endian or misaligned data.
 *          HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread.
 * @source  The .npy format, numpy.lib.format, versions 1.0 to 3.0. */
HR_API HR_NODISCARD hr_status hr_npy_open(const char *path, hr_npy **file,
                                          hr_matrix *matrix);

/** Make a file of rows x cols elements and map it for writing. It has all its
 *  disk space at once, and a temporary name beside path. hr_npy_commit puts it
 *  in its place, and in the place of any earlier file of that name. A symbolic
 *  link stays, and what it points to is replaced. The permissions are those of
 *  the earlier file, else those of any new file. Temporary files that killed
 *  processes of this machine left in the folder are removed, where the file
 *  system has locks.
 *
 * @owner   As hr_npy_open. hr_npy_close without hr_npy_commit removes it.
 * @errors  HR_ERROR_INVALID for negative sizes, a wrong type, sizes that
 *          overflow, or a pointer that is NULL. HR_ERROR_IO when the disk is
 *          full or the folder cannot be written. The same when the name is that
 *          of a folder, a device or a write-protected file, or stands for an
 *          open file, as /dev/stdout does.
 *          HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_npy_create(const char *path, hr_type type,
                                            int64_t rows, int64_t cols,
                                            hr_order order, hr_npy **file,
                                            hr_matrix *matrix);

/** Write a created file to the disk and give it its name. Its matrix stays
 *  mapped until hr_npy_close.
 *
 * @errors  HR_ERROR_INVALID for NULL, and for a file that was opened, or
 *          committed before. HR_ERROR_IO when the disk or the renaming fails:
 *          the earlier file of that name is then still there.
 * @threads One thread at a time for each file. */
HR_API HR_NODISCARD hr_status hr_npy_commit(hr_npy *file);

/** Whether an opened file is still as it was when it was opened: same size,
 *  same time of change, same file under the name.
 *
 * @errors  HR_ERROR_IO when it is not; HR_ERROR_INVALID for a created file and
 *          for NULL.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_npy_unchanged(const hr_npy *file);

/** The temporary name of a created file, for a program that must remove it when
 *  it exits. NULL when there is none, and for NULL.
 * @owner   The file's; valid until hr_npy_commit or hr_npy_close.
 * @threads Any thread. */
HR_API const char *hr_npy_temporary(const hr_npy *file);

/** Unmap and close; remove a created file that was not committed. NULL is
 *  accepted.
 * @threads One thread at a time for each file. */
HR_API void hr_npy_close(hr_npy *file);

#ifdef __cplusplus
}
#endif
#endif
