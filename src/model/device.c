/* SPDX-License-Identifier: MIT */
/* Which accelerators share a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/model.h"

bool hri_in_host_memory(const hri_accelerator *accelerator)
{
    return accelerator->device->info.host || accelerator->device->info.emulated;
}

bool hri_accelerators_same_kind(const hri_accelerator *a,
                                const hri_accelerator *b)
{
    return hri_in_host_memory(a) ? hri_in_host_memory(b)
                                 : a->physical == b->physical;
}

uint32_t hri_accelerators_sharing(hri_accelerator *const *accelerators,
                                  uint32_t count, const hri_accelerator *a)
{
    uint32_t sharing = 0;
    for (uint32_t i = 0; i < count; i++) {
        sharing += hri_accelerators_same_kind(accelerators[i], a);
    }
    return sharing;
}

hr_status hri_devices_list(hr_context *context,
                           bool (*wanted)(const hri_accelerator *a),
                           hri_accelerator ***devices, uint32_t *count)
{
    hri_accelerator **list =
        calloc(context->accelerator_count, sizeof(hri_accelerator *));
    uint32_t found = 0;
    if (list == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "measuring: out of memory");
    }
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        if ((wanted == NULL || wanted(a)) &&
            hri_accelerators_sharing(list, found, a) == 0) {
            list[found++] = a;
        }
    }
    *devices = list;
    *count = found;
    return HR_OK;
}

/* The name is the hash of the devices' keys. */
void hri_devices_name(hri_accelerator *const *devices, uint32_t count,
                      char *name, size_t bytes)
{
    uint64_t hash = HRI_HASH_INIT;
    name[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        if (devices[i]->key[0] == '\0') {
            return;
        }
        hash = hri_hash(hash, devices[i]->key, strlen(devices[i]->key));
    }
    snprintf(name, bytes, "%u devices %016llx", count,
             (unsigned long long)hash);
}
