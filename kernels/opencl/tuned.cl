/* SPDX-License-Identifier: MIT */
/* C := alpha A B + beta C for float and double on NVIDIA's GPUs. gemm.cl tells
 * of the blocking. This kernel reads LOADS neighbours of memory at a time, and
 * checks nothing in the loop of tiles without an edge. So an item has registers
 * for more sums. Local memory has room for BUFFERS steps.
 *
 * MMA is for double and needs PTX for sm_90: the instruction for products of
 * matrices, and copies to local memory that pass through no register. */
typedef JOIN(REAL, U) run;
typedef JOIN(REAL, LOADS) loads;
#define PITCH_A (TM + PAD) /* from step to step of k in local memory */
#define PITCH_B (TN + PAD)
#define BAND    8 /* rows of tiles that run at the same time */

/* Copy the step that begins at p to local memory, `size` rows of it. Each item
 * copies its part. Elements that do not exist are 0. */
INLINE void bring(__local REAL *tile, const operand *o, int size, long p,
                  int item)
{
    const bool deep = o->along == 1;
    for (int at = item; at < size * KC; at += ITEMS) {
        const int x = deep ? at / KC : at % size;
        const int y = deep ? at % KC : at / size;
        const bool there = x < o->rows && p + y < o->k;
        tile[y * (size + PAD) + x] =
            there ? o->start[x * o->across + (p + y) * o->along] : 0;
    }
}

/* What an item fetches of each step of an operand whose tile has no edge.
 * LOADS elements at a time are neighbours, along k or across it. Neighbouring
 * items read neighbouring addresses. */
typedef struct {
    __global const stored *from; /* the first of the next step */
    long stride, step; /* from run to run, and from step to step */
    int to, to_stride; /* their places in the tile */
    bool deep;         /* neighbours along k */
} share;

INLINE share share_of(const operand *o, int item, int size)
{
    share s;
    const int run = MMA && o->along == 1 ? 1 : LOADS;
    const int runs = o->along == 1 ? KC / run : size / run;
    const int near = item % runs * run, far = item / runs, next = ITEMS / runs;
    s.deep = o->along == 1;
    const int x = s.deep ? far : near, y = s.deep ? near : far;
    s.from = o->start + x * o->across + y * o->along;
    s.stride = next * (s.deep ? o->across : o->along);
    s.step = KC * o->along;
    s.to = y * (size + PAD) + x;
    s.to_stride = next * (s.deep ? 1 : size + PAD);
    return s;
}

/* Whether a tile has no edge, and runs can be read at once. */
INLINE bool is_whole(const operand *o, int size)
{
    const long apart = o->along == 1 ? o->across : o->along;
    return o->rows >= size && (o->along == 1 || o->across == 1) &&
           apart % LOADS == 0 && (size_t)o->start % sizeof(loads) == 0;
}

#if MMA
#define COPY(to, from, bytes)                                                  \
    __asm__ volatile("cp.async.ca.shared.global [%0], [%1], " #bytes ";"       \
                     :                                                         \
                     : "r"((uint)(size_t)(to)), "l"(from)                      \
                     : "memory")

/* Start to copy a step to local memory, and go on to the next. */
INLINE void start(__local REAL *tile, share *s, int size)
{
    if (s->deep) {
#pragma unroll
        for (int r = 0; r < size * KC / ITEMS; r++) {
            COPY(tile + s->to + r * s->to_stride, s->from + r * s->stride, 8);
        }
    } else {
#pragma unroll
        for (int r = 0; r < size * KC / ITEMS / LOADS; r++) {
            COPY(tile + s->to + r * s->to_stride, s->from + r * s->stride, 16);
        }
    }
    s->from += s->step;
}

#else

/* Fetch the elements of a step, and go on to the next. */
INLINE void next_step(REAL *next, share *s, int size)
{
#pragma unroll
    for (int r = 0; r < size * KC / ITEMS / LOADS; r++) {
        *(loads *)(next + r * LOADS) =
            *(__global const loads *)(s->from + r * s->stride);
    }
    s->from += s->step;
}

