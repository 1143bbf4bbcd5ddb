/* SPDX-License-Identifier: MIT */
/* Sums of products of residues: for each modulus m, element (i, j) of the
 * result is the sum over p of a[m][i][p] * b[m][j][p], modulo the modulus. */

/* What the kernels are given: rows x cols elements from the lines (row, col) of
 * panels that have a_blocks and b_blocks blocks of 64 lines. The lines have
 * `steps` blocks of 128 bytes. Results lie as [modulus][rows][cols]. */
struct task {
    i32 row, rows, a_blocks, col, cols, b_blocks, steps;
    const u8 *a, *b;
    u8 *to;
};

/* The block of a panel that begins at a line. Behind the last one, where
 * results are not written, it is the last one. */
FN const u8 *block_at(const u8 *from, i32 m, i32 blocks, i32 line, i32 steps)
{
    const i32 block = line / 64 < blocks ? line / 64 : blocks - 1;
    return from + ((i64)m * blocks + block) * steps * 8192;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* For Hopper's tensor cores. A block of threads stays on its multiprocessor and
 * makes one tile of 128 x 256 after another. The first 128 threads bring blocks
 * of residues to shared memory, SLOTS of them ahead. Two groups of 128 threads
 * multiply 64 rows each.
 *
 * Neighbouring tiles share lines: tiles are walked down columns in bands of BAND
 * tiles, so that both operands stay in the second-level cache. */
enum { TILE_ROWS = 128, TILE_COLS = 256, SLOTS = 4, BAND = 8 };
enum { BLOCK = 8192, SLOT = 6 * BLOCK, SUMS = 128 };

FN u32 shared_address(const void *p)
{
    return (u32)__cvta_generic_to_shared(p);
}

FN void wait_for(u32 barrier, u32 phase)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra over;\n"
                 "bra again;\n"
                 "over:\n"
                 "}" ::"r"(barrier),
                 "r"(phase)
                 : "memory");
}

FN void arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
                 : "memory");
}

FN void expect(u32 barrier, u32 bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
        "r"(bytes)
        : "memory");
}

FN void bring(u32 to, const u8 *from, u32 barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                 "bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(BLOCK), "r"(barrier)
                 : "memory");
}

/* Where the tensor cores find 8 x 128 bytes after 8 x 128 bytes. */
FN u64 describe(u32 address)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)64 << 32 |
           (u64)1 << 62;
}

#define EIGHT(d, i)                                                            \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]),                \
        "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), "+r"(d[i + 7])

/* sums := rows times columns over 32 bytes, plus the old sums unless `first`. */
FN void multiply(i32 (&d)[SUMS], u64 rows, u64 columns, int adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {"
        "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
        "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
        "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
        "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
        "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,"
        "%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,"
        "%123,%124,%125,%126,%127}, %128, %129, adds;\n"
        "}"
        : EIGHT(d, 0), EIGHT(d, 8), EIGHT(d, 16), EIGHT(d, 24), EIGHT(d, 32),
          EIGHT(d, 40), EIGHT(d, 48), EIGHT(d, 56), EIGHT(d, 64), EIGHT(d, 72),
          EIGHT(d, 80), EIGHT(d, 88), EIGHT(d, 96), EIGHT(d, 104),
          EIGHT(d, 112), EIGHT(d, 120)
        : "l"(rows), "l"(columns), "r"(adds));
}

/* A tile of the task: modulus, and its first row and column there. */
struct place {
    i32 m, row, col;
};

FN place place_of(const task &t, i32 number)
{
    const i32 down = (t.rows + TILE_ROWS - 1) / TILE_ROWS;
    const i32 across = (t.cols + TILE_COLS - 1) / TILE_COLS;
    const i32 in = number % (down * across);
    const i32 band = in / (BAND * across), rest = in % (BAND * across);
    const i32 high = min(BAND, down - band * BAND);
    return {number / (down * across),
            (band * BAND + rest % high) * TILE_ROWS, rest / high * TILE_COLS};
}

