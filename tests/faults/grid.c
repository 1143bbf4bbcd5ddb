/* SPDX-License-Identifier: MIT */
/* Grids: what is reported as right is right. What failed stays so until new
 * values are scattered, and then the grid works again. */
#include "faults/groups.h"
#include "support/faults.h"
#include "support/grid_model.h"

extern const hr_kernel stir2_4;

enum { ROWS = 7, COLS = 5, CELLS = ROWS * COLS, FIELDS = 2 };

/* A field with halos and values on two sides, stirred into another and back. */
typedef struct bed {
    hr_context *context;
    hr_grid *grid;
    grid_model models[FIELDS];
    uint32_t start[FIELDS][CELLS];
} bed;

static const uint32_t beyond = 0x12345678;

static hr_field field_of(uint32_t f)
{
    hr_field field =
        hr_field_of(sizeof(uint32_t), f + 1, HR_BOUNDARY_CLAMP, NULL);
    field.before[0].boundary = HR_BOUNDARY_CONSTANT;
    field.before[0].value = &beyond;
    field.after[0].boundary = HR_BOUNDARY_PERIODIC;
    return field;
}

static void set_up_bed(bed *b)
{
    random_source random = {7};
    *b = (bed){0};
    for (uint32_t f = 0; f < FIELDS; f++) {
        const hr_field field = field_of(f);
        random_fill_bytes(&random, b->start[f], sizeof b->start[f]);
        CHECK(grid_model_create(&b->models[f], hr_extent2(ROWS, COLS), &field));
    }
}

static void clear_bed(bed *b)
{
    hr_grid_destroy(b->grid);
    for (int f = 0; f < FIELDS; f++) {
        grid_model_destroy(&b->models[f]);
    }
}

static hr_status create_grid(bed *b)
{
    static const double weights[] = {4, 3};
    const hr_field fields[] = {field_of(0), field_of(1)};
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    options.weights = weights;
    return hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, FIELDS,
                          &options, &b->grid);
}

static hr_status scatter_fields(bed *b)
{
    for (uint32_t f = 0; f < FIELDS; f++) {
        grid_model_unpack(&b->models[f], b->start[f]);
        HRI_TRY(hr_grid_scatter(b->grid, f, b->start[f]));
    }
    return HR_OK;
}

static hr_status step_grid(bed *b, int64_t steps)
{
    reach r[FIELDS];
    hr_argument arguments[FIELDS][3];
    hr_phase phases[FIELDS];
    for (uint32_t f = 0; f < FIELDS; f++) {
        r[f] = grid_model_reach(&b->models[f].field, 2);
        arguments[f][0] = hr_field_in(f);
        arguments[f][1] = hr_field_out(1 - f);
        arguments[f][2] = hr_value(&r[f], sizeof r[f]);
        phases[f] = hr_phase_of(&stir2_4, arguments[f], 3);
    }
    for (int64_t i = 0; i < steps; i++) {
        grid_model_stir_all(&b->models[0], &b->models[1], &r[0]);
        grid_model_stir_all(&b->models[1], &b->models[0], &r[1]);
    }
    return hr_grid_step(b->grid, phases, FIELDS, steps);
}

/* What is told of a sum is so. */
static hr_status reduce_field(bed *b)
{
    hr_reducing *reducing = NULL;
    uint32_t cells[CELLS];
    double sum = 0, want = 0;
    grid_model_pack(&b->models[0], cells);
    for (int i = 0; i < CELLS; i++) {
        want += (int32_t)cells[i];
    }
    HRI_TRY(hr_grid_reduce(b->grid, HR_REDUCE_SUM, HR_I32, 0, 0, &reducing));
    HRI_TRY(hr_grid_reduced(reducing, &sum));
    CHECK(sum == want);
    return HR_OK;
}

/* Fields that are reported as right are right. */
static hr_status gather_fields(bed *b)
{
    hr_status first = HR_OK;
    for (uint32_t f = 0; f < FIELDS; f++) {
        uint32_t seen[CELLS], want[CELLS];
        grid_model_pack(&b->models[f], want);
        const hr_status status = hr_grid_gather(b->grid, f, seen);
        CHECK(status != HR_OK || memcmp(seen, want, sizeof seen) == 0);
        first = first == HR_OK ? status : first;
    }
    return first;
}

static hr_status use_grid(bed *b)
{
    static const double weights[] = {1, 5};
    HRI_TRY(scatter_fields(b));
    HRI_TRY(step_grid(b, 2));
    HRI_TRY(reduce_field(b));
    HRI_TRY(hr_grid_rebalance(b->grid, weights));
    HRI_TRY(step_grid(b, 1));
    return gather_fields(b);
}

/* An operation that failed is told again and again, unless it was the copy of a
 * sum. */
static void check_stays_failed(bed *b)
{
    char sentence[512];
    const hr_status status = hr_grid_finish(b->grid);
    if (status == HR_OK) {
        CHECK(faults_over() && gather_fields(b) == HR_OK);
        return;
    }
    snprintf(sentence, sizeof sentence, "%s", hr_last_error());
    CHECK_FAILS(step_grid(b, 1), status, sentence);
    CHECK_FAILS(reduce_field(b), status, sentence);
    CHECK_FAILS(hr_grid_finish(b->grid), status, sentence);
    for (uint32_t f = 0; f < FIELDS; f++) {
        uint32_t seen[CELLS];
        CHECK_FAILS(hr_grid_gather(b->grid, f, seen), status, sentence);
    }
}

