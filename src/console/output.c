/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/draft.h"
#include "base/environment.h"
#include "base/kind.h"
#include "base/member.h"
#include "base/size.h"
#include "context.h"
#include "loop.h"
#include "random.h"
#include "signals.h"
#include "standard.h"

static void guard(const cli_array *a, bool output)
{
    const hr_matrix m = cli_matrix(&a->array);
    const bool standard = cli_is_standard(a->path);
    cli_guard(!standard ? a->path
              : output  ? "standard output"
                        : "standard input",
              m.data, (size_t)m.rows * (size_t)m.cols * hr_type_size(m.type),
              output);
}

hr_matrix cli_matrix(const hr_file_array *array)
{
    const int last = array->rank - 1;
    const int64_t cols = array->rank > 1 ? array->extents[last] : 1;
    int64_t rows = array->rank > 0 ? array->extents[0] : 1;
    for (int i = 1; i < last; i++) {
        rows *= array->extents[i];
    }
    return array->rank == 2 && array->order == HR_COLUMN_MAJOR
               ? hr_matrix_column_major(array->data, array->type, rows, cols, 0)
               : hr_matrix_row_major(array->data, array->type, rows, cols, 0);
}

/* Copy an array in Fortran order, of 2 dimensions or more, in row order. For
 * each index of the dimensions between, the first and the last one make a
 * matrix. */
static int copy_in_rows(const hr_file_array *from, void *to)
{
    const int last = from->rank - 1;
    const int64_t *e = from->extents;
    const size_t size = hr_type_size(from->type);
    int64_t between = 1;
    for (int i = 1; i < last; i++) {
        between *= e[i];
    }
    for (int64_t i = 0; i < between; i++) {
        int64_t rest = i, source = 0, step = e[0]; /* the index in `from` */
        int64_t place = between;
        for (int d = 1; d < last; d++) {
            place /= e[d];
            source += rest / place * step;
            rest %= place;
            step *= e[d];
        }
        HRI_TRY(cli_copy(
            hr_matrix_column_major((char *)from->data + (size_t)source * size,
                                   from->type, e[0], e[last], e[0] * between),
            hr_matrix_row_major((char *)to + (size_t)(i * e[last]) * size,
                                from->type, e[0], e[last], between * e[last]),
            NULL));
    }
    return CLI_OK;
}

int cli_input_in_rows(cli_array *input)
{
    hr_file_array *array = &input->array;
    const hr_matrix m = cli_matrix(array);
    const size_t bytes =
        (size_t)m.rows * (size_t)m.cols * hr_type_size(array->type);
    if (array->order == HR_ROW_MAJOR || array->rank < 2) {
        return CLI_OK;
    }
    if (bytes > 0) {
        input->copy = malloc(bytes);
        if (input->copy == NULL) {
            return cli_fail("%s: no memory to put its %zu bytes in row order",
                            input->path, bytes);
        }
        const int status = copy_in_rows(array, input->copy);
        if (status != CLI_OK) {
            return status;
        }
    }
    array->data = input->copy;
    array->order = HR_ROW_MAJOR;
    return CLI_OK;
}

int cli_input_open(cli_array *input, const char *path, const hr_file_array *raw)
{
    input->path = path;
    if (path == NULL) {
        return CLI_OK;
    }
    HRI_TRY(cli_open(path, raw, &input->file, &input->array));
    guard(input, false);
    return input->array.rank > 2 ? cli_input_in_rows(input) : CLI_OK;
}

