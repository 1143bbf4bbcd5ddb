/* SPDX-License-Identifier: MIT */
/* Progress of long calls, on the accelerators of argv[1]: the function is
 * called on the caller's thread, at the start and at the end, and what it is
 * told never falls. When it cancels, the call ends with HR_ERROR_CANCELLED, and
 * the next one gives right results. */
#include <math.h>
#include <pthread.h>

#include "base/progress.h"
#include "base/size.h"
#include "runtime/runtime.h"
#include "support/bed.h"

extern const hr_kernel progress_add, progress_next, progress_count;

enum {
    ROWS = 128,
    COLS = 300,
    CELLS = ROWS * COLS,
    TURNS = 150, /* of the kernel's loop */
    VALUES = 97,
    STEPS = 300,
    EDGE = 300, /* of products */
    REACH = 16
};

static int x[CELLS], y[CELLS], want[VALUES];
static unsigned bins[8];
static float in[CELLS], out[CELLS];
static float a[EDGE * EDGE], c[EDGE * EDGE], identity[EDGE * EDGE];
static double large[CELLS]; /* their squares are infinite */

/* ---- a function that is told */

typedef struct teller {
    int calls;
    int cancel_at;  /* this call, from 1; 0: none */
    bool cancelled; /* it did, before the end */
    bool good;      /* what it was told */
    double first, last, total;
    pthread_t thread;
} teller;

static bool hear_progress(void *data, double done, double total)
{
    teller *t = data;
    t->calls++;
    t->good = t->good && pthread_equal(pthread_self(), t->thread) &&
              (t->calls == 1 || (done >= t->last && total == t->total)) &&
              done >= 0.0 && done <= total && !t->cancelled;
    t->first = t->calls == 1 ? done : t->first;
    t->last = done;
    t->total = total;
    t->cancelled = t->cancelled || (t->calls == t->cancel_at && done < total);
    return t->calls != t->cancel_at;
}

static hr_split_options split_options(teller *t)
{
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.progress = t != NULL ? hear_progress : NULL;
    options.progress_data = t;
    return options;
}

/* ---- the calls: each computes its result anew, and knows if it is right */

typedef struct kind {
    const char *name;
    double total; /* 0: any */
    hr_status (*run)(bed *b, teller *t);
    bool (*is_right)(void);
    bool (*is_untouched)(void); /* NULL: it has no caller's memory */
} kind;

static bool y_is_right(void)
{
    bool right = true;
    for (int i = 0; i < CELLS; i++) {
        right = right && y[i] == want[x[i]];
    }
    return right;
}

static bool y_is_untouched(void)
{
    bool old = true;
    for (int i = 0; i < CELLS; i++) {
        old = old && y[i] == -1;
    }
    return old;
}

static hr_status run_memory(bed *b, teller *t)
{
    const hr_split_options options = split_options(t);
    const int turns = TURNS;
    const hr_argument arguments[] = {
        hr_value(&turns, sizeof turns),
        hr_in_data(x, "int", sizeof(int), hr_extent2(ROWS, COLS), 0),
        hr_out_data(y, "int", sizeof(int), hr_extent2(ROWS, COLS), 0)};
    memset(y, -1, sizeof y);
    return hr_run(b->context, &progress_add, hr_extent2(ROWS, COLS), arguments,
                  3, &options);
}

/* Bring home what a call of this status has written. */
static hr_status read_written(hr_status status, hr_array *to)
{
    HRI_TRY(status);
    return to != NULL ? hr_synchronize(hr_view_of(to)) : HR_OK;
}

/* The same, and free the arrays. The error stays the call's. */
static hr_status bring_home(hr_status status, hr_array *from, hr_array *to)
{
    hri_error error = {0};
    hri_error_keep(&error, read_written(status, to));
    hr_array_destroy(from);
    hr_array_destroy(to);
    return hri_error_raise(&error);
}

static hr_status launch_views(bed *b, teller *t)
{
    const hr_split_options options = split_options(t);
    const int turns = TURNS;
    memset(y, -1, sizeof y);
    hr_array *from = bed_wrap(b, x, sizeof(int), hr_extent2(ROWS, COLS));
    hr_array *to = bed_wrap(b, y, sizeof(int), hr_extent2(ROWS, COLS));
    const hr_argument arguments[] = {hr_value(&turns, sizeof turns),
                                     hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to))};
    hr_status status =
        hr_launch_split(b->context, &progress_add, hr_extent2(ROWS, COLS),
                        arguments, 3, &options);
    return bring_home(status, from, to);
}

