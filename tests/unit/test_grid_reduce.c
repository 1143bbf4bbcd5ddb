/* SPDX-License-Identifier: MIT */
/* Reductions on the accelerators of argv[1]: the bits of the order that
 * headrace/grid.h promises, whatever the bands and the kinds of accelerators;
 * within what any order may lose. argv[2]: how many random grids. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "base/exact.h"
#include "support/grid_model.h"
#include "support/random.h"
#include "test.h"

extern const hr_kernel stir1_4, stir2_4, stir3_4, stir1_8, stir2_8, stir3_8;

enum {
    LANES = 64,
    MAX_CELLS = 8000,
    MAX_BANDS = 8,
    CASES = 15,
    KINDS = HR_REDUCE_MAX_ABS
};

typedef struct bed {
    hr_context *context;
    random_source random;
    hr_extent extent;
    int64_t cells;
    hr_type type;
    double a[MAX_CELLS], b[MAX_CELLS]; /* as the fields have them */
    hr_grid *grid;
} bed;

static int64_t any(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* ---- what is right */

static double join_terms(hr_reduction kind, double x, double y)
{
    switch (kind) {
    case HR_REDUCE_MIN:
        return y < x || isnan(y) ? y : x;
    case HR_REDUCE_MAX:
    case HR_REDUCE_MAX_ABS:
    case HR_REDUCE_MAX_ABS_DIFF:
        return y > x || isnan(y) ? y : x;
    case HR_REDUCE_PRODUCT:
        return x * y;
    default:
        return x + y;
    }
}

static double empty_of(hr_reduction kind)
{
    switch (kind) {
    case HR_REDUCE_MIN:
        return INFINITY;
    case HR_REDUCE_MAX:
    case HR_REDUCE_MAX_ABS:
    case HR_REDUCE_MAX_ABS_DIFF:
        return -INFINITY;
    default:
        return kind == HR_REDUCE_PRODUCT;
    }
}

static bool takes_two(hr_reduction kind)
{
    return kind == HR_REDUCE_DOT || kind == HR_REDUCE_DISTANCE ||
           kind == HR_REDUCE_MAX_ABS_DIFF;
}

static double term_of(hr_reduction kind, double a, double b)
{
    const double difference = a - b;
    return kind == HR_REDUCE_DOT            ? a * b
           : kind == HR_REDUCE_DISTANCE     ? difference * difference
           : kind == HR_REDUCE_MAX_ABS_DIFF ? fabs(difference)
           : kind == HR_REDUCE_SUM_ABS || kind == HR_REDUCE_MAX_ABS ? fabs(a)
                                                                    : a;
}

/* A block of lines, `pitch` cells apart, which lanes take in turn. */
static double reduce_block(const bed *b, hr_reduction kind, int64_t first,
                           int64_t lines, int64_t cells, int64_t pitch)
{
    double part[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        part[lane] = empty_of(kind);
        for (int64_t j = 0; j < lines; j++) {
            for (int64_t k = lane; k < cells; k += LANES) {
                const int64_t at = first + j * pitch + k;
                part[lane] = join_terms(kind, part[lane],
                                        term_of(kind, b->a[at], b->b[at]));
            }
        }
    }
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
            part[lane] = join_terms(kind, part[lane], part[lane + half]);
        }
    }
    return part[0];
}

static bool is_sum(hr_reduction kind)
{
    return kind == HR_REDUCE_SUM || kind == HR_REDUCE_DOT ||
           kind == HR_REDUCE_DISTANCE || kind == HR_REDUCE_SUM_ABS;
}

static double join_halves(hr_reduction kind, const double *x, int64_t count)
{
    return count == 1 ? x[0]
                      : join_terms(kind, join_halves(kind, x, count / 2),
                                   join_halves(kind, x + count / 2,
                                               count - count / 2));
}

static int64_t lines_of(const bed *b)
{
    return b->extent.rank == 3 ? b->extent.size[1] : 1;
}

static int64_t line_of(const bed *b)
{
    return b->extent.rank == 1 ? LANES : b->extent.size[b->extent.rank - 1];
}

