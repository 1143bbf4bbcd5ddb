/* SPDX-License-Identifier: MIT */
/* The dialect beside views and barriers, on the accelerators of argv[1]:
 * numbers of every type, sub-groups of any width, atomics, half precision,
 * complex numbers, mathematics, tables, blocks of items behind if and else. */
#include <math.h>

#include "support/bed.h"

extern const hr_kernel integers, longs, values, subgroups_int,
    subgroups_unsigned, subgroups_long, subgroups_float, subgroups_double,
    atomics_int, atomics_unsigned, atomics_float, atomics_long, atomics_double,
    bits_int, bits_unsigned, bits_long, tile_atomics_int, tile_atomics_unsigned,
    tile_atomics_float, tile_atomics_long, tile_atomics_double, tile_bits_int,
    tile_bits_unsigned, tile_bits_long, histogram, halves, narrowed,
    complex_single, complex_double, fast, precise, smoothed, either1, either2,
    either3;

static hr_queue *queue; /* of the accelerator that is tested */

/* Run over n points, bring the views home, and forget the arrays of views. */
static void run_kernel(const hr_kernel *kernel, int64_t n,
                       const hr_extent *tile, const hr_argument *arguments,
                       size_t count)
{
    CHECK(hr_launch(queue, kernel, hr_extent1(n), tile, arguments, count) ==
          HR_OK);
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].kind != HR_PARAMETER_VIEW) {
            continue;
        }
        if (arguments[i].access != HR_IN) {
            CHECK(hr_synchronize(arguments[i].view) == HR_OK);
        }
        hr_array_destroy(arguments[i].view.array);
    }
}

#define IN(data, extent)                                                       \
    hr_in(hr_view_of(bed_wrap(b, data, sizeof *(data), extent)))
#define OUT(data, extent)                                                      \
    hr_out(hr_view_of(bed_wrap(b, data, sizeof *(data), extent)))
#define INOUT(data, extent)                                                    \
    hr_inout(hr_view_of(bed_wrap(b, data, sizeof *(data), extent)))

/* ---- numbers of every type */

static void use_every_type(bed *b)
{
    TEST_CASE("views and values of every type");
    enum { N = 77 };
    static signed char c[N];
    static unsigned char uc[N];
    static short s[N];
    static unsigned short us[N];
    static int i[N];
    static unsigned u[N];
    static uint64_t ul[N];
    static int64_t sum[N];
    static double total[N];
    for (int k = 0; k < N; k++) {
        c[k] = (signed char)(k - 40);
        uc[k] = (unsigned char)(200 + k % 50);
        s[k] = (short)(-30000 + k);
        us[k] = (unsigned short)(60000 + k);
        i[k] = -2000000000 + k;
        u[k] = 4000000000u + (unsigned)k;
        ul[k] = 1000000000000u + (uint64_t)k;
    }
    const hr_extent n = hr_extent1(N);
    const hr_argument views[] = {IN(c, n), IN(uc, n), IN(s, n),  IN(us, n),
                                 IN(i, n), IN(u, n),  IN(ul, n), OUT(sum, n)};
    run_kernel(&integers, N, NULL, views, 8);
    static int64_t wide[N];
    const int64_t less = -12345678901;
    const hr_argument longer[] = {IN(ul, n), hr_value(&less, sizeof less),
                                  OUT(wide, n)};
    run_kernel(&longs, N, NULL, longer, 3);
    struct {
        char a;
        short b;
        double c;
        int64_t d;
    } g = {1, 2, 0.5, 40000000000};
    const signed char va = -7;
    const short vb = 1000;
    const unsigned vc = 3000000000u;
    const int64_t vd = -5000000000;
    const float ve = 0.25f;
    const double vf = 0.125;
    const hr_argument numbers[] = {
        hr_value(&va, sizeof va), hr_value(&vb, sizeof vb),
        hr_value(&vc, sizeof vc), hr_value(&vd, sizeof vd),
        hr_value(&ve, sizeof ve), hr_value(&vf, sizeof vf),
        hr_value(&g, sizeof g),   OUT(total, n)};
    run_kernel(&values, N, NULL, numbers, 8);
    for (int k = 0; k < N; k++) {
        CHECK(sum[k] == (int64_t)c[k] + uc[k] + s[k] + us[k] + i[k] +
                            (int64_t)u[k] + (int64_t)ul[k]);
        CHECK(wide[k] == (int64_t)(ul[k] ^ 0xff) + less + 7);
        CHECK(total[k] == -7 + 1000 + 3e9 - 5e9 + 0.375 + 3.5 + 4e10 + k);
    }
}

