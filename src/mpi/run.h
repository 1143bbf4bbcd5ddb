/* SPDX-License-Identifier: MIT */
/* A product under way. All processes go through the same steps: panel after
 * panel of k, and then strip after strip of C.
 *
 * axis.c cuts rows, columns and k twice; operand.c knows who has which
 * segments. plan.c compares grids of rows x columns x depth of processes by
 * formulas, and count.c counts what the few best ones send, element by element.
 * multiply.c is the product of this process, one hr_gemm_sum over all panels.
 * panel.c brings them meanwhile: at most two are on their way and eight in
 * memory. Each process begins with a panel of its own, or with another one than
 * its neighbours. With each panel goes a question to all, whether any wants to
 * stop, so all stop behind the same panel. strips.c brings C home, and sum.c
 * adds it up in the order of depth.
 *
 * All memory is allocated before the first message: from there on no process
 * can fail alone, only MPI can. No process waits inside MPI, so each one hears
 * on a second communicator that another has lost it. Steps that can fail in one
 * process end with hr_mpi_agree. */
#ifndef HRI_MPI_RUN_H
#define HRI_MPI_RUN_H

#include "base/progress.h"
#include "mpi/messages.h"
#include "mpi/plan.h"

/* Kinds of messages. */
enum { HRI_MESSAGE_A = 1, HRI_MESSAGE_B = 2, HRI_MESSAGE_C = 3 };

/* A panel of A and one of B. */
typedef struct hri_mpi_panel {
    hri_messages messages;
    char *memory; /* of both, where they do not lie in one block of this process
                     as they are */
    size_t memory_bytes;
    hri_mpi_place a, b;
    MPI_Request question; /* whether any process wants to stop behind it */
} hri_mpi_panel;

/* The product of this process, on a thread of its own. */
typedef struct hri_multiplier {
    hri_thread *thread;
    hr_matrix *a, *b; /* [panels] where they will be; NULL: nothing to do */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t come, read; /* panels that are there, and that are not needed any
                           more */
    bool made, stopped, ended;
    hri_error error;
    double told; /* floating-point operations, as all processes together count
                    them */
} hri_multiplier;

typedef struct hri_mpi_run {
    hr_mpi_context *context;
    hri_mpi_product *product;
    const hri_mpi_plan *plan;
    const hr_mpi_gemm_options *options;
    int64_t place;                        /* -1: nothing is computed here */
    hri_mpi_panel panels[HRI_MPI_PANELS]; /* [plan->buffers] are used */
    hri_multiplier multiplier;
    char *sum; /* of this process's part of C, by columns; NULL: in place */
    hr_matrix c;
    hri_messages strips;
    const char **terms; /* [depth] parts of C that are added up */
    hri_progress progress;
    hri_error error; /* of this process alone; all hear it at the end */
} hri_mpi_run;

/* The part as a matrix that the product sees. */
hr_matrix hri_mpi_part_view(const hri_mpi_operand *operand, hri_mpi_place at,
                            int64_t rows, int64_t cols);

/* ---- panel.c */

/* Allocate all that panels need: when messages are under way, a process can no
 * longer fail alone. */
hr_status hri_mpi_panels_prepare(hri_mpi_run *run);
void hri_mpi_panels_finish(hri_mpi_run *run);

/* Begin to exchange a panel, and ask all whether any wants to stop behind it.
 */
hr_status hri_mpi_panel_post(hri_mpi_run *run, int64_t number);

/* Wait until it is here. *stops: all stop behind it. */
hr_status hri_mpi_panel_complete(hri_mpi_run *run, int64_t number, bool *stops);

/* Wait until others have all that this process has sent of panels. */
hr_status hri_mpi_panels_end(hri_mpi_run *run);

/* Where this process's parts of A and B of a panel will lie, when all panels
 * are prepared. */
void hri_mpi_panel_find(hri_mpi_run *run, int64_t number, hri_mpi_place at[2]);

/* ---- multiply.c */

/* Find what will be multiplied. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_multiply_prepare(hri_mpi_run *run);
void hri_multiply_finish(hri_mpi_run *run);

/* Multiply panels as they come, in their order. Errors go to run->error. */
void hri_multiply_begin(hri_mpi_run *run);

/* So many panels have come. */
void hri_multiply_come(hri_mpi_run *run, int64_t panels);

/* Wait until so many are not needed any more, or none is. HR_ERROR_LOST: MPI is
 * lost. */
hr_status hri_multiply_await(hri_mpi_run *run, int64_t panels);

/* Wait for the end: after all panels, or, to stop, after those that run. As
 * hri_multiply_await, but all has ended. */
hr_status hri_multiply_end(hri_mpi_run *run, bool stop);

/* ---- strips.c */

/* Find where this process's part of C is formed, and allocate all that bringing
 * it home needs. */
hr_status hri_strips_prepare(hri_mpi_run *run);
void hri_strips_finish(hri_mpi_run *run);

/* Bring sums to the processes that have C. Where nothing was summed, C is
 * scaled. */
hr_status hri_strips_bring(hri_mpi_run *run, bool summed);

#endif
