/* SPDX-License-Identifier: MIT */
/* One direction of a distributed matrix, cut twice: by its blocks, which
 * processes have, and into parts, which processes need. What lies between two
 * cuts is a segment. Both sides of a message list the same segments, so a
 * message needs no description.
 *
 * Blocks of one class have the same owners: of blocks that go to P processes in
 * turn there are P classes, else each block is one. */
#ifndef HRI_MPI_AXIS_H
#define HRI_MPI_AXIS_H

#include <headrace/processes.h>

/* The blocks of a whole axis. */
typedef struct hri_blocks {
    int64_t length;
    int64_t block;         /* the size of blocks that go around, or 0 for */
    const int64_t *bounds; /* where blocks begin, and the length: */
    int classes;           /* bounds[classes + 1] */
    int first;             /* class of the first block that goes around */
    int64_t first_block;   /* its size */
} hri_blocks;

/* The parts of a section: the classes of blocks of a section of the same length
 * that begins at `start` of its axis, or, where there is none, `outer` pieces
 * of nearly equal length, each cut into `inner`: part o * inner + i. */
typedef struct hri_mpi_parts {
    const hri_blocks *like; /* NULL: none */
    int64_t start;
    int64_t outer, inner;
} hri_mpi_parts;

/* The most elements of the section that one class has, about. */
int64_t hri_blocks_longest(const hri_blocks *blocks, int64_t start,
                           int64_t length);

typedef struct hri_segment {
    int64_t start, length; /* along the section */
    int64_t place;         /* from the beginning of its part */
    int64_t local; /* of blocks that go around: where its owner keeps it,
                      else where it is in the whole axis */
} hri_segment;

typedef struct hri_axis {
    int classes;
    int64_t parts;
    hri_segment *segments; /* by part, class, start */
    int64_t *first;        /* [parts * classes + 1]: of a part and class */
    int64_t *length;       /* [parts * classes]: all its segments together */
    int64_t *part_length;  /* [parts] */
} hri_axis;

/* The axis of the section [start, start + length). HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_axis_init(hri_axis *axis, const hri_blocks *blocks, int64_t start,
                        int64_t length, const hri_mpi_parts *parts);
void hri_axis_finish(hri_axis *axis);

/* The segments of a part and class. */
static inline const hri_segment *hri_axis_segments(const hri_axis *axis,
                                                   int64_t part, int class_,
                                                   int64_t *count)
{
    const int64_t at = part * axis->classes + class_;
    *count = axis->first[at + 1] - axis->first[at];
    return axis->segments + axis->first[at];
}

#endif
