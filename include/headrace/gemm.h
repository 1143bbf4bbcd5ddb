/* SPDX-License-Identifier: MIT */
/** @file gemm.h
 *  General matrix multiplication over every accelerator of a context.
 *
 *  Types offered, A and B always of one type:
 *
 *      A, B    accumulated in   C
 *      f32     f32              f32
 *      f64     f64              f64
 *      c32     c32              c32
 *      c64     c64              c64
 *      f16     f32              f16 or f32
 *      bf16    f32              bf16 or f32
 *      i8      i32              i32
 */
#ifndef HEADRACE_GEMM_H
#define HEADRACE_GEMM_H

#include <headrace/context.h>
#include <headrace/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How products are formed. */
typedef enum hr_compute {
    HR_COMPUTE_NATIVE = 0, /**< in the accumulation type of the table above */
    HR_COMPUTE_TF32 = 1,   /**< f32 rounded to tf32 (10 bits) first. Only where
                                an accelerator offers it (GPUs of NVIDIA from
                                capability 8.0 on), and only on request.
                                Rounding, or cutting, changes an element of A or
                                B by at most 2^-10 of itself. That adds 2^-9
                                |alpha||A||B| to the error */
    HR_COMPUTE_REPRODUCIBLE = 2, /**< as NATIVE, by kernels of Headrace's own
                                    and in one order, so that the same call
                                    gives the same bits on any accelerators: see
                                     docs/several-gpus.md */
    HR_COMPUTE_PRECISE = 3 /**< f32, f64, c32, c64: by exact sums of integers,
                                with errors below those of NATIVE, and with the
                                same bits on any accelerators: see
                                docs/precise.md */
} hr_compute;

/** What takes the time. */
typedef enum hr_bound {
    HR_BOUND_COMPUTE = 0,     /**< arithmetic of the accelerators */
    HR_BOUND_LINK = 1,        /**< a link between host and accelerator */
    HR_BOUND_HOST_MEMORY = 2, /**< the host's memory */
    HR_BOUND_DISK = 3         /**< reading or writing files */
} hr_bound;

/** "compute", "link", "host memory", "disk".
 * @owner   A constant string.
 * @threads Any thread. */
HR_API const char *hr_bound_name(hr_bound bound);

/** One accelerator's part in a multiplication. */
typedef struct hr_gemm_share {
    uint32_t accelerator;  /**< its index in the context */
    double seconds_busy;   /**< multiplying (plan: predicted) */
    double flops;          /**< floating-point operations done there */
    uint64_t tiles;        /**< tiles of C computed there */
    uint64_t tiles_stolen; /**< of these, taken over from another (run only) */
    uint64_t host_to_device; /**< bytes that came over its host link */
    uint64_t device_to_host; /**< bytes that went back over it */
    uint64_t peer;           /**< bytes that came from another accelerator */
    uint64_t memory_bytes;   /**< its memory used, never above memory_limit */
    uint64_t memory_limit;   /**< what it may use; 0: works in place */
} hr_gemm_share;

/** What a multiplication will do (hr_gemm_plan) or has done (hr_gemm). */
typedef struct hr_gemm_report {
    uint32_t size;           /**< sizeof(hr_gemm_report) */
    uint32_t share_capacity; /**< in: entries that shares can take */
    uint32_t share_count;    /**< out: accelerators used; at most
                                  share_capacity of them are written */
    hr_gemm_share *shares;   /**< in: the caller's array, or NULL */
    double seconds;          /**< of the whole call (plan: predicted) */
    double flops;            /**< 2 m n k, or 8 m n k for complex types */
    hr_bound bound;          /**< what took the time; means nothing when flops
                                  is 0 */
    uint64_t compulsory;     /**< the fewest host link bytes. Each element that
                                  accelerators with memory of their own need
                                  goes in once. Each element of C that they own
                                  comes out once, and goes in once if beta is
                                  not 0 */
    uint64_t host_to_device; /**< bytes over host links, all accelerators */
    uint64_t device_to_host;
    uint64_t peer;         /**< bytes from accelerator to accelerator */
    uint64_t stolen;       /**< bytes of panels among the three above that
                                moved only to take over tiles at the tail
                                (run only) */
    double ratio;          /**< (host_to_device + device_to_host) over
                                compulsory; 1 when there is nothing to move */
    uint64_t pinned_bytes; /**< page-locked host memory held for staging */
    int64_t block_rows, block_cols; /**< of C, worked on at one time */
    int64_t tile_rows, tile_cols, tile_depth; /**< one product at a time */
    uint64_t lost;       /**< accelerators that failed or were late (run
                              only), */
    uint64_t recomputed; /**< and the tiles that others computed for them */
    uint64_t late;       /**< those of the lost ones that did not fail: a
                              product took far longer than planned while the
                              others had nothing to do */
} hr_gemm_report;

