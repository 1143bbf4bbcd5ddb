/* SPDX-License-Identifier: MIT */
/* How a grid is cut into parts: into as many as there are processes, so that
 * they are even and send little. */
#include "mpi/grid.h"

#include "base/format.h"
#include "base/size.h"

/* Parts start at multiples of this. */
static int64_t grain_of(const hr_extent *whole, uint32_t d)
{
    static const int64_t grains[HRI_MPI_RANK][HRI_MPI_RANK] = {
        {HR_GRID_BLOCK1},
        {1, HR_GRID_BLOCK2},
        {1, HR_GRID_BLOCK3_LINES, HR_GRID_BLOCK3}};
    return grains[whole->rank - 1][d];
}

static int64_t blocks_of(const hr_extent *whole, uint32_t d)
{
    return hri_ceil_div(whole->size[d], grain_of(whole, d));
}

static void find_coords(const hri_mpi_cut *cut, int rank, int *coords)
{
    for (uint32_t d = HRI_MPI_RANK; d-- > 0;) {
        coords[d] = rank % cut->processes[d];
        rank /= cut->processes[d];
    }
}

static int64_t first_of(const hri_mpi_cut *cut, uint32_t d, int coord)
{
    const int64_t cell =
        hri_even(blocks_of(&cut->whole, d), cut->processes[d], coord) *
        grain_of(&cut->whole, d);
    return hri_min(cell, cut->whole.size[d]);
}

hri_section hri_mpi_cut_part(const hri_mpi_cut *cut, int rank)
{
    hri_section part = {{0, 0, 0}, {1, 1, 1}};
    int coords[HRI_MPI_RANK];
    find_coords(cut, rank, coords);
    for (uint32_t d = 0; d < cut->whole.rank; d++) {
        part.lo[d] = first_of(cut, d, coords[d]);
        part.hi[d] = first_of(cut, d, coords[d] + 1);
    }
    return part;
}

int hri_mpi_cut_beside(const hri_mpi_cut *cut, int rank, const int *direction)
{
    int coords[HRI_MPI_RANK], beside = 0;
    find_coords(cut, rank, coords);
    for (uint32_t d = 0; d < HRI_MPI_RANK; d++) {
        const int count = cut->processes[d];
        beside = beside * count + (coords[d] + direction[d] + count) % count;
    }
    return beside;
}

bool hri_mpi_cut_ends(const hri_mpi_cut *cut, int rank, uint32_t d, bool last)
{
    int coords[HRI_MPI_RANK];
    find_coords(cut, rank, coords);
    return coords[d] == (last ? cut->processes[d] - 1 : 0);
}

/* ---- choosing */

/* The cells of a side's halo, the most of all fields, and the bytes of a cell
 * in all fields together: all of them, and those of halos in each dimension. */
typedef struct weights {
    int64_t halo[HRI_MPI_RANK];
    double cell, sides[HRI_MPI_RANK];
} weights;

static weights weigh(uint32_t rank, const hr_field *fields, uint32_t count)
{
    weights w = {{0}, 0, {0}};
    for (uint32_t f = 0; f < count; f++) {
        const double bytes =
            (double)fields[f].element_bytes *
            (fields[f].components > 0 ? fields[f].components : 1);
        w.cell += bytes;
        for (uint32_t d = 0; d < rank; d++) {
            const int64_t before = fields[f].before[d].halo;
            const int64_t after = fields[f].after[d].halo;
            w.halo[d] = hri_max(w.halo[d], hri_max(before, after));
            w.sides[d] += bytes * (double)(before + after);
        }
    }
    return w;
}

/* Whether all parts have as many cells as halos. */
static bool is_thick(const hri_mpi_cut *cut, const weights *w)
{
    for (uint32_t d = 0; d < cut->whole.rank; d++) {
        const int n = cut->processes[d];
        int64_t least = cut->whole.size[d];
        for (int p = 0; p < n; p++) {
            least =
                hri_min(least, first_of(cut, d, p + 1) - first_of(cut, d, p));
        }
        if (n > 1 && least < hri_max(w->halo[d], 1)) {
            return false;
        }
    }
    return true;
}

/* Whether the cut is for so many processes, and as the caller asks. asked is
 * NULL if the caller leaves it open. */
