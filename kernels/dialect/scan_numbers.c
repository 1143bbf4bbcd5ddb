/* SPDX-License-Identifier: MIT */
/* What scans join, and how. Before scan.c and scan_once.c, with these macros
 * before it: ELEMENT and RESULT are the types of elements, and KERNEL(name) is
 * the name of a kernel. EXACT: integers that wrap around. WIDER: results have
 * another type. */
#define HR_AVX512_BITS_ "512"
#include <headrace/dialect.h>

#if defined(HR_HAS_DOUBLE)

enum { LANES = 64, EACH = 16, BLOCK = LANES * EACH };

/* As in src/calls/scan.c. Units before a unit are joined in pairs, pairs of
 * these and so on, up to a section of 2^LEVELS units. Sections are joined in
 * turn. */
enum { UNIT = 4 * BLOCK, LEVELS = 10, SECTION = 1 << LEVELS };

/* The values of enum hr_reduction in headrace/reduce.h. LARGEST is not MAX:
 * some compilers define that. */
enum { SUM = 1, MIN = 2, LARGEST = 3, PRODUCT = 7 };

/* Numbers are joined in double or in unsigned 64 bits. Joined with the first
 * number of an operation, a number stays as it is: -0 + -0 is -0. */
#ifdef EXACT
#define NUMBER       unsigned long
#define NUMBER_OF(x) ((NUMBER)(long)(x))
#define LESS(x, y)   ((long)(x) < (long)(y))
#define IS_NAN(x)    0
#define TOP          0x7fffffffffffffffUL
#define BOTTOM       0x8000000000000000UL
#define NONE         0UL
#else
#define NUMBER       double
#define NUMBER_OF(x) ((double)(x))
#define LESS(x, y)   ((x) < (y))
#define IS_NAN(x)    ((x) != (x))
#define TOP          (1.0 / 0.0)
#define BOTTOM       (-1.0 / 0.0)
#define NONE         (-0.0)
#endif

/* If x or y is a NaN, the result is a NaN. */
#define ADD(x, y)      ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define LESSER(x, y)   (LESS(y, x) || IS_NAN(y) ? (y) : (x))
#define LARGER(x, y)   (LESS(x, y) || IS_NAN(y) ? (y) : (x))

#endif
