/* SPDX-License-Identifier: MIT */
/* What the kernels of sorts share: keys, as numbers that are compared without a
 * sign, and the part of a row that a tile takes. The build puts this text
 * before sort.c, sort_sweep.c and sort_merge.c, once for each size of keys, and
 * of values that move with them. Before it stand the macros KEY, KERNEL and
 * CARRIED: the type of such values, where there are some. */
#include <headrace/dialect.h>

#ifdef CARRIED
#define CARRY(step) step
#else
#define CARRY(step)
#endif

enum { DIGITS = 256 }; /* a pass sorts by 8 bits */

/* How bits are compared as numbers; src/calls/sort.h has the same struct. Zeros
 * of both signs become one number, and so do NaNs. */
typedef struct hri_sort_form {
    unsigned long positive; /* the largest bits without a sign that turns the
                               order round */
    unsigned long below;    /* what larger bits are subtracted from */
    unsigned long above;    /* what is added to the others */
    unsigned long last;     /* what NaNs become; nothing is larger */
    unsigned long flip;     /* all bits, if the largest comes first */
} hri_sort_form;

/* A number that is compared without a sign. */
HR_FUNCTION KEY key_of(KEY x, const hri_sort_form f)
{
    const KEY y =
        (KEY)(x > (KEY)f.positive ? (KEY)f.below - x : (KEY)f.above + x);
    return (KEY)((y > (KEY)f.last ? (KEY)f.last : y) ^ (KEY)f.flip);
}

#define DIGIT(x, shift, digits)                                                \
    ((int)(key_of(x, form) >> (shift)) & ((digits)-1))

/* The tile's place among all, outside of blocks. */
#define TILE (hr_d.first[0] + HR_NUMBER_(2, 0))

/* The part of a row that a tile takes. */
#define UNIT_OF(view, units)                                                   \
    const hr_index row = TILE / (units), number = TILE % (units);              \
    const hr_index first = number * unit, all = HR_EXTENT(view, 1);            \
    const hr_index end = first + unit < all ? first + unit : all;

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
#define ON_DEVICE
#endif
