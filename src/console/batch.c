/* SPDX-License-Identifier: MIT */
#include "batch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/size.h"
#include "text.h"

/* A factor: an array of matrices. */
typedef struct factor {
    const cli_array *input;
    hr_matrix matrix; /* the first one */
    int rank;         /* of the array without the matrices' dimensions */
    int64_t bytes;    /* of a matrix */
} factor;

static factor make_factor(const cli_array *input, cli_use use, bool left)
{
    const hr_file_array *array = &input->array;
    const bool vector = array->rank == 1;
    factor f = {.input = input, .rank = vector ? 0 : array->rank - 2};
    const int64_t *last = array->extents + f.rank;
    if (vector) {
        f.matrix =
            hr_matrix_row_major(array->data, array->type, left ? 1 : last[0],
                                left ? last[0] : 1, 0);
    } else if (array->order == HR_COLUMN_MAJOR && array->rank == 2) {
        f.matrix = cli_matrix(array);
    } else {
        f.matrix =
            hr_matrix_row_major(array->data, array->type, last[0], last[1], 0);
    }
    f.bytes =
        f.matrix.rows * f.matrix.cols * (int64_t)hr_type_size(array->type);
    f.matrix =
        use.transpose && !vector ? hr_matrix_transpose(f.matrix) : f.matrix;
    f.matrix = use.conjugate ? hr_matrix_conjugate(f.matrix) : f.matrix;
    return f;
}

/* The shape of a factor as it is multiplied. */
static hr_file_array shape_of(const factor *f)
{
    hr_file_array shape = f->input->array;
    if (shape.rank > 1) {
        shape.extents[f->rank] = f->matrix.rows;
        shape.extents[f->rank + 1] = f->matrix.cols;
    }
    return shape;
}

/* Dimension d of `rank` ones of the result, as f has it. */
static int64_t extent(const factor *f, int rank, int d)
{
    const int own = d - (rank - f->rank);
    return own >= 0 ? f->input->array.extents[own] : 1;
}

/* Set the dimensions that count products. */
static int broadcast(cli_batch *batch, const factor *a, const factor *b)
{
    const int rank = (int)hri_max(a->rank, b->rank);
    int64_t count = 1;
    for (int d = 0; d < rank; d++) {
        const int64_t one = extent(a, rank, d), other = extent(b, rank, d);
        if (one != other && one != 1 && other != 1) {
            return cli_fail(
                "%s is %s and %s is %s: a batch of %" PRId64
                " does not fit one of %" PRId64,
                a->input->path,
                cli_extents_text(a->input->array.extents, a->input->array.rank)
                    .text,
                b->input->path,
                cli_extents_text(b->input->array.extents, b->input->array.rank)
                    .text,
                one, other);
        }
        const int64_t both = one == 1 ? other : one;
        batch->shape.extents[d] = both;
        if (__builtin_mul_overflow(count, both, &count)) {
            return cli_fail("the batch has 2^63 products or more");
        }
    }
    batch->shape.rank = rank;
    batch->count = count;
    batch->single = rank == 0;
    return CLI_OK;
}

/* Tell where the matrices of all products are. They lie one after the other if
 * the factor has one for each product. */
static int place(const cli_batch *batch, const factor *f, hr_matrices *out,
                 void ***list)
{
    const int rank = batch->shape.rank;
    int64_t own = 1;
    for (int d = 0; d < f->rank; d++) {
        own *= f->input->array.extents[d];
    }
    *out = hr_matrices_strided(f->matrix, 0);
    if (own == batch->count && f->bytes > 0) {
        out->stride = f->matrix.rows * f->matrix.cols;
    }
    if (own == 1 || own == batch->count || f->bytes == 0 || batch->count == 0) {
        return CLI_OK;
    }
    *list = calloc((size_t)batch->count, sizeof **list);
    if (*list == NULL) {
        return cli_fail("no memory for a list of %" PRId64 " matrices",
                        batch->count);
    }
    for (int64_t i = 0; i < batch->count; i++) {
        int64_t rest = i, step = 1, index = 0;
        for (int d = rank - 1; d >= 0; d--) {
            const int64_t mine = extent(f, rank, d);
            index += mine == 1 ? 0 : rest % batch->shape.extents[d] * step;
            step *= mine;
            rest /= batch->shape.extents[d];
        }
        (*list)[i] = (char *)f->matrix.data + index * f->bytes;
    }
    *out = hr_matrices_listed(f->matrix, *list);
    return CLI_OK;
}

/* All matrices of A times one of B: one product with all rows of A. */
static void join_rows(cli_batch *batch, const factor *a, const factor *b)
{
    hr_matrix *m = &batch->a.matrix;
    if (!batch->single && batch->count > 0 && a->bytes > 0 &&
        batch->b.stride == 0 && batch->b.list == NULL && b->bytes > 0 &&
        batch->a.list == NULL && batch->a.stride > 0 && m->col_stride == 1 &&
        m->row_stride == m->cols) {
        m->rows *= batch->count;
        batch->c.rows = m->rows;
        batch->count = 1;
        batch->single = true;
    }
}

int cli_batch_init(cli_batch *batch, const cli_array *a, cli_use use_a,
                   const cli_array *b, cli_use use_b, hr_type type)
{
    for (int i = 0; i < 2; i++) {
        const cli_array *input = i == 0 ? a : b;
        if (input->array.rank == 0) {
            return cli_fail("%s has no dimensions: a product needs 1 to 6",
                            input->path);
        }
    }
    const factor left = make_factor(a, use_a, true);
    const factor right = make_factor(b, use_b, false);
    hr_file_array *shape = &batch->shape;
    *batch = (cli_batch){.factors = {shape_of(&left), shape_of(&right)}};
    HRI_TRY(broadcast(batch, &left, &right));
    batch->c =
        hr_matrix_row_major(NULL, type, left.matrix.rows, right.matrix.cols, 0);
    if (!batch->single && (batch->c.rows == 0 || batch->c.cols == 0)) {
        batch->count = 0;
    }
    HRI_TRY(place(batch, &left, &batch->a, &batch->lists[0]));
    HRI_TRY(place(batch, &right, &batch->b, &batch->lists[1]));
    shape->type = type;
    if (a->array.rank > 1) {
        shape->extents[shape->rank++] = batch->c.rows;
    }
    if (b->array.rank > 1) {
        shape->extents[shape->rank++] = batch->c.cols;
    }
    join_rows(batch, &left, &right);
    return CLI_OK;
}

/* A matrix like m that begins so many elements behind `data`. */
static hr_matrix matrix_at(hr_matrix m, void *data, int64_t elements)
{
    const size_t bytes = (size_t)elements * hr_type_size(m.type);
    m.data = bytes > 0 ? (char *)data + bytes : data;
    return m;
}

hr_matrix cli_batch_result(const cli_batch *batch, const hr_file_array *array,
                           int64_t index)
{
    const hr_matrix *m = &batch->c;
    return array->rank == 2 && array->order == HR_COLUMN_MAJOR
               ? cli_matrix(array)
               : matrix_at(*m, array->data, index * m->rows * m->cols);
}

hr_matrix cli_batch_factor(const hr_matrices *all, int64_t index)
{
    return all->list != NULL
               ? matrix_at(all->matrix, all->list[index], 0)
               : matrix_at(all->matrix, all->matrix.data, index * all->stride);
}

void cli_batch_free(cli_batch *batch)
{
    free(batch->lists[0]);
    free(batch->lists[1]);
    batch->lists[0] = batch->lists[1] = NULL;
}
