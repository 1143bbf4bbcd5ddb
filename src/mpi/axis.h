/* SPDX-License-Identifier: MIT */
/* One direction of a distributed matrix. It is cut twice: by its blocks, which
 * processes have, and into tiles, which processes need. What lies between two
 * cuts is an interval. Both sides of a message list the same intervals, so a
 * message needs no description.
 *
 * Blocks of one class have the same owners. If blocks go to P processes in
 * turn, there are P classes. Blocks of a list are a class each. */
#ifndef HRI_MPI_AXIS_H
#define HRI_MPI_AXIS_H

#include <headrace/processes.h>

/* The blocks of a whole axis. */
typedef struct hri_blocks {
    int64_t length;
    int classes;
    int64_t block;         /* block-cyclic: the size of blocks; 0: each class
                              has one block, from bounds */
    int first;             /* block-cyclic: the class of the first block */
    int64_t first_block;   /* block-cyclic: the size of the first block */
    const int64_t *bounds; /* [classes + 1] where the class's block begins, and
                              the length; NULL: block-cyclic */
} hri_blocks;

/* How a section is cut into tiles. If `like` is given, a tile is what lies in
 * one class of its blocks, in a section of the same length that begins at
 * `start`. Else there are `outer` tiles of nearly equal length, and each is cut
 * into `inner`: tile o * inner + i. */
typedef struct hri_mpi_tiling {
    const hri_blocks *like; /* NULL: none */
    int64_t start;
    int64_t outer, inner;
} hri_mpi_tiling;

/* The block of a list that has the element. */
int hri_blocks_find(const hri_blocks *blocks, int64_t element);

/* The most elements of the section that one class has, about. */
int64_t hri_blocks_longest(const hri_blocks *blocks, int64_t start,
                           int64_t length);

typedef struct hri_interval {
    int64_t start, length; /* along the section */
    int64_t offset;        /* from the beginning of its tile */
    int64_t local; /* where its owner keeps it if blocks go around, else where
                      it is in the whole axis */
} hri_interval;

typedef struct hri_axis {
    int classes;
    int64_t tiles;
    hri_interval *intervals; /* by tile, class, start */
    int64_t *first;          /* [tiles * classes + 1]: of a tile and class */
    int64_t *length;         /* [tiles * classes]: all its intervals together */
    int64_t *tile_length;    /* [tiles] */
} hri_axis;

/* The axis of the section [start, start + length). HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_axis_init(hri_axis *axis, const hri_blocks *blocks, int64_t start,
                        int64_t length, const hri_mpi_tiling *tiles);
void hri_axis_finish(hri_axis *axis);

/* The intervals of a tile and class. */
static inline const hri_interval *hri_axis_intervals(const hri_axis *axis,
                                                     int64_t tile, int class_,
                                                     int64_t *count)
{
    const int64_t at = tile * axis->classes + class_;
    *count = axis->first[at + 1] - axis->first[at];
    return axis->intervals + axis->first[at];
}

#endif
