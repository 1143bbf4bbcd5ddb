/* SPDX-License-Identifier: MIT */
/* Kernels of the program under test: what was compiled for the host runs with
 * the arguments that were passed for the device. The program exports its
 * kernels (ENABLE_EXPORTS), and they are found by name. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "hal/hal.h"

const void *fake_find_kernel(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* The struct that the host's code expects, from the list for cuLaunchKernel. */
static void fill(const hr_kernel *kernel, void **arguments,
                 unsigned char *memory, unsigned char *fields)
{
    const hr_parameter *p = kernel->parameters(kernel);
    size_t at = 1; /* behind the domain */
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (p[i].kind == HR_PARAMETER_VIEW) {
            memcpy(fields + p[i].at, arguments[at++], sizeof(cu_address));
            memcpy(fields + p[i].shape_at, arguments[at++], sizeof(hr_shape));
        } else if (p[i].kind == HR_PARAMETER_VALUE) {
            memcpy(fields + p[i].at, arguments[at++], p[i].bytes);
        } else {
            unsigned offset;
            memcpy(&offset, arguments[at++], sizeof offset);
            const void *start = memory + offset;
            memcpy(fields + p[i].at, &start, sizeof start);
        }
    }
}

bool fake_run_kernel(const void *found, unsigned blocks, unsigned items,
                     unsigned shared, void **arguments)
{
    const hr_kernel *kernel = found;
    hr_domain d;
    memcpy(&d, arguments[0], sizeof d);
    if (d.tiles[0] * d.tiles[1] * d.tiles[2] != (int64_t)blocks ||
        d.tile[0] * d.tile[1] * d.tile[2] != (int64_t)items) {
        return false;
    }
    unsigned char *memory = calloc(1, (size_t)shared + 16);
    unsigned char *fields = calloc(1, kernel->argument_bytes);
    if (memory != NULL && fields != NULL) {
        fill(kernel, arguments, memory, fields);
        for (int64_t i = 0; i < (int64_t)blocks; i++) {
            hri_domain_go(&d, i);
            kernel->host(&d, fields);
        }
    }
    free(memory);
    free(fields);
    return true;
}
