/* SPDX-License-Identifier: MIT */
#include "hal/arguments.h"

#include <string.h>

static size_t round_up(size_t bytes)
{
    return (bytes + HRI_ARGUMENTS_ALIGNMENT - 1) / HRI_ARGUMENTS_ALIGNMENT *
           HRI_ARGUMENTS_ALIGNMENT;
}

size_t hri_arguments_bytes(const hr_kernel *kernel,
                           const hri_kernel_argument *arguments)
{
    const hr_parameter *p = kernel->parameters(kernel);
    size_t bytes = round_up(kernel->argument_bytes);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        bytes +=
            p[i].kind == HR_PARAMETER_TILE ? round_up(arguments[i].bytes) : 0;
    }
    return bytes;
}

void hri_arguments_fill(const hr_kernel *kernel,
                        const hri_kernel_argument *arguments,
                        void *const *views, unsigned char *to)
{
    const hr_parameter *p = kernel->parameters(kernel);
    unsigned char *memory = to + round_up(kernel->argument_bytes);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        const hri_kernel_argument *a = &arguments[i];
        if (p[i].kind == HR_PARAMETER_VALUE) {
            memcpy(to + p[i].at, a->value, a->bytes);
        } else if (p[i].kind == HR_PARAMETER_TILE) {
            memcpy(to + p[i].at, &memory, sizeof memory);
            memory += round_up(a->bytes);
        } else {
            memcpy(to + p[i].at, &views[i], sizeof views[i]);
            memcpy(to + p[i].shape_at, &a->shape, sizeof a->shape);
        }
    }
}
