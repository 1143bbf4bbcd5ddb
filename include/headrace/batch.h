/* SPDX-License-Identifier: MIT */
/** @file batch.h
 *  Many matrix products of one shape in one call. */
#ifndef HEADRACE_BATCH_H
#define HEADRACE_BATCH_H

#include <headrace/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One operand of all products of a batch: matrices of one shape, type and
 *  layout. They lie at equal distances, or anywhere. */
typedef struct hr_matrices {
    hr_matrix matrix;  /**< what all have in common, and where the first is.
                            With a list, data is not used */
    int64_t stride;    /**< elements from a matrix to the next one, 0 or more.
                            0: all products use this one (A and B only) */
    void *const *list; /**< where each matrix is; NULL: stride tells */
} hr_matrices;

/** Matrices `stride` elements apart, of which `first` is the first. With stride
 *  0 all products share it.
 * @owner   Borrows what first borrows.
 * @threads Any thread. */
HR_API hr_matrices hr_matrices_strided(hr_matrix first, int64_t stride);

/** Matrices like `shape`, of which the list says where they are. An A or B may
 *  be in the list several times.
 * @owner   Borrows the list and the matrices. They are written only where they
 *          are outputs.
 * @threads Any thread. */
HR_API hr_matrices hr_matrices_listed(hr_matrix shape, void *const *list);

/** `count` products at once: C[i] := alpha A[i] B[i] + beta C[i]. Small
 *  products run one on each thread of the host, or together on accelerators,
 *  each of which gets a range of them. Large ones run one after the other as in
 *  hr_gemm. Returns when every C is complete in the caller's memory.
 *
 *  Options are those of hr_gemm. In the report a tile is a product, or a tile
 * of a large one. `recomputed` counts products.
 *
 * @shape    A[m,k], B[k,n], C[m,n] as in hr_gemm, the same for all products.
 *           count, m, n and k may be 0.
 * @owner    Borrows all operands, lists and options until it returns. An
 *           accelerator that was left behind may still use the operands:
 *           hr_context_settle tells, and waits.
 * @aliasing A C must not overlap another C, nor any A or B. Those may overlap
 *           each other. What alpha, beta and k leave unread is that of hr_gemm.
 * @errors   As hr_gemm. With all C untouched: HR_ERROR_INVALID also for a
 *           negative count or stride, a list with NULL in it, and operands that
 *           overlap; the sentence says which products. A cancelled call, or one
 *           that fails while running, leaves old and new matrices C, or
 *           elements of large ones. What an accelerator has not done that is
 *           lost, late or hangs, others do. HR_ERROR_LOST when no other one
 *           can.
 * @threads  As hr_gemm.
 * @source   Rounding as in hr_gemm. On the host a small product has the bits
 *           that hr_gemm gives it on one thread. */
HR_API HR_NODISCARD hr_status hr_gemm_batch(hr_context *context, int64_t count,
                                            hr_scalar alpha, hr_matrices a,
                                            hr_matrices b, hr_scalar beta,
                                            hr_matrices c,
                                            const hr_gemm_options *options);

/** What hr_gemm_batch would do with the same arguments, without doing it. It is
 *  written into the report of the options, which must be there.
 *
 * @owner   As hr_gemm_plan: data pointers may be NULL. Of lists the first entry
 *          is read.
 * @errors  As hr_gemm_batch, as far as they do not need the elements.
 *          HR_ERROR_INVALID without a report.
 * @threads As hr_gemm. */
HR_API HR_NODISCARD hr_status
hr_gemm_batch_plan(hr_context *context, int64_t count, hr_scalar alpha,
                   hr_matrices a, hr_matrices b, hr_scalar beta, hr_matrices c,
                   const hr_gemm_options *options);

#ifdef __cplusplus
}
#endif
#endif