/* The same in chunks, where accelerators have memory of their own. */
static hr_status launch_in_chunks(bed *b, teller *t)
{
    uint64_t limits[8];
    for (uint32_t i = 0; i < b->count; i++) {
        hri_accelerator *one = &b->context->accelerators[i];
        hri_accelerator_trim(one);
        limits[i] = one->memory_limit;
        if (!one->in_place) {
            one->memory_limit = one->device->info.gemm_bytes +
                                hri_accelerator_held(one) + (1 << 16);
        }
    }
    const hr_status status = launch_views(b, t);
    for (uint32_t i = 0; i < b->count; i++) {
        b->context->accelerators[i].memory_limit = limits[i];
    }
    return status;
}

static hr_status count_in_bins(bed *b, teller *t)
{
    const hr_split_options options = split_options(t);
    memset(bins, 0, sizeof bins);
    hr_array *from = bed_wrap(b, x, sizeof(int), hr_extent1(CELLS));
    hr_array *to = bed_wrap(b, bins, sizeof(unsigned), hr_extent1(8));
    const hr_argument arguments[] = {
        hr_in(hr_view_of(from)),
        hr_combined(hr_inout(hr_view_of(to)), HR_COMBINE_SUM)};
    hr_status status = hr_launch_split(
        b->context, &progress_count, hr_extent1(CELLS), arguments, 2, &options);
    return bring_home(status, from, to);
}

static bool bins_are_right(void)
{
    unsigned seen[8] = {0};
    for (int i = 0; i < CELLS; i++) {
        seen[x[i] % 8]++;
    }
    return memcmp(seen, bins, sizeof seen) == 0;
}

static hr_status scan_cells(bed *b, teller *t)
{
    const hr_split_options options = split_options(t);
    memset(y, -1, sizeof y);
    hr_array *from = bed_wrap(b, x, sizeof(int), hr_extent1(CELLS));
    hr_array *to = bed_wrap(b, y, sizeof(int), hr_extent1(CELLS));
    hr_status status =
        hr_scan(b->context, HR_REDUCE_SUM, HR_SCAN_INCLUSIVE, HR_I32,
                hr_view_of(from), hr_view_of(to), &options);
    return bring_home(status, from, to);
}

static bool y_is_scan(void)
{
    int sum = 0;
    bool right = true;
    for (int i = 0; i < CELLS; i++) {
        sum += x[i];
        right = right && y[i] == sum;
    }
    return right;
}

static hr_status sort_extent(bed *b, teller *t, hr_extent extent)
{
    const hr_split_options options = split_options(t);
    memset(y, -1, sizeof y);
    hr_array *from = bed_wrap(b, x, sizeof(int), extent);
    hr_array *to = bed_wrap(b, y, sizeof(int), extent);
    hr_status status = hr_sort(b->context, HR_SORT_ASCENDING, HR_I32,
                               hr_view_of(from), hr_view_of(to), &options);
    return bring_home(status, from, to);
}

static hr_status sort_line(bed *b, teller *t)
{
    return sort_extent(b, t, hr_extent1(CELLS));
}

static bool y_is_sorted(void)
{
    bool right = y[0] == 0;
    for (int i = 1; i < CELLS; i++) {
        right = right && y[i] >= y[i - 1];
    }
    return right && y[CELLS - 1] == VALUES - 1;
}

/* Rows that are too long for the memory of a tile. */
enum { SORT_COLS = 5000, SORT_ROWS = CELLS / SORT_COLS };

static hr_status sort_rows(bed *b, teller *t)
{
    return sort_extent(b, t, hr_extent2(SORT_ROWS, SORT_COLS));
}

static bool rows_are_sorted(void)
{
    bool right = true;
    for (int i = 1; i < SORT_ROWS * SORT_COLS; i++) {
        right = right && (i % SORT_COLS == 0 || y[i] >= y[i - 1]) && y[i] >= 0;
    }
    return right;
}

static double reduced;

static hr_status reduce_cells(bed *b, teller *t, hr_reduction operation,
                              hr_type type, const void *values)
{
    const hr_split_options options = split_options(t);
    hr_reduced result = {.value = -1.0};
    hr_array *from = bed_wrap(b, values, hr_type_size(type), hr_extent1(CELLS));
    const hr_status status = hr_reduce(
        b->context, operation, type, hr_view_of(from), NULL, &options, &result);
    reduced = result.value;
    return bring_home(status, from, NULL);
}

