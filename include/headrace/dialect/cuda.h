/* SPDX-License-Identifier: MIT */
/* The dialect of headrace/dialect.h in CUDA C++, as NVRTC compiles it, without
 * headers of a toolkit. */
#if defined(__CUDACC__)

#define HR_HAS_DOUBLE 1
typedef long long hr_index;
#define HR_L        long /* as in dialect/opencl.h */
#define HR_FUNCTION static __device__ __forceinline__
#define HR_CONSTANT static __constant__ const
#define HR_MEMORY
#define HR_RESTRICT     __restrict__
#define HR_UNROLL       _Pragma("unroll")
#define HR_BARRIER      __syncthreads()
#define HR_TILE_BARRIER __syncthreads()
#define HR_FENCE        __threadfence_block()
#define HR_TILE_STATIC(type, name, extents)                                    \
    __shared__ __align__(16) type name extents
extern __shared__ __align__(16) unsigned char hr_tile_memory[];

/* ---- items */

#define HR_ITEM_1_0 ((hr_index)threadIdx.x)
#define HR_ITEM_2_0 ((hr_index)threadIdx.y)
#define HR_ITEM_2_1 ((hr_index)threadIdx.x)
#define HR_ITEM_3_0 ((hr_index)threadIdx.z)
#define HR_ITEM_3_1 ((hr_index)threadIdx.y)
#define HR_ITEM_3_2 ((hr_index)threadIdx.x)
/* A launch of more blocks than CUDA takes comes in parts, and hr_d.number is
 * where one starts. Divisions, as of one number of the block, would cost as
 * much as a small kernel. */
#define HR_NUMBER_1_0       ((hr_index)blockIdx.x)
#define HR_NUMBER_2_0       ((hr_index)(blockIdx.y + (unsigned)hr_d.number[0]))
#define HR_NUMBER_2_1       ((hr_index)blockIdx.x)
#define HR_NUMBER_3_0       ((hr_index)(blockIdx.z + (unsigned)hr_d.number[0]))
#define HR_NUMBER_3_1       ((hr_index)(blockIdx.y + (unsigned)hr_d.number[1]))
#define HR_NUMBER_3_2       ((hr_index)blockIdx.x)
#define HR_ITEM_(rank, d)   HR_ITEM_##rank##_##d
#define HR_NUMBER_(rank, d) HR_NUMBER_##rank##_##d

/* ---- sub-groups: warps. The last one may have fewer items */

