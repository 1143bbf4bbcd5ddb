/* SPDX-License-Identifier: MIT */
#include <headrace/matrix.h>

#include "base/size.h"
#include "base/status.h"

/* Declared in headrace/matrix.h; rows of a table instead of two switches. */
static const struct {
    const char *name;
    size_t size;
} types[] = {
    [HR_F32] = {"f32", 4},  [HR_F64] = {"f64", 8}, [HR_C32] = {"c32", 8},
    [HR_C64] = {"c64", 16}, [HR_F16] = {"f16", 2}, [HR_BF16] = {"bf16", 2},
    [HR_I8] = {"i8", 1},    [HR_I32] = {"i32", 4},
};

size_t hr_type_size(hr_type type)
{
    return type >= HR_F32 && type <= HR_I32 ? types[type].size : 0;
}

const char *hr_type_name(hr_type type)
{
    return type >= HR_F32 && type <= HR_I32 ? types[type].name : "?";
}

hr_scalar hr_real(double re)
{
    return (hr_scalar){re, 0.0};
}

hr_scalar hr_complex(double re, double im)
{
    return (hr_scalar){re, im};
}

hr_matrix hr_matrix_row_major(const void *data, hr_type type, int64_t rows,
                              int64_t cols, int64_t row_stride)
{
    return (hr_matrix){
        .data = (void *)(uintptr_t)data,
        .type = type,
        .rows = rows,
        .cols = cols,
        .row_stride = row_stride != 0 ? row_stride : hri_max(cols, 1),
        .col_stride = 1,
    };
}

hr_matrix hr_matrix_column_major(const void *data, hr_type type, int64_t rows,
                                 int64_t cols, int64_t col_stride)
{
    return hr_matrix_transpose(
        hr_matrix_row_major(data, type, cols, rows, col_stride));
}

hr_matrix hr_matrix_transpose(hr_matrix m)
{
    hr_matrix t = m;
    t.rows = m.cols;
    t.cols = m.rows;
    t.row_stride = m.col_stride;
    t.col_stride = m.row_stride;
    return t;
}

hr_matrix hr_matrix_conjugate(hr_matrix m)
{
    if (m.type == HR_C32 || m.type == HR_C64) {
        m.conjugate = !m.conjugate;
    }
    return m;
}

hr_status hr_matrix_section(hr_matrix m, int64_t row, int64_t col, int64_t rows,
                            int64_t cols, hr_matrix *section)
{
    if (section == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "section: there is no place to put it (NULL)");
    }
    if (row < 0 || col < 0 || rows < 0 || cols < 0 || row > m.rows ||
        col > m.cols || rows > m.rows - row || cols > m.cols - col) {
        return hri_fail(HR_ERROR_INVALID,
                        "section: %lldx%lld at (%lld, %lld) is not inside the "
                        "%lldx%lld matrix",
                        (long long)rows, (long long)cols, (long long)row,
                        (long long)col, (long long)m.rows, (long long)m.cols);
    }
    if (m.data != NULL && rows > 0 && cols > 0) {
        m.data = (char *)m.data + (row * m.row_stride + col * m.col_stride) *
                                      (int64_t)hr_type_size(m.type);
    }
    m.rows = rows;
    m.cols = cols;
    *section = m;
    return HR_OK;
}
