/* SPDX-License-Identifier: MIT */
/* What sorts of long rows are planned with: bytes that a sort reads and writes.
 * These kernels are never launched. */
#include <headrace/dialect.h>

#if defined(HR_HAS_DOUBLE) /* as hr_scan, whose kernel scans the counts */

#define AT_ROW(view)  HR_AT2(view, unit, 0)
#define AT_CELL(view) HR_AT1(view, unit)

#define PLANS_OF(shape, rank, AT)                                              \
    HR_KERNEL3(hri_sort_plan_##shape, (IN, unsigned char, rank, a),            \
               (OUT, unsigned char, rank, b),                                  \
               (OUT, unsigned char, rank, temporary))                          \
    {                                                                          \
        HR_EACH2(unit, item)                                                   \
        {                                                                      \
            AT(b) = AT(a);                                                     \
            AT(temporary) = AT(a);                                             \
        }                                                                      \
    }                                                                          \
    HR_KERNEL2(hri_sort_plan_##shape##_in_place,                               \
               (INOUT, unsigned char, rank, b),                                \
               (OUT, unsigned char, rank, temporary))                          \
    {                                                                          \
        HR_EACH2(unit, item)                                                   \
        {                                                                      \
            AT(temporary) = AT(b);                                             \
        }                                                                      \
    }                                                                          \
    HR_KERNEL4(hri_sort_plan_##shape##_by_key,                                 \
               (INOUT, unsigned char, rank, keys),                             \
               (OUT, unsigned char, rank, temporary),                          \
               (INOUT, unsigned char, rank, values),                           \
               (OUT, unsigned char, rank, temporary_values))                   \
    {                                                                          \
        HR_EACH2(unit, item)                                                   \
        {                                                                      \
            AT(temporary) = AT(keys);                                          \
            AT(temporary_values) = AT(values);                                 \
        }                                                                      \
    }

PLANS_OF(cells, 1, AT_CELL) PLANS_OF(rows, 2, AT_ROW)

#endif
