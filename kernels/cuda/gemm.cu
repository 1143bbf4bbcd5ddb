/* SPDX-License-Identifier: MIT */
/* C := alpha A B + beta C for NVIDIA GPUs: products that cuBLAS does not offer,
 * or all products where there is no cuBLAS. NVRTC compiles it without any
 * header.
 *
 * A block of WN x WM threads computes a tile of TM x TN elements of C. It walks
 * along k in steps of KC. The tile's parts of A and B go to shared memory, in
 * planes of real numbers: one plane, or two for complex types. Then each thread
 * adds to RM x RN sums that it holds in registers, while the elements of the
 * next step are on their way. This is the blocking of [Goto2008] with shared
 * memory for the cache and a thread for the micro-kernel.
 *
 * src/backends/cuda/gemm.c gives the build options: IN (the hr_type of A and
 * B), WM, WN, RM, RN, KC; V, how many numbers are read at a time from shared
 * memory; PAD, numbers added to each row there against bank conflicts, a
 * multiple of V; BLOCKS, how many blocks a multiprocessor should have room for.
 * The number of threads is a multiple of TM, TN and KC. DEPTH, unless it is 0,
 * makes the roundings of reproducible products (hri_gemm in hal.h). It is a
 * multiple of KC. After each DEPTH steps along k the sums are added to totals,
 * which began as beta C. ADD, unless it is 0, makes another kernel, which adds
 * sums of floats to halves. */
#define F32  1
#define F64  2
#define C32  3
#define C64  4
#define F16  5
#define BF16 6
#define I8   7

typedef long long extent;

#if IN == F64 || IN == C64
typedef double real;
typedef double2 pair;
#elif IN == I8
typedef unsigned real; /* wraps modulo 2^32, as the sum of i8 products must */
typedef uint2 pair;
#else
typedef float real;
typedef float2 pair;
#endif

#if IN == C32 || IN == C64
#define PLANES 2
typedef pair element; /* as computed with, and as stored */
typedef pair stored;
#else
#define PLANES 1
typedef real element;
#if IN == F16 || IN == BF16
typedef unsigned short stored;
#elif IN == I8
typedef signed char stored;
#else
typedef real stored;
#endif
#endif

#define INLINE  static __device__ __forceinline__
#define TM      (WM * RM)
#define TN      (WN * RN)
#define THREADS (WM * WN)
#define SHARE_A (TM * KC / THREADS) /* elements that a thread fetches in a
                                       step */
#define SHARE_B (TN * KC / THREADS)

/* The bits of flags. */
#define CONJUGATE_A 1
#define CONJUGATE_B 2
#define READ_C      4
#define NARROW_C    8 /* C has A's half type */

struct __align__(sizeof(real) * V) numbers {
    real part[V];
};

#if IN == F16
INLINE float widen_half(unsigned short half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}

INLINE unsigned short narrow(float value)
{
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}

#elif IN == BF16
INLINE float widen_half(unsigned short half)
{
    return __uint_as_float((unsigned)half << 16);
}

INLINE unsigned short narrow(float value)
{
    unsigned bits = __float_as_uint(value);
    unsigned rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    bool nan = (bits & 0x7fffffff) > 0x7f800000u;
    return (unsigned short)(nan ? (bits >> 16) | 0x40 : rounded);
}
#endif

INLINE element widen(stored value, bool conjugate)
{
#if PLANES == 2
    if (conjugate) {
        value.y = -value.y;
    }
    return value;
#elif IN == F16 || IN == BF16
    return widen_half(value);
#else
    return (element)value; /* i8: the sign must pass through int to unsigned */
#endif
}

INLINE element zero_element()
{
#if PLANES == 2
    element e;
    e.x = e.y = 0;
    return e;
#else
    return 0;
#endif
}

#if ADD

/* C := sums + beta C, rounded once, for `count` matrices of rows x cols. Those
 * of the sums follow each other without gaps. A thread has one element; there
 * are fewer than 2^31. */
