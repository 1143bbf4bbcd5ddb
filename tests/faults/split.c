/* SPDX-License-Identifier: MIT */
/* Launches over several accelerators, which may stream, with views that are
 * combined: what is reported as right is right, and the same arrays can be used
 * again. */
#include <stdlib.h>

#include "faults/groups.h"
#include "support/faults.h"

extern const hr_kernel split1, combined_count, axpy;

enum { N = 40, ARRAYS = 3, STEPS = 3, BINS = 5, CHUNK = 3 };

typedef struct bed {
    hr_context *context;
    bool bins; /* the second array has as many elements */
    hr_array *arrays[ARRAYS];
    int data[ARRAYS][N], want[ARRAYS][N];
} bed;

static void fill(bed *b)
{
    for (int i = 0; i < ARRAYS * N; i++) {
        b->data[i / N][i % N] = b->want[i / N][i % N] = i % 7;
    }
}

static hr_status create(bed *b)
{
    fill(b);
    for (int i = 0; i < ARRAYS; i++) {
        const hr_extent extent = hr_extent1(b->bins && i == 1 ? BINS : N);
        const hr_status status = hr_array_wrap(
            b->context, b->data[i], sizeof(int), extent, 0, &b->arrays[i]);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

/* Let elements of so many bytes through, beside the library's own. */
static void limit_memory(hr_context *context, uint64_t elements)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        a->memory_limit = a->device->info.gemm_bytes + elements * sizeof(int);
    }
}

/* Bring all home, where it is right if that goes well and all was launched. */
static hr_status read_all(const bed *b)
{
    hr_status first = HR_OK;
    for (int i = 0; i < ARRAYS; i++) {
        const hr_status status = hr_synchronize(hr_view_of(b->arrays[i]));
        CHECK(status != HR_OK ||
              memcmp(b->data[i], b->want[i], sizeof b->data[i]) == 0);
        first = first == HR_OK ? status : first;
    }
    return first;
}

/* A launch, its check, and after a failure once more with other values in the
 * same arrays. */
static hr_status launch_on(bed *b, hr_status (*launch)(bed *b))
{
    hr_status status = create(b);
    const bool created = status == HR_OK;
    status = created ? launch(b) : status;
    if (status == HR_OK) {
        status = read_all(b);
    }
    if (created && status != HR_OK && faults_over()) {
        for (int i = 0; i < ARRAYS; i++) {
            (void)!hr_synchronize(hr_view_of(b->arrays[i]));
            CHECK(hr_invalidate(hr_view_of(b->arrays[i])) == HR_OK);
        }
        fill(b);
        CHECK(launch(b) == HR_OK);
        CHECK(read_all(b) == HR_OK);
    }
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b->arrays[i]);
    }
    return status;
}

/* ---- neighbours, and a view that is given whole */

typedef struct reach {
    int before, after;
} reach;

static int low(int x)
{
    return x & 0xffff;
}

/* The table has so many elements. */
static void want_step(const int *around, int *sum, int *last, int table)
{
    for (int i = 0; i < N; i++) {
        int s = 0;
        for (int j = i - 2; j <= i + 1; j++) {
            s += j >= 0 && j < N ? (j - i + 7) * low(around[j]) : 1;
        }
        sum[i] = low(3 * low(sum[i]) + s);
        last[i] = low(s + low(around[i % table]));
    }
}

static hr_status launch_step(bed *b, int step, int table,
                             const hr_split_options *options)
{
    static const int64_t origin[] = {0};
    static const reach r = {2, 1};
    const int x = step % 3, y = (step + 1) % 3, z = (step + 2) % 3;
    const hr_view around = hr_view_of(b->arrays[x]);
    hr_view part;
    hr_status status =
        hr_view_section(around, origin, hr_extent1(table), &part);
    const hr_argument arguments[] = {
        hr_near(hr_in(around), 2, 1), hr_whole(hr_in(part)),
        hr_inout(hr_view_of(b->arrays[y])), hr_out(hr_view_of(b->arrays[z])),
        hr_value(&r, sizeof r)};
    want_step(b->want[x], b->want[y], b->want[z], table);
    return status == HR_OK ? hr_launch_split(b->context, &split1, hr_extent1(N),
                                             arguments, 5, options)
                           : status;
}

