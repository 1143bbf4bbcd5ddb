/* SPDX-License-Identifier: MIT */
/* Structs that start with `uint32_t size`, as programs of other versions have
 * them: smaller and larger than the library's. tests/structure/structs.sh wants
 * a row here for each that a header has. */
#include "test.h"

#include <ctype.h>
#include <stddef.h>

#include "runtime/runtime.h"
#include "support/fake.h"
#include "support/split.h"
#include "support/told.h"

enum { EDGE = 64, GUARD = 64, MORE = 16, MAX_BYTES = 4096 };

/* What calls work on, and what they found. */
typedef struct bed {
    hr_context *host; /* 2xhost */
    hr_context *fake; /* cuda:0 that only pretends: quick to measure */
    float a[EDGE * EDGE], b[EDGE * EDGE], c[EDGE * EDGE];
    hr_window *window;
    hr_array *array;
    hr_grid *grid;
    hr_gemm_report gemm;
    hr_gemm_share shares[2];
    hr_filter_report filter;
    hr_split_report split;
    hr_band bands[2];
    uint64_t limit;
    uint32_t count;
    long lines, calls;
    bool empty;
} bed;

static const uint32_t second[] = {1};

/* ---- contexts */

static void count_line(void *data, const char *line)
{
    (void)line;
    ++*(long *)data;
}

static void set_context_options(bed *t, void *s)
{
    hr_context_options *o = s;
    o->accelerators = "2xhost";
    o->memory_limit = 1 << 20;
    o->log = count_line;
    o->log_data = &t->lines;
    o->may_be_empty = true;
    t->lines = 0;
}

static hr_status create_context(bed *t, void *s)
{
    hr_context *context = NULL;
    HRI_TRY(hr_context_create(s, &context));
    t->count = hr_accelerator_count(context);
    t->limit = context->accelerators[0].memory_limit;
    t->empty = context->may_be_empty;
    hr_context_destroy(context);
    return HR_OK;
}

static bool context_options_good(const bed *t, const void *s, bool whole)
{
    (void)s;
    return t->count == 2 && t->limit == 1 << 20 && t->lines > 0 &&
           t->empty == whole;
}

static hr_status describe_accelerator(bed *t, void *s)
{
    return hr_accelerator_describe(t->host, 1, s);
}

static hr_status describe_machine(bed *t, void *s)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    for (uint32_t i = 0;; i++) {
        HRI_TRY(hr_machine_describe(t->host, i, &info));
        if (strcmp(info.path, "host") == 0) {
            return hr_machine_describe(t->host, i, s);
        }
    }
}

static bool accelerator_info_good(const bed *t, const void *s, bool whole)
{
    const hr_accelerator_info *info = s;
    (void)t, (void)whole;
    return strcmp(info->path, "host#1") == 0 && info->chosen &&
           info->reason[0] == '\0';
}

static bool machine_info_good(const bed *t, const void *s, bool whole)
{
    const hr_accelerator_info *info = s;
    (void)t, (void)whole;
    return strcmp(info->path, "host") == 0 && info->chosen &&
           info->compute_units > 0 && info->reason[0] == '\0';
}

static hr_status measure_rates(bed *t, void *s)
{
    return hr_accelerator_measure(t->fake, 0, s);
}

static bool rates_good(const bed *t, const void *s, bool whole)
{
    const hr_accelerator_rates *r = s;
    (void)t;
    return r->up > 0.0 && r->down > 0.0 && r->f32 > 0.0 &&
           (!whole || r->f64 > 0.0);
}

/* ---- products */

static hr_matrix square(float *data)
{
    return hr_matrix_row_major(data, HR_F32, EDGE, EDGE, 0);
}

static hr_status multiply_ones(bed *t, const hr_gemm_options *options)
{
    memset(t->c, 0, sizeof t->c);
    return hr_gemm(t->host, hr_real(1), square(t->a), square(t->b), hr_real(0),
                   square(t->c), options);
}

static bool product_good(const bed *t)
{
    bool good = true;
    for (int i = 0; i < EDGE * EDGE; i++) {
        good = good && t->c[i] == 2.0f * EDGE;
    }
    return good;
}

static bool count_call(void *data, double done, double total)
{
    (void)done, (void)total;
    if (data != NULL) { /* progress_data, where the struct has it */
        ++*(long *)data;
    }
    return true;
}