extern "C" __global__ void add(unsigned count, unsigned rows, unsigned cols,
                               const float *sums, stored *c, extent c_rows,
                               extent c_step, float beta)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count * rows * cols) {
        const unsigned line = i / cols;
        stored *to = c + line / rows * c_step + line % rows * c_rows + i % cols;
        *to = narrow(sums[i] + beta * widen_half(*to));
    }
}

#else

/* One operand as a block sees it. Rows are those of A, or columns of B. */
struct operand {
    const stored *start;  /* the first row of the tile, at k = 0 */
    extent across, along; /* strides from row to row, and along k */
    extent rows, k;       /* that exist; elements beyond count as 0 */
    bool conjugate;
};

/* The elements that a thread fetches in a step. Number r is that of row x + r
 * dx at y + r dy steps of k. Neighbouring threads read neighbouring
 * addresses. */
struct share {
    int x, y, dx, dy;
};

INLINE share share_of(const operand &o, int thread, int size)
{
    share s = {thread % size, thread / size, 0, THREADS / size};
    if (o.along == 1) {
        s.x = thread / KC;
        s.y = thread % KC;
        s.dx = THREADS / KC;
        s.dy = 0;
    }
    return s;
}

/* Fetch a thread's elements of the step that begins at p. */
template <int COUNT>
INLINE void bring(element (&next)[COUNT], const operand &o, share s, int size,
                  extent p)
{
    const extent left = o.k - p;
    const int rows = o.rows < size ? (int)o.rows : size;
    const int steps = left < 0 ? 0 : left < KC ? (int)left : KC;
    const stored *first = o.start + s.x * o.across + (p + s.y) * o.along;
    const extent stride = s.dx * o.across + s.dy * o.along;
    if (rows == size && steps == KC) {
#pragma unroll
        for (int r = 0; r < COUNT; r++) {
            next[r] = widen(first[r * stride], o.conjugate);
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
        next[r] = zero_element();
        if (s.x + r * s.dx < rows && s.y + r * s.dy < steps) {
            next[r] = widen(first[r * stride], o.conjugate);
        }
    }
}

template <int COUNT>
INLINE void put(real *tile, const element (&next)[COUNT], share s, int size)
{
    const int pitch = size + PAD;
    const int first = s.y * pitch + s.x, stride = s.dy * pitch + s.dx;
#pragma unroll
    for (int r = 0; r < COUNT; r++) {
#if PLANES == 2
        tile[first + r * stride] = next[r].x;
        tile[KC * pitch + first + r * stride] = next[r].y;
#else
        tile[first + r * stride] = next[r];
#endif
    }
}

/* The row or column of the tile that number i of a thread belongs to. They come
 * in runs of V, and the runs of neighbouring threads are neighbours. */
INLINE int place_of(int thread, int threads, int i)
{
    return (i / V * threads + thread) * V + i % V;
}

#if DEPTH
/* Each with one rounding, which no compiler fuses with another. */
INLINE float fused(float x, float y, float z)
{
    return __fmaf_rn(x, y, z);
}

INLINE double fused(double x, double y, double z)
{
    return __fma_rn(x, y, z);
}

INLINE float product(float x, float y)
{
    return __fmul_rn(x, y);
}

INLINE double product(double x, double y)
{
    return __dmul_rn(x, y);
}
#endif

/* One step of k: add the outer product of a column of A and a row of B. */
INLINE void multiply(real (&sums)[PLANES][RM][RN], const real *a, const real *b,
                     int ty, int tx)
{
    numbers left[PLANES][RM / V], right[PLANES][RN / V];
#pragma unroll
    for (int s = 0; s < PLANES; s++) {
#pragma unroll
        for (int i = 0; i < RM / V; i++) {
            left[s][i] = *(const numbers *)(a + s * KC * (TM + PAD) +
                                            place_of(ty, WM, i * V));
        }
#pragma unroll
        for (int j = 0; j < RN / V; j++) {
            right[s][j] = *(const numbers *)(b + s * KC * (TN + PAD) +
                                             place_of(tx, WN, j * V));
        }
    }
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const real re = left[0][i / V].part[i % V];
#pragma unroll
        for (int j = 0; j < RN; j++) {
            const real x = right[0][j / V].part[j % V];
#if PLANES == 2
            const real im = left[1][i / V].part[i % V];
            const real y = right[1][j / V].part[j % V];
#endif
#if DEPTH
            sums[0][i][j] = fused(re, x, sums[0][i][j]);
#if PLANES == 2
            sums[0][i][j] = fused(-im, y, sums[0][i][j]);
            sums[1][i][j] = fused(re, y, sums[1][i][j]);
            sums[1][i][j] = fused(im, x, sums[1][i][j]);
#endif
#else
            sums[0][i][j] += re * x;
#if PLANES == 2
            sums[0][i][j] -= im * y;
            sums[1][i][j] += re * y;
            sums[1][i][j] += im * x;
#endif
#endif
        }
    }
}