/* ---- sub-groups */

/* A type of numbers. Doubles hold all values that are used here. */
typedef struct kind {
    size_t bytes;
    double (*get)(const void *data, int64_t i);
    void (*set)(void *data, int64_t i, double value);
} kind;

#define KIND(name, type)                                                       \
    static double get_##name(const void *data, int64_t i)                      \
    {                                                                          \
        return (double)((const type *)data)[i];                                \
    }                                                                          \
    static void set_##name(void *data, int64_t i, double value)                \
    {                                                                          \
        ((type *)data)[i] = (type)value;                                       \
    }                                                                          \
    static const kind name##_kind = {sizeof(type), get_##name, set_##name};
KIND(int, int)
KIND(unsigned, unsigned)
KIND(long, int64_t)
KIND(float, float)
KIND(double, double)

enum { HEARD = 7, MAX_ITEMS = 600 };

/* Whether item i received its neighbours' values. */
static int has_heard(const kind *k, const void *x, const void *out, int64_t i,
                     int64_t tile)
{
    double o[HEARD], sum = 0.0, least = 0.0, most = 0.0;
    for (int c = 0; c < HEARD; c++) {
        o[c] = k->get(out, i * HEARD + c);
    }
    const int64_t width = (int64_t)o[0], lane = (int64_t)o[1], first = i - lane;
    const int64_t end = i / tile * tile + tile;
    if (width < 1 || lane < 0 || lane >= width || first / tile != i / tile ||
        first + width > end) {
        return 0;
    }
    for (int64_t l = 0; l < width; l++) {
        double value = k->get(x, first + l);
        sum += value;
        least = l == 0 || value < least ? value : least;
        most = l == 0 || value > most ? value : most;
    }
    return o[2] == k->get(x, first + width - 1) &&
           o[3] == k->get(x, first + width - 1 - lane) && o[4] == sum &&
           o[5] == least && o[6] == most;
}

static void use_subgroups(bed *b, const hr_kernel *kernel, const kind *k,
                          int64_t n, int64_t tile)
{
    static int64_t x[MAX_ITEMS], out[MAX_ITEMS * HEARD]; /* room for any type */
    const hr_extent items = hr_extent1(tile);
    memset(x, 0, sizeof x);
    for (int64_t i = 0; i < n; i++) {
        k->set(x, i, (double)random_between(&b->random, 1, 1000));
    }
    const hr_argument arguments[] = {
        hr_in(hr_view_of(bed_wrap(b, x, k->bytes, hr_extent1(n)))),
        hr_out(hr_view_of(bed_wrap(b, out, k->bytes, hr_extent2(n, HEARD))))};
    run_kernel(kernel, n, &items, arguments, 2);
    int ok = 1;
    for (int64_t i = 0; i < n; i++) {
        ok = ok && has_heard(k, x, out, i, tile);
    }
    CHECK(ok);
    printf("width %g with tiles of %lld\n", k->get(out, 0), (long long)tile);
}

static void use_all_subgroups(bed *b)
{
    static const struct {
        const hr_kernel *kernel;
        const kind *kind;
    } of[] = {{&subgroups_int, &int_kind},
              {&subgroups_unsigned, &unsigned_kind},
              {&subgroups_long, &long_kind},
              {&subgroups_float, &float_kind},
              {&subgroups_double, &double_kind}};
    TEST_CASE("sub-groups");
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        use_subgroups(b, of[i].kernel, of[i].kind, 512, 128);
        use_subgroups(b, of[i].kernel, of[i].kind, 100, 50); /* parts of one */
        use_subgroups(b, of[i].kernel, of[i].kind, 301,
                      64); /* beyond the end */
        use_subgroups(b, of[i].kernel, of[i].kind, 9, 7);
    }
}

/* ---- atomics */

