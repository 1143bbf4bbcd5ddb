/* SPDX-License-Identifier: MIT */
/** @file dialect.h
 *  The language of kernels: what C11, OpenCL C 1.2 and CUDA C++ have in common,
 *  and macros for the rest. Only files of kernels include it, and they include
 *  nothing else: a launch refuses what devices would not get.
 *
 *      #include <headrace/dialect.h>
 *
 *      HR_KERNEL3(add, (IN, float, 1, a), (IN, float, 1, b),
 *                 (OUT, float, 1, c))
 *      {
 *          HR_EACH1(i)
 *          {
 *              HR_AT1(c, i) = HR_AT1(a, i) + HR_AT1(b, i);
 *          }
 *      }
 *
 *  An item runs the kernel for one point of the domain, or for a few (HR_STEP).
 *  It is a work-item of OpenCL, a thread of CUDA. A tile is a group of items: a
 *  work-group of OpenCL, a block of CUDA.
 *
 *  A kernel in a file that the build compiles has a global name of C, but none
 *  that math.h, complex.h or string.h declare (exp, y1, index). In a text it
 *  has any name. Compilers of devices make a function hr_kernel_<name> of it.
 *
 *  HR_KERNEL1 to HR_KERNEL32 make a kernel of as many parameters. Parameters
 *  are:
 *
 *  - (IN, type, rank, name), and OUT and INOUT likewise, for views;
 *
 *  - (INS, type, rank, name), and OUTS and INOUTS likewise, for lists of views
 *    of this rank;
 *
 *  - (VALUE, type, 0, name) for numbers and structs of numbers;
 *
 *  - (TILE, type, 0, name) for memory of the tile that is sized at launch.
 *
 *  Types are C's own numbers (long and long long have 64 bits; no bool),
 *  hr_index, structs of numbers, hr_f16, hr_bf16, hr_c32 and hr_c64.
 *
 *  HR_AT1(view, i), HR_AT2 and HR_AT3 are elements of a view, to read and to
 *  write. HR_EXTENT(view, d) is its extent in dimension d. HR_INSIDE1 to 3 tell
 *  whether indices are inside. HR_MEMORY const float * points to elements,
 *  which are HR_STRIDE(view, d) apart. The last dimension has no gaps.
 *
 *  HR_OF1(list, q, i), HR_OF2 and HR_OF3 are elements of view q of a list, for
 *  any number q from 0 to HR_COUNT(list) - 1. HR_EXTENT and HR_STRIDE are those
 *  of each of its views.
 *
 *  HR_DOMAIN(d) and HR_TILE(d) are extents of the domain and of a tile. A
 *  launch may run a part of its domain (grid.h). Indices are those of the whole
 *  all the same, and HR_END(d) is where the part ends. A launch may also give
 *  an item several points in a row, in any dimension but the last. They go from
 *  i to less than i + HR_STEP(d) and HR_END(d).
 *
 *  HR_EACH1(i), HR_EACH2(row, col), HR_EACH3(slice, row, col) run their block
 *  for each point of the domain that this call is responsible for. HR_ITEMS1 to
 *  3 do so for each item of the tile, those beyond the domain's end too. In a
 *  block, `continue` ends an item; break, return and goto must not leave it. A
 *  launch refuses a file in which they do. A block does not change its indices:
 *  on the host they count its loop.
 *  HR_LOCAL0, 1, 2 are the item's indices inside the tile.
 *
 *  HR_BARRIER makes items wait until all items of the tile have come so far. It
 *  may stand only between blocks of HR_ITEMS. HR_TILE_BARRIER does the same, if
 *  only memory of the tile must be seen by others. HR_FENCE orders an item's
 *  own reads and writes for others of the tile, without waiting.
 *
 *  HR_TILE_STATIC(type, name, [R][C]) declares memory of the tile.
 *  HR_PRIVATE(type, name) declares a value of each item that stays from block
 *  to block, HR_P(name) in a block. Both stand first in a kernel. On the
 *  host they lie on the stack, 512 KiB at most (docs/dialect.md). Outside
 *  kernels, HR_FUNCTION declares functions that kernels call, and HR_CONSTANT
 *  tables of numbers. Indices have the type hr_index.
 *
 *  HR_UNROLL before a loop of a constant number of turns lets compilers of
 *  devices unroll it where they would not by themselves. More of the next turns
 *  then overlap, which takes more registers. CPUs behind OpenCL do not do so.
 *
 *  Sub-groups are neighbouring items of a tile, the last dimension first, that
 *  read each other's values without barriers. A sub-group has HR_SUBGROUP_WIDTH
 *  items, of which this one is HR_SUBGROUP_LANE. The width is HR_MAX_SUBGROUP
 *  (1 where the compiler has no sub-groups), or less in the last sub-group of a
 *  tile. HR_MAX_SUBGROUP stands outside blocks too.
 *
 *  HR_SUBGROUP_BROADCAST(name, lane) is the value of a private variable in that
 *  lane, from 0 to WIDTH - 1. The lane is the same for all items. For
 *  HR_SUBGROUP_SHUFFLE it need not be. HR_SUBGROUP_SUM, MIN and MAX(name) are
 *  of all lanes. These macros stand in blocks of HR_ITEMS where all items reach
 *  them, and take numbers of 32 and 64 bits.
 *
 *  That block changes the variable neither before nor after, and the result
 *  goes to another variable. The reason: on the host items run one by one, and
 *  later items would read what earlier ones made of it.
 *
 *  HR_ATOMIC_ADD(place, value), MIN, MAX, AND, OR, XOR, EXCHANGE and
 *  HR_ATOMIC_COMPARE_EXCHANGE(place, expected, desired) change a place that
 *  others change too: an element of a view, such as HR_AT1(c, i), or memory of
 *  the tile. They give its old value. They take numbers of 32 and 64 bits; AND,
 *  OR and XOR take integers. 64 bits work only where the device has such
 *  atomics. Compilers refuse others. What MIN and MAX make of a NaN is open.
 *
 *  sqrt, exp, pow and other functions of math.h, without an f at their end,
 *  follow their argument's type and are as exact as the compiler's. OpenCL's
 *  and CUDA's min, max, clamp and abs of integers are not among them.
 *  HR_FAST_SQRT, RSQRT, SIN, COS, EXP, LOG, POW (of x > 0) and DIVIDE are of
 *  float, and as fast as the device can.
 *
 *  A file compiled with HR_REPRODUCIBLE defined gives the same bits on any
 *  device (docs/several-gpus.md): nothing is fused but what fma(x, y, z) says,
 *  and division and sqrt are rounded correctly. It has no sub-groups, and
 *  HR_ATOMIC_ADD takes integers alone. exp, sin and the like, and HR_FAST_SIN,
 *  COS, EXP, LOG and POW, still differ.
 *
 *  Half precision is kept as bits, hr_f16 and hr_bf16: hr_f16_to_f32(x),
 *  hr_f32_to_f16(x), hr_bf16_to_f32(x), hr_f32_to_bf16(x). Complex numbers are
 *  pairs .re, .im, as in headrace's matrices. hr_c32_of(re, im) makes one.
 *  There are hr_c32_add, sub, mul and div(a, b), and mad(a, b, c) for a b + c.
 *  `conj(a)` is the conjugate, and norm(a) the square of its size. The same
 *  names with hr_c64 are in double.
 *
 *  Random numbers come of counters: hr_philox, hr_uniform_f32, hr_normal_f32
 *  and others. dialect/random.h describes them. */