/* Arrays change their parts from step to step, and bands their accelerators. */
static hr_status launch_steps(bed *b, bool chosen)
{
    static const double weights[STEPS][3] = {{1, 1, 1}, {2, 0, 1}, {1, 3, 1}};
    for (int i = 0; i < STEPS; i++) {
        hr_split_options options = HR_SPLIT_OPTIONS_INIT;
        options.weights = chosen ? NULL : weights[i];
        const hr_status status = launch_step(b, i, N, &options);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

static hr_status launch_weighted(bed *b)
{
    return launch_steps(b, false);
}

static hr_status launch_chosen(bed *b)
{
    return launch_steps(b, true);
}

static hr_status launch_once(bed *b)
{
    const hr_split_options shares = faults_shares();
    return launch_step(b, 0, 8, &shares);
}

static hr_status split(hr_context *context, const void *unused)
{
    bed b = {.context = context};
    (void)unused;
    return launch_on(&b, launch_weighted);
}

/* Bands are the library's choice, which measures first. */
static hr_status split_chosen(hr_context *context, const void *unused)
{
    bed b = {.context = context};
    (void)unused;
    return launch_on(&b, launch_chosen);
}

/* Chunks of CHUNK rows, beside the table. */
static hr_status split_streams(hr_context *context, const void *unused)
{
    bed b = {.context = context};
    (void)unused;
    limit_memory(context, 2 * (CHUNK + 3) + 5 * CHUNK + 8);
    return launch_on(&b, launch_once);
}

/* ---- combined views */

static hr_status launch_combined(bed *b)
{
    const hr_split_options shares = faults_shares();
    const hr_view bins = hr_view_of(b->arrays[1]);
    const hr_argument arguments[] = {
        hr_in(hr_view_of(b->arrays[0])),
        hr_combined(hr_inout(bins), HR_COMBINE_SUM)};
    for (int i = 0; i < N; i++) {
        b->want[1][low(b->want[0][i]) % BINS]++;
    }
    return hr_launch_split(b->context, &combined_count, hr_extent1(N),
                           arguments, 2, &shares);
}

static hr_status combined(hr_context *context, const void *unused)
{
    bed b = {.context = context, .bins = true};
    (void)unused;
    return launch_on(&b, launch_combined);
}

static hr_status combined_streams(hr_context *context, const void *unused)
{
    bed b = {.context = context, .bins = true};
    (void)unused;
    limit_memory(context, 2 * CHUNK + BINS);
    return launch_on(&b, launch_combined);
}

/* ---- chunks of ordinary memory, which threads copy */

enum { STREAMED = 3 << 20, CHUNK_BYTES = 2 << 20 };

static void fill_streamed(float *x, float *y)
{
    for (int k = 0; k < STREAMED; k++) {
        x[k] = (float)(k % 1013);
        y[k] = (float)(k % 1019);
    }
}

static hr_status launch_streamed(hr_context *context, hr_array *const *arrays)
{
    const float factor = 3.0F;
    const struct {
        float x;
        int n;
    } p = {1.0F, 2};
    static const double weights[] = {1, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    const hr_argument arguments[] = {
        hr_in(hr_view_of(arrays[0])), hr_inout(hr_view_of(arrays[1])),
        hr_value(&factor, sizeof factor), hr_value(&p, sizeof p)};
    return hr_launch_split(context, &axpy, hr_extent1(STREAMED), arguments, 4,
                           &options);
}

static bool streamed_well(const float *x, const float *y)
{
    long wrong = 0;
    for (int k = 0; k < STREAMED; k++) {
        wrong += y[k] != 3.0F * x[k] + (float)(k % 1019) + 2.0F;
    }
    return wrong == 0;
}

static hr_status stream_staged(hr_context *context, const void *unused)
{
    static float x[STREAMED], y[STREAMED];
    hr_array *arrays[2] = {NULL};
    (void)unused;
    fill_streamed(x, y);
    CHECK(hr_array_wrap(context, x, sizeof(float), hr_extent1(STREAMED), 0,
                        &arrays[0]) == HR_OK);
    CHECK(hr_array_wrap(context, y, sizeof(float), hr_extent1(STREAMED), 0,
                        &arrays[1]) == HR_OK);
    const hr_status status = launch_streamed(context, arrays);
    CHECK(status != HR_OK || streamed_well(x, y));
    if (status != HR_OK && faults_over()) {
        for (int i = 0; i < 2; i++) {
            (void)!hr_synchronize(hr_view_of(arrays[i]));
            CHECK(hr_invalidate(hr_view_of(arrays[i])) == HR_OK);
        }
        fill_streamed(x, y);
        CHECK(launch_streamed(context, arrays) == HR_OK);
        CHECK(streamed_well(x, y));
    }
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
    return status;
}

static void allow_chunks(hr_context *context, const void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        a->memory_limit = a->memory_used + (uint64_t)5 * CHUNK_BYTES;
    }
}

static void pretend_staged(const void *unused)
{
    (void)unused;
    fault_backend_pretend_staged(true);
}

void faults_split(void)
{
    static const fault_case cases[] = {
        {"split", split, .accelerators = "3xhost", .limit = 1 << 20},
        {"split_chosen", split_chosen, .accelerators = "3xhost",
         .limit = 1 << 20, .ways = FAULTS_CALL | FAULTS_OPERATION},
        {"split_streams", split_streams, .accelerators = "3xhost",
         .limit = 1 << 20},
        {"combined", combined, .accelerators = "3xhost", .limit = 1 << 20},
        {"combined_streams", combined_streams, .accelerators = "3xhost",
         .limit = 1 << 20},
        {"stream_staged", stream_staged, .accelerators = "2xhost",
         .limit = 256 << 20, .threads = 8,
         .ways = FAULTS_CALL | FAULTS_OPERATION, .pretend = pretend_staged,
         .prepare = allow_chunks},
    };
    FAULTS_EACH(cases);
}
