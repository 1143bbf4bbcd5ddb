/* SPDX-License-Identifier: MIT */
#include "base/pool.h"
#include "runtime/runtime.h"

hr_status hri_context_check(const hr_context *context, const char *call)
{
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID, "%s: the context is NULL", call);
    }
    return hri_pool_is_here(context->pool)
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "%s: the context is of the parent process; a child "
                          "of fork() makes its own",
                          call);
}