/* Write 8 columns of a row from the four threads that have two each: v[e] has
 * those of the thread's columns 8 e. Thread `lane` of four writes block e =
 * lane. */
FN void write_row(const u32 (&v)[4], int lane, u8 *to, i32 left, bool fast)
{
    u32 given[4];
#pragma unroll
    for (int step = 0; step < 4; step++) { /* of thread lane ^ step */
        const int other = lane ^ step;
        const u32 mine = other == 0   ? v[0]
                         : other == 1 ? v[1]
                         : other == 2 ? v[2]
                                      : v[3];
        given[step] = __shfl_xor_sync(~0u, mine, step);
    }
    u32 pair[4]; /* of thread 0, 1, 2, 3 */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int step = lane ^ i;
        pair[i] = step == 0   ? given[0]
                  : step == 1 ? given[1]
                  : step == 2 ? given[2]
                              : given[3];
    }
    if (fast) {
        *(uint2 *)(to + lane * 8) =
            make_uint2(pair[0] | pair[1] << 16, pair[2] | pair[3] << 16);
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (lane * 8 + i < left) {
            to[lane * 8 + i] = (u8)(pair[i / 2] >> (i % 2 * 8));
        }
    }
}

FN void store_tile(const precise_form *form, const task &t, const place &p,
                   i32 (&d)[SUMS], int group, int thread)
{
    const int lane = thread % 4;
    const int row = p.row + group * 64 + thread / 32 * 16 + thread % 32 / 4;
    const bool fast = t.cols % 8 == 0 && p.col + TILE_COLS <= t.cols;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const i32 r = row + 8 * i;
        u8 *to = t.to + ((i64)p.m * t.rows + r) * t.cols + p.col;
#pragma unroll
        for (int j = 0; j < TILE_COLS / 8; j += 4) {
            u32 v[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int at = (j + e) * 4 + i * 2;
                v[e] = precise_reduce(form, p.m, d[at]) |
                       precise_reduce(form, p.m, d[at + 1]) << 8;
            }
            write_row(v, lane, to + j * 8,
                      r < t.rows ? t.cols - p.col - j * 8 : 0,
                      fast && r < t.rows);
        }
    }
}

