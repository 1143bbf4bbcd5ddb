/* SPDX-License-Identifier: MIT */
/* What a context has read of kernels, and what its accelerators have loaded. */
#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "hal/backend.h"

struct hri_loaded_kernel {
    hri_loaded_kernel *next;
    const hr_kernel *kernel;
    hri_module *module;
};

/* ---- texts */

typedef struct hri_read_kernel {
    struct hri_read_kernel *next;
    const hr_kernel *kernel;
    const char *text; /* that it had then */
    hri_indexings indexings;
} hri_read_kernel;

hr_status hri_kernel_read(hr_context *context, const hr_kernel *kernel,
                          const hri_indexings **indexings)
{
    for (const hri_read_kernel *k = context->kernels; k != NULL; k = k->next) {
        if (k->kernel == kernel && k->text == kernel->text) {
            *indexings = &k->indexings;
            return HR_OK;
        }
    }
    HRI_TRY(hri_rules_check(kernel));
    hri_read_kernel *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return hri_no_memory_for(kernel->file, kernel->name);
    }
    const hr_status status = hri_indexings_find(kernel, &k->indexings);
    if (status != HR_OK) {
        free(k);
        return status;
    }
    k->kernel = kernel;
    k->text = kernel->text;
    k->next = context->kernels;
    context->kernels = k;
    *indexings = &k->indexings;
    return HR_OK;
}

void hri_kernels_forget(hr_context *context)
{
    while (context->kernels != NULL) {
        hri_read_kernel *k = context->kernels;
        context->kernels = k->next;
        free(k);
    }
}

/* ---- modules */

/* Load an image that an earlier process kept, or that an earlier kernel of the
 * same source left. False: there is none, or the device does not accept it,
 * which is not an error. */
static bool load_kept(hri_device *device, const hr_kernel *kernel,
                      const char *source, hri_module **module)
{
    hri_image image;
    if (!hri_module_cache_find(device->info.target, source, &image)) {
        return false;
    }
    const bool taken =
        device->ops->load(device, kernel, &image, module) == HR_OK;
    free(image.bytes);
    return taken;
}

static hri_source_form form_for(const hri_accelerator *a)
{
    return a->device->info.emulated ? HRI_SOURCE_EMULATED
           : !a->device->info.host  ? HRI_SOURCE_DEVICE
           : a->checked             ? HRI_SOURCE_CHECKED
                                    : HRI_SOURCE_HOST;
}

static hr_status build_module(hri_accelerator *a, const hr_kernel *kernel,
                              hri_module **module)
{
    hri_device *device = a->device;
    const char *target = device->info.target;
    const bool keeps =
        target[0] != '\0' && !device->info.caches && hri_module_cache_wanted();
    hri_image image = {0};
    if (kernel->text == NULL) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "%s: the kernel %s was built for the host alone, without its text: "
            "build it with headrace_kernels() of CMake, or with "
            "hr_kernel_create",
            a->path, kernel->name);
    }
    char *source = hri_kernel_source(kernel, form_for(a));
    if (source == NULL) {
        return hri_no_memory_for(a->path, kernel->name);
    }
    if (keeps && load_kept(device, kernel, source, module)) {
        free(source);
        return HR_OK;
    }
    const hr_status status = device->ops->build(device, kernel, source,
                                                keeps ? &image : NULL, module);
    if (status == HR_OK && image.bytes != NULL) {
        hri_module_cache_keep(target, source, &image);
    }
    free(image.bytes);
    free(source);
    return status;
}

static hr_status check_reproducible(const hri_accelerator *a,
                                    const hr_kernel *kernel)
{
    if (a->reproducible && !kernel->reproducible) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: the context is reproducible, but the kernel %s "
                        "was compiled without HR_REPRODUCIBLE",
                        a->path, kernel->name);
    }
    if (a->reproducible && !a->device->info.ieee) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: the context is reproducible, but this device does "
                        "not round floats as IEEE 754 says",
                        a->path);
    }
    return HR_OK;
}

hr_status hri_accelerator_module(hri_accelerator *a, const hr_kernel *kernel,
                                 hri_module **module)
{
    *module = NULL;
    for (const hri_loaded_kernel *l = a->loaded; l != NULL; l = l->next) {
        if (l->kernel == kernel) {
            *module = l->module;
            return HR_OK;
        }
    }
    HRI_TRY(check_reproducible(a, kernel));
    hri_loaded_kernel *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return hri_no_memory_for(a->path, kernel->name);
    }
    if (!a->device->info.host || kernel->host == NULL) {
        const hr_status status = build_module(a, kernel, &l->module);
        if (status != HR_OK) {
            free(l);
            return status;
        }
    }
    l->kernel = kernel;
    l->next = a->loaded;
    a->loaded = l;
    *module = l->module;
    return HR_OK;
}

void hri_modules_close(hri_accelerator *a)
{
    while (a->loaded != NULL) {
        hri_loaded_kernel *l = a->loaded;
        a->loaded = l->next;
        if (l->module != NULL) {
            a->device->ops->unload(l->module);
        }
        free(l);
    }
}
