/* SPDX-License-Identifier: MIT */
/* The rules for where the matrices of a batch lie. */
#include <stdlib.h>

#include "base/size.h"
#include "gemm/batch.h"

typedef long long ll; /* for %lld */

static const char names[] = "ABC";

/* ---- sizes */

static hr_status check_stride(int64_t count, char name, const hr_matrices *m)
{
    uint64_t bytes;
    if (m->list != NULL) {
        return HR_OK;
    }
    if (m->stride < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm batch: the stride of %c is %lld, not 0 or more",
                        name, (ll)m->stride);
    }
    if (!hri_mul((uint64_t)m->stride, hr_type_size(m->matrix.type), &bytes) ||
        !hri_mul(bytes, (uint64_t)count, &bytes) ||
        !hri_add(bytes, (uint64_t)hri_matrix_bytes(&m->matrix), &bytes) ||
        bytes > INT64_MAX) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm batch: %lld matrices %c with stride %lld are "
                        "more than an address space holds",
                        (ll)count, name, (ll)m->stride);
    }
    return HR_OK;
}

hr_status hri_batch_check(int64_t count, const hr_matrices operands[3])
{
    if (count < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "gemm batch: %lld products, not 0 or more", (ll)count);
    }
    for (int i = 0; i < 3; i++) {
        HRI_TRY(check_stride(count, names[i], &operands[i]));
    }
    return HR_OK;
}

/* ---- pointers */

static hr_status check_pointers(int64_t count, char name, const hr_matrices *m)
{
    if (m->list == NULL) {
        return m->matrix.data != NULL
                   ? HR_OK
                   : hri_fail(HR_ERROR_INVALID, "gemm batch: %c is NULL", name);
    }
    for (int64_t i = 0; i < count; i++) {
        if (m->list[i] == NULL) {
            return hri_fail(HR_ERROR_INVALID,
                            "gemm batch: %c of product %lld is NULL", name,
                            (ll)i);
        }
    }
    return HR_OK;
}

/* ---- overlaps */

/* The start of a matrix, and its product. */
typedef struct spot {
    uintptr_t start;
    int64_t product;
} spot;

/* The matrices of an operand, by address. */
typedef struct spots {
    hr_matrix matrix;
    int64_t step;    /* bytes from one to the next; -1: they are listed */
    uintptr_t bytes; /* of each */
    int64_t count;
    spot *all; /* sorted */
} spots;

static uintptr_t start_of(const hr_matrices *m, int64_t index)
{
    return m->list != NULL
               ? (uintptr_t)m->list[index]
               : (uintptr_t)m->matrix.data + (uintptr_t)(index * m->stride) *
                                                 hr_type_size(m->matrix.type);
}

static int by_start(const void *x, const void *y)
{
    const spot *a = x, *b = y;
    if (a->start != b->start) {
        return a->start < b->start ? -1 : 1;
    }
    return (a->product > b->product) - (a->product < b->product);
}

static hr_status spots_make(int64_t count, const hr_matrices *m, bool result,
                            spots *s)
{
    const bool shared = m->list == NULL && m->stride == 0 && !result;
    const int64_t distinct = shared ? 1 : count;
    bool sorted = true;
    *s = (spots){.matrix = m->matrix,
                 .step = m->list == NULL
                             ? m->stride * (int64_t)hr_type_size(m->matrix.type)
                             : -1,
                 .bytes = (uintptr_t)hri_matrix_bytes(&m->matrix),
                 .count = distinct,
                 .all = calloc((size_t)distinct, sizeof *s->all)};
    if (s->all == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "gemm batch: no memory to check %lld products",
                        (ll)count);
    }
    for (int64_t i = 0; i < distinct; i++) {
        s->all[i] = (spot){start_of(m, i), i};
        sorted = sorted && (i == 0 || s->all[i - 1].start <= s->all[i].start);
    }
    if (!sorted) {
        qsort(s->all, (size_t)distinct, sizeof *s->all, by_start);
    }
    return HR_OK;
}

static bool overlap(const spots *c, int64_t i, const spots *x, int64_t j)
{
    hr_matrix one = c->matrix, other = x->matrix;
    one.data = (void *)c->all[i].start;
    other.data = (void *)x->all[j].start;
    return hri_matrix_overlap(&one, &other);
}

