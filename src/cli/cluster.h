/* SPDX-License-Identifier: MIT */
/* What headrace devices says of processes, and reading it again. */
#ifndef CLI_CLUSTER_H
#define CLI_CLUSTER_H

#include <headrace/processes.h>

#include "console/json.h"

/* Write the member "cluster". */
void cli_cluster_write(cli_json *json, const hr_mpi_cluster *cluster);

/* Read the member "cluster" of a file; one that is missing there is an error.
 * Returns an exit status. */
int cli_cluster_read(const char *path, hr_mpi_cluster *cluster);

#endif
