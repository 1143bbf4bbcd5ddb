/* SPDX-License-Identifier: MIT */
/* Launches of kernels by tasks: on places, without arrays. */
#include "arrays/launch.h"
#include "flow/flow.h"

hri_kernel_argument hri_place_argument(hri_place place, hr_extent extent,
                                       int64_t pitch)
{
    hri_kernel_argument argument = {.place = place};
    int64_t stride = 1;
    for (uint32_t d = extent.rank; d-- > 0;) {
        argument.held[d] = argument.shape.extent[d] = extent.size[d];
        argument.shape.stride[d] = stride;
        stride *= d + 1 == extent.rank ? pitch : extent.size[d];
    }
    return argument;
}

hr_status hri_task_launch(const hri_flow_task *task, const hr_kernel *kernel,
                          hri_module *module, hr_extent domain,
                          const hri_kernel_argument *arguments)
{
    const hri_part whole = hri_part_of(domain);
    hri_launch launch = {.kernel = module != NULL && module->kernel != NULL
                                       ? module->kernel
                                       : kernel,
                         .module = module,
                         .arguments = arguments};
    hr_status status =
        hri_tile_choose(&launch, &whole, task->queue->device->info.host);
    if (status == HR_OK) {
        status = hri_tile_fit(&launch, true, NULL);
    }
    return status == HR_OK ? task->queue->ops->launch(task->queue, &launch)
                           : status;
}