static hr_status sum_cells(bed *b, teller *t)
{
    return reduce_cells(b, t, HR_REDUCE_SUM, HR_I32, x);
}

static bool sum_is_right(void)
{
    double sum = 0.0;
    for (int i = 0; i < CELLS; i++) {
        sum += x[i];
    }
    return reduced == sum;
}

/* Several launches, since the sum of squares is infinite. */
static hr_status norm_of_large(bed *b, teller *t)
{
    return reduce_cells(b, t, HR_REDUCE_NORM, HR_F64, large);
}

static bool norm_is_right(void)
{
    return fabs(reduced / (1e200 * sqrt(CELLS)) - 1.0) < 1e-12;
}

static bool out_is_right(void)
{
    bool right = true;
    for (int i = 0; i < CELLS; i++) {
        right = right && out[i] >= 0.0f;
    }
    for (int i = REACH; i < ROWS - REACH && right; i += 61) {
        for (int j = REACH; j < COLS - REACH; j++) {
            float sum = 0.0f;
            for (int r = -REACH; r <= REACH; r++) {
                for (int s = -REACH; s <= REACH; s++) {
                    sum += in[(i + r) * COLS + j + s];
                }
            }
            right = right && out[i * COLS + j] == sum; /* whole numbers */
        }
    }
    return right;
}

static bool out_is_untouched(void)
{
    bool old = true;
    for (int i = 0; i < CELLS; i++) {
        old = old && out[i] == -1.0f;
    }
    return old;
}

static hr_filter_options filter_options(teller *t)
{
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    options.edges = HR_EDGES_CLAMPED;
    options.method = HR_FILTER_DIRECT;
    options.progress = t != NULL ? hear_progress : NULL;
    options.progress_data = t;
    for (int i = 0; i < CELLS; i++) {
        out[i] = -1.0f;
    }
    return options;
}

static hr_status filter_with(bed *b, const hr_filter_options *options)
{
    hr_window *w = NULL;
    CHECK(hr_window_box(REACH, &w) == HR_OK);
    const hr_status status = hr_filter(
        b->context, w, 1.0, hr_matrix_row_major(in, HR_F32, ROWS, COLS, 0),
        hr_matrix_row_major(out, HR_F32, ROWS, COLS, 0), options);
    hr_window_destroy(w);
    return status;
}

static hr_status filter_pixels(bed *b, teller *t)
{
    const hr_filter_options options = filter_options(t);
    return filter_with(b, &options);
}

static hr_status filter_on_one_thread(bed *b, teller *t)
{
    hr_filter_options options = filter_options(t);
    options.one_thread = true;
    return filter_with(b, &options);
}

static hr_status filter_views(bed *b, teller *t)
{
    const hr_filter_options options = filter_options(t);
    hr_window *w = NULL;
    CHECK(hr_window_box(REACH, &w) == HR_OK);
    hr_array *from = bed_wrap(b, in, sizeof(float), hr_extent2(ROWS, COLS));
    hr_array *to = bed_wrap(b, out, sizeof(float), hr_extent2(ROWS, COLS));
    const hr_status status = hr_filter_views(
        b->context, w, 1.0, HR_F32, hr_view_of(from), hr_view_of(to), &options);
    hr_window_destroy(w);
    return bring_home(status, from, to);
}

static hr_matrix square(float *data)
{
    return hr_matrix_row_major(data, HR_F32, EDGE, EDGE, 0);
}

/* A times the identity. */
static hr_status multiply_identity(bed *b, teller *t)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.progress = t != NULL ? hear_progress : NULL;
    options.progress_data = t;
    for (int i = 0; i < EDGE * EDGE; i++) {
        c[i] = -1.0f;
    }
    return hr_gemm(b->context, hr_real(1.0), square(a), square(identity),
                   hr_real(0.0), square(c), &options);
}

static bool c_is_right(void)
{
    return memcmp(a, c, sizeof c) == 0;
}

static bool c_is_untouched(void)
{
    bool old = true;
    for (int i = 0; i < EDGE * EDGE; i++) {
        old = old && c[i] == -1.0f;
    }
    return old;
}