#ifndef HEADRACE_DIALECT_H
#define HEADRACE_DIALECT_H

/* Compilers at run time get half.h, dialect/opencl.h, dialect/cuda.h and
 * dialect/random.h before this. */
#if !defined(__OPENCL_C_VERSION__) && !defined(__CUDACC__)
#include <headrace/dialect/host.h>
#include <headrace/dialect/random.h>
#endif
#ifndef HR_FETCH_ /* caches of hosts alone are asked */
#define HR_FETCH_(address, bytes)
#endif

#ifdef HR_REPRODUCIBLE

/* Sub-groups have another width on each kind of device. */
#undef HR_SUBGROUP_LANE
#undef HR_SUBGROUP_WIDTH
#undef HR_MAX_SUBGROUP
#undef HR_SUBGROUP_BROADCAST
#undef HR_SUBGROUP_SHUFFLE
#undef HR_SUBGROUP_SUM
#undef HR_SUBGROUP_MIN
#undef HR_SUBGROUP_MAX
#define HR_SUBGROUP_LANE                  hr_subgroups_are_not_reproducible
#define HR_SUBGROUP_WIDTH                 hr_subgroups_are_not_reproducible
#define HR_MAX_SUBGROUP                   hr_subgroups_are_not_reproducible
#define HR_SUBGROUP_BROADCAST(name, lane) hr_subgroups_are_not_reproducible
#define HR_SUBGROUP_SHUFFLE(name, lane)   hr_subgroups_are_not_reproducible
#define HR_SUBGROUP_SUM(name)             hr_subgroups_are_not_reproducible
#define HR_SUBGROUP_MIN(name)             hr_subgroups_are_not_reproducible
#define HR_SUBGROUP_MAX(name)             hr_subgroups_are_not_reproducible

