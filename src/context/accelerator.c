/* SPDX-License-Identifier: MIT */
#include "context/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "model/model.h"
#include "runtime/staging.h"
#include "runtime/stream.h"
#include "trace/traced.h"

static void set_path(hri_accelerator *accelerator, const hri_choice *choice)
{
    const char *path = accelerator->device->info.path;
    if (choice->virtual) {
        snprintf(accelerator->path, sizeof accelerator->path, "%.31s#%u", path,
                 choice->number);
    } else {
        snprintf(accelerator->path, sizeof accelerator->path, "%s", path);
    }
}

/* Open one choice as the context's next accelerator. */
static hr_status open_choice(hr_context *context, hri_machine *machine,
                             const hri_choice *choice)
{
    hri_found *found = &machine->entries[choice->found];
    hri_accelerator *accelerator =
        &context->accelerators[context->accelerator_count];
    hri_device *device = NULL;
    HRI_TRY(found->backend->open(found->index, hri_pool_threads(context->pool),
                                 &device));
    accelerator->device = device;
    accelerator->model = context->model;
    accelerator->reproducible = context->reproducible;
    accelerator->checked = context->checker != NULL;
    hri_threads_init(&accelerator->threads);
    hri_deferral_init(&accelerator->deferral);
    hri_pools_init(accelerator);
    hri_memory_init(accelerator);
    found->info = device->info;
    found->chosen = true;
    set_path(accelerator, choice);
    accelerator->in_place = device->info.host && !choice->virtual;
    context->accelerator_count++;
    return HR_OK;
}

/* Number the devices that were opened, and the physical devices. */
static void number_devices(hr_context *context)
{
    uint32_t physical = 0;
    hri_accelerator *all = context->accelerators;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_device_info *info = &all[i].device->info;
        all[i].device_index = i;
        all[i].physical = physical;
        for (uint32_t j = i; j-- > 0;) {
            const hri_device_info *other = &all[j].device->info;
            const bool same = strcmp(info->path, other->path) == 0;
            if (same) {
                all[i].device_index = j;
            }
            if (same || (info->physical_id[0] != '\0' &&
                         strcmp(info->physical_id, other->physical_id) == 0)) {
                all[i].physical = all[j].physical;
            }
        }
        physical += all[i].physical == physical;
    }
}

/* The memory that an accelerator may use: an equal share of its device among
 * those that hold memory there. It takes 90 per cent of the free memory, since
 * drivers and other programs need some. It takes half of the host's, since the
 * operands lie there, too. */
static uint64_t memory_limit(const hr_context *context,
                             const hri_accelerator *accelerator, uint64_t limit)
{
    uint64_t shares = 1;
    uint64_t whole = accelerator->device->info.memory_bytes;
    uint64_t free_bytes = accelerator->device->info.free_bytes;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *other = &context->accelerators[i];
        if (other != accelerator && !other->in_place &&
            hri_accelerators_same_kind(accelerator, other)) {
            const hri_device_info *info = &other->device->info;
            shares++;
            free_bytes =
                info->free_bytes < free_bytes ? info->free_bytes : free_bytes;
        }
    }
    uint64_t usable = hri_in_host_memory(accelerator)
                          ? free_bytes / 2
                          : free_bytes - free_bytes / 10;
    uint64_t share = (limit != 0 ? whole : usable) / shares;
    return limit != 0 && limit < share ? limit : share;
}

static void share_out_memory(hr_context *context, uint64_t limit)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *accelerator = &context->accelerators[i];
        if (!accelerator->in_place) {
            accelerator->memory_limit =
                memory_limit(context, accelerator, limit);
        }
    }
}

/* Keep the last error message as the reason, without the path before it. */
static void keep_reason(hri_found *found)
{
    const char *message = hr_last_error();
    const size_t length = strlen(found->info.path);
    if (strncmp(message, found->info.path, length) == 0 &&
        strncmp(message + length, ": ", 2) == 0) {
        message += length + 2;
    }
    snprintf(found->reason, sizeof found->reason, "%s", message);
}

