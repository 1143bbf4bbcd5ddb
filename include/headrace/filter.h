/* SPDX-License-Identifier: MIT */
/** @file filter.h
 *  Weighted sums over windows, over every accelerator of a context:
 *
 *      out(r, c) = scale * sum of w(i, j) in(r + i, c + j), i, j = -s .. s
 *
 *  for any table w of (2s + 1) x (2s + 1) numbers. Three methods give the same
 *  result up to rounding and a tolerance:
 *
 *  - Directly: (2s + 1)^2 products an element.
 *
 *  - As a sum of separable filters, as many as the table's numerical rank asks
 *    for: 2 rank (2s + 1) products.
 *
 *  - By Fourier transforms, where a library for them is found.
 *
 *  The methods differ where elements are not finite or near the largest number
 *  of the type. Directly, no sum is larger than the parts of the result.
 *  Separable filters add elements of up to two rows and columns before any
 *  weight makes them smaller. Transforms add those of a whole block of up to
 *  4096 x 4096. Those sums must be in range, too. An element that is not finite
 *  reaches the elements whose windows hold it. By transforms it reaches all of
 *  its block. */
#ifndef HEADRACE_FILTER_H
#define HEADRACE_FILTER_H

#include <headrace/context.h>
#include <headrace/gemm.h>
#include <headrace/matrix.h>
#include <headrace/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A table of weights; never changes. */
typedef struct hr_window hr_window;

enum { HR_MAX_REACH = 1024 }; /**< of a window */

/** A window of (2 reach + 1)^2 weights, row by row. The one in the middle is
 *  w(0, 0).
 *
 * @shape   reach from 0 to HR_MAX_REACH.
 * @owner   *window is the caller's, to be given to hr_window_destroy; values
 *          are copied. Written only on success.
 * @errors  HR_ERROR_INVALID for NULL, a reach out of range, or a weight that is
 *          not finite; HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread. */
HR_API HR_NODISCARD hr_status hr_window_create(int64_t reach,
                                               const double *values,
                                               hr_window **window);

/** All weights 1. Otherwise as hr_window_create. */
HR_API HR_NODISCARD hr_status hr_window_box(int64_t reach, hr_window **window);

/** w(i, j) = exp(-(i^2 + j^2) / (2 sigma^2)); not normalised.
 *
 * @errors  HR_ERROR_INVALID when sigma is not finite and above 0. Otherwise as
 *          hr_window_create. */
HR_API HR_NODISCARD hr_status hr_window_gaussian(int64_t reach, double sigma,
                                                 hr_window **window);

/** w(i, j) = 1 - sqrt(i^2 + j^2) / (reach sqrt 2): 1 in the middle, 0 in the
 *  corners. Otherwise as hr_window_create. */
HR_API HR_NODISCARD hr_status hr_window_radial(int64_t reach,
                                               hr_window **window);

/** NULL is accepted.
 * @threads Any thread, when no call uses the window. */
HR_API void hr_window_destroy(hr_window *window);

/** How far it reaches from its middle; -1 for NULL.
 * @threads Any thread. */
HR_API int64_t hr_window_reach(const hr_window *window);

/** Its weights, as hr_window_create takes them; NULL for NULL.
 * @owner   The window's.
 * @threads Any thread. */
HR_API const double *hr_window_values(const hr_window *window);

/** How many separable filters u_k(i) v_k(j) sum up to w within a tolerance: sum
 *  |w - sum u_k v_k| <= tolerance * sum |w|. The filters are those of the
 *  singular value decomposition, and the count is the smallest one. If rounding
 *  does not let their sum come that near, it is the count that comes nearest.
 *  The result is wrong by at most tolerance * |scale| * sum |w| * max |in|. At
 *  least one, whatever the tolerance. From 1 on a tolerance promises nothing:
 *  all weights may be left out.
 *
 * @owner   *rank and *error are written only on success; error may be NULL.
 *          *error is sum |w - sum u_k v_k| / sum |w| at that rank.
 * @errors  HR_ERROR_INVALID for NULL or a tolerance below 0 or not finite;
 *          HR_ERROR_OUT_OF_MEMORY.
 * @threads Any thread.
 * @source  One-sided Jacobi rotations [Hestenes1958]. */
