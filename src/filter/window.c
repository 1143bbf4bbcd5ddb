/* SPDX-License-Identifier: MIT */
#include "filter/window.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/size.h"
#include "base/status.h"

static hr_status allocate(int64_t reach, hr_window **window)
{
    if (window == NULL || reach < 0 || reach > HR_MAX_REACH) {
        return hri_fail(HR_ERROR_INVALID,
                        window == NULL
                            ? "window: the result is NULL"
                            : "window: the reach is %lld, not 0 to %d",
                        (long long)reach, HR_MAX_REACH);
    }
    const size_t extent = 2 * (size_t)reach + 1;
    hr_window *made = malloc(sizeof *made + extent * extent * sizeof(double));
    hri_cached_factors *kept = calloc(1, sizeof *kept);
    if (made == NULL || kept == NULL ||
        pthread_mutex_init(&kept->lock, NULL) != 0) {
        free(made);
        free(kept);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "window: no memory for %zu x %zu weights", extent,
                        extent);
    }
    made->reach = reach;
    made->kept = kept;
    *window = made;
    return HR_OK;
}

hr_status hr_window_create(int64_t reach, const double *values,
                           hr_window **window)
{
    HRI_USUAL_ARITHMETIC;
    if (values == NULL) {
        return hri_fail(HR_ERROR_INVALID, "window: the weights are NULL");
    }
    hr_window *made = NULL;
    HRI_TRY(allocate(reach, window == NULL ? NULL : &made));
    const int64_t extent = 2 * reach + 1;
    for (int64_t i = 0; i < extent * extent; i++) {
        if (!isfinite(values[i])) {
            hr_window_destroy(made);
            return hri_fail(HR_ERROR_INVALID,
                            "window: w(%lld, %lld) is %g, which is not finite",
                            (long long)(i / extent - reach),
                            (long long)(i % extent - reach), values[i]);
        }
        made->values[i] = values[i];
    }
    *window = made;
    return HR_OK;
}

/* Fill a window with weights that are a function of i^2 + j^2. */
static hr_status make_round(int64_t reach, double (*weight)(double, double),
                            double width, hr_window **window)
{
    HRI_TRY(allocate(reach, window));
    double *w = (*window)->values;
    for (int64_t i = -reach; i <= reach; i++) {
        for (int64_t j = -reach; j <= reach; j++) {
            *w++ = weight((double)(i * i + j * j), width);
        }
    }
    return HR_OK;
}

static double box(double square, double width)
{
    (void)square;
    (void)width;
    return 1.0;
}

static double gaussian(double square, double sigma)
{
    return exp(-0.5 * (square / sigma) / sigma);
}

static double radial(double square, double corner)
{
    return square > 0.0 ? 1.0 - sqrt(square) / corner : 1.0;
}

hr_status hr_window_box(int64_t reach, hr_window **window)
{
    HRI_USUAL_ARITHMETIC;
    return make_round(reach, box, 0.0, window);
}

hr_status hr_window_gaussian(int64_t reach, double sigma, hr_window **window)
{
    HRI_USUAL_ARITHMETIC;
    if (!isfinite(sigma) || sigma <= 0.0) {
        return hri_fail(HR_ERROR_INVALID,
                        "window: sigma is %g, not finite and above 0", sigma);
    }
    return make_round(reach, gaussian, sigma, window);
}

hr_status hr_window_radial(int64_t reach, hr_window **window)
{
    HRI_USUAL_ARITHMETIC;
    return make_round(reach, radial, (double)reach * sqrt(2.0), window);
}

void hr_window_destroy(hr_window *window)
{
    if (window != NULL) {
        pthread_mutex_destroy(&window->kept->lock);
        hri_factors_free(&window->kept->factors);
        free(window->kept);
        free(window);
    }
}

int64_t hr_window_reach(const hr_window *window)
{
    return window == NULL ? -1 : window->reach;
}

const double *hr_window_values(const hr_window *window)
{
    return window == NULL ? NULL : window->values;
}

/* ---- factors: a window as a sum of separable ones. First find columns of the
 * table that span it, by Gram and Schmidt with pivoting. So the next step works
 * on no more of them than the rank. Then apply one-sided Jacobi rotations
 * [Hestenes1958] to the table's coordinates in these columns. At last take as
 * many of the singular vectors as the tolerance needs. */

/* The table T in parts: T = basis^T core, where rows of basis are
 * orthonormal. */
typedef struct spans {
    int64_t extent, count;
    double *basis; /* [count][extent]: along i */
    double *core;  /* [count][extent]: along j */
    double *rest;  /* [extent][extent]: the rest of the table, transposed */
} spans;

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

static void subtract(double *x, double factor, const double *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        x[i] -= factor * y[i];
    }
}

