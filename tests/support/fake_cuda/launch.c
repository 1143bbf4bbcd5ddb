/* SPDX-License-Identifier: MIT */
/* Kernels of the program under test: the code compiled for the host runs with
 * the arguments passed for the device. The program exports its kernels
 * (ENABLE_EXPORTS), and they are found by name. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "hal/backend.h"

const void *fake_find_kernel(const char *name)
{
    const size_t prefix = sizeof HRI_KERNEL_PREFIX - 1;
    return strncmp(name, HRI_KERNEL_PREFIX, prefix) == 0
               ? dlsym(RTLD_DEFAULT, name + prefix)
               : NULL;
}

/* The launch itself succeeds, as that of a real driver. */
bool fake_faults(const void *found)
{
    const hr_kernel *kernel = found;
    fake_cuda_state *state = fake_cuda_get();
    const bool does = state->fault_kernel != NULL &&
                      strcmp(kernel->name, state->fault_kernel) == 0;
    if (does) {
        state->sticky = state->fault_result;
    }
    return does;
}

/* A launch whose arguments have been copied. */
typedef struct launch {
    const hr_kernel *kernel;
    hr_domain domain;                   /* its number: the first block's */
    int64_t blocks[HR_MAX_KERNEL_RANK]; /* in each dimension */
    unsigned shared;
    unsigned char fields[]; /* the struct that the host's code expects, with
                               offsets of memory of the tile for pointers */
} launch;

/* From the list for cuLaunchKernel. */
static void take_arguments(launch *l, void **arguments)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    size_t at = 1; /* behind the domain */
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        unsigned char *field = l->fields + p[i].at;
        if (p[i].kind == HR_PARAMETER_VIEW) {
            memcpy(field, arguments[at++], sizeof(cu_address));
            memcpy(l->fields + p[i].shape_at, arguments[at++],
                   hri_shape_bytes(&p[i]));
        } else if (p[i].kind == HR_PARAMETER_VALUE) {
            memcpy(field, arguments[at++], p[i].bytes);
        } else {
            memcpy(field, arguments[at++], sizeof(unsigned));
        }
    }
}

static void place_tiles(const hr_kernel *kernel, unsigned char *memory,
                        unsigned char *fields)
{
    const hr_parameter *p = kernel->parameters(kernel);
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        if (p[i].kind != HR_PARAMETER_VIEW && p[i].kind != HR_PARAMETER_VALUE) {
            unsigned offset;
            memcpy(&offset, fields + p[i].at, sizeof offset);
            const void *start = memory + offset;
            memcpy(fields + p[i].at, &start, sizeof start);
        }
    }
}

static void run_blocks(const void *arguments)
{
    const launch *l = arguments;
    hr_domain d = l->domain;
    unsigned char *memory = calloc(1, (size_t)l->shared + 16);
    unsigned char *fields = calloc(1, l->kernel->argument_bytes);
    if (memory != NULL && fields != NULL) {
        memcpy(fields, l->fields, l->kernel->argument_bytes);
        place_tiles(l->kernel, memory, fields);
        for (int64_t i = 0; i < l->blocks[0] * l->blocks[1] * l->blocks[2];
             i++) {
            int64_t left = i;
            for (uint32_t k = HR_MAX_KERNEL_RANK; k-- > 0;) {
                d.number[k] = l->domain.number[k] + left % l->blocks[k];
                left /= l->blocks[k];
            }
            l->kernel->host(&d, fields);
        }
    }
    free(memory);
    free(fields);
}

enum { MAX_BLOCKS = 65535 }; /* in y and z */

/* Whether these blocks and items, of x, y and z, are those of a domain of this
 * rank, whose last dimension is x. Then part has those of each
 * dimension. */
static bool suits_domain(const hr_domain *d, uint32_t rank,
                         const unsigned *blocks, const unsigned *items,
                         int64_t *part)
{
    bool right = blocks[1] <= MAX_BLOCKS && blocks[2] <= MAX_BLOCKS;
    part[0] = part[1] = part[2] = 1;
    for (uint32_t k = 0; k < HR_MAX_KERNEL_RANK; k++) {
        const uint32_t at = rank - 1 - k; /* the dimension, where k < rank */
        const int64_t left = k < rank ? d->tiles[at] - d->number[at] : 1;
        const int64_t tile = k < rank ? d->tile[at] : 1;
        right = right && (int64_t)items[k] == tile && blocks[k] > 0 &&
                (int64_t)blocks[k] <= left;
        if (k < rank) {
            part[at] = blocks[k];
        } else {
            right = right && d->tiles[k] == 1;
        }
    }
    return right;
}

cu_result fake_launch(cu_stream stream, const void *found,
                      const unsigned *blocks, const unsigned *items,
                      unsigned shared, void **arguments)
{
    const hr_kernel *kernel = found;
    hr_domain d;
    int64_t part[HR_MAX_KERNEL_RANK];
    memcpy(&d, arguments[0], sizeof d);
    if (!suits_domain(&d, 1, blocks, items, part) &&
        !suits_domain(&d, 2, blocks, items, part) &&
        !suits_domain(&d, 3, blocks, items, part)) {
        return CU_INVALID_VALUE;
    }
    size_t bytes = sizeof(launch) + kernel->argument_bytes;
    launch *l = calloc(1, bytes);
    if (l == NULL) {
        return CU_OUT_OF_MEMORY;
    }
    l->kernel = kernel;
    l->domain = d;
    memcpy(l->blocks, part, sizeof l->blocks);
    l->shared = shared;
    take_arguments(l, arguments);
    fake_cuda_get()->launches++;
    cu_result error = fake_do(stream, run_blocks, l, bytes);
    free(l);
    return error;
}