#undef HR_FAST_SQRT
#undef HR_FAST_RSQRT
#undef HR_FAST_DIVIDE
#define HR_FAST_SQRT(x)      sqrt((float)(x))
#define HR_FAST_RSQRT(x)     (1.0f / sqrt((float)(x)))
#define HR_FAST_DIVIDE(x, y) ((float)(x) / (float)(y))

#endif

/* ---- types */

typedef unsigned short hr_f16, hr_bf16;

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
typedef struct hr_shape {
    hr_index extent[3], stride[3], start;
} hr_shape;
typedef struct hr_list_shape {
    hr_index extent[3], stride[3], start, count, step;
} hr_list_shape;
typedef struct hr_domain {
    hr_index extent[3], tile[3], tiles[3], number[3];
    hr_index first[3], end[3], step[3];
} hr_domain;
#endif

#define HR_COMPLEX_(type, real)                                                \
    typedef struct type {                                                      \
        real re, im;                                                           \
    } type;                                                                    \
    HR_FUNCTION type type##_of(real re, real im)                               \
    {                                                                          \
        type z;                                                                \
        z.re = re;                                                             \
        z.im = im;                                                             \
        return z;                                                              \
    }                                                                          \
    HR_FUNCTION type type##_add(type a, type b)                                \
    {                                                                          \
        return type##_of(a.re + b.re, a.im + b.im);                            \
    }                                                                          \
    HR_FUNCTION type type##_sub(type a, type b)                                \
    {                                                                          \
        return type##_of(a.re - b.re, a.im - b.im);                            \
    }                                                                          \
    HR_FUNCTION type type##_mul(type a, type b)                                \
    {                                                                          \
        return type##_of(a.re * b.re - a.im * b.im,                            \
                         a.re * b.im + a.im * b.re);                           \
    }                                                                          \
    HR_FUNCTION type type##_mad(type a, type b, type c)                        \
    {                                                                          \
        return type##_add(type##_mul(a, b), c);                                \
    }                                                                          \
    HR_FUNCTION type type##_conj(type a)                                       \
    {                                                                          \
        return type##_of(a.re, -a.im);                                         \
    }                                                                          \
    HR_FUNCTION real type##_norm(type a)                                       \
    {                                                                          \
        return a.re * a.re + a.im * a.im;                                      \
    }                                                                          \
    /* By the larger part of b, so that nothing overflows midway [Smith1962].  \
     */                                                                        \
    HR_FUNCTION type type##_div(type a, type b)                                \
    {                                                                          \
        real q, d;                                                             \
        if (fabs(b.re) >= fabs(b.im)) {                                        \
            q = b.im / b.re;                                                   \
            d = b.re + b.im * q;                                               \
            return type##_of((a.re + a.im * q) / d, (a.im - a.re * q) / d);    \
        }                                                                      \
        q = b.re / b.im;                                                       \
        d = b.re * q + b.im;                                                   \
        return type##_of((a.re * q + a.im) / d, (a.im * q - a.re) / d);        \
    }
HR_COMPLEX_(hr_c32, float)
#if defined(HR_HAS_DOUBLE)
HR_COMPLEX_(hr_c64, double)
#endif