/** The initial value: its size is set, everything else is 0. */
#define HR_GEMM_REPORT_INIT                                                    \
    {                                                                          \
        sizeof(hr_gemm_report), 0, 0, NULL, 0, 0, HR_BOUND_COMPUTE, 0, 0, 0,   \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                 \
    }

/** Write a report as text, as headrace matmul prints it: a line for each
 *  figure, and a table with a row for each of its shares.
 *
 *      time        26.8 ms
 *      rate        270 GFLOP/s, bound by compute
 *      host links  up 18.0 MiB, down 9.00 MiB; compulsory 27.0 MiB, ratio 1.000
 *
 *  Writes at most `size` bytes, of which the last is 0. Returns the length of
 *  the whole text without that, as snprintf does: what does not fit is cut off.
 *  Numbers are as in the C locale.
 *
 * @shape   text[size]; NULL when size is 0.
 * @owner   The text is the caller's. `context` is the report's, and names its
 *          accelerators; NULL: they are "#0", "#1" and so on.
 * @errors  Returns 0 and writes "" when the report is NULL or its size is out
 *          of range; hr_last_error says so.
 * @threads Any thread. */
HR_API size_t hr_gemm_report_text(const hr_context *context,
                                  const hr_gemm_report *report, char *text,
                                  size_t size);

/** Called by hr_gemm_sum for one term after another, ahead of products: on a
 *  thread of the library, or on the calling one. Returns true when the term's
 *  operands are in memory, for which it may have to wait. false: the call ends
 *  with HR_ERROR_CANCELLED. It must not use the context, nor wait for a thread
 *  that does. A call that is cancelled or fails ends when it has returned. */
typedef bool (*hr_await_function)(void *data, int64_t term);

/** Called by hr_gemm_sum on any thread: operands of the first `terms` terms are
 *  not read any more. Must return at once, and call nothing of the library. A
 *  call that fails releases all terms, once its options have been read. */
typedef void (*hr_release_function)(void *data, int64_t terms);

/** Options of hr_gemm, hr_gemm_sum and hr_gemm_plan; zero is the default of
 *  each. */
typedef struct hr_gemm_options {
    uint32_t size;                 /**< sizeof(hr_gemm_options) */
    hr_compute compute;            /**< how products are formed */
    const uint32_t *accelerators;  /**< indices into the context; NULL: all */
    uint32_t accelerator_count;    /**< entries of accelerators */
    uint64_t memory_limit;         /**< bytes for each accelerator; 0: the
                                        context's. The smaller of both counts */
    hr_progress_function progress; /**< of floating-point operations; NULL:
                                        none. A call that is cancelled returns
                                        within a second or the time of one
                                        product on the host in place (0.6
                                        seconds as planned), whatever a device
                                        does */
    void *progress_data;           /**< handed to progress */
    hr_gemm_report *report;        /**< filled on success; NULL: none */
    hr_await_function await;       /**< of hr_gemm_sum; NULL: all terms are
                                        there */
    hr_release_function release;   /**< of hr_gemm_sum; NULL: none */
    void *terms_data;              /**< handed to both */
} hr_gemm_options;

/** Options with their size set and every default. */
#define HR_GEMM_OPTIONS_INIT                                                   \
    {                                                                          \
        sizeof(hr_gemm_options), HR_COMPUTE_NATIVE, NULL, 0, 0, NULL, NULL,    \
            NULL, NULL, NULL, NULL                                             \
    }

