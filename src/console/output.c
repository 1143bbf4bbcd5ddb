/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kind.h"
#include "base/size.h"
#include "context.h"
#include "loop.h"
#include "random.h"
#include "signals.h"
#include "standard.h"

static void guard(const cli_npy *npy, bool output)
{
    const hr_matrix *m = &npy->matrix;
    const bool standard = cli_is_standard(npy->path);
    cli_guard(!standard ? npy->path
              : output  ? "standard output"
                        : "standard input",
              m->data,
              (size_t)m->rows * (size_t)m->cols * hr_type_size(m->type),
              output);
}

int cli_input_open(cli_npy *input, const char *path)
{
    input->path = path;
    if (path == NULL) {
        return CLI_OK;
    }
    const int status = cli_open(path, &input->file, &input->matrix);
    if (status == CLI_OK) {
        guard(input, false);
    }
    return status;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int cli_output_check(const cli_command *command, const char *path,
                     const char *const *inputs, int input_count)
{
    struct stat old, other;
    if (cli_is_standard(path)) {
        return cli_standard_reserve(command);
    }
    if (stat(path, &old) != 0) {
        return CLI_OK;
    }
    for (int i = 0; i < input_count; i++) {
        if (inputs[i] != NULL && !cli_is_standard(inputs[i]) &&
            stat(inputs[i], &other) == 0 && is_same(&other, &old)) {
            return cli_wrong(command,
                             "-o: '%s' is the same file as the input '%s'",
                             path, inputs[i]);
        }
    }
    if (!S_ISREG(old.st_mode)) {
        return cli_wrong(command, "-o: '%s' is not a regular file but %s", path,
                         hri_kind_of(old.st_mode));
    }
    return fstat(STDOUT_FILENO, &other) != 0 || !is_same(&other, &old)
               ? CLI_OK
               : cli_wrong(command, "-o: '%s' is standard output; say -o -",
                           path);
}

/* The file exists now: let signal handlers know. */
static int watch(cli_npy *output)
{
    const char *temporary = hr_npy_temporary(output->file);
    if (temporary == NULL || !cli_remember(temporary)) {
        int status = cli_fail("the name of %s is too long", output->path);
        hr_npy_close(output->file);
        output->file = NULL;
        return status;
    }
    guard(output, true);
    return CLI_OK;
}

/* Create the file. On its way to standard output nobody else may read it. */
static hr_status create(cli_npy *output, hr_matrix like, hr_order order)
{
    char name[PATH_MAX];
    const bool standard = cli_is_standard(output->path);
    mode_t mask = 0;
    if (standard) {
        cli_standard_name(name);
        mask = umask(S_IRWXG | S_IRWXO);
    }
    const hr_status status =
        hr_npy_create(standard ? name : output->path, like.type, like.rows,
                      like.cols, order, &output->file, &output->matrix);
    if (standard) {
        umask(mask);
    }
    return status;
}

int cli_output_create(cli_npy *output, const char *path, hr_matrix like,
                      hr_order order)
{
    output->path = path;
    cli_signals_phase(CLI_HELD);
    int status = create(output, like, order) == HR_OK ? watch(output)
                                                      : cli_failed_call();
    cli_signals_phase(CLI_POLLED);
    return status == CLI_OK ? cli_check_cancelled() : status;
}

/* Write the file to standard output, and remove it. */
static int send(cli_npy *output)
{
    const int status = cli_standard_send(hr_npy_temporary(output->file));
    if (status == CLI_OK) {
        cli_signals_phase(CLI_HELD); /* the reader has all */
        cli_unguard();
        hr_npy_close(output->file);
        output->file = NULL;
        cli_forget();
    }
    return status;
}

int cli_files_commit(cli_files *files)
{
    for (int i = 0; i < CLI_MAX_INPUTS; i++) {
        if (files->in[i].file != NULL &&
            hr_npy_unchanged(files->in[i].file) != HR_OK) {
            return cli_failed_call();
        }
    }
    if (cli_is_standard(files->out.path)) {
        cli_signals_phase(CLI_AT_ONCE);
        return cli_check_cancelled() == CLI_OK ? send(&files->out) : CLI_FAILED;
    }
    /* Writing to the disk may take long and cannot be interrupted. */
    cli_signals_phase(CLI_COMMITTING);
    return cli_check_cancelled() == CLI_OK
               ? cli_called(hr_npy_commit(files->out.file))
               : CLI_FAILED;
}

void cli_files_close(cli_files *files)
{
    cli_unguard();
    if (files->out.file != NULL) {
        hr_npy_close(files->out.file);
        cli_forget();
    }
    for (int i = 0; i < CLI_MAX_INPUTS; i++) {
        hr_npy_close(files->in[i].file);
    }
}

int cli_output_random(const char *path, hr_matrix like, hr_order order,
                      uint64_t seed, cli_progress *progress)
{
    cli_files files = {.out = {.path = path}};
    int status = cli_output_create(&files.out, path, like, order);
    if (status == CLI_OK) {
        cli_random_fill(files.out.matrix, seed, progress);
        cli_progress_end(progress);
        status = cli_check_cancelled();
    }
    status = status == CLI_OK ? cli_files_commit(&files) : status;
    cli_files_close(&files);
    return status;
}

enum { COPY_ROWS = 64, COPY_COLS = 512 /* of a piece; fits a cache */ };

typedef struct copy {
    hr_matrix from, to;
    int64_t across; /* number of pieces side by side */
} copy;

/* Copy one piece. `to` is row-major, `from` has any layout. */
static void copy_piece(void *data, int64_t index)
{
    const copy *c = data;
    size_t size = hr_type_size(c->to.type);
    size_t step = (size_t)c->from.col_stride * size;
    int64_t row = index / c->across * COPY_ROWS;
    int64_t col = index % c->across * COPY_COLS;
    int64_t rows = hri_min(c->to.rows - row, COPY_ROWS);
    int64_t cols = hri_min(c->to.cols - col, COPY_COLS);
    for (int64_t r = row; r < row + rows; r++) {
        char *to =
            (char *)c->to.data + (size_t)(r * c->to.row_stride + col) * size;
        const char *from =
            (const char *)c->from.data +
            (size_t)(r * c->from.row_stride + col * c->from.col_stride) * size;
        if (c->from.col_stride == 1) {
            memcpy(to, from, (size_t)cols * size);
            continue;
        }
        for (size_t i = 0; i < (size_t)cols; i++) {
            memcpy(to + i * size, from + i * step, size);
        }
    }
}

int cli_copy(hr_matrix from, hr_matrix to, cli_progress *progress)
{
    copy c = {from, to, hri_ceil_div(to.cols, COPY_COLS)};
    cli_loop(hri_ceil_div(to.rows, COPY_ROWS) * c.across, copy_piece, &c,
             progress,
             (double)COPY_ROWS * COPY_COLS * (double)hr_type_size(to.type));
    cli_progress_end(progress);
    return cli_check_cancelled();
}
