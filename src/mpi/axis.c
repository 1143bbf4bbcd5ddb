/* SPDX-License-Identifier: MIT */
#include "mpi/axis.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "mpi/processes.h"

/* An interval that begins somewhere. */
typedef struct cut {
    int64_t end, local;
    int64_t tile;
    int class_;
} cut;

int hri_blocks_find(const hri_blocks *b, int64_t element)
{
    int low = 0, high = b->classes;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (b->bounds[middle] <= element) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The tile that has an element, of `count` tiles of nearly equal length. */
static int64_t find_even(int64_t length, int64_t count, int64_t element)
{
    int64_t number = element / (length / count + 1);
    while (number + 1 < count &&
           hri_even(length, count, number + 1) <= element) {
        number++;
    }
    return number;
}

/* The number of the block that goes around and has the element. */
static int64_t number_of(const hri_blocks *b, int64_t element)
{
    return element < b->first_block ? 0
                                    : (element - b->first_block) / b->block + 1;
}

/* The block of an element, and where it ends. */
static int class_at(const hri_blocks *b, int64_t element, int64_t *end)
{
    if (b->block > 0) {
        const int64_t number = number_of(b, element);
        *end = b->first_block + number * b->block;
        return (int)((number + b->first) % b->classes);
    }
    const int number = hri_blocks_find(b, element);
    *end = b->bounds[number + 1];
    return number;
}

/* The place of an element in the memory of its owner. A class has one block in
 * each round. The first one of all is that of class b->first. */
static int64_t local_of(const hri_blocks *b, int class_, int64_t element)
{
    if (b->block == 0 || element < b->first_block) {
        return element;
    }
    const int64_t before = (class_ - b->first + b->classes) % b->classes;
    const int64_t round = (number_of(b, element) - before) / b->classes;
    const int64_t from_first = element - b->first_block;
    return (before == 0 ? b->first_block + (round - 1) * b->block
                        : round * b->block) +
           from_first % b->block;
}

int64_t hri_blocks_longest(const hri_blocks *b, int64_t start, int64_t length)
{
    int64_t most = 0;
    if (b->block > 0) {
        const int64_t round = b->block * b->classes;
        return hri_min(length, length / round * b->block +
                                   hri_min(length % round,
                                           hri_max(b->block, b->first_block)));
    }
    for (int i = 0; i < b->classes; i++) {
        const int64_t from = hri_max(start, b->bounds[i]);
        const int64_t to = hri_min(start + length, b->bounds[i + 1]);
        most = hri_max(most, to - from);
    }
    return most;
}

static void cut_tiles(const hri_mpi_tiling *p, int64_t length, int64_t at,
                      cut *c)
{
    int64_t end;
    if (p->like != NULL) {
        c->tile = class_at(p->like, p->start + at, &end);
        end -= p->start;
    } else {
        const int64_t outer = find_even(length, p->outer, at);
        const int64_t begin = hri_even(length, p->outer, outer);
        const int64_t wide = hri_even(length, p->outer, outer + 1) - begin;
        const int64_t inner = find_even(wide, p->inner, at - begin);
        c->tile = outer * p->inner + inner;
        end = begin + hri_even(wide, p->inner, inner + 1);
    }
    c->end = hri_min(c->end, end);
}

static cut cut_at(const hri_blocks *b, const hri_mpi_tiling *p, int64_t start,
                  int64_t length, int64_t at)
{
    cut c;
    c.class_ = class_at(b, start + at, &c.end);
    c.local = local_of(b, c.class_, start + at);
    c.end = hri_min(c.end - start, length);
    cut_tiles(p, length, at, &c);
    return c;
}

/* Count the intervals of each tile and class, and their lengths. first[i + 1]
 * is the count of i. */
static int64_t count_intervals(hri_axis *axis, const hri_blocks *b,
                               const hri_mpi_tiling *p, int64_t start,
                               int64_t length)
{
    int64_t all = 0;
    for (int64_t at = 0; at < length; all++) {
        const cut c = cut_at(b, p, start, length, at);
        const int64_t kind = c.tile * axis->classes + c.class_;
        axis->first[kind + 1]++;
        axis->length[kind] += c.end - at;
        axis->tile_length[c.tile] += c.end - at;
        at = c.end;
    }
    for (int64_t i = 0; i < axis->tiles * axis->classes; i++) {
        axis->first[i + 1] += axis->first[i];
    }
    return all;
}

/* Put each interval to those of its tile and class. `next` has a place for each
 * of these, `offset` for each tile. */
static void fill_intervals(hri_axis *axis, const hri_blocks *b,
                           const hri_mpi_tiling *p, int64_t start,
                           int64_t length, int64_t *next, int64_t *offset)
{
    for (int64_t at = 0; at < length;) {
        const cut c = cut_at(b, p, start, length, at);
        const int64_t kind = c.tile * axis->classes + c.class_;
        axis->intervals[axis->first[kind] + next[kind]++] =
            (hri_interval){.start = at,
                           .length = c.end - at,
                           .offset = offset[c.tile],
                           .local = c.local};
        offset[c.tile] += c.end - at;
        at = c.end;
    }
}

hr_status hri_axis_init(hri_axis *axis, const hri_blocks *blocks, int64_t start,
                        int64_t length, const hri_mpi_tiling *tiles)
{
    *axis =
        (hri_axis){.classes = blocks->classes,
                   .tiles = tiles->like != NULL ? tiles->like->classes
                                                : tiles->outer * tiles->inner};
    const size_t kinds = (size_t)(axis->tiles * axis->classes);
    axis->first = calloc(kinds + 1, sizeof *axis->first);
    axis->length = calloc(kinds, sizeof *axis->length);
    axis->tile_length = calloc((size_t)axis->tiles, sizeof *axis->tile_length);
    int64_t *next = calloc(kinds, sizeof *next);
    int64_t *offset = calloc((size_t)axis->tiles, sizeof *offset);
    bool there = axis->first != NULL && axis->length != NULL &&
                 axis->tile_length != NULL && next != NULL && offset != NULL;
    if (there) {
        const int64_t all = count_intervals(axis, blocks, tiles, start, length);
        axis->intervals =
            malloc((size_t)(all > 0 ? all : 1) * sizeof *axis->intervals);
        there = axis->intervals != NULL;
    }
    if (there) {
        fill_intervals(axis, blocks, tiles, start, length, next, offset);
    }
    free(next);
    free(offset);
    return there ? HR_OK
                 : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "mpi: no memory for %lld tiles of %d kinds of "
                            "blocks",
                            (long long)axis->tiles, blocks->classes);
}

void hri_axis_finish(hri_axis *axis)
{
    free(axis->intervals);
    free(axis->first);
    free(axis->length);
    free(axis->tile_length);
    *axis = (hri_axis){0};
}
