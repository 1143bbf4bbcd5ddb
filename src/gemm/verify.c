/* SPDX-License-Identifier: MIT */
/* hr_gemm_verify: a random test finds suspicious rows. These are recomputed and
 * judged element by element. docs/verify.md says why that is enough. */
#include "gemm/verify.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/matrix.h"
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
    v->a.matrix = hr_matrix_transpose(old.b.matrix);
    v->b.matrix = hr_matrix_transpose(old.a.matrix);
    v->c.matrix = hr_matrix_transpose(old.c.matrix);
    v->c0.matrix = hr_matrix_transpose(old.c0.matrix);
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
                      .a.matrix = x->a,
                      .b.matrix = x->b,
                      .c0.matrix = x->c0,
                      .c.matrix = x->c,
                      .complex = hri_is_complex(x->c.type),
                      .integer = x->c.type == HR_I32,
                      .precision = hri_verify_precision_of(x->c.type)};
    v->old = !is_zero(v->beta);
    if (v->k == 0 || is_zero(v->alpha)) { /* A and B are not read */
        v->k = v->a.matrix.cols = v->b.matrix.rows = 0;
        v->alpha = hr_real(0.0);
    }
    hri_verify_signs_init(v);
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
        free(v->infinite);
        free(v->row_exponents);
        free(v->holes);
        free(v->scales);
        free(v);
    }
}

/* ---- progress */

typedef struct counted {
    const hri_verify *v;
    hri_pool_function function;
    void *data;
    int64_t elements;
} counted;

static void counted_task(void *data, int64_t index)
{
    const counted *c = data;
    if (!hri_verify_stopped(c->v)) {
        c->function(c->data, index);
        hri_progress_add(c->v->progress, (uint64_t)c->elements);
    }
}

void hri_verify_run(const hri_verify *v, int64_t count,
                    hri_pool_function function, void *data, int64_t elements)
{
    counted c = {v, function, data, elements};
    if (v->progress != NULL) {
        hri_pool_run(v->pool, count, counted_task, &c);
    } else {
        hri_pool_run(v->pool, count, function, data);
    }
}

bool hri_verify_stopped(const hri_verify *v)
{
    return v->progress != NULL && hri_progress_stopped(v->progress);
}

hr_status hri_verify_status(const hri_verify *v, hr_status status)
{
    return v->progress != NULL ? hri_progress_status(v->progress, status)
                               : status;
}

/* The elements that scales (verify_scale.c) and the random test read. */
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

/* Judge what is not finite. Then run the random test again, with scales and
 * without such values. */
static hr_status find_special(hri_verify *v, double *ratios,
                              hri_verify_special *special)
{
    hr_status status = hri_verify_scan(v);
    if (status == HR_OK) {
        status = hri_verify_judge_special(v, special);
    }
    return status == HR_OK ? hri_verify_residuals(v, ratios) : status;
}

/* Run the random test. A row that is not finite calls for more. */
static hr_status find_suspects(hri_verify *v, double *ratios,
                               hri_verify_special *special)
{
    hr_status status = hri_verify_residuals(v, ratios);
    for (int64_t i = 0; status == HR_OK && i < v->m; i++) {
        if (isinf(ratios[i])) {
            return find_special(v, ratios, special);
        }
    }
    return status;
}

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

/* Whether the random test told nothing of a row. */
static bool is_untested(double ratio)
{
    return isinf(ratio) || ratio == HRI_VERIFY_DULL;
}

/* Count the elements of rows of which neither the random test nor `w` told
 * anything. Holes were judged before. */
static int64_t count_untested(const hri_verify *v, const worst_rows *w,
                              double *ratios)
{
    int64_t rows = 0, cols = 0, holes = 0;
    for (int i = 0; i < w->count; i++) {
        ratios[w->rows[i]] = 0.0;
    }
    for (int64_t i = 0; i < v->m; i++) {
        rows += is_untested(ratios[i]);
    }
    for (int64_t j = 0; j < v->n; j++) {
        cols += v->skip_cols == NULL || v->skip_cols[j] == 0;
    }
    for (int64_t i = 0; i < v->hole_count; i++) {
        holes += is_untested(ratios[v->holes[i].row]);
    }
    return rows * cols - holes;
}

/* Recompute rows until one has a wrong element. */
static bool check_rows(const hri_verify *v, const worst_rows *w,
                       hr_verify_report *report, hri_verify_miss *miss)
{
    for (int i = 0; i < w->count && !hri_verify_stopped(v); i++) {
        hri_verify_row(v, w->rows[i], miss);
        report->rows_checked++;
        report->unchecked += miss->unchecked;
        if (miss->col >= 0) {
            return true;
        }
    }
    return false;
}

