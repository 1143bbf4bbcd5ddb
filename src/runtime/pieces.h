/* SPDX-License-Identifier: MIT */
/* The pieces in which a box (depth 1) goes through pinned memory. In pinned
 * memory the rows of a piece lie without gaps. Any thread. */
#ifndef HRI_RUNTIME_PIECES_H
#define HRI_RUNTIME_PIECES_H

#include "hal/hal.h"

/* Where a piece starts, and its size. */
typedef struct hri_piece {
    size_t row, rows;    /* of the box */
    size_t start, width; /* bytes of each row */
} hri_piece;

/* Move on to the next piece of a box, of at most `bytes` bytes. The box has one
 * more. When rows is 0, go to the first piece. */
void hri_piece_next(const hri_copy *box, size_t bytes, hri_piece *p);
bool hri_piece_is_last(const hri_copy *box, const hri_piece *p);

/* The copy of the piece with pinned memory as its source, if `from`, or its
 * destination. */
hri_copy hri_piece_pinned(const hri_copy *box, const hri_piece *p, void *pinned,
                          bool from);

/* Copy the piece from the box's host memory to pinned memory, or back. */
void hri_piece_up(const hri_copy *box, const hri_piece *p, void *pinned);
void hri_piece_down(const hri_copy *box, const hri_piece *p,
                    const void *pinned);

#endif
