/* SPDX-License-Identifier: MIT */
/* The caller's kernels, compiled into the program. Each call runs one tile, and
 * the threads of the pool share the tiles. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/host/host.h"
#include "base/size.h"

enum { BATCHES = 512 };

struct host_launch {
    hri_pool *pool;
    const hr_kernel *kernel;
    hr_domain domain;
    int64_t tiles, batch; /* all tiles, and how many a thread takes at once */
    uint32_t copies;      /* of the arguments: one, or one for each thread if
                             kernels use tile memory */
    size_t stride;        /* bytes of each copy */
    unsigned char *arguments;
    hri_epilogue epilogue; /* its data is ours; run NULL: there is none */
    char apart[64];        /* threads read what is above and write below */
    atomic_bool taken[];   /* [copies]: a batch uses this copy */
};

static bool has_tile_memory(const hr_kernel *kernel)
{
    const hr_parameter *p = kernel->parameters(kernel);
    bool any = false;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        any = any || p[i].kind == HR_PARAMETER_TILE;
    }
    return any;
}

static void fill(const hri_launch *l, unsigned char *arguments)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    void *views[HR_MAX_PARAMETERS] = {NULL};
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        if (p[i].kind == HR_PARAMETER_VIEW) {
            views[i] = hri_host_address(&l->arguments[i].place);
        }
    }
    hri_arguments_fill(l->kernel, l->arguments, views, arguments);
}

static bool copy_epilogue(const hri_epilogue *from, hri_epilogue *to)
{
    *to = (hri_epilogue){.run = NULL};
    void *data = from != NULL ? malloc(from->data_bytes) : NULL;
    if (data != NULL) {
        memcpy(data, from->data, from->data_bytes);
        *to = (hri_epilogue){from->run, data, from->data_bytes};
    }
    return from == NULL || data != NULL;
}

hr_status hri_host_launch_create(hri_pool *pool, const hri_launch *l,
                                 host_launch **out)
{
    const int64_t *count = l->domain.tiles;
    int64_t tiles = count[0] * count[1] * count[2];
    int64_t batch = hri_ceil_div(tiles, BATCHES);
    int64_t batches = hri_ceil_div(tiles, batch);
    size_t stride = hri_arguments_bytes(l->kernel, l->arguments);
    uint32_t copies = has_tile_memory(l->kernel)
                          ? (uint32_t)hri_min(batches, hri_pool_threads(pool))
                          : 1;
    host_launch *launch =
        calloc(1, sizeof *launch + copies * sizeof launch->taken[0]);
    unsigned char *arguments =
        aligned_alloc(HRI_ARGUMENTS_ALIGNMENT, copies * stride);
    hri_epilogue epilogue;
    const bool copied = copy_epilogue(l->epilogue, &epilogue);
    if (launch == NULL || arguments == NULL || !copied) {
        free(launch);
        free(arguments);
        free((void *)epilogue.data);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "host: no memory to launch %s",
                        l->kernel->name);
    }
    *launch = (host_launch){.pool = pool,
                            .kernel = l->kernel,
                            .domain = l->domain,
                            .tiles = tiles,
                            .batch = batch,
                            .copies = copies,
                            .stride = stride,
                            .arguments = arguments,
                            .epilogue = epilogue};
    for (uint32_t i = 0; i < copies; i++) {
        fill(l, arguments + i * stride);
    }
    *out = launch;
    return HR_OK;
}

/* A copy that no other batch uses. There are as many as threads. */
static uint32_t take_copy(host_launch *l)
{
    uint32_t i = 0;
    while (l->copies > 1 && atomic_exchange(&l->taken[i], true)) {
        i = (i + 1) % l->copies;
    }
    return i;
}

static void run_batch(void *data, int64_t index)
{
    host_launch *l = data;
    const uint32_t copy = take_copy(l);
    const void *arguments = l->arguments + copy * l->stride;
    int64_t last = hri_min((index + 1) * l->batch, l->tiles);
    hr_domain domain = l->domain;
    for (int64_t i = index * l->batch; i < last; i++) {
        hri_domain_set_tile(&domain, i);
        l->kernel->host(&domain, arguments);
        if (l->epilogue.run != NULL) {
            l->epilogue.run(l->epilogue.data, &domain, arguments);
        }
    }
    if (l->copies > 1) {
        atomic_store(&l->taken[copy], false);
    }
}

void hri_host_launch_run(host_launch *l)
{
    hri_pool_run(l->pool, hri_ceil_div(l->tiles, l->batch), run_batch, l);
}

void hri_host_launch_destroy(host_launch *l)
{
    free((void *)l->epilogue.data);
    free(l->arguments);
    free(l);
}
