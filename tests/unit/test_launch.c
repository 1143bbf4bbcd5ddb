/* SPDX-License-Identifier: MIT */
/* Kernels of one source on the accelerators of argv[1]: every rank, odd
 * extents, every kind of parameter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "arrays/launch.h"
#include "support/bed.h"

extern const hr_kernel axpy, transpose, transpose_tiled, box, tile_sums, mixed,
    scaled;
/* tests/kernels/names.c */
extern const hr_kernel step, dot, mix, normalize, clamp, half, image2d_t,
    float4, gemm, new, global;

typedef struct point {
    float x;
    int n;
} point;

static void number_array(bed *b, float *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        data[i] = (float)random_between(&b->random, -1000, 1000);
    }
}

static void integers(bed *b, int *data, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        data[i] = (int)random_between(&b->random, -1000000, 1000000);
    }
}

/* ---- rank 1 */

static void vectors(bed *b, int64_t n)
{
    TEST_CASE("a vector plus another, with a number and a struct");
    float *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    float *want = calloc((size_t)n, sizeof *want);
    const float a = 3.0f;
    const point p = {0.5f, 6};
    number_array(b, x, n);
    number_array(b, y, n);
    memcpy(want, y, (size_t)n * sizeof *want);
    hr_array *ax = bed_wrap(b, x, 4, hr_extent1(n));
    hr_array *ay = bed_wrap(b, y, 4, hr_extent1(n));
    const hr_argument arguments[] = {
        hr_in(hr_view_of(ax)), hr_inout(hr_view_of(ay)), hr_value(&a, sizeof a),
        hr_value(&p, sizeof p)};
    for (uint32_t i = 0; i < b->count; i++) { /* one after the other */
        CHECK(hr_launch(b->queues[i], &axpy, hr_extent1(n), NULL, arguments,
                        4) == HR_OK);
        for (int64_t e = 0; e < n; e++) { /* all of it is exact */
            want[e] = want[e] + a * x[e] + 3.0f;
        }
    }
    CHECK(hr_synchronize(hr_view_of(ay)) == HR_OK);
    CHECK(memcmp(want, y, (size_t)n * sizeof *want) == 0);
    hr_array_destroy(ax);
    hr_array_destroy(ay);
    free(x);
    free(y);
    free(want);
}

static void sums(bed *b, int64_t n, int64_t tile)
{
    TEST_CASE("sums of tiles, in memory that is sized at launch");
    int64_t tiles = (n + tile - 1) / tile;
    int *data = calloc((size_t)n, sizeof *data);
    int *out = calloc((size_t)tiles, sizeof *out);
    const hr_extent size = hr_extent1(tile);
    integers(b, data, n);
    hr_array *from = bed_wrap(b, data, 4, hr_extent1(n));
    hr_array *to = bed_wrap(b, out, 4, hr_extent1(tiles));
    const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to)),
                                     hr_tile_bytes((size_t)tile * sizeof(int))};
    for (uint32_t i = 0; i < b->count; i++) {
        memset(out, 0, (size_t)tiles * sizeof *out);
        CHECK(hr_invalidate(hr_view_of(to)) == HR_OK);
        CHECK(hr_launch(b->queues[i], &tile_sums, hr_extent1(n), &size,
                        arguments, 3) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
        int ok = 1;
        for (int64_t t = 0; t < tiles; t++) {
            int sum = 0;
            for (int64_t e = t * tile; e < n && e < (t + 1) * tile; e++) {
                sum += data[e];
            }
            ok = ok && out[t] == sum;
        }
        CHECK(ok);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
    free(data);
    free(out);
}

static void functions(bed *b)
{
    TEST_CASE("functions, mathematics and items that end early");
    enum { N = 1001 };
    static float a[N], c[N];
    const float part = 0.25f;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i * i); /* its root is exact */
    }
    hr_array *from = bed_wrap(b, a, 4, hr_extent1(N));
    hr_array *to = bed_wrap(b, c, 4, hr_extent1(N));
    const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to)),
                                     hr_value(&part, sizeof part)};
    for (uint32_t q = 0; q < b->count; q++) {
        CHECK(hr_launch(b->queues[q], &mixed, hr_extent1(N), NULL, arguments,
                        3) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
        int ok = 1;
        for (int i = 0; i < N; i++) {
            double want = i % 3 == 0 ? 0.0 : a[i] + (i - (double)a[i]) * part;
            ok = ok && fabs(c[i] - want) <= 4e-7 * a[i];
        }
        CHECK(ok);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static void names(bed *b)
{
    static const hr_kernel *const kernels[] = {
        &step,      NULL,    &mix,  &normalize, &clamp, &half,
        &image2d_t, &float4, &gemm, &new,       &global};
    TEST_CASE("names that compilers use themselves");
    enum { N = 10, KERNELS = sizeof kernels / sizeof kernels[0] };
    static int data[N], two = 2;
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(N));
    hr_array *one = bed_wrap(b, &two, 4, hr_extent1(1));
    hr_view v = hr_view_of(array), square;
    CHECK(hr_view_reshape(v, hr_extent2(2, N / 2), &square) == HR_OK);
    const hr_argument argument = hr_inout(v);
    const hr_argument both[] = {hr_inout(square), hr_in(hr_view_of(one))};
    for (uint32_t q = 0; q < b->count; q++) {
        for (int i = 0; i < KERNELS; i++) {
            hr_queue *queue = b->queues[q];
            CHECK((kernels[i] == NULL
                       ? hr_launch(queue, &dot, square.extent, NULL, both, 2)
                       : hr_launch(queue, kernels[i], hr_extent1(N), NULL,
                                   &argument, 1)) == HR_OK);
        }
    }
    CHECK(hr_synchronize(v) == HR_OK);
    int ok = 1;
    for (int i = 0; i < N; i++) {
        ok = ok && data[i] == (int)b->count * (KERNELS * (KERNELS + 1) / 2);
    }
    CHECK(ok);
    hr_array_destroy(array);
    hr_array_destroy(one);
}

static void definitions(bed *b)
{
    TEST_CASE("what the build defines");
    static int data[10];
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(10));
    const hr_argument argument = hr_inout(hr_view_of(array));
    int want = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_launch(b->queues[i], &scaled, hr_extent1(10), NULL, &argument,
                        1) == HR_OK);
        want = 3 * want + (int)sizeof("ab") + 1 + 40;
    }
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(data[0] == want && data[9] == want);
    hr_array_destroy(array);
}