/* stat, of the file that a name of an array is in. */
static int stat_file(const char *name, struct stat *found)
{
    char path[PATH_MAX];
    const char *member = hri_member_of(name);
    const size_t length =
        member != NULL ? (size_t)(member - name) - 1 : strlen(name);
    if (length >= sizeof path) {
        return -1;
    }
    memcpy(path, name, length);
    path[length] = '\0';
    return stat(path, found);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether two names are those of one file, which need not be there yet. */
static bool is_one_file(const char *name, const char *path)
{
    struct stat one, other;
    char *targets[2] = {NULL, NULL};
    if (stat_file(name, &one) == 0) {
        return stat(path, &other) == 0 && is_same(&one, &other);
    }
    const bool same = hri_draft_target(name, &targets[0]) == 0 &&
                      hri_draft_target(path, &targets[1]) == 0 &&
                      strcmp(targets[0], targets[1]) == 0;
    free(targets[0]);
    free(targets[1]);
    return same;
}

int cli_output_check(const cli_command *command, const char *option,
                     const char *path, const char *const *inputs,
                     int input_count)
{
    struct stat old, other;
    if (cli_is_standard(path)) {
        return cli_standard_reserve(command);
    }
    if (stat(path, &old) != 0) {
        return CLI_OK;
    }
    for (int i = 0; i < input_count; i++) {
        if (inputs[i] != NULL && !cli_reads_standard(inputs[i]) &&
            is_one_file(inputs[i], path)) {
            return cli_wrong(command,
                             "%s: '%s' is the same file as the input '%s'",
                             option, path, inputs[i]);
        }
    }
    if (!S_ISREG(old.st_mode)) {
        return cli_wrong(command, "%s: '%s' is not a regular file but %s",
                         option, path, hri_kind_of(old.st_mode));
    }
    return fstat(STDOUT_FILENO, &other) != 0 || !is_same(&other, &old)
               ? CLI_OK
               : cli_wrong(command, "%s: '%s' is standard output; say %s -",
                           option, path, option);
}

int cli_timeline_check(const cli_command *command, const char *trace,
                       const char *const *files, int file_count)
{
    const char *option = trace != NULL ? "--trace" : "HEADRACE_TRACE";
    const char *path = trace != NULL ? trace : hri_environment(option);
    for (int i = 0; i < file_count && path != NULL; i++) {
        if (files[i] != NULL && !cli_reads_standard(files[i]) &&
            is_one_file(files[i], path)) {
            return cli_wrong(command, "%s: '%s' is the same file as '%s'",
                             option, path, files[i]);
        }
    }
    return CLI_OK;
}

/* The file exists now: let signal handlers know. */
static int watch(cli_array *output)
{
    const char *temporary = hr_file_temporary(output->file);
    if (temporary == NULL || !cli_remember(temporary)) {
        int status = cli_fail("the name of %s is too long", output->path);
        hr_file_close(output->file);
        output->file = NULL;
        return status;
    }
    guard(output, true);
    return CLI_OK;
}

/* Create the file. On its way to standard output nobody else may read it. */
static hr_status create(cli_array *output, hr_file_array like)
{
    char name[PATH_MAX];
    const bool standard = cli_is_standard(output->path);
    mode_t mask = 0;
    if (standard) {
        cli_standard_name(output->path, name);
        mask = umask(S_IRWXG | S_IRWXO);
    }
    const hr_status status = hr_file_create_array(
        standard ? name : output->path, like, &output->file, &output->array);
    if (standard) {
        umask(mask);
    }
    return status;
}

int cli_output_create(cli_array *output, const char *path, hr_file_array like)
{
    output->path = path;
    cli_signals_phase(CLI_HELD);
    int status =
        create(output, like) == HR_OK ? watch(output) : cli_failed_call();
    cli_signals_phase(CLI_POLLED);
    return status == CLI_OK ? cli_check_cancelled() : status;
}

/* Write the file to standard output, and remove it. */
static int send(cli_array *output)
{
    HRI_TRY(cli_standard_send(hr_file_temporary(output->file)));
    cli_signals_phase(CLI_HELD); /* the reader has all */
    cli_unguard();
    hr_file_close(output->file);
    output->file = NULL;
    cli_forget();
    return CLI_OK;
}

int cli_files_commit(cli_files *files)
{
    for (int i = 0; i < CLI_MAX_INPUTS; i++) {
        if (files->in[i].file != NULL &&
            hr_file_unchanged(files->in[i].file) != HR_OK) {
            return cli_failed_call();
        }
    }
    if (cli_is_standard(files->out.path)) {
        cli_signals_phase(CLI_AT_ONCE);
        HRI_TRY(cli_check_cancelled());
        return send(&files->out);
    }
    /* Writing to the disk may take long and cannot be interrupted. */
    cli_signals_phase(CLI_COMMITTING);
    HRI_TRY(cli_check_cancelled());
    return cli_called(hr_file_commit(files->out.file));
}

void cli_files_close(cli_files *files)
{
    cli_unguard();
    if (files->out.file != NULL) {
        hr_file_close(files->out.file);
        cli_forget();
    }
    for (int i = 0; i < CLI_MAX_INPUTS; i++) {
        hr_file_close(files->in[i].file);
        free(files->in[i].copy);
    }
}

static int write_random(cli_files *files, hr_file_array like, uint64_t seed,
                        cli_progress *progress)
{
    HRI_TRY(cli_output_create(&files->out, files->out.path, like));
    cli_random_fill(cli_matrix(&files->out.array), seed, progress);
    cli_progress_end(progress);
    HRI_TRY(cli_check_cancelled());
    return cli_files_commit(files);
}

int cli_output_random(const char *path, hr_matrix like, hr_order order,
                      uint64_t seed, cli_progress *progress)
{
    cli_files files = {.out = {.path = path}};
    const hr_file_array array = {.type = like.type,
                                 .order = order,
                                 .rank = 2,
                                 .extents = {like.rows, like.cols}};
    const int status = write_random(&files, array, seed, progress);
    cli_files_close(&files);
    return status;
}

enum { COPY_ROWS = 64, COPY_COLS = 512 /* of a block; fits a cache */ };

typedef struct copy {
    hr_matrix from, to;
    int64_t across; /* number of blocks side by side */
} copy;

/* Copy one block. `to` is row-major, `from` has any layout. */
static void copy_block(void *data, int64_t index)
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
    cli_loop(hri_ceil_div(to.rows, COPY_ROWS) * c.across, copy_block, &c,
             progress,
             (double)COPY_ROWS * COPY_COLS * (double)hr_type_size(to.type));
    cli_progress_end(progress);
    return cli_check_cancelled();
}
