/* SPDX-License-Identifier: MIT */
/** @file reduce.h
 *  Reductions: one number from all elements of a view, or of two. grid.h has
 *  those of fields. */
#ifndef HEADRACE_REDUCE_H
#define HEADRACE_REDUCE_H

#include <stdint.h>

#include <headrace/matrix.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a reduction makes of all elements. */
typedef enum hr_reduction {
    HR_REDUCE_SUM = 1,      /**< sum of a */
    HR_REDUCE_MIN,          /**< least a; a NaN wins */
    HR_REDUCE_MAX,          /**< largest a; a NaN wins */
    HR_REDUCE_DOT,          /**< sum of a b */
    HR_REDUCE_DISTANCE,     /**< sum of (a - b)^2 */
    HR_REDUCE_MAX_ABS_DIFF, /**< largest |a - b|; a NaN wins */
    HR_REDUCE_PRODUCT,      /**< product of a */
    HR_REDUCE_SUM_ABS,      /**< sum of |a| */
    HR_REDUCE_MAX_ABS,      /**< largest |a|; a NaN wins */
    HR_REDUCE_NORM,         /**< square root of the sum of |a|^2 */
    HR_REDUCE_ARGMIN,       /**< where the least a is; see hr_reduce */
    HR_REDUCE_ARGMAX        /**< where the largest a is */
} hr_reduction;

/** The result of hr_reduce. */
typedef struct hr_reduced {
    double value;    /**< the result, of ARGMIN and ARGMAX the element there; of
                          integers it is `integer`, rounded */
    int64_t integer; /**< of HR_I8 and HR_I32 the exact result; 0 of other types
                          and of NORM */
    int64_t index;   /**< of ARGMIN and ARGMAX: the element's number, counted by
                          rows from 0; else -1 */
} hr_reduced;

/** Reduce a view, or two, to one number, and wait for it.
 *
 *  Each accelerator reduces a band of the view, where its elements are or are
 *  brought to. Bands are chosen as hr_launch_split does, from the same options.
 *  The host joins what they give.
 *
 *  Fractions are computed in double, integers in 64 bits. Sums, products, DOT
 *  and DISTANCE of integers are exact modulo 2^64. A sum of n fractions differs
 *  from the exact one by at most (83 + log2(n)) 2^-53 times the sum of |terms|,
 *  up to terms of second order. For rows of less than 256 elements with gaps
 *  between them, 83 becomes 4200. PRODUCT overflows and underflows as double
 *  does. NORM does so only where the result does.
 *
 *  The order of operations depends on the extent. For rows of less than 256
 *  elements it depends, too, on whether there are gaps between them. It depends
 *  neither on accelerators nor on bands. So the bits are the same on any set of
 *  accelerators, with hr_context_options.reproducible and without.
 *
 *  ARGMIN and ARGMAX give the first of equal elements. If there is a NaN, they
 *  give the first NaN.
 *
 * @shape   Rank 1 to 6, gaps between rows included. Above rank 3 there are
 *          none between the first dimensions. *b has a's extent. DOT,
 *          DISTANCE and MAX_ABS_DIFF read it; b is NULL for the others. Bands
 *          of options' report count units of about 4096 elements, and up to
 *          65,536 where there are many.
 * @units   Elements are numbers of `type`. HR_C32 and HR_C64 have NORM and
 *          DISTANCE.
 * @owner   *result is written only on success, and not with dry_run. options
 *          may be NULL; its tile is NULL.
 * @errors  HR_ERROR_INVALID for NULL, a view of no array or of another context,
 *          views of different extents, a type that is not as large as the
 *          elements, and a reduction that is none. HR_ERROR_UNSUPPORTED for
 *          complex types otherwise, and when no accelerator computes in double.
 *          Accelerators without double get no band. Those of hr_launch_split,
 *          and the error of work that wrote the elements.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_reduce(hr_context *context,
                                        hr_reduction reduction, hr_type type,
                                        hr_view a, const hr_view *b,
                                        const hr_split_options *options,
                                        hr_reduced *result);

/** Reduce a view to one element with a function of yours, and wait for it.
 *
 *      float closest;
 *      status = hr_reduce_with(context, "fabs(a) < fabs(b) ? a : b", HR_F32, x,
 *                              NULL, &closest);
 *
 *  `expression` is one in the dialect (dialect.h), of two elements a and b. It
 *  must not matter in which order and in which groups elements are joined: the
 *  function is associative and commutative, or nearly so, as sums of fractions
 *  are. It is compiled when it first runs on an accelerator. On the host that
 *  takes a C compiler (hr_kernel_create). A context keeps what it has made of
 *  an expression.
 *
 *  Each accelerator reduces a band of the view, as in hr_reduce. Then what is
 *  left is reduced, until it is one element. All is computed in `type`, and of
 *  signed chars each step is rounded to it as C does. The order of operations
 *  depends on the same as that of hr_reduce. In a context with
 *  hr_context_options.reproducible the bits are the same on any accelerators.
 *
 * @shape    Rank 1 to 6, gaps between rows included, as of hr_reduce. Bands
 *           of options' report count the units of the first round.
 * @units    Elements are numbers of `type`: HR_F32, HR_F64, HR_I8, HR_I32, or
 *           HR_C32 and HR_C64, for which hr_c32_mul(a, b) and so on are.
 * @owner    expression may go after the call. *result is one element. It is
 *           written only on success, and not with dry_run. options may be NULL;
 *           its tile is NULL.
 * @errors   HR_ERROR_INVALID for NULL, a view of no array or of another
 *           context, and a type that is not that of the elements.
 *           HR_ERROR_UNSUPPORTED for other types, when no accelerator computes
 *           in the type, and where one has no compiler. HR_ERROR_BUILD, as
 *           hr_launch, with the line of the expression. Those of
 *           hr_launch_split, and the error of work that wrote the elements.
 * @threads  Any thread. */
HR_API HR_NODISCARD hr_status hr_reduce_with(hr_context *context,
                                             const char *expression,
                                             hr_type type, hr_view view,
                                             const hr_split_options *options,
                                             void *result);

#ifdef __cplusplus
}
#endif
#endif