/* Write with enough digits to tell any two elements of C's type apart. */
static void print_element(const hri_verify *v, const double x[2], char *text,
                          size_t size)
{
    const hr_type type = v->c.matrix.type;
    const bool wide = type == HR_F64 || type == HR_C64 || type == HR_I32;
    const int digits = wide ? 17 : 9;
    if (v->complex) {
        hri_format(text, size, "%.*g%+.*gi", digits, x[0], digits, x[1]);
    } else {
        hri_format(text, size, "%.*g", digits, x[0]);
    }
}

static hr_status report_miss(const hri_verify *v, const hri_verify_miss *miss,
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
static hr_status verify(hri_verify *v, double *ratios, hr_verify_report *report)
{
    worst_rows worst = {.count = 0};
    hri_verify_miss miss;
    hri_verify_special special = {.miss = {.row = -1, .col = -1}};
    hr_status status = find_suspects(v, ratios, &special);
    if (status != HR_OK) {
        return status;
    }
    report->rows_checked = special.rows_checked;
    report->unchecked = special.unchecked;
    for (int64_t i = 0; i < v->m; i++) {
        if (ratios[i] > 0.0) {
            report->suspects += ratios[i] != HRI_VERIFY_DULL;
            keep_worst(&worst, i, ratios[i]);
        }
    }
    if (special.miss.col >= 0) {
        return report_miss(v, &special.miss, report);
    }
    const bool missed = check_rows(v, &worst, report, &miss);
    status = hri_verify_status(v, HR_OK);
    if (status != HR_OK) {
        return status;
    }
    if (missed) {
        return report_miss(v, &miss, report);
    }
    report->unchecked += count_untested(v, &worst, ratios);
    return report_unchecked(report);
}

hr_status hri_verify_product(hri_pool *pool, const hri_verify_problem *problem,
                             uint64_t seed, hr_verify_report *report)
{
    uint64_t start = hri_clock_ns();
    hr_status status = HR_OK;
    *report = (hr_verify_report){.size = sizeof *report,
                                 .trials = HRI_VERIFY_TRIALS,
                                 .row = -1,
                                 .col = -1};
    if (problem->c.rows > 0 && problem->c.cols > 0) {
        hri_verify *v = hri_verify_create(pool, problem, seed);
        double *ratios =
            v != NULL ? malloc((size_t)v->m * sizeof *ratios) : NULL;
        status = HR_ERROR_OUT_OF_MEMORY;
        if (ratios != NULL) {
            status = verify(v, ratios, report);
        } else if (v != NULL) {
            hri_fail(status, "verify: no memory for %lld rows", (ll)v->m);
        }
        free(ratios);
        hri_verify_destroy(v);
    }
    report->seconds = hri_seconds_since(start);
    return status;
}

static hr_status check(const hri_verify_problem *x)
{
    hr_status status = hri_gemm_check(x->alpha, &x->a, &x->b, x->beta, &x->c);
    if (status == HR_OK) {
        status = hri_gemm_check_data(x->alpha, &x->a, &x->b, &x->c);
    }
    if (status != HR_OK || is_zero(x->beta)) {
        return status;
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

/* The work is done, also where it has found something. */
static hr_status end(hri_progress *progress, hr_status status)
{
    const bool found =
        status == HR_ERROR_MISMATCH || status == HR_ERROR_UNSUPPORTED;
    hri_error error = {0};
    hri_error_keep(&error, status);
    if (status == HR_OK || found) {
        (void)hri_progress_end(progress, HR_OK);
    }
    return hri_error_raise(&error);
}

hr_status hr_gemm_verify(hr_context *context, hr_scalar alpha, hr_matrix a,
                         hr_matrix b, hr_scalar beta, hr_matrix c0, hr_matrix c,
                         hr_verify_report *report)
{
    HRI_USUAL_ARITHMETIC;
    hri_progress progress;
    const hri_verify_problem problem = {alpha,
                                        beta,
                                        hri_matrix_tidy(a),
                                        hri_matrix_tidy(b),
                                        hri_matrix_tidy(c0),
                                        hri_matrix_tidy(c),
                                        &progress};
    hr_verify_report asked = HR_VERIFY_REPORT_INIT, found;
    hr_status status = hri_context_check(context, "verify");
    if (status == HR_OK) {
        status = hri_struct_read(&report_struct, report, &asked);
    }
    if (status == HR_OK) {
        status = check(&problem);
    }
    if (status != HR_OK) {
        return status;
    }
    hri_progress_init(&progress, "verify", asked.progress, asked.progress_data,
                      elements_of(&problem));
    (void)hri_progress_tell(&progress, 0.0);
    status = hri_progress_status(&progress, HR_OK);
    if (status == HR_OK) {
        status = hri_verify_product(context->pool, &problem,
                                    fresh_seed(context), &found);
        status = end(&progress, status);
    }
    if (status == HR_OK || status == HR_ERROR_MISMATCH ||
        status == HR_ERROR_UNSUPPORTED) {
        found.progress = asked.progress;
        found.progress_data = asked.progress_data;
        hri_struct_write(&report_struct, &found, report);
    }
    return status;
}