static void use_atomics(bed *b, const hr_kernel *kernel, const kind *k)
{
    enum { N = 1000 };
    static int64_t x[N], at[5];
    int winner[2] = {0, -1};
    double sum = 0.0, least = 1e9, most = 0.0;
    for (int64_t i = 0; i < N; i++) {
        double value = (double)random_between(&b->random, 8, 5000);
        k->set(x, i, value);
        sum += value;
        least = fmin(least, value);
        most = fmax(most, value);
    }
    k->set(at, 0, 3);
    k->set(at, 1, 1e6);
    k->set(at, 2, 0);
    k->set(at, 3, 0);
    k->set(at, 4, 7);
    const hr_argument arguments[] = {
        hr_in(hr_view_of(bed_wrap(b, x, k->bytes, hr_extent1(N)))),
        hr_inout(hr_view_of(bed_wrap(b, at, k->bytes, hr_extent1(5)))),
        INOUT(winner, hr_extent1(2))};
    run_kernel(kernel, N, NULL, arguments, 3);
    CHECK(k->get(at, 0) == sum + 3);
    CHECK(k->get(at, 1) == least);
    CHECK(k->get(at, 2) == most);
    CHECK(k->get(at, 3) == 1.0 && winner[0] == 1);
    CHECK(winner[1] >= 0 && winner[1] < N &&
          k->get(at, 4) == k->get(x, winner[1]));
}

static void set_bits(bed *b, const hr_kernel *kernel, size_t bytes)
{
    enum { N = 333 };
    static uint64_t x[N], at[3];
    uint64_t all = ~(uint64_t)0, any = 0, odd = 0; /* their low bytes */
    unsigned char *data = (unsigned char *)x;
    for (int64_t i = 0; i < N; i++) {
        uint64_t value = (random_next(&b->random) & ~(uint64_t)0x30) | 0x4000;
        memcpy(data + (size_t)i * bytes, &value, bytes);
        all &= value;
        any |= value;
        odd ^= value;
    }
    memset(at, 0, sizeof at);
    memset(at, 0xff, bytes);
    const hr_argument arguments[] = {
        hr_in(hr_view_of(bed_wrap(b, x, bytes, hr_extent1(N)))),
        hr_inout(hr_view_of(bed_wrap(b, at, bytes, hr_extent1(3))))};
    run_kernel(kernel, N, NULL, arguments, 2);
    const unsigned char *got = (const unsigned char *)at;
    CHECK(memcmp(got, &all, bytes) == 0);
    CHECK(memcmp(got + bytes, &any, bytes) == 0);
    CHECK(memcmp(got + 2 * bytes, &odd, bytes) == 0);
}

static void count_bins(bed *b)
{
    enum { N = 1500, BINS = 8 };
    static int x[N], tickets[N];
    static char drawn[N];
    int bins[BINS + 1] = {0}, want[BINS + 1] = {0}, next = 0;
    const hr_extent tile = hr_extent1(64);
    memset(drawn, 0, sizeof drawn);
    for (int i = 0; i < N; i++) {
        x[i] = (int)random_between(&b->random, 0, BINS - 1);
        want[x[i]]++;
    }
    want[BINS] = N;
    const hr_argument arguments[] = {
        IN(x, hr_extent1(N)), INOUT(bins, hr_extent1(BINS + 1)),
        INOUT(&next, hr_extent1(1)), INOUT(tickets, hr_extent1(N))};
    run_kernel(&histogram, N, &tile, arguments, 4);
    CHECK(memcmp(bins, want, sizeof bins) == 0);
    CHECK(next == N);
    int each = 1;
    for (int i = 0; i < N; i++) { /* every item drew one */
        each = each && tickets[i] >= 0 && tickets[i] < N && !drawn[tickets[i]];
        drawn[each ? tickets[i] : 0] = 1;
    }
    CHECK(each);
}

