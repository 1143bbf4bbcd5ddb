/* SPDX-License-Identifier: MIT */
/* Which process computes what of a product. Rows of C are cut evenly, or as C
 * lies. The owner of an element of A or B (operand.h) sends it to every process
 * that needs it, and nobody forwards. A process sends its sums of C to the
 * owner, who adds them up over depth. Both sides derive the same list of
 * messages (list_factor and list_chunk of gemm.c). */
#ifndef HRI_MPI_PLAN_H
#define HRI_MPI_PLAN_H

#include "mpi/operand.h"

typedef struct hri_mpi_product {
    hr_scalar alpha, beta;
    hri_mpi_operand a, b, c;
    int64_t m, n, k;
    hr_type sum_type; /* of what is added up: f32 where C is a half */
} hri_mpi_product;

/* Nothing is multiplied, and A and B are not read. */
static inline bool hri_mpi_is_empty(const hri_mpi_product *p)
{
    return p->k == 0 || (p->alpha.re == 0.0 && p->alpha.im == 0.0);
}

/* Processes in rows x cols x depth. Process (i, j, l) multiplies rows i of A
 * and columns j of B, and adds up over an l-th of k, panel by panel. */
typedef struct hri_mpi_plan {
    int rows, cols, depth;
    bool in_place; /* each process has exactly the tile of C that it computes */
    int64_t panels;    /* of each process */
    int64_t buffers;   /* panels that are in memory at once, at most */
    int64_t chunks;    /* of columns, in which tiles of C go home */
    int process_count; /* as an owner: all of them */
    int *rank; /* [rows * cols * depth] of process (i, j, l) at (l * rows + i) *
                  cols + j */
    int64_t *grid_rank; /* [processes] where it is in the above; -1: nowhere */
    int64_t *first;     /* [rows * cols * depth] the panel with which a process
                           begins, and goes around */
    double compute_seconds, message_seconds, seconds;
    uint64_t sent, bound, messages;
    uint64_t memory_bytes; /* of this process */
} hri_mpi_plan;

/* Choose, and cut the operands. HR_ERROR_INVALID for a
 * grid of processes that is too large, HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_mpi_plan_init(hri_mpi_plan *plan, const hr_mpi_context *context,
                            hri_mpi_product *product,
                            const hr_mpi_gemm_options *options);
void hri_mpi_plan_finish(hri_mpi_plan *plan);

/* The place in k of a process's n-th panel. */
static inline int64_t hri_mpi_panel_at(const hri_mpi_plan *p, int64_t grid_rank,
                                       int64_t n)
{
    const int64_t l = grid_rank / (p->rows * p->cols);
    return l * p->panels + (p->first[grid_rank] + n) % p->panels;
}

/* The tiles of the process of `grid_rank`: of A and B for its n-th panel, of C
 * for a chunk. */
static inline hri_mpi_tile hri_mpi_tile_of_a(const hri_mpi_plan *p,
                                             int64_t grid_rank, int64_t n)
{
    return (hri_mpi_tile){grid_rank / p->cols % p->rows,
                          hri_mpi_panel_at(p, grid_rank, n)};
}

static inline hri_mpi_tile hri_mpi_tile_of_b(const hri_mpi_plan *p,
                                             int64_t grid_rank, int64_t n)
{
    return (hri_mpi_tile){hri_mpi_panel_at(p, grid_rank, n),
                          grid_rank % p->cols};
}

static inline hri_mpi_tile hri_mpi_tile_of_c(const hri_mpi_plan *p,
                                             int64_t grid_rank, int64_t chunk)
{
    return (hri_mpi_tile){grid_rank / p->cols % p->rows,
                          grid_rank % p->cols * p->chunks + chunk};
}

#endif
