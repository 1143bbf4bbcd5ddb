/* SPDX-License-Identifier: MIT */
/* Opening the accelerators that were chosen, and sharing out their memory. */
#ifndef HRI_CONTEXT_ACCELERATOR_H
#define HRI_CONTEXT_ACCELERATOR_H

#include "context/machine.h"
#include "runtime/runtime.h"

/* Open what was chosen into context->accelerators, with memory limits: `limit`
 * bytes each, or when that is 0 what is free. `remember`: what is measured of
 * them is kept for later processes (facts.h), and what earlier ones kept is
 * used, also to load kernels now. Devices that were not named and
 * cannot be opened are left out, and machine says why. On failure
 * hri_accelerators_close is still to be called. */
hr_status hri_accelerators_open(hr_context *context, hri_machine *machine,
                                const hri_choices *choices, uint64_t limit,
                                bool remember);

/* Free their memory and close them. */
void hri_accelerators_close(hr_context *context);

#endif