static hr_status describe_predictions(bed *t, void *s)
{
    HRI_TRY(multiply_ones(t, NULL));
    return hr_predictions_describe(t->host, HR_ENGINE_GEMM, s);
}

static bool predictions_good(const bed *t, const void *s, bool whole)
{
    const hr_predictions *p = s;
    (void)t;
    return p->runs > 0 && p->within_1_3 <= p->within_2 &&
           p->within_2 <= p->runs && (!whole || p->seen > 0.0);
}

static void set_gemm_options(bed *t, void *s)
{
    hr_gemm_options *o = s;
    t->calls = 0;
    t->gemm = (hr_gemm_report)HR_GEMM_REPORT_INIT;
    t->gemm.shares = t->shares;
    t->gemm.share_capacity = 2;
    o->accelerators = second;
    o->accelerator_count = 1;
    o->progress = count_call;
    o->progress_data = &t->calls;
    o->report = &t->gemm;
}

static hr_status multiply_with(bed *t, void *s)
{
    return multiply_ones(t, s);
}

static bool gemm_options_good(const bed *t, const void *s, bool whole)
{
    const hr_gemm_options *o = s;
    /* behind the report there are fields that this call does not read */
    const bool reports = o->size >= offsetof(hr_gemm_options, await);
    return product_good(t) && t->calls > 0 && reports >= whole &&
           (reports ? t->gemm.share_count == 1 && t->shares[0].accelerator == 1
                    : t->gemm.seconds == 0.0);
}

static void set_gemm_report(bed *t, void *s)
{
    hr_gemm_report *r = s;
    memset(t->shares, 0, sizeof t->shares);
    r->shares = t->shares;
    r->share_capacity = 2;
}

static hr_status multiply_and_tell(bed *t, void *s)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.accelerators = second;
    options.accelerator_count = 1;
    options.report = s;
    return multiply_ones(t, &options);
}

static hr_status plan_product(bed *t, void *s)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.accelerators = second;
    options.accelerator_count = 1;
    return hr_gemm_plan(t->host, hr_real(1), square(t->a), square(t->b),
                        hr_real(0), square(t->c), &options, s);
}

static bool gemm_report_good(const bed *t, const void *s, bool whole)
{
    const hr_gemm_report *r = s;
    return r->share_count == 1 && r->share_capacity == 2 &&
           r->shares == t->shares && t->shares[0].accelerator == 1 &&
           r->seconds > 0.0 && r->flops == 2.0 * EDGE * EDGE * EDGE &&
           r->tile_cols == EDGE && (!whole || r->tile_depth == EDGE);
}

static hr_status measure_limits(bed *t, void *s)
{
    return hr_gemm_measure_limits(t->fake, HR_F32, HR_F32, HR_COMPUTE_NATIVE,
                                  s);
}

static bool limits_good(const bed *t, const void *s, bool whole)
{
    const hr_gemm_limits *l = s;
    (void)t, (void)whole;
    return l->devices == 1 && l->flops > 0.0;
}

static hr_status verify_product(bed *t, void *s)
{
    HRI_TRY(multiply_ones(t, NULL));
    return hr_gemm_verify(t->host, hr_real(1), square(t->a), square(t->b),
                          hr_real(0), square(t->c), square(t->c), s);
}

static bool verify_report_good(const bed *t, const void *s, bool whole)
{
    const hr_verify_report *r = s;
    (void)t;
    return r->trials > 0 && r->row == -1 && (!whole || r->seconds > 0.0);
}

/* ---- filters */

static hr_status filter_ones(bed *t, const hr_filter_options *options)
{
    memset(t->c, 0, sizeof t->c);
    return hr_filter(t->host, t->window, 1.0, square(t->a), square(t->c),
                     options);
}

/* A box of 3x3 over ones, as far as there are some. */
static bool filter_good(const bed *t)
{
    bool good = true;
    for (int i = 1; i < EDGE - 1; i++) {
        for (int j = 1; j < EDGE - 1; j++) {
            good = good && t->c[i * EDGE + j] == 9.0f;
        }
    }
    return good && t->c[0] == 4.0f; /* beyond the edges there are zeros */
}

