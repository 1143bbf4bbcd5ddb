/* SPDX-License-Identifier: MIT */
/* The dialect of headrace/dialect.h in OpenCL C, from 1.2 on. */
#if defined(__OPENCL_C_VERSION__)

#ifdef HR_REPRODUCIBLE
#pragma OPENCL FP_CONTRACT OFF
#endif

#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HR_HAS_DOUBLE 1
#endif

typedef long hr_index;
#define HR_L            /* of `long HR_L`, which the library makes of long long */
#define HR_FUNCTION     static inline
#define HR_CONSTANT     __constant
#define HR_MEMORY       __global
#define HR_RESTRICT     restrict
#define HR_BARRIER      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define HR_TILE_BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define HR_FENCE        mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define HR_TILE_STATIC(type, name, extents)                                    \
    __local type name extents __attribute__((aligned(16)))

/* A CPU's compiler takes long, so it gets few kernels, and loops as they are
 * (src/kernels/source.c). */
#ifdef HR_EMULATED
#define HR_UNROLL         _Pragma("nounroll")
#define HR_WANTED_(names) HR_ONLY_##names
#define HR_WANTED(names)  HR_WANTED_(names)
#else
#define HR_UNROLL        _Pragma("unroll")
#define HR_WANTED(names) 1
#endif

/* ---- items */

#define HR_NUMBER_(rank, d) ((hr_index)get_group_id(rank - 1 - d))
#define HR_ITEM_(rank, d)   ((hr_index)get_local_id(rank - 1 - d))

/* ---- sub-groups: they have one item if the library turns them off
 * (HR_SUBGROUPS), or the compiler has none */

#if defined(HR_SUBGROUPS) && defined(cl_khr_subgroups) &&                      \
    defined(cl_khr_subgroup_shuffle)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define HR_SUBGROUP_LANE  ((int)get_sub_group_local_id())
