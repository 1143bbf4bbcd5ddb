/* SPDX-License-Identifier: MIT */
/** @file dialect.h
 *  The language of kernels: what C11, OpenCL C 1.2 and CUDA C++ have in common,
 *  and macros for the rest. Included by files of kernels, and nothing else.
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
 *  Parameters are (IN, type, rank, name), OUT and INOUT for views, (VALUE,
 *  type, 0, name) for numbers and structs of numbers, and (TILE, type, 0, name)
 *  for memory of the tile that is sized at launch.
 *
 *  HR_EACH1(i), HR_EACH2(row, col), HR_EACH3(slice, row, col) run their block
 *  for each point of the domain that this call is responsible for. HR_ITEMS1 to
 *  3 do so for each item of the tile, those beyond the domain's end too: only
 *  between these may stand HR_BARRIER, which lets all items of the tile come so
 *  far. In a block, `continue` ends an item; break, return and goto must not
 *  leave it, and HR_LOCAL0, 1, 2 are the item's indices inside the tile.
 *
 *  HR_TILE_STATIC(type, name, [R][C]) declares memory of the tile; HR_PRIVATE
 *  (type, name) a value of each item that stays from block to block, HR_P(name)
 *  in a block. Both stand first in a kernel. Functions that kernels call are
 *  declared with HR_FUNCTION. Indices have the type hr_index. */
#ifndef HEADRACE_DIALECT_H
#define HEADRACE_DIALECT_H

/* ---- what each compiler is */

#if defined(__OPENCL_C_VERSION__)

typedef long hr_index;
#define HR_FUNCTION                         inline
#define HR_MEMORY                           __global
#define HR_RESTRICT                         restrict
#define HR_BARRIER                          barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define HR_TILE_STATIC(type, name, extents) __local type name extents
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#elif defined(__CUDACC__)

typedef long long hr_index;
#define HR_FUNCTION static __device__ __forceinline__
#define HR_MEMORY
#define HR_RESTRICT                         __restrict__
#define HR_BARRIER                          __syncthreads()
#define HR_TILE_STATIC(type, name, extents) __shared__ type name extents
extern __shared__ __align__(16) unsigned char hr_tile_memory[];

#else /* the host */

#include <headrace/kernel.h>
#include <tgmath.h>

typedef int64_t hr_index;
#define HR_FUNCTION static inline
#define HR_MEMORY
#define HR_RESTRICT                         restrict
#define HR_BARRIER                          ((void)0)
#define HR_TILE_STATIC(type, name, extents) type name extents
#ifndef HR_KERNEL_TEXT /* the build names the file's text */
#define HR_KERNEL_TEXT ((const char *)0)
#else
extern const char HR_KERNEL_TEXT[];
#endif
#ifndef HR_KERNEL_FILE
#define HR_KERNEL_FILE __FILE__
#endif

#endif

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)
typedef struct hr_shape {
    hr_index extent[3], stride[3], start;
} hr_shape;
typedef struct hr_domain {
    hr_index extent[3], tile[3], tiles[3], number[3];
} hr_domain;
#endif

/* ---- views */