HR_API HR_NODISCARD hr_status hr_window_rank(const hr_window *window,
                                             double tolerance, int64_t *rank,
                                             double *error);

/** What windows find beyond the edges of `in`. */
typedef enum hr_edges {
    HR_EDGES_LEFT = 0, /**< nothing: only elements whose window lies inside are
                            written, the others stay as they are */
    HR_EDGES_CLAMPED = 1,  /**< the nearest element: a a | a b c | c c */
    HR_EDGES_MIRRORED = 2, /**< b a | a b c | c b */
    HR_EDGES_PERIODIC = 3, /**< b c | a b c | a b */
    HR_EDGES_CONSTANT = 4  /**< hr_filter_options.constant */
} hr_edges;

/** "left", "clamped", "mirrored", "periodic", "constant"; "?" for others.
 * @owner   A constant string.
 * @threads Any thread. */
HR_API const char *hr_edges_name(hr_edges edges);

/** How sums are formed. */
typedef enum hr_filter_method {
    HR_FILTER_AUTO = 0,      /**< whichever is predicted to be the fastest */
    HR_FILTER_DIRECT = 1,    /**< product by product */
    HR_FILTER_SEPARABLE = 2, /**< as a sum of separable filters */
    HR_FILTER_FFT = 3        /**< by Fourier transforms */
} hr_filter_method;

/** "auto", "direct", "separable", "fft"; "?" for others.
 * @owner   A constant string.
 * @threads Any thread. */
HR_API const char *hr_filter_method_name(hr_filter_method method);

/** What a filter will do (hr_filter_plan) or has done (hr_filter). */
typedef struct hr_filter_report {
    uint32_t size;           /**< sizeof(hr_filter_report) */
    hr_filter_method method; /**< never HR_FILTER_AUTO */
    int64_t rank;            /**< of HR_FILTER_SEPARABLE; else 0 */
    double window_error;     /**< sum |w - w used| / sum |w| before rounding */
    double seconds;          /**< of the whole call (plan: predicted) */
    double predicted;        /**< seconds that were predicted */
    double products;         /**< multiplications and additions */
    hr_bound bound;          /**< what took the time */
    uint64_t host_to_device; /**< bytes of the context's arrays meanwhile */
    uint64_t device_to_host;
    uint32_t accelerators; /**< that took part */
    int64_t pieces;        /**< bands of rows, each worked on at one time */
} hr_filter_report;

/** The initial value: its size is set, everything else is 0. */
#define HR_FILTER_REPORT_INIT                                                  \
    {                                                                          \
        sizeof(hr_filter_report), HR_FILTER_AUTO, 0, 0, 0, 0, 0,               \
            HR_BOUND_COMPUTE, 0, 0, 0, 0                                       \
    }

/** Options of hr_filter and hr_filter_plan; zero is the default of each. */
typedef struct hr_filter_options {
    uint32_t size;   /**< sizeof(hr_filter_options) */
    hr_edges edges;  /**< what lies beyond the edges */
    double constant; /**< for HR_EDGES_CONSTANT */
    hr_filter_method method;
    double tolerance;             /**< of HR_FILTER_AUTO and SEPARABLE, as in
                                       hr_window_rank; 0: 1e-6 for f32, 1e-14
                                       for f64 */
    const uint32_t *accelerators; /**< indices into the context; NULL: all */
    uint32_t accelerator_count;   /**< entries of accelerators */
    bool one_thread; /**< the calling thread gives all accelerators their work;
                          otherwise each has a thread */
    hr_filter_report *report;      /**< filled on success; NULL: none */
    hr_progress_function progress; /**< of elements of out; NULL: none. Pieces
                                        are then planned to take at most a tenth
                                        of a second, as far as windows allow
                                        that. When it cancels, those under way
                                        end. out then holds old and new
                                        elements */
    void *progress_data;           /**< handed to progress */
} hr_filter_options;