/* ---- views */

/* A view may have the name of a macro that a compiler defines, as PoCL does for
 * each of its functions. So it is expanded here as it is where the view is
 * declared. */
#define HR_SHAPE_OF_(view) view##_shape
#define HR_SHAPE_(view)    HR_SHAPE_OF_(view)
#define HR_EXTENT(view, d) (HR_SHAPE_(view).extent[d])
#define HR_STRIDE(view, d) (HR_SHAPE_(view).stride[d]) /* elements */
#ifndef HR_AT1 /* otherwise dialect/host.h checks each */
#define HR_AT1(view, i) view[HR_SHAPE_(view).start + (i)]
#define HR_AT2(view, i, j)                                                     \
    view[HR_SHAPE_(view).start + (i)*HR_STRIDE(view, 0) + (j)]
#define HR_AT3(view, i, j, k)                                                  \
    view[HR_SHAPE_(view).start + (i)*HR_STRIDE(view, 0) +                      \
         (j)*HR_STRIDE(view, 1) + (k)]
#define HR_OF1(list, q, i)                                                     \
    list[HR_SHAPE_(list).start + (q)*HR_SHAPE_(list).step + (i)]
#define HR_OF2(list, q, i, j)                                                  \
    list[HR_SHAPE_(list).start + (q)*HR_SHAPE_(list).step +                    \
         (i)*HR_STRIDE(list, 0) + (j)]
#define HR_OF3(list, q, i, j, k)                                               \
    list[HR_SHAPE_(list).start + (q)*HR_SHAPE_(list).step +                    \
         (i)*HR_STRIDE(list, 0) + (j)*HR_STRIDE(list, 1) + (k)]
#endif
#define HR_COUNT(list) (HR_SHAPE_(list).count)
/* A negative index is a large unsigned number, so one comparison of 64 bits is
 * enough. */
#define HR_HAS_(view, d, i)                                                    \
    ((unsigned long)(i) < (unsigned long)HR_EXTENT(view, d))
#define HR_INSIDE1(view, i)    HR_HAS_(view, 0, i)
#define HR_INSIDE2(view, i, j) (HR_HAS_(view, 0, i) && HR_HAS_(view, 1, j))
#define HR_INSIDE3(view, i, j, k)                                              \
    (HR_HAS_(view, 0, i) && HR_HAS_(view, 1, j) && HR_HAS_(view, 2, k))

/* ---- the domain, and items of the tile */

#define HR_DOMAIN(d) (hr_d.extent[d])
#define HR_TILE(d)   (hr_d.tile[d])
#define HR_END(d)    (hr_d.end[d])
#define HR_STEP(d)   (hr_d.step[d])
#define HR_LOCAL0    hr_l0
#define HR_LOCAL1    hr_l1
#define HR_LOCAL2    hr_l2

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)

#ifdef HR_REPRODUCIBLE /* sums of fractions depend on who comes first */
#define HR_ATOMIC_ADD(place, value)                                            \
    ((void)sizeof((place)&1), hr_atomic_add(HR_NUMBER_PLACE_(place), value))
#else
#define HR_ATOMIC_ADD(place, value)                                            \
    hr_atomic_add(HR_NUMBER_PLACE_(place), value)
#endif
#define HR_ATOMIC_MIN(place, value)                                            \
    hr_atomic_min(HR_NUMBER_PLACE_(place), value)
#define HR_ATOMIC_MAX(place, value)                                            \
    hr_atomic_max(HR_NUMBER_PLACE_(place), value)
#define HR_ATOMIC_AND(place, value)                                            \
    hr_atomic_and(HR_INTEGER_PLACE_(place), value)
#define HR_ATOMIC_OR(place, value) hr_atomic_or(HR_INTEGER_PLACE_(place), value)
#define HR_ATOMIC_XOR(place, value)                                            \
    hr_atomic_xor(HR_INTEGER_PLACE_(place), value)
#define HR_ATOMIC_EXCHANGE(place, value)                                       \
    hr_atomic_exchange(HR_NUMBER_PLACE_(place), value)
