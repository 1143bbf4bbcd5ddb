/* SPDX-License-Identifier: MIT */
#include "support/grid_model.h"

#include <stdlib.h>
#include <string.h>

bool grid_model_create(grid_model *m, hr_extent extent, const hr_field *field)
{
    int64_t count = 1;
    *m = (grid_model){.extent = extent, .field = *field, .hi = {1, 1, 1}};
    for (uint32_t d = 0; d < extent.rank; d++) {
        m->lo[d] = -field->before[d].halo;
        m->hi[d] = extent.size[d] + field->after[d].halo;
        count *= m->hi[d] - m->lo[d];
    }
    m->cells = calloc((size_t)count, field->element_bytes);
    return m->cells != NULL;
}

void grid_model_destroy(grid_model *m)
{
    free(m->cells);
    m->cells = NULL;
}

unsigned char *grid_model_own(const grid_model *m, const int64_t *at)
{
    int64_t number = 0;
    for (uint32_t d = 0; d < m->extent.rank; d++) {
        number = number * (m->hi[d] - m->lo[d]) + at[d] - m->lo[d];
    }
    return m->cells + (size_t)number * m->field.element_bytes;
}

/* The index that a read at x of n cells goes to, by the boundary of that
 * side. */
static int64_t follow_boundary(hr_boundary boundary, int64_t x, int64_t n)
{
    switch (boundary) {
    case HR_BOUNDARY_CLAMP:
        return x < 0 ? 0 : n - 1;
    case HR_BOUNDARY_PERIODIC:
        return (x % n + n) % n;
    case HR_BOUNDARY_MIRROR:
        x = (x % (2 * n) + 2 * n) % (2 * n);
        return x < n ? x : 2 * n - 1 - x;
    default:
        return x;
    }
}

const unsigned char *grid_model_read(const grid_model *m, const int64_t *at)
{
    static const unsigned char zeros[64];
    int64_t x[3] = {0, 0, 0};
    for (uint32_t d = 0; d < m->extent.rank; d++) {
        const bool before = at[d] < 0, after = at[d] >= m->extent.size[d];
        const hr_side *side = before ? &m->field.before[d] : &m->field.after[d];
        if ((before || after) && side->boundary == HR_BOUNDARY_CONSTANT) {
            return side->value != NULL ? side->value : zeros;
        }
        x[d] = before || after
                   ? follow_boundary(side->boundary, at[d], m->extent.size[d])
                   : at[d];
    }
    return grid_model_own(m, x);
}

/* ---- the model */

/* The next index below hi, the last dimension first; false after the last. */
static bool next_index(int64_t *at, const int64_t *lo, const int64_t *hi,
                       uint32_t rank)
{
    for (uint32_t d = rank; d-- > 0;) {
        if (++at[d] < hi[d]) {
            return true;
        }
        at[d] = lo[d];
    }
    return false;
}

/* Packed cells inside, from data or to it. */
static void copy_cells(const grid_model *m, const unsigned char *from,
                       unsigned char *to)
{
    const int64_t zero[3] = {0, 0, 0};
    const size_t bytes = m->field.element_bytes;
    int64_t at[3] = {0, 0, 0};
    size_t offset = 0;
    do {
        unsigned char *own = grid_model_own(m, at);
        if (from != NULL) {
            memcpy(own, from + offset, bytes);
        } else {
            memcpy(to + offset, own, bytes);
        }
        offset += bytes;
    } while (next_index(at, zero, m->extent.size, m->extent.rank));
}

void grid_model_pack(const grid_model *m, void *data)
{
    copy_cells(m, NULL, data);
}

void grid_model_unpack(const grid_model *m, const void *data)
{
    copy_cells(m, data, NULL);
}

void grid_model_fill(const grid_model *m, random_source *random)
{
    const int64_t zero[3] = {0, 0, 0};
    int64_t at[3] = {0, 0, 0};
    do {
        random_fill_bytes(random, grid_model_own(m, at),
                          m->field.element_bytes);
    } while (next_index(at, zero, m->extent.size, m->extent.rank));
}

bool grid_model_agrees(const grid_model *m, hr_grid *grid, uint32_t field)
{
    const size_t bytes =
        (size_t)hr_extent_count(m->extent) * m->field.element_bytes;
    unsigned char *want = malloc(bytes), *seen = calloc(1, bytes);
    bool agrees = want != NULL && seen != NULL &&
                  hr_grid_gather(grid, field, seen) == HR_OK;
    if (agrees) {
        grid_model_pack(m, want);
        agrees = memcmp(want, seen, bytes) == 0;
    }
    free(want);
    free(seen);
    return agrees;
}

/* ---- the kernels */

reach grid_model_reach(const hr_field *field, uint32_t rank)
{
    reach r = {.place = {3, 5, 7}};
    for (uint32_t d = 0; d < rank; d++) {
        r.before[d] = (int)field->before[d].halo;
        r.after[d] = (int)field->after[d].halo;
    }
    return r;
}

static size_t word_of(size_t bytes)
{
    return bytes == 12 ? 4 : bytes < 8 ? bytes : 8;
}

static void stir_cell(const grid_model *from, const int64_t *at, const reach *r,
                      unsigned char *cell)
{
    const size_t word = word_of(from->field.element_bytes);
    int64_t lo[3] = {0, 0, 0}, hi[3] = {1, 1, 1};
    for (uint32_t d = 0; d < from->extent.rank; d++) {
        lo[d] = at[d] - r->before[d];
        hi[d] = at[d] + r->after[d] + 1;
    }
    for (size_t w = 0; w < from->field.element_bytes / word; w++) {
        int64_t x[3] = {lo[0], lo[1], lo[2]};
        uint64_t sum = w;
        for (uint32_t d = 0; d < from->extent.rank; d++) {
            sum += (uint64_t)(at[d] * r->place[d]);
        }
        do {
            uint64_t value = 0; /* little endian, as accelerators are */
            memcpy(&value, grid_model_read(from, x) + w * word, word);
            sum = (sum ^ value) * 16777619u + 7u;
        } while (next_index(x, lo, hi, from->extent.rank));
        memcpy(cell + w * word, &sum, word);
    }
}

void grid_model_stir(const grid_model *from, const grid_model *to,
                     const int64_t *lo, const int64_t *hi, const reach *r)
{
    int64_t at[3] = {lo[0], lo[1], lo[2]};
    do {
        stir_cell(from, at, r, grid_model_own(to, at));
    } while (next_index(at, lo, hi, from->extent.rank));
}

void grid_model_stir_all(const grid_model *from, const grid_model *to,
                         const reach *r)
{
    const int64_t zero[3] = {0, 0, 0};
    grid_model_stir(from, to, zero, from->extent.size, r);
}
