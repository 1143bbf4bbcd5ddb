/* SPDX-License-Identifier: MIT */
/* Kernels, grids and reductions in a reproducible context on the accelerators
 * of argv[1]: the bits are those of the host alone. And what such a context
 * refuses, each with its sentence. */
#include "test.h"

#include <math.h>

#include "hal/hal.h"
#include "runtime/runtime.h"
#include "support/random.h"

extern const hr_kernel rounds, rounds_double, spread, rounds_fused;

enum {
    N = 3000,
    COLUMNS = 8,
    DOUBLE_COLUMNS = 4,
    ROWS = 61,
    WIDTH = 47,
    STEPS = 7,
    MAX_ACCELERATORS = 8
};

/* What kernels read, and what they make. */
static struct {
    float a[N], b[N], c[N];
    double da[N], db[N], dc[N];
    float cells[ROWS * WIDTH];
} in;

typedef struct results {
    float out[N * COLUMNS];
    double out_double[N * DOUBLE_COLUMNS];
    float cells[ROWS * WIDTH];
    double reduced[3];
} results;

static results here, host;

/* All accelerators of a context take part. */
static const double weights[MAX_ACCELERATORS] = {1, 2, 1, 3, 1, 2, 1, 3};
static const uint32_t all_of_them[MAX_ACCELERATORS] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Numbers of many sizes. */
static double any_number(random_source *source)
{
    return ldexp(random_unit(source), (int)random_between(source, -20, 20));
}

static void fill_inputs(void)
{
    random_source source = {11};
    for (int i = 0; i < N; i++) {
        in.da[i] = any_number(&source);
        in.db[i] = any_number(&source);
        in.dc[i] = any_number(&source);
        const float scale = i % 16 == 0 ? 0x1p-65f : 1.0f; /* subnormal */
        in.a[i] = (float)in.da[i] * scale;
        in.b[i] = (float)in.db[i] * scale;
        in.c[i] = (float)(i % 3 == 0 ? -in.da[i] * in.db[i] : in.dc[i]);
    }
    for (int i = 0; i < ROWS * WIDTH; i++) {
        in.cells[i] = (float)any_number(&source);
    }
}

/* ---- running kernels */

/* Launch a kernel over all accelerators, and bring its result home. */
static hr_status launch_and_bring(hr_context *context, const hr_kernel *kernel,
                                  const hr_argument arguments[4],
                                  hr_view result)
{
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    HRI_TRY(hr_launch_split(context, kernel, hr_extent1(N), arguments, 4,
                            &options));
    return hr_synchronize(result);
}

/* The kernel has three inputs. */
static hr_status launch_kernel(hr_context *context, const hr_kernel *kernel,
                               const void *const data[3], size_t bytes,
                               void *out, int64_t columns)
{
    const hr_extent line = hr_extent1(N);
    hr_array *arrays[4] = {NULL};
    hr_argument arguments[4];
    for (int i = 0; i < 3; i++) {
        CHECK((hr_array_wrap_typed)(context, data[i], NULL, bytes, line, 0,
                                    &arrays[i]) == HR_OK);
        arguments[i] = hr_in(hr_view_of(arrays[i]));
    }
    CHECK((hr_array_wrap_typed)(context, out, NULL, bytes,
                                columns > 1 ? hr_extent2(N, columns) : line, 0,
                                &arrays[3]) == HR_OK);
    arguments[3] = hr_out(hr_view_of(arrays[3]));
    const hr_status status =
        launch_and_bring(context, kernel, arguments, hr_view_of(arrays[3]));
    for (int i = 0; i < 4; i++) {
        hr_array_destroy(arrays[i]);
    }
    return status;
}