#define HR_ATOMIC_COMPARE_EXCHANGE(place, expected, desired)                   \
    hr_atomic_compare_exchange(HR_NUMBER_PLACE_(place), expected, desired)

#define HR_PRIVATE(type, name) type name##_private
#define HR_P(name)             name##_private

/* The item's index in dimension d, from its tile's number and its place in the
 * tile. Only dimensions before the last have steps. */
#define HR_INDEX_(rank, d)                                                     \
    (hr_d.first[d] +                                                           \
     (HR_NUMBER_(rank, d) * hr_d.tile[d] + HR_ITEM_(rank, d)) *                \
         ((d) + 1 == (rank) ? 1 : hr_d.step[d]))

/* One loop with the condition in it: an `else` behind the block belongs to the
 * `if` before it, as on the host. */
#define HR_ONCE1_(i, condition)                                                \
    for (hr_index hr_once = 1, hr_l0 = HR_ITEM_(1, 0), i = HR_INDEX_(1, 0);    \
         hr_once && (condition); hr_once = 0)
#define HR_ONCE2_(i, j, condition)                                             \
    for (hr_index hr_once = 1, hr_l0 = HR_ITEM_(2, 0), hr_l1 = HR_ITEM_(2, 1), \
                  i = HR_INDEX_(2, 0), j = HR_INDEX_(2, 1);                    \
         hr_once && (condition); hr_once = 0)
#define HR_ONCE3_(i, j, k, condition)                                          \
    for (hr_index hr_once = 1, hr_l0 = HR_ITEM_(3, 0), hr_l1 = HR_ITEM_(3, 1), \
                  hr_l2 = HR_ITEM_(3, 2), i = HR_INDEX_(3, 0),                 \
                  j = HR_INDEX_(3, 1), k = HR_INDEX_(3, 2);                    \
         hr_once && (condition); hr_once = 0)
#define HR_ITEMS1(i)       HR_ONCE1_(i, 1)
#define HR_ITEMS2(i, j)    HR_ONCE2_(i, j, 1)
#define HR_ITEMS3(i, j, k) HR_ONCE3_(i, j, k, 1)
#define HR_EACH1(i)        HR_ONCE1_(i, i < HR_END(0))
#define HR_EACH2(i, j)     HR_ONCE2_(i, j, i < HR_END(0) && j < HR_END(1))
#define HR_EACH3(i, j, k)                                                      \
    HR_ONCE3_(i, j, k, i < HR_END(0) && j < HR_END(1) && k < HR_END(2))

#endif

/* ---- parameters */

#define HR_DECLARE_(kind, type, rank, name) HR_DECLARE_##kind(type, name)
#define HR_DECLARE_IN(type, name)                                              \
    HR_MEMORY const type *HR_RESTRICT name, const hr_shape name##_shape
#define HR_DECLARE_OUT(type, name)                                             \
    HR_MEMORY type *HR_RESTRICT name, const hr_shape name##_shape
#define HR_DECLARE_INOUT(type, name) HR_DECLARE_OUT(type, name)
#define HR_DECLARE_INS(type, name)                                             \
    HR_MEMORY const type *HR_RESTRICT name, const hr_list_shape name##_shape
#define HR_DECLARE_OUTS(type, name)                                            \
    HR_MEMORY type *HR_RESTRICT name, const hr_list_shape name##_shape
#define HR_DECLARE_INOUTS(type, name) HR_DECLARE_OUTS(type, name)
#define HR_DECLARE_VALUE(type, name)  const type name

#define HR_PASS_(kind, type, rank, name) HR_PASS_##kind(type, name)

/* What stands between parameters. */
#define HR_COMMA_() ,
#define HR_NOTHING_()

/* Compilers of devices need no variadic macros: they get the macros for as many
 * parameters as a file's kernels have (src/kernels/source.c). */
#if !defined(__OPENCL_C_VERSION__) && !defined(__CUDACC__)

