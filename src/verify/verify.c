/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify: a random test finds suspicious rows. These are recomputed and
 * judged element by element. A threshold (residual.c) only picks rows: the
 * bound of an element (elements.c) alone says no. docs/verify.md says why that
 * is enough. */
#include "verify/verify.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "base/structs.h"
#include "gemm/check.h"
#include "runtime/runtime.h"

typedef long long ll; /* for %lld */

/* Round a scalar to the type of sums, as products use it. */
static hr_scalar round_scalar(hr_scalar s, hr_type c_type)
{
    bool keep = c_type == HR_F64 || c_type == HR_C64 || c_type == HR_I32;
    return keep ? s : (hr_scalar){(double)(float)s.re, (double)(float)s.im};
}

static bool is_zero(hr_scalar s)
{
    return s.re == 0.0 && s.im == 0.0;
}

/* Transpose the problem: its rows are the columns of the given one. */
static void transpose(hri_verify *v)
{
    const hri_verify old = *v;
    v->m = old.n;
    v->n = old.m;
    v->a = hr_matrix_transpose(old.b);
    v->b = hr_matrix_transpose(old.a);
    v->c = hr_matrix_transpose(old.c);
    v->c0 = hr_matrix_transpose(old.c0);
    v->transposed = !old.transposed;
}

hri_verify *hri_verify_create(hri_pool *pool, const hri_verify_problem *x,
                              uint64_t seed)
{
    /* the signs need the alignment of a vector */
    hri_verify *v = aligned_alloc(_Alignof(hri_verify), sizeof *v);
    if (v == NULL) {
        hri_fail(HR_ERROR_OUT_OF_MEMORY, "verify: out of memory");
        return NULL;
    }
    *v = (hri_verify){.pool = pool,
                      .progress = x->progress,
                      .seed = seed,
                      .m = x->c.rows,
                      .n = x->c.cols,
                      .k = x->a.cols,
                      .alpha = round_scalar(x->alpha, x->c.type),
                      .beta = round_scalar(x->beta, x->c.type),
                      .a = x->a,
                      .b = x->b,
                      .c0 = x->c0,
                      .c = x->c,
                      .complex = hri_is_complex(x->c.type),
                      .integer = x->c.type == HR_I32,
                      .precision = hri_verify_precision_of(x->c.type)};
    v->old = !is_zero(v->beta);
    if (v->k == 0 || is_zero(v->alpha)) { /* A and B are not read */
        v->k = v->a.cols = v->b.rows = 0;
        v->alpha = hr_real(0.0);
    }
    if (v->n > v->m) { /* rows are judged, so make them the short side */
        transpose(v);
    }
    return v;
}

void hri_verify_destroy(hri_verify *v)
{
    if (v != NULL) {
        free(v->skip_rows);
        free(v->skip_cols);
        free(v->scales);
        free(v);
    }
}

/* The elements that the random test reads. */
static double elements_of(const hri_verify_problem *x)
{
    const double m = (double)x->c.rows, n = (double)x->c.cols;
    const double k = is_zero(x->alpha) ? 0.0 : (double)x->a.cols;
    const double old = is_zero(x->beta) ? 0.0 : m * n;
    const bool scaled = x->c.type != HR_I32 && fmin(m, n) > 1.0;
    return m * n > 0.0 ? (scaled ? 3.0 : 1.0) * (k * n + m * k + old) + m * n
                       : 0.0;
}

/* ---- the test */

/* Products that may be recomputed for what is not finite, if these are more
 * than those of 64 rows. */
static const int64_t least_products = (int64_t)1 << 28;

/* Rows in the order in which to recompute them: the worst first. */
typedef struct worst_rows {
    int64_t rows[HRI_VERIFY_LIMIT];
    double ratios[HRI_VERIFY_LIMIT];
    int count;
} worst_rows;

static void keep_worst(worst_rows *w, int64_t row, double ratio)
{
    int at = w->count;
    if (at == HRI_VERIFY_LIMIT && ratio <= w->ratios[at - 1]) {
        return;
    }
    at = at < HRI_VERIFY_LIMIT ? w->count++ : at - 1;
    for (; at > 0 && w->ratios[at - 1] < ratio; at--) {
        w->rows[at] = w->rows[at - 1];
        w->ratios[at] = w->ratios[at - 1];
    }
    w->rows[at] = row;
    w->ratios[at] = ratio;
}

static bool any_infinite(const hri_verify *v, const double *ratios)
{
    for (int64_t i = 0; i < v->m; i++) {
        if (isinf(ratios[i])) {
            return true;
        }
    }
    return false;
}

