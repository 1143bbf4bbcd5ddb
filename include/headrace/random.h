/* SPDX-License-Identifier: MIT */
/** @file random.h
 *  Random numbers as values of views. They are made of counters, by
 *  Philox4x32-10 [Salmon2011]. So they are the same to the bit on every
 *  accelerator, on any number of them, and in any pieces.
 *
 *  dialect/random.h has the same functions for kernels of your own. */
#ifndef HEADRACE_RANDOM_H
#define HEADRACE_RANDOM_H

#include <stdint.h>

#include <headrace/matrix.h>
#include <headrace/split.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How random numbers are distributed. */
typedef enum hr_distribution {
    HR_RANDOM_BITS = 1,    /**< 32 random bits, for HR_I32 */
    HR_RANDOM_UNIFORM = 2, /**< in [0, 1): multiples of 2^-24 for HR_F32, of
                                2^-53 for HR_F64 */
    HR_RANDOM_NORMAL = 3   /**< mean 0 and variance 1, for HR_F32 and HR_F64 */
} hr_distribution;

/** Which numbers. Any values are as good as others. */
typedef struct hr_random {
    hr_distribution distribution;
    uint64_t seed;
    uint64_t stream; /**< one for each use of a seed, such as an array */
    uint64_t offset; /**< how many numbers of the stream come before */
} hr_random;

/** Fill a view with random numbers: hr_launch_split of a kernel.
 *
 *  Element n of the view, counted by rows, gets number offset + n of the
 *  stream. That number depends on nothing but seed, stream, distribution and
 *  type. So a view may be filled in pieces with offsets of their own.
 *
 *  Number n of 32 bits is made of word n % 4 of hr_philox(seed, stream, n / 4)
 *  of the dialect. Number n of HR_F64 is made of 64 bits: hr_random_u64(r,
 *  n % 2) of r = hr_philox(seed, stream, n / 2).
 *
 * @shape    A view of rank 1 to 6, which may have gaps between its rows. Above
 *           rank 3 it has none between its first dimensions. Bands are of its
 *           rows. In rank 1, and where rows have less than 256 elements and no
 *           gaps between them, a row of bands is 4096 elements.
 * @owner    As hr_launch_split. options may be NULL, and has no tile.
 * @errors   HR_ERROR_INVALID when context is NULL, the view belongs to no
 *           array, its elements have not type's size, or the distribution is
 *           none. The same for options with a tile, and when offset and the
 *           view's elements make more than 2^63. HR_ERROR_UNSUPPORTED when the
 *           distribution is not offered for type, or an accelerator cannot
 *           compute in double for HR_F64. Otherwise as hr_launch_split.
 * @threads  Any thread.
 * @source   [Salmon2011] */
HR_API HR_NODISCARD hr_status hr_random_fill(hr_context *context, hr_view view,
                                             hr_type type, hr_random random,
                                             const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