#define HR_SUBGROUP_WIDTH ((int)get_sub_group_size())
#define HR_MAX_SUBGROUP   ((int)get_max_sub_group_size())
#define HR_SUBGROUP_BROADCAST(name, lane)                                      \
    sub_group_broadcast(name##_private, (uint)(lane))
#define HR_SUBGROUP_SHUFFLE(name, lane)                                        \
    sub_group_shuffle(name##_private, (uint)(lane))
#define HR_SUBGROUP_SUM(name) sub_group_reduce_add(name##_private)
#define HR_SUBGROUP_MIN(name) sub_group_reduce_min(name##_private)
#define HR_SUBGROUP_MAX(name) sub_group_reduce_max(name##_private)
#else
#define HR_SUBGROUP_LANE                  0
#define HR_SUBGROUP_WIDTH                 1
#define HR_MAX_SUBGROUP                   1
#define HR_SUBGROUP_BROADCAST(name, lane) ((void)(lane), name##_private)
#define HR_SUBGROUP_SHUFFLE(name, lane)   ((void)(lane), name##_private)
#define HR_SUBGROUP_SUM(name)             (name##_private)
#define HR_SUBGROUP_MIN(name)             (name##_private)
#define HR_SUBGROUP_MAX(name)             (name##_private)
#endif

/* ---- atomics: for both kinds of memory, and each type that has them */

#define HR_OVERLOAD_ __attribute__((overloadable)) static inline
#define HR_NATIVE_(name, native, space, type)                                  \
    HR_OVERLOAD_ type name(volatile space type *p, type value)                 \
    {                                                                          \
        return native(p, value);                                               \
    }
#define HR_INTEGER_(space, type, prefix)                                       \
    HR_NATIVE_(hr_atomic_add, prefix##_add, space, type)                       \
    HR_NATIVE_(hr_atomic_min, prefix##_min, space, type)                       \
    HR_NATIVE_(hr_atomic_max, prefix##_max, space, type)                       \
    HR_NATIVE_(hr_atomic_and, prefix##_and, space, type)                       \
    HR_NATIVE_(hr_atomic_or, prefix##_or, space, type)                         \
    HR_NATIVE_(hr_atomic_xor, prefix##_xor, space, type)                       \
    HR_NATIVE_(hr_atomic_exchange, prefix##_xchg, space, type)                 \
    HR_OVERLOAD_ type hr_atomic_compare_exchange(volatile space type *p,       \
                                                 type expected, type desired)  \
    {                                                                          \
        return prefix##_cmpxchg(p, expected, desired);                         \
    }
/* Floating-point numbers are exchanged as bits. */
#define HR_LOOP_(name, space, type, bits, compare, result)                     \
    HR_OVERLOAD_ type name(volatile space type *p, type value)                 \
    {                                                                          \
        volatile space bits *place = (volatile space bits *)p;                 \
        bits seen = *place, before;                                            \
        do {                                                                   \
            before = seen;                                                     \
            const type old = as_##type(before);                                \
            seen = compare(place, before, as_##bits((type)(result)));          \
        } while (seen != before);                                              \
        return as_##type(before);                                              \
    }
#define HR_FRACTION_(space, type, bits, compare)                               \
    HR_LOOP_(hr_atomic_add, space, type, bits, compare, old + value)           \
    HR_LOOP_(hr_atomic_min, space, type, bits, compare, fmin(old, value))      \
    HR_LOOP_(hr_atomic_max, space, type, bits, compare, fmax(old, value))      \
    HR_LOOP_(hr_atomic_exchange, space, type, bits, compare, value)            \
    HR_OVERLOAD_ type hr_atomic_compare_exchange(volatile space type *p,       \
                                                 type expected, type desired)  \
    {                                                                          \
        return as_##type(compare((volatile space bits *)p,                     \
                                 as_##bits(expected), as_##bits(desired)));    \
    }

HR_INTEGER_(__global, int, atomic)
HR_INTEGER_(__local, int, atomic)
HR_INTEGER_(__global, uint, atomic)
HR_INTEGER_(__local, uint, atomic)
HR_FRACTION_(__global, float, uint, atomic_cmpxchg)
HR_FRACTION_(__local, float, uint, atomic_cmpxchg)
#if defined(cl_khr_int64_base_atomics) && defined(cl_khr_int64_extended_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
HR_INTEGER_(__global, long, atom)
HR_INTEGER_(__local, long, atom)
HR_INTEGER_(__global, ulong, atom)
HR_INTEGER_(__local, ulong, atom)
#if defined(HR_HAS_DOUBLE)
HR_FRACTION_(__global, double, ulong, atom_cmpxchg)
HR_FRACTION_(__local, double, ulong, atom_cmpxchg)
#endif
#define HR_HAS_ATOMICS_(place) (sizeof(place) == 4 || sizeof(place) == 8)
#else
#define HR_HAS_ATOMICS_(place) (sizeof(place) == 4)
#endif

/* Where a type has no function, compilers take that of another type and only
 * warn. It would change neighbouring elements, too. */
#define HR_PLACE_(place, number)                                               \
    (&(place) + 0 * sizeof(number) * sizeof(struct {                           \
                    char atomics_are_of_32_bits_and_of_64_where_they_are       \
                        [HR_HAS_ATOMICS_(place) ? 1 : -1];                     \
                }))
#define HR_NUMBER_PLACE_(place)  HR_PLACE_(place, (place) + 1)
#define HR_INTEGER_PLACE_(place) HR_PLACE_(place, (place)&1)

/* ---- mathematics that may be less exact */

#define HR_FAST_SQRT(x)      native_sqrt(x)
#define HR_FAST_RSQRT(x)     native_rsqrt(x)
#define HR_FAST_SIN(x)       native_sin(x)
#define HR_FAST_COS(x)       native_cos(x)
#define HR_FAST_EXP(x)       native_exp(x)
#define HR_FAST_LOG(x)       native_log(x)
#define HR_FAST_POW(x, y)    native_powr(x, y)
#define HR_FAST_DIVIDE(x, y) native_divide(x, y)

/* ---- kernels */

#define HR_DECLARE_TILE(type, name) __local type *name
#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    __kernel void hr_kernel_##name(const hr_domain hr_d, declared)

#endif
