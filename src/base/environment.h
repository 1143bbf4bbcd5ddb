/* SPDX-License-Identifier: MIT */
/* The environment, which a program that runs with more rights than its caller
 * must not trust. */
#ifndef HRI_BASE_ENVIRONMENT_H
#define HRI_BASE_ENVIRONMENT_H

#include <stdlib.h>
#include <sys/auxv.h>

/* The value of a variable, as getenv gives it. NULL in a set-user-ID or
 * set-group-ID program, and in one that has got capabilities: the caller who
 * set the variable has fewer rights than the program. All of Headrace reads
 * variables through this function; tests/structure/environment.sh sees to
 * that. */
static inline const char *hri_environment(const char *name)
{
    return getauxval(AT_SECURE) != 0 ? NULL : getenv(name);
}

#endif
