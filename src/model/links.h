/* SPDX-License-Identifier: MIT */
/* What the links between host memory and accelerators carry, alone and at once:
 * they share buses, and the host's memory. Callers hold the context's lock. */
#ifndef HRI_MODEL_LINKS_H
#define HRI_MODEL_LINKS_H

#include "model/model.h"

/* Know the links of the context and of its accelerators that stage memory: from
 * what earlier processes kept, else by measuring, once. */
hr_status hri_links_know(hr_context *context);

/* Measure them in any case. */
hr_status hri_links_learn(hr_context *context);

/* Whether they are measured with this accelerator: the first that stages. */
bool hri_links_lead(const hr_context *context, const hri_accelerator *a);

/* What is known of one that stages alone, and of all of them together, from
 * pinned memory or through crews (HRI_PINNED, HRI_STAGED); 0: nothing. */
hri_link hri_links_of(const hri_accelerator *accelerator, int kind);
hri_link hri_links_together(const hr_context *context, int kind);

/* Measure, in bytes/s summed over the accelerators, copies from and to pinned
 * memory, or through crews from and to ordinary memory when staged. 0 where
 * there is no room. They hold nothing afterwards. */
hr_status hri_links_measure(hri_accelerator *const *accelerators,
                            uint32_t count, bool staged, hri_link *link);

/* Measure what the link of one accelerator carries from and to pinned memory,
 * also where nothing is staged, and keep it. */
hr_status hri_link_measure(hri_accelerator *accelerator);

/* Time copies of so many bytes, or as many as there is room for, within its
 * memory. */
hr_status hri_memory_measure(hri_accelerator *accelerator, int64_t bytes,
                             hri_probed *found);

/* What is known of its link; 0: nothing, or it is in place. */
hri_link hri_link_alone(const hri_accelerator *accelerator);

#endif
