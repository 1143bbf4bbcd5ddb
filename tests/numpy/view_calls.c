/* SPDX-License-Identifier: MIT */
/* Calls over views of .npy files, for test_view_calls.py. Each line of standard
 * input is a call, and each answer a line:
 *     reduce KIND A [B]      what hr_reduced holds: value integer index
 *     scan KIND HOW A OUT    "done": OUT has the scan of A
 *     fill VALUE ROWS COLS OUT    "done": OUT has the one element of VALUE
 *     histogram BINS LOW HIGH A   the counts
 *     sort ORDER A OUT       "done": OUT has the rows of A, sorted
 *     argsort ORDER A OUT    "done": OUT has where their elements were, in i32
 * A view of one column has rank 1. A call that fails answers with its status
 * and sentence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "base/status.h"
#include "calls/views.h"

enum { WORDS = 8, LINE = 4096, OPERANDS = 2 };

/* A file, and the view of it. */
typedef struct operand {
    hr_file *file;
    hr_matrix matrix;
    hr_array *array;
    hr_view view;
} operand;

/* What a call of one line has opened, and what it has for its work. */
typedef struct call {
    hr_context *context;
    char *words[WORDS]; /* those behind the name, and NULL */
    operand operands[OPERANDS];
    hr_array *array;
} call;

static hr_status wrap_operand(const call *c, operand *o)
{
    const hr_matrix *m = &o->matrix;
    const size_t bytes = hr_type_size(m->type);
    const hr_extent extent =
        m->cols == 1 ? hr_extent1(m->rows) : hr_extent2(m->rows, m->cols);
    HRI_TRY(hr_array_wrap_typed(
        c->context, m->data, hri_type_element(m->type), bytes, extent,
        m->cols == 1 ? 0 : (size_t)m->row_stride * bytes, &o->array));
    o->view = hr_view_of(o->array);
    return HR_OK;
}

static hr_status read_operand(const call *c, const char *path, operand *o)
{
    HRI_TRY(hr_file_open(path, &o->file, &o->matrix));
    return wrap_operand(c, o);
}

static hr_status make_operand(const call *c, const char *path, hr_type type,
                              int64_t rows, int64_t cols, operand *o)
{
    HRI_TRY(hr_file_create(path, type, rows, cols, HR_ROW_MAJOR, &o->file,
                           &o->matrix));
    return wrap_operand(c, o);
}

/* Make the file OUT of A's shape, with elements of a type. */
static hr_status make_output(const call *c, const char *path, hr_type type,
                             const operand *a, operand *out)
{
    return make_operand(c, path, type, a->matrix.rows, a->matrix.cols, out);
}

static hr_status commit_operand(const operand *out)
{
    HRI_TRY(hr_synchronize(out->view));
    HRI_TRY(hr_file_commit(out->file));
    printf("done\n");
    return HR_OK;
}

static void close_call(call *c)
{
    hr_array_destroy(c->array);
    for (int i = 0; i < OPERANDS; i++) {
        hr_array_destroy(c->operands[i].array);
        hr_file_close(c->operands[i].file);
    }
}

/* ---- the calls */

static hr_reduction find_reduction(const char *name)
{
    static const char *const names[] = {
        [HR_REDUCE_SUM] = "sum",
        [HR_REDUCE_MIN] = "min",
        [HR_REDUCE_MAX] = "max",
        [HR_REDUCE_DOT] = "dot",
        [HR_REDUCE_DISTANCE] = "distance",
        [HR_REDUCE_MAX_ABS_DIFF] = "max_abs_diff",
        [HR_REDUCE_PRODUCT] = "product",
        [HR_REDUCE_SUM_ABS] = "sum_abs",
        [HR_REDUCE_MAX_ABS] = "max_abs",
        [HR_REDUCE_NORM] = "norm",
        [HR_REDUCE_ARGMIN] = "argmin",
        [HR_REDUCE_ARGMAX] = "argmax"};
    int kind = HR_REDUCE_SUM;
    while (kind < HR_REDUCE_ARGMAX && strcmp(name, names[kind]) != 0) {
        kind++;
    }
    return (hr_reduction)kind;
}

static hr_status reduce_views(call *c)
{
    operand *a = &c->operands[0], *b = &c->operands[1];
    const bool two = c->words[2] != NULL;
    hr_reduced result = {0};
    HRI_TRY(read_operand(c, c->words[1], a));
    if (two) {
        HRI_TRY(read_operand(c, c->words[2], b));
    }
    HRI_TRY(hr_reduce(c->context, find_reduction(c->words[0]), a->matrix.type,
                      a->view, two ? &b->view : NULL, NULL, &result));
    printf("%a %lld %lld\n", result.value, (long long)result.integer,
           (long long)result.index);
    return HR_OK;
}

