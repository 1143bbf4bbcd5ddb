/* SPDX-License-Identifier: MIT */
/* A whole engine of src/flow to start from (docs/architecture.md), and what it
 * does on the accelerators of argv[1]. */
#include <stdlib.h>

#include "base/size.h"
#include "flow/flow.h"
#include "support/told.h"
#include "test.h"

/* ---- the engine */

enum {
    ROWS = 64, /* of a unit */
    SLOTS = 3,
    MANY = 16 /* accelerators */
};

extern const hr_kernel scale_rows; /* c[i][j] = factors[i] * a[i][j] */

typedef struct scaling {
    hri_flow flow;
    const float *of[HRI_SIDES]; /* A, the factors, C */
    int64_t rows, cols;         /* at least 1 */
    hri_module *modules[MANY];
} scaling;

static hri_copy find_box(const void *data, int side, const hri_task *task,
                         hri_place slot)
{
    const scaling *s = data;
    const int64_t first = hri_task_index(task, side) * ROWS;
    const int64_t rows = hri_min(ROWS, s->rows - first);
    const int64_t cols = side == HRI_B ? 1 : s->cols;
    return (hri_copy){.to = slot,
                      .from = hri_at_host(s->of[side] + first * cols, 0),
                      .width = (size_t)(rows * cols) * sizeof(float),
                      .height = 1,
                      .depth = 1};
}

static hr_status scale_unit(const void *data, const hri_flow_task *f)
{
    const scaling *s = data;
    const int64_t rows = hri_min(ROWS, s->rows - f->task->unit * ROWS);
    const hr_extent all = hr_extent2(rows, s->cols), one = hr_extent1(rows);
    hri_kernel_argument arguments[HRI_SIDES];
    for (int side = HRI_A; side < HRI_SIDES; side++) {
        const hri_place *slot = f->places[side]; /* NULL: in place */
        const hri_place at =
            slot != NULL ? *slot
                         : find_box(s, side, f->task, (hri_place){0}).from;
        arguments[side] = hri_place_argument(at, side == HRI_B ? one : all);
    }
    return hri_task_launch(f, &scale_rows, s->modules[f->share], all,
                           arguments);
}

static void drop_scaling(void *data)
{
    hri_flow_finish(&((scaling *)data)->flow);
    free(data);
}

/* s: from calloc, with sizes; it is freed. */
static hr_status scale_rows_of(hr_context *context, scaling *s)
{
    const uint64_t bytes = (uint64_t)(ROWS * s->cols) * sizeof(float);
    hri_accelerator *list[MANY];
    const hri_engine engine = {.call = "scale",
                               .data = s,
                               .box = find_box,
                               .run = scale_unit,
                               .drop = drop_scaling};
    s->flow = (hri_flow){.slot_bytes = {bytes, 256, bytes},
                         .chunks = 1,
                         .unit_count = hri_ceil_div(s->rows, ROWS)};
    pthread_mutex_lock(&context->lock);
    const uint32_t count = hri_run_accelerators(context, MANY, list);
    const double seconds = 1e-4; /* of a unit */
    hr_status status =
        hri_flow_spread(&s->flow, "scale", list, count, SLOTS, seconds);
    if (status == HR_OK) {
        status =
            hri_run_modules(&scale_rows, list, s->flow.share_count, s->modules);
    }
    if (status == HR_OK) {
        /* lost rows are an error, since nobody asks for `home` */
        status = hri_flow_run(context, &s->flow, &engine, list,
                              &(hri_run_call){0}, &(hri_run_outcome){0});
    } else {
        drop_scaling(s);
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* ---- the test */

/* A number of its own for each element, exact in a float. */
static float element_of(int64_t i)
{
    return (float)((i * 7919) % 1021 - 510);
}

static hr_status scale_all(hr_context *context, int64_t rows, int64_t cols,
                           const float *a, const float *factors, float *c)
{
    scaling *s = calloc(1, sizeof *s);
    if (s == NULL) {
        abort();
    }
    *s = (scaling){.of = {a, factors, c}, .rows = rows, .cols = cols};
    return scale_rows_of(context, s);
}

static void try_size(hr_context *context, int64_t rows, int64_t cols)
{
    const size_t count = (size_t)(rows * cols);
    float *a = calloc(count + 1, sizeof *a);
    float *c = calloc(count + 1, sizeof *c);
    float *factors = calloc((size_t)rows + 1, sizeof *factors);
    int64_t wrong = 0;
    if (a == NULL || c == NULL || factors == NULL) {
        abort();
    }
    for (int64_t i = 0; i < rows * cols; i++) {
        a[i] = element_of(i);
    }
    for (int64_t i = 0; i < rows; i++) {
        factors[i] = element_of(i + 3) / 4;
    }
    CHECK(scale_all(context, rows, cols, a, factors, c) == HR_OK);
    for (int64_t i = 0; i < rows * cols; i++) {
        wrong += c[i] != a[i] * factors[i / cols];
    }
    CHECK(wrong == 0);
    free(factors);
    free(c);
    free(a);
}

int main(int argc, char **argv)
{
    static const int64_t sizes[][2] = {
        {0, 5}, {1, 1}, {63, 5}, {64, 3}, {65, 300}, {1000, 77}, {4099, 130}};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = argc > 1 ? argv[1] : "3xhost";
    if (!test_open(&options, &context)) {
        return test_end();
    }
    told_patience(context);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        TEST_CASE("rows are scaled");
        try_size(context, sizes[i][0], sizes[i][1]);
    }
    uint64_t gemm = 0;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        gemm += context->accelerators[i].device->info.gemm_bytes;
    }
    hr_context_destroy(context);
    options.memory_limit = (100 << 10) + gemm; /* less than three slots of 64 x
                                                  130 */
    CHECK(hr_context_create(&options, &context) == HR_OK);
    told_patience(context);
    TEST_CASE("and where there is little memory");
    try_size(context, 4099, 130);
    hr_context_destroy(context);
    return test_end();
}
