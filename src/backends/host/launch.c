/* SPDX-License-Identifier: MIT */
/* Kernels of the caller's, compiled into the program: a call does a tile, and
 * the threads of the pool share them out. */
#include <stdlib.h>
#include <string.h>

#include "backends/host/host.h"
#include "base/size.h"

enum { ALIGNMENT = 64, BATCHES = 512 };

struct host_launch {
    const hr_kernel *kernel;
    hr_domain domain;
    int64_t tiles, batch; /* all, and how many a thread takes at once */
    size_t stride;        /* bytes of arguments and tile memory of a batch */
    unsigned char *arguments;
};

/* Where memory of tiles starts behind the arguments, and where it ends. */
static size_t round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t tile_memory(const hri_launch *l)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    size_t bytes = 0;
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        bytes += p[i].kind == HR_PARAMETER_TILE
                     ? round_up(l->arguments[i].bytes)
                     : 0;
    }
    return bytes;
}

/* The struct that the kernel's own code expects. */
static void fill(const hri_launch *l, unsigned char *arguments)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    unsigned char *memory = arguments + round_up(l->kernel->argument_bytes);
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        const hri_kernel_argument *a = &l->arguments[i];
        const void *pointer = NULL;
        if (p[i].kind == HR_PARAMETER_VALUE) {
            memcpy(arguments + p[i].at, a->value, a->bytes);
            continue;
        }
        if (p[i].kind == HR_PARAMETER_TILE) {
            pointer = memory;
            memory += round_up(a->bytes);
        } else {
            pointer = hri_host_address(&a->place);
            memcpy(arguments + p[i].shape_at, &a->shape, sizeof a->shape);
        }
        memcpy(arguments + p[i].at, &pointer, sizeof pointer);
    }
}

hr_status hri_host_launch_create(const hri_launch *l, host_launch **out)
{
    const int64_t *count = l->domain.tiles;
    int64_t tiles = count[0] * count[1] * count[2];
    int64_t batch = hri_ceil_div(tiles, BATCHES);
    int64_t batches = hri_ceil_div(tiles, batch);
    size_t memory = tile_memory(l);
    size_t stride = round_up(l->kernel->argument_bytes) + memory;
    host_launch *launch = calloc(1, sizeof *launch);
    /* without memory of tiles all batches share one struct */
    size_t copies = memory > 0 ? (size_t)batches : 1;
    unsigned char *arguments = aligned_alloc(ALIGNMENT, copies * stride);
    if (launch == NULL || arguments == NULL) {
        free(launch);
        free(arguments);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host: no memory to launch %s",
                        l->kernel->name);
    }
    *launch = (host_launch){.kernel = l->kernel,
                            .domain = l->domain,
                            .tiles = tiles,
                            .batch = batch,
                            .stride = memory > 0 ? stride : 0,
                            .arguments = arguments};
    for (size_t i = 0; i < copies; i++) {
        fill(l, arguments + i * stride);
    }
    *out = launch;
    return HR_OK;
}

static void run_batch(void *data, int64_t index)
{
    const host_launch *l = data;
    const void *arguments = l->arguments + (size_t)index * l->stride;
    int64_t last = hri_min((index + 1) * l->batch, l->tiles);
    hr_domain domain = l->domain;
    for (int64_t i = index * l->batch; i < last; i++) {
        hri_domain_go(&domain, i);
        l->kernel->host(&domain, arguments);
    }
}

void hri_host_launch_run(host_launch *l)
{
    hri_host_share_out(hri_ceil_div(l->tiles, l->batch), run_batch, l);
}

void hri_host_launch_destroy(host_launch *l)
{
    free(l->arguments);
    free(l);
}