/* ---- rank 2 */

static void pack(bed *b, const hr_kernel *kernel, int64_t rows, int64_t cols,
                 const hr_extent *tile)
{
    size_t count = (size_t)(rows * cols);
    int *data = calloc(count, sizeof *data), *out = calloc(count, sizeof *out);
    integers(b, data, rows * cols);
    hr_array *from = bed_wrap(b, data, 4, hr_extent2(rows, cols));
    hr_array *to = bed_wrap(b, out, 4, hr_extent2(cols, rows));
    const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to))};
    for (uint32_t i = 0; i < b->count; i++) {
        memset(out, 0, count * sizeof *out);
        CHECK(hr_invalidate(hr_view_of(to)) == HR_OK);
        CHECK(hr_launch(b->queues[i], kernel, hr_extent2(cols, rows), tile,
                        arguments, 2) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
        int ok = 1;
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < cols; c++) {
                ok = ok && out[c * rows + r] == data[r * cols + c];
            }
        }
        CHECK(ok);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
    free(data);
    free(out);
}

static void matrices(bed *b)
{
    const hr_extent eight = hr_extent2(8, 8), odd = hr_extent2(3, 7);
    TEST_CASE("transposes, also of extents that no tile divides");
    pack(b, &transpose, 1, 1, NULL);
    pack(b, &transpose, 37, 53, NULL);
    pack(b, &transpose, 64, 2000, NULL);
    pack(b, &transpose, 40, 41, &odd);
    pack(b, &transpose_tiled, 8, 8, &eight);
    pack(b, &transpose_tiled, 1, 17, &eight);
    pack(b, &transpose_tiled, 100, 203, &eight);
}

static void sections(bed *b)
{
    TEST_CASE("sections on different accelerators at once");
    enum { ROWS = 60, COLS = 31 };
    static int data[ROWS][COLS], out[COLS][ROWS];
    integers(b, &data[0][0], (int64_t)ROWS * COLS);
    hr_array *from = bed_wrap(b, data, 4, hr_extent2(ROWS, COLS));
    hr_array *to = bed_wrap(b, out, 4, hr_extent2(COLS, ROWS));
    hr_traffic before = hr_context_traffic(b->context);
    for (uint32_t i = 0; i < b->count; i++) {
        int64_t first = ROWS * i / b->count, last = ROWS * (i + 1) / b->count;
        const int64_t in[] = {first, 0}, at[] = {0, first};
        hr_view rows, cols;
        CHECK(hr_view_section(hr_view_of(from), in,
                              hr_extent2(last - first, COLS), &rows) == HR_OK);
        CHECK(hr_view_section(hr_view_of(to), at,
                              hr_extent2(COLS, last - first), &cols) == HR_OK);
        const hr_argument arguments[] = {hr_in(rows), hr_out(cols)};
        CHECK(hr_launch(b->queues[i], &transpose, cols.extent, NULL, arguments,
                        2) == HR_OK);
    }
    CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
    hr_traffic after = hr_context_traffic(b->context);
    int ok = 1;
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < COLS; c++) {
            ok = ok && out[c][r] == data[r][c];
        }
    }
    CHECK(ok);
    CHECK(after.up - before.up <= sizeof data);
    CHECK(after.down - before.down <= sizeof data);
    hr_array_destroy(from);
    hr_array_destroy(to);
}

