/* SPDX-License-Identifier: MIT */
/* A kernel that the host takes and no other compiler does. */
#include <headrace/dialect.h>
#ifdef HEADRACE_KERNEL_H /* the host's */
#define ONE 1
#endif

HR_KERNEL1(broken, (OUT, int, 1, to))
{
    HR_EACH1(i)
    {
        HR_AT1(to, i) = ONE;
    }
}
