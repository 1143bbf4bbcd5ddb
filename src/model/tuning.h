/* SPDX-License-Identifier: MIT */
/* Tuning data: speeds that were measured on this machine, kept between
 * processes. The file `rates`, in the folder of cache.h, has lines of the form
 *
 *     VALUE KIND KEY
 *
 * A file that cannot be read, written or understood counts as missing. Of two
 * processes that write at the same time, one may lose its lines. */
#ifndef HRI_MODEL_TUNING_H
#define HRI_MODEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>

/* Find what was kept under this kind (a word) and key (a line). False: nothing.
 * Under the key "" nothing is kept. */
bool hri_tuning_find(const char *kind, const char *key, double *value);

/* Keep a value. It replaces an earlier one. */
void hri_tuning_keep(const char *kind, const char *key, double value);

typedef struct hri_tuning_line {
    const char *kind, *key;
    double value;
} hri_tuning_line;

/* Keep several at once. */
void hri_tuning_keep_all(const hri_tuning_line *lines, size_t count);

#endif