/* Element *c becomes alpha times a sum, plus beta times its old value. */
INLINE void store(void *c, extent at, pair sum, pair alpha, pair beta,
                  int flags)
{
    const bool read = (flags & READ_C) != 0;
#if PLANES == 2
    pair *to = (pair *)c + at, result;
    result.x = alpha.x * sum.x - alpha.y * sum.y;
    result.y = alpha.x * sum.y + alpha.y * sum.x;
    if (read) {
        const pair old = *to;
        result.x += beta.x * old.x - beta.y * old.y;
        result.y += beta.x * old.y + beta.y * old.x;
    }
    *to = result;
#else
    const real result = alpha.x * sum.x;
#if IN == F16 || IN == BF16
    if (flags & NARROW_C) {
        unsigned short *to = (unsigned short *)c + at;
        *to = narrow(read ? result + beta.x * widen_half(*to) : result);
        return;
    }
#endif
    real *to = (real *)c + at;
    *to = read ? result + beta.x * *to : result;
#endif
}

#if DEPTH

/* The old element *c times beta. */
INLINE pair begun(const void *c, extent at, pair beta, int flags)
{
    pair first;
#if PLANES == 2
    const pair old = ((const pair *)c)[at];
    first.x = product(beta.x, old.x);
    first.y = product(beta.x, old.y);
    if (beta.y != 0) {
        first.x = fused(-beta.y, old.y, first.x);
        first.y = fused(beta.y, old.x, first.y);
    }
#else
#if IN == F16 || IN == BF16
    const real old = flags & NARROW_C
                         ? widen_half(((const unsigned short *)c)[at])
                         : ((const real *)c)[at];
#else
    const real old = ((const real *)c)[at];
#endif
    first.x = first.y = product(beta.x, old);
#endif
    return first;
}

/* Add alpha times the sums to the totals, and clear the sums. */
INLINE void add(real (&totals)[PLANES][RM][RN], real (&sums)[PLANES][RM][RN],
                pair alpha)
{
#pragma unroll
    for (int i = 0; i < RM; i++) {
#pragma unroll
        for (int j = 0; j < RN; j++) {
            const real s = sums[0][i][j];
            totals[0][i][j] = fused(alpha.x, s, totals[0][i][j]);
            sums[0][i][j] = 0;
#if PLANES == 2
            const real r = sums[1][i][j];
            totals[1][i][j] = fused(alpha.x, r, totals[1][i][j]);
            if (alpha.y != 0) {
                totals[0][i][j] = fused(-alpha.y, r, totals[0][i][j]);
                totals[1][i][j] = fused(alpha.y, s, totals[1][i][j]);
            }
            sums[1][i][j] = 0;
#endif
        }
    }
}

/* A total is an element of C. */
INLINE void finish(void *c, extent at, pair total, int flags)
{
#if PLANES == 2
    ((pair *)c)[at] = total;
#else
#if IN == F16 || IN == BF16
    if (flags & NARROW_C) {
        ((unsigned short *)c)[at] = narrow(total.x);
        return;
    }
#endif
    ((real *)c)[at] = total.x;
#endif
}

