/* SPDX-License-Identifier: MIT */
/* C := alpha A B + beta C in OpenCL C 1.2. The text of numbers.cl comes first.
 *
 * A work-group of WN x WM items computes a tile of TM x TN elements of C. It
 * walks along k in steps of KC. The tile's parts of A and B go to local memory,
 * in planes of real numbers: one plane, or two for complex types. Then each
 * item adds to RM x RN sums that it holds in registers, in vectors of V
 * columns. This is the blocking of [Goto2008] with local memory for the cache
 * and a work-item for the micro-kernel.
 *
 * A group of one item suits CPUs. It computes BM x BN such blocks of sums one
 * after another and keeps them in memory between the steps. With more items BM
 * and BN are 1, the sums stay in registers, and the elements of the next step
 * are fetched while the present one is computed.
 *
 * src/backends/opencl/gemm.c gives the build options: IN (the hr_type of A and
 * B), WM, WN, RM, RN, BM, BN, KC; U and V, see row_of; PAD, numbers added to
 * each row in local memory against bank conflicts, a multiple of V;
 * HARDWARE_HALF, 1 where vload_half is an instruction. With several items,
 * their number is a multiple of TM, TN and KC.
 *
 * DEPTH, unless it is 0, makes the roundings of reproducible products
 * (hri_gemm in hal.h). It is a multiple of KC. After each DEPTH steps along k
 * the sums are added to totals, which began as beta C. */
INLINE element load(const operand *o, long at)
{
#if IN == F16 && HARDWARE_HALF
    return vload_half(at, (__global const half *)o->start);
#else
    return widen(o->start[at], o->conjugate);
#endif
}

INLINE void put(__local REAL *planes, int plane, int at, element e)
{
#if PLANES == 2
    planes[at] = e.x;
    planes[plane + at] = e.y;
#else
    planes[at] = e;
#endif
}

#if ITEMS == 1

/* The element of row x at step y of k. 0 where there is none. */
INLINE element fetch(const operand *o, int x, long y)
{
    element e = 0;
    if (x < o->rows && y < o->k) {
        e = load(o, x * o->across + y * o->along);
    }
    return e;
}

/* Copy the step that begins at p to local memory, `size` rows of it, in the
 * order in which they lie in memory. */
INLINE void bring(__local REAL *tile, const operand *o, int size, long p)
{
    const int pitch = size + PAD, plane = KC * pitch;
    if (o->along == 1) {
        for (int x = 0; x < size; x++) {
            for (int y = 0; y < KC; y++) {
                put(tile, plane, y * pitch + x, fetch(o, x, p + y));
            }
        }
    } else {
        for (int y = 0; y < KC; y++) {
            for (int x = 0; x < size; x++) {
                put(tile, plane, y * pitch + x, fetch(o, x, p + y));
            }
        }
    }
}

#else

/* The elements that an item fetches in a step. Number r is that of row x + r dx
 * at y + r dy steps of k. Neighbouring items read neighbouring addresses. */
typedef struct {
    int x, y, dx, dy;
} share;

INLINE share share_of(const operand *o, int lid, int size)
{
    share s = {lid % size, lid / size, 0, ITEMS / size};
    if (o->along == 1) {
        s.x = lid / KC;
        s.y = lid % KC;
        s.dx = ITEMS / KC;
        s.dy = 0;
    }
    return s;
}

/* Fetch an item's elements of the step that begins at p. */
INLINE void bring(element *next, const operand *o, share s, int size, long p)
{
    const int rows = (int)min(o->rows, (long)size);
    const int steps = (int)clamp(o->k - p, 0L, (long)KC);
    const long first = s.x * o->across + (p + s.y) * o->along;
    const long stride = s.dx * o->across + s.dy * o->along;
    if (rows == size && steps == KC) {
#pragma unroll
        for (int r = 0; r < size * KC / ITEMS; r++) {
            next[r] = load(o, first + r * stride);
        }
    } else {
#pragma unroll
        for (int r = 0; r < size * KC / ITEMS; r++) {
            const element zero = 0;
            next[r] = zero;
            if (s.x + r * s.dx < rows && s.y + r * s.dy < steps) {
                next[r] = load(o, first + r * stride);
            }
        }
    }
}