KERNEL void __launch_bounds__(384, 1)
    multiply_residues(FORM, const __grid_constant__ task t, i32 tiles)
{
    FORM_POINTER;
    extern __shared__ u8 memory[];
    __shared__ __align__(8) u64 full[SLOTS], empty[SLOTS];
    const u32 slots = (shared_address(memory) + 1023) & ~1023u;
    const int thread = (int)threadIdx.x, group = thread / 128;
    int slot = 0;
    u32 phase = 0;
    if (thread == 0) {
        for (int s = 0; s < SLOTS; s++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(
                shared_address(&full[s])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(
                shared_address(&empty[s])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (i32 n = (i32)blockIdx.x; n < tiles && thread == 0;
             n += (i32)gridDim.x) {
            const place p = place_of(t, n);
            const u8 *from[6];
#pragma unroll
            for (int i = 0; i < 6; i++) {
                from[i] = i < 2 ? block_at(t.a, p.m, t.a_blocks,
                                           t.row + p.row + 64 * i, t.steps)
                                : block_at(t.b, p.m, t.b_blocks,
                                           t.col + p.col + 64 * (i - 2),
                                           t.steps);
            }
            for (i32 k = 0; k < t.steps; k++) {
                const u32 ready = shared_address(&full[slot]);
                wait_for(shared_address(&empty[slot]), phase ^ 1);
                expect(ready, SLOT);
#pragma unroll
                for (int i = 0; i < 6; i++) {
                    bring(slots + (u32)(slot * SLOT + i * BLOCK),
                          from[i] + (i64)k * BLOCK, ready);
                }
                slot = slot + 1 < SLOTS ? slot + 1 : 0;
                phase ^= slot == 0;
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    i32 d[SUMS];
    for (i32 n = (i32)blockIdx.x; n < tiles; n += (i32)gridDim.x) {
        const place p = place_of(t, n);
        int before = -1;
        for (i32 k = 0; k < t.steps; k++) {
            wait_for(shared_address(&full[slot]), phase);
            const u32 here = slots + (u32)(slot * SLOT);
            const u64 rows = describe(here + (u32)((group - 1) * BLOCK));
            const u64 columns = describe(here + 2 * BLOCK);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (int q = 0; q < 4; q++) { /* of 32 bytes, in units of 16 */
                multiply(d, rows + 2 * q, columns + 2 * q, k | q);
            }
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
            if (before >= 0 && thread % 128 == 0) {
                arrive(shared_address(&empty[before]));
            }
            before = slot;
            slot = slot + 1 < SLOTS ? slot + 1 : 0;
            phase ^= slot == 0;
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (thread % 128 == 0) {
            arrive(shared_address(&empty[before]));
        }
        store_tile(form, t, p, d, group - 1, thread % 128);
    }
}

#else

/* For other GPUs. A block of 16 x 16 threads makes a tile of 64 x 64 elements,
 * and a thread 4 x 4 of them. It walks along the lines in steps of 32 bytes. */
enum { EDGE = 64, PER_THREAD = 4, WORDS = 8, SIDE = 16 };

FN i32 dot_of_four(u32 x, u32 y, i32 sum)
{
    i32 result;
    asm("dp4a.s32.s32 %0, %1, %2, %3;"
        : "=r"(result)
        : "r"(x), "r"(y), "r"(sum));
    return result;
}

/* Bring `WORDS` words of the lines of a block. */
FN void bring(u32 *tile, const u8 *block, i32 first)
{
    for (int i = (int)threadIdx.x; i < EDGE * WORDS; i += ITEMS) {
        const int line = i / WORDS, word = i % WORDS;
        tile[word * (EDGE + 1) + line] =
            *(const u32 *)(block +
                           RESIDUE(0, 64, 1 << 30, line, (first + word) * 4));
    }
}

KERNEL void __launch_bounds__(256)
    multiply_residues(FORM, const __grid_constant__ task t, i32 tiles)
{
    FORM_POINTER;
    __shared__ u32 left[WORDS * (EDGE + 1)], right[WORDS * (EDGE + 1)];
    const i32 across = (t.cols + EDGE - 1) / EDGE;
    const i32 down = (t.rows + EDGE - 1) / EDGE;
    const int m = (int)blockIdx.x / (down * across);
    const i32 i0 = (i32)blockIdx.x % (down * across) / across * EDGE;
    const i32 j0 = (i32)blockIdx.x % across * EDGE;
    const int i = (int)threadIdx.x / SIDE, j = (int)threadIdx.x % SIDE;
    const u8 *x = block_at(t.a, m, t.a_blocks, t.row + i0, t.steps);
    const u8 *y = block_at(t.b, m, t.b_blocks, t.col + j0, t.steps);
    i32 sums[PER_THREAD][PER_THREAD] = {};
    for (i32 first = 0; first < t.steps * 32; first += WORDS) {
        bring(left, x, first);
        bring(right, y, first);
        __syncthreads();
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
#pragma unroll
            for (int r = 0; r < PER_THREAD; r++) {
                const u32 own = left[w * (EDGE + 1) + i + r * SIDE];
#pragma unroll
                for (int s = 0; s < PER_THREAD; s++) {
                    sums[r][s] = dot_of_four(
                        own, right[w * (EDGE + 1) + j + s * SIDE], sums[r][s]);
                }
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < PER_THREAD; r++) {
        for (int s = 0; s < PER_THREAD; s++) {
            const i32 at_row = i0 + i + r * SIDE, at_col = j0 + j + s * SIDE;
            if (at_row < t.rows && at_col < t.cols) {
                t.to[((i64)m * t.rows + at_row) * t.cols + at_col] =
                    (u8)precise_reduce(form, m, sums[r][s]);
            }
        }
    }
}

#endif
