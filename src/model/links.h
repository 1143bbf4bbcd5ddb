/* SPDX-License-Identifier: MIT */
/* What the links between host memory and several accelerators carry at once:
 * they share buses, and the host's memory. */
#ifndef HRI_MODEL_LINKS_H
#define HRI_MODEL_LINKS_H

#include "model/model.h"

/* Fill the links of the context and its accelerators where they stage memory:
 * from what earlier processes kept, else by measuring, once. The caller holds
 * the context's lock. */
hr_status hri_links_know(hr_context *context);

/* Measure them in any case. */
hr_status hri_links_learn(hr_context *context);

/* Measure, in bytes/s summed over the accelerators, copies from and to pinned
 * memory, or through crews from and to ordinary memory when staged. 0 where
 * there is no room. They hold nothing afterwards. The caller
 * holds the context's lock. */
hr_status hri_links_measure(hri_accelerator *const *accelerators,
                            uint32_t count, bool staged, hri_link *link);

/* Measure what the link of one accelerator carries from and to pinned memory,
 * also where nothing is staged, into its up and down, and keep it. */
hr_status hri_link_measure(hri_accelerator *accelerator);

#endif
