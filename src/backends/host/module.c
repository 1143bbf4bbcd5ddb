/* SPDX-License-Identifier: MIT */
/* Kernels that the build has not compiled. A module is a shared library, in
 * which the dialect has made an hr_kernel of each kernel of the source. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/check.h>

#include "backends/host/compiler.h"
#include "backends/host/host.h"

typedef struct host_module {
    hri_module base; /* first: see hri_module */
    void *library;
} host_module;

void hri_host_module_unload(hri_module *base)
{
    host_module *module = (host_module *)base;
    if (module != NULL) {
        if (module->library != NULL) {
            (void)dlclose(module->library);
        }
        free(module);
    }
}

/* Checked kernels call the library through a table: it may not be among those
 * whose symbols a module sees. */
static void set_checks(void *library)
{
    hr_checked_calls *calls = dlsym(library, "hr_checked_table");
    if (calls != NULL) {
        *calls = (hr_checked_calls){.at = hr_checked_at,
                                    .item = hr_checked_item,
                                    .atomic = hr_checked_atomic,
                                    .barrier = hr_checked_barrier};
    }
}

static hr_status find_kernel(host_module *module, const hr_kernel *kernel)
{
    char *name = hri_kernel_function(HRI_KERNEL_PREFIX, kernel);
    if (name == NULL) {
        return hri_no_memory_for("host", kernel->name);
    }
    module->base.kernel = dlsym(module->library, name);
    free(name);
    return module->base.kernel != NULL
               ? HR_OK
               : hri_build_lacks("host", kernel, "no symbol");
}

/* Load the library of a folder. The file is not needed afterwards. */
static hr_status load_library(hri_device *device, const hr_kernel *kernel,
                              const host_folder *folder, hri_module **out)
{
    host_module *module = calloc(1, sizeof *module);
    if (module == NULL) {
        return hri_no_memory_for("host", kernel->name);
    }
    module->base = (hri_module){.device = device};
    module->library = dlopen(folder->library, RTLD_NOW | RTLD_LOCAL);
    hr_status status =
        module->library != NULL
            ? find_kernel(module, kernel)
            : hri_fail(HR_ERROR_BACKEND, "host: %s cannot be loaded: %s",
                       kernel->name, dlerror());
    if (status != HR_OK) {
        hri_host_module_unload(&module->base);
        return status;
    }
    set_checks(module->library);
    *out = &module->base;
    return HR_OK;
}

hr_status hri_host_module_load(hri_device *device, const hr_kernel *kernel,
                               const hri_image *image, hri_module **out)
{
    host_folder folder;
    HRI_TRY(hri_host_folder_create(&folder));
    hr_status status =
        hri_host_folder_write(folder.library, image->bytes, image->count);
    if (status != HR_OK) {
        goto done;
    }
    status = load_library(device, kernel, &folder, out);
done:
    hri_host_folder_remove(&folder);
    return status;
}

hr_status hri_host_module_build(hri_device *device, const hr_kernel *kernel,
                                const char *source, hri_image *image,
                                hri_module **out)
{
    host_compiler compiler;
    host_folder folder;
    if (hri_host_compiler_find(&compiler) != HR_OK) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "host: the kernel %s is known as text alone, and %s; "
                        "install a C compiler, or name one in HEADRACE_CC",
                        kernel->name, hr_last_error());
    }
    HRI_TRY(hri_host_folder_create(&folder));
    hr_status status = hri_host_compile(&compiler, kernel, source, &folder);
    if (status != HR_OK) {
        goto done;
    }
    status = load_library(device, kernel, &folder, out);
    if (status != HR_OK) {
        goto done;
    }
    if (image != NULL) {
        image->bytes = hri_host_folder_read(folder.library, &image->count);
    }
done:
    hri_host_folder_remove(&folder);
    return status;
}