HR_FUNCTION int hr_item_of_tile(void)
{
    return (int)(threadIdx.x +
                 blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

HR_FUNCTION int hr_warp_width(void)
{
    const int items = (int)(blockDim.x * blockDim.y * blockDim.z);
    const int left = items - (hr_item_of_tile() & ~31);
    return left < 32 ? left : 32;
}

/* Masks also name items that do not exist: these count as ended. A mask that is
 * not a constant would cost a call for each shuffle. */
#define HR_REDUCTION_(name, result)                                            \
    template <typename T> HR_FUNCTION T name(T x)                              \
    {                                                                          \
        const int width = hr_warp_width();                                     \
        if (width == 32) {                                                     \
            for (int step = 16; step > 0; step /= 2) {                         \
                const T y = __shfl_xor_sync(~0u, x, step);                     \
                x = (result);                                                  \
            }                                                                  \
            return x;                                                          \
        }                                                                      \
        const T own = x;                                                       \
        x = __shfl_sync(~0u, own, 0);                                          \
        for (int lane = 1; lane < width; lane++) {                             \
            const T y = __shfl_sync(~0u, own, lane);                           \
            x = (result);                                                      \
        }                                                                      \
        return x;                                                              \
    }
HR_REDUCTION_(hr_warp_sum, x + y)
HR_REDUCTION_(hr_warp_min, y < x ? y : x)
HR_REDUCTION_(hr_warp_max, y > x ? y : x)

#define HR_SUBGROUP_LANE  (hr_item_of_tile() & 31)
#define HR_SUBGROUP_WIDTH hr_warp_width()
#define HR_MAX_SUBGROUP   32
#define HR_SUBGROUP_BROADCAST(name, lane)                                      \
    __shfl_sync(~0u, name##_private, (int)(lane))
#define HR_SUBGROUP_SHUFFLE(name, lane) HR_SUBGROUP_BROADCAST(name, lane)
#define HR_SUBGROUP_SUM(name)           hr_warp_sum(name##_private)
#define HR_SUBGROUP_MIN(name)           hr_warp_min(name##_private)
#define HR_SUBGROUP_MAX(name)           hr_warp_max(name##_private)

/* ---- atomics */

#define HR_NATIVE_(name, native, type, as)                                     \
    HR_FUNCTION type name(type *p, type value)                                 \
    {                                                                          \
        return (type)native((as *)p, (as)value);                               \
    }
#define HR_INTEGER_(type, as, bits)                                            \
    HR_NATIVE_(hr_atomic_add, atomicAdd, type, bits)                           \
    HR_NATIVE_(hr_atomic_min, atomicMin, type, as)                             \
    HR_NATIVE_(hr_atomic_max, atomicMax, type, as)                             \
    HR_NATIVE_(hr_atomic_and, atomicAnd, type, bits)                           \
    HR_NATIVE_(hr_atomic_or, atomicOr, type, bits)                             \
    HR_NATIVE_(hr_atomic_xor, atomicXor, type, bits)                           \
    HR_NATIVE_(hr_atomic_exchange, atomicExch, type, bits)                     \
    HR_FUNCTION type hr_atomic_compare_exchange(type *p, type expected,        \
                                                type desired)                  \
    {                                                                          \
        return (type)atomicCAS((bits *)p, (bits)expected, (bits)desired);      \
    }
HR_INTEGER_(int, int, unsigned)
HR_INTEGER_(unsigned, unsigned, unsigned)
HR_INTEGER_(long, long long, unsigned long long)
HR_INTEGER_(long long, long long, unsigned long long)
HR_INTEGER_(unsigned long, unsigned long long, unsigned long long)
HR_INTEGER_(unsigned long long, unsigned long long, unsigned long long)

/* Floating-point numbers are exchanged as bits where the hardware has no such
 * atomic. */
#define HR_CHANGE_(name, type, bits, to_bits, of_bits, result)                 \
    HR_FUNCTION type name(type *p, type value)                                 \
    {                                                                          \
        bits seen = *(volatile bits *)p, before;                               \
        do {                                                                   \
            before = seen;                                                     \
            const type old = of_bits(before);                                  \
            seen = atomicCAS((bits *)p, before, (bits)to_bits(result));        \
        } while (seen != before);                                              \
        return of_bits(before);                                                \
    }
#define HR_FRACTION_(type, bits, to_bits, of_bits)                             \
    HR_NATIVE_(hr_atomic_add, atomicAdd, type, type)                           \
    HR_CHANGE_(hr_atomic_min, type, bits, to_bits, of_bits, fmin(old, value))  \
    HR_CHANGE_(hr_atomic_max, type, bits, to_bits, of_bits, fmax(old, value))  \
    HR_CHANGE_(hr_atomic_exchange, type, bits, to_bits, of_bits, value)        \
    HR_FUNCTION type hr_atomic_compare_exchange(type *p, type expected,        \
                                                type desired)                  \
    {                                                                          \
        return of_bits(atomicCAS((bits *)p, (bits)to_bits(expected),           \
                                 (bits)to_bits(desired)));                     \
    }
HR_FRACTION_(float, unsigned, __float_as_uint, __uint_as_float)
HR_FRACTION_(double, unsigned long long, __double_as_longlong,
             __longlong_as_double)

#define HR_NUMBER_PLACE_(place)  (&(place))
#define HR_INTEGER_PLACE_(place) (&(place))

/* ---- mathematics that may be less exact */

HR_FUNCTION float hr_fast_sqrt(float x)
{
    float root;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}

#define HR_FAST_SQRT(x)      hr_fast_sqrt(x)
#define HR_FAST_RSQRT(x)     rsqrtf(x)
#define HR_FAST_SIN(x)       __sinf(x)
#define HR_FAST_COS(x)       __cosf(x)
#define HR_FAST_EXP(x)       __expf(x)
#define HR_FAST_LOG(x)       __logf(x)
#define HR_FAST_POW(x, y)    __powf(x, y)
#define HR_FAST_DIVIDE(x, y) __fdividef(x, y)

/* ---- half precision */

HR_FUNCTION float hr_f16_to_f32(unsigned short half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

HR_FUNCTION unsigned short hr_f32_to_f16(float value)
{
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}

HR_FUNCTION float hr_bf16_to_f32(unsigned short half)
{
    return __uint_as_float((unsigned)half << 16);
}

HR_FUNCTION unsigned short hr_f32_to_bf16(float value)
{
    const unsigned bits = __float_as_uint(value);
    const unsigned rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (unsigned short)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40
                                                             : rounded);
}

/* ---- kernels */

/* Memory of tiles comes as an offset into the memory that all parameters of
 * this kind share. */
#define HR_DECLARE_TILE(type, name)       type *name
#define HR_OTHER_(kind, type, rank, name) HR_RAW_##kind(type, name)
#define HR_RAW_IN(type, name)             HR_DECLARE_IN(type, name)
#define HR_RAW_OUT(type, name)            HR_DECLARE_OUT(type, name)
#define HR_RAW_INOUT(type, name)          HR_DECLARE_OUT(type, name)
#define HR_RAW_INS(type, name)            HR_DECLARE_INS(type, name)
#define HR_RAW_OUTS(type, name)           HR_DECLARE_OUTS(type, name)
#define HR_RAW_INOUTS(type, name)         HR_DECLARE_OUTS(type, name)
#define HR_RAW_VALUE(type, name)          const type name
#define HR_RAW_TILE(type, name)           const unsigned name
#define HR_PASS_IN(type, name)            name, name##_shape
#define HR_PASS_OUT(type, name)           name, name##_shape
#define HR_PASS_INOUT(type, name)         name, name##_shape
#define HR_PASS_INS(type, name)           name, name##_shape
#define HR_PASS_OUTS(type, name)          name, name##_shape
#define HR_PASS_INOUTS(type, name)        name, name##_shape
#define HR_PASS_VALUE(type, name)         name
#define HR_PASS_TILE(type, name)          (type *)(hr_tile_memory + name)
/* A file of the library's own defines this before a kernel whose tiles have no
 * more items: __launch_bounds__(items). */
#define HR_WANTED(names) 1
#define HR_BOUNDS_
#define HR_DEFINE_(name, count, declared, passed, others, fields)              \
    HR_FUNCTION void hr_body_##name(const hr_domain hr_d, declared);           \
    extern "C" __global__ void HR_BOUNDS_ hr_kernel_##name(                    \
        const hr_domain hr_d, others)                                          \
    {                                                                          \
        hr_body_##name(hr_d, passed);                                          \
    }                                                                          \
    HR_FUNCTION void hr_body_##name(const hr_domain hr_d, declared)

#endif