/* Recompute a row. True if an element is wrong. */
static bool row_is_wrong(const hri_verify *v, int64_t row,
                         hr_verify_report *report, hri_verify_miss *miss)
{
    hri_verify_row(v, row, miss);
    report->rows_checked++;
    return miss->col >= 0;
}

/* Recompute the rows of which the random test tells nothing, as far as
 * `windows` of 64 columns reach, until one has a wrong element. */
static bool check_untested(const hri_verify *v, const double *ratios,
                           int64_t windows, hr_verify_report *report,
                           hri_verify_miss *miss)
{
    int64_t cols = 0;
    for (int64_t j = 0; j < v->n; j++) {
        cols += v->skip_cols == NULL || v->skip_cols[j] == 0;
    }
    for (int64_t i = 0; i < v->m && !hri_verify_stopped(v); i++) {
        if (!isinf(ratios[i])) {
            continue;
        }
        windows -= hri_ceil_div(v->n, HRI_VERIFY_COLS);
        if (windows < 0) {
            report->unchecked += cols;
        } else if (row_is_wrong(v, i, report, miss)) {
            return true;
        }
    }
    return false;
}

/* Recompute suspicious rows until one has a wrong element. */
static bool check_suspects(const hri_verify *v, const double *ratios,
                           hr_verify_report *report, hri_verify_miss *miss)
{
    worst_rows worst = {.count = 0};
    for (int64_t i = 0; i < v->m; i++) {
        if (ratios[i] > 0.0 && !isinf(ratios[i])) {
            report->suspects++;
            keep_worst(&worst, i, ratios[i]);
        }
    }
    for (int i = 0; i < worst.count && !hri_verify_stopped(v); i++) {
        if (row_is_wrong(v, worst.rows[i], report, miss)) {
            return true;
        }
    }
    return false;
}

/* Write with enough digits to tell any two elements of C's type apart. */
static void print_element(const hri_verify *v, const double x[2], char *text,
                          size_t size)
{
    const hr_type type = v->c.type;
    const bool wide = type == HR_F64 || type == HR_C64 || type == HR_I32;
    const int digits = wide ? 17 : 9;
    if (v->complex) {
        hri_format(text, size, "%.*g%+.*gi", digits, x[0], digits, x[1]);
    } else {
        hri_format(text, size, "%.*g", digits, x[0]);
    }
}

static hr_status fail_mismatch(const hri_verify *v, const hri_verify_miss *miss,
                               hr_verify_report *report)
{
    char got[64], want[64];
    print_element(v, miss->got, got, sizeof got);
    print_element(v, miss->want, want, sizeof want);
    report->row = v->transposed ? miss->col : miss->row;
    report->col = v->transposed ? miss->row : miss->col;
    report->error = miss->error;
    report->bound = miss->bound;
    return hri_fail(HR_ERROR_MISMATCH,
                    "verify: element (%lld, %lld) of C is %s but should be %s: "
                    "the error is %.3g, rounding explains %.3g",
                    (ll)report->row, (ll)report->col, got, want, miss->error,
                    miss->bound);
}

/* No element was found wrong. Tell whether all were checked. */
static hr_status report_unchecked(const hr_verify_report *report)
{
    if (report->unchecked == 0) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_UNSUPPORTED,
                    "verify: no element of C was found wrong, but %lld were "
                    "not checked: NaN, infinity or very large numbers leave "
                    "too many to recompute",
                    (ll)report->unchecked);
}

/* Verify, once the arguments have been checked. */
static hr_status verify_elements(hri_verify *v, double *ratios,
                                 hr_verify_report *report)
{
    hri_verify_found found = {.miss = {.row = -1, .col = -1}};
    hri_verify_miss miss;
    int64_t windows =
        hri_max(HRI_VERIFY_LIMIT * hri_ceil_div(v->n, HRI_VERIFY_COLS),
                least_products / HRI_VERIFY_COLS / hri_max(v->k, 1));
    HRI_TRY(hri_verify_residuals(v, ratios));
    if (any_infinite(v, ratios)) {
        HRI_TRY(hri_verify_places(v, &windows, &found));
        HRI_TRY(hri_verify_residuals(v, ratios));
    }
    report->rows_checked = found.rows_checked;
    report->unchecked = found.unchecked;
    if (found.miss.col >= 0) {
        return fail_mismatch(v, &found.miss, report);
    }
    const bool missed = check_suspects(v, ratios, report, &miss) ||
                        check_untested(v, ratios, windows, report, &miss);
    HRI_TRY(hri_verify_status(v, HR_OK));
    if (missed) {
        return fail_mismatch(v, &miss, report);
    }
    return report_unchecked(report);
}