#define HR_EXTENT(view, d) (view##_shape.extent[d])
#define HR_AT1(view, i)    view[view##_shape.start + (i)]
#define HR_AT2(view, i, j)                                                     \
    view[view##_shape.start + (i)*view##_shape.stride[0] + (j)]
#define HR_AT3(view, i, j, k)                                                  \
    view[view##_shape.start + (i)*view##_shape.stride[0] +                     \
         (j)*view##_shape.stride[1] + (k)]
/* Negative indices are large without a sign: one comparison of 64 bits does. */
#define HR_HAS_(view, d, i)                                                    \
    ((unsigned long)(i) < (unsigned long)HR_EXTENT(view, d))
#define HR_INSIDE1(view, i)    HR_HAS_(view, 0, i)
#define HR_INSIDE2(view, i, j) (HR_HAS_(view, 0, i) && HR_HAS_(view, 1, j))
#define HR_INSIDE3(view, i, j, k)                                              \
    (HR_HAS_(view, 0, i) && HR_HAS_(view, 1, j) && HR_HAS_(view, 2, k))

/* ---- the domain, and items of the tile */

#define HR_DOMAIN(d) (hr_d.extent[d])
#define HR_TILE(d)   (hr_d.tile[d])
#define HR_LOCAL0    hr_l0
#define HR_LOCAL1    hr_l1
#define HR_LOCAL2    hr_l2

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__)

#define HR_PRIVATE(type, name) type name##_private
#define HR_P(name)             name##_private

/* Where the item stands: its tile's number and its place in the tile, from the
 * last dimension, which lies next to each other, to the first. */
#if defined(__OPENCL_C_VERSION__)
#define HR_NUMBER_(rank, d) ((hr_index)get_group_id(rank - 1 - d))
#define HR_ITEM_(rank, d)   ((hr_index)get_local_id(rank - 1 - d))
#else
#define HR_ITEM_1_0   ((hr_index)threadIdx.x)
#define HR_ITEM_2_0   ((hr_index)threadIdx.y)
#define HR_ITEM_2_1   ((hr_index)threadIdx.x)
#define HR_ITEM_3_0   ((hr_index)threadIdx.z)
#define HR_ITEM_3_1   ((hr_index)threadIdx.y)
#define HR_ITEM_3_2   ((hr_index)threadIdx.x)
#define HR_NUMBER_1_0 ((hr_index)blockIdx.x)
#define HR_NUMBER_2_0 ((hr_index)(blockIdx.x / (unsigned)hr_d.tiles[1]))
#define HR_NUMBER_2_1 ((hr_index)(blockIdx.x % (unsigned)hr_d.tiles[1]))
#define HR_NUMBER_3_0                                                          \
    ((hr_index)(blockIdx.x / (unsigned)hr_d.tiles[2] / (unsigned)hr_d.tiles[1]))
#define HR_NUMBER_3_1                                                          \
    ((hr_index)(blockIdx.x / (unsigned)hr_d.tiles[2] % (unsigned)hr_d.tiles[1]))
#define HR_NUMBER_3_2       ((hr_index)(blockIdx.x % (unsigned)hr_d.tiles[2]))
#define HR_ITEM_(rank, d)   HR_ITEM_##rank##_##d
#define HR_NUMBER_(rank, d) HR_NUMBER_##rank##_##d
#endif
#define HR_INDEX_(rank, d)                                                     \
    (HR_NUMBER_(rank, d) * hr_d.tile[d] + HR_ITEM_(rank, d))

#define HR_ITEMS1(i)                                                           \
    for (hr_index hr_once = 1, hr_l0 = HR_ITEM_(1, 0), i = HR_INDEX_(1, 0);    \
         hr_once; hr_once = 0)
#define HR_ITEMS2(i, j)                                                        \
    for (hr_index hr_once = 1, hr_l0 = HR_ITEM_(2, 0), hr_l1 = HR_ITEM_(2, 1), \
                  i = HR_INDEX_(2, 0), j = HR_INDEX_(2, 1);                    \
         hr_once; hr_once = 0)
#define HR_ITEMS3(i, j, k)                                                     \
    for (hr_index hr_once = 1, hr_l0 = HR_ITEM_(3, 0), hr_l1 = HR_ITEM_(3, 1), \
                  hr_l2 = HR_ITEM_(3, 2), i = HR_INDEX_(3, 0),                 \
                  j = HR_INDEX_(3, 1), k = HR_INDEX_(3, 2);                    \
         hr_once; hr_once = 0)
#define HR_EACH1(i)    HR_ITEMS1(i) if (i < HR_DOMAIN(0))
#define HR_EACH2(i, j) HR_ITEMS2(i, j) if (i < HR_DOMAIN(0) && j < HR_DOMAIN(1))
#define HR_EACH3(i, j, k)                                                      \
    HR_ITEMS3(i, j, k)                                                         \
    if (i < HR_DOMAIN(0) && j < HR_DOMAIN(1) && k < HR_DOMAIN(2))

#else /* the host: loops over the tile */

#define HR_PRIVATE(type, name) type name##_private[HR_MOST_ITEMS]
#define HR_P(name)             name##_private[hr_item]

#define HR_FIRST_(d) (hr_d.number[d] * hr_d.tile[d])
#define HR_LEFT_(d)                                                            \
    (HR_DOMAIN(d) - HR_FIRST_(d) < HR_TILE(d) ? HR_DOMAIN(d) - HR_FIRST_(d)    \
                                              : HR_TILE(d))
#define HR_LOOP_(d, i, count)                                                  \
    for (hr_index hr_l##d = 0, i = HR_FIRST_(d); hr_l##d < (count);            \
         hr_l##d++, i++)
#define HR_LAST_(d, i, count, before)                                          \
    for (hr_index hr_l##d = 0, hr_item = (before)*HR_TILE(d),                  \
                  i = HR_FIRST_(d);                                            \
         hr_l##d < (count); hr_l##d++, hr_item++, i++)
#define HR_ITEMS1(i) HR_LAST_(0, i, HR_TILE(0), 0)
#define HR_ITEMS2(i, j)                                                        \
    HR_LOOP_(0, i, HR_TILE(0)) HR_LAST_(1, j, HR_TILE(1), hr_l0)
#define HR_ITEMS3(i, j, k)                                                     \
    HR_LOOP_(0, i, HR_TILE(0))                                                 \
    HR_LOOP_(1, j, HR_TILE(1))                                                 \
    HR_LAST_(2, k, HR_TILE(2), hr_l0 *HR_TILE(1) + hr_l1)
#define HR_EACH1(i) HR_LAST_(0, i, HR_LEFT_(0), 0)
#define HR_EACH2(i, j)                                                         \
    HR_LOOP_(0, i, HR_LEFT_(0)) HR_LAST_(1, j, HR_LEFT_(1), hr_l0)
#define HR_EACH3(i, j, k)                                                      \
    HR_LOOP_(0, i, HR_LEFT_(0))                                                \
    HR_LOOP_(1, j, HR_LEFT_(1))                                                \
    HR_LAST_(2, k, HR_LEFT_(2), hr_l0 *HR_TILE(1) + hr_l1)

#endif

/* ---- parameters */

#define HR_DECLARE_(kind, type, rank, name) HR_DECLARE_##kind(type, name)
#define HR_DECLARE_IN(type, name)                                              \
    HR_MEMORY const type *HR_RESTRICT name, const hr_shape name##_shape
#define HR_DECLARE_OUT(type, name)                                             \
    HR_MEMORY type *HR_RESTRICT name, const hr_shape name##_shape
#define HR_DECLARE_INOUT(type, name) HR_DECLARE_OUT(type, name)
#define HR_DECLARE_VALUE(type, name) const type name
#if defined(__OPENCL_C_VERSION__)
#define HR_DECLARE_TILE(type, name) __local type *name
#else
#define HR_DECLARE_TILE(type, name) type *name
#endif

#define HR_PASS_(kind, type, rank, name) HR_PASS_##kind(type, name)

/* ---- kernels: what each compiler makes of a list of parameters */

#if defined(__OPENCL_C_VERSION__)

#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    __kernel void name(const hr_domain hr_d, declared)

#elif defined(__CUDACC__)

/* Memory of tiles comes as an offset into what all parameters of this kind
 * share. */
#define HR_OTHER_(kind, type, rank, name) HR_RAW_##kind(type, name)
#define HR_RAW_IN(type, name)             HR_DECLARE_IN(type, name)
#define HR_RAW_OUT(type, name)            HR_DECLARE_OUT(type, name)
#define HR_RAW_INOUT(type, name)          HR_DECLARE_OUT(type, name)
#define HR_RAW_VALUE(type, name)          const type name
#define HR_RAW_TILE(type, name)           const unsigned name
#define HR_PASS_IN(type, name)            name, name##_shape
#define HR_PASS_OUT(type, name)           name, name##_shape
#define HR_PASS_INOUT(type, name)         name, name##_shape
#define HR_PASS_VALUE(type, name)         name
#define HR_PASS_TILE(type, name)          (type *)(hr_tile_memory + name)
#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    HR_FUNCTION void name##_body(const hr_domain hr_d, declared);              \
    extern "C" __global__ void name(const hr_domain hr_d, others)              \
    {                                                                          \
        name##_body(hr_d, passed);                                             \
    }                                                                          \
    HR_FUNCTION void name##_body(const hr_domain hr_d, declared)

#else

/* The arguments are a struct, in which the library finds them by their places.
 */
#define HR_FIELD_(kind, type, rank, name) HR_FIELD_##kind(type, name)
#define HR_FIELD_IN(type, name)                                                \
    const type *name;                                                          \
    hr_shape name##_shape;
#define HR_FIELD_OUT(type, name)                                               \
    type *name;                                                                \
    hr_shape name##_shape;
#define HR_FIELD_INOUT(type, name)        HR_FIELD_OUT(type, name)
#define HR_FIELD_VALUE(type, name)        type name;
#define HR_FIELD_TILE(type, name)         type *name;
#define HR_PASS_IN(type, name)            hr_a->name, hr_a->name##_shape
#define HR_PASS_OUT(type, name)           hr_a->name, hr_a->name##_shape
#define HR_PASS_INOUT(type, name)         hr_a->name, hr_a->name##_shape
#define HR_PASS_VALUE(type, name)         hr_a->name
#define HR_PASS_TILE(type, name)          hr_a->name
#define HR_OTHER_(kind, type, rank, name) HR_ABOUT_##kind(type, rank, name)
#define HR_ABOUT_VIEW_(type, rank, name, access)                               \
    {                                                                          \
#name, #type, HR_PARAMETER_VIEW, access, rank, sizeof(type),           \
            offsetof(struct hr_fields, name),                                  \
            offsetof(struct hr_fields, name##_shape)                           \
    }
#define HR_ABOUT_PLAIN_(type, name, kind)                                      \
    {                                                                          \
#name, #type, kind, (hr_access)0, 0, sizeof(type),                     \
            offsetof(struct hr_fields, name), 0                                \
    }
#define HR_ABOUT_IN(type, rank, name)  HR_ABOUT_VIEW_(type, rank, name, HR_IN)
#define HR_ABOUT_OUT(type, rank, name) HR_ABOUT_VIEW_(type, rank, name, HR_OUT)
#define HR_ABOUT_INOUT(type, rank, name)                                       \
    HR_ABOUT_VIEW_(type, rank, name, HR_INOUT)
#define HR_ABOUT_VALUE(type, rank, name)                                       \
    HR_ABOUT_PLAIN_(type, name, HR_PARAMETER_VALUE)
#define HR_ABOUT_TILE(type, rank, name)                                        \
    HR_ABOUT_PLAIN_(type, name, HR_PARAMETER_TILE)
#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    static inline void name##_body(const hr_domain hr_d, declared);            \
    static const hr_parameter *name##_parameters(void)                         \
    {                                                                          \
        struct hr_fields {                                                     \
            fields                                                             \
        };                                                                     \
        static const hr_parameter list[] = {others};                           \
        return list;                                                           \
    }                                                                          \
    static void name##_host(const hr_domain *hr_d, const void *hr_arguments)   \
    {                                                                          \
        const struct hr_fields {                                               \
            fields                                                             \
        } *hr_a = hr_arguments;                                                \
        name##_body(*hr_d, passed);                                            \
    }                                                                          \
    enum { name##_argument_bytes = sizeof(struct {fields}) };                  \
    extern const hr_kernel name;                                               \
    const hr_kernel name = {                                                   \
        #name, HR_KERNEL_FILE,        HR_KERNEL_TEXT, name##_parameters,       \
        count, name##_argument_bytes, name##_host};                            \
    static inline void name##_body(const hr_domain hr_d, declared)

#endif

/* Parameters with commas between them, and without. */
#define HR_LIST1_(f, p1)                 f p1
#define HR_LIST2_(f, p1, p2)             HR_LIST1_(f, p1), f p2
#define HR_LIST3_(f, p1, p2, p3)         HR_LIST2_(f, p1, p2), f p3
#define HR_LIST4_(f, p1, p2, p3, p4)     HR_LIST3_(f, p1, p2, p3), f p4
#define HR_LIST5_(f, p1, p2, p3, p4, p5) HR_LIST4_(f, p1, p2, p3, p4), f p5
#define HR_LIST6_(f, p1, p2, p3, p4, p5, p6)                                   \
    HR_LIST5_(f, p1, p2, p3, p4, p5), f p6
#define HR_LIST7_(f, p1, p2, p3, p4, p5, p6, p7)                               \
    HR_LIST6_(f, p1, p2, p3, p4, p5, p6), f p7
#define HR_LIST8_(f, p1, p2, p3, p4, p5, p6, p7, p8)                           \
    HR_LIST7_(f, p1, p2, p3, p4, p5, p6, p7), f p8
#define HR_ROW1_(f, p1)                     f p1
#define HR_ROW2_(f, p1, p2)                 HR_ROW1_(f, p1) f p2
#define HR_ROW3_(f, p1, p2, p3)             HR_ROW2_(f, p1, p2) f p3
#define HR_ROW4_(f, p1, p2, p3, p4)         HR_ROW3_(f, p1, p2, p3) f p4
#define HR_ROW5_(f, p1, p2, p3, p4, p5)     HR_ROW4_(f, p1, p2, p3, p4) f p5
#define HR_ROW6_(f, p1, p2, p3, p4, p5, p6) HR_ROW5_(f, p1, p2, p3, p4, p5) f p6
#define HR_ROW7_(f, p1, p2, p3, p4, p5, p6, p7)                                \
    HR_ROW6_(f, p1, p2, p3, p4, p5, p6) f p7
#define HR_ROW8_(f, p1, p2, p3, p4, p5, p6, p7, p8)                            \
    HR_ROW7_(f, p1, p2, p3, p4, p5, p6, p7) f p8

#define HR_KERNEL1(name, p1)                                                   \
    HR_DEFINE_(name, 1, HR_LIST1_(HR_DECLARE_, p1), HR_LIST1_(HR_PASS_, p1),   \
               HR_LIST1_(HR_OTHER_, p1), HR_ROW1_(HR_FIELD_, p1))
#define HR_KERNEL2(name, p1, p2)                                               \
    HR_DEFINE_(name, 2, HR_LIST2_(HR_DECLARE_, p1, p2),                        \
               HR_LIST2_(HR_PASS_, p1, p2), HR_LIST2_(HR_OTHER_, p1, p2),      \
               HR_ROW2_(HR_FIELD_, p1, p2))
#define HR_KERNEL3(name, p1, p2, p3)                                           \
    HR_DEFINE_(name, 3, HR_LIST3_(HR_DECLARE_, p1, p2, p3),                    \
               HR_LIST3_(HR_PASS_, p1, p2, p3),                                \
               HR_LIST3_(HR_OTHER_, p1, p2, p3),                               \
               HR_ROW3_(HR_FIELD_, p1, p2, p3))
#define HR_KERNEL4(name, p1, p2, p3, p4)                                       \
    HR_DEFINE_(name, 4, HR_LIST4_(HR_DECLARE_, p1, p2, p3, p4),                \
               HR_LIST4_(HR_PASS_, p1, p2, p3, p4),                            \
               HR_LIST4_(HR_OTHER_, p1, p2, p3, p4),                           \
               HR_ROW4_(HR_FIELD_, p1, p2, p3, p4))
#define HR_KERNEL5(name, p1, p2, p3, p4, p5)                                   \
    HR_DEFINE_(name, 5, HR_LIST5_(HR_DECLARE_, p1, p2, p3, p4, p5),            \
               HR_LIST5_(HR_PASS_, p1, p2, p3, p4, p5),                        \
               HR_LIST5_(HR_OTHER_, p1, p2, p3, p4, p5),                       \
               HR_ROW5_(HR_FIELD_, p1, p2, p3, p4, p5))
#define HR_KERNEL6(name, p1, p2, p3, p4, p5, p6)                               \
    HR_DEFINE_(name, 6, HR_LIST6_(HR_DECLARE_, p1, p2, p3, p4, p5, p6),        \
               HR_LIST6_(HR_PASS_, p1, p2, p3, p4, p5, p6),                    \
               HR_LIST6_(HR_OTHER_, p1, p2, p3, p4, p5, p6),                   \
               HR_ROW6_(HR_FIELD_, p1, p2, p3, p4, p5, p6))
#define HR_KERNEL7(name, p1, p2, p3, p4, p5, p6, p7)                           \
    HR_DEFINE_(name, 7, HR_LIST7_(HR_DECLARE_, p1, p2, p3, p4, p5, p6, p7),    \
               HR_LIST7_(HR_PASS_, p1, p2, p3, p4, p5, p6, p7),                \
               HR_LIST7_(HR_OTHER_, p1, p2, p3, p4, p5, p6, p7),               \
               HR_ROW7_(HR_FIELD_, p1, p2, p3, p4, p5, p6, p7))
#define HR_KERNEL8(name, p1, p2, p3, p4, p5, p6, p7, p8)                       \
    HR_DEFINE_(name, 8,                                                        \
               HR_LIST8_(HR_DECLARE_, p1, p2, p3, p4, p5, p6, p7, p8),         \
               HR_LIST8_(HR_PASS_, p1, p2, p3, p4, p5, p6, p7, p8),            \
               HR_LIST8_(HR_OTHER_, p1, p2, p3, p4, p5, p6, p7, p8),           \
               HR_ROW8_(HR_FIELD_, p1, p2, p3, p4, p5, p6, p7, p8))

#endif