/* clang-format off */
#define HR_LIST1_(f, s, p)       f p
#define HR_LIST2_(f, s, p, ...)  f p s() HR_LIST1_(f, s, __VA_ARGS__)
#define HR_LIST3_(f, s, p, ...)  f p s() HR_LIST2_(f, s, __VA_ARGS__)
#define HR_LIST4_(f, s, p, ...)  f p s() HR_LIST3_(f, s, __VA_ARGS__)
#define HR_LIST5_(f, s, p, ...)  f p s() HR_LIST4_(f, s, __VA_ARGS__)
#define HR_LIST6_(f, s, p, ...)  f p s() HR_LIST5_(f, s, __VA_ARGS__)
#define HR_LIST7_(f, s, p, ...)  f p s() HR_LIST6_(f, s, __VA_ARGS__)
#define HR_LIST8_(f, s, p, ...)  f p s() HR_LIST7_(f, s, __VA_ARGS__)
#define HR_LIST9_(f, s, p, ...)  f p s() HR_LIST8_(f, s, __VA_ARGS__)
#define HR_LIST10_(f, s, p, ...) f p s() HR_LIST9_(f, s, __VA_ARGS__)
#define HR_LIST11_(f, s, p, ...) f p s() HR_LIST10_(f, s, __VA_ARGS__)
#define HR_LIST12_(f, s, p, ...) f p s() HR_LIST11_(f, s, __VA_ARGS__)
#define HR_LIST13_(f, s, p, ...) f p s() HR_LIST12_(f, s, __VA_ARGS__)
#define HR_LIST14_(f, s, p, ...) f p s() HR_LIST13_(f, s, __VA_ARGS__)
#define HR_LIST15_(f, s, p, ...) f p s() HR_LIST14_(f, s, __VA_ARGS__)
#define HR_LIST16_(f, s, p, ...) f p s() HR_LIST15_(f, s, __VA_ARGS__)
#define HR_LIST17_(f, s, p, ...) f p s() HR_LIST16_(f, s, __VA_ARGS__)
#define HR_LIST18_(f, s, p, ...) f p s() HR_LIST17_(f, s, __VA_ARGS__)
#define HR_LIST19_(f, s, p, ...) f p s() HR_LIST18_(f, s, __VA_ARGS__)
#define HR_LIST20_(f, s, p, ...) f p s() HR_LIST19_(f, s, __VA_ARGS__)
#define HR_LIST21_(f, s, p, ...) f p s() HR_LIST20_(f, s, __VA_ARGS__)
#define HR_LIST22_(f, s, p, ...) f p s() HR_LIST21_(f, s, __VA_ARGS__)
#define HR_LIST23_(f, s, p, ...) f p s() HR_LIST22_(f, s, __VA_ARGS__)
#define HR_LIST24_(f, s, p, ...) f p s() HR_LIST23_(f, s, __VA_ARGS__)
#define HR_LIST25_(f, s, p, ...) f p s() HR_LIST24_(f, s, __VA_ARGS__)
#define HR_LIST26_(f, s, p, ...) f p s() HR_LIST25_(f, s, __VA_ARGS__)
#define HR_LIST27_(f, s, p, ...) f p s() HR_LIST26_(f, s, __VA_ARGS__)
#define HR_LIST28_(f, s, p, ...) f p s() HR_LIST27_(f, s, __VA_ARGS__)
#define HR_LIST29_(f, s, p, ...) f p s() HR_LIST28_(f, s, __VA_ARGS__)
#define HR_LIST30_(f, s, p, ...) f p s() HR_LIST29_(f, s, __VA_ARGS__)
#define HR_LIST31_(f, s, p, ...) f p s() HR_LIST30_(f, s, __VA_ARGS__)
#define HR_LIST32_(f, s, p, ...) f p s() HR_LIST31_(f, s, __VA_ARGS__)

#define HR_KERNEL_(name, count, list, ...)                                     \
    HR_DEFINE_(name, count, list(HR_DECLARE_, HR_COMMA_, __VA_ARGS__),         \
               list(HR_PASS_, HR_COMMA_, __VA_ARGS__),                         \
               list(HR_OTHER_, HR_COMMA_, __VA_ARGS__),                        \
               list(HR_FIELD_, HR_NOTHING_, __VA_ARGS__))
