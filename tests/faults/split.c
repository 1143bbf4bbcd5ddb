/* SPDX-License-Identifier: MIT */
/* Launches over several accelerators, which may stream, with views that are
 * combined: what is reported as right is right, and the same arrays can be used
 * again. */
#include <stdlib.h>

#include "faults/groups.h"
#include "support/faults.h"
#include "support/split.h"

extern const hr_kernel combined_count, axpy;

enum { N = 40, ARRAYS = 3, STEPS = 3, BINS = 5, CHUNK = 3 };

typedef struct bed bed;

typedef struct kind {
    hr_status (*launch)(bed *b);
    bool bins;         /* the second array has BINS elements */
    uint64_t elements; /* beside the library's own memory; 0: no limit */
} kind;

struct bed {
    hr_context *context;
    const kind *kind;
    hr_array *arrays[ARRAYS];
    int data[ARRAYS][N], want[ARRAYS][N];
};

static void fill_data(bed *b)
{
    for (int i = 0; i < ARRAYS * N; i++) {
        b->data[i / N][i % N] = b->want[i / N][i % N] = i % 7;
    }
}

static hr_status create_arrays(bed *b)
{
    fill_data(b);
    for (int i = 0; i < ARRAYS; i++) {
        const hr_extent extent = hr_extent1(b->kind->bins && i == 1 ? BINS : N);
        HRI_TRY(hr_array_wrap(b->context, b->data[i], sizeof(int), extent, 0,
                              &b->arrays[i]));
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

/* The caller has written arrays anew. What failed before is over. */
static void invalidate_all(hr_array *const *arrays, int count)
{
    for (int i = 0; i < count; i++) {
        (void)!hr_synchronize(hr_view_of(arrays[i]));
        CHECK(hr_invalidate(hr_view_of(arrays[i])) == HR_OK);
    }
}

static hr_status launch_and_check(bed *b)
{
    HRI_TRY(b->kind->launch(b));
    return faults_synchronize(b->arrays, ARRAYS, b->data, b->want,
                              sizeof b->data[0]);
}

/* A launch, its check, and after a failure once more with other values in the
 * same arrays. */
static hr_status launch_twice(hr_context *context, const void *with)
{
    bed b = {.context = context, .kind = with};
    if (b.kind->elements > 0) {
        limit_memory(context, b.kind->elements);
    }
    hr_status status = create_arrays(&b);
    if (status != HR_OK) {
        goto done;
    }
    status = launch_and_check(&b);
    if (status != HR_OK && faults_over()) {
        invalidate_all(b.arrays, ARRAYS);
        fill_data(&b);
        CHECK(launch_and_check(&b) == HR_OK);
    }
done:
    for (int i = 0; i < ARRAYS; i++) {
        hr_array_destroy(b.arrays[i]);
    }
    return status;
}

/* ---- neighbours, and a view that is given whole */

/* The table has so many elements. */
static void want_step(const int *around, int *sum, int *last, int table)
{
    for (int i = 0; i < N; i++) {
        int s = 0;
        for (int j = i - 2; j <= i + 1; j++) {
            s += j >= 0 && j < N ? (j - i + 7) * split_low(around[j]) : 1;
        }
        sum[i] = split_low(3 * split_low(sum[i]) + s);
        last[i] = split_low(s + split_low(around[i % table]));
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
    HRI_TRY(hr_view_section(around, origin, hr_extent1(table), &part));
    const hr_argument arguments[] = {
        hr_near(hr_in(around), 2, 1), hr_whole(hr_in(part)),
        hr_inout(hr_view_of(b->arrays[y])), hr_out(hr_view_of(b->arrays[z])),
        hr_value(&r, sizeof r)};
    want_step(b->want[x], b->want[y], b->want[z], table);
    return hr_launch_split(b->context, &split1, hr_extent1(N), arguments, 5,
                           options);
}

/* Arrays change their parts from step to step, and bands their accelerators. */
static hr_status launch_steps(bed *b, bool chosen)
{
    static const double weights[STEPS][3] = {{1, 1, 1}, {2, 0, 1}, {1, 3, 1}};
    for (int i = 0; i < STEPS; i++) {
        hr_split_options options = HR_SPLIT_OPTIONS_INIT;
        options.weights = chosen ? NULL : weights[i];
        HRI_TRY(launch_step(b, i, N, &options));
    }
    return HR_OK;
}

static hr_status launch_weighted(bed *b)
{
    return launch_steps(b, false);
}

/* Bands are the library's choice, which measures first. */
static hr_status launch_chosen(bed *b)
{
    return launch_steps(b, true);
}

static hr_status launch_once(bed *b)
{
    const hr_split_options shares = faults_shares();
    return launch_step(b, 0, 8, &shares);
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
        b->want[1][split_low(b->want[0][i]) % BINS]++;
    }
    return hr_launch_split(b->context, &combined_count, hr_extent1(N),
                           arguments, 2, &shares);
}

static const kind weighted = {launch_weighted, false, 0};
static const kind chosen = {launch_chosen, false, 0};
static const kind combined = {launch_combined, true, 0};
static const kind combined_streams = {launch_combined, true, 2 * CHUNK + BINS};
/* Chunks of CHUNK rows, beside the table. */
static const kind streams = {launch_once, false,
                             2 * (CHUNK + 3) + 5 * CHUNK + 8};

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

static bool is_streamed(const float *x, const float *y)
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
    CHECK(status != HR_OK || is_streamed(x, y));
    if (status != HR_OK && faults_over()) {
        invalidate_all(arrays, 2);
        fill_streamed(x, y);
        CHECK(launch_streamed(context, arrays) == HR_OK);
        CHECK(is_streamed(x, y));
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
        {"split", launch_twice, .with = &weighted, .accelerators = "3xhost",
         .limit = 1 << 20},
        {"split_chosen", launch_twice, .with = &chosen,
         .accelerators = "3xhost", .limit = 1 << 20,
         .ways = FAULTS_CALL | FAULTS_OPERATION},
        {"split_streams", launch_twice, .with = &streams,
         .accelerators = "3xhost", .limit = 1 << 20},
        {"combined", launch_twice, .with = &combined, .accelerators = "3xhost",
         .limit = 1 << 20},
        {"combined_streams", launch_twice, .with = &combined_streams,
         .accelerators = "3xhost", .limit = 1 << 20},
        {"stream_staged", stream_staged, .accelerators = "2xhost",
         .limit = 256 << 20, .threads = 8,
         .ways = FAULTS_CALL | FAULTS_OPERATION, .pretend = pretend_staged,
         .prepare = allow_chunks},
    };
    FAULTS_EACH(cases);
}