/* The same. */
static hr_status verify_product(bed *b, teller *t)
{
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    report.progress = t != NULL ? hear_progress : NULL;
    report.progress_data = t;
    memcpy(c, a, sizeof c);
    const hr_status status =
        hr_gemm_verify(b->context, hr_real(1.0), square(a), square(identity),
                       hr_real(0.0), square(c), square(c), &report);
    CHECK(report.progress_data == t);
    CHECK(status == HR_OK ? report.trials > 0 : report.trials == 0);
    return status;
}

static bool is_always_right(void)
{
    return true;
}

static const kind kinds[] = {
    {"run", CELLS, run_memory, y_is_right, y_is_untouched},
    {"launch", CELLS, launch_views, y_is_right, y_is_untouched},
    {"stream", CELLS, launch_in_chunks, y_is_right, y_is_untouched},
    {"combine", CELLS, count_in_bins, bins_are_right, NULL},
    {"scan", 0, scan_cells, y_is_scan, y_is_untouched},
    {"sort", 0, sort_line, y_is_sorted, y_is_untouched},
    {"sort rows", 0, sort_rows, rows_are_sorted, y_is_untouched},
    {"reduce", 0, sum_cells, sum_is_right, NULL},
    {"norm", 0, norm_of_large, norm_is_right, NULL},
    {"product", 2.0 * EDGE *EDGE *EDGE, multiply_identity, c_is_right,
     c_is_untouched},
    {"filter", CELLS, filter_pixels, out_is_right, out_is_untouched},
    {"filter, one thread", CELLS, filter_on_one_thread, out_is_right,
     out_is_untouched},
    {"filter views", CELLS, filter_views, out_is_right, out_is_untouched},
    {"verify", 0, verify_product, is_always_right, NULL},
};

/* ---- cases */

static teller new_teller(int cancel_at)
{
    return (teller){
        .cancel_at = cancel_at, .good = true, .thread = pthread_self()};
}

static void tells_all(bed *b, const kind *k)
{
    teller t = new_teller(0);
    TEST_CASE(k->name);
    CHECK(k->run(b, NULL) == HR_OK && k->is_right());
    CHECK(k->run(b, &t) == HR_OK && k->is_right());
    CHECK(t.good && t.calls >= 2 && t.first == 0.0 && t.last == t.total);
    CHECK(t.total > 0.0 && (k->total == 0.0 || t.total == k->total));
}

/* Cancel at that call. False when the call before was the last. */
static bool cancels(bed *b, const kind *k, int cancel_at)
{
    teller t = new_teller(cancel_at);
    const hr_status status = k->run(b, &t);
    CHECK(t.good);
    CHECK(status == (t.cancelled ? HR_ERROR_CANCELLED : HR_OK));
    CHECK(!t.cancelled || (t.calls == cancel_at &&
                           strstr(hr_last_error(), "cancelled after") != NULL));
    CHECK(t.cancelled || k->is_right());
    CHECK(cancel_at > 1 || k->is_untouched == NULL || k->is_untouched());
    CHECK(k->run(b, NULL) == HR_OK && k->is_right());
    return t.cancelled;
}

/* Calls tell whenever they look. How often that is depends on when threads run,
 * so what they are to cancel at may not come: then they end. */
static void cancels_everywhere(bed *b, const kind *k)
{
    teller t = new_teller(0);
    TEST_CASE(k->name);
    hri_progress_ms = 0;
    CHECK(cancels(b, k, 1));
    CHECK(k->run(b, &t) == HR_OK);
    const int last = t.calls - 1, middle = t.calls / 2;
    (void)cancels(b, k, 2);
    (void)cancels(b, k, middle > 2 ? middle : 2);
    (void)cancels(b, k, last > 2 ? last : 2);
    hri_progress_ms = 1;
}

/* A cancelled call ends before its work is done: the calling thread tells after
 * each piece, and pieces are as low as they may be. */
static void ends_early(bed *b)
{
    TEST_CASE("work that was not begun is left");
    teller t = new_teller(2);
    bool left = false;
    hri_progress_ms = 0;
    CHECK(filter_on_one_thread(b, &t) == HR_ERROR_CANCELLED);
    hri_progress_ms = 1;
    for (int i = 0; i < CELLS; i++) {
        left = left || out[i] == -1.0f;
    }
    CHECK(left && t.good && t.calls == 2);
}