/* The column with the largest rest. *square is its length squared. */
static int64_t find_pivot(const spans *s, double *square)
{
    int64_t pivot = 0;
    *square = -1.0;
    for (int64_t j = 0; j < s->extent; j++) {
        const double *x = s->rest + j * s->extent;
        const double own = dot(x, x, s->extent);
        if (own > *square) {
            *square = own;
            pivot = j;
        }
    }
    return pivot;
}

/* Add a row to the basis, from a column's rest. The rest was made orthogonal to
 * the basis once; doing it again is exact to working precision. */
static void add_row(spans *s, int64_t pivot)
{
    const int64_t n = s->extent;
    double *row = s->basis + s->count * n;
    memcpy(row, s->rest + pivot * n, (size_t)n * sizeof *row);
    for (int64_t k = 0; k < s->count; k++) {
        subtract(row, dot(row, s->basis + k * n, n), s->basis + k * n, n);
    }
    const double length = sqrt(dot(row, row, n));
    for (int64_t i = 0; i < n; i++) {
        row[i] /= length;
    }
    for (int64_t j = 0; j < n; j++) {
        double *x = s->rest + j * n;
        s->core[s->count * n + j] = dot(row, x, n);
        subtract(x, s->core[s->count * n + j], row, n);
    }
    s->count++;
}

/* Span the table with at most `most` columns. A rest that is smaller than the
 * rounding of the largest column counts as nothing. */
static void span_table(spans *s, int64_t most)
{
    double square, first;
    int64_t pivot = find_pivot(s, &first);
    const double noise = (double)s->extent * DBL_EPSILON;
    square = first;
    while (s->count < most && square > noise * noise * first) {
        add_row(s, pivot);
        pivot = find_pivot(s, &square);
    }
}

/* Rotate rows p and q of the core so that they are orthogonal, and the basis
 * with them. What they span together does not change. False: they were
 * orthogonal. */
static bool rotate_rows(spans *s, int64_t p, int64_t q)
{
    const int64_t n = s->extent;
    double *x = s->core + p * n, *y = s->core + q * n;
    double *bx = s->basis + p * n, *by = s->basis + q * n;
    const double xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
    if (fabs(xy) <= DBL_EPSILON * sqrt(xx * yy)) {
        return false;
    }
    const double zeta = (yy - xx) / (2.0 * xy);
    const double t = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
    const double c = 1.0 / hypot(1.0, t), sine = c * t;
    for (int64_t j = 0; j < n; j++) {
        const double a = x[j], b = y[j], d = bx[j], e = by[j];
        x[j] = c * a - sine * b;
        y[j] = sine * a + c * b;
        bx[j] = c * d - sine * e;
        by[j] = sine * d + c * e;
    }
    return true;
}

static void diagonalise(spans *s)
{
    enum { MAX_SWEEPS = 60 }; /* six to ten are enough */
    bool more = true;
    for (int sweep = 0; sweep < MAX_SWEEPS && more; sweep++) {
        more = false;
        for (int64_t p = 0; p < s->count; p++) {
            for (int64_t q = p + 1; q < s->count; q++) {
                more = rotate_rows(s, p, q) || more;
            }
        }
    }
}

/* Move the longest row of the core, from row `from` on, to row `from`. Returns
 * its length. */
static double bring_largest(spans *s, int64_t from)
{
    const int64_t n = s->extent;
    int64_t largest = from;
    double square = -1.0;
    for (int64_t k = from; k < s->count; k++) {
        const double own = dot(s->core + k * n, s->core + k * n, n);
        largest = own > square ? k : largest;
        square = fmax(own, square);
    }
    for (int64_t i = 0; i < n; i++) {
        double *const pairs[] = {s->core, s->basis};
        for (int a = 0; a < 2; a++) {
            const double kept = pairs[a][from * n + i];
            pairs[a][from * n + i] = pairs[a][largest * n + i];
            pairs[a][largest * n + i] = kept;
        }
    }
    return sqrt(square);
}

/* Take vectors, the largest first, until the rest of the table is within
 * tolerance. Both vectors of a pair get the root of its singular value. */
