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

enum { WORDS = 8, LINE = 4096 };

/* A file, and the view of it. */
typedef struct operand {
    hr_file *file;
    hr_matrix matrix;
    hr_array *array;
    hr_view view;
} operand;

static const char *type_name(hr_type type)
{
    static const char *const names[] = {
        [HR_F32] = "float",    [HR_F64] = "double",     [HR_F16] = "hr_f16",
        [HR_BF16] = "hr_bf16", [HR_I8] = "signed char", [HR_I32] = "int",
        [HR_C32] = "hr_c32",   [HR_C64] = "hr_c64"};
    return names[type];
}

static hr_status wrap(hr_context *context, operand *o)
{
    const hr_matrix *m = &o->matrix;
    const size_t bytes = hr_type_size(m->type);
    const hr_extent extent =
        m->cols == 1 ? hr_extent1(m->rows) : hr_extent2(m->rows, m->cols);
    hr_status status = hr_array_wrap_typed(
        context, m->data, type_name(m->type), bytes, extent,
        m->cols == 1 ? 0 : (size_t)m->row_stride * bytes, &o->array);
    if (status == HR_OK) {
        o->view = hr_view_of(o->array);
    }
    return status;
}

static hr_status read_operand(hr_context *context, const char *path, operand *o)
{
    hr_status status = hr_file_open(path, &o->file, &o->matrix);
    return status == HR_OK ? wrap(context, o) : status;
}

static void close_operand(operand *o)
{
    hr_array_destroy(o->array);
    hr_file_close(o->file);
}

/* ---- calls: words[0 .. count - 1] are what follows the call's name */

