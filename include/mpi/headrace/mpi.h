/* SPDX-License-Identifier: MIT */
/** @file mpi.h
 *  Products over the processes of a program's own MPI communicator: all of
 *  processes.h, and a context for the communicator.
 *
 *  headrace.h does not include this file, since it needs mpi.h. */
#ifndef HEADRACE_MPI_H
#define HEADRACE_MPI_H

#include <mpi.h>

#include <headrace/processes.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Look for this process's accelerators, and measure what planning needs: how
 *  fast all of them are, and how fast messages travel.
 *
 *  Processes of one machine share its accelerators: process i of n there uses
 *  number i, i + n and so on of the chosen ones. If there are fewer
 * accelerators than processes, some are shared, and each may use its part of
 * their memory and threads.
 *
 * @units   options->memory_limit in bytes, of each accelerator for all
 * processes together that use it.
 * @owner   *context is the caller's, to be given to hr_mpi_context_destroy;
 *          written only on success. comm is copied, and options is not kept.
 * @errors  As hr_context_create. HR_ERROR_BACKEND if a function of MPI fails.
 *          HR_ERROR_INVALID if MPI is not initialized. Any level of threads
 *          will do: OpenMPI and MPICH serve the one thread that calls them,
 *          whatever other threads do.
 * @threads The one that initialized MPI, for all functions of this file, unless
 *          MPI offers MPI_THREAD_MULTIPLE. */
HR_API HR_NODISCARD hr_status hr_mpi_context_create(
    MPI_Comm comm, const hr_context_options *options, hr_mpi_context **context);

#ifdef __cplusplus
}
#endif
#endif