static hr_status scan_view(call *c)
{
    operand *a = &c->operands[0], *out = &c->operands[1];
    HRI_TRY(read_operand(c, c->words[2], a));
    HRI_TRY(make_output(c, c->words[3], a->matrix.type, a, out));
    HRI_TRY(hr_scan(c->context, find_reduction(c->words[0]),
                    strcmp(c->words[1], "inclusive") == 0 ? HR_SCAN_INCLUSIVE
                                                          : HR_SCAN_EXCLUSIVE,
                    a->matrix.type, a->view, out->view, NULL));
    return commit_operand(out);
}

static hr_status fill_view(call *c)
{
    operand *value = &c->operands[0], *out = &c->operands[1];
    HRI_TRY(read_operand(c, c->words[0], value));
    HRI_TRY(make_operand(c, c->words[3], value->matrix.type, atoll(c->words[1]),
                         atoll(c->words[2]), out));
    HRI_TRY(hr_fill(c->context, out->view, value->matrix.type,
                    value->matrix.data, NULL));
    return commit_operand(out);
}

static hr_status count_view(call *c)
{
    operand *a = &c->operands[0];
    const int64_t bins = atoll(c->words[0]);
    hr_mapping m;
    HRI_TRY(read_operand(c, c->words[3], a));
    HRI_TRY(hr_array_create_anywhere(c->context, sizeof(int64_t),
                                     hr_extent1(bins), &c->array));
    const hr_view counts = hr_view_of(c->array);
    HRI_TRY(hr_histogram(c->context, a->matrix.type, a->view,
                         strtod(c->words[1], NULL), strtod(c->words[2], NULL),
                         counts, NULL));
    HRI_TRY(hr_map(counts, HR_IN, &m));
    for (int64_t b = 0; b < bins; b++) {
        printf("%lld ", (long long)((const int64_t *)m.data)[b]);
    }
    printf("\n");
    return hr_unmap(&m);
}

static hr_sort_order order_of(const char *word)
{
    return strcmp(word, "ascending") == 0 ? HR_SORT_ASCENDING
                                          : HR_SORT_DESCENDING;
}

static hr_status sort_view(call *c)
{
    operand *a = &c->operands[0], *out = &c->operands[1];
    HRI_TRY(read_operand(c, c->words[1], a));
    HRI_TRY(make_output(c, c->words[2], a->matrix.type, a, out));
    HRI_TRY(hr_sort(c->context, order_of(c->words[0]), a->matrix.type, a->view,
                    out->view, NULL));
    return commit_operand(out);
}

/* Sort a copy of the keys, and with it where they were in their row. */
static hr_status sort_places(call *c)
{
    operand *a = &c->operands[0], *out = &c->operands[1];
    HRI_TRY(read_operand(c, c->words[1], a));
    HRI_TRY(make_output(c, c->words[2], HR_I32, a, out));
    for (int64_t row = 0; row < a->matrix.rows; row++) {
        int32_t *places =
            (int32_t *)out->matrix.data + row * out->matrix.row_stride;
        for (int64_t col = 0; col < a->matrix.cols; col++) {
            places[col] = (int32_t)(a->matrix.cols == 1 ? row : col);
        }
    }
    HRI_TRY(hr_invalidate(out->view));
    HRI_TRY(hr_array_create_anywhere(c->context, a->view.element_bytes,
                                     a->view.extent, &c->array));
    HRI_TRY(hr_copy(a->view, hr_view_of(c->array)));
    HRI_TRY(hr_sort_by_key(c->context, order_of(c->words[0]), a->matrix.type,
                           hr_view_of(c->array), HR_I32, out->view, NULL));
    return commit_operand(out);
}

static const struct {
    const char *name;
    int least; /* words behind the name */
    hr_status (*make)(call *c);
} calls[] = {{"reduce", 2, reduce_views}, {"scan", 4, scan_view},
             {"fill", 4, fill_view},      {"histogram", 4, count_view},
             {"sort", 3, sort_view},      {"argsort", 3, sort_places}};

/* Make the call of a line. False: it is none. */
static bool answer_line(hr_context *context, char *line)
{
    call c = {.context = context};
    const char *name = strtok(line, " \n");
    int count = 0;
    while (count < WORDS - 1 &&
           (c.words[count] = strtok(NULL, " \n")) != NULL) {
        count++;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (name != NULL && count >= calls[i].least &&
            strcmp(name, calls[i].name) == 0) {
            const hr_status status = calls[i].make(&c);
            if (status != HR_OK) {
                printf("%s %s\n", hr_status_name(status), hr_last_error());
            }
            close_call(&c);
            return true;
        }
    }
    return false;
}

int main(void)
{
    char line[LINE];
    hr_context *context = NULL;
    bool good = true;
    if (hr_context_create(NULL, &context) != HR_OK) {
        printf("skip: %s\n", hr_last_error());
        return 77;
    }
    while (good && fgets(line, sizeof line, stdin) != NULL) {
        good = answer_line(context, line);
    }
    hr_context_destroy(context);
    return good ? 0 : 2;
}