static hr_status reduce(hr_context *context, char *const *words, int count)
{
    static const char *const kinds[] = {
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
    operand a = {0}, b = {0};
    hr_reduced result = {0};
    int kind = HR_REDUCE_SUM;
    while (kind < HR_REDUCE_ARGMAX && strcmp(words[0], kinds[kind]) != 0) {
        kind++;
    }
    hr_status status = read_operand(context, words[1], &a);
    if (status == HR_OK && count > 2) {
        status = read_operand(context, words[2], &b);
    }
    if (status == HR_OK) {
        status = hr_reduce(context, (hr_reduction)kind, a.matrix.type, a.view,
                           count > 2 ? &b.view : NULL, NULL, &result);
    }
    if (status == HR_OK) {
        printf("%a %lld %lld\n", result.value, (long long)result.integer,
               (long long)result.index);
    }
    close_operand(&a);
    close_operand(&b);
    return status;
}

static hr_status scan_to(hr_context *context, char *const *words,
                         const operand *a, operand *out)
{
    static const char *const kinds[] = {[HR_REDUCE_SUM] = "sum",
                                        [HR_REDUCE_MIN] = "min",
                                        [HR_REDUCE_MAX] = "max"};
    int kind = HR_REDUCE_SUM;
    while (kind < HR_REDUCE_MAX && strcmp(words[0], kinds[kind]) != 0) {
        kind++;
    }
    hr_status status =
        hr_file_create(words[3], a->matrix.type, a->matrix.rows, a->matrix.cols,
                       HR_ROW_MAJOR, &out->file, &out->matrix);
    if (status == HR_OK) {
        status = wrap(context, out);
    }
    if (status == HR_OK) {
        status = hr_scan(context, (hr_reduction)kind,
                         strcmp(words[1], "inclusive") == 0 ? HR_SCAN_INCLUSIVE
                                                            : HR_SCAN_EXCLUSIVE,
                         a->matrix.type, a->view, out->view, NULL);
    }
    if (status == HR_OK) {
        status = hr_synchronize(out->view);
    }
    return status == HR_OK ? hr_file_commit(out->file) : status;
}

static hr_status scan(hr_context *context, char *const *words, int count)
{
    operand a = {0}, out = {0};
    hr_status status = read_operand(context, words[2], &a);
    (void)count;
    if (status == HR_OK) {
        status = scan_to(context, words, &a, &out);
    }
    if (status == HR_OK) {
        printf("done\n");
    }
    close_operand(&a);
    close_operand(&out);
    return status;
}

static hr_status fill_to(hr_context *context, char *const *words,
                         const operand *value, operand *out)
{
    hr_status status =
        hr_file_create(words[3], value->matrix.type, atoll(words[1]),
                       atoll(words[2]), HR_ROW_MAJOR, &out->file, &out->matrix);
    if (status == HR_OK) {
        status = wrap(context, out);
    }
    if (status == HR_OK) {
        status = hr_fill(context, out->view, value->matrix.type,
                         value->matrix.data, NULL);
    }
    if (status == HR_OK) {
        status = hr_synchronize(out->view);
    }
    return status == HR_OK ? hr_file_commit(out->file) : status;
}

static hr_status fill(hr_context *context, char *const *words, int count)
{
    operand value = {0}, out = {0};
    hr_status status = read_operand(context, words[0], &value);
    (void)count;
    if (status == HR_OK) {
        status = fill_to(context, words, &value, &out);
    }
    if (status == HR_OK) {
        printf("done\n");
    }
    close_operand(&value);
    close_operand(&out);
    return status;
}

static hr_status print_counts(hr_view counts)
{
    hr_mapping m;
    hr_status status = hr_map(counts, HR_IN, &m);
    for (int64_t b = 0; status == HR_OK && b < counts.extent.size[0]; b++) {
        printf("%lld ", (long long)((const int64_t *)m.data)[b]);
    }
    if (status == HR_OK) {
        printf("\n");
        status = hr_unmap(&m);
    }
    return status;
}

static hr_status histogram(hr_context *context, char *const *words, int count)
{
    operand a = {0};
    hr_array *counts = NULL;
    hr_status status = read_operand(context, words[3], &a);
    (void)count;
    if (status == HR_OK) {
        status = hr_array_create_anywhere(context, sizeof(int64_t),
                                          hr_extent1(atoll(words[0])), &counts);
    }
    if (status == HR_OK) {
        status =
            hr_histogram(context, a.matrix.type, a.view, strtod(words[1], NULL),
                         strtod(words[2], NULL), hr_view_of(counts), NULL);
    }
    if (status == HR_OK) {
        status = print_counts(hr_view_of(counts));
    }
    hr_array_destroy(counts);
    close_operand(&a);
    return status;
}

static hr_sort_order order_of(const char *word)
{
    return strcmp(word, "ascending") == 0 ? HR_SORT_ASCENDING
                                          : HR_SORT_DESCENDING;
}

/* Make the file OUT of A's shape, with elements of a type. */
static hr_status make(hr_context *context, const char *path, hr_type type,
                      const operand *a, operand *out)
{
    hr_status status =
        hr_file_create(path, type, a->matrix.rows, a->matrix.cols, HR_ROW_MAJOR,
                       &out->file, &out->matrix);
    return status == HR_OK ? wrap(context, out) : status;
}

static hr_status finish(hr_status status, operand *out)
{
    if (status == HR_OK) {
        status = hr_synchronize(out->view);
    }
    if (status == HR_OK) {
        status = hr_file_commit(out->file);
    }
    if (status == HR_OK) {
        printf("done\n");
    }
    return status;
}

static hr_status sort(hr_context *context, char *const *words, int count)
{
    operand a = {0}, out = {0};
    hr_status status = read_operand(context, words[1], &a);
    (void)count;
    if (status == HR_OK) {
        status = make(context, words[2], a.matrix.type, &a, &out);
    }
    if (status == HR_OK) {
        status = hr_sort(context, order_of(words[0]), a.matrix.type, a.view,
                         out.view, NULL);
    }
    status = finish(status, &out);
    close_operand(&a);
    close_operand(&out);
    return status;
}

/* Sort a copy of the keys, and with it where they were in their row. */
static hr_status sort_places(hr_context *context, hr_sort_order order,
                             const operand *a, operand *out)
{
    const bool one = a->matrix.cols == 1;
    hr_array *keys = NULL;
    for (int64_t r = 0; r < a->matrix.rows; r++) {
        int32_t *row = (int32_t *)out->matrix.data + r * out->matrix.row_stride;
        for (int64_t c = 0; c < a->matrix.cols; c++) {
            row[c] = (int32_t)(one ? r : c);
        }
    }
    hr_status status = hr_invalidate(out->view);
    if (status == HR_OK) {
        status = hr_array_create_anywhere(context, a->view.element_bytes,
                                          a->view.extent, &keys);
    }
    if (status == HR_OK) {
        status = hr_copy(a->view, hr_view_of(keys));
    }
    if (status == HR_OK) {
        status = hr_sort_by_key(context, order, a->matrix.type,
                                hr_view_of(keys), HR_I32, out->view, NULL);
    }
    if (status == HR_OK) { /* before the keys go */
        status = hr_synchronize(out->view);
    }
    hr_array_destroy(keys);
    return status;
}

static hr_status argsort(hr_context *context, char *const *words, int count)
{
    operand a = {0}, out = {0};
    hr_status status = read_operand(context, words[1], &a);
    (void)count;
    if (status == HR_OK) {
        status = make(context, words[2], HR_I32, &a, &out);
    }
    if (status == HR_OK) {
        status = sort_places(context, order_of(words[0]), &a, &out);
    }
    status = finish(status, &out);
    close_operand(&a);
    close_operand(&out);
    return status;
}

static const struct {
    const char *name;
    int least; /* words behind the name */
    hr_status (*run)(hr_context *context, char *const *words, int count);
} calls[] = {{"reduce", 2, reduce}, {"scan", 4, scan},
             {"fill", 4, fill},     {"histogram", 4, histogram},
             {"sort", 3, sort},     {"argsort", 3, argsort}};

/* Make the call of a line. False: it is none. */
static bool answer(hr_context *context, char *line)
{
    char *words[WORDS] = {NULL};
    int count = 0;
    for (char *word = strtok(line, " \n"); word != NULL && count < WORDS;
         word = strtok(NULL, " \n")) {
        words[count++] = word;
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (count > calls[i].least && strcmp(words[0], calls[i].name) == 0) {
            const hr_status status =
                calls[i].run(context, words + 1, count - 1);
            if (status != HR_OK) {
                printf("%s %s\n", hr_status_name(status), hr_last_error());
            }
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
        good = answer(context, line);
    }
    hr_context_destroy(context);
    return good ? 0 : 2;
}
