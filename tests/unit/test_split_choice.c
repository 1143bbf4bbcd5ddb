/* SPDX-License-Identifier: MIT */
/* Which accelerators a launch is split over, for machines that are made up:
 * virtual accelerators of the host that are told how fast they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "runtime/stream.h"
#include "support/random.h"
#include "support/split.h"
#include "support/told.h"
#include "test.h"

enum { MAX_ACCELERATORS = 4, ROWS = 1000, COLS = 100 };

/* What an accelerator is told of itself; 0: the kernel was never launched. */
typedef struct machine {
    double memory, link, row_seconds; /* bytes/s, bytes/s, s for a row */
} machine;

typedef struct bed {
    hr_context *context;
    hr_array *arrays[4];
    int data[3][ROWS * COLS], table[10];
} bed;

static void tell_figures(hri_accelerator *a, uint32_t physical,
                         const machine *m)
{
    a->physical = a->device_index = physical;
    a->device->info.host = false; /* as far as plans are concerned */
    told_link(a, m->link);
    told(a, "memory", m->memory);
    if (m->row_seconds > 0) {
        told_kernel(a, &split2, COLS, m->row_seconds);
    }
}

static void open_bed(bed *b, const machine *machines, uint32_t count,
                     bool one_device)
{
    char list[16];
    snprintf(list, sizeof list, "%uxhost", count);
    b->context = test_context(list, 0);
    for (uint32_t i = 0; i < count; i++) {
        tell_figures(&b->context->accelerators[i], one_device ? 0 : i,
                     &machines[i]);
    }
    told_overheads(b->context);
    for (int i = 0; i < 3; i++) {
        CHECK(hr_array_wrap(b->context, b->data[i], sizeof(int),
                            hr_extent2(ROWS, COLS), 0, &b->arrays[i]) == HR_OK);
    }
    CHECK(hr_array_wrap(b->context, b->table, sizeof(int), hr_extent1(10), 0,
                        &b->arrays[3]) == HR_OK);
}

static void close_bed(bed *b)
{
    for (int i = 0; i < 4; i++) {
        hr_array_destroy(b->arrays[i]);
    }
    hr_context_destroy(b->context);
}

/* A dry run; weights may be NULL. */
static void plan_dry(const bed *b, const double *weights, hr_band *bands,
                     hr_split_report *report)
{
    const reach r = {1, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    const hr_argument arguments[] = {
        hr_near(hr_in(hr_view_of(b->arrays[0])), 1, 1),
        hr_whole(hr_in(hr_view_of(b->arrays[3]))),
        hr_inout(hr_view_of(b->arrays[1])), hr_out(hr_view_of(b->arrays[2])),
        hr_value(&r, sizeof r)};
    *report = (hr_split_report)HR_SPLIT_REPORT_INIT;
    report->shares = bands;
    report->share_capacity = MAX_ACCELERATORS;
    options.report = report;
    options.weights = weights;
    options.dry_run = true;
    CHECK(hr_launch_split(b->context, &split2, hr_extent2(ROWS, COLS),
                          arguments, 5, &options) == HR_OK);
}

static const struct {
    const char *name;
    machine machines[MAX_ACCELERATORS];
    uint32_t count;
    bool one_device;
    uint32_t used;
    int64_t rows[MAX_ACCELERATORS]; /* within a few; those of accelerators not
                                       used: 0 */
    hr_bound bound;
} cases[] = {
    {"equal ones share arithmetic",
     {{1e12, 1e12, 1e-3}, {1e12, 1e12, 1e-3}},
     2,
     false,
     2,
     {500, 500},
     HR_BOUND_COMPUTE},
    {"shares are as rates",
     {{1e12, 1e12, 1e-3}, {1e12, 1e12, 3e-3}},
     2,
     false,
     2,
     {750, 250},
     HR_BOUND_COMPUTE},
    {"virtual ones of a device are no faster than one",
     {{1e12, 1e12, 1e-3}, {1e12, 1e12, 1e-3}},
     2,
     true,
     1,
     {1000, 0},
     HR_BOUND_COMPUTE},
    {"links of their own are shared out",
     {{1e12, 1e6, 0}, {1e12, 1e6, 0}, {1e12, 2e6, 0}},
     3,
     false,
     3,
     {250, 250, 500},
     HR_BOUND_LINK},
    {"one that is too slow to help is left out",
     {{1e12, 1e12, 1e-3}, {1e12, 1e12, 5e-2}},
     2,
     false,
     1,
     {1000, 0},
     HR_BOUND_COMPUTE},
    {"what was never launched is guessed from what was",
     {{1e12, 1e12, 1e-3}, {5e11, 1e12, 0}},
     2,
     false,
     2,
     {667, 333},
     HR_BOUND_COMPUTE},
    {"work that is too little for two",
     {{1e12, 1e15, 1e-9}, {1e12, 1e15, 1e-9}},
     2,
     false,
     1,
     {1000, 0},
     HR_BOUND_COMPUTE},
};

static void known_choices(bed *b)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hr_band bands[MAX_ACCELERATORS];
        hr_split_report report;
        TEST_CASE(cases[i].name);
        open_bed(b, cases[i].machines, cases[i].count, cases[i].one_device);
        plan_dry(b, NULL, bands, &report);
        CHECK(report.used == cases[i].used);
        CHECK(report.bound == cases[i].bound);
        for (uint32_t k = 0; k < cases[i].count; k++) {
            const int64_t off = bands[k].count - cases[i].rows[k];
            CHECK(off >= -10 && off <= 10);
        }
        close_bed(b);
    }
}