static hr_status refuse(const spots *c, int64_t i, char name, const spots *x,
                        int64_t j)
{
    return hri_fail(HR_ERROR_INVALID,
                    "gemm batch: C of product %lld overlaps %c of product %lld",
                    (ll)c->all[i].product, name, (ll)x->all[j].product);
}

/* No C shares an element with the next ones. At even steps the first one tells
 * for all. */
static hr_status check_results(const spots *c)
{
    const int64_t last = c->step >= 0 ? 1 : c->count;
    for (int64_t i = 0; i < last; i++) {
        const uintptr_t end = c->all[i].start + c->bytes;
        for (int64_t j = i + 1; j < c->count && c->all[j].start < end; j++) {
            if (overlap(c, i, c, j)) {
                return refuse(c, i, 'C', c, j);
            }
        }
    }
    return HR_OK;
}

/* No C shares an element with matrices of another operand. At equal steps the
 * first ones tell for all. */
static hr_status check_against(const spots *c, char name, const spots *x)
{
    const bool equal = c->step >= 0 && c->step == x->step;
    int64_t low = 0;
    for (int64_t i = 0; i < c->count; i++) {
        const uintptr_t start = c->all[i].start, end = start + c->bytes;
        while (low < x->count && x->all[low].start + x->bytes <= start) {
            low++;
        }
        const int64_t last = equal && i > 0 ? 1 : x->count;
        for (int64_t j = low; j < last && x->all[j].start < end; j++) {
            const bool again =
                j > low && x->all[j].start == x->all[j - 1].start;
            if (!again && overlap(c, i, x, j)) {
                return refuse(c, i, name, x, j);
            }
        }
    }
    return HR_OK;
}

/* Whether steps alone tell that no C overlaps another one. */
static bool are_apart(int64_t count, const hr_matrices *c)
{
    return count < 2 || (c->list == NULL &&
                         c->stride * (int64_t)hr_type_size(c->matrix.type) >=
                             hri_matrix_bytes(&c->matrix));
}

typedef struct range {
    uintptr_t start, end;
} range;

static range range_of(int64_t count, const hr_matrices *m)
{
    range r = {UINTPTR_MAX, 0};
    for (int64_t i = 0; i < count; i++) {
        const uintptr_t start = start_of(m, i);
        r.start = start < r.start ? start : r.start;
        r.end = start > r.end ? start : r.end;
        if (m->list == NULL && i == 0) {
            i = hri_max(count - 2, 0); /* the last one is next */
        }
    }
    r.end += (uintptr_t)hri_matrix_bytes(&m->matrix);
    return r;
}

/* all: of the operands, made here. */
static hr_status check_spots(int64_t count, const hr_matrices operands[3],
                             bool reads, spots all[3])
{
    const range c = range_of(count, &operands[2]);
    bool wanted[3] = {false, false, !are_apart(count, &operands[2])};
    for (int i = 0; i < 2 && reads; i++) {
        const range x = range_of(count, &operands[i]);
        wanted[i] = c.start < x.end && x.start < c.end;
    }
    for (int i = 0; i < 3; i++) {
        if (wanted[i] || (i == 2 && (wanted[0] || wanted[1]))) {
            HRI_TRY(spots_make(count, &operands[i], i == 2, &all[i]));
        }
    }
    if (wanted[2]) {
        HRI_TRY(check_results(&all[2]));
    }
    HRI_TRY(check_against(&all[2], names[0], &all[0]));
    return check_against(&all[2], names[1], &all[1]);
}

static hr_status check_overlaps(int64_t count, const hr_matrices operands[3],
                                bool reads)
{
    spots all[3] = {{.count = 0}};
    const hr_status status = check_spots(count, operands, reads, all);
    for (int i = 0; i < 3; i++) {
        free(all[i].all);
    }
    return status;
}

hr_status hri_batch_check_data(int64_t count, hr_scalar alpha,
                               const hr_matrices operands[3])
{
    const hr_matrix *a = &operands[0].matrix, *c = &operands[2].matrix;
    const bool reads = a->cols > 0 && (alpha.re != 0.0 || alpha.im != 0.0);
    if (count == 0 || c->rows == 0 || c->cols == 0) {
        return HR_OK;
    }
    HRI_TRY(check_pointers(count, 'C', &operands[2]));
    for (int i = 0; i < 2 && reads; i++) {
        HRI_TRY(check_pointers(count, names[i], &operands[i]));
    }
    return check_overlaps(count, operands, reads);
}