/** C := alpha A B + beta C, over the accelerators of the context. Returns when
 *  C is complete in the caller's memory.
 *
 * @shape    A[m,k], B[k,n], C[m,n], in any layout that hr_matrix can describe.
 *           m, n and k may be 0. Types as in the table at the top of this file.
 * @owner    Borrows all operands and options until it returns. They may be
 *           ordinary, pinned or mapped memory. An accelerator that was left
 *           behind may still use A, B and C: hr_context_settle tells, and
 *           waits.
 * @aliasing C must not overlap A or B; A and B may overlap. beta = 0 never
 *           reads C, so NaN there does not matter. alpha = 0 or k = 0 never
 *           reads A or B.
 * @errors   With C untouched: HR_ERROR_INVALID for shapes, strides, overlap or
 *           options that break these rules. The same for scalars that the
 *           accumulation type cannot hold. HR_ERROR_UNSUPPORTED for a type pair
 *           or compute mode that is not offered, and for tf32 in a reproducible
 *           context. HR_ERROR_OUT_OF_MEMORY when a memory limit is below the
 *           least working set; the sentence says how much is needed. The same,
 *           whatever the memory, when a device with memory of its own would
 *           multiply for more than 50 to 100 hours: a plan lists at most
 *           4,194,304 products of a tenth of a second. With old and new
 *           elements in C: HR_ERROR_CANCELLED or HR_ERROR_BACKEND while
 *           running; HR_ERROR_LOST when accelerators failed or did not answer,
 *           and no other one can complete C.
 * @threads  Any thread; calls on one context run one after another.
 * @source   Blocks of C stay on the accelerators while panels of A and B stream
 *           past, as in [Irony2004] and [Goto2008]. Rounding as in
 *           [Higham2002]: |C - exact| <= gamma_(k+2) (|alpha||A||B| +
 *           |beta||C|). For complex types it is sqrt(2) gamma_(2k+4) in each
 *           part. A half C adds half a unit in its last place. */
HR_API HR_NODISCARD hr_status hr_gemm(hr_context *context, hr_scalar alpha,
                                      hr_matrix a, hr_matrix b, hr_scalar beta,
                                      hr_matrix c,
                                      const hr_gemm_options *options);

/** C := alpha (A_0 B_0 + A_1 B_1 + ...) + beta C: a product whose A and B
 *  come in parts of k, one after another. Where accelerators with memory of
 *  their own multiply, and C fits there beside the parts that come, C stays
 *  there from the first term to the last, and products run while terms come.
 *  Else each term is a product of its own: so where C is a half, where all A
 *  or all B do not lie in one order, by rows or by columns, and where a term
 *  has k_t = 0.
 *
 * @shape    a[t][m, k_t], b[t][k_t, n] for `count` terms, at least 1. All A
 *           have one type, and all B.
 * @owner    Borrows all operands and the options until it returns. The
 *           operands of a term may be written until options->await has
 *           returned true for it, and after options->release has named it.
 *           Else as hr_gemm.
 * @aliasing As hr_gemm, for each term.
 * @errors   As hr_gemm, but HR_ERROR_OUT_OF_MEMORY may come when terms have
 *           been added to C. HR_ERROR_INVALID for a count below 1 and for a
 *           report, which it does not fill. HR_ERROR_CANCELLED when
 *           options->await returns false. HR_ERROR_LOST when an accelerator is
 *           lost on which C stays.
 * @threads  As hr_gemm.
 * @source   As hr_gemm. A half C is rounded after each term. */
HR_API HR_NODISCARD hr_status hr_gemm_sum(hr_context *context, hr_scalar alpha,
                                          int64_t count, const hr_matrix *a,
                                          const hr_matrix *b, hr_scalar beta,
                                          hr_matrix c,
                                          const hr_gemm_options *options);

/** What hr_gemm would do with the same arguments, without doing it: bytes for
 *  each link, memory for each accelerator, time, and what bounds it.
 *
 * @owner   *report is the caller's; size (and shares) must be set. data
 *          pointers of the matrices may be NULL: the plan needs only the
 *          shapes.
 * @errors  As hr_gemm, as far as they do not need the elements.
 * @threads As hr_gemm. */
HR_API HR_NODISCARD hr_status hr_gemm_plan(hr_context *context, hr_scalar alpha,
                                           hr_matrix a, hr_matrix b,
                                           hr_scalar beta, hr_matrix c,
                                           const hr_gemm_options *options,
                                           hr_gemm_report *report);

/** What links between the host and accelerators carry, bytes/second. */
typedef struct hr_link_rates {
    double up, down; /**< to accelerators and back; 0: nothing is copied, or
                          memory limits leave no room to measure with */
    double both;     /**< the sum of the two, both at once */
} hr_link_rates;

