/* SPDX-License-Identifier: MIT */
/* Runs the fragments of C of pages: PAGE/LANGUAGE-AND-NUMBER is a block, and
 * the same with + what comes there after a line of dots. */
#include <assert.h>
#include <headrace/dialect.h>
#include <headrace/headrace.h>
#include <stdio.h>
#include <stdlib.h>

#include <docs/dialect.md/c1>
#include <docs/dialect.md/c3>
#include <docs/grids.md/c1>
#include <docs/grids.md/c5>
#include <docs/kernels.md/c1>
#include <docs/kernels.md/c2>
#include <docs/kernels.md/c4>
#include <docs/kernels.md/c8>
#include <docs/products.md/c3>
#include <examples/kernels/weighted_average.c>
#define sums sums_of_list /* another kernel of that name */
#include <docs/dialect.md/c2>
#undef sums
#define main main_of_filters
#include <docs/filters.md/c1>
#undef main
/* What CUDA's compiler knows. */
#define __global__ static
#define saxpy      saxpy_of_cuda
static struct {
    int x;
} blockIdx, blockDim = {1}, threadIdx;
#include <docs/kernels.md/cuda1>
#undef saxpy

static hr_context *context;
static hr_queue *queue;
static hr_status status;
static float ones[300], plane[20][30], values[9][16][16];

static void must_work(hr_status of)
{
    if (of != HR_OK) {
        fprintf(stderr, "%s\n", hr_last_error());
        abort();
    }
}

static hr_view view_of(const void *data,
                       hr_extent extent) /* of 4-byte elements */
{
    hr_array *array = NULL; /* until the program ends */
    must_work(hr_array_wrap(context, data, 4, extent, 0, &array));
    return hr_view_of(array);
}

static void multiply_matrices(void)
{
    {
        float a[] = {1, 4, 2, 5, 3, 6}, b[] = {7, 8, 9, 10, 11, 12}, c[9];
#include <docs/products.md/c1>
        must_work(status);
        assert(c[0] == 47 && c[8] == 99);
        hr_context_destroy(context);
    }
    enum { M = 4, N = 3, K = 5, LDA = 6, LDB = 7, LDC = 8 };
    double a[LDA * M], b[LDB * N], c[LDC * N];
    for (int i = 0; i < LDA * M; i++) {
        a[i] = b[i % (LDB * N)] = c[i] = 1;
    }
#include <docs/products.md/c2>
    must_work(status);
    assert(c[0] == 9 && c[LDC * (N - 1) + M - 1] == 9 && c[M] == 1);
    ma = hr_matrix_transpose(ma);
    {
#include <docs/products.md/c4>
        must_work(status);
        assert(report.share_count == 1 && text[0] != '\0');
#include <docs/products.md/c3+>
        must_work(
            hr_gemm(context, hr_real(1), ma, mb, hr_real(0), mc, &options));
    }
    {
        const hr_scalar alpha = hr_real(1), beta = alpha;
        const hr_matrix a = mb, b = mb, c = mc; /* their shapes do not fit */
#include <docs/contracts/errors.md/c1>
        assert(hr_last_error()[0] != '\0');
    }
}

static void filter_picture(void)
{
    enum { rows = 20, cols = 30 };
    const double scale = 1.0 / 9;
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    hr_window *window;
    hr_array *a, *b;
    assert(main_of_filters() == 0 && out[1000][1000] * SIDE * SIDE > 0.999f);
    must_work(hr_window_box(1, &window));
    float(*in)[cols] = plane;
#include <docs/filters.md/c2>
    must_work(status);
    assert(plane[9][9] > 0.999f && plane[9][9] < 1.001f);
}

static void run_ported_kernels(void)
{
    const long n = 300;
    float total[1] = {0}, y[300] = {0};
    const hr_view to = view_of(total, hr_extent1(1));
    const hr_argument arguments[] = {hr_in(view_of(ones, hr_extent1(n))),
                                     hr_inout(to)};
#include <docs/kernels.md/c3>
    must_work(status);
    must_work(hr_synchronize(to));
    assert(total[0] == n);
    must_work(hr_run(
        NULL, &saxpy, hr_extent1(n),
        HR_ARGUMENTS(hr_value(2.0f), hr_in(ones, n), hr_inout(y, n)), NULL));
    saxpy_of_cuda(n, 3, ones, y);
    assert(y[0] == 5 && y[n - 1] == 2);
}