hr_status hri_verify_product(hri_pool *pool, const hri_verify_problem *problem,
                             uint64_t seed, hr_verify_report *report)
{
    const uint64_t start = hri_clock_ns();
    hr_status status = HR_OK;
    hri_verify *v = NULL;
    double *ratios = NULL;
    *report = (hr_verify_report){.size = sizeof *report,
                                 .trials = HRI_VERIFY_TRIALS,
                                 .row = -1,
                                 .col = -1};
    if (problem->c.rows == 0 || problem->c.cols == 0) {
        goto done;
    }
    status = HR_ERROR_OUT_OF_MEMORY;
    v = hri_verify_create(pool, problem, seed);
    if (v == NULL) {
        goto done;
    }
    ratios = malloc((size_t)v->m * sizeof *ratios);
    if (ratios == NULL) {
        hri_fail(status, "verify: no memory for %lld rows", (ll)v->m);
        goto done;
    }
    status = verify_elements(v, ratios, report);
done:
    free(ratios);
    hri_verify_destroy(v);
    report->seconds = hri_seconds_since(start);
    return status;
}

static hr_status check_problem(const hri_verify_problem *x)
{
    HRI_TRY(hri_gemm_check(x->alpha, &x->a, &x->b, x->beta, &x->c));
    HRI_TRY(hri_gemm_check_data(x->alpha, &x->a, &x->b, &x->c));
    if (is_zero(x->beta)) {
        return HR_OK;
    }
    if (x->c0.rows != x->c.rows || x->c0.cols != x->c.cols ||
        x->c0.type != x->c.type) {
        return hri_fail(HR_ERROR_INVALID,
                        "verify: C0 is %lldx%lld %s but C is %lldx%lld %s",
                        (ll)x->c0.rows, (ll)x->c0.cols,
                        hr_type_name(x->c0.type), (ll)x->c.rows, (ll)x->c.cols,
                        hr_type_name(x->c.type));
    }
    if (x->c0.data == NULL && x->c0.rows > 0 && x->c0.cols > 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "verify: beta is not 0 but C0 is NULL");
    }
    return hri_gemm_check(x->alpha, &x->a, &x->b, x->beta, &x->c0);
}

/* A random seed, which nothing that makes a product can know. */
static uint64_t fresh_seed(const void *context)
{
    static _Atomic uint64_t calls;
    uint64_t number = atomic_fetch_add(&calls, 1);
    return hri_clock_ns() * 0x9e3779b97f4a7c15u ^
           (uint64_t)(uintptr_t)context << 20 ^ number << 48;
}

static const hri_struct report_struct = HRI_STRUCT(
    hr_verify_report, "verify report", "HR_VERIFY_REPORT_INIT", suspects);

hr_status hr_gemm_verify(hr_context *context, hr_scalar alpha, hr_matrix a,
                         hr_matrix b, hr_scalar beta, hr_matrix c0, hr_matrix c,
                         hr_verify_report *report)
{
    HRI_USUAL_ARITHMETIC;
    hri_progress progress;
    hri_error error = {0};
    const hri_verify_problem problem = {alpha,
                                        beta,
                                        hri_matrix_tidy(a),
                                        hri_matrix_tidy(b),
                                        hri_matrix_tidy(c0),
                                        hri_matrix_tidy(c),
                                        &progress};
    hr_verify_report asked = HR_VERIFY_REPORT_INIT, found;
    HRI_TRY(hri_context_check(context, "verify"));
    HRI_TRY(hri_struct_read(&report_struct, report, &asked));
    HRI_TRY(check_problem(&problem));
    hri_progress_init(&progress, "verify", asked.progress, asked.progress_data,
                      elements_of(&problem));
    (void)hri_progress_tell(&progress, 0.0);
    HRI_TRY(hri_progress_status(&progress, HR_OK));
    const hr_status status = hri_verify_product(context->pool, &problem,
                                                fresh_seed(context), &found);
    if (status != HR_OK && status != HR_ERROR_MISMATCH &&
        status != HR_ERROR_UNSUPPORTED) {
        return status;
    }
    hri_error_keep(&error,
                   status); /* the work is done; it may have found some */
    (void)hri_progress_end(&progress, HR_OK);
    found.progress = asked.progress;
    found.progress_data = asked.progress_data;
    hri_struct_write(&report_struct, &found, report);
    return hri_error_raise(&error);
}
