/* SPDX-License-Identifier: MIT */
/* A call of hr_gemm_batch, on its way from arguments to a report. */
#ifndef HRI_GEMM_BATCH_H
#define HRI_GEMM_BATCH_H

#include <headrace/batch.h>

#include "gemm/call.h"

/* One operand of all products, in the normal form. */
typedef struct hri_matrices {
    hr_matrix first;   /* of the first product */
    int64_t step;      /* bytes from a product's to the next one's; 0: shared */
    void *const *list; /* where each is; NULL: step tells */
} hri_matrices;

typedef struct hri_batch_call {
    hri_gemm_call
        one; /* its product is the first one; flops are those of all */
    int64_t count;
    hri_matrices operands[3]; /* A, B and C; of all products */
    hri_run_report *reports;  /* [accelerators of the context] for the report */
    uint64_t *memory;         /* [accelerators of the context] bytes held */
    double seconds;           /* predicted */
    uint64_t compulsory;      /* as in hr_gemm_report */
    uint64_t recomputed;      /* products that others did for lost ones */
} hri_batch_call;

static inline bool hri_matrices_are_shared(const hri_matrices *m)
{
    return m->list == NULL && m->step == 0;
}

/* The matrix of product `index`. */
static inline hr_matrix hri_matrices_at(const hri_matrices *m, int64_t index)
{
    hr_matrix at = m->first;
    at.data = m->list != NULL ? m->list[index]
                              : (char *)m->first.data + index * m->step;
    return at;
}

/* The products from `first` on, as a command in the caller's memory. */
hri_gemm hri_batch_in_place(const hri_batch_call *call, int64_t first,
                            int64_t count);

/* ---- batch_check.c */

/* Check the count, strides and sizes, after hri_gemm_check. No pointer is
 * looked at. */
hr_status hri_batch_check(int64_t count, const hr_matrices operands[3]);

/* Check where the operands lie: they exist where they are read or written, and
 * no C shares an element with another C, an A or a B. HR_ERROR_INVALID with the
 * numbers of the products. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_batch_check_data(int64_t count, hr_scalar alpha,
                               const hr_matrices operands[3]);

/* ---- batch_plan.c: ranges of products for accelerators */

/* The range of one accelerator. */
typedef struct hri_batch_share {
    uint32_t accelerator; /* of call->accelerators */
    int64_t first, count;
    uint32_t slots;        /* groups under way; 1 in place */
    int64_t group;         /* products that travel or run together */
    double seconds;        /* predicted, of arithmetic and copies */
    hri_run_report report; /* set by the run: what was done */
    uint64_t memory;       /* and bytes that it held */
} hri_batch_share;

typedef struct hri_batch_plan {
    uint32_t count; /* of shares; 0: products run one after the other, by
                       the plan of hr_gemm */
    hri_batch_share *shares; /* in the order of their ranges */
    int64_t group;           /* the most products of a group on a device */
    double seconds;          /* predicted */
} hri_batch_plan;

/* How the elements of an operand travel: in slots, matrices lie without gaps.
 */
typedef struct hri_batch_side {
    bool shared, direct; /* direct: as one box from or to the caller's memory */
    size_t width, lines; /* of a matrix: bytes of a line */
    size_t pitch;        /* of the caller's lines, in bytes */
    size_t bytes;        /* of a matrix in a slot */
} hri_batch_side;

/* Find how `count` products from `first` on travel to and from a device. */
void hri_batch_sides(const hri_batch_call *call, hri_device *device,
                     int64_t first, int64_t count, hri_batch_side sides[3]);

/* Sizes of slots are multiples of this. */
enum { HRI_BATCH_ALIGNMENT = 256, HRI_BATCH_SLOTS = 3 };

/* Decide which accelerators of `planned` get which of the products `first` to
 * before first + count. `planned` has the plan of one product. The caller frees
 * the shares. */
hr_status hri_batch_plan_make(const hri_batch_call *call,
                              const hri_gemm_call *planned, int64_t first,
                              int64_t count, hri_batch_plan *plan);

/* The bytes that a share brings to its accelerator and home. */
void hri_batch_traffic(const hri_batch_call *call, const hri_batch_share *share,
                       const hri_accelerator *accelerator, uint64_t *up,
                       uint64_t *down);

/* ---- batch_run.c */

/* What came of it. The caller frees the lists. */
typedef struct hri_batch_done {
    int64_t count;   /* groups of products */
    int64_t *starts; /* [count + 1] */
    uint8_t *home;   /* [count] 1: complete in the caller's memory; 0: each C is
                        as it was */
    hri_error lost;  /* why some are not */
} hri_batch_done;

/* Set the memory that shares will hold. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_batch_memory(const hri_batch_call *call,
                           const hri_gemm_call *planned, hri_batch_plan *plan);

/* Run all shares. The caller holds the context's lock. Errors as of
 * hri_flow_run. */
hr_status hri_batch_run(hri_batch_call *call, const hri_gemm_call *planned,
                        hri_batch_plan *plan, hri_batch_done *done);

#endif