static hr_status step_and_reduce(hr_grid *grid, results *to)
{
    static const hr_reduction reductions[3] = {HR_REDUCE_SUM, HR_REDUCE_DOT,
                                               HR_REDUCE_MAX};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    const hr_phase phases[] = {hr_phase_of(&spread, arguments, 2),
                               hr_phase_swap(0, 1)};
    HRI_TRY(hr_grid_scatter(grid, 0, in.cells));
    HRI_TRY(hr_grid_step(grid, phases, 2, STEPS));
    for (int i = 0; i < 3; i++) {
        hr_reducing *reducing = NULL;
        HRI_TRY(hr_grid_reduce(grid, reductions[i], HR_F32, 0, 1, &reducing));
        HRI_TRY(hr_grid_reduced(reducing, &to->reduced[i]));
    }
    return hr_grid_gather(grid, 0, to->cells);
}

static void step_grid(hr_context *context, results *to)
{
    const hr_field field =
        hr_field_of(sizeof(float), 1, HR_BOUNDARY_PERIODIC, NULL);
    const hr_field fields[] = {field, field};
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid *grid = NULL;
    options.weights = weights;
    options.accelerators = all_of_them;
    options.accelerator_count = hr_accelerator_count(context);
    if (CHECK(hr_grid_create(context, hr_extent2(ROWS, WIDTH), fields, 2,
                             &options, &grid) == HR_OK)) {
        CHECK(step_and_reduce(grid, to) == HR_OK);
    }
    hr_grid_destroy(grid);
}

static bool has_double(const hr_context *context)
{
    bool all = true;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_device *device = context->accelerators[i].device;
        all = all && device->ops->gemm_offered(device, HR_F64, HR_F64,
                                               HR_COMPUTE_REPRODUCIBLE);
    }
    return all;
}

static void run_all(hr_context *context, bool wide, results *to)
{
    const void *const data[] = {in.a, in.b, in.c};
    const void *const wide_data[] = {in.da, in.db, in.dc};
    CHECK(launch_kernel(context, &rounds, data, sizeof(float), to->out,
                        COLUMNS) == HR_OK);
    if (wide) {
        CHECK(launch_kernel(context, &rounds_double, wide_data, sizeof(double),
                            to->out_double, DOUBLE_COLUMNS) == HR_OK);
        step_grid(context, to);
    }
}

static int64_t count_differences(const void *x, const void *y, size_t bytes,
                                 int64_t count)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        const size_t at = (size_t)i * bytes;
        found += memcmp((const char *)x + at, (const char *)y + at, bytes) != 0;
    }
    return found;
}

static void same_bits(hr_context *context, hr_context *alone)
{
    const bool wide = has_double(context);
    TEST_CASE("launch, grid and reductions have the host's bits");
    run_all(alone, wide, &host);
    run_all(context, wide, &here);
    for (int c = 0; c < COLUMNS; c++) {
        int64_t found = 0;
        for (int i = 0; i < N; i++) {
            found += memcmp(&here.out[i * COLUMNS + c],
                            &host.out[i * COLUMNS + c], sizeof(float)) != 0;
        }
        if (!CHECK(found == 0)) {
            printf("column %d: %lld of %d differ\n", c, (long long)found, N);
        }
    }
    CHECK(count_differences(here.out_double, host.out_double, sizeof(double),
                            (int64_t)N * DOUBLE_COLUMNS) == 0);
    CHECK(count_differences(here.cells, host.cells, sizeof(float),
                            ROWS * WIDTH) == 0);
    CHECK(memcmp(here.reduced, host.reduced, sizeof here.reduced) == 0);
}

/* ---- what is refused */

static hr_status launch_text(hr_context *context, const char *text)
{
    static float data[3][N], out[N];
    const void *const all[] = {data[0], data[1], data[2]};
    const hr_kernel *kernel = NULL;
    HRI_TRY(hr_kernel_create(context, text, "user", "user.c", &kernel));
    return launch_kernel(context, kernel, all, sizeof(float), out, 1);
}

#define TEXT(statement)                                                        \
    "#include <headrace/dialect.h>\n"                                          \
    "HR_KERNEL4(user, (IN, float, 1, a), (IN, float, 1, b),\n"                 \
    "           (IN, float, 1, c), (OUT, float, 1, out))\n"                    \
    "{ HR_EACH1(i) { " statement " } }\n"