static bool is_asked(const hri_mpi_cut *cut, int all, const int *asked)
{
    const int *p = cut->processes;
    if (p[0] * p[1] * p[2] != all) {
        return false;
    }
    for (uint32_t d = 0; d < HRI_MPI_RANK; d++) {
        if (d >= cut->whole.rank ? p[d] != 1
                                 : asked != NULL && p[d] != asked[d]) {
            return false;
        }
    }
    return true;
}

/* Seconds of a step of the largest part, as far as they differ between cuts: a
 * cell costs what its bytes cost in memory, if that gives 10 GB/s. */
static double cost_of(const hr_mpi_context *context, const hri_mpi_cut *cut,
                      const weights *w)
{
    const double memory = 1e-10;
    double cells = 1, seconds = 0;
    double size[HRI_MPI_RANK] = {1, 1, 1};
    for (uint32_t d = 0; d < cut->whole.rank; d++) {
        size[d] = (double)(hri_ceil_div(blocks_of(&cut->whole, d),
                                        cut->processes[d]) *
                           grain_of(&cut->whole, d));
        size[d] = size[d] < (double)cut->whole.size[d]
                      ? size[d]
                      : (double)cut->whole.size[d];
        cells *= size[d];
    }
    for (uint32_t d = 0; d < cut->whole.rank; d++) {
        if (cut->processes[d] > 1) {
            seconds += 2 * context->latency_seconds +
                       cells / size[d] * w->sides[d] * context->byte_seconds;
        }
    }
    return seconds + cells * w->cell * memory;
}

/* Write numbers with x between them. */
static void write_sizes(char *text, size_t room, uint32_t rank,
                        const int64_t *sizes)
{
    size_t used = 0;
    for (uint32_t d = 0; d < rank; d++) {
        used += (size_t)hri_format(text + used, room - used, "%s%lld",
                                   d > 0 ? " x " : "", (long long)sizes[d]);
    }
}

static hr_status refuse_cut(const hr_mpi_context *context,
                            const hr_extent *whole, const weights *w,
                            const int *asked)
{
    char cells[HRI_MPI_RANK * 24], halos[HRI_MPI_RANK * 24];
    char processes[HRI_MPI_RANK * 24];
    int64_t counts[HRI_MPI_RANK] = {context->count}, all = 1;
    for (uint32_t d = 0; d < whole->rank && asked != NULL; d++) {
        counts[d] = asked[d];
        all *= asked[d] > 0 && asked[d] <= context->count ? asked[d] : 0;
    }
    write_sizes(cells, sizeof cells, whole->rank, whole->size);
    write_sizes(halos, sizeof halos, whole->rank, w->halo);
    write_sizes(processes, sizeof processes, asked != NULL ? whole->rank : 1,
                counts);
    return asked != NULL && all != context->count
               ? hri_fail(HR_ERROR_INVALID,
                          "grid: %s processes were asked for, but %d are there",
                          processes, context->count)
               : hri_fail(HR_ERROR_INVALID,
                          "grid: %s cells with halos of %s cannot be cut for "
                          "%s processes",
                          cells, halos, processes);
}

hr_status hri_mpi_cut_choose(const hr_mpi_context *context, hr_extent whole,
                             const hr_field *fields, uint32_t count,
                             const int *processes, hri_mpi_cut *cut)
{
    const weights w = weigh(whole.rank, fields, count);
    const int all = context->count;
    hri_mpi_cut best = {whole, {0, 1, 1}};
    double least = 0;
    for (int p = 1; p <= all; p++) {
        for (int q = 1; q <= all / p; q++) {
            const hri_mpi_cut c = {whole, {p, q, all / p / q}};
            if (!is_asked(&c, all, processes) || !is_thick(&c, &w)) {
                continue;
            }
            const double cost = cost_of(context, &c, &w);
            /* if two cost the same, the one that cuts the first dimension
             * more */
            if (best.processes[0] == 0 || cost <= least) {
                best = c;
                least = cost;
            }
        }
    }
    if (best.processes[0] == 0) {
        return refuse_cut(context, &whole, &w, processes);
    }
    *cut = best;
    return HR_OK;
}
