/* SPDX-License-Identifier: MIT */
/* A product under way. All processes go through the same steps: panel after
 * panel of k, and then strip after strip of C. */
#ifndef HRI_MPI_RUN_H
#define HRI_MPI_RUN_H

#include "base/progress.h"
#include "mpi/messages.h"
#include "mpi/plan.h"

/* Kinds of messages. */
enum { HRI_MESSAGE_A = 1, HRI_MESSAGE_B = 2, HRI_MESSAGE_C = 3 };

/* A panel of A and one of B. */
typedef struct hri_panel {
    hri_messages messages;
    char *memory; /* of both, where they do not lie in one block of this process
                     as they are */
    size_t memory_bytes;
    hri_place a, b;
    const int *stops; /* whether any process wants to stop behind it */
    MPI_Request question;
} hri_panel;

typedef struct hri_mpi_run {
    hr_mpi_context *context;
    hri_mpi_product *product;
    const hri_mpi_plan *plan;
    const hr_mpi_gemm_options *options;
    int64_t place; /* -1: nothing is computed here */
    hri_panel panels[2];
    char *sum; /* of this process's part of C, by columns; NULL: in place */
    hr_matrix c;
    hri_messages strips;
    const char **terms; /* [depth] of the sum */
    hri_progress progress;
    hri_error error; /* of this process alone; all hear it at the end */
} hri_mpi_run;

/* The part as a matrix that the product sees. */
hr_matrix hri_part_view(const hri_operand *operand, hri_place at, int64_t rows,
                        int64_t cols);

/* ---- panel.c */

/* Allocate all that panels need: when messages are under way, a process can no
 * longer fail alone. */
hr_status hri_panels_prepare(hri_mpi_run *run);
void hri_panels_finish(hri_mpi_run *run);

/* Begin to exchange a panel, and ask all whether any wants to stop behind it.
 */
hr_status hri_panel_post(hri_mpi_run *run, hri_panel *panel, int64_t number);

/* Wait until the panel is here. */
hr_status hri_panel_complete(hri_mpi_run *run, hri_panel *panel);

/* ---- strips.c */

/* Find where this process's part of C is formed, and allocate all that bringing
 * it home needs. */
hr_status hri_strips_prepare(hri_mpi_run *run);
void hri_strips_finish(hri_mpi_run *run);

/* Bring sums to the processes that have C. Where nothing was summed, C is
 * scaled. */
hr_status hri_strips_bring(hri_mpi_run *run, bool summed);

#endif