INLINE void put_all(__local REAL *tile, const element *next, share s, int size)
{
    const int pitch = size + PAD;
    const int first = s.y * pitch + s.x, stride = s.dy * pitch + s.dx;
#pragma unroll
    for (int r = 0; r < size * KC / ITEMS; r++) {
        put(tile, KC * pitch, first + r * stride, next[r]);
    }
}

#endif

/* One step of k: add the outer product of a column of A and a row of B. */
INLINE void multiply(parts (*sums)[RM][RN / V], __local const REAL *a,
                     __local const REAL *b, int ty, int tx)
{
    vector right[PLANES][RN / V];
#pragma unroll
    for (int j = 0; j < RN / V; j++) {
#pragma unroll
        for (int s = 0; s < PLANES; s++) {
            right[s][j] = *(__local const vector *)(b + s * KC * (TN + PAD) +
                                                    col_of(tx, j * V));
        }
    }
#pragma unroll
    for (int i = 0; i < RM; i++) {
        const REAL re = a[row_of(ty, i)];
#if PLANES == 2
        const REAL im = a[KC * (TM + PAD) + row_of(ty, i)];
#endif
#pragma unroll
        for (int j = 0; j < RN / V; j++) {
#if DEPTH
            sums[0][i][j].whole =
                fma((vector)re, right[0][j], sums[0][i][j].whole);
#if PLANES == 2
            sums[0][i][j].whole =
                fma((vector)-im, right[1][j], sums[0][i][j].whole);
            sums[1][i][j].whole =
                fma((vector)re, right[1][j], sums[1][i][j].whole);
            sums[1][i][j].whole =
                fma((vector)im, right[0][j], sums[1][i][j].whole);
#endif
#else
            sums[0][i][j].whole += re * right[0][j];
#if PLANES == 2
            sums[0][i][j].whole -= im * right[1][j];
            sums[1][i][j].whole += re * right[1][j];
            sums[1][i][j].whole += im * right[0][j];
#endif
#endif
        }
    }
}

INLINE void copy(parts (*to)[RM][RN / V], parts (*from)[RM][RN / V])
{
#pragma unroll
    for (int s = 0; s < PLANES; s++) {
#pragma unroll
        for (int i = 0; i < RM; i++) {
#pragma unroll
            for (int j = 0; j < RN / V; j++) {
                to[s][i][j].whole = from[s][i][j].whole;
            }
        }
    }
}

INLINE void clear(parts (*sums)[RM][RN / V])
{
#pragma unroll
    for (int s = 0; s < PLANES; s++) {
#pragma unroll
        for (int i = 0; i < RM; i++) {
#pragma unroll
            for (int j = 0; j < RN / V; j++) {
                sums[s][i][j].whole = 0;
            }
        }
    }
}

#if DEPTH

/* The old element `at` times beta. */
INLINE pair begun(const target *t, long at)
{
#if PLANES == 2
    const pair old = ((__global const pair *)t->c)[at];
    pair first = t->beta.x * old;
    if (t->beta.y != 0) {
        first.x = fma(-t->beta.y, old.y, first.x);
        first.y = fma(t->beta.y, old.x, first.y);
    }
    return first;
#else
#if IN == F16 || IN == BF16
    if (t->flags & NARROW_C) {
        return t->beta.x *
               widen(((__global const ushort *)t->c)[at], false);
    }
#endif
    return t->beta.x * ((__global const REAL *)t->c)[at];
#endif
}

/* The totals of item (ty, tx) of a tile become beta C. */
INLINE void begin(const target *t, parts (*totals)[RM][RN / V], int ty, int tx)
{
    clear(totals);
    for (int i = 0; i < RM && (t->flags & READ_C) != 0; i++) {
        for (int j = 0; j < RN; j++) {
            const int row = row_of(ty, i), col = col_of(tx, j);
            if (row < t->m && col < t->n) {
                const pair first = begun(t, t->start + row * t->stride + col);
                totals[0][i][j / V].part[j % V] = first.x;
#if PLANES == 2
                totals[1][i][j / V].part[j % V] = first.y;
#endif
            }
        }
    }
}

