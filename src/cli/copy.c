/* SPDX-License-Identifier: MIT */
#include "copy.h"

#include <string.h>

#include "loop.h"

enum { COPY_ROWS = 64, COPY_COLS = 512 /* a piece, which fits a cache */ };

typedef struct copy {
    hr_matrix from, to;
    int64_t across; /* pieces side by side */
} copy;

static void copy_elements(char *to, const char *from, size_t size, int64_t step,
                          int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * size, from + (size_t)(i * step) * size, size);
    }
}

/* Rows of `to` follow each other; `from` has any layout. */
static void copy_piece(void *data, int64_t index)
{
    const copy *c = data;
    size_t size = hr_type_size(c->to.type);
    int64_t row = index / c->across * COPY_ROWS;
    int64_t col = index % c->across * COPY_COLS;
    int64_t rows = c->to.rows - row, cols = c->to.cols - col;
    rows = rows < COPY_ROWS ? rows : COPY_ROWS;
    cols = cols < COPY_COLS ? cols : COPY_COLS;
    for (int64_t r = row; r < row + rows; r++) {
        char *to =
            (char *)c->to.data + (size_t)(r * c->to.row_stride + col) * size;
        const char *from =
            (const char *)c->from.data +
            (size_t)(r * c->from.row_stride + col * c->from.col_stride) * size;
        if (c->from.col_stride == 1) {
            memcpy(to, from, (size_t)cols * size);
        } else {
            copy_elements(to, from, size, c->from.col_stride, cols);
        }
    }
}

bool cli_copy(hr_matrix from, hr_matrix to, cli_progress *progress)
{
    copy c = {from, to, (to.cols + COPY_COLS - 1) / COPY_COLS};
    int64_t down = (to.rows + COPY_ROWS - 1) / COPY_ROWS;
    return cli_loop(down * c.across, copy_piece, &c, progress,
                    (double)COPY_ROWS * COPY_COLS *
                        (double)hr_type_size(to.type));
}
