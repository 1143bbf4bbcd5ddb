/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "mpi/messages.h"

static void copy_elements(hri_mpi_place to, hri_mpi_place from, int64_t rows,
                          size_t element_bytes)
{
    for (int64_t i = 0; i < rows; i++) {
        memcpy(to.data, from.data, element_bytes);
        to.data += to.row_stride * (int64_t)element_bytes;
        from.data += from.row_stride * (int64_t)element_bytes;
    }
}

void hri_mpi_copy_box(hri_mpi_place to, hri_mpi_place from, int64_t rows,
                      int64_t cols, size_t element_bytes)
{
    const bool whole = to.row_stride == 1 && from.row_stride == 1;
    for (int64_t j = 0; j < cols; j++) {
        if (whole) {
            memcpy(to.data, from.data, (size_t)rows * element_bytes);
        } else {
            copy_elements(to, from, rows, element_bytes);
        }
        to.data += to.col_stride * (int64_t)element_bytes;
        from.data += from.col_stride * (int64_t)element_bytes;
    }
}
