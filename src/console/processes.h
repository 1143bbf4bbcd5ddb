/* SPDX-License-Identifier: MIT */
/* The command in several processes of MPI: how it was started, and the library
 * for that, which is found at run time. */
#ifndef CONSOLE_PROCESSES_H
#define CONSOLE_PROCESSES_H

#include <headrace/processes.h>

#include "context.h"

/* What the program that started this one says: process `rank` of `count`. Alone
 * it is 0 of 1. */
typedef struct cli_launch {
    int rank, count;
} cli_launch;

cli_launch cli_launched(void);

/* The functions of the library for processes. */
typedef struct cli_processes {
    hr_status (*create)(const hr_context_options *options,
                        hr_mpi_context **context);
    hr_status (*create_model)(const hr_mpi_cluster *cluster,
                              hr_mpi_context **context);
    hr_status (*describe)(const hr_mpi_context *context,
                          hr_mpi_cluster *cluster);
    void (*destroy)(hr_mpi_context *context);
    hr_context *(*local)(const hr_mpi_context *context);
    int (*rank)(const hr_mpi_context *context);
    int (*count)(const hr_mpi_context *context);
    hr_status (*agree)(hr_mpi_context *context, hr_status status);
    hr_mpi_matrix (*blocks)(hr_type type, int64_t rows, int64_t cols,
                            const hr_mpi_block *blocks, int64_t count);
    hr_mpi_matrix (*transpose)(hr_mpi_matrix m);
    hr_mpi_matrix (*conjugate)(hr_mpi_matrix m);
    hr_status (*gemm)(hr_mpi_context *context, hr_scalar alpha, hr_mpi_matrix a,
                      hr_mpi_matrix b, hr_scalar beta, hr_mpi_matrix c,
                      const hr_mpi_gemm_options *options);
    hr_status (*plan)(hr_mpi_context *context, hr_scalar alpha, hr_mpi_matrix a,
                      hr_mpi_matrix b, hr_scalar beta, hr_mpi_matrix c,
                      const hr_mpi_gemm_options *options,
                      hr_mpi_gemm_report *report);
    hr_status (*file_create)(hr_mpi_context *context, const char *path,
                             hr_file_array like, hr_mpi_file **file);
    hr_mpi_matrix (*file_matrix)(const hr_mpi_file *file);
    hr_status (*file_commit)(hr_mpi_file *file);
    const char *(*file_temporary)(const hr_mpi_file *file);
    void (*file_close)(hr_mpi_file *file);
} cli_processes;

/* Open the library of the MPI that started this program. Returns an exit
 * status. */
int cli_processes_open(cli_processes *processes);

/* The context of the processes that were started. Failures are those of all;
 * process 0 prints them. Returns an exit status. */
int cli_processes_create(const cli_processes *processes,
                         const cli_machine *machine, hr_mpi_context **context);

#endif
