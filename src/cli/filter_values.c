/* SPDX-License-Identifier: MIT */
#include "filter_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/context.h"
#include "console/output.h"
#include "console/values.h"

static bool take_finite(const char *text, void *field)
{
    cli_scalar number = {0};
    if (!cli_factor.take(text, &number) || number.value.im != 0.0) {
        return false;
    }
    *(cli_number_wish *)field =
        (cli_number_wish){.given = true, .value = number.value.re};
    return true;
}

#define EDGES   "left clamped mirrored periodic constant"
#define METHODS "auto direct separable fft"

const cli_kind cli_finite = {.take = take_finite, .wants = "a finite number"};
const cli_kind cli_edges = {
    .wants = "one of " EDGES, .names = EDGES, .first = HR_EDGES_LEFT};
const cli_kind cli_filter_method = {
    .wants = "one of " METHODS, .names = METHODS, .first = HR_FILTER_AUTO};

/* Weights out of the elements of a square matrix with a middle. */
static int make_window(const char *path, cli_reach reach, hr_matrix m,
                       hr_window **window)
{
    const int64_t n = m.rows;
    if (n != m.cols || n % 2 == 0 || n / 2 > HR_MOST_REACH ||
        (m.type != HR_F32 && m.type != HR_F64) ||
        (reach.given && reach.value != n / 2)) {
        return cli_fail("%s is %" PRId64 "x%" PRId64 " of %s, not %s", path,
                        m.rows, m.cols, hr_type_name(m.type),
                        reach.given ? "a window of that reach in f32 or f64"
                                    : "a window: as many rows as columns, an "
                                      "odd number up to 2049, of f32 or f64");
    }
    double *values = malloc((size_t)(n * n) * sizeof *values);
    if (values == NULL) {
        return cli_fail("out of memory");
    }
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t at = i / n * m.row_stride + i % n * m.col_stride;
        values[i] = m.type == HR_F32 ? (double)((const float *)m.data)[at]
                                     : ((const double *)m.data)[at];
    }
    hr_status status = hr_window_create(n / 2, values, window);
    free(values);
    return status == HR_OK ? CLI_OK : cli_failed_call();
}

static int read_window(const char *path, cli_reach reach, hr_window **window)
{
    hr_npy *file = NULL;
    hr_matrix m;
    if (hr_npy_open(path, &file, &m) != HR_OK) {
        return cli_failed_call();
    }
    int status = make_window(path, reach, m, window);
    hr_npy_close(file);
    return status;
}

static double usual_scale(const char *weights, const hr_window *window)
{
    const int64_t reach = hr_window_reach(window);
    const double n = 2.0 * (double)reach + 1.0;
    const double *w = hr_window_values(window);
    double sum = 0.0;
    for (int64_t i = 0; i < (2 * reach + 1) * (2 * reach + 1); i++) {
        sum += w[i];
    }
    return strcmp(weights, "gaussian") == 0 ? 1.0 / sum : 1.0 / (n * n);
}

bool cli_window_made(const char *weights)
{
    return strcmp(weights, "radial") == 0 || strcmp(weights, "box") == 0 ||
           strcmp(weights, "gaussian") == 0;
}

int cli_window_create(const cli_command *command, const char *weights,
                      cli_reach reach, cli_number_wish sigma,
                      hr_window **window, double *scale)
{
    const bool round = strcmp(weights, "gaussian") == 0;
    const bool made = cli_window_made(weights);
    if (made && !reach.given) {
        return cli_wrong(command, "--window is missing");
    }
    if (sigma.given && (!round || sigma.value <= 0.0)) {
        return cli_wrong(command, round ? "--sigma: it must be above 0"
                                        : "--sigma is for gaussian windows");
    }
    *scale = 1.0;
    if (!made) {
        return read_window(weights, reach, window);
    }
    const double usual = fmax((double)reach.value / 3.0, 0.5);
    hr_status status =
        round                         ? hr_window_gaussian(reach.value,
                                   sigma.given ? sigma.value : usual, window)
        : strcmp(weights, "box") == 0 ? hr_window_box(reach.value, window)
                                      : hr_window_radial(reach.value, window);
    if (status != HR_OK) {
        return cli_failed_call();
    }
    *scale = usual_scale(weights, *window);
    return CLI_OK;
}
