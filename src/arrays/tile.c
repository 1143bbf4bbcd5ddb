/* SPDX-License-Identifier: MIT */
#include "arrays/launch.h"
#include "base/size.h"

/* A tile that suits GPUs. Its rows are read in one chunk. In rank 3, short rows
 * make it more rows, and few rows make it more slices. */
static int64_t device_tile(uint32_t rank, uint32_t d, const int64_t *items)
{
    static const int64_t flat[][2] = {{256, 1}, {8, 32}};
    enum { MAX_SLICES = 64 }; /* CUDA's limit */
    int64_t tile[] = {1, 8, 32};
    if (rank < HR_MAX_KERNEL_RANK) {
        return flat[rank - 1][d];
    }
    while (tile[2] / 2 >= items[2]) {
        tile[2] /= 2;
        tile[1] *= 2;
    }
    while (tile[1] / 2 >= items[1] && tile[0] < MAX_SLICES) {
        tile[1] /= 2;
        tile[0] *= 2;
    }
    return tile[d];
}

/* The host gets long rows, so that its loops become vectors. It gets several
 * rows if they are short, so that calls do not count. */
static int64_t usual_tile(bool host, uint32_t rank, uint32_t d,
                          const int64_t *items)
{
    if (host) {
        const int64_t row = hri_min(items[rank - 1], HR_MAX_ITEMS);
        return d + 1 == rank   ? row
               : d + 2 == rank ? hri_min(items[d], HR_MAX_ITEMS / row)
                               : 1;
    }
    return device_tile(rank, d, items);
}

static int64_t items_of(const hr_domain *x)
{
    return x->tile[0] * x->tile[1] * x->tile[2];
}

static void count_tiles(hr_domain *x)
{
    for (uint32_t d = 0; d < HR_MAX_KERNEL_RANK; d++) {
        int64_t items = hri_ceil_div(x->end[d] - x->first[d], x->step[d]);
        x->tiles[d] = hri_ceil_div(items, x->tile[d]);
    }
}

/* Tell why the points of a domain cannot be counted. */
static hr_status refuse_domain(const char *name, const hr_extent *domain)
{
    if (domain->rank < 1 || domain->rank > HR_MAX_KERNEL_RANK) {
        return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                        "%s: the domain has rank %u, not 1 to %d", name,
                        domain->rank, HR_MAX_KERNEL_RANK);
    }
    for (uint32_t d = 0; d < domain->rank; d++) {
        if (domain->size[d] < 1) {
            return hri_fail(
                HR_ERROR_COMPUTE_DOMAIN,
                "%s: the domain has size %lld in dimension %u, not 1 or more",
                name, (long long)domain->size[d], d);
        }
    }
    return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                    "%s: the domain has more than 2^63 - 1 points", name);
}

hri_launch_box hri_launch_box_of(hr_extent domain)
{
    hri_launch_box box = {.domain = domain, .step = {1, 1, 1}};
    for (uint32_t d = 0; d < domain.rank && d < HR_MAX_KERNEL_RANK; d++) {
        box.end[d] = domain.size[d];
    }
    return box;
}

hr_status hri_tile_choose(hri_launch *launch, const hri_launch_box *box,
                          bool host)
{
    hr_domain *x = &launch->domain;
    const char *name = launch->kernel->name;
    const hr_extent *domain = &box->domain, *tile = box->tile;
    int64_t items = 1, most[HR_MAX_KERNEL_RANK];
    if (hr_extent_count(*domain) == 0) {
        return refuse_domain(name, domain);
    }
    if (tile != NULL && tile->rank != domain->rank) {
        return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                        "%s: the tiles have rank %u, but the domain has %u",
                        name, tile->rank, domain->rank);
    }
    launch->rank = domain->rank;
    for (uint32_t d = 0; d < HR_MAX_KERNEL_RANK; d++) {
        bool there = d < domain->rank;
        x->extent[d] = there ? domain->size[d] : 1;
        x->first[d] = there ? box->first[d] : 0;
        x->end[d] = there ? box->end[d] : 1;
        x->step[d] = there ? box->step[d] : 1;
        most[d] = hri_ceil_div(x->end[d] - x->first[d], x->step[d]);
    }
    for (uint32_t d = 0; d < HR_MAX_KERNEL_RANK; d++) {
        x->tile[d] = d >= domain->rank ? 1
                     : tile != NULL    ? tile->size[d]
                                    : usual_tile(host, domain->rank, d, most);
        if (x->tile[d] < 1 || x->tile[d] > HR_MAX_ITEMS ||
            (items *= x->tile[d]) > HR_MAX_ITEMS) {
            return hri_fail(
                HR_ERROR_COMPUTE_DOMAIN,
                "%s: tiles have 1 to %d items, not %lld in dimension %u", name,
                HR_MAX_ITEMS, (long long)x->tile[d], d);
        }
    }
    count_tiles(x);
    return HR_OK;
}

static hr_status fit_memory(const hri_launch *l, const hr_argument *arguments)
{
    const hr_parameter *p = l->kernel->parameters(l->kernel);
    const uint64_t most = l->module->most_bytes;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < l->kernel->parameter_count; i++) {
        if (p[i].kind == HR_PARAMETER_TILE) {
            bytes += hri_round_up_bytes(arguments[i].bytes, HRI_TILE_ALIGNMENT);
        }
    }
    if (bytes > most) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%s: tiles need %llu bytes of memory at launch; the "
                        "limit is %llu on %s",
                        l->kernel->name, (unsigned long long)bytes,
                        (unsigned long long)most, l->module->device->info.path);
    }
    return HR_OK;
}

static hr_status fit_items(hri_launch *launch, bool ours)
{
    const hri_module *most = launch->module;
    hr_domain *x = &launch->domain;
    for (uint32_t d = 0; ours && items_of(x) > most->most_items;) {
        x->tile[d] = hri_ceil_div(x->tile[d], 2);
        d += x->tile[d] == 1 && d + 1 < HR_MAX_KERNEL_RANK;
    }
    count_tiles(x);
    if (items_of(x) > most->most_items) {
        return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                        "%s: tiles have %lld items; the limit is %lld for this "
                        "kernel on %s",
                        launch->kernel->name, (long long)items_of(x),
                        (long long)most->most_items, most->device->info.path);
    }
    const int64_t tiles = x->tiles[0] * x->tiles[1] * x->tiles[2];
    if (tiles > INT32_MAX) { /* CUDA's limit; OpenCL has none and crashes beyond
                                it */
        return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                        "%s: the domain has %lld tiles; the limit is %d on %s",
                        launch->kernel->name, (long long)tiles, INT32_MAX,
                        most->device->info.path);
    }
    for (uint32_t d = 0; d < launch->rank; d++) {
        const int64_t limit = most->most_tile[launch->rank - 1 - d];
        if (x->tile[d] > limit) {
            return hri_fail(HR_ERROR_COMPUTE_DOMAIN,
                            "%s: tiles have %lld items in dimension %u; the "
                            "limit is %lld on %s",
                            launch->kernel->name, (long long)x->tile[d], d,
                            (long long)limit, most->device->info.path);
        }
    }
    return HR_OK;
}

hr_status hri_tile_fit(hri_launch *launch, bool ours,
                       const hr_argument *arguments)
{
    if (launch->module == NULL || launch->module->device->info.host) {
        return HR_OK;
    }
    HRI_TRY(fit_items(launch, ours));
    return fit_memory(launch, arguments);
}
