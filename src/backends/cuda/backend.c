/* SPDX-License-Identifier: MIT */
/* The CUDA backend's entry in the registry. */
#include "backends/cuda/cuda.h"

static hr_status find(uint32_t index, hri_cuda_unit **unit)
{
    uint32_t count = 0;
    hr_status status = hri_cuda_unit_count(&count);
    if (status != HR_OK) {
        return status;
    }
    if (index >= count) {
        return hri_fail(HR_ERROR_INVALID, "CUDA device %u of %u", index, count);
    }
    *unit = hri_cuda_unit_at(index);
    return HR_OK;
}

static hr_status backend_describe(uint32_t index, hri_device_info *info)
{
    hri_cuda_unit *unit = NULL;
    hr_status status = find(index, &unit);
    return status == HR_OK ? hri_cuda_describe(unit, info) : status;
}

static hr_status backend_open(uint32_t index, hri_device **device)
{
    hri_cuda_unit *unit = NULL;
    hr_status status = find(index, &unit);
    return status == HR_OK ? hri_cuda_device_open(unit, device) : status;
}

const hri_backend hri_backend_cuda = {
    .abi = HRI_HAL_ABI,
    .name = "cuda",
    .probe = hri_cuda_unit_count,
    .describe = backend_describe,
    .open = backend_open,
};
