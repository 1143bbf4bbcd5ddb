/* SPDX-License-Identifier: MIT */
/* Speeds that were measured on this machine, kept in a file between processes:
 *
 *     VALUE KIND KEY
 *
 * on each line of `rates` in the folder of cache.h. The file is a convenience:
 * one that cannot be read, written or understood is as good as none, and of two
 * processes that write at once one may lose its lines. */
#ifndef HRI_MODEL_TUNING_H
#define HRI_MODEL_TUNING_H

#include <stdbool.h>
#include <stddef.h>

/* What was kept under this kind (a word) and key (a line); false: nothing.
 * Under the key "" nothing is kept. */
bool hri_tuning_find(const char *kind, const char *key, double *value);

/* Keep a value, in the place of an earlier one. */
void hri_tuning_keep(const char *kind, const char *key, double value);

typedef struct hri_tuning_line {
    const char *kind, *key;
    double value;
} hri_tuning_line;

/* Keep several at once. */
void hri_tuning_keep_all(const hri_tuning_line *lines, size_t count);

#endif
