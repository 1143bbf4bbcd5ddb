/* SPDX-License-Identifier: MIT */
/* The words of precise_steps.inc in CUDA C++. src/backends/cuda/precise.c puts
 * this text first, then precise.inc, precise_steps.inc and precise_dots.cu.
 * NVRTC compiles them without any header. */
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef unsigned char u8;

#define FN                static __device__ __forceinline__
#define CONSTANT          const
#define FORM              const __grid_constant__ precise_form form_
#define FORM_POINTER      const precise_form *const form = &form_
#define LEADING_ZEROS(x)  __clzll((long long)(x))
#define HIGH(x, y)        __umulhi(x, y)
#define KERNEL            extern "C" __global__
#define GLOBAL
#define LOCAL             __shared__
#define GROUP(d)          ((d) == 0 ? blockIdx.x : blockIdx.y)
#define ITEM              threadIdx.x
#define BARRIER           __syncthreads()
#define UNROLL            _Pragma("unroll 8")
#define UNROLL_ALL        _Pragma("unroll")
#define ADD(place, x)     atomicAdd(place, x)
#define MAXIMUM(place, x) atomicMax(place, x)
#define FMA(x, y, z)      fused(x, y, z)

FN float fused(float x, float y, float z)
{
    return __fmaf_rn(x, y, z);
}

FN double fused(double x, double y, double z)
{
    return __fma_rn(x, y, z);
}

/* Residues of a modulus lie in blocks of 64 lines by 128 bytes. In each group of
 * 8 lines of a block, the 16-byte chunks of line i are at the places p ^ i. So a
 * block is one copy, and tensor cores read it without conflicts. */
#define RESIDUE(m, lines, width, line, at)                                     \
    ((((i64)(m) * (((lines) + 63) / 64) + (line) / 64) * ((width) / 128) +     \
      (at) / 128) * 8192 +                                                     \
     (line) % 64 * 128 + ((((at) % 128 / 16) ^ ((line) % 8)) * 16) +           \
     (at) % 16)