static void use_all_atomics(bed *b)
{
    TEST_CASE("atomics");
    use_atomics(b, &atomics_int, &int_kind);
    use_atomics(b, &atomics_unsigned, &unsigned_kind);
    use_atomics(b, &atomics_float, &float_kind);
    use_atomics(b, &atomics_long, &long_kind);
    use_atomics(b, &atomics_double, &double_kind);
    set_bits(b, &bits_int, sizeof(int));
    set_bits(b, &bits_unsigned, sizeof(unsigned));
    set_bits(b, &bits_long, sizeof(int64_t));
    TEST_CASE("atomics in memory of the tile");
    use_atomics(b, &tile_atomics_int, &int_kind);
    use_atomics(b, &tile_atomics_unsigned, &unsigned_kind);
    use_atomics(b, &tile_atomics_float, &float_kind);
    use_atomics(b, &tile_atomics_long, &long_kind);
    use_atomics(b, &tile_atomics_double, &double_kind);
    set_bits(b, &tile_bits_int, sizeof(int));
    set_bits(b, &tile_bits_unsigned, sizeof(unsigned));
    set_bits(b, &tile_bits_long, sizeof(int64_t));
    count_bins(b);
}

/* ---- half precision */

static int is_same(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void convert_halves(bed *b)
{
    TEST_CASE("every half, and halves of random floats");
    enum { N = 65536 };
    static unsigned short x[N], a[N], h[N];
    static float wide_a[N], wide_b[N], from[N];
    for (int i = 0; i < N; i++) {
        x[i] = (unsigned short)i;
        uint32_t random = (uint32_t)random_next(&b->random);
        memcpy(&from[i], &random, sizeof from[i]);
        from[i] = i % 2 == 0 ? from[i] : (float)random_unit(&b->random) * 1e-6f;
    }
    const hr_extent n = hr_extent1(N);
    const hr_argument widen[] = {IN(x, n), IN(x, n), OUT(wide_a, n),
                                 OUT(wide_b, n)};
    const hr_argument narrow[] = {IN(from, n), OUT(a, n), OUT(h, n)};
    run_kernel(&halves, N, NULL, widen, 4);
    run_kernel(&narrowed, N, NULL, narrow, 3);
    int ok = 1;
    for (int i = 0; i < N; i++) {
        ok = ok && is_same(wide_a[i], hr_f16_to_f32(x[i])) &&
             is_same(wide_b[i], hr_bf16_to_f32(x[i])) &&
             is_same(hr_f16_to_f32(a[i]),
                     hr_f16_to_f32(hr_f32_to_f16(from[i]))) &&
             is_same(hr_bf16_to_f32(h[i]),
                     hr_bf16_to_f32(hr_f32_to_bf16(from[i])));
    }
    CHECK(ok);
}

/* ---- complex numbers */

/* The six results of the kernel, in double; within a few roundings. */
static int is_close(const kind *k, const void *a, const void *b, const void *c,
                    int64_t i, double unit)
{
    const double x = k->get(a, 2 * i), xi = k->get(a, 2 * i + 1);
    const double y = k->get(b, 2 * i), yi = k->get(b, 2 * i + 1);
    const double d = y * y + yi * yi;
    const double want[12] = {x + y,
                             xi + yi,
                             x - y,
                             xi - yi,
                             x * y - xi * yi,
                             x * yi + xi * y,
                             (x * y + xi * yi) / d,
                             (xi * y - x * yi) / d,
                             x * y - xi * yi + x,
                             x * yi + xi * y + xi,
                             -xi,
                             d};
    const double size =
        (1 + fabs(x) + fabs(xi)) * (1 + fabs(y) + fabs(yi)) * (1 + 1 / d);
    int ok = 1;
    for (int e = 0; e < 12; e++) {
        ok = ok && fabs(k->get(c, 12 * i + e) - want[e]) <= 16 * unit * size;
    }
    return ok;
}

static void compute_complex(bed *b, const hr_kernel *kernel, const kind *k,
                            double unit)
{
    enum { N = 200 };
    static double x[2 * N], y[2 * N], z[12 * N]; /* room for either type */
    for (int64_t i = 0; i < (int64_t)2 * N; i++) {
        k->set(x, i, random_unit(&b->random) * 2);
        k->set(y, i, random_unit(&b->random) + 1.5);
    }
    const size_t bytes = 2 * k->bytes;
    const hr_argument arguments[] = {
        hr_in(hr_view_of(bed_wrap(b, x, bytes, hr_extent1(N)))),
        hr_in(hr_view_of(bed_wrap(b, y, bytes, hr_extent1(N)))),
        hr_out(hr_view_of(bed_wrap(b, z, bytes, hr_extent2(N, 6))))};
    run_kernel(kernel, N, NULL, arguments, 3);
    int ok = 1;
    for (int64_t i = 0; i < N; i++) {
        ok = ok && is_close(k, x, y, z, i, unit);
    }
    CHECK(ok);
}

/* ---- mathematics, tables */

static void compute_functions(bed *b)
{
    TEST_CASE("fast and precise mathematics");
    enum { N = 500 };
    static float x[N], y[N][8];
    static double dx[N], dy[N][8];
    for (int i = 0; i < N; i++) {
        x[i] = 1.75f + (float)random_unit(&b->random) * 1.25f;
        dx[i] = x[i];
    }
    const hr_argument single[] = {IN(x, hr_extent1(N)),
                                  OUT(&y[0][0], hr_extent2(N, 8))};
    const hr_argument wide[] = {IN(dx, hr_extent1(N)),
                                OUT(&dy[0][0], hr_extent2(N, 8))};
    run_kernel(&fast, N, NULL, single, 2);
    run_kernel(&precise, N, NULL, wide, 2);
    int ok = 1, exact = 1;
    for (int i = 0; i < N; i++) {
        const double d = dx[i],
                     want[] = {sqrt(d), 1 / sqrt(d), sin(d),      cos(d),
                               exp(d),  log(d),      pow(d, 1.5), 1 / d};
        for (int f = 0; f < 8; f++) {
            double precise_one = f < 7 ? want[f] : d * d + 1;
            ok = ok && fabs(y[i][f] - want[f]) <= 1e-4 * (1 + fabs(want[f]));
            exact = exact && fabs(dy[i][f] - precise_one) <=
                                 1e-14 * (1 + fabs(precise_one));
        }
    }
    CHECK(ok);
    CHECK(exact);
}

static void read_tables(bed *b)
{
    TEST_CASE("a table, fences, and edges in memory of the tile");
    enum { N = 333, TILE = 32 };
    static float x[N], y[N];
    const hr_extent tile = hr_extent1(TILE);
    for (int i = 0; i < N; i++) {
        x[i] = (float)random_between(&b->random, -4000, 4000);
    }
    const hr_argument arguments[] = {IN(x, hr_extent1(N)),
                                     OUT(y, hr_extent1(N)),
                                     hr_tile_bytes((TILE + 2) * sizeof(float))};
    run_kernel(&smoothed, N, &tile, arguments, 3);
    int ok = 1;
    for (int i = 0; i < N; i++) { /* all of it is exact */
        float before = i > 0 ? x[i - 1] : 0.0f;
        float after = i + 1 < N ? x[i + 1] : 0.0f;
        ok = ok && y[i] == 0.25f * before + 0.5f * x[i] + 0.25f * after;
    }
    CHECK(ok);
}

static void run_either(bed *b)
{
    static const hr_kernel *const kernels[] = {&either1, &either2, &either3};
    enum { N = 60 }; /* 3 x 4 x 5: no tile fits exactly */
    const hr_extent extents[] = {hr_extent1(N), hr_extent2(12, 5),
                                 hr_extent3(3, 4, 5)};
    static int y[N];
    TEST_CASE("an else behind a block of items");
    for (int k = 0; k < 9; k++) {
        const int which = 1 + k % 3;
        const hr_argument arguments[] = {hr_value(&which, sizeof which),
                                         OUT(y, extents[k / 3])};
        CHECK(hr_launch(queue, kernels[k / 3], extents[k / 3], NULL, arguments,
                        2) == HR_OK);
        CHECK(hr_synchronize(arguments[1].view) == HR_OK);
        hr_array_destroy(arguments[1].view.array);
        int same = 0;
        for (int i = 0; i < N; i++) {
            same += y[i] == which;
        }
        CHECK(same == N);
    }
}

static void run_all(bed *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        queue = b->queues[i];
        TEST(use_every_type(b));
        TEST(use_all_subgroups(b));
        TEST(use_all_atomics(b));
        TEST(convert_halves(b));
        TEST_CASE("complex numbers");
        TEST(compute_complex(b, &complex_single, &float_kind, 0x1p-24));
        TEST(compute_complex(b, &complex_double, &double_kind, 0x1p-53));
        TEST(compute_functions(b));
        TEST(read_tables(b));
        TEST(run_either(b));
    }
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "host", run_all);
}