static hr_status open_all(hr_context *context, hri_machine *machine,
                          const hri_choices *choices)
{
    hri_error error = {0};
    for (uint32_t i = 0; i < machine->count; i++) {
        machine->entries[i].chosen = false; /* until it is open */
    }
    for (uint32_t i = 0; i < choices->count; i++) {
        const hri_choice *choice = &choices->items[i];
        hri_found *entry = &machine->entries[choice->found];
        hr_status status = open_choice(context, machine, choice);
        const bool lost = status == HR_ERROR_LOST && choice->kind;
        if (status != HR_OK && choice->named && !lost) {
            return status;
        }
        if (status != HR_OK) {
            hri_error_keep(&error, status);
            keep_reason(entry);
        }
    }
    return context->accelerator_count > 0 || context->may_be_empty
               ? HR_OK
               : hri_error_raise(&error);
}

/* The slow steps of opening, which all accelerators with staged copies do at
 * the same time. */
typedef struct opening {
    hri_call call;
    hri_accelerator *accelerator;
    bool first; /* of the accelerators of its device */
} opening;

static hr_status open_staging(void *argument)
{
    const opening *o = argument;
    hri_accelerator *a = o->accelerator;
    HRI_TRY(hri_staging_open(a));
    /* the first product need not start them */
    hri_threads_make(&a->threads,
                     HRI_WAYS * a->copy_threads + HRI_EXECUTOR_THREADS);
    if (o->first) {
        hri_accelerator_warm(a);
    }
    return HR_OK;
}

/* Pinned memory for accelerators with staged copies, and kernels. */
static hr_status open_all_staging(hr_context *context)
{
    uint32_t count = 0;
    opening *all = calloc(context->accelerator_count, sizeof *all);
    if (all == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "context: out of memory");
    }
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        if (a->device->info.staged && !a->in_place) {
            bool first = true;
            for (uint32_t j = 0; j < count; j++) {
                first =
                    first && !hri_accelerators_same_kind(all[j].accelerator, a);
            }
            all[count++] = (opening){
                .call.threads = &a->threads, .accelerator = a, .first = first};
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_staging_plan(all[i].accelerator, count,
                         hri_pool_threads(context->pool));
    }
    hr_status status = hri_threads_call(open_staging, all, count, sizeof *all);
    free(all);
    return status;
}

/* Enable copies between all pairs that can do them. */
static void introduce_peers(const hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            hri_device *device = context->accelerators[i].device;
            (void)device->ops->is_peer(device, context->accelerators[j].device);
        }
    }
}

/* Set the names in the tuning cache. */
static void set_keys(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        const hri_device_info *info = &a->device->info;
        snprintf(a->key, sizeof a->key, "%s %s %s %s, %u units", info->path,
                 info->physical_id, info->name, info->arithmetic,
                 info->compute_units);
    }
}

hr_status hri_accelerators_open(hr_context *context, hri_machine *machine,
                                const hri_choices *choices, uint64_t limit,
                                bool remember)
{
    context->accelerators =
        calloc(choices->count, sizeof *context->accelerators);
    if (context->accelerators == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "context: out of memory for %u accelerator%s",
                        choices->count, hri_plural(choices->count));
    }
    HRI_TRY(open_all(context, machine, choices));
    if (context->accelerator_count == 0) {
        return HR_OK;
    }
    number_devices(context);
    share_out_memory(context, limit);
    if (remember) {
        set_keys(context);
    }
    introduce_peers(context);
    return open_all_staging(context);
}

void hri_accelerators_close(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        /* deferred commands of one may wait for another */
        hri_accelerator_drop_default_queue(&context->accelerators[i]);
        hri_accelerator_drop_copy_queue(&context->accelerators[i]);
    }
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *accelerator = &context->accelerators[i];
        hri_deferral_finish(&accelerator->deferral);
        hri_modules_close(accelerator);
        hri_pools_close(accelerator);
        hri_memory_finish(accelerator);
        hri_staging_close(accelerator);
        hri_threads_finish(&accelerator->threads);
        hri_traced_close(accelerator->device);
        accelerator->device->ops->close(accelerator->device);
    }
    free(context->accelerators);
    context->accelerators = NULL;
    context->accelerator_count = 0;
}
