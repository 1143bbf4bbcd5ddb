/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <math.h>

#include "base/format.h"

/* Write three significant digits, and no exponent below a million. */
static hri_quantity with_unit(double number, const char *unit)
{
    hri_quantity t = {""};
    int decimals = number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    hri_format(t.text, sizeof t.text, number < 1e6 ? "%.*f %s" : "%.*e %s",
               decimals, number, unit);
    return t;
}

/* Use the first unit with at most three digits before the point. Each unit is
 * `step` times the one before. */
static hri_quantity scaled(double number, double step,
                           const char *const units[4])
{
    int unit = 0;
    if (!isfinite(number)) {
        number = 0.0;
    }
    while (number >= 999.5 && unit < 3) {
        number /= step;
        unit++;
    }
    return with_unit(number, units[unit]);
}

hri_quantity hri_bytes_text(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        hri_quantity t = {""};
        hri_format(t.text, sizeof t.text, "%u B", (unsigned)bytes);
        return t;
    }
    return scaled((double)bytes / 1024.0, 1024.0, units);
}

hri_quantity hri_rate_text(double flops_per_second)
{
    static const char *const units[] = {"MFLOP/s", "GFLOP/s", "TFLOP/s",
                                        "PFLOP/s"};
    return scaled(flops_per_second * 1e-6, 1000.0, units);
}

hri_quantity hri_link_text(double bytes_per_second)
{
    static const char *const units[] = {"kB/s", "MB/s", "GB/s", "TB/s"};
    return scaled(bytes_per_second * 1e-3, 1000.0, units);
}

hri_quantity hri_elements_text(double elements_per_second)
{
    static const char *const units[] = {"kelement/s", "Melement/s",
                                        "Gelement/s", "Telement/s"};
    return scaled(elements_per_second * 1e-3, 1000.0, units);
}

hri_quantity hri_seconds_text(double seconds)
{
    hri_quantity t = {""};
    if (seconds <= 0.0) {
        return (hri_quantity){"0 s"};
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
        hri_format(t.text, sizeof t.text, "%.0f min %02.0f s",
                   floor(seconds / 60.0), fmod(floor(seconds), 60.0));
    } else {
        hri_format(t.text, sizeof t.text, "%.0f h %02.0f min",
                   floor(minutes / 60.0), fmod(minutes, 60.0));
    }
    return t;
}