/* Whatever the machine, what is chosen is predicted to take no longer than the
 * best accelerator alone. */
static void random_choices(bed *b, int count)
{
    random_source random = {3};
    TEST_CASE("never slower than the best alone");
    for (int i = 0; i < count; i++) {
        machine machines[MAX_ACCELERATORS];
        hr_band bands[MAX_ACCELERATORS];
        hr_split_report report;
        double best = INFINITY;
        for (int k = 0; k < MAX_ACCELERATORS; k++) {
            const double row_seconds =
                pow(10, -2 - 3 * fabs(random_unit(&random)));
            machines[k] =
                (machine){pow(10, 9 + 2 * random_unit(&random)),
                          pow(10, 7 + 2 * random_unit(&random)),
                          random_between(&random, 0, 1) == 0 ? 0 : row_seconds};
        }
        open_bed(b, machines, MAX_ACCELERATORS,
                 random_between(&random, 0, 3) == 0);
        for (int k = 0; k < MAX_ACCELERATORS; k++) {
            double alone[MAX_ACCELERATORS] = {0};
            alone[k] = 1;
            plan_dry(b, alone, bands, &report);
            best = fmin(best, report.seconds);
        }
        plan_dry(b, NULL, bands, &report);
        CHECK(report.seconds <= 1.000001 * best);
        close_bed(b);
    }
}

/* Launch, and bring one of the results home; weights may be NULL. */
static hr_status launch_with(const bed *b, const double *weights)
{
    const reach r = {1, 1};
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    options.weights = weights;
    const hr_argument arguments[] = {
        hr_near(hr_in(hr_view_of(b->arrays[0])), 1, 1),
        hr_whole(hr_in(hr_view_of(b->arrays[3]))),
        hr_inout(hr_view_of(b->arrays[1])), hr_out(hr_view_of(b->arrays[2])),
        hr_value(&r, sizeof r)};
    HRI_TRY(hr_launch_split(b->context, &split2, hr_extent2(ROWS, COLS),
                            arguments, 5, &options));
    return hr_synchronize(hr_view_of(b->arrays[1]));
}

static void launch_in_halves(bed *b)
{
    const double halves[] = {1, 1};
    for (uint32_t i = 0; i < 2; i++) { /* what tell says of it is for plans */
        b->context->accelerators[i].device->info.host = true;
    }
    CHECK(launch_with(b, halves) == HR_OK);
}

/* Results that lie in bands stay where they are: nothing but what rows need of
 * their neighbours is moved. */
static void bands_stay(bed *b)
{
    static const machine equal[2] = {{1e12, 1e6, 1e-3}, {1e12, 1e6, 1e-3}};
    hr_band bands[MAX_ACCELERATORS];
    hr_split_report report;
    TEST_CASE("bands stay where they are");
    open_bed(b, equal, 2, false);
    launch_in_halves(b);
    for (uint32_t i = 0; i < 2; i++) { /* not what it took just now */
        tell_figures(&b->context->accelerators[i], i, &equal[i]);
    }
    plan_dry(b, NULL, bands, &report);
    CHECK(report.used == 2 && bands[0].count == ROWS / 2);
    CHECK(report.traffic.up == 0 && report.traffic.peer == 0);
    close_bed(b);
}

/* Bytes of a row: those of three views. */
enum { ROW_BYTES = 3 * COLS * (int)sizeof(int) };

static const struct {
    const char *name;
    int rows[3]; /* that fit into memory, with a few for neighbours */
    int64_t want[3];
} limits[] = {
    {"one has the memory for all", {1010, 1010, 1010}, {1000, 0, 0}},
    {"one has not, so that two share", {610, 610, 610}, {500, 500, 0}},
    {"one has little, and the others the rest",
     {110, 510, 410},
     {107, 486, 407}},
    {"nobody has it together, so that one streams",
     {110, 110, 110},
     {1000, 0, 0}},
};

static const char words[] = "split2: the launch does not fit into the memory "
                            "limits of 3 accelerators; ";

/* Launch with the limits that the last message calls enough. */
static hr_status launch_with_enough(bed *b)
{
    const char *found = strstr(hr_last_error(), words);
    const uint64_t enough =
        found != NULL ? strtoull(found + sizeof words - 1, NULL, 10) : 0;
    for (uint32_t k = 0; k < 3; k++) {
        b->context->accelerators[k].memory_limit = enough;
    }
    return launch_with(b, NULL);
}