static void compute_with_arrays(void)
{
    {
#include <docs/kernels.md/c5>
        must_work(status);
        assert(c[0] == 11 && c[4] == 55);
    }
    float data[] = {1, 2, 3, 4, 5}, sum[5];
    const hr_view b = view_of(ones, hr_extent1(5)),
                  c = view_of(sum, hr_extent1(5));
    hr_array *array;
#include <docs/kernels.md/c6>
    must_work(status);
    assert(sum[0] == 2 && sum[4] == 6);
}

static void run_split_kernels(void)
{
    static float averages[20][30];
    int numbers[1000], found[10] = {0};
    for (int i = 0; i < 1000; i++) {
        numbers[i] = i % 10;
    }
    {
        const hr_extent extent = hr_extent2(20, 30);
        const hr_view picture = view_of(plane, extent);
        const hr_view window = view_of(ones, hr_extent2(3, 3));
        const hr_view average = view_of(averages, extent);
#include <docs/kernels.md/c7>
        must_work(status);
        assert(averages[9][9] > 0.999f && averages[0][0] == 0);
    }
    const hr_extent extent = hr_extent1(1000);
    const hr_view x = view_of(numbers, extent),
                  bins = view_of(found, hr_extent1(10));
#include <docs/kernels.md/c9>
    must_work(status);
    must_work(hr_synchronize(bins));
    assert(found[0] == 100 && found[9] == 100);
}

static void advance_grid(const hr_field fields[2], const hr_phase *phases)
{
    hr_grid *grid;
    must_work(
        hr_grid_create(context, hr_extent2(16, 16), fields, 2, NULL, &grid));
    must_work(hr_grid_scatter(grid, 0, values));
    must_work(hr_grid_step(grid, phases, 2, 1));
    must_work(hr_grid_gather(grid, 0, values));
    hr_grid_destroy(grid);
}

static void step_grids(void)
{
    {
#include <docs/grids.md/c6>
        values[5][0][15] = 1; /* goes a row down and a column on */
        advance_grid(fields, step);
        assert(values[5][1][0] == 1 && values[5][0][15] == 0);
    }
#include <docs/grids.md/c3>
#include <docs/grids.md/c4>
    const hr_field fields[] = {field, field};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&heat, arguments, 2),
                               hr_phase_swap(0, 1)};
/* Where the page says "launches". */
#define hr_profile_read(...)                                                   \
    (advance_grid(fields, phases), hr_profile_read(__VA_ARGS__))
#include <docs/kernels.md/c10>
    must_work(status);
    assert(values[0][8][0] == 25 && p.seconds > 0 && p.flops == 4.0 * 16 * 16);
}

static void run_dialect(void)
{
    static int x[32], of_group[32];
    static float speed[32], list[3][4][5], sum[4][5];
    x[0] = 7;
    list[0][3][4] = 1;
    list[2][3][4] = 2;
    must_work(hr_run(NULL, &sums, hr_extent1(32),
                     HR_ARGUMENTS(hr_in(x, 32), hr_out(of_group, 32)), NULL));
    assert(of_group[0] == 7 && of_group[31] == 0);
    must_work(hr_run(NULL, &kick, hr_extent1(32),
                     HR_ARGUMENTS(hr_inout(speed, 32), hr_value(7L)), NULL));
    assert(speed[0] != 0 && speed[0] != speed[1]);
    const hr_view to = view_of(sum, hr_extent2(4, 5));
    const hr_argument arguments[] = {hr_in(view_of(list, hr_extent3(3, 4, 5))),
                                     hr_out(to)};
    must_work(
        hr_launch(queue, &sums_of_list, hr_extent2(4, 5), NULL, arguments, 2));
    must_work(hr_synchronize(to));
    assert(sum[3][4] == 3 && sum[0][0] == 0);
}

int main(void)
{
    for (int i = 0; i < 600; i++) {
        ones[i % 300] = plane[i / 30][i % 30] = 1;
    }
    must_work(hr_context_create(NULL, &context));
    must_work(hr_queue_default(context, 0, &queue));
    multiply_matrices();
    filter_picture();
    run_ported_kernels();
    compute_with_arrays();
    run_split_kernels();
    step_grids();
    run_dialect();
    return 0;
}