static void nothing_to_do(bed *b)
{
    TEST_CASE(
        "nothing is told of no work, of a dry run and of what is refused");
    teller t = new_teller(1);
    hr_filter_options options = filter_options(&t);
    hr_window *w = NULL;
    CHECK(hr_window_box(REACH, &w) == HR_OK);
    CHECK(hr_filter(
              b->context, w, 1.0, hr_matrix_row_major(in, HR_F32, 0, COLS, 0),
              hr_matrix_row_major(out, HR_F32, 0, COLS, 0), &options) == HR_OK);
    options.tolerance = -1.0;
    CHECK(filter_with(b, &options) == HR_ERROR_INVALID);
    hr_window_destroy(w);
    hr_split_options split = split_options(&t);
    split.dry_run = true;
    hr_array *from = bed_wrap(b, x, sizeof(int), hr_extent1(CELLS));
    hr_array *to = bed_wrap(b, bins, sizeof(unsigned), hr_extent1(8));
    const hr_argument arguments[] = {
        hr_in(hr_view_of(from)),
        hr_combined(hr_inout(hr_view_of(to)), HR_COMBINE_SUM)};
    CHECK(hr_launch_split(b->context, &progress_count, hr_extent1(CELLS),
                          arguments, 2, &split) == HR_OK);
    split.dry_run = false;
    CHECK(hr_launch_split(b->context, &progress_count, hr_extent1(CELLS + 1),
                          arguments, 2, &split) == HR_ERROR_COMPUTE_DOMAIN);
    hr_array_destroy(from);
    hr_array_destroy(to);
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    report.progress = hear_progress;
    report.progress_data = &t;
    const hr_matrix none = hr_matrix_row_major(c, HR_F32, 0, EDGE, 0);
    CHECK(hr_gemm_verify(b->context, hr_real(1.0), none, square(a),
                         hr_real(0.0), none, none, &report) == HR_OK);
    CHECK(t.calls == 0);
}

/* What is wrong is found, and told to be done. */
static void mismatch_is_found(bed *b)
{
    TEST_CASE("a product that is wrong");
    teller t = new_teller(0);
    hr_verify_report report = HR_VERIFY_REPORT_INIT;
    report.progress = hear_progress;
    report.progress_data = &t;
    memcpy(c, a, sizeof c);
    c[EDGE + 5] += 100.0f;
    CHECK(hr_gemm_verify(b->context, hr_real(1.0), square(a), square(a),
                         hr_real(0.0), square(c), square(c),
                         &report) == HR_ERROR_MISMATCH);
    CHECK(strstr(hr_last_error(), "should be") != NULL);
    CHECK(t.good && t.last == t.total && report.trials > 0);
}

/* ---- grids: every step adds 1 */

typedef struct stepper {
    hr_grid *grid;
    hr_argument arguments[2];
    hr_phase phases[2];
    int64_t steps; /* of all calls */
} stepper;

static stepper open_grid(bed *b)
{
    static const int zeros[CELLS];
    stepper s = {.steps = 0};
    const hr_field field =
        hr_field_of(sizeof(int), 0, HR_BOUNDARY_CONSTANT, NULL);
    const hr_field fields[] = {field, field};
    CHECK(hr_grid_create(b->context, hr_extent2(ROWS, COLS), fields, 2, NULL,
                         &s.grid) == HR_OK);
    CHECK(hr_grid_scatter(s.grid, 0, zeros) == HR_OK);
    s.arguments[0] = hr_field_here(0);
    s.arguments[1] = hr_field_out(1);
    return s;
}

static void set_phases(stepper *s)
{
    s->phases[0] = hr_phase_of(&progress_next, s->arguments, 2);
    s->phases[1] = hr_phase_swap(0, 1);
}

/* The values are those after as many steps as the grid says. */
static int64_t steps_made(stepper *s)
{
    hr_grid_state state = HR_GRID_STATE_INIT;
    bool right = true;
    CHECK(hr_grid_describe(s->grid, &state, NULL, 0) == HR_OK);
    CHECK(hr_grid_gather(s->grid, 0, y) == HR_OK);
    for (int i = 0; i < CELLS; i++) {
        right = right && y[i] == (int)state.steps;
    }
    CHECK(right);
    return (int64_t)state.steps;
}

static bool note_steps(void *data, hr_grid *grid, int64_t steps)
{
    (void)grid;
    *(int64_t *)data = steps;
    return true;
}

