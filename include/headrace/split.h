/* SPDX-License-Identifier: MIT */
/** @file split.h
 *  One problem over several accelerators: bands of rows, one for each. */
#ifndef HEADRACE_SPLIT_H
#define HEADRACE_SPLIT_H

#include <stdint.h>

#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Consecutive rows (indices of dimension 0) of one accelerator. */
typedef struct hr_band {
    uint32_t accelerator;
    int64_t first, count;           /**< rows that it writes */
    int64_t read_first, read_count; /**< and reads: some more on either side */
} hr_band;

/** Cut `size` rows into `count` bands in order, bands[i] for accelerator i.
 *
 *  Rows are dealt in proportion to the weights, rounded down; what is left goes
 *  row by row to the bands that lost most by that, the first of equal ones. So
 *  all rows are dealt, and the same arguments give the same bands everywhere.
 *
 * @shape   weights has count elements, or is NULL: all alike. A band reads its
 *          rows, `before` more in front and `after` more behind, as far as
 *          there are rows. A band without rows (its weight is 0, or there are
 *          more bands than rows) reads none.
 * @owner   bands[0 .. count - 1] are written only on success.
 * @errors  HR_ERROR_INVALID when bands is NULL, size is not 1 to 2^62, count is
 *          0, before or after is negative, or weights are negative, not finite
 *          or all 0.
 * @threads Any thread; it knows nothing of accelerators. */
HR_API HR_NODISCARD hr_status hr_split(int64_t size, const double *weights,
                                       uint32_t count, int64_t before,
                                       int64_t after, hr_band *bands);

#ifdef __cplusplus
}
#endif
#endif
