/* SPDX-License-Identifier: MIT */
/* The environment, which a program that runs with more rights than its caller
 * must not trust. */
#ifndef HRI_BASE_ENVIRONMENT_H
#define HRI_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/auxv.h>

/* Whether this is a set-user-ID or set-group-ID program, or one that has got
 * capabilities. Its caller, who set the variables, has fewer rights. */
static inline bool hri_has_more_rights(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* The value of a variable, as getenv gives it. NULL in a program that has more
 * rights than its caller. All of Headrace reads variables through this
 * function; tests/structure/environment.sh sees to that. Libraries that read
 * variables of their own ask hri_library_check_rights first. */
static inline const char *hri_environment(const char *name)
{
    return hri_has_more_rights() ? NULL : getenv(name);
}

#endif
