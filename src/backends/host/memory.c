/* SPDX-License-Identifier: MIT */
#include "backends/host/host.h"
#include "base/pages.h"

hr_status hri_host_memory(const hri_device *device, size_t bytes, void **out)
{
    unsigned long long most = device->info.allocation_bytes;
    if (bytes > most) { /* the system would promise more than it has */
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "host: %zu bytes are more than the memory, %llu bytes",
                        bytes, most);
    }
    *out = hri_pages(bytes > 0 ? bytes : 1);
    if (*out == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "host: the system refused %zu bytes of memory", bytes);
    }
    return HR_OK;
}
