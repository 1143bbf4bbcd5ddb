/* SPDX-License-Identifier: MIT */
/* Texts of quantities for people: three digits and a unit. Any thread. */
#ifndef HRI_BASE_QUANTITY_H
#define HRI_BASE_QUANTITY_H

#include <stdint.h>

/* A short text by value, so that one call can use several. */
typedef struct hri_quantity {
    char text[48];
} hri_quantity;

hri_quantity hri_bytes_text(uint64_t bytes);         /* "1.50 GiB" */
hri_quantity hri_rate_text(double flops_per_second); /* "350 GFLOP/s" */
hri_quantity hri_link_text(double bytes_per_second); /* "12.3 GB/s" */
hri_quantity
hri_elements_text(double elements_per_second); /* "20 Melement/s" */
hri_quantity hri_seconds_text(double seconds); /* "12.3 us", "2 h 05 min" */

#endif
