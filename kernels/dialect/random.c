/* SPDX-License-Identifier: MIT */
/* Fills with random numbers (headrace/random.h), for views of rank 1 to 3. An
 * item makes what one counter of Philox gives, `width` neighbours of a row.
 * Where rows begin or end between two counters, it leaves out the others. A
 * view of rank 1 is taken in rows of ROW elements. */
#include <headrace/dialect.h>

enum { ROW = 4096 }; /* that of src/calls/random.c */

#define GROUP(width, made, start, count, element)                              \
    const unsigned long first = offset + (unsigned long)(start);               \
    const hr_random4 r =                                                       \
        hr_philox(seed, stream, first / width + (unsigned long)group);         \
    HR_UNROLL                                                                  \
    for (int w = 0; w < width; w++) {                                          \
        const hr_index at = group * width - (hr_index)(first % width) + w;     \
        if (at >= 0 && at < (count)) {                                         \
            element = made;                                                    \
        }                                                                      \
    }

#define FILL(name, type, width, made)                                          \
    HR_KERNEL4(                                                                \
        name##_line, (OUT, type, 1, out), (VALUE, unsigned long, 0, seed),     \
        (VALUE, unsigned long, 0, stream), (VALUE, unsigned long, 0, offset))  \
    {                                                                          \
        HR_EACH2(i, group)                                                     \
        {                                                                      \
            const hr_index left = HR_EXTENT(out, 0) - i * ROW;                 \
            GROUP(width, made, i *ROW, left < ROW ? left : ROW,                \
                  HR_AT1(out, i * ROW + at))                                   \
        }                                                                      \
    }                                                                          \
    HR_KERNEL4(                                                                \
        name##_rows, (OUT, type, 2, out), (VALUE, unsigned long, 0, seed),     \
        (VALUE, unsigned long, 0, stream), (VALUE, unsigned long, 0, offset))  \
    {                                                                          \
        HR_EACH2(i, group)                                                     \
        {                                                                      \
            const hr_index cols = HR_EXTENT(out, 1);                           \
            GROUP(width, made, i *cols, cols, HR_AT2(out, i, at))              \
        }                                                                      \
    }                                                                          \
    HR_KERNEL4(                                                                \
        name##_slices, (OUT, type, 3, out), (VALUE, unsigned long, 0, seed),   \
        (VALUE, unsigned long, 0, stream), (VALUE, unsigned long, 0, offset))  \
    {                                                                          \
        HR_EACH3(i, j, group)                                                  \
        {                                                                      \
            const hr_index rows = HR_EXTENT(out, 1), cols = HR_EXTENT(out, 2); \
            GROUP(width, made, (i * rows + j) * cols, cols,                    \
                  HR_AT3(out, i, j, at))                                       \
        }                                                                      \
    }

FILL(hri_random_bits, unsigned, 4, r.word[w])
FILL(hri_random_uniform_f32, float, 4, hr_uniform_f32(r.word[w]))
FILL(hri_random_normal_f32, float, 4, hr_normal_f32(r.word[w]))
#if defined(HR_HAS_DOUBLE)
FILL(hri_random_uniform_f64, double, 2, hr_uniform_f64(hr_random_u64(r, w)))
FILL(hri_random_normal_f64, double, 2, hr_normal_f64(hr_random_u64(r, w)))
#endif
