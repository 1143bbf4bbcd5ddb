/* SPDX-License-Identifier: MIT */
/* Grids over processes: each has a part, which is a grid of its own, and brings
 * what lies beyond the part's sides. */
#ifndef HRI_MPI_GRID_H
#define HRI_MPI_GRID_H

#include "mpi/processes.h"

enum { HRI_MPI_RANK = HR_MAX_KERNEL_RANK, HRI_DIRECTIONS = 27 };

/* Cells of the whole grid. */
typedef struct hri_section {
    int64_t lo[HRI_MPI_RANK], hi[HRI_MPI_RANK];
} hri_section;

/* How a grid is cut. */
typedef struct hri_mpi_cut {
    hr_extent whole;
    int processes[HRI_MPI_RANK]; /* in each dimension; those that the grid does
                                not have: 1 */
} hri_mpi_cut;

/* ---- grid_cut.c */

/* Choose how many processes share each dimension, or check what was chosen. */
hr_status hri_mpi_cut_choose(const hr_mpi_context *context, hr_extent whole,
                             const hr_field *fields, uint32_t count,
                             const int *processes, hri_mpi_cut *cut);

/* The part of process `rank`. */
hri_section hri_mpi_cut_part(const hri_mpi_cut *cut, int rank);

/* The process beside process `rank` in a direction of -1, 0 and 1, around the
 * ends. */
int hri_mpi_cut_beside(const hri_mpi_cut *cut, int rank, const int *direction);

/* Whether the part of a process has an end of the whole grid in dimension d:
 * the first one, or the last one. */
bool hri_mpi_cut_ends(const hri_mpi_cut *cut, int rank, uint32_t d, bool last);

/* ---- grid.c */

/* One section of a field that goes to a process, and one that comes from it. */
typedef struct hri_mpi_transfer {
    hri_mpi_bytes messages[2]; /* out, in; if its peer is MPI_PROC_NULL, there
                                  is none */
    hri_section sections[2];
    hr_array *arrays[2];    /* of the bytes: page-locked, or on the device */
    hr_mapping mappings[2]; /* while MPI uses them */
} hri_mpi_transfer;

typedef struct hri_mpi_grid {
    hr_mpi_context *context;
    hri_mpi_cut cut;
    hri_section part;
    uint32_t count;
    hr_queue *device; /* MPI sends from this one's accelerator, and receives
                         there; NULL: page-locked memory */
    hri_mpi_transfer (*transfers)[HRI_DIRECTIONS]; /* [count] */
    char *spare; /* bytes of the largest message, which mean nothing: they go in
                    the place of what cannot be mapped on the device */
    size_t most_bytes;
    MPI_Request *requests;
    int request_count, request_room;
    uint64_t exchange_bytes, sent, messages;
} hri_mpi_grid;

/* The data of a grid that hr_mpi_grid_create made. */
hr_status hri_mpi_grid_of(const hr_grid *grid, hri_mpi_grid **of);

#endif