#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
gemm(extent m, extent n, extent k, const stored *a, extent a_rows,
     extent a_cols, const stored *b, extent b_rows, extent b_cols, void *c,
     extent c_rows, pair alpha, pair beta, int flags, extent tiles_across,
     const unsigned char *mask)
{
    __shared__ __align__(16) real tile_a[PLANES * KC * (TM + PAD)];
    __shared__ __align__(16) real tile_b[PLANES * KC * (TN + PAD)];
    const extent row = blockIdx.x / tiles_across * TM;
    const extent col = blockIdx.x % tiles_across * TN;
    const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * WN + tx;
    const operand left = {a + row * a_rows,          a_rows, a_cols, m - row, k,
                          (flags & CONJUGATE_A) != 0};
    const operand right = {b + col * b_cols, b_cols, b_rows, n - col, k,
                           (flags & CONJUGATE_B) != 0};
    const share of_a = share_of(left, thread, TM);
    const share of_b = share_of(right, thread, TN);
    real sums[PLANES][RM][RN] = {};
#if DEPTH
    /* Elements of C are wanted where mask[row * n + col] is not 0. NULL: all
     * are. */
    if (mask != 0) {
        bool wanted = false;
        for (int i = thread; i < TM * TN; i += THREADS) {
            const extent y = row + i / TN, x = col + i % TN;
            wanted = wanted || (y < m && x < n && mask[y * n + x] != 0);
        }
        if (!__syncthreads_or(wanted)) {
            return;
        }
    }
    real totals[PLANES][RM][RN] = {};
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const extent y = row + place_of(ty, WM, i);
#pragma unroll
        for (int j = 0; j < RN; j++) {
            const extent x = col + place_of(tx, WN, j);
            if ((flags & READ_C) != 0 && y < m && x < n) {
                const pair first = begun(c, y * c_rows + x, beta, flags);
                totals[0][i][j] = first.x;
                totals[PLANES - 1][i][j] = PLANES == 2 ? first.y : first.x;
            }
        }
    }
#endif
    element next_a[SHARE_A], next_b[SHARE_B];
    bring(next_a, left, of_a, TM, 0);
    bring(next_b, right, of_b, TN, 0);
    for (extent p = 0; p < k; p += KC) {
        put(tile_a, next_a, of_a, TM);
        put(tile_b, next_b, of_b, TN);
        __syncthreads();
        bring(next_a, left, of_a, TM, p + KC); /* while this one is computed */
        bring(next_b, right, of_b, TN, p + KC);
#if DEPTH
        /* Elements beyond k count as 0, which could still change the sign of a
         * sum of 0. */
        if (k - p < KC) {
            for (int y = 0; y < (int)(k - p); y++) {
                multiply(sums, tile_a + y * (TM + PAD), tile_b + y * (TN + PAD),
                         ty, tx);
            }
        } else
#endif
        {
#pragma unroll
            for (int y = 0; y < KC; y++) {
                multiply(sums, tile_a + y * (TM + PAD), tile_b + y * (TN + PAD),
                         ty, tx);
            }
        }
#if DEPTH
        if (p + KC >= k || (p + KC) % DEPTH == 0) {
            add(totals, sums, alpha);
        }
#endif
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const extent y = row + place_of(ty, WM, i);
#pragma unroll
        for (int j = 0; j < RN; j++) {
            const extent x = col + place_of(tx, WN, j);
            if (y < m && x < n && (mask == 0 || mask[y * n + x] != 0)) {
                pair sum;
#if DEPTH
                sum.x = totals[0][i][j];
                sum.y = totals[PLANES - 1][i][j];
                finish(c, y * c_rows + x, sum, flags);
#else
                sum.x = sums[0][i][j];
                sum.y = sums[PLANES - 1][i][j];
                store(c, y * c_rows + x, sum, alpha, beta, flags);
#endif
            }
        }
    }
}

#endif