INLINE void put_all(__local REAL *tile, const REAL *next, const share *s,
                    int size)
{
    const int pitch = size + PAD;
    if (!s->deep) {
#pragma unroll
        for (int r = 0; r < size * KC / ITEMS / LOADS; r++) {
            *(__local loads *)(tile + s->to + r * s->to_stride) =
                *(const loads *)(next + r * LOADS);
        }
        return;
    }
#pragma unroll
    for (int r = 0; r < size * KC / ITEMS; r++) {
        tile[s->to + r / LOADS * s->to_stride + r % LOADS * pitch] = next[r];
    }
}

#endif

#if MMA
#define DEEP 4 /* steps of k at a time */

/* Add the product of a 16 x 4 and a 4 x 8 matrix. The 8 x 4 items of a warp hold
 * them together. Item (y, x) has the elements of rows y and y + 8 of the first
 * in column x, and of column y of the second in row x. Of the sums it has those
 * of the same rows in columns 2 x and 2 x + 1. */
INLINE void add_product(double *c, const double *a, double b)
{
    __asm__("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
            "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
            : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
            : "d"(a[0]), "d"(a[1]), "d"(b));
}

/* Four steps of k. Rows 2 i of the items are the first eight of a product, rows
 * 2 i + 1 the others. */
INLINE void multiply(parts (*sums)[RN / V], __local const REAL *a,
                     __local const REAL *b, int ty, int tx)
{
    REAL right[RN / 2];
    const int y = tx % 4, x = ty % 8;
#pragma unroll
    for (int j = 0; j < RN / 2; j++) {
        right[j] = b[y * PITCH_B + col_of(tx - y, 2 * j) + x];
    }
#pragma unroll
    for (int i = 0; i < RM / 2; i++) {
        const vector two =
            *(__local const vector *)(a + y * PITCH_A + row_of(ty, 2 * i));
        const REAL left[2] = {two.x, two.y};
#pragma unroll
        for (int j = 0; j < RN / 2; j++) {
            vector *up = &sums[2 * i][j].whole;
            vector *low = &sums[2 * i + 1][j].whole;
            double c[4] = {up->x, up->y, low->x, low->y};
            add_product(c, left, right[j]);
            *up = (vector)(c[0], c[1]);
            *low = (vector)(c[2], c[3]);
        }
    }
}

#else
#define DEEP 1

/* One step of k: add the outer product of a column of A and a row of B. */
INLINE void multiply(parts (*sums)[RN / V], __local const REAL *a,
                     __local const REAL *b, int ty, int tx)
{
    vector right[RN / V];
#pragma unroll
    for (int j = 0; j < RN / V; j++) {
        right[j] = *(__local const vector *)(b + col_of(tx, j * V));
    }
    REAL left[RM];
#pragma unroll
    for (int i = 0; i < RM; i += U) {
        *(run *)&left[i] = *(__local const run *)(a + row_of(ty, i));
    }
#pragma unroll
    for (int i = 0; i < RM; i++) {
#pragma unroll
        for (int j = 0; j < RN / V; j++) {
            sums[i][j].whole += left[i] * right[j];
        }
    }
}

#endif

/* The column and the row of a group's tile among tiles. Groups that run at the
 * same time have neighbouring rows and columns, and so share what they read. */
INLINE int2 place_of_group(void)
{
    const uint cols = get_num_groups(0), rows = get_num_groups(1);
    const uint id = get_group_id(1) * cols + get_group_id(0);
    const uint first = id / (BAND * cols) * BAND, at = id % (BAND * cols);
    const uint high = min(rows - first, (uint)BAND);
    return (int2)(at / high, first + at % high);
}

/* Add all steps of k of a tile without an edge, but for a shorter last one.
 * Returns the steps that were made. */
