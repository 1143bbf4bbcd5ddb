/* SPDX-License-Identifier: MIT */
/* A product under way. All processes go through the same steps: panel after
 * panel of k, and then chunk after chunk of C's columns.
 *
 * axis.c cuts rows, columns and k twice; operand.c knows who has which
 * intervals. plan.c compares grids of rows x columns x depth of processes by
 * formulas, and counts what the few best ones send, element by element.
 * multiply.c is the product of this process, one hr_gemm_sum over all panels.
 * gemm.c brings them meanwhile: at most two are on their way and eight in
 * memory. Each process begins with a panel of its own, or with another one than
 * its neighbours. With each panel goes a question to all, whether any wants to
 * stop, so all stop behind the same panel. At the end C comes home, and
 * elements.c adds it up in the order of depth.
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

/* A panel of A and one of B. */
typedef struct hri_mpi_panel {
    hri_messages messages;
    char *memory; /* of both, but for one that lies in a block of this process
                     as it is */
    size_t memory_bytes;
    hri_mpi_place a, b;
    MPI_Request question; /* whether any process wants to stop behind it */
} hri_mpi_panel;

/* The product of this process, on a thread of its own. */
typedef struct hri_multiplier {
    hri_thread *thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t arrived, released; /* panels that are there, and that are not needed
                                  any more */
    bool stopped, ended;
    hri_error error;
    double told; /* floating-point operations, as all processes together count
                    them */
} hri_multiplier;

typedef struct hri_mpi_run {
    hr_mpi_context *context;
    hri_mpi_product product;
    hri_mpi_plan plan;
    hr_mpi_gemm_options options;
    uint64_t hash; /* of the arguments that must be the same in all processes */
    int64_t grid_rank;                    /* -1: nothing is computed here */
    hri_mpi_panel panels[HRI_MPI_PANELS]; /* [plan.buffers] are used */
    hr_matrix *a, *b; /* [plan.panels] where this process's panels will be;
                         NULL: it multiplies nothing */
    hri_multiplier multiplier;
    char *sum;   /* of this process's tile of C, by columns; NULL: in place */
    hr_matrix c; /* the tile */
    hri_messages home;  /* of a chunk of C */
    const char **terms; /* [depth] tiles of C that are added up */
    hri_progress progress;
    hri_error error; /* of this process alone; all hear it at the end */
} hri_mpi_run;

/* ---- multiply.c */

/* Multiply panels as they come, in their order. Errors go to run->error. */
void hri_multiply_begin(hri_mpi_run *run);

/* Say that so many panels have arrived. */
void hri_multiply_arrived(hri_mpi_run *run, int64_t panels);

/* Wait until so many are not needed any more, or none is. HR_ERROR_LOST: MPI is
 * lost. */
hr_status hri_multiply_await(hri_mpi_run *run, int64_t panels);

/* Wait for the end: after all panels, or, to stop, after those that run. Called
 * once. HR_ERROR_LOST: MPI is lost, and the product has ended all the same. */
hr_status hri_multiply_end(hri_mpi_run *run, bool stop);

#endif