/** Options with their size set and every default. */
#define HR_FILTER_OPTIONS_INIT                                                 \
    {                                                                          \
        sizeof(hr_filter_options), HR_EDGES_LEFT, 0, HR_FILTER_AUTO, 0, NULL,  \
            0, false, NULL, NULL, NULL                                         \
    }

/** Filter a matrix over the accelerators of the context, in bands of rows.
 *  Returns when `out` is complete in the caller's memory. For one method and
 *  kind of accelerator the result does not depend on their number, bit for bit.
 *
 * @shape    in and out of one shape and type, f32 or f64, in any layout that
 *           hr_matrix can describe. Sizes may be 0, and less than a window.
 * @owner    Borrows all until it returns.
 * @aliasing out must not overlap in. Only elements of `in` that the window of
 *           some element of `out` holds are read.
 * @errors   HR_ERROR_INVALID for shapes, strides, overlap or options that break
 *           these rules. HR_ERROR_UNSUPPORTED for another type, for a method
 *           that is not there, for a window too large for the method, or in a
 *           reproducible context.
 *           HR_ERROR_OUT_OF_MEMORY when a memory limit is below the least
 *           working set, with the numbers: out untouched. While running
 *           HR_ERROR_CANCELLED, HR_ERROR_LOST, HR_ERROR_BACKEND, or
 *           HR_ERROR_OUT_OF_MEMORY when other calls take the memory meanwhile:
 *           out then holds old and new elements.
 * @threads  Any thread, while nobody changes the environment. Filters of one
 *           context run one after another. No other thread may make plans with
 *           FFTW itself meanwhile.
 * @source   Rounding as in [Higham2002]. Let n = 2s + 1, and W = |scale| sum
 *           |w| max |in| over the window. Directly, the error is at most
 *           gamma_(n^2 + 1) W. A sum of separable filters adds at most gamma_(n
 *           rank + n + 2) sum_k sum |u_k v_k| |scale| max |in| to what the
 *           tolerance allows. */
HR_API HR_NODISCARD hr_status hr_filter(hr_context *context,
                                        const hr_window *window, double scale,
                                        hr_matrix in, hr_matrix out,
                                        const hr_filter_options *options);

/** hr_filter of pictures in arrays. The elements are brought to where they are
 *  filtered, as for a launch, and stay there. The bands are the same from call
 *  to call, so what one filter leaves on an accelerator is there for the next.
 *  Rows move only if windows of another's band hold them. The first and last
 *  `reach` rows move too, for what lies beyond them. Returns when all is done.
 *
 * @shape   in and out are rectangles of two arrays of the context, of one
 *          shape. Their elements of `type` lie next to each other in rows. The
 *          least working set is the rows of both that an accelerator has, as
 *          many as its part is, and what is between.
 * @errors  As hr_filter. HR_ERROR_INVALID for views of no array, of one array,
 *          of another context, rank or size of elements. Where memory lacks for
 *          rows, some of out may hold new elements.
 * @threads As hr_filter. */
HR_API HR_NODISCARD hr_status hr_filter_views(hr_context *context,
                                              const hr_window *window,
                                              double scale, hr_type type,
                                              hr_view in, hr_view out,
                                              const hr_filter_options *options);

/** What hr_filter would do with the same arguments, without doing it.
 *
 * @owner   *report is the caller's; its size must be set. data pointers of the
 *          matrices may be NULL: the plan needs only the shapes.
 * @errors  As hr_filter, as far as they do not need the elements.
 * @threads As hr_filter. What is not known of an accelerator yet is measured,
 *          which takes tenths of a second. */
HR_API HR_NODISCARD hr_status hr_filter_plan(
    hr_context *context, const hr_window *window, double scale, hr_matrix in,
    hr_matrix out, const hr_filter_options *options, hr_filter_report *report);

#ifdef __cplusplus
}
#endif
#endif