INLINE long walk(parts (*sums)[RN / V], const operand *left,
                 const operand *right, __local REAL (*tile_a)[KC * PITCH_A],
                 __local REAL (*tile_b)[KC * PITCH_B], int item, int ty, int tx)
{
    share of_a = share_of(left, item, TM), of_b = share_of(right, item, TN);
    const long k = left->k;
    long p = 0;
    int slot = 0;
#if MMA
    for (int s = 0; s < BUFFERS - 1; s++) {
        if ((s + 1) * KC <= k) {
            start(tile_a[s], &of_a, TM);
            start(tile_b[s], &of_b, TN);
        }
        __asm__ volatile("cp.async.commit_group;" : : : "memory");
    }
#else
    REAL next_a[TM * KC / ITEMS], next_b[TN * KC / ITEMS];
    next_step(next_a, &of_a, TM);
    next_step(next_b, &of_b, TN);
#endif
    for (; p + KC <= k; p += KC) {
#if MMA
        __asm__ volatile("cp.async.wait_group %0;"
                         :
                         : "n"(BUFFERS - 2)
                         : "memory");
        barrier(CLK_LOCAL_MEM_FENCE);
        if (p + BUFFERS * KC <= k) {
            const int ahead = (slot + BUFFERS - 1) % BUFFERS;
            start(tile_a[ahead], &of_a, TM);
            start(tile_b[ahead], &of_b, TN);
        }
        __asm__ volatile("cp.async.commit_group;" : : : "memory");
#else
        put_all(tile_a[slot], next_a, &of_a, TM);
        put_all(tile_b[slot], next_b, &of_b, TN);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (p + 2 * KC <= k) { /* while this one is computed */
            next_step(next_a, &of_a, TM);
            next_step(next_b, &of_b, TN);
        }
#endif
#pragma unroll
        for (int y = 0; y < KC; y += DEEP) {
            multiply(sums, tile_a[slot] + y * PITCH_A,
                     tile_b[slot] + y * PITCH_B, ty, tx);
        }
#if BUFFERS > 1
        slot = (slot + 1) % BUFFERS; /* where no item reads any more */
#else
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    return p;
}

/* Write the sums of item (ty, tx) of a tile. */
INLINE void write(const target *t, parts (*sums)[RN / V], int ty, int tx)
{
#pragma unroll
    for (int i = 0; i < RM; i++) {
#pragma unroll
        for (int j = 0; j < RN; j++) {
            const int row = row_of(ty, i), col = col_of(tx, j);
            if (row < t->m && col < t->n) {
                store(t, t->start + row * t->stride + col,
                      (pair)(sums[i][j / V].part[j % V]));
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(WN, WM, 1))) void
gemm(long m, long n, long k, __global const stored *restrict a, long a_start,
     long a_rows, long a_cols, __global const stored *restrict b, long b_start,
     long b_rows, long b_cols, __global void *restrict c, long c_start,
     long c_rows, pair alpha, pair beta, int flags)
{
    __local REAL tile_a[BUFFERS][KC * PITCH_A] __attribute__((aligned(64)));
    __local REAL tile_b[BUFFERS][KC * PITCH_B] __attribute__((aligned(64)));
    const int2 place = place_of_group();
    const long row = (long)place.y * TM;
    const long col = (long)place.x * TN;
    const operand left = {
        a + a_start + row * a_rows, a_rows, a_cols, m - row, k, false};
    const operand right = {
        b + b_start + col * b_cols, b_cols, b_rows, n - col, k, false};
    const target to = {c,       c_start + row * c_rows + col,
                       c_rows,  m - row,
                       n - col, alpha,
                       beta,    flags};
    const int item = get_local_id(1) * WN + get_local_id(0);
    const int tx = item / 32 % (WN / 4) * 4 + item % 4;
    const int ty = item / 32 / (WN / 4) * 8 + item % 32 / 4;
    parts sums[RM][RN / V];
#pragma unroll
    for (int i = 0; i < RM; i++) {
#pragma unroll
        for (int j = 0; j < RN / V; j++) {
            sums[i][j].whole = 0;
        }
    }
    long p = 0;
    if (is_whole(&left, TM) && is_whole(&right, TN) && k >= KC) {
        p = walk(sums, &left, &right, tile_a, tile_b, item, ty, tx);
    }
    for (; p < k; p += KC) {
        barrier(CLK_LOCAL_MEM_FENCE);
        bring(tile_a[0], &left, TM, p, item);
        bring(tile_b[0], &right, TN, p, item);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
        for (int y = 0; y < KC; y += DEEP) {
            multiply(sums, tile_a[0] + y * PITCH_A, tile_b[0] + y * PITCH_B, ty,
                     tx);
        }
    }
    write(&to, sums, ty, tx);
}
