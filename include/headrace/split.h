/* SPDX-License-Identifier: MIT */
/** @file split.h
 *  One problem over several accelerators: bands of rows, one for each. Rows are
 *  the indices of dimension 0. */
#ifndef HEADRACE_SPLIT_H
#define HEADRACE_SPLIT_H

#include <stdint.h>

#include <headrace/gemm.h>
#include <headrace/kernel.h>
#include <headrace/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Consecutive rows of one accelerator. */
typedef struct hr_band {
    uint32_t accelerator;
    int64_t first, count;           /**< rows that it writes */
    int64_t read_first, read_count; /**< and reads: some more on either side; of
                                         grids no more (hr_grid_describe) */
} hr_band;

/** Cut `size` rows into `count` bands in order, bands[i] for accelerator i.
 *
 *  Each band gets rows in proportion to its weight, rounded down. The rows left
 *  over go one by one to the bands that lost most by rounding. Of equal ones
 *  the first counts. So every row has a band, and the same arguments give the
 *  same bands everywhere.
 *
 * @shape   weights has count elements, or is NULL: all alike. A band reads its
 *          rows, `before` more in front and `after` more behind, as far as
 *          there are rows. A band without rows reads none: its weight is 0, or
 *          there are more bands than rows.
 * @owner   bands[0 .. count - 1] are written only on success.
 * @errors  HR_ERROR_INVALID when bands is NULL, size is not 1 to 2^62, or count
 *          is 0. The same when before or after is negative, or weights are
 *          negative, not finite or all 0. HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread; it knows nothing of accelerators. */
HR_API HR_NODISCARD hr_status hr_split(int64_t size, const double *weights,
                                       uint32_t count, int64_t before,
                                       int64_t after, hr_band *bands);

/** What hr_launch_split does, or would do. */
typedef struct hr_split_report {
    uint32_t size;           /**< sizeof(hr_split_report) */
    uint32_t share_capacity; /**< in: entries that shares can take */
    uint32_t share_count;    /**< out: accelerators that could be used; at most
                                  share_capacity of them are written */
    uint32_t used;           /**< out: those of them that get rows */
    hr_band *shares;         /**< in: the caller's array, or NULL */
    double seconds;          /**< predicted, until results are home */
    hr_traffic traffic;      /**< predicted, with what brings results home */
    hr_bound bound;          /**< what takes most of this time */
    uint32_t unused;         /**< room for later fields */
} hr_split_report;

/** The initial value: its size is set, everything else is 0. */
#define HR_SPLIT_REPORT_INIT                                                   \
    {                                                                          \
        sizeof(hr_split_report), 0, 0, 0, NULL, 0, {0, 0, 0},                  \
            HR_BOUND_COMPUTE, 0                                                \
    }

/** Options of hr_launch_split; zero is the default of each. */
typedef struct hr_split_options {
    uint32_t size;                /**< sizeof(hr_split_options) */
    const uint32_t *accelerators; /**< indices into the context, in the order
                                       of their bands; NULL: all */
    uint32_t accelerator_count;   /**< entries of accelerators */
    const double *weights;        /**< shares, one for each accelerator that
                                       could be used; NULL: what ends first */
    const hr_extent *tile;        /**< as of hr_launch; bands are then cut
                                       between tiles; NULL: bands of a kernel of
                                       HR_ITEMS have tiles of one row of 256
                                       items, others what suits */
    bool threads; /**< enqueue from one host thread for each accelerator */
    bool dry_run; /**< fill the report, and do nothing */
    hr_split_report *report;       /**< filled on success; NULL: none */
    hr_progress_function progress; /**< of points of the domain, or of a unit of
                                        its own where the call brings the kernel
                                        (reduce.h, scan.h and others); NULL:
                                        none. With it the call waits for its
                                        bands. Each runs in pieces of rows that
                                        take about a tenth of a second. When it
                                        cancels, pieces under way end. Views
                                        that are written then hold old and new
                                        elements; where a band streamed, its
                                        first rows new ones and the others none,
                                        and combined views none. hr_sort of one
                                        long row is one piece */
    void *progress_data;           /**< handed to progress */
} hr_split_options;

/** Options with their size set and every default. */
#define HR_SPLIT_OPTIONS_INIT                                                  \
    {                                                                          \
        sizeof(hr_split_options), NULL, 0, NULL, NULL, false, false, NULL,     \
            NULL, NULL                                                         \
    }

/** A view that the kernel reads, up to that many rows before and after the row
 *  of the point. An accelerator gets as many more rows than its band, as far as
 *  the view has them. It takes back hr_whole. hr_launch ignores this.
 * @threads Any thread. */
HR_API hr_argument hr_near(hr_argument argument, int64_t before, int64_t after);