static void refused_kernels(hr_context *context)
{
    static float out[N];
    const void *const data[] = {in.a, in.b, in.c};
    TEST_CASE("a kernel that was compiled otherwise");
    CHECK_FAILS(
        launch_kernel(context, &rounds_fused, data, sizeof(float), out, 1),
        HR_ERROR_UNSUPPORTED,
        "rounds_fused was compiled without HR_REPRODUCIBLE");
    if (getenv("HEADRACE_NVRTC") != NULL) { /* a fake compiles nothing */
        return;
    }
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        if (context->accelerators[i].device->info.host) {
            return; /* nor does the host */
        }
    }
    TEST_CASE("texts");
    CHECK(launch_text(context, TEXT("HR_AT1(out, i) = HR_AT1(a, i);")) ==
          HR_OK);
    CHECK_FAILS(launch_text(context,
                            TEXT("HR_AT1(out, i) = (float)HR_SUBGROUP_WIDTH;")),
                HR_ERROR_BUILD, "hr_subgroups_are_not_reproducible");
    CHECK_FAILS(launch_text(context,
                            TEXT("(void)HR_ATOMIC_ADD(HR_AT1(out, i), 1.0f);")),
                HR_ERROR_BUILD, "user of user.c did not compile");
}

/* Of a device that would round otherwise. */
static void refused_device(hr_context *context)
{
    static float out[N * COLUMNS];
    const void *const data[] = {in.a, in.b, in.c};
    hri_device_info *info = &context->accelerators[0].device->info;
    TEST_CASE("a device that does not round as IEEE 754 says");
    info->ieee = false;
    CHECK_FAILS(
        launch_kernel(context, &rounds, data, sizeof(float), out, COLUMNS),
        HR_ERROR_UNSUPPORTED, "does not round floats as IEEE 754");
    info->ieee = true;
}

static void refused_filters(hr_context *context)
{
    TEST_CASE("filters");
    static float pixels[16 * 16], filtered[16 * 16];
    hr_window *window = NULL;
    CHECK(hr_window_box(1, &window) == HR_OK);
    CHECK_FAILS(hr_filter(context, window, 1.0,
                          hr_matrix_row_major(pixels, HR_F32, 16, 16, 0),
                          hr_matrix_row_major(filtered, HR_F32, 16, 16, 0),
                          NULL),
                HR_ERROR_UNSUPPORTED, "a reproducible context offers none");
    hr_window_destroy(window);
}

/* Without the option a kernel may be fused, or not: this is only told. */
static void tell_fusing(const char *set)
{
    static float fused[2][N];
    const void *const data[] = {in.a, in.b, in.c};
    const char *const sets[] = {"host", set};
    for (int i = 0; i < 2; i++) {
        hr_context *context = test_context(sets[i], 0);
        CHECK(launch_kernel(context, &rounds_fused, data, sizeof(float),
                            fused[i], 1) == HR_OK);
        hr_context_destroy(context);
    }
    test_note(
        "%s: without the option %lld of %d sums differ\n", set,
        (long long)count_differences(fused[0], fused[1], sizeof(float), N), N);
}

int main(int count, char **arguments)
{
    const char *set = count > 1 ? arguments[1] : "host";
    hr_context *context = NULL, *alone = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.reproducible = true;
    options.accelerators = set;
    if (!test_open(&options, &context)) {
        return test_end();
    }
    options.accelerators = "host";
    if (CHECK(hr_context_create(&options, &alone) == HR_OK)) {
        fill_inputs();
        TEST(refused_device(context)); /* before it has compiled anything */
        TEST(same_bits(context, alone));
        TEST(refused_kernels(context));
        TEST(refused_filters(context));
        TEST(tell_fusing(set));
    }
    hr_context_destroy(alone);
    hr_context_destroy(context);
    return test_end();
}
