/* SPDX-License-Identifier: MIT */
/* Sums of products of residues: for each modulus m, element (i, j) of the
 * result is the sum over p of a[m][i][p] * b[m][j][p], modulo the modulus.
 *
 * A group of 16 x 16 items has a tile of 64 x 64 elements, and an item 4 x 4 of
 * them. It walks along the lines in steps of 32 bytes, which go to local
 * memory. */
enum { EDGE = 64, PER_ITEM = 4, WORDS = 8, SIDE = 16 };

FN int dot_of_four(u32 x, u32 y, int sum)
{
#ifdef __opencl_c_integer_dot_product_input_4x8bit_packed
    return sum + dot_4x8packed_ss_int(x, y);
#else
    const char4 a = as_char4(x), b = as_char4(y);
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
#endif
}

/* The words of a tile's lines. Those beyond the last line are 0. */
FN void bring(__local u32 *tile, __global const u32 *from, i32 lines, i32 words,
              i32 first)
{
    for (int i = (int)ITEM; i < EDGE * WORDS; i += ITEMS) {
        const int line = i / WORDS, word = i % WORDS;
        tile[word * (EDGE + 1) + line] =
            line < lines && first + word < words
                ? from[(i64)line * words + first + word]
                : 0;
    }
}

/* rows x cols elements from the places (row, col) of panels of a_lines and
 * b_lines lines. Group (x, y, m). */
__kernel void multiply_residues(FORM, i32 row, i32 rows, i32 a_lines,
                                i32 col, i32 cols, i32 b_lines, i32 width,
                                __global const u32 *a, i64 a_start,
                                __global const u32 *b, i64 b_start,
                                __global u8 *to, i64 to_start)
{
    __local u32 left[WORDS * (EDGE + 1)], right[WORDS * (EDGE + 1)];
    const int item = (int)ITEM, m = (int)GROUP(2);
    const i32 i0 = (i32)GROUP(1) * EDGE, j0 = (i32)GROUP(0) * EDGE;
    const i32 words = width / 4;
    const int i = item / SIDE, j = item % SIDE;
    __global const u32 *x = a + a_start + ((i64)m * a_lines + row + i0) * words;
    __global const u32 *y = b + b_start + ((i64)m * b_lines + col + j0) * words;
    int sums[PER_ITEM][PER_ITEM];
    for (int r = 0; r < PER_ITEM; r++) {
        for (int s = 0; s < PER_ITEM; s++) {
            sums[r][s] = 0;
        }
    }
    for (i32 first = 0; first < words; first += WORDS) {
        bring(left, x, rows - i0, words, first);
        bring(right, y, cols - j0, words, first);
        BARRIER;
        for (int w = 0; w < WORDS; w++) {
            for (int r = 0; r < PER_ITEM; r++) {
                const u32 own = left[w * (EDGE + 1) + i + r * SIDE];
                for (int s = 0; s < PER_ITEM; s++) {
                    sums[r][s] = dot_of_four(
                        own, right[w * (EDGE + 1) + j + s * SIDE], sums[r][s]);
                }
            }
        }
        BARRIER;
    }
    for (int r = 0; r < PER_ITEM; r++) {
        for (int s = 0; s < PER_ITEM; s++) {
            const i32 at_row = i0 + i + r * SIDE, at_col = j0 + j + s * SIDE;
            if (at_row < rows && at_col < cols) {
                to[to_start + ((i64)m * rows + at_row) * cols + at_col] =
                    (u8)precise_reduce(form, m, sums[r][s]);
            }
        }
    }
}
