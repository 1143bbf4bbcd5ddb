/* SPDX-License-Identifier: MIT */
/* For tests of kernels of text, which skip where nothing compiles these. */
#ifndef TEST_WITHOUT_COMPILER_H
#define TEST_WITHOUT_COMPILER_H

#include <stdlib.h>
#include <string.h>

#include "backends/host/compiler.h"

/* Whether a list of accelerators has the host, but this machine no C compiler.
 * hr_last_error says so then. */
static inline bool has_no_compiler(const char *accelerators)
{
    host_compiler compiler;
    return strstr(accelerators, "host") != NULL &&
           hri_host_compiler_find(&compiler) != HR_OK;
}

#endif
