/* SPDX-License-Identifier: MIT */
/* Sums over all trials at once: each element of a block is multiplied by 48
 * lanes. The loops are written once. On x86 they are also compiled for the
 * widest vectors. At run time the CPU decides which version runs. */
#include <math.h>

#include "base/cpus.h"
#include "gemm/verify.h"

enum { GROUPS = HRI_VERIFY_GROUPS };

/* 64 well-mixed bits for each (seed, index): the output function of splitmix64
 * [Steele2014]. So no vector needs to be stored. */
static uint64_t random_bits(uint64_t seed, int64_t index)
{
    uint64_t z = seed + (uint64_t)index * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void hri_verify_signs_init(hri_verify *v)
{
    double clear = v->integer ? 0.0 : -1.0;
    for (int byte = 0; byte < 256; byte++) {
        for (int lane = 0; lane < HRI_VERIFY_LANES; lane++) {
            v->signs[byte][lane] = byte >> lane & 1 ? 1.0 : clear;
        }
    }
}

void hri_verify_signs(const hri_verify *v, int64_t first, int64_t count,
                      hri_lanes *lanes)
{
    for (int64_t c = 0; c < count; c++) {
        uint64_t bits = random_bits(v->seed, first + c);
        for (int g = 0; g < GROUPS; g++, bits >>= HRI_VERIFY_LANES) {
            lanes[c * GROUPS + g] = v->signs[bits & 255] * v->scales[first + c];
        }
    }
}

/* Four rows of eight lanes stay in registers while the columns pass. The sum of
 * a block is formed first and then added, which keeps the rounding errors of
 * long rows small. */
static inline __attribute__((always_inline)) void
multiply_rows(const double *block, int64_t cols, const hri_lanes *lanes,
              hri_lanes *out)
{
    for (int g = 0; g < GROUPS; g++) {
        hri_lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int64_t c = 0; c < cols; c++) {
            const hri_lanes x = lanes[c * GROUPS + g];
            s0 += block[c] * x;
            s1 += block[c + HRI_VERIFY_COLS] * x;
            s2 += block[c + 2 * HRI_VERIFY_COLS] * x;
            s3 += block[c + 3 * HRI_VERIFY_COLS] * x;
        }
        out[g] += s0;
        out[g + GROUPS] += s1;
        out[g + 2 * GROUPS] += s2;
        out[g + 3 * GROUPS] += s3;
    }
}

static inline __attribute__((always_inline)) void
multiply(const double *block, const hri_verify_window *window,
         const hri_lanes *lanes, hri_lanes *out)
{
    for (int64_t r = 0; r < window->rows; r += 4) {
        multiply_rows(block + r * HRI_VERIFY_COLS, window->cols, lanes,
                      out + r * GROUPS);
    }
}

#if defined(__x86_64__)
static __attribute__((target("avx2"))) void
multiply_avx2(const double *block, const hri_verify_window *window,
              const hri_lanes *lanes, hri_lanes *out)
{
    multiply(block, window, lanes, out);
}

static __attribute__((target("avx512f"))) void
multiply_avx512(const double *block, const hri_verify_window *window,
                const hri_lanes *lanes, hri_lanes *out)
{
    multiply(block, window, lanes, out);
}
#endif

void hri_verify_multiply(const double *block, const hri_verify_window *window,
                         const hri_lanes *lanes, hri_lanes *out)
{
#if defined(__x86_64__)
    const hri_simd simd = hri_simd_here();
    if (simd == HRI_SIMD_AVX512) {
        multiply_avx512(block, window, lanes, out);
        return;
    }
    if (simd != HRI_SIMD_BASELINE) {
        multiply_avx2(block, window, lanes, out);
        return;
    }
#endif
    multiply(block, window, lanes, out);
}

/* Eight sums at once, so that the loop vectorises. */
double hri_verify_weigh(const double *line, const double *weights, int64_t cols)
{
    double sums[HRI_VERIFY_LANES] = {0}, sum = 0.0;
    for (int64_t c = 0; c < cols; c += HRI_VERIFY_LANES) {
        for (int i = 0; i < HRI_VERIFY_LANES; i++) {
            sums[i] += fabs(weights != NULL ? line[c + i] * weights[c + i]
                                            : line[c + i]);
        }
    }
    for (int i = 0; i < HRI_VERIFY_LANES; i++) {
        sum += sums[i];
    }
    return sum;
}

double hri_verify_weigh_row(const hri_verify *v, const hri_verify_block *block,
                            int64_t r, const double *weights, int64_t cols)
{
    const int64_t line = r * HRI_VERIFY_COLS;
    double sum = hri_verify_weigh(block->re + line, weights, cols);
    return v->complex ? sum + hri_verify_weigh(block->im + line, weights, cols)
                      : sum;
}

void hri_verify_wrap(hri_lanes *lanes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        for (int l = 0; l < HRI_VERIFY_LANES; l++) {
            lanes[i][l] = (double)(int32_t)(uint32_t)(int64_t)lanes[i][l];
        }
    }
}
