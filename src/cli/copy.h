/* SPDX-License-Identifier: MIT */
/* Copying matrices. */
#ifndef CLI_COPY_H
#define CLI_COPY_H

#include <headrace/headrace.h>

#include "progress.h"

/* to := from, of the same shape and type; to is row-major, from has any layout.
 * False when cancelled. */
bool cli_copy(hr_matrix from, hr_matrix to, cli_progress *progress);

#endif
