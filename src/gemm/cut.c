/* SPDX-License-Identifier: MIT */
/* The cuts of an extent, and the slots that hold panels and tiles. */
#include "base/size.h"
#include "gemm/plan.h"
#include "hal/precise.h"

enum {
    PAD = 16,       /* elements; lines in slots start at multiples of it */
    GRAIN = 32,     /* elements; cuts fall on multiples of it, and larger tiles
                       or chunks on */
    MAX_GRAIN = 256 /* those of larger powers of two, like the tiles of
                       kernels */
};

static int64_t grain(int64_t extent, int64_t count)
{
    int64_t size = extent / count / 8;
    int64_t g = MAX_GRAIN;
    while (g > size && g > GRAIN) {
        g /= 2;
    }
    return g <= size ? g : 1;
}

/* Cuts at multiples of g. */
static int64_t cut(int64_t extent, int64_t g, int64_t count, int64_t i)
{
    int64_t units = hri_ceil_div(extent, g);
    int64_t start = units / count * i + hri_min(i, units % count);
    return hri_min(start * g, extent);
}

static int64_t cut_max(int64_t extent, int64_t g, int64_t count)
{
    return hri_min(hri_ceil_div(hri_ceil_div(extent, g), count) * g, extent);
}

static int64_t grain_of(const hri_blocking *b, int64_t k)
{
    return b->grain > 0 ? b->grain : grain(k, b->growing ? 10 : b->chunks);
}

/* Where tile or chunk i starts when an extent is cut into nearly equal ones. */
static int64_t cut_evenly(int64_t extent, int64_t count, int64_t i)
{
    return cut(extent, grain(extent, count), count, i);
}

int64_t hri_cut_depth(const hri_blocking *b, int64_t k, int64_t i)
{
    static const int64_t tenths[] = {0, 2, 5, 10};
    const int64_t g = grain_of(b, k);
    if (b->bounds != NULL) {
        return b->bounds[i];
    }
    if (!b->growing) {
        return cut(k, g, b->chunks, i);
    }
    return hri_min(hri_ceil_div(k, g) * tenths[i] / 10 * g, k);
}

int64_t hri_cut_max(int64_t extent, int64_t count)
{
    return cut_max(extent, grain(extent, count), count);
}

int64_t hri_cut_depth_max(const hri_blocking *b, int64_t k)
{
    if (b->bounds != NULL) {
        int64_t deepest = 0;
        for (int64_t i = 0; i < b->chunks; i++) {
            deepest = hri_max(deepest, b->bounds[i + 1] - b->bounds[i]);
        }
        return deepest;
    }
    return b->growing ? k - hri_cut_depth(b, k, b->chunks - 1)
                      : cut_max(k, grain_of(b, k), b->chunks);
}

int64_t hri_min_depth(const hri_plan_shape *s)
{
    return hri_max(s->grain, HRI_MIN_EDGE);
}

int64_t hri_slot_pitch(int64_t width)
{
    return hri_round_up(width, PAD);
}

/* The bytes of a slot. UINT64_MAX, which fits nowhere, on overflow. */
static uint64_t slot(int64_t height, int64_t width, uint32_t size)
{
    uint64_t elements, bytes;
    bool fits = hri_mul((uint64_t)hri_slot_pitch(height),
                        (uint64_t)hri_slot_pitch(width), &elements) &&
                hri_mul(elements, size, &bytes);
    return fits ? bytes : UINT64_MAX;
}

static hri_slot_bytes slot_bytes(const hri_plan_shape *s, int64_t height,
                                 int64_t width, int64_t depth)
{
    hri_slot_bytes bytes = {
        .of = {slot(height, depth, s->size), slot(depth, width, s->size),
               slot(height, width, s->c_size)},
    };
    bytes.packed[HRI_A] = bytes.of[HRI_A];
    if (s->precise != 0) {
        bytes.packed[HRI_A] =
            hri_precise_bytes(s->precise, HRI_A, height, depth);
        bytes.packed[HRI_B] =
            hri_precise_bytes(s->precise, HRI_B, width, depth);
        bytes.scratch = hri_precise_scratch(s->precise, height, width);
    }
    return bytes;
}

hri_slot_bytes hri_blocking_slot_bytes(const hri_plan_shape *s,
                                       const hri_blocking *b)
{
    return slot_bytes(s, hri_cut_max(s->m, b->block_rows * b->rows),
                      hri_cut_max(s->n, b->block_cols * b->cols),
                      hri_cut_depth_max(b, s->k));
}

uint64_t hri_plan_min_memory(const hri_plan_shape *s)
{
    const hri_slot_bytes bytes =
        slot_bytes(s, hri_min(s->m, HRI_MIN_EDGE), hri_min(s->n, HRI_MIN_EDGE),
                   s->whole_k ? s->k : hri_min(s->k, hri_min_depth(s)));
    uint64_t sum;
    bool fits = hri_add(bytes.of[HRI_A], bytes.of[HRI_B], &sum) &&
                hri_add(sum, bytes.of[HRI_C], &sum);
    if (s->precise != 0) {
        fits = fits && hri_add(sum, bytes.packed[HRI_A], &sum) &&
               hri_add(sum, bytes.packed[HRI_B], &sum) &&
               hri_add(sum, bytes.scratch, &sum);
    }
    return fits ? sum : UINT64_MAX;
}

/* ---- of a plan */

double hri_blocking_tasks(const hri_blocking *b)
{
    return (double)b->block_rows * (double)b->rows * (double)b->block_cols *
           (double)b->cols * (double)b->chunks;
}

int64_t hri_plan_row(const hri_plan *plan, int64_t i)
{
    return cut_evenly(plan->shape.m, plan->tile_rows, i);
}

int64_t hri_plan_col(const hri_plan *plan, int64_t i)
{
    return cut_evenly(plan->shape.n, plan->tile_cols, i);
}

int64_t hri_plan_chunk(const hri_plan *plan, int64_t i)
{
    return hri_cut_depth(&plan->blocking, plan->shape.k, i);
}

int64_t hri_plan_length(const hri_plan *plan, hri_plan_start *start, int64_t i)
{
    return start(plan, i + 1) - start(plan, i);
}
