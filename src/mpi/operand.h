/* SPDX-License-Identifier: MIT */
/* A distributed matrix of a product: who has which elements, and which tiles
 * processes need. Tiles are of rows and columns as the product sees them. In
 * memory a tile lies as it is stored, by columns. */
#ifndef HRI_MPI_OPERAND_H
#define HRI_MPI_OPERAND_H

#include "mpi/axis.h"
#include "mpi/processes.h"

typedef struct hri_mpi_operand {
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
    double everywhere;   /* the fraction of the matrix that every process has */
    bool single;         /* no process has more than one */
    hri_axis rows, cols; /* of the stored section */
} hri_mpi_operand;

/* Check the matrix that is called `name` in messages. `read`: this process's
 * elements must be there. *hash goes on with what must be the same in
 * all processes. */
hr_status hri_mpi_operand_init(hri_mpi_operand *operand,
                               const hr_mpi_context *context, const char *name,
                               hr_mpi_matrix m, bool read, uint64_t *hash);
void hri_mpi_operand_finish(hri_mpi_operand *operand);

/* Cut it into tiles. */
hr_status hri_mpi_operand_cut(hri_mpi_operand *operand,
                              const hri_mpi_tiling *rows,
                              const hri_mpi_tiling *cols);

/* A tile of the matrix. */
typedef struct hri_mpi_tile {
    int64_t row, col;
} hri_mpi_tile;

/* The stored rows and columns of a tile. */
int64_t hri_mpi_tile_rows(const hri_mpi_operand *operand, hri_mpi_tile tile);
int64_t hri_mpi_tile_cols(const hri_mpi_operand *operand, hri_mpi_tile tile);

/* The elements of a tile that a process has. */
int64_t hri_mpi_tile_elements(const hri_mpi_operand *operand, hri_mpi_tile tile,
                              int owner);

/* A rectangle of a tile that lies in one block. */
typedef struct hri_mpi_box {
    int64_t rows, cols; /* as stored */
    char *owned;        /* where its owner has it: means nothing elsewhere */
    int64_t row_stride, col_stride; /* there, in elements */
    int64_t row, col;               /* where it begins in the tile */
} hri_mpi_box;

/* The boxes of a tile that a process has, in one order everywhere. */
typedef struct hri_mpi_boxes {
    const hri_mpi_operand *operand;
    int64_t row_tile, col_tile; /* as stored */
    const int *cell, *end;
    int64_t row, col; /* intervals of the cell */
} hri_mpi_boxes;

void hri_mpi_boxes_begin(hri_mpi_boxes *boxes, const hri_mpi_operand *operand,
                         hri_mpi_tile tile, int owner);
bool hri_mpi_boxes_next(hri_mpi_boxes *boxes, hri_mpi_box *box);

#endif