/* Add alpha times the sums to the totals, and clear the sums. */
INLINE void add(const target *t, parts (*totals)[RM][RN / V],
                parts (*sums)[RM][RN / V])
{
#pragma unroll
    for (int i = 0; i < RM; i++) {
#pragma unroll
        for (int j = 0; j < RN / V; j++) {
            const vector x = t->alpha.x, s = sums[0][i][j].whole;
            totals[0][i][j].whole = fma(x, s, totals[0][i][j].whole);
#if PLANES == 2
            const vector y = t->alpha.y, r = sums[1][i][j].whole;
            totals[1][i][j].whole = fma(x, r, totals[1][i][j].whole);
            if (t->alpha.y != 0) {
                totals[0][i][j].whole = fma(-y, r, totals[0][i][j].whole);
                totals[1][i][j].whole = fma(y, s, totals[1][i][j].whole);
            }
#endif
        }
    }
    clear(sums);
}

/* A total is an element of C. */
INLINE void finish(const target *t, long at, pair total)
{
#if PLANES == 2
    ((__global pair *)t->c)[at] = total;
#else
#if IN == F16 || IN == BF16
    if (t->flags & NARROW_C) {
        ((__global ushort *)t->c)[at] = narrow(total.x);
        return;
    }
#endif
    ((__global REAL *)t->c)[at] = total.x;
#endif
}

#else
#define finish store
#endif

/* Which elements of C are wanted: mask[row * pitch + col] is not 0. NULL: all
 * are. Only ordered products have one. */
typedef struct {
    __global const uchar *mask;
    long pitch;
} choice;

INLINE bool is_wanted(const choice *w, int row, int col)
{
    return w->mask == 0 || w->mask[row * w->pitch + col] != 0;
}

#if DEPTH

/* Whether the group's tile has an element that is wanted. found is the
 * group's. */