/* Virtual ones of one device, which would be no faster together. */
static void limited_choices(bed *b)
{
    static const machine equal[3] = {
        {1e12, 1e12, 1e-3}, {1e12, 1e12, 1e-3}, {1e12, 1e12, 1e-3}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int64_t all = 0;
        hr_band bands[MAX_ACCELERATORS];
        hr_split_report report;
        TEST_CASE(limits[i].name);
        open_bed(b, equal, 3, true);
        for (uint32_t k = 0; k < 3; k++) {
            hri_accelerator *a = &b->context->accelerators[k];
            a->memory_limit = a->device->info.gemm_bytes +
                              (uint64_t)(limits[i].rows[k] * ROW_BYTES);
        }
        plan_dry(b, NULL, bands, &report);
        for (uint32_t k = 0; k < 3; k++) {
            const int64_t off = bands[k].count - limits[i].want[k];
            CHECK(off >= -10 && off <= 10);
            all += bands[k].count;
            b->context->accelerators[k].device->info.host = true;
        }
        CHECK(all == ROWS);
        CHECK(launch_with(b, NULL) == HR_OK);
        close_bed(b);
    }
}

/* The launch tells what would be enough, and with less it fails. */
static void no_room(bed *b)
{
    static const machine equal[3] = {
        {1e12, 1e12, 1e-3}, {1e12, 1e12, 1e-3}, {1e12, 1e12, 1e-3}};
    TEST_CASE("nobody has memory for a row");
    open_bed(b, equal, 3, true);
    for (uint32_t k = 0; k < 3; k++) {
        hri_accelerator *a = &b->context->accelerators[k];
        a->memory_limit = a->device->info.gemm_bytes + ROW_BYTES;
        a->device->info.host = true;
    }
    CHECK_FAILS(launch_with(b, NULL), HR_ERROR_OUT_OF_MEMORY, words);
    CHECK(launch_with_enough(b) == HR_OK);
    for (uint32_t k = 0; k < 3; k++) { /* some of it is held now */
        b->context->accelerators[k].memory_limit -= COLS * sizeof(int);
    }
    CHECK_FAILS(launch_with(b, NULL), HR_ERROR_OUT_OF_MEMORY, words);
    close_bed(b);
}

/* As slow as the slowest of link up, link home and kernel, and the first and
 * last chunk beside it. */
static void streamed_time(bed *b)
{
    static const machine linked[1] = {{1e12, 1e6, 1e-9}};
    static const machine busy[1] = {{1e12, 1e12, 1e-3}};
    const double up = (2 * COLS * ROWS + 10) * sizeof(int) / 1e6;
    const double one[1] = {1};
    hr_band bands[MAX_ACCELERATORS];
    hr_split_report report;
    TEST_CASE("time of what streams");
    for (int i = 0; i < 2; i++) {
        open_bed(b, i == 0 ? linked : busy, 1, false);
        hri_accelerator *a = &b->context->accelerators[0];
        const double longest = i == 0 ? up : 1e-3 * ROWS;
        plan_dry(b, one, bands, &report);
        const double at_once = report.seconds;
        a->memory_limit = a->device->info.gemm_bytes + 100 * ROW_BYTES;
        plan_dry(b, one, bands, &report);
        CHECK(report.seconds >= longest && report.seconds < 1.1 * longest);
        CHECK(i == 1 || report.seconds < 0.6 * at_once);
        CHECK(report.bound == (i == 0 ? HR_BOUND_LINK : HR_BOUND_COMPUTE));
        CHECK(report.traffic.up == (2 * COLS * ROWS + 10) * sizeof(int));
        CHECK(report.traffic.down == 2 * COLS * ROWS * sizeof(int));
        close_bed(b);
    }
}

static void row_costs(bed *b)
{
    static const machine equal[2] = {{1e12, 1e6, 0}, {1e12, 1e6, 0}};
    TEST_CASE("a pace is known when two launches have been timed");
    open_bed(b, equal, 2, false);
    hri_accelerator *a = &b->context->accelerators[0];
    CHECK(hri_model_kernel(a, &split2, COLS) == 0);
    launch_in_halves(b);
    CHECK(hri_model_kernel(a, &split2, COLS) == 0);
    launch_in_halves(b);
    CHECK(hri_model_kernel(a, &split2, COLS) > 0);
    CHECK(hri_model_kernel(a, &split2, COLS + 1) == 0);
    close_bed(b);
}

int main(void)
{
    bed *b = calloc(1, sizeof *b);
    CHECK(b != NULL);
    if (b != NULL) {
        TEST(known_choices(b));
        TEST(random_choices(b, 100));
        TEST(limited_choices(b));
        TEST(no_room(b));
        TEST(streamed_time(b));
        TEST(bands_stay(b));
        TEST(row_costs(b));
    }
    free(b);
    return test_end();
}
