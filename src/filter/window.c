/* SPDX-License-Identifier: MIT */
#include "filter/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
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
    hr_status status = allocate(reach, window == NULL ? NULL : &made);
    if (status != HR_OK) {
        return status;
    }
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
    hr_status status = allocate(reach, window);
    double *w = status == HR_OK ? (*window)->values : NULL;
    for (int64_t i = -reach; i <= reach && status == HR_OK; i++) {
        for (int64_t j = -reach; j <= reach; j++) {
            *w++ = weight((double)(i * i + j * j), width);
        }
    }
    return status;
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
