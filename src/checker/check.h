/* SPDX-License-Identifier: MIT */
/* What HEADRACE_CHECK=1 does (headrace/check.h). All functions but
 * hri_checker_open want the lock of the context, which has a checker. */
#ifndef HRI_CHECKER_CHECK_H
#define HRI_CHECKER_CHECK_H

#include "arrays/array.h"
#include "checker/findings.h"

/* Let launches and mappings of the context be checked from now on. */
hr_status hri_checker_open(hr_context *context);

/* mapped.c: make findings of the uses of mapped memory. */
hr_status hri_check_collect(hr_context *context);

/* Let a mapping of host memory be one of a copy. */
hr_status hri_check_map(hr_mapping *mapping, const char *file, int line);
/* Bring what was written back to `home`, the mapping without the copy, and
 * watch for uses of it. */
hr_status hri_check_unmap(const hr_mapping *mapping, const hr_mapping *home);

#endif
