/* SPDX-License-Identifier: MIT */
/* Which accelerators share what. */
#include "model/model.h"

bool hri_in_host_memory(const hri_accelerator *accelerator)
{
    return accelerator->device->info.host || accelerator->device->info.emulated;
}

bool hri_accelerators_alike(const hri_accelerator *a, const hri_accelerator *b)
{
    return hri_in_host_memory(a) ? hri_in_host_memory(b)
                                 : a->physical == b->physical;
}