INLINE bool is_any(const choice *w, long rows, long cols, int item,
                   __local int *found)
{
    const int width = (int)min(cols, (long)TN);
    const int all = (int)min(rows, (long)TM) * width;
    if (w->mask == 0) {
        return true;
    }
    *found = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < all; i += ITEMS) {
        if (is_wanted(w, i / width, i % width)) {
            *found = 1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    return *found != 0;
}

#endif

/* Write the sums of item (ty, tx) of a tile, or its totals. */
INLINE void write(const target *t, const choice *w,
                  parts (*sums)[RM][RN / V], int ty, int tx)
{
    for (int i = 0; i < RM; i++) {
        for (int j = 0; j < RN; j++) {
            const int row = row_of(ty, i), col = col_of(tx, j);
            if (row < t->m && col < t->n && is_wanted(w, row, col)) {
                finish(t, t->start + row * t->stride + col,
                       (pair)(sums[0][i][j / V].part[j % V],
                              sums[PLANES - 1][i][j / V].part[j % V]));
            }
        }
    }
}

/* The block of a tile that sums number `index` belong to. */
INLINE target block_of(const target *t, int index)
{
    target block = *t;
    block.start += index / BN * RM * t->stride + index % BN * RN;
    block.m -= index / BN * RM;
    block.n -= index % BN * RN;
    return block;
}

/* The steps to make from p on. Elements beyond k count as 0, which could still
 * change the sign of a sum of 0. And whether a piece of DEPTH steps ends
 * there. */
#if DEPTH
#define STEPS(p) (k - (p) < KC ? (int)(k - (p)) : KC)
#define ENDS(p)  ((p) + KC >= k || ((p) + KC) % DEPTH == 0)
#else
#define STEPS(p) KC
#endif

__kernel __attribute__((reqd_work_group_size(WN, WM, 1))) void
gemm(long m, long n, long k, __global const stored *restrict a, long a_start,
     long a_rows, long a_cols, __global const stored *restrict b, long b_start,
     long b_rows, long b_cols, __global void *restrict c, long c_start,
     long c_rows, pair alpha, pair beta, int flags
#if DEPTH
     ,
     __global const uchar *mask, long mask_start
#endif
)
{
    __local REAL tile_a[PLANES * KC * (TM + PAD)] __attribute__((aligned(64)));
    __local REAL tile_b[PLANES * KC * (TN + PAD)] __attribute__((aligned(64)));
    const long row = (long)get_group_id(1) * TM;
    const long col = (long)get_group_id(0) * TN;
    const operand left = {
        a + a_start + row * a_rows, a_rows, a_cols, m - row, k,
        (flags & CONJUGATE_A) != 0};
    const operand right = {
        b + b_start + col * b_cols, b_cols, b_rows, n - col, k,
        (flags & CONJUGATE_B) != 0};
    const target to = {c,       c_start + row * c_rows + col,
                       c_rows,  m - row,
                       n - col, alpha,
                       beta,    flags};
#if DEPTH
    __local int found;
    const choice wanted = {
        mask != 0 ? mask + mask_start + row * n + col : 0, n};
    if (!is_any(&wanted, m - row, n - col,
                get_local_id(1) * WN + get_local_id(0), &found)) {
        return;
    }
#else
    const choice wanted = {0, 0};
#endif
#if ITEMS == 1
    parts sums[BM * BN][PLANES][RM][RN / V];
#if DEPTH
    parts totals[BM * BN][PLANES][RM][RN / V];
#else
#define totals sums
#endif
    for (int t = 0; t < BM * BN; t++) {
        clear(sums[t]);
#if DEPTH
        const target block = block_of(&to, t);
        begin(&block, totals[t], 0, 0);
#endif
    }
    for (long p = 0; p < k; p += KC) {
        bring(tile_a, &left, TM, p);
        bring(tile_b, &right, TN, p);
        for (int t = 0; t < BM * BN; t++) {
            parts here[PLANES][RM][RN / V];
            copy(here, sums[t]);
            for (int y = 0; y < STEPS(p); y++) {
                multiply(here, tile_a + y * (TM + PAD) + t / BN * RM,
                         tile_b + y * (TN + PAD) + t % BN * RN, 0, 0);
            }
#if DEPTH
            if (ENDS(p)) {
                add(&to, totals[t], here);
            }
#endif
            copy(sums[t], here);
        }
    }
    for (int t = 0; t < BM * BN; t++) {
        const target block = block_of(&to, t);
        choice here = wanted;
        if (here.mask != 0) {
            here.mask += t / BN * RM * here.pitch + t % BN * RN;
        }
        write(&block, &here, totals[t], 0, 0);
    }
#else
    parts sums[PLANES][RM][RN / V];
    element next_a[TM * KC / ITEMS], next_b[TN * KC / ITEMS];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const share of_a = share_of(&left, ty * WN + tx, TM);
    const share of_b = share_of(&right, ty * WN + tx, TN);
    clear(sums);
#if DEPTH
    parts totals[PLANES][RM][RN / V];
    begin(&to, totals, ty, tx);
#else
#define totals sums
#endif
    bring(next_a, &left, of_a, TM, 0);
    bring(next_b, &right, of_b, TN, 0);
    for (long p = 0; p < k; p += KC) {
        put_all(tile_a, next_a, of_a, TM);
        put_all(tile_b, next_b, of_b, TN);
        barrier(CLK_LOCAL_MEM_FENCE);
        bring(next_a, &left, of_a, TM, p + KC); /* while this one is computed */
        bring(next_b, &right, of_b, TN, p + KC);
        if (STEPS(p) == KC) {
#pragma unroll
            for (int y = 0; y < KC; y++) {
                multiply(sums, tile_a + y * (TM + PAD), tile_b + y * (TN + PAD),
                         ty, tx);
            }
        } else {
            for (int y = 0; y < STEPS(p); y++) {
                multiply(sums, tile_a + y * (TM + PAD), tile_b + y * (TN + PAD),
                         ty, tx);
            }
        }
#if DEPTH
        if (ENDS(p)) {
            add(&to, totals, sums);
        }
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    write(&to, &wanted, totals, ty, tx);
#endif
}