static void set_filter_options(bed *t, void *s)
{
    hr_filter_options *o = s;
    t->filter = (hr_filter_report)HR_FILTER_REPORT_INIT;
    o->edges = HR_EDGES_CONSTANT;
    o->method = HR_FILTER_DIRECT;
    o->accelerators = second;
    o->accelerator_count = 1;
    o->report = &t->filter;
    o->progress = count_call;
    o->progress_data = &t->calls;
    t->calls = 0;
}

static hr_status filter_with(bed *t, void *s)
{
    return filter_ones(t, s);
}

static bool filter_options_good(const bed *t, const void *s, bool whole)
{
    (void)s;
    return filter_good(t) && t->filter.accelerators == 1 &&
           t->filter.method == HR_FILTER_DIRECT && (t->calls > 0) == whole;
}

static hr_status filter_and_tell(bed *t, void *s)
{
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    set_filter_options(t, &options);
    options.report = s;
    return filter_ones(t, &options);
}

static hr_status plan_filter(bed *t, void *s)
{
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    set_filter_options(t, &options);
    options.report = NULL;
    return hr_filter_plan(t->host, t->window, 1.0, square(t->a), square(t->c),
                          &options, s);
}

static bool filter_report_good(const bed *t, const void *s, bool whole)
{
    const hr_filter_report *r = s;
    (void)t;
    return r->method == HR_FILTER_DIRECT && r->seconds > 0.0 &&
           r->products >= 9.0 * EDGE * EDGE && r->accelerators == 1 &&
           (!whole || r->pieces > 0);
}

/* ---- split launches and grids */

static hr_status launch_views(bed *t, const hr_split_options *options)
{
    static const reach none = {0, 0};
    const hr_extent extent = hr_extent1(EDGE);
    hr_view v[4];
    for (int i = 0; i < 4; i++) {
        const int64_t origin = i * EDGE;
        CHECK(hr_view_section(hr_view_of(t->array), &origin, extent, &v[i]) ==
              HR_OK);
    }
    const hr_argument arguments[] = {hr_in(v[0]), hr_whole(hr_in(v[1])),
                                     hr_inout(v[2]), hr_out(v[3]),
                                     hr_value(&none, sizeof none)};
    return hr_launch_split(t->host, &split1, extent, arguments, 5, options);
}

static void set_split_options(bed *t, void *s)
{
    hr_split_options *o = s;
    t->split = (hr_split_report)HR_SPLIT_REPORT_INIT;
    t->split.shares = t->bands;
    t->split.share_capacity = 2;
    o->accelerators = second;
    o->accelerator_count = 1;
    o->report = &t->split;
    o->progress = count_call;
    o->progress_data = &t->calls;
    t->calls = 0;
}

static hr_status launch_with(bed *t, void *s)
{
    return launch_views(t, s);
}

static bool split_options_good(const bed *t, const void *s, bool whole)
{
    (void)s;
    return t->split.share_count == 1 && t->bands[0].accelerator == 1 &&
           t->bands[0].count == EDGE && (t->calls > 0) == whole;
}

static void set_split_report(bed *t, void *s)
{
    hr_split_report *r = s;
    memset(t->bands, 0, sizeof t->bands);
    r->shares = t->bands;
    r->share_capacity = 2;
}

static hr_status launch_and_tell(bed *t, void *s)
{
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    set_split_options(t, &options);
    options.report = s;
    return launch_views(t, &options);
}

static bool split_report_good(const bed *t, const void *s, bool whole)
{
    const hr_split_report *r = s;
    (void)whole;
    return r->share_count == 1 && r->used == 1 && r->shares == t->bands &&
           t->bands[0].accelerator == 1 && r->seconds > 0.0;
}

static hr_status launch_and_profile(bed *t, void *s)
{
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    set_split_options(t, &options);
    options.progress = NULL; /* which runs it in pieces */
    HRI_TRY(hr_profile_kernel(t->host, &split1, 1.0));
    HRI_TRY(launch_views(t, &options));
    HRI_TRY(hr_synchronize(hr_view_of(t->array)));
    return hr_profile_read(t->host, &split1, 1, s);
}

static bool profile_good(const bed *t, const void *s, bool whole)
{
    const hr_profile *p = s;
    (void)t;
    (void)whole;
    return p->launches == 1 && p->running == 0;
}

static void set_grid_options(bed *t, void *s)
{
    hr_grid_options *o = s;
    (void)t;
    o->accelerators = second;
    o->accelerator_count = 1;
    o->steps_per_exchange = 1;
}

