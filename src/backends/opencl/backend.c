/* SPDX-License-Identifier: MIT */
/* The OpenCL backend's entry in the registry. */
#include "backends/opencl/opencl.h"

static hr_status find(uint32_t index, hri_cl_unit **unit)
{
    uint32_t count = 0;
    hr_status status = hri_cl_unit_count(&count);
    if (status != HR_OK) {
        return status;
    }
    if (index >= count) {
        return hri_fail(HR_ERROR_INVALID, "OpenCL device %u of %u", index,
                        count);
    }
    *unit = hri_cl_unit_at(index);
    return HR_OK;
}

static hr_status backend_describe(uint32_t index, hri_device_info *info)
{
    hri_cl_unit *unit = NULL;
    hr_status status = find(index, &unit);
    return status == HR_OK ? hri_cl_describe(unit, info) : status;
}

static hr_status backend_open(uint32_t index, hri_device **device)
{
    hri_cl_unit *unit = NULL;
    hr_status status = find(index, &unit);
    return status == HR_OK ? hri_cl_device_open(unit, device) : status;
}

const hri_backend hri_backend_opencl = {
    .abi = HRI_HAL_ABI,
    .name = "opencl",
    .probe = hri_cl_unit_count,
    .describe = backend_describe,
    .open = backend_open,
};
