/* SPDX-License-Identifier: MIT */
/* What a context's model knows, told or asked by tests. */
#ifndef TEST_TOLD_H
#define TEST_TOLD_H

#include "model/figures.h"

/* A figure of one accelerator, and of those that share its device. */
void told(const hri_accelerator *accelerator, const char *name, double value);
double told_of(const hri_accelerator *accelerator, const char *name);

/* Its link, both ways. */
void told_link(const hri_accelerator *accelerator, double rate);

/* What links carry that stage memory, alone and all together: nothing about
 * them is measured any more. */
void told_links(hr_context *context, const hri_link *link);

/* What a row of so many points of a kernel takes. */
void told_kernel(const hri_accelerator *accelerator, const hr_kernel *kernel,
                 int64_t points, double seconds);

/* Launches and copies that cost what they are guessed to: so they are not
 * measured, and backends are not asked thousands of times. */
void told_overheads(hr_context *context);

/* Let each accelerator be a device of its own, as far as plans are concerned.
 */
void told_apart(hr_context *context);

#endif