static void choose_vectors(spans *s, const double *table, double tolerance,
                           hri_factors *f)
{
    const int64_t n = s->extent;
    double all = 0.0, left = 0.0;
    for (int64_t i = 0; i < n * n; i++) {
        s->rest[i] = ldexp(table[i], -f->exponent);
        all += fabs(s->rest[i]);
    }
    left = all;
    while (f->rank < s->count && (f->rank == 0 || left > tolerance * all)) {
        const double root = sqrt(bring_largest(s, f->rank));
        double *down = s->basis + f->rank * n, *across = s->core + f->rank * n;
        for (int64_t i = 0; i < n; i++) {
            down[i] *= root;
            across[i] /= root;
        }
        left = 0.0;
        for (int64_t i = 0; i < n; i++) {
            subtract(s->rest + i * n, down[i], across, n);
            for (int64_t j = 0; j < n; j++) {
                left += fabs(s->rest[i * n + j]);
            }
        }
        f->rank++;
    }
    f->error = all > 0.0 ? left / all : 0.0;
    f->rank = hri_max(f->rank, 1); /* a table of zeros is one filter of zeros */
}

/* The exponent of the largest weight. Its square may be out of range. */
static int exponent_of(const hr_window *window)
{
    const int64_t n = 2 * window->reach + 1;
    double largest = 0.0;
    int exponent = 0;
    for (int64_t i = 0; i < n * n; i++) {
        largest = fmax(largest, fabs(window->values[i]));
    }
    (void)frexp(largest, &exponent);
    return exponent;
}

/* *spanned is the number of columns they were taken from. If it
 * is less than `most`, there are no more. */
static hr_status compute_factors(const hr_window *window, double tolerance,
                                 int64_t most, hri_factors *factors,
                                 int64_t *spanned)
{
    const int64_t n = 2 * window->reach + 1;
    const size_t bytes = (size_t)(n * n) * sizeof(double);
    spans s = {.extent = n,
               .basis = calloc((size_t)(n * n), sizeof(double)),
               .core = calloc((size_t)(n * n), sizeof(double)),
               .rest = malloc(bytes)};
    *factors = (hri_factors){.extent = n,
                             .exponent = exponent_of(window),
                             .down = s.basis,
                             .across = s.core};
    if (s.basis == NULL || s.core == NULL || s.rest == NULL) {
        free(s.rest);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "window: no memory for factors of %lld x %lld weights",
                        (long long)n, (long long)n);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            s.rest[j * n + i] =
                ldexp(window->values[i * n + j], -factors->exponent);
        }
    }
    span_table(&s, most);
    diagonalise(&s);
    choose_vectors(&s, window->values, tolerance, factors);
    *spanned = s.count;
    free(s.rest);
    return HR_OK;
}

void hri_factors_free(hri_factors *factors)
{
    free(factors->down);
    free(factors->across);
    *factors = (hri_factors){0};
}

/* False: there is no memory. */
static bool copy_factors(const hri_factors *from, hri_factors *to)
{
    const size_t count = (size_t)(from->rank * from->extent);
    *to = *from;
    to->down = malloc(count * sizeof(double));
    to->across = malloc(count * sizeof(double));
    if (to->down == NULL || to->across == NULL) {
        hri_factors_free(to);
        return false;
    }
    memcpy(to->down, from->down, count * sizeof(double));
    memcpy(to->across, from->across, count * sizeof(double));
    return true;
}

hr_status hri_factors_find(const hr_window *window, double tolerance,
                           int64_t most, hri_factors *factors)
{
    hri_cached_factors *kept = window->kept;
    int64_t spanned = 0;
    pthread_mutex_lock(&kept->lock);
    const bool known =
        kept->factors.rank > 0 && kept->tolerance == tolerance &&
        (kept->most == most || kept->spanned < hri_min(kept->most, most)) &&
        copy_factors(&kept->factors, factors);
    pthread_mutex_unlock(&kept->lock);
    if (known) {
        return HR_OK;
    }
    HRI_TRY(compute_factors(window, tolerance, most, factors, &spanned));
    pthread_mutex_lock(&kept->lock);
    hri_factors_free(&kept->factors);
    if (copy_factors(factors, &kept->factors)) {
        kept->tolerance = tolerance;
        kept->most = most;
        kept->spanned = spanned;
    }
    pthread_mutex_unlock(&kept->lock);
    return HR_OK;
}

hr_status hr_window_rank(const hr_window *window, double tolerance,
                         int64_t *rank, double *error)
{
    HRI_USUAL_ARITHMETIC;
    if (window == NULL || rank == NULL) {
        return hri_fail(HR_ERROR_INVALID, "window rank: %s is NULL",
                        window == NULL ? "the window" : "rank");
    }
    if (!isfinite(tolerance) || tolerance < 0.0) {
        return hri_fail(
            HR_ERROR_INVALID,
            "window rank: the tolerance is %g, not finite and 0 or more",
            tolerance);
    }
    hri_factors factors;
    hr_status status =
        hri_factors_find(window, tolerance, 2 * window->reach + 1, &factors);
    if (status == HR_OK) {
        *rank = factors.rank;
        if (error != NULL) {
            *error = factors.error;
        }
    }
    hri_factors_free(&factors);
    return status;
}
