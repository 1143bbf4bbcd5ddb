/* SPDX-License-Identifier: MIT */
/* One value for all elements (headrace/fill.h), for views of rank 1 to 3. A
 * value is bits, so a kernel is for all types of its size. */
#define HR_AVX512_BITS_ "512"
#include <headrace/dialect.h>

/* CUDA devices keep elements of 16 bytes at multiples of 16. */
#if defined(__CUDACC__)
#define ALIGNED __align__(16)
#else
#define ALIGNED
#endif

typedef struct ALIGNED bits128 {
    unsigned long low, high;
} bits128;

#define FILL(name, type)                                                       \
    HR_KERNEL2(name##_line, (OUT, type, 1, out), (VALUE, type, 0, value))      \
    {                                                                          \
        HR_EACH1(i)                                                            \
        {                                                                      \
            HR_AT1(out, i) = value;                                            \
        }                                                                      \
    }                                                                          \
    HR_KERNEL2(name##_rows, (OUT, type, 2, out), (VALUE, type, 0, value))      \
    {                                                                          \
        HR_EACH2(i, j)                                                         \
        {                                                                      \
            HR_AT2(out, i, j) = value;                                         \
        }                                                                      \
    }                                                                          \
    HR_KERNEL2(name##_slices, (OUT, type, 3, out), (VALUE, type, 0, value))    \
    {                                                                          \
        HR_EACH3(i, j, k)                                                      \
        {                                                                      \
            HR_AT3(out, i, j, k) = value;                                      \
        }                                                                      \
    }

FILL(hri_fill8, unsigned char)
FILL(hri_fill16, unsigned short)
FILL(hri_fill32, unsigned)
FILL(hri_fill64, unsigned long)
FILL(hri_fill128, bits128)
