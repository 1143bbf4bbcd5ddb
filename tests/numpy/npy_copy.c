/* SPDX-License-Identifier: MIT */
/* .npy files through Headrace, for test_numpy.py:
 *     npy_copy copy row|column IN OUT... write each IN's elements again
 *     npy_copy describe IN...            a line for each: what it holds, or why
 *                                        it is refused */
#include <stdio.h>
#include <string.h>

#include <headrace/headrace.h>

#include "base/status.h"

static void copy_elements(hr_matrix to, hr_matrix from)
{
    size_t size = hr_type_size(from.type);
    for (int64_t row = 0; row < from.rows; row++) {
        for (int64_t col = 0; col < from.cols; col++) {
            int64_t source = row * from.row_stride + col * from.col_stride;
            int64_t target = row * to.row_stride + col * to.col_stride;
            memcpy((char *)to.data + (size_t)target * size,
                   (const char *)from.data + (size_t)source * size, size);
        }
    }
}

/* The files stay open. */
static hr_status copy_file(hr_order order, const char *in, const char *out,
                           hr_file *files[2])
{
    hr_matrix from, to;
    HRI_TRY(hr_file_open(in, &files[0], &from));
    HRI_TRY(hr_file_create(out, from.type, from.rows, from.cols, order,
                           &files[1], &to));
    copy_elements(to, from);
    return hr_file_commit(files[1]);
}

static bool has_copied(hr_order order, const char *in, const char *out)
{
    hr_file *files[2] = {NULL};
    const hr_status status = copy_file(order, in, out, files);
    if (status != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
    }
    hr_file_close(files[1]);
    hr_file_close(files[0]);
    return status == HR_OK;
}

static void describe_file(const char *path)
{
    hr_file *file;
    hr_matrix m;
    hr_status status = hr_file_open(path, &file, &m);
    if (status != HR_OK) {
        printf("%s %s\n", hr_status_name(status), hr_last_error());
        return;
    }
    printf("HR_OK %s %lld %lld %lld %lld\n", hr_type_name(m.type),
           (long long)m.rows, (long long)m.cols, (long long)m.row_stride,
           (long long)m.col_stride);
    hr_file_close(file);
}

int main(int argc, char **argv)
{
    if (argc > 2 && argc % 2 == 1 && strcmp(argv[1], "copy") == 0) {
        hr_order order =
            strcmp(argv[2], "row") == 0 ? HR_ROW_MAJOR : HR_COLUMN_MAJOR;
        int failures = 0;
        for (int i = 3; i < argc; i += 2) {
            failures += !has_copied(order, argv[i], argv[i + 1]);
        }
        return failures > 0;
    }
    if (argc > 1 && strcmp(argv[1], "describe") == 0) {
        for (int i = 2; i < argc; i++) {
            describe_file(argv[i]);
        }
        return 0;
    }
    fprintf(stderr, "usage: npy_copy copy row|column IN OUT...\n"
                    "       npy_copy describe IN...\n");
    return 2;
}