/** The most that the machine could do for one kind of product. */
typedef struct hr_gemm_limits {
    uint32_t size;    /**< sizeof(hr_gemm_limits) */
    uint32_t devices; /**< of the context; virtual accelerators of one device
                           count once */
    double flops;     /**< multiplication, flop/second, summed over devices */
    hr_link_rates pinned, pinned_alone;     /**< all devices at once; the first
                                                 that copies alone */
    hr_link_rates ordinary, ordinary_alone; /**< the same from and to ordinary
                                                 memory, as hr_gemm does it */
} hr_gemm_limits;

/** The initial value: its size is set, everything else is 0. */
#define HR_GEMM_LIMITS_INIT                                                    \
    {                                                                          \
        sizeof(hr_gemm_limits), 0, 0, {0, 0, 0}, {0, 0, 0}, {0, 0, 0},         \
        {                                                                      \
            0, 0, 0                                                            \
        }                                                                      \
    }

/** Measure now what bounds products of these types. No product takes less than
 *  flops / limits.flops, nor less than its bytes need over these links.
 *
 * @owner   *limits is the caller's; its size must be set. Written only on
 *          success.
 * @errors  HR_ERROR_INVALID for NULL, a size out of range, or a type or mode
 *          that does not exist. HR_ERROR_UNSUPPORTED when no accelerator
 *          multiplies these; whatever backends report.
 * @threads Any thread; waits for other work on the context. Takes tenths of a
 *          second for each device. Frees what the context keeps for reuse. */
HR_API HR_NODISCARD hr_status hr_gemm_measure_limits(hr_context *context,
                                                     hr_type type,
                                                     hr_type c_type,
                                                     hr_compute compute,
                                                     hr_gemm_limits *limits);

/** What hr_gemm_verify found. */
typedef struct hr_verify_report {
    uint32_t size;        /**< sizeof(hr_verify_report) */
    uint32_t trials;      /**< random vectors that were tried */
    int64_t suspects;     /**< rows that a trial pointed at; columns where C has
                               more columns than rows */
    int64_t rows_checked; /**< rows and columns that were then checked element
                               by element; rows left out are not among them */
    int64_t row, col;     /**< the first wrong element; -1: none */
    double error, bound;  /**< there: |C - exact| and what rounding explains */
    double seconds;
    int64_t unchecked; /**< elements of C that were not checked, because NaN,
                            infinity or very large numbers leave too many to
                            recompute */
    hr_progress_function progress; /**< in: of elements that are read; NULL:
                                        none. It waits at the end of them while
                                        suspects, NaN and infinity are looked
                                        into */
    void *progress_data;           /**< in: handed to progress */
} hr_verify_report;

/** The initial value: its size is set, everything else is 0. */
#define HR_VERIFY_REPORT_INIT                                                  \
    {                                                                          \
        sizeof(hr_verify_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL        \
    }

/** Check that C = alpha A B + beta C0 up to rounding, in O(mn + mk + kn) work.
 *  Freivalds' test with random signs points at suspicious rows. The library
 *  recomputes those and judges each element against the rounding bound of
 *  hr_gemm. It misses an element wrong by more than the tolerance of
 *  docs/verify.md with a chance below 2^-40. It never reports a right one.
 *
 * @shape   As hr_gemm; C0 has C's shape and type and is not read when beta is
 *          0.
 * @owner   Borrows everything until it returns; writes only *report, which may
 *          be NULL.
 * @errors  HR_ERROR_MISMATCH when an element is wrong. HR_ERROR_UNSUPPORTED
 *          when none was found wrong but some were not checked: *report tells
 *          how many. HR_ERROR_INVALID and HR_ERROR_UNSUPPORTED as hr_gemm;
 *          HR_ERROR_OUT_OF_MEMORY. HR_ERROR_CANCELLED when report->progress
 *          said so: *report is as it was.
 * @threads Any thread.
 * @source  [Freivalds1979]; bounds [Higham2002]. */
HR_API HR_NODISCARD hr_status hr_gemm_verify(hr_context *context,
                                             hr_scalar alpha, hr_matrix a,
                                             hr_matrix b, hr_scalar beta,
                                             hr_matrix c0, hr_matrix c,
                                             hr_verify_report *report);

#ifdef __cplusplus
}
#endif
#endif
