/* SPDX-License-Identifier: MIT */
/* Launches of kernels by tasks: on places, without arrays. */
#include "arrays/launch.h"
#include "flow/flow.h"
#include "kernels/kernels.h"

hr_status hri_run_modules(const hr_kernel *kernel,
                          hri_accelerator *const *accelerators, uint32_t count,
                          hri_module **modules)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        status = hri_accelerator_module(accelerators[i], kernel, &modules[i]);
    }
    return status;
}

hri_kernel_argument hri_place_argument(hri_place place, hr_extent extent)
{
    hri_kernel_argument argument = {.place = place};
    int64_t stride = 1;
    for (uint32_t d = extent.rank; d-- > 0;) {
        argument.held[d] = argument.shape.extent[d] = extent.size[d];
        argument.shape.stride[d] = stride;
        stride *= extent.size[d];
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
    const hr_parameter *parameters = kernel->parameters(kernel);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (parameters[i].kind == HR_PARAMETER_TILE) {
            return hri_fail(HR_ERROR_UNSUPPORTED,
                            "%s: tasks give no tile memory, which %s is",
                            kernel->name, parameters[i].name);
        }
    }
    hr_status status =
        hri_tile_choose(&launch, &whole, task->queue->device->info.host);
    if (status == HR_OK) {
        status = hri_tile_fit(&launch, true, NULL);
    }
    if (status == HR_OK) { /* streams may launch the same module */
        pthread_mutex_t *one = &task->accelerator->deferral.launches;
        pthread_mutex_lock(one);
        status = task->queue->ops->launch(task->queue, &launch);
        pthread_mutex_unlock(one);
    }
    return status;
}
