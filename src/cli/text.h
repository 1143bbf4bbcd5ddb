/* SPDX-License-Identifier: MIT */
/* Quantities as people read them. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdint.h>

/* A short text by value, so that several can stand in one call. */
typedef struct cli_text {
    char text[48];
} cli_text;

cli_text cli_bytes_text(uint64_t bytes);         /* "1.50 GiB" */
cli_text cli_rate_text(double flops_per_second); /* "350 GFLOP/s" */
cli_text cli_link_text(double bytes_per_second); /* "12.3 GB/s" */
cli_text cli_seconds_text(double seconds);       /* "12.3 us", "2 h 05 min" */

/* Seconds of a clock that never goes back. */
double cli_clock(void);

#endif