static hr_status step_or_run(stepper *s, bool run)
{
    int64_t told = 0;
    return run ? hr_grid_run(s->grid, s->phases, 2, STEPS, 7, note_steps, &told)
               : hr_grid_step(s->grid, s->phases, 2, STEPS);
}

static void steps_are_told(bed *b, bool run)
{
    TEST_CASE(run ? "hr_grid_run" : "hr_grid_step");
    stepper s = open_grid(b);
    set_phases(&s);
    CHECK(step_or_run(&s, run) == HR_OK);
    int64_t made = steps_made(&s);
    CHECK(made == STEPS);
    teller t = new_teller(0);
    CHECK(hr_grid_set_progress(s.grid, hear_progress, &t) == HR_OK);
    CHECK(step_or_run(&s, run) == HR_OK);
    CHECK(t.good && t.calls >= 2 && t.first == 0.0 && t.last == STEPS);
    CHECK(t.total == STEPS && steps_made(&s) == 2 * STEPS);
    made = 2 * STEPS;
    hri_progress_ms = 0; /* it tells after each step */
    const int calls[] = {1, 2, STEPS / 2, STEPS};
    int met = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        t = new_teller(calls[i]);
        const hr_status status = step_or_run(&s, run);
        CHECK(status == (t.cancelled ? HR_ERROR_CANCELLED : HR_OK) && t.good);
        CHECK(!t.cancelled ||
              strstr(hr_last_error(), "grid: cancelled after") != NULL);
        const int64_t now = steps_made(&s);
        CHECK(t.cancelled ? now < made + STEPS : now == made + STEPS);
        CHECK(i > 0 || now == made);
        met += t.cancelled;
        made = now;
    }
    CHECK(met == 4);
    hri_progress_ms = 1;
    t = new_teller(1);
    CHECK(hr_grid_step(s.grid, s.phases, 2, 0) == HR_OK);
    CHECK(hr_grid_step(s.grid, s.phases, 2, -1) == HR_ERROR_INVALID);
    CHECK(hr_grid_set_progress(s.grid, NULL, NULL) == HR_OK);
    CHECK(step_or_run(&s, run) == HR_OK && t.calls == 0);
    CHECK(steps_made(&s) == made + STEPS);
    CHECK(hr_grid_set_progress(NULL, hear_progress, &t) == HR_ERROR_INVALID);
    hr_grid_destroy(s.grid);
}

/* ---- */

static void rounds_grow(void)
{
    TEST_CASE("rounds grow while they are short");
    hri_rounds r = {0};
    CHECK(hri_rounds_next(&r, 100) == 1);
    hri_progress_ms = 1000000;
    CHECK(hri_rounds_next(&r, 100) == 2 && hri_rounds_next(&r, 100) == 4);
    CHECK(hri_rounds_next(&r, 3) == 3);
    hri_progress_ms = 0;
    for (int i = 0; i < 8; i++) {
        (void)hri_rounds_next(&r, 100);
    }
    CHECK(hri_rounds_next(&r, 100) == 1);
    hri_progress_ms = 1;
}

static void all_cases(bed *b)
{
    const size_t count_of = sizeof kinds / sizeof kinds[0];
    hri_progress_ms = 1;
    for (size_t i = 0; i < count_of; i++) {
        TEST(tells_all(b, &kinds[i]));
    }
    for (size_t i = 0; i < count_of; i++) {
        TEST(cancels_everywhere(b, &kinds[i]));
    }
    TEST(ends_early(b));
    TEST(nothing_to_do(b));
    TEST(mismatch_is_found(b));
    TEST(steps_are_told(b, false));
    TEST(steps_are_told(b, true));
    TEST(rounds_grow());
}

int main(int argc, char **argv)
{
    for (int i = 0; i < CELLS; i++) {
        x[i] = i % VALUES;
        in[i] = (float)(i % 11);
    }
    for (int v = 0; v < VALUES; v++) {
        want[v] = 1;
        for (int k = 0; k < TURNS; k++) {
            want[v] = (want[v] ^ k) + v;
            want[v] = want[v] ^ k;
        }
    }
    for (int i = 0; i < EDGE * EDGE; i++) {
        a[i] = (float)(i % 13);
    }
    for (int i = 0; i < EDGE; i++) {
        identity[i * (EDGE + 1)] = 1.0f;
    }
    for (int i = 0; i < CELLS; i++) {
        large[i] = 1e200;
    }
    return bed_main(argc > 1 ? argv[1] : "host", all_cases);
}
