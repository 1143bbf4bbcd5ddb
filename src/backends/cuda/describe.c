/* SPDX-License-Identifier: MIT */
/* What is known of a GPU without opening it. */
#include <stdio.h>

#include "backends/cuda/cuda.h"

hr_status hri_cuda_describe(const hri_cuda_unit *unit, hri_device_info *info)
{
    hri_device_info d = {.staged = true};
    size_t bytes = 0;
    snprintf(d.path, sizeof d.path, "%s", unit->path);
    hr_status status = hri_cuda_check(
        unit->path, hri_cuda.cuDeviceTotalMem_v2(&bytes, unit->id),
        "cuDeviceTotalMem");
    if (status == HR_OK) {
        status = hri_cuda_check(
            unit->path,
            hri_cuda.cuDeviceGetName(d.name, (int)sizeof d.name - 1, unit->id),
            "cuDeviceGetName");
    }
    if (status != HR_OK) {
        return status;
    }
    /* As the OpenCL backend writes it: one card is known through both. */
    snprintf(d.physical_id, sizeof d.physical_id, "pci:%04x:%02x:%02x.0",
             (unsigned)hri_cuda_unit_number(unit, CU_ATTRIBUTE_PCI_DOMAIN),
             (unsigned)hri_cuda_unit_number(unit, CU_ATTRIBUTE_PCI_BUS),
             (unsigned)hri_cuda_unit_number(unit, CU_ATTRIBUTE_PCI_DEVICE));
    hri_cuda_module_target(unit, d.target, sizeof d.target);
    hri_cuda_arithmetic_name(d.arithmetic, sizeof d.arithmetic);
    d.memory_bytes = d.free_bytes = d.allocation_bytes = bytes;
    d.gemm_bytes = hri_cublas_bytes(unit->capability);
    d.turned = hri_cublas_turned(unit->capability);
    d.compute_units =
        (uint32_t)hri_cuda_unit_number(unit, CU_ATTRIBUTE_MULTIPROCESSORS);
    *info = d;
    return HR_OK;
}
