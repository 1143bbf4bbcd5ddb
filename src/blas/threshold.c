/* SPDX-License-Identifier: MIT */
#include "blas/threshold.h"

#include <string.h>

#include "base/environment.h"
#include "base/format.h"
#include "blas/log.h"

blas_threshold blas_threshold_read(double usual)
{
    const char *force = hri_environment("HEADRACE_BLAS_FORCE");
    const char *least = hri_environment("HEADRACE_BLAS_MIN_FLOPS");
    blas_threshold found = {.flops = usual};
    char *end = NULL;
    const double flops =
        least != NULL && least[0] != '\0' ? hri_read_number(least, &end) : 0.0;
    found.forced = force != NULL && strcmp(force, "1") == 0;
    if (end != NULL && *end == '\0' && flops >= 0.0) {
        found.flops = flops;
    } else if (end != NULL) {
        blas_log_setting(
            "HEADRACE_BLAS_MIN_FLOPS is \"%.64s\", not a number of "
            "operations; the default %.3g is used",
            least, usual);
    }
    if (force != NULL && force[0] != '\0' && strcmp(force, "0") != 0 &&
        !found.forced) {
        blas_log_setting(
            "HEADRACE_BLAS_FORCE is \"%.64s\", not 1; no call is forced",
            force);
    }
    found.flops = found.forced ? 0.0 : found.flops;
    return found;
}