/* Without more faults the grid is as good as new, once all has been told. A
 * device that is gone does not come back. */
static void mend_grid(bed *b)
{
    if (!faults_over()) {
        CHECK(scatter_fields(b) != HR_OK);
        return;
    }
    (void)!hr_grid_finish(b->grid);
    CHECK(scatter_fields(b) == HR_OK);
    CHECK(step_grid(b, 2) == HR_OK);
    CHECK(reduce_field(b) == HR_OK);
    CHECK(gather_fields(b) == HR_OK);
}

static hr_status stir_grid(hr_context *context, const void *unused)
{
    bed b;
    (void)unused;
    set_up_bed(&b);
    b.context = context;
    hr_status status = create_grid(&b);
    if (status != HR_OK) {
        goto done;
    }
    status = use_grid(&b);
    if (status != HR_OK && faults_way() == FAULT_OPERATION) {
        check_stays_failed(&b);
    }
    if (status != HR_OK) {
        mend_grid(&b);
    }
done:
    clear_bed(&b);
    return status;
}

static const fault_case cases[] = {
    {"grid", stir_grid, .accelerators = "2xhost", .limit = 1 << 20,
     .status = HR_ERROR_OUT_OF_MEMORY, .beside = 4},
};

/* ---- without the runner */

static void open_bed(bed *b)
{
    fault_backend_reset();
    set_up_bed(b);
    CHECK(faults_open(&cases[0], &b->context) == HR_OK);
}

static void close_bed(bed *b)
{
    clear_bed(b);
    hr_context_destroy(b->context);
    faults_closed();
}

/* A field with boundaries that need no launch after the copies. */
static void fail_copies(bool async)
{
    TEST_CASE("a copy of a scatter or a write fails");
    uint32_t data[CELLS] = {1};
    for (uint64_t n = 1; n <= 2; n++) {
        const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CONSTANT, NULL);
        hr_array *array = NULL;
        bed b;
        open_bed(&b);
        CHECK(hr_grid_create(b.context, hr_extent2(ROWS, COLS), &field, 1, NULL,
                             &b.grid) == HR_OK);
        CHECK(hr_array_wrap(b.context, data, 4, hr_extent2(ROWS, COLS), 0,
                            &array) == HR_OK);
        fault_backend_fail_operation(fault_backend_operations() + n,
                                     HR_ERROR_BACKEND);
        if (async) {
            CHECK(hr_grid_write(b.grid, 0, NULL, hr_view_of(array)) == HR_OK);
            CHECK(hr_grid_finish(b.grid) == HR_ERROR_BACKEND);
        } else {
            CHECK(hr_grid_scatter(b.grid, 0, data) == HR_ERROR_BACKEND);
        }
        CHECK(hr_grid_finish(b.grid) == HR_ERROR_BACKEND);
        CHECK(hr_grid_gather(b.grid, 0, data) == HR_ERROR_BACKEND);
        fault_backend_fail_operation(0, HR_OK);
        CHECK(hr_grid_scatter(b.grid, 0, data) == HR_OK);
        hr_array_destroy(array);
        close_bed(&b);
    }
}

/* A reduction that failed is of no concern to values that came after it. */
static void fail_reduction(void)
{
    TEST_CASE("a reduction fails");
    for (uint64_t n = 1; n <= 3; n++) { /* a launch for each band, and a copy */
        hr_reducing *reducing = NULL;
        bed b;
        open_bed(&b);
        CHECK(create_grid(&b) == HR_OK && scatter_fields(&b) == HR_OK);
        CHECK(hr_grid_finish(b.grid) == HR_OK);
        fault_backend_fail_operation(fault_backend_operations() + n,
                                     HR_ERROR_BACKEND);
        const hr_status status =
            hr_grid_reduce(b.grid, HR_REDUCE_SUM, HR_I32, 0, 0, &reducing);
        CHECK(hr_grid_finish(b.grid) == (n < 3 ? HR_ERROR_BACKEND : HR_OK));
        fault_backend_fail_operation(0, HR_OK);
        CHECK(status == HR_ERROR_BACKEND || /* it is known at once */
              hr_grid_reduced(reducing, NULL) == HR_ERROR_BACKEND);
        CHECK(scatter_fields(&b) == HR_OK);
        CHECK(step_grid(&b, 2) == HR_OK);
        CHECK(gather_fields(&b) == HR_OK);
        close_bed(&b);
    }
}

static void lack_double(void)
{
    TEST_CASE("accelerators without double");
    bed b;
    hr_reducing *const untouched = (hr_reducing *)&b;
    hr_reducing *reducing = untouched;
    open_bed(&b);
    CHECK(create_grid(&b) == HR_OK && scatter_fields(&b) == HR_OK);
    fault_backend_pretend_no_double(true);
    const uint64_t before = fault_backend_count(FAULT_LAUNCH);
    CHECK_FAILS(hr_grid_reduce(b.grid, HR_REDUCE_SUM, HR_I32, 0, 0, &reducing),
                HR_ERROR_UNSUPPORTED, "host#0 cannot compute in double");
    CHECK(reducing == untouched);
    CHECK(fault_backend_count(FAULT_LAUNCH) == before);
    CHECK(step_grid(&b, 2) == HR_OK && gather_fields(&b) == HR_OK);
    close_bed(&b);
}

void faults_grid(void)
{
    TEST(lack_double());
    TEST(fail_reduction());
    TEST(fail_copies(false));
    TEST(fail_copies(true));
    FAULTS_EACH(cases);
}
