/* SPDX-License-Identifier: MIT */
/* A kernel that needs what the build defines (tests/CMakeLists.txt). */
#include <headrace/dialect.h>
#ifndef PLAIN
#error PLAIN is not defined
#endif

HR_KERNEL1(scaled, (INOUT, int, 1, y))
{
    HR_EACH1(i)
    {
        HR_AT1(y, i) =
            HR_AT1(y, i) * SCALE + (int)sizeof(WORDS) + PLAIN + OF_FILE;
    }
}
