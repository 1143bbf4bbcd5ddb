/* SPDX-License-Identifier: MIT */
/* Folding a copy of a view into the view (hr_combined of headrace/split.h). */
#include <headrace/dialect.h>

/* Integers are added as unsigned ones, which wrap around. */
#define COMBINE(name, type, added)                                             \
    HR_KERNEL3(name, (INOUT, type, 3, to), (IN, type, 3, from),                \
               (VALUE, int, 0, how))                                           \
    {                                                                          \
        HR_EACH3(i, j, k)                                                      \
        {                                                                      \
            const type x = HR_AT3(to, i, j, k), y = HR_AT3(from, i, j, k);     \
            HR_AT3(to, i, j, k) = how == 1   ? (type)((added)x + (added)y)     \
                                  : how == 2 ? (y < x ? y : x)                 \
                                             : (y > x ? y : x);                \
        }                                                                      \
    }

COMBINE(hri_combine_i32, int, unsigned)
COMBINE(hri_combine_u32, unsigned, unsigned)
COMBINE(hri_combine_i64, long, unsigned long)
COMBINE(hri_combine_u64, unsigned long, unsigned long)
COMBINE(hri_combine_f32, float, float)
#if defined(HR_HAS_DOUBLE)
COMBINE(hri_combine_f64, double, double)
#endif
