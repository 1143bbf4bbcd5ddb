/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <string.h>
#include <sys/stat.h>

#include "context.h"
#include "loop.h"
#include "random.h"
#include "signals.h"

int cli_input_open(const char *path, hr_npy **file, hr_matrix *matrix)
{
    if (hr_npy_open(path, file, matrix) != HR_OK) {
        return cli_failed_call();
    }
    cli_guard(path, matrix->data,
              (size_t)matrix->rows * (size_t)matrix->cols *
                  hr_type_size(matrix->type),
              false);
    return CLI_OK;
}

int cli_output_check(const cli_command *command, const char *path,
                     const char *const *inputs, int input_count)
{
    struct stat old, in;
    if (stat(path, &old) != 0) {
        return CLI_OK;
    }
    for (int i = 0; i < input_count; i++) {
        if (inputs[i] != NULL && stat(inputs[i], &in) == 0 &&
            in.st_dev == old.st_dev && in.st_ino == old.st_ino) {
            return cli_wrong(command,
                             "-o: '%s' is the same file as the input '%s'",
                             path, inputs[i]);
        }
    }
    return S_ISREG(old.st_mode)
               ? CLI_OK
               : cli_wrong(command, "-o: '%s' is not a regular file", path);
}

/* The file is there: let signals know of it. */
static int watch(cli_output *output)
{
    const char *temporary = hr_npy_temporary(output->file);
    size_t bytes = (size_t)output->matrix.rows * (size_t)output->matrix.cols *
                   hr_type_size(output->matrix.type);
    if (temporary == NULL || !cli_remember(temporary)) {
        int status = cli_fail("the name of %s is too long", output->path);
        hr_npy_close(output->file);
        output->file = NULL;
        return status;
    }
    cli_guard(output->path, output->matrix.data, bytes, true);
    return CLI_OK;
}

int cli_output_create(cli_output *output, const char *path, hr_type type,
                      int64_t rows, int64_t cols, hr_order order)
{
    output->path = path;
    cli_signals_phase(CLI_HELD);
    bool made = hr_npy_create(path, type, rows, cols, order, &output->file,
                              &output->matrix) == HR_OK;
    int status = made ? watch(output) : cli_failed_call();
    cli_signals_phase(CLI_POLLED);
    if (status == CLI_OK && cli_cancelled()) {
        status = cli_fail_cancelled();
    }
    return status;
}

int cli_output_commit(cli_output *output)
{
    /* Writing to the disk may take long and cannot be asked to stop. */
    cli_signals_phase(CLI_COMMITTING);
    if (cli_cancelled()) {
        return cli_fail_cancelled();
    }
    return hr_npy_commit(output->file) == HR_OK ? CLI_OK : cli_failed_call();
}

void cli_output_close(cli_output *output)
{
    if (output->file != NULL) {
        hr_npy_close(output->file);
        output->file = NULL;
        cli_forget();
    }
}

int cli_output_random(const char *path, hr_matrix like, hr_order order,
                      uint64_t seed, cli_progress *progress)
{
    cli_output output = {.file = NULL};
    int status = cli_output_create(&output, path, like.type, like.rows,
                                   like.cols, order);
    if (status == CLI_OK) {
        bool done = cli_random_fill(output.matrix, seed, progress);
        if (progress != NULL) {
            cli_progress_end(progress);
        }
        status = done ? cli_output_commit(&output) : cli_fail_cancelled();
    }
    cli_output_close(&output);
    return status;
}

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
