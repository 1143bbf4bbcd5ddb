/* SPDX-License-Identifier: MIT */
/* Descriptions of distributed matrices. */
#include <headrace/processes.h>

hr_mpi_matrix hr_mpi_matrix_cyclic(hr_type type, int64_t rows, int64_t cols,
                                   const hr_mpi_cyclic *blocks)
{
    return (hr_mpi_matrix){.type = type,
                           .rows = rows,
                           .cols = cols,
                           .whole_rows = rows,
                           .whole_cols = cols,
                           .cyclic = blocks};
}

hr_mpi_matrix hr_mpi_matrix_blocks(hr_type type, int64_t rows, int64_t cols,
                                   const hr_mpi_block *blocks, int64_t count)
{
    return (hr_mpi_matrix){.type = type,
                           .rows = rows,
                           .cols = cols,
                           .whole_rows = rows,
                           .whole_cols = cols,
                           .blocks = blocks,
                           .block_count = count};
}

hr_mpi_matrix hr_mpi_matrix_section(hr_mpi_matrix m, int64_t row, int64_t col,
                                    int64_t rows, int64_t cols)
{
    m.row += m.transposed ? col : row;
    m.col += m.transposed ? row : col;
    m.rows = rows;
    m.cols = cols;
    return m;
}

hr_mpi_matrix hr_mpi_matrix_transpose(hr_mpi_matrix m)
{
    const int64_t rows = m.rows;
    m.transposed = !m.transposed;
    m.rows = m.cols;
    m.cols = rows;
    return m;
}

hr_mpi_matrix hr_mpi_matrix_conjugate(hr_mpi_matrix m)
{
    m.conjugate = !m.conjugate && (m.type == HR_C32 || m.type == HR_C64);
    return m;
}
