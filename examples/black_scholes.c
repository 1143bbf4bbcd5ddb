/* SPDX-License-Identifier: MIT */
/* The value of a call option by Monte Carlo, beside the formula of Black and
 * Scholes. Paths are drawn and reduced where they are; only sums come home.
 *
 *     black_scholes [PATHS]
 *
 * It ends with 1 when the mean is more than five standard errors off, which
 * happens once in a million seeds. */
#include <math.h>
#include <stdio.h>

#include "black_scholes/black_scholes.h"
#include "support/example.h"

extern const hr_kernel payoffs;

/* The mean of all paths, and its standard error. */
static hr_status simulate(hr_context *context, option o, int paths,
                          double *mean, double *error)
{
    hr_array *payoff = NULL;
    hr_reduced sum, norm;
    hr_status status = hr_array_create_anywhere(context, sizeof(float),
                                                hr_extent1(paths), &payoff);
    const hr_view view = hr_view_of(payoff);
    if (status == HR_OK) {
        status = hr_launch_split(context, &payoffs, hr_extent1(paths),
                                 HR_ARGUMENTS(hr_value(o), hr_out(view)), NULL);
    }
    if (status == HR_OK) {
        status =
            hr_reduce(context, HR_REDUCE_SUM, HR_F32, view, NULL, NULL, &sum);
    }
    if (status == HR_OK) {
        status =
            hr_reduce(context, HR_REDUCE_NORM, HR_F32, view, NULL, NULL, &norm);
    }
    if (status == HR_OK) {
        *mean = sum.value / paths;
        const double square = norm.value * norm.value / paths;
        *error = sqrt((square - *mean * *mean) / paths);
    }
    hr_array_destroy(payoff);
    return status;
}

int main(int count, char **words)
{
    const option o = {.price = 100, 105, .rate = 0.03f, 0.25f, .years = 1};
    int paths = 1 << 20;
    double mean = 0.0, error = 0.0;
    hr_context *context = NULL;
    if (count > 2 || (count > 1 && !example_number("PATHS", words[1], 1000,
                                                   1 << 30, &paths))) {
        fprintf(stderr, "usage: black_scholes [PATHS]\n");
        return 2;
    }
    hr_status status = hr_context_default(&context);
    if (status == HR_OK) {
        status = simulate(context, o, paths, &mean, &error);
    }
    if (status == HR_OK) {
        /* A path in float is off by some 16 roundings of what it is made of. */
        const double rounding = ldexp(16, -24) * (o.price + o.strike);
        const double exact = black_scholes(o);
        printf("%d paths: %.4f, standard error %.4f\n", paths, mean, error);
        example_check(fabs(mean - exact) <= 5 * error + rounding,
                      "the formula gives %.4f", exact);
    }
    return example_end(status);
}