static hr_status create_grid(bed *t, void *s)
{
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    hr_grid_state state = HR_GRID_STATE_INIT;
    hr_grid *grid = NULL;
    HRI_TRY(
        hr_grid_create(t->host, hr_extent2(EDGE, EDGE), &field, 1, s, &grid));
    CHECK(hr_grid_describe(grid, &state, t->bands, 2) == HR_OK);
    t->count = state.band_count;
    hr_grid_destroy(grid);
    return HR_OK;
}

static bool grid_options_good(const bed *t, const void *s, bool whole)
{
    (void)s, (void)whole;
    return t->count == 1 && t->bands[0].accelerator == 1;
}

/* A part that is alone. */
static hr_status bring_nothing(void *data, hr_grid *grid,
                               const uint32_t *fields, uint32_t count)
{
    (void)data, (void)grid, (void)fields, (void)count;
    return HR_OK;
}

static hr_status agree_alone(void *data, hr_status status, uint64_t *any,
                             int64_t *least)
{
    (void)data, (void)any, (void)least;
    return status;
}

static hr_status join_alone(void *data, int64_t *numbers, uint32_t count,
                            bool largest)
{
    (void)data, (void)numbers, (void)count, (void)largest;
    return HR_OK;
}

static void set_grid_part(bed *t, void *s)
{
    hr_grid_part *p = s;
    (void)t;
    p->whole = hr_extent2(2 * EDGE, EDGE);
    p->origin[0] = EDGE;
    p->begin = p->finish = bring_nothing;
    p->agree = agree_alone;
    p->join = join_alone;
}

static hr_status create_part(bed *t, void *s)
{
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    hr_grid_options options = HR_GRID_OPTIONS_INIT;
    hr_grid *grid = NULL;
    options.part = s;
    HRI_TRY(hr_grid_create(t->host, hr_extent2(EDGE, EDGE), &field, 1, &options,
                           &grid));
    const hr_grid_part *part = hr_grid_part_of(grid);
    t->count = part != NULL ? (uint32_t)part->origin[0] : 0;
    hr_grid_destroy(grid);
    return HR_OK;
}

static bool grid_part_good(const bed *t, const void *s, bool whole)
{
    (void)s, (void)whole;
    return t->count == EDGE;
}

static hr_status describe_grid(bed *t, void *s)
{
    return hr_grid_describe(t->grid, s, t->bands, 2);
}

static bool grid_state_good(const bed *t, const void *s, bool whole)
{
    const hr_grid_state *state = s;
    (void)t, (void)whole;
    return state->band_count == 2 && state->steps_per_exchange == 1 &&
           state->steps == 0 && state->moves == 0;
}

/* ---- each struct */

static void set_nothing(bed *t, void *s)
{
    (void)t, (void)s;
}

typedef struct row {
    const char *type;
    size_t known, least; /* bytes: all, and those that must be there */
    const void *start;
    bool written;                /* by the library */
    void (*set)(bed *, void *s); /* all fields that the caller may set */
    hr_status (*call)(bed *, void *s);
    /* Whether the call did what the fields say. Not whole: the caller's struct
     * lacks its last 8 bytes. */
    bool (*good)(const bed *, const void *s, bool whole);
} row;

#define ROW(type, init, after, written, set, call, good)                       \
    {                                                                          \
#type, sizeof(type), offsetof(type, after), &(const type)init,         \
            written, set, call, good                                           \
    }

