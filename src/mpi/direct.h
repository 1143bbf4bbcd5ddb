/* SPDX-License-Identifier: MIT */
/* Reading from the memory of other processes of this machine, with several
 * threads. One thread copies 5 GB/s where 16 copy 25 (two H200's machine,
 * November 2026), and MPI has one. */
#ifndef HRI_MPI_DIRECT_H
#define HRI_MPI_DIRECT_H

#include "mpi/processes.h"

/* Bytes in lines of one length. */
typedef struct hri_lines {
    char *data;
    size_t line, pitch, count; /* bytes of a line, and from one to the next */
} hri_lines;

/* Find out whether the processes of `machine`, a communicator of this
 * machine's, can read from each other. HEADRACE_MPI_DIRECT: from how many bytes
 * on they do; 0: never. Collective, for all processes of the context. */
hr_status hri_direct_init(hr_mpi_context *context, MPI_Comm machine);
void hri_direct_finish(hr_mpi_context *context);

/* Whether this process and another one can read from each other, and whether so
 * many bytes are worth it. */
bool hri_direct_reaches(const hr_mpi_context *context, int rank, size_t bytes);

/* Read the lines of another process. HR_ERROR_BACKEND. */
hr_status hri_direct_read(hr_mpi_context *context, int rank,
                          const hri_lines *to, const hri_lines *from);

#endif
