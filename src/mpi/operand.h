/* SPDX-License-Identifier: MIT */
/* A distributed matrix of a product: who has which elements, and which parts
 * processes need. Parts are of rows and columns as the product sees them. In
 * memory a part lies as it is stored, by columns. */
#ifndef HRI_MPI_OPERAND_H
#define HRI_MPI_OPERAND_H

#include "mpi/axis.h"
#include "mpi/processes.h"

typedef struct hri_operand {
    hr_mpi_matrix m;
    size_t element_bytes;
    hri_blocks row_blocks, col_blocks; /* of the stored matrix */
    int64_t *row_bounds, *col_bounds;  /* of a list of blocks */
    int64_t *block_of;                 /* [cells] of a list, which block */
    /* A cell is a class of rows and one of columns: row * col classes + col. */
    int *owner;          /* [cells] rank */
    int *cells;          /* by owner */
    int64_t *cell_first; /* [processes + 2]: of an owner; the last one stands
                            for all processes */
    double everywhere;   /* the part of the matrix that every process has */
    bool single;         /* no process has more than one */
    hri_axis rows, cols; /* of the stored section */
} hri_operand;

/* Check the matrix that is called `name` in messages. `read`: this process's
 * elements must be there. *hash goes on with what must be the same in
 * all processes. */
hr_status hri_operand_init(hri_operand *operand, const hr_mpi_context *context,
                           const char *name, hr_mpi_matrix m, bool read,
                           uint64_t *hash);
void hri_operand_finish(hri_operand *operand);

/* Cut it into parts. */
hr_status hri_operand_cut(hri_operand *operand, const hri_parts *rows,
                          const hri_parts *cols);

/* A part of the matrix. */
typedef struct hri_part {
    int64_t row, col;
} hri_part;

/* The stored rows and columns of a part. */
int64_t hri_part_rows(const hri_operand *operand, hri_part part);
int64_t hri_part_cols(const hri_operand *operand, hri_part part);

/* The elements of a part that a process has. */
int64_t hri_part_elements(const hri_operand *operand, hri_part part, int owner);

/* A rectangle of a part that lies in one block. */
typedef struct hri_box {
    int64_t rows, cols; /* as stored */
    char *owned;        /* where its owner has it: means nothing elsewhere */
    int64_t row_stride, col_stride; /* there, in elements */
    int64_t row, col;               /* where it begins in the part */
} hri_box;

/* The boxes of a part that a process has, in one order everywhere. */
typedef struct hri_boxes {
    const hri_operand *operand;
    int64_t row_part, col_part; /* as stored */
    const int *cell, *end;
    int64_t row, col; /* segments of the cell */
} hri_boxes;

void hri_boxes_begin(hri_boxes *boxes, const hri_operand *operand,
                     hri_part part, int owner);
bool hri_boxes_next(hri_boxes *boxes, hri_box *box);

#endif