static int64_t lesser_of(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

/* Blocks of rows, as the header says. Their sums are added exactly. */
static double reduce_in_order(const bed *b, hr_reduction kind)
{
    static double blocks[MAX_CELLS];
    int64_t count = 0;
    const int64_t lines = lines_of(b), line = line_of(b);
    const int64_t high = HR_GRID_BLOCK3_LINES;
    const int64_t wide = b->extent.rank == 1   ? HR_GRID_BLOCK1
                         : b->extent.rank == 2 ? HR_GRID_BLOCK2
                                               : HR_GRID_BLOCK3;
    for (int64_t row = 0; row < b->cells; row += lines * line) {
        for (int64_t j = 0; j < lines; j += high) {
            for (int64_t k = 0; k < line; k += wide) {
                const int64_t left = lesser_of(line - k, b->cells - row - k);
                blocks[count++] = reduce_block(b, kind, row + j * line + k,
                                               lesser_of(high, lines - j),
                                               lesser_of(wide, left), line);
            }
        }
    }
    if (is_sum(kind)) {
        hri_exact sum = {{0}};
        hri_exact_add(&sum, blocks, count);
        return hri_exact_value(&sum);
    }
    return join_halves(kind, blocks, count);
}

/* Each term takes part in so many additions, and has up to three roundings of
 * its own [Higham2002, 4.2]. */
static bool is_near(const bed *b, hr_reduction kind, double value)
{
    long double sum = 0, size = 0;
    double roundings = 3 + 6 + ceil(log2((double)b->extent.size[0])) +
                       (double)(lines_of(b) * ((line_of(b) - 1) / LANES + 1));
    for (int64_t i = 0; i < b->cells; i++) {
        const long double x = b->a[i], y = b->b[i];
        const long double t = kind == HR_REDUCE_DOT        ? x * y
                              : kind == HR_REDUCE_DISTANCE ? (x - y) * (x - y)
                              : kind == HR_REDUCE_SUM_ABS  ? fabsl(x)
                                                           : x;
        sum += t;
        size += fabsl(t);
    }
    roundings += 1; /* for ours */
    const double u = DBL_EPSILON / 2;
    const double gamma = roundings * u / (1 - roundings * u);
    return fabsl(value - sum) <= gamma * size;
}

static bool is_right(const bed *b, hr_reduction kind, double value)
{
    const double want = reduce_in_order(b, kind);
    if (isnan(want) || !is_sum(kind)) {
        return isnan(want) ? isnan(value) : value == want;
    }
    return is_near(b, kind, value) && memcmp(&value, &want, sizeof want) == 0;
}

/* ---- the grid */

static double round_to(hr_type type, double x)
{
    return type == HR_F32   ? (double)(float)x
           : type == HR_I32 ? round(1000 * x)
                            : x;
}

static void scatter_values(const bed *b, uint32_t field, const double *values)
{
    static double packed[MAX_CELLS];
    for (int64_t i = 0; i < b->cells; i++) {
        if (b->type == HR_F32) {
            ((float *)packed)[i] = (float)values[i];
        } else if (b->type == HR_I32) {
            ((int32_t *)packed)[i] = (int32_t)values[i];
        } else {
            packed[i] = values[i];
        }
    }
    CHECK(hr_grid_scatter(b->grid, field, packed) == HR_OK);
}

static void make_weights(bed *b, double *weights)
{
    const uint32_t count = hr_accelerator_count(b->context);
    for (uint32_t i = 0; i < count; i++) {
        weights[i] = any(b, 0, 3) == 0 ? 0.0 : (double)any(b, 1, 9);
    }
    weights[any(b, 0, count - 1)] = 5;
}

/* Fields that have other halos, which hold what nobody may read. */
static void create_grid(bed *b)
{
    static const double nan64 = NAN;
    static const float nan32 = NAN;
    const size_t bytes = hr_type_size(b->type);
    const void *value = bytes == 8 ? (const void *)&nan64 : &nan32;
    const hr_field fields[] = {
        hr_field_of(bytes, 1, HR_BOUNDARY_CONSTANT, value),
        hr_field_of(bytes, any(b, 0, 3), HR_BOUNDARY_CONSTANT, value)};
    double weights[MAX_BANDS];
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    make_weights(b, weights);
    options.weights = weights;
    b->grid = NULL;
    CHECK(hr_grid_create(b->context, b->extent, fields, 2, &options,
                         &b->grid) == HR_OK);
}

static void make_values(bed *b, bool wide)
{
    for (int64_t i = 0; i < b->cells; i++) {
        const double scale =
            wide && b->type != HR_I32 ? ldexp(1, (int)any(b, -20, 20)) : 1;
        b->a[i] = round_to(b->type, scale * random_unit(&b->random));
        b->b[i] = round_to(b->type, scale * random_unit(&b->random));
    }
    scatter_values(b, 0, b->a);
    scatter_values(b, 1, b->b);
}

/* Fields 0 and 1 get other values. */
static hr_status disturb_fields(const bed *b)
{
    static const hr_kernel *const kernels[2][3] = {
        {&stir1_4, &stir2_4, &stir3_4}, {&stir1_8, &stir2_8, &stir3_8}};
    const reach r = {.place = {1, 1, 1}};
    const hr_argument there[] = {hr_field_here(0), hr_field_out(1),
                                 hr_value(&r, sizeof r)};
    const hr_argument back[] = {hr_field_in(1), hr_field_out(0),
                                hr_value(&r, sizeof r)};
    const hr_kernel *kernel = kernels[b->type == HR_F64][b->extent.rank - 1];
    const hr_phase phases[] = {hr_phase_of(kernel, there, 3),
                               hr_phase_of(kernel, back, 3)};
    return hr_grid_step(b->grid, phases, 2, 2);
}

/* All kinds at once, the last one first; while they are under way the fields
 * get other values, if so wanted. */
static void reduce_all(const bed *b, double *values, bool disturbed)
{
    hr_reducing *under_way[KINDS + 1] = {NULL};
    for (int kind = HR_REDUCE_SUM; kind <= KINDS; kind++) {
        CHECK(hr_grid_reduce(b->grid, (hr_reduction)kind, b->type, 0,
                             takes_two((hr_reduction)kind) ? 1 : 77,
                             &under_way[kind]) == HR_OK);
    }
    CHECK(!disturbed || disturb_fields(b) == HR_OK);
    for (int kind = KINDS; kind >= HR_REDUCE_SUM; kind--) {
        values[kind] = 77;
        CHECK(hr_grid_reduced(under_way[kind], &values[kind]) == HR_OK);
    }
}

static void compare_values(const bed *b, const double *values, const char *when)
{
    for (int kind = HR_REDUCE_SUM; kind <= KINDS; kind++) {
        if (!CHECK(is_right(b, (hr_reduction)kind, values[kind]))) {
            fprintf(stderr,
                    "  kind %d, type %d, %lld x %lld x %lld of rank %u, %s: "
                    "%.17g, not %.17g\n",
                    kind, (int)b->type, (long long)b->extent.size[0],
                    (long long)b->extent.size[1], (long long)b->extent.size[2],
                    b->extent.rank, when, values[kind],
                    reduce_in_order(b, (hr_reduction)kind));
        }
    }
}

static void set_extent(bed *b, uint32_t rank, int64_t x, int64_t y, int64_t z)
{
    b->extent = (hr_extent){.rank = rank, .size = {x, y, z}};
    b->cells = hr_extent_count(b->extent);
}

static void make_extent(bed *b)
{
    switch (any(b, 1, 3)) {
    case 1:
        set_extent(b, 1, any(b, 1, MAX_CELLS), 0, 0);
        break;
    case 2:
        set_extent(b, 2, any(b, 1, 30), any(b, 1, 200), 0);
        break;
    default:
        set_extent(b, 3, any(b, 1, 15), any(b, 1, 5), any(b, 1, 100));
    }
}

static void run_grid(bed *b)
{
    static const hr_type types[] = {HR_F32, HR_F64, HR_I32};
    double values[KINDS + 1], again[KINDS + 1];
    double weights[MAX_BANDS];
    make_extent(b);
    b->type = types[any(b, 0, 2)];
    create_grid(b);
    make_values(b, any(b, 0, 1) == 0);
    reduce_all(b, values, false);
    compare_values(b, values, "in bands");
    make_weights(b, weights);
    CHECK(hr_grid_rebalance(b->grid, weights) == HR_OK);
    reduce_all(b, again, true);
    compare_values(b, again, "in others, under steps");
    CHECK(memcmp(&values[1], &again[1], sizeof values - sizeof values[0]) == 0);
    hr_grid_destroy(b->grid);
}

/* ---- values that are no numbers */

static void run_nan(bed *b, hr_type type)
{
    double values[KINDS + 1];
    b->type = type;
    create_grid(b);
    make_values(b, false);
    for (int64_t i = 0; i < b->cells; i += 1 + any(b, 0, b->cells / 12)) {
        const double old = b->a[i];
        b->a[i] = NAN;
        scatter_values(b, 0, b->a);
        reduce_all(b, values, false);
        compare_values(b, values, "with a NaN in a");
        CHECK(isnan(values[HR_REDUCE_MIN]) &&
              isnan(values[HR_REDUCE_MAX_ABS_DIFF]));
        b->a[i] = old;
    }
    scatter_values(b, 0, b->a);
    b->b[b->cells - 1] = NAN;
    scatter_values(b, 1, b->b);
    reduce_all(b, values, false);
    compare_values(b, values, "with a NaN in b");
    CHECK(!isnan(values[HR_REDUCE_MAX]) && isnan(values[HR_REDUCE_DOT]));
    b->a[0] = b->b[0] = INFINITY; /* their difference is a NaN */
    b->b[b->cells - 1] = 0;
    scatter_values(b, 0, b->a);
    scatter_values(b, 1, b->b);
    reduce_all(b, values, false);
    CHECK(values[HR_REDUCE_SUM] == INFINITY &&
          values[HR_REDUCE_MAX] == INFINITY &&
          isnan(values[HR_REDUCE_MAX_ABS_DIFF]) &&
          isnan(values[HR_REDUCE_DISTANCE]));
    hr_grid_destroy(b->grid);
}

static void run_nans(bed *b)
{
    for (int i = 0; i < 2; i++) {
        set_extent(b, 1, 130, 0, 0);
        run_nan(b, i == 0 ? HR_F32 : HR_F64);
        set_extent(b, 2, 3, 67, 0);
        run_nan(b, i == 0 ? HR_F32 : HR_F64);
        set_extent(b, 3, 2, 3, 65);
        run_nan(b, i == 0 ? HR_F32 : HR_F64);
    }
}

/* ---- what is under way */

static void end_reductions(bed *b)
{
    hr_reducing *r = NULL;
    set_extent(b, 2, 5, 7, 0);
    b->type = HR_F64;
    create_grid(b);
    make_values(b, false);
    CHECK(hr_grid_reduce(b->grid, HR_REDUCE_SUM, HR_F64, 0, 0, &r) == HR_OK);
    CHECK(hr_grid_reduced(r, NULL) == HR_OK); /* the value is not wanted */
    double value = 0;
    CHECK(hr_grid_reduce(b->grid, HR_REDUCE_DISTANCE, HR_F64, 1, 1, &r) ==
          HR_OK);
    CHECK(hr_grid_reduced(r, &value) == HR_OK && value == 0.0);
    hr_grid_destroy(b->grid);
}

int main(int argc, char **argv)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    static bed b;
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    if (!test_open(&options, &b.context)) {
        return test_end();
    }
    TEST_CASE("random reductions");
    const int cases = argc > 2 ? atoi(argv[2]) : CASES;
    for (int i = 0; i < cases; i++) {
        TEST(run_grid(&b));
    }
    TEST_CASE("reductions of what is no number");
    TEST(run_nans(&b));
    TEST_CASE("ends of reductions");
    end_reductions(&b);
    hr_context_destroy(b.context);
    return test_end();
}