/* ---- rank 3 */

static double at(const double *data, int64_t z, int64_t y, int64_t x)
{
    bool inside = z >= 0 && z < 5 && y >= 0 && y < 9 && x >= 0 && x < 13;
    return inside ? data[(z * 9 + y) * 13 + x] : 0.0;
}

static void cubes(bed *b)
{
    TEST_CASE("neighbours in three dimensions");
    static double data[5 * 9 * 13], out[5 * 9 * 13];
    const int reach = 2;
    for (int i = 0; i < 5 * 9 * 13; i++) {
        data[i] = (double)random_between(&b->random, -1000, 1000);
    }
    hr_array *from = bed_wrap(b, data, 8, hr_extent3(5, 9, 13));
    hr_array *to = bed_wrap(b, out, 8, hr_extent3(5, 9, 13));
    const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to)),
                                     hr_value(&reach, sizeof reach)};
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_launch(b->queues[i], &box, hr_extent3(5, 9, 13), NULL,
                        arguments, 3) == HR_OK);
        CHECK(hr_synchronize(hr_view_of(to)) == HR_OK);
        int ok = 1;
        for (int64_t z = 0; z < 5; z++) {
            for (int64_t y = 0; y < 9; y++) {
                for (int64_t x = 0; x < 13; x++) {
                    double want = 0.0;
                    for (int d = -reach; d <= reach; d++) {
                        want += at(data, z + d, y, x) + at(data, z, y + d, x) +
                                at(data, z, y, x + d);
                    }
                    ok = ok && out[(z * 9 + y) * 13 + x] == want;
                }
            }
        }
        CHECK(ok);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static const struct {
    hr_extent domain;
    int64_t step[3], tile[3];
} chosen_tiles[] = {
    {{1, {7}}, {1, 1, 1}, {256, 1, 1}},
    {{2, {9, 5000}}, {1, 1, 1}, {8, 32, 1}},
    {{3, {64, 64, 64}}, {1, 1, 1}, {1, 8, 32}},
    {{3, {64, 64, 17}}, {1, 1, 1}, {1, 8, 32}},
    {{3, {64, 64, 16}}, {1, 1, 1}, {1, 16, 16}},
    {{3, {64, 640, 3}}, {1, 1, 1}, {1, 64, 4}},
    {{3, {64, 5, 3}}, {1, 1, 1}, {8, 8, 4}},
    {{3, {640, 1, 1}}, {1, 1, 1}, {64, 4, 1}},
    {{3, {64, 38, 64}}, {1, 19, 1}, {4, 2, 32}},
};

/* The tile of a launch that names none, on a device that is not the host: 256
 * items, in rows as long as the domain has use for. */
static void tiles_are_chosen(void)
{
    TEST_CASE("the tile of a launch that names none");
    const hr_kernel kernel = {.name = "none"};
    for (size_t i = 0; i < sizeof chosen_tiles / sizeof chosen_tiles[0]; i++) {
        hri_launch launch = {.kernel = &kernel};
        hri_launch_box points = hri_launch_box_of(chosen_tiles[i].domain);
        for (uint32_t d = 0; d < chosen_tiles[i].domain.rank; d++) {
            points.step[d] = chosen_tiles[i].step[d];
        }
        CHECK(hri_tile_choose(&launch, &points, false) == HR_OK);
        for (int d = 0; d < 3; d++) {
            if (!CHECK(launch.domain.tile[d] == chosen_tiles[i].tile[d])) {
                fprintf(stderr, "  case %zu: %lld in dimension %d\n", i,
                        (long long)launch.domain.tile[d], d);
            }
        }
    }
}

static void all_cases(bed *b)
{
    TEST(vectors(b, 1));
    TEST(vectors(b, 1000003));
    TEST(sums(b, 1000, 64));
    TEST(sums(b, 7, 16));
    TEST(functions(b));
    TEST(names(b));
    TEST(definitions(b));
    TEST(matrices(b));
    TEST(sections(b));
    TEST(cubes(b));
    TEST(tiles_are_chosen());
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "2xhost", all_cases);
}
