/* SPDX-License-Identifier: MIT */
/* Values of options that filter has. */
#ifndef CLI_FILTER_VALUES_H
#define CLI_FILTER_VALUES_H

#include <headrace/headrace.h>

#include "console/values.h"

/* A number that may or may not have been given. */
typedef struct cli_number_wish {
    bool given;
    double value;
} cli_number_wish;

extern const cli_kind cli_finite;        /* cli_number_wish */
extern const cli_kind cli_edges;         /* hr_edges */
extern const cli_kind cli_filter_method; /* hr_filter_method */

/* Whether weights is the name of a window that is made here, and not that of a
 * file. */
bool cli_window_made(const char *weights);

/* A window by name (radial, box, gaussian), or out of a .npy file, and what
 * sums are multiplied by unless the caller says otherwise: 1 / (2 reach + 1)^2
 * for radial and box, 1 / the sum of weights for gaussian, 1 for a file.
 * sigma not given: reach / 3. Returns an exit status. */
int cli_window_create(const cli_command *command, const char *weights,
                      cli_reach reach, cli_number_wish sigma,
                      hr_window **window, double *scale);

#endif
