/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* Three significant digits, and no exponent below a million. */
static cli_text with_unit(double number, const char *unit)
{
    cli_text t;
    int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    snprintf(t.text, sizeof t.text, number < 1e6 ? "%.*f %s" : "%.*e %s",
             decimals, number, unit);
    return t;
}

cli_text cli_bytes_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        cli_text t;
        snprintf(t.text, sizeof t.text, "%u B", (unsigned)bytes);
        return t;
    }
    double number = (double)bytes / 1024.0;
    int unit = 0;
    while (number >= 999.5 && unit < 3) {
        number /= 1024.0;
        unit++;
    }
    return with_unit(number, units[unit]);
}

static cli_text in_thousands(double number, const char *const units[4])
{
    int unit = 0;
    if (!isfinite(number)) {
        number = 0.0;
    }
    while (number >= 999.5 && unit < 3) {
        number /= 1000.0;
        unit++;
    }
    return with_unit(number, units[unit]);
}

cli_text cli_rate_text(double flops_per_second)
{
    static const char *const units[] = {"MFLOP/s", "GFLOP/s", "TFLOP/s",
                                        "PFLOP/s"};
    return in_thousands(flops_per_second * 1e-6, units);
}

cli_text cli_link_text(double bytes_per_second)
{
    static const char *const units[] = {"kB/s", "MB/s", "GB/s", "TB/s"};
    return in_thousands(bytes_per_second * 1e-3, units);
}

cli_text cli_seconds_text(double seconds)
{
    cli_text t;
    if (seconds <= 0.0) {
        return (cli_text){"0 s"};
    }
    if (seconds < 0.0009995) {
        return with_unit(seconds * 1e6, "us");
    }
    if (seconds < 0.0995) {
        return with_unit(seconds * 1e3, "ms");
    }
    if (seconds < 99.5) {
        return with_unit(seconds, "s");
    }
    double minutes = floor(seconds / 60.0 + 0.5);
    if (minutes < 60.0) {
        snprintf(t.text, sizeof t.text, "%.0f min %02.0f s",
                 floor(seconds / 60.0), fmod(floor(seconds), 60.0));
    } else {
        snprintf(t.text, sizeof t.text, "%.0f h %02.0f min",
                 floor(minutes / 60.0), fmod(minutes, 60.0));
    }
    return t;
}

double cli_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
