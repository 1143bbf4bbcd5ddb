/* SPDX-License-Identifier: MIT */
/* What HEADRACE_CHECK=1 does (headrace/check.h). All functions want the lock of
 * the context, whose findings are not NULL. */
#ifndef HRI_ARRAYS_CHECK_H
#define HRI_ARRAYS_CHECK_H

#include "arrays/array.h"
#include "runtime/findings.h"

/* Run a launch here and now, instead of enqueueing it: its views lie where its
 * arguments say, as soon as queue has done what it was given. HR_OK also when
 * there are findings. */
hr_status hri_check_launch(hri_findings *findings, hri_queue *queue,
                           const hri_launch *launch);

/* Tell what has not been told yet, uses of mapped memory too; HR_OK when there
 * is nothing, or when nothing is checked. */
hr_status hri_check_tell(hr_context *context);

/* mapped.c: make findings of the uses of mapped memory. */
hr_status hri_check_collect(hr_context *context);

/* Let a mapping of host memory be one of a copy. */
hr_status hri_check_map(hr_mapping *mapping, const char *file, int line);
/* Bring what was written back to `home`, the mapping without the copy, and
 * watch for uses of it. */
hr_status hri_check_unmap(const hr_mapping *mapping, const hr_mapping *home);

#endif