#define HR_KERNEL1(name, ...)  HR_KERNEL_(name, 1, HR_LIST1_, __VA_ARGS__)
#define HR_KERNEL2(name, ...)  HR_KERNEL_(name, 2, HR_LIST2_, __VA_ARGS__)
#define HR_KERNEL3(name, ...)  HR_KERNEL_(name, 3, HR_LIST3_, __VA_ARGS__)
#define HR_KERNEL4(name, ...)  HR_KERNEL_(name, 4, HR_LIST4_, __VA_ARGS__)
#define HR_KERNEL5(name, ...)  HR_KERNEL_(name, 5, HR_LIST5_, __VA_ARGS__)
#define HR_KERNEL6(name, ...)  HR_KERNEL_(name, 6, HR_LIST6_, __VA_ARGS__)
#define HR_KERNEL7(name, ...)  HR_KERNEL_(name, 7, HR_LIST7_, __VA_ARGS__)
#define HR_KERNEL8(name, ...)  HR_KERNEL_(name, 8, HR_LIST8_, __VA_ARGS__)
#define HR_KERNEL9(name, ...)  HR_KERNEL_(name, 9, HR_LIST9_, __VA_ARGS__)
#define HR_KERNEL10(name, ...) HR_KERNEL_(name, 10, HR_LIST10_, __VA_ARGS__)
#define HR_KERNEL11(name, ...) HR_KERNEL_(name, 11, HR_LIST11_, __VA_ARGS__)
#define HR_KERNEL12(name, ...) HR_KERNEL_(name, 12, HR_LIST12_, __VA_ARGS__)
#define HR_KERNEL13(name, ...) HR_KERNEL_(name, 13, HR_LIST13_, __VA_ARGS__)
#define HR_KERNEL14(name, ...) HR_KERNEL_(name, 14, HR_LIST14_, __VA_ARGS__)
#define HR_KERNEL15(name, ...) HR_KERNEL_(name, 15, HR_LIST15_, __VA_ARGS__)
#define HR_KERNEL16(name, ...) HR_KERNEL_(name, 16, HR_LIST16_, __VA_ARGS__)
#define HR_KERNEL17(name, ...) HR_KERNEL_(name, 17, HR_LIST17_, __VA_ARGS__)
#define HR_KERNEL18(name, ...) HR_KERNEL_(name, 18, HR_LIST18_, __VA_ARGS__)
#define HR_KERNEL19(name, ...) HR_KERNEL_(name, 19, HR_LIST19_, __VA_ARGS__)
#define HR_KERNEL20(name, ...) HR_KERNEL_(name, 20, HR_LIST20_, __VA_ARGS__)
#define HR_KERNEL21(name, ...) HR_KERNEL_(name, 21, HR_LIST21_, __VA_ARGS__)
#define HR_KERNEL22(name, ...) HR_KERNEL_(name, 22, HR_LIST22_, __VA_ARGS__)
#define HR_KERNEL23(name, ...) HR_KERNEL_(name, 23, HR_LIST23_, __VA_ARGS__)
#define HR_KERNEL24(name, ...) HR_KERNEL_(name, 24, HR_LIST24_, __VA_ARGS__)
#define HR_KERNEL25(name, ...) HR_KERNEL_(name, 25, HR_LIST25_, __VA_ARGS__)
#define HR_KERNEL26(name, ...) HR_KERNEL_(name, 26, HR_LIST26_, __VA_ARGS__)
#define HR_KERNEL27(name, ...) HR_KERNEL_(name, 27, HR_LIST27_, __VA_ARGS__)
#define HR_KERNEL28(name, ...) HR_KERNEL_(name, 28, HR_LIST28_, __VA_ARGS__)
#define HR_KERNEL29(name, ...) HR_KERNEL_(name, 29, HR_LIST29_, __VA_ARGS__)
#define HR_KERNEL30(name, ...) HR_KERNEL_(name, 30, HR_LIST30_, __VA_ARGS__)
#define HR_KERNEL31(name, ...) HR_KERNEL_(name, 31, HR_LIST31_, __VA_ARGS__)
#define HR_KERNEL32(name, ...) HR_KERNEL_(name, 32, HR_LIST32_, __VA_ARGS__)
/* clang-format on */

#endif

#endif
