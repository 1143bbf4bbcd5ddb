/* SPDX-License-Identifier: MIT */
/* What short engines need: flows whose results need nothing of each other, and
 * launches of kernels by tasks, on places, without arrays. */
#include <stdlib.h>

#include "arrays/launch.h"
#include "base/size.h"
#include "flow/flow.h"
#include "kernels/kernels.h"

/* ---- flows */

void hri_flow_finish(hri_flow *flow)
{
    for (uint32_t i = 0; i < flow->share_count && flow->shares != NULL; i++) {
        free(flow->shares[i].deliveries);
        free(flow->shares[i].tasks);
    }
    free(flow->shares);
    free(flow->pullers);
}

uint64_t hri_flow_memory(const hri_flow *flow, const hri_flow_share *share)
{
    uint64_t bytes = 0;
    for (int side = HRI_A; side < HRI_SIDES && !share->in_place; side++) {
        const int64_t more =
            side < HRI_C && share->can_steal && share->slots[side];
        const int64_t packed =
            side < HRI_C && share->packed[side]
                ? share->slots[side] + (flow->must_pack ? more : 0)
                : 0;
        bytes += (uint64_t)(share->slots[side] + more) * flow->slot_bytes[side];
        bytes += packed > 0 ? (uint64_t)packed * flow->packed_bytes[side] : 0;
    }
    return bytes + (share->in_place ? 0 : flow->scratch_bytes);
}

/* The panel of a side for a task: a new one, or the share's only one. */
static int64_t deliver(hri_flow_share *share, int side, int64_t task,
                       int32_t index, bool shared)
{
    const int64_t slots = share->slots[side];
    const hri_task *first = &share->tasks[0];
    if (slots == 0 || (shared && task > 0)) {
        return slots == 0 ? -1 : side == HRI_A ? first->a : first->b;
    }
    const int64_t number = share->delivery_count++;
    share->deliveries[number] =
        (hri_delivery){.after = task < slots ? -1 : task - slots,
                       .index = index,
                       .slot = (int32_t)(task % slots),
                       .only = shared ? -1 : task,
                       .source = -1,
                       .side = side};
    return number;
}

hr_status hri_flow_add_units(hri_flow_share *share, const char *call,
                             int64_t first, int64_t count, const bool shared[2])
{
    const size_t tasks = (size_t)hri_max(count, 1);
    if (first + count <= INT32_MAX) {
        share->tasks = calloc(tasks, sizeof *share->tasks);
        share->deliveries = share->in_place
                                ? NULL
                                : calloc(2 * tasks, sizeof *share->deliveries);
    }
    if (share->tasks == NULL ||
        (share->deliveries == NULL && !share->in_place)) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %lld tasks",
                        call, (long long)count);
    }
    share->task_count = count;
    for (int64_t t = 0; t < count; t++) {
        const int32_t unit = (int32_t)(first + t);
        hri_task *task = &share->tasks[t];
        *task = (hri_task){.a = -1,
                           .b = -1,
                           .unit = unit,
                           .row = shared[HRI_A] ? 0 : unit,
                           .col = shared[HRI_B] ? 0 : unit,
                           .slot = -1};
        if (!share->in_place) {
            task->a = deliver(share, HRI_A, t, task->row, shared[HRI_A]);
            task->b = deliver(share, HRI_B, t, task->col, shared[HRI_B]);
        }
    }
    return HR_OK;
}

/* Slots of each operand, and room for tasks of others: as many as there is
 * memory for, at least one. */
static void choose_slots(const hri_flow *flow, hri_accelerator *accelerator,
                         int32_t most, hri_flow_share *share)
{
    const uint64_t room = hri_accelerator_room(accelerator);
    for (int32_t slots = most; slots > 0; slots--) {
        for (int side = HRI_A; side < HRI_SIDES; side++) {
            share->slots[side] = flow->slot_bytes[side] > 0 ? slots : 0;
        }
        if (hri_flow_memory(flow, share) <= room) {
            return;
        }
    }
    share->can_steal = false;
}

hr_status hri_flow_spread(hri_flow *flow, const char *call,
                          hri_accelerator *const *accelerators, uint32_t count,
                          int32_t slots, double seconds)
{
    static const bool none_shared[2] = {false, false};
    const int64_t shares = hri_min(count, flow->unit_count);
    flow->shares = calloc((size_t)shares + 1, sizeof *flow->shares);
    if (flow->shares == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for its shares",
                        call);
    }
    flow->share_count = (uint32_t)shares;
    for (uint32_t i = 0; i < shares; i++) {
        hri_flow_share *share = &flow->shares[i];
        const int64_t first = flow->unit_count * i / shares;
        const int64_t units = flow->unit_count * (i + 1) / shares - first;
        *share = (hri_flow_share){.accelerator = i,
                                  .in_place = accelerators[i]->in_place,
                                  .can_steal = shares > 1,
                                  .seconds = seconds * (double)units};
        if (!share->in_place) {
            choose_slots(flow, accelerators[i], (int32_t)hri_min(slots, units),
                         share);
        }
        share->memory = hri_flow_memory(flow, share);
        HRI_TRY(hri_flow_add_units(share, call, first, units, none_shared));
    }
    return HR_OK;
}

/* ---- launches */

hr_status hri_run_modules(const hr_kernel *kernel,
                          hri_accelerator *const *accelerators, uint32_t count,
                          hri_module **modules)
{
    for (uint32_t i = 0; i < count; i++) {
        HRI_TRY(hri_accelerator_module(accelerators[i], kernel, &modules[i]));
    }
    return HR_OK;
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
    const hri_launch_box whole = hri_launch_box_of(domain);
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
    HRI_TRY(hri_tile_choose(&launch, &whole, task->queue->device->info.host));
    HRI_TRY(hri_tile_fit(&launch, true, NULL));
    /* streams may launch the same module */
    pthread_mutex_t *one = &task->accelerator->deferral.launches;
    pthread_mutex_lock(one);
    const hr_status status = task->queue->ops->launch(task->queue, &launch);
    pthread_mutex_unlock(one);
    return status;
}