static const row rows[] = {
    ROW(hr_context_options, HR_CONTEXT_OPTIONS_INIT, log, false,
        set_context_options, create_context, context_options_good),
    ROW(hr_accelerator_info, HR_ACCELERATOR_INFO_INIT, name, true, set_nothing,
        describe_accelerator, accelerator_info_good),
    ROW(hr_accelerator_info, HR_ACCELERATOR_INFO_INIT, name, true, set_nothing,
        describe_machine, machine_info_good),
    ROW(hr_accelerator_rates, HR_ACCELERATOR_RATES_INIT, f32, true, set_nothing,
        measure_rates, rates_good),
    ROW(hr_predictions, HR_PREDICTIONS_INIT, within_1_1, true, set_nothing,
        describe_predictions, predictions_good),
    ROW(hr_gemm_options, HR_GEMM_OPTIONS_INIT, memory_limit, false,
        set_gemm_options, multiply_with, gemm_options_good),
    ROW(hr_gemm_report, HR_GEMM_REPORT_INIT, seconds, true, set_gemm_report,
        multiply_and_tell, gemm_report_good),
    ROW(hr_gemm_report, HR_GEMM_REPORT_INIT, seconds, true, set_gemm_report,
        plan_product, gemm_report_good),
    ROW(hr_gemm_limits, HR_GEMM_LIMITS_INIT, pinned, true, set_nothing,
        measure_limits, limits_good),
    ROW(hr_verify_report, HR_VERIFY_REPORT_INIT, suspects, true, set_nothing,
        verify_product, verify_report_good),
    ROW(hr_filter_options, HR_FILTER_OPTIONS_INIT, method, false,
        set_filter_options, filter_with, filter_options_good),
    ROW(hr_filter_report, HR_FILTER_REPORT_INIT, rank, true, set_nothing,
        filter_and_tell, filter_report_good),
    ROW(hr_filter_report, HR_FILTER_REPORT_INIT, rank, true, set_nothing,
        plan_filter, filter_report_good),
    ROW(hr_split_options, HR_SPLIT_OPTIONS_INIT, weights, false,
        set_split_options, launch_with, split_options_good),
    ROW(hr_split_report, HR_SPLIT_REPORT_INIT, seconds, true, set_split_report,
        launch_and_tell, split_report_good),
    ROW(hr_profile, HR_PROFILE_INIT, launches, true, set_nothing,
        launch_and_profile, profile_good),
    ROW(hr_grid_options, HR_GRID_OPTIONS_INIT, weights, false, set_grid_options,
        create_grid, grid_options_good),
    ROW(hr_grid_part, HR_GRID_PART_INIT, data, false, set_grid_part,
        create_part, grid_part_good),
    ROW(hr_grid_state, HR_GRID_STATE_INIT, steps, true, set_nothing,
        describe_grid, grid_state_good),
};

/* A caller's struct between guards, of any size. */
typedef struct area {
    unsigned char before[GUARD];
    unsigned char of[MAX_BYTES + MORE];
    unsigned char after[GUARD];
} area;

static void fill_area(bed *t, const row *r, uint32_t size, area *x)
{
    memset(x, 0xa5, sizeof *x);
    memcpy(x->of, r->start, r->known);
    r->set(t, x->of);
    memcpy(x->of, &size, sizeof size);
    /* what the caller's struct does not have */
    if (size < r->known) {
        memset(x->of + size, 0xa5, r->known - size);
    }
}

/* Whether nothing has changed in x but, if it is written, the struct. */
static bool is_untouched(const area *x, const area *old, size_t size,
                         bool written)
{
    const size_t start = written ? sizeof(uint32_t) : size;
    area same = *x;
    memcpy(same.of + start, old->of + start, size - start);
    return memcmp(&same, old, sizeof same) == 0;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    bool zero = true;
    for (size_t i = 0; i < count; i++) {
        zero = zero && bytes[i] == 0;
    }
    return zero;
}

static void check_size(bed *t, const row *r, size_t size)
{
    static area x;
    fill_area(t, r, (uint32_t)size, &x);
    const area old = x;
    CHECK(r->call(t, x.of) == HR_OK);
    CHECK(is_untouched(&x, &old, size, r->written));
    if (r->written && size > r->known) {
        CHECK(is_zero(x.of + r->known, size - r->known));
    }
    /* good() looks at a struct of ours, which lacks what the caller's lacks */
    if (size < r->known) {
        memset(x.of + size, 0, r->known - size);
    }
    if (size + 8 >= r->known) {
        CHECK(r->good(t, x.of, size >= r->known));
    }
}

/* hr_gemm_options: "gemm options: size is 4, not N; start with
 * HR_GEMM_OPTIONS_INIT". */
static void write_sentence(const row *r, uint32_t size, char *words,
                           size_t bytes)
{
    char name[64], start[64];
    snprintf(name, sizeof name, "%s", r->type + strlen("hr_"));
    snprintf(start, sizeof start, "%s", r->type);
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '_' ? ' ' : *at;
    }
    for (char *at = start; *at != '\0'; at++) {
        *at = (char)toupper(*at);
    }
    snprintf(words, bytes, "%s: size is %u, not %zu; start with %s_INIT", name,
             size, r->known, start);
}

