/* SPDX-License-Identifier: MIT */
/* Figures of a context's model, set by tests. */
#ifndef TEST_TOLD_H
#define TEST_TOLD_H

#include "model/figures.h"
#include "support/random.h"

/* Set a figure of one accelerator, and of those that share its device. */
void told(const hri_accelerator *accelerator, const char *name, double value);
double told_of(const hri_accelerator *accelerator, const char *name);

/* Set its link, in both directions. */
void told_link(const hri_accelerator *accelerator, double rate);

/* Set the links of accelerators that stage, alone and all together. Nothing
 * about them is measured any more. */
void told_links(hr_context *context, const hri_link *link);

/* Set the seconds for a row of so many points of a kernel. */
void told_kernel(const hri_accelerator *accelerator, const hr_kernel *kernel,
                 int64_t points, double seconds);

/* Let no accelerator of the context be late, however busy the machine is. */
void told_patience(hr_context *context);

/* The same, and set the overheads of launches and copies to those guessed. So
 * they are not measured, and backends are not called thousands of times. */
void told_overheads(hr_context *context);

/* Set invented rates of products, so that plans differ on any machine. Slow
 * accelerators share the smallest product, fast ones leave it to one. */
void told_random_rates(hr_context *context, random_source *source);

/* Let plans treat each accelerator as a device of its own. */
void told_apart(hr_context *context);

#endif