/** A view that the kernel reads anywhere: every accelerator gets all of it.
 *  hr_launch ignores this.
 * @threads Any thread. */
HR_API hr_argument hr_whole(hr_argument argument);

/** A view that the kernel reads and writes anywhere, such as the bins of a
 *  histogram: hr_combined(hr_inout(bins), HR_COMBINE_SUM). hr_launch ignores
 *  this.
 *
 *  The accelerator of the first band works on the view itself. Each other one
 *  works on a copy of all of it. A copy begins with the neutral element: 0 for
 *  SUM, the largest number for MIN, the smallest for MAX. At the end the copies
 *  are folded into the view, in the order of the bands. So integers come out as
 *  from one accelerator, and sums of fractions depend on the bands alone.
 *
 *  Items that change the same element do so with the atomics of dialect.h that
 *  fit: HR_ATOMIC_ADD for SUM, MIN for MIN, MAX for MAX. An accelerator sees
 *  only what its own band has made of the elements.
 * @shape   A view of any extent, of int, unsigned, long, unsigned long, float
 *          or double as the kernel declares it.
 * @threads Any thread. */
HR_API hr_argument hr_combined(hr_argument argument, hr_combine how);

/** Enqueue a kernel on several accelerators, each for a band of the domain's
 *  rows. Indices, HR_EXTENT and HR_DOMAIN are those of the whole everywhere. On
 *  each accelerator such launches run in the order of the calls. A band fetches
 *  what it lacks and waits for what others do with it. What it writes stays
 *  there until it is needed elsewhere, as view.h says. hr_synchronize waits.
 *
 *  Without weights, the library takes the accelerators and shares that it
 *  predicts to end first. The prediction counts what the views lack there, the
 *  links, and the kernel's earlier launches of this kind. Until the second
 *  launch it counts the speed of the accelerators' memory instead. The library
 *  uses fewer accelerators when more would not be faster. Of virtual ones of
 *  one device it adds a second only where the first has no memory for all.
 *  While others can have the rest, none gets more rows than fit into what its
 *  memory limit leaves. Weights are obeyed, whatever fits.
 *
 *  A band that does not fit into memory streams: chunks of its rows go up, are
 *  computed and go home, all at the same time. Every byte goes up once and home
 *  once. That holds for rows of hr_near, too: within a band they stay on the
 *  accelerator until no chunk reads them. Views of one array go up each for
 *  itself. Whole views stay on the accelerator. Results of such a band are in
 *  host memory when the call returns, wherever the array's home is. The call
 *  waits for them. Without weights, bands stream only if no set of accelerators
 *  has memory for all.
 *
 *  Combined views stay on their accelerators like whole ones. With several
 *  bands the call waits until all copies are folded. An accelerator without
 *  memory for its copies takes no part if others can have its rows. The first
 *  one needs room for a copy beside its view, too.
 *
 * @shape    A view has as many rows as the domain. A point writes only its own
 *           row of it. Of views that it reads it uses its own row and what
 *           hr_near says. hr_whole and hr_combined: a view of any extent.
 * @owner    As hr_launch; options and what it points to are read in the call.
 * @aliasing As hr_launch, of the whole views. No other view is of the array of
 *           a combined one.
 * @errors   As hr_launch and hr_split. HR_ERROR_INVALID for options with a size
 *           out of range, and for accelerators out of range or listed twice.
 *           The same for views with another number of rows than the domain, and
 *           for near or whole ones that are written. The same for combined
 *           views that are not INOUT, are lists, near or whole, or have other
 *           elements than hr_combined takes. HR_ERROR_LOST when all
 *           accelerators are lost, or with weights one of them.
 *           HR_ERROR_UNSUPPORTED for combined sums of fractions in a
 *           reproducible context. HR_ERROR_OUT_OF_MEMORY, with the bytes that
 *           the launch needs on that accelerator, when a memory limit leaves no
 *           room for the least chunks or a buffer is larger than the
 *           accelerator allows. A chunk has whole tiles, or else rows. It
 *           needs two buffers of each view, three of one that is read and
 *           written. Copies of combined views count, too. Nothing is enqueued
 *           then. HR_ERROR_CANCELLED when the progress function said so.
 *           When an accelerator fails, bands of other ones run
 *           all the same. Rows that a band should have streamed have no values
 *           from the first one on that may not have been written. Combined
 *           views have no values then.
 * @threads  Any thread. The first call without weights, or with a report, waits
 *           for measurements, some tens of milliseconds for each accelerator.
 */
HR_API HR_NODISCARD hr_status hr_launch_split(hr_context *context,
                                              const hr_kernel *kernel,
                                              hr_extent domain,
                                              const hr_argument *arguments,
                                              size_t count,
                                              const hr_split_options *options);

#ifdef __cplusplus
}
#endif
#endif