static void check_refused(bed *t, const row *r, uint32_t size)
{
    static area x;
    char words[HRI_MESSAGE_BYTES];
    fill_area(t, r, size < r->known ? size : (uint32_t)r->known, &x);
    memcpy(x.of, &size, sizeof size);
    const area old = x;
    write_sentence(r, size, words, sizeof words);
    CHECK_FAILS(r->call(t, x.of), HR_ERROR_INVALID, words);
    CHECK(strcmp(hr_last_error(), words) == 0);
    CHECK(memcmp(&x, &old, sizeof x) == 0);
}

static void each_struct(bed *t)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        char name[96];
        snprintf(name, sizeof name, "%s, row %zu", r->type, i);
        TEST_CASE(name);
        check_size(t, r, r->known);
        check_size(t, r, r->known - 8);
        check_size(t, r, r->known + 8);
        check_size(t, r, r->known + MORE);
        check_size(t, r, r->least);
        check_size(t, r, MAX_BYTES);
        check_refused(t, r, 0);
        check_refused(t, r, 3);
        check_refused(t, r, (uint32_t)r->least - 1);
        check_refused(t, r, MAX_BYTES + 1);
        check_refused(t, r, UINT32_MAX);
    }
}

/* The last field of a struct, and where it ends. */
typedef struct last_field {
    const char *type, *field;
    size_t end, size;
} last_field;

#define LAST(type, field)                                                      \
    {                                                                          \
#type, #field, offsetof(type, field) + sizeof(((type *)0)->field),     \
            sizeof(type)                                                       \
    }

/* tests/structure/structs.sh compares them with the headers. */
static const last_field last_fields[] = {
    LAST(hr_context_options, threads),
    LAST(hr_accelerator_info, unused),
    LAST(hr_accelerator_rates, f64),
    LAST(hr_predictions, seen),
    LAST(hr_gemm_options, terms_data),
    LAST(hr_gemm_report, late),
    LAST(hr_gemm_limits, ordinary_alone),
    LAST(hr_verify_report, progress_data),
    LAST(hr_filter_options, progress_data),
    LAST(hr_filter_report, pieces),
    LAST(hr_split_options, progress_data),
    LAST(hr_split_report, unused),
    LAST(hr_profile, flops),
    LAST(hr_grid_options, part),
    LAST(hr_grid_part, data),
    LAST(hr_grid_state, moved_bytes),
};

/* Padding of older programs is not zero, so no later field may lie in it. */
static void no_padding_at_the_end(void)
{
    for (size_t i = 0; i < sizeof last_fields / sizeof last_fields[0]; i++) {
        const last_field *l = &last_fields[i];
        TEST_CASE(l->type);
        if (!CHECK(l->end == l->size)) {
            fprintf(stderr,
                    "  %s: %zu bytes of padding follow %s: put a field "
                    "`unused` of as many bytes there\n",
                    l->type, l->size - l->end, l->field);
        }
    }
}

/* Structs in arrays and in other structs have no size: they never change. */
static void fixed_structs_stay(void)
{
    TEST_CASE("structs without a size stay as they are");
    CHECK(sizeof(hr_gemm_share) == 80);
    CHECK(sizeof(hr_band) == 40);
    CHECK(sizeof(hr_traffic) == 24);
    CHECK(sizeof(hr_link_rates) == 24);
}

static void open_bed(bed *t)
{
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    t->fake = fake_context("cuda:0", 0);
    t->host = test_context("2xhost", 1 << 26);
    told_patience(t->host);
    CHECK(hr_window_box(1, &t->window) == HR_OK);
    CHECK(hr_array_create_anywhere(t->host, 4, hr_extent1(4 * EDGE),
                                   &t->array) == HR_OK);
    CHECK(hr_grid_create(t->host, hr_extent2(EDGE, EDGE), &field, 1, NULL,
                         &t->grid) == HR_OK);
    for (int i = 0; i < EDGE * EDGE; i++) {
        t->a[i] = 1.0f;
        t->b[i] = 2.0f;
    }
}

int main(void)
{
    static bed t;
    open_bed(&t);
    TEST(each_struct(&t));
    TEST(no_padding_at_the_end());
    TEST(fixed_structs_stay());
    hr_grid_destroy(t.grid);
    hr_array_destroy(t.array);
    hr_window_destroy(t.window);
    hr_context_destroy(t.host);
    hr_context_destroy(t.fake);
    return test_end();
}
