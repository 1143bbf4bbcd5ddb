/* SPDX-License-Identifier: MIT */
/* The machine model: its store, the loop that measures, the rule of learning,
 * which accelerators share links and slow each other, what enqueueing costs,
 * and predictions and their results. */
#include "test.h"

#include <math.h>

#include "model/pays.h"
#include "model/tuning.h"
#include "support/fake.h"
#include "support/files.h"
#include "support/told.h"

static hr_context *create(const char *accelerators)
{
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    fake_reset();
    CHECK(hri_context_create_from(fake_list, &options, &context) == HR_OK);
    return context;
}

/* ---- the store */

static void check_store(void)
{
    const int first = 0, second = 0; /* what kernels stand for */
    hr_context *context = create("2xcuda:0,cuda:1");
    const hri_accelerator *a = context->accelerators;

    TEST_CASE("a figure is its device's, whichever accelerator it was told of");
    told(&a[1], "f32", 7.0);
    CHECK(told_of(&a[0], "f32") == 7.0 && told_of(&a[1], "f32") == 7.0);
    CHECK(told_of(&a[2], "f32") == 0.0);

    TEST_CASE("name, shape and subject tell figures apart");
    hri_figure_set(hri_subject_of(a), (hri_kind){"f32", 512, NULL}, 5.0);
    hri_figure_set(hri_subject_of(a), (hri_kind){"kernel", 9, &first}, 1.0);
    hri_figure_set(hri_subject_of(a), (hri_kind){"kernel", 9, &second}, 2.0);
    CHECK(told_of(a, "f32") == 7.0 && told_of(a, "f3") == 0.0);
    CHECK(hri_figure_find(hri_subject_of(a), (hri_kind){"kernel", 9, &first}) ==
          1.0);
    CHECK(hri_figure_find(hri_subject_of(a), (hri_kind){"f32", 512, NULL}) ==
          5.0);

    TEST_CASE("many of them");
    for (int64_t i = 1; i <= 1000; i++) {
        hri_figure_set(hri_subject_of(a), (hri_kind){"many", i, NULL},
                       (double)i);
    }
    bool all = true;
    for (int64_t i = 1; i <= 1000; i++) {
        all = all && hri_figure_find(hri_subject_of(a),
                                     (hri_kind){"many", i, NULL}) == (double)i;
    }
    CHECK(all && told_of(a, "f32") == 7.0);
    hr_context_destroy(context);
}

static void check_kept(void)
{
    TEST_CASE("what is kept is found by its device's name, shapes too");
    hr_context *context = create("cuda:0,cuda:1");
    hri_accelerator *a = context->accelerators;
    snprintf(a[0].key, sizeof a[0].key, "one");
    snprintf(a[1].key, sizeof a[1].key, "two");
    hri_tuning_keep("f32", "one", 3e9);
    hri_tuning_keep("f32-512", "one", 2e9);
    CHECK(told_of(&a[0], "f32") == 3e9 && told_of(&a[1], "f32") == 0.0);
    CHECK(hri_figure_find(hri_subject_of(&a[0]),
                          (hri_kind){"f32", 512, NULL}) == 2e9);

    TEST_CASE("set: for this process; kept: for others");
    double value = 0.0;
    hri_figure_set(hri_subject_of(&a[1]), (hri_kind){"f64", 0, NULL}, 4e9);
    CHECK(!hri_tuning_find("f64", "two", &value));
    hri_figure_keep(hri_subject_of(&a[1]), (hri_kind){"f64", 64, NULL}, 5e9);
    CHECK(hri_tuning_find("f64-64", "two", &value) && value == 5e9);

    TEST_CASE("what is not there is looked for once");
    CHECK(told_of(&a[0], "c32") == 0.0);
    hri_tuning_keep("c32", "one", 1e9);
    CHECK(told_of(&a[0], "c32") == 0.0);
    hr_context_destroy(context);
}

/* ---- the loop that measures */

typedef struct job {
    double rate;    /* units a second */
    int64_t room;   /* the largest that fits */
    int64_t size;   /* now */
    int tries;      /* of this size, */
    int most_tries; /* the most of any; and of all sizes */
    int prepared, finished;
    hr_status fails; /* each try */
} job;

static hr_status prepare(void *data, int64_t size)
{
    job *j = data;
    j->prepared++;
    j->size = size;
    j->tries = 0;
    return size <= j->room ? HR_OK
                           : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                      "no room for %lld", (long long)size);
}

/* The first try of each takes twice as long. */
static hr_status run(void *data, double *seconds)
{
    job *j = data;
    j->tries++;
    j->most_tries = j->tries > j->most_tries ? j->tries : j->most_tries;
    *seconds = (double)j->size / j->rate * (j->tries == 1 ? 2.0 : 1.0);
    return j->fails;
}

static hr_status finish(void *data)
{
    ((job *)data)->finished++;
    return HR_OK;
}

static hri_trial trial_of(int64_t first, int64_t most, int64_t growth,
                          double enough)
{
    return (hri_trial){.prepare = prepare,
                       .run = run,
                       .finish = finish,
                       .first = first,
                       .most = most,
                       .growth = growth,
                       .enough = enough};
}

static const struct {
    const char *name;
    int64_t first, most, growth;
    double enough, rate;
    int64_t room, size; /* that there is room for, and that is settled on */
    bool settled;
    int prepared;
} probes[] = {
    {"grows until it takes long enough", 1, 1 << 20, 2, 1e-2, 1e5, INT64_MAX,
     1024, true, 11},
    {"the first is long enough", 100, 1000, 2, 1e-2, 1.0, INT64_MAX, 100, true,
     1},
    {"no more than the most", 1, 100, 4, 1.0, 1e9, INT64_MAX, 64, true, 4},
    {"one size, whatever it takes", 7, 7, 2, 0.0, 1e9, INT64_MAX, 7, true, 1},
    {"what does not fit ends it", 1, 1 << 20, 4, 1.0, 1e5, 100, 64, false, 5},
    {"nothing fits", 1000, 2000, 2, 1.0, 1e5, 100, 0, false, 1},
    {"nothing is to be tried", 10, 0, 2, 1.0, 1e5, 100, 0, false, 0},
};

static void check_probe(void)
{
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        job j = {.rate = probes[i].rate, .room = probes[i].room};
        const hri_trial trial = trial_of(probes[i].first, probes[i].most,
                                         probes[i].growth, probes[i].enough);
        hri_probed found;
        TEST_CASE(probes[i].name);
        CHECK(hri_probe(&trial, &j, &found) == HR_OK);
        CHECK(found.size == probes[i].size);
        CHECK(found.settled == probes[i].settled);
        CHECK(j.prepared == probes[i].prepared && j.finished == j.prepared);
        if (found.size > 0) { /* the best try, not the first one */
            const double seconds = (double)found.size / j.rate;
            CHECK(fabs(found.seconds / seconds - 1.0) < 1e-12);
            CHECK(j.most_tries >= 3 && j.most_tries <= 10);
        }
    }
    TEST_CASE("other errors are returned, and nothing is left");
    job j = {.rate = 1.0, .room = 10, .fails = HR_ERROR_LOST};
    const hri_trial trial = trial_of(1, 8, 2, 1e9);
    hri_probed found;
    CHECK(hri_probe(&trial, &j, &found) == HR_ERROR_LOST);
    CHECK(!found.settled && j.prepared == 1 && j.finished == 1);
}

/* Rates by size: work of size^3 at so many units a second. */
typedef struct rising {
    const double *rates; /* from size 1 on, doubled each time */
    int64_t size;
    double spent;
    int tries;
} rising;

static hr_status prepare_rising(void *data, int64_t size)
{
    ((rising *)data)->size = size;
    return HR_OK;
}

static double cube(const void *data, int64_t size)
{
    (void)data;
    return (double)(size * size * size);
}

static hr_status run_rising(void *data, double *seconds)
{
    rising *r = data;
    int at = 0;
    while (1 << at < r->size) {
        at++;
    }
    *seconds = cube(NULL, r->size) / r->rates[at];
    r->spent += *seconds;
    r->tries++;
    return HR_OK;
}

static const struct {
    const char *name;
    double rates[8], most_seconds;
    int64_t size; /* that is found */
    int64_t last; /* that is tried */
} risings[] = {
    {"long enough, and as fast as the one before",
     {100, 300, 700, 950, 990, 1000, 1000, 1000},
     1e9,
     16,
     16},
    {"long enough, but faster than the one before",
     {100, 300, 500, 900, 960, 1100, 1120, 1120},
     1e9,
     64,
     64},
    {"one that was disturbed does not count",
     {100, 300, 1000, 590, 1010, 1020, 1020, 1020},
     1e9,
     32,
     32},
    {"the fastest counts, not the largest",
     {100, 300, 500, 900, 1000, 980, 980, 980},
     1e9,
     16,
     32},
    {"no size that would take too long",
     {100, 300, 500, 700, 900, 1100, 1200, 1300},
     60.0,
     16,
     16},
    {"two tries where there is no time for three",
     {100, 300, 500, 700, 900, 1100, 1200, 1300},
     90.0,
     32,
     32},
    {"both sizes must take long enough",
     {400, 400, 1500, 1530, 1700, 1700, 1700, 1700},
     1e9,
     16,
     32},
    {"at first sizes grow in any case",
     {1, 2, 4, 60, 900, 1100, 1130, 1300},
     260.0,
     32,
     32},
    {"the last size", {1, 2, 4, 8, 16, 32, 64, 128}, 1e9, 128, 128},
};

static void check_rising(void)
{
    for (size_t i = 0; i < sizeof risings / sizeof risings[0]; i++) {
        rising r = {.rates = risings[i].rates};
        const hri_trial trial = {.prepare = prepare_rising,
                                 .run = run_rising,
                                 .first = 1,
                                 .most = 128,
                                 .growth = 2,
                                 .enough = 0.05,
                                 .work = cube,
                                 .most_seconds = risings[i].most_seconds};
        hri_probed found;
        TEST_CASE(risings[i].name);
        CHECK(hri_probe(&trial, &r, &found) == HR_OK);
        CHECK(found.size == risings[i].size && found.settled);
        CHECK(r.size == risings[i].last);
        CHECK(r.spent <= risings[i].most_seconds);
    }
}

static double units(const void *data, int64_t size)
{
    (void)data;
    return 2.0 * (double)size;
}

static void check_questions(void)
{
    hr_context *context = create("2xcuda:0");
    hri_accelerator *a = context->accelerators;
    const hri_trial trial = trial_of(1, 1 << 20, 2, 1e-2);
    job j = {.rate = 1e5, .room = INT64_MAX};
    hri_question q = {.name = "question",
                      .operations = 1e8,
                      .guess = 5.0,
                      .keep = true,
                      .trial = &trial,
                      .units = units,
                      .data = &j};
    double figure = 0.0, value = 0.0;
    snprintf(a[0].key, sizeof a[0].key, "asked");
    snprintf(a[1].key, sizeof a[1].key, "asked");
    TEST_CASE("small work is guessed, and nothing measured");
    CHECK(hri_model_ask(&a[0], &q, &figure) == HR_OK);
    CHECK(figure == 5.0 && j.prepared == 0);

    TEST_CASE("large work is measured once, for all of the device, and kept");
    q.operations = 1e9;
    CHECK(hri_model_ask(&a[0], &q, &figure) == HR_OK);
    CHECK(fabs(figure / 2e5 - 1.0) < 1e-9);
    const int prepared = j.prepared;
    CHECK(hri_model_ask(&a[1], &q, &figure) == HR_OK);
    CHECK(j.prepared == prepared && fabs(figure / 2e5 - 1.0) < 1e-9);
    CHECK(hri_tuning_find("question", "asked", &value) &&
          fabs(value - 2e5) <= 1.0);

    TEST_CASE("then small work is planned with it");
    q.operations = 1.0;
    CHECK(hri_model_ask(&a[0], &q, &figure) == HR_OK);
    CHECK(fabs(figure / 2e5 - 1.0) < 1e-9);

    TEST_CASE("no room: a guess, which is not kept");
    j.room = 0;
    q.name = "no-room";
    q.operations = 1e9;
    CHECK(hri_model_ask(&a[0], &q, &figure) == HR_OK && figure == 5.0);
    CHECK(!hri_tuning_find("no-room", "asked", &value));
    hr_context_destroy(context);
}

/* ---- learning */

static const struct {
    const char *name;
    double seen[5]; /* one after the other */
    double value;   /* then; 0: not known */
    double by_now;
} lessons[] = {
    {"the first is provisional", {3.0}, 0.0, 3.0},
    {"the lesser of two", {3.0, 1.0}, 1.0, 1.0},
    {"in either order", {1.0, 3.0}, 1.0, 1.0},
    {"one slow run is an outlier", {1.0, 1.0, 9.0}, 1.0, 1.0},
    {"two are not", {1.0, 1.0, 3.0, 2.0}, 2.0, 2.0},
    {"one fast run tells", {2.0, 2.0, 1.0}, 1.0, 1.0},
    {"a tenth is no difference", {1.0, 1.0, 1.09, 1.09}, 1.0, 1.0},
    {"a little more is", {1.0, 1.0, 1.11, 1.11}, 1.11, 1.11},
    {"four times in one step", {1.0, 1.0, 99.0, 99.0}, 4.0, 4.0},
    {"down, too", {100.0, 100.0, 1.0}, 25.0, 25.0},
};

static void check_learning(void)
{
    for (size_t i = 0; i < sizeof lessons / sizeof lessons[0]; i++) {
        hri_learned f = {0};
        TEST_CASE(lessons[i].name);
        for (int k = 0; k < 5 && lessons[i].seen[k] > 0.0; k++) {
            (void)hri_learn(&f, lessons[i].seen[k]);
        }
        CHECK(f.value == lessons[i].value);
        CHECK(hri_learned_by_now(&f) == lessons[i].by_now);
    }
    TEST_CASE("what was measured is corrected by faster runs alone");
    hri_learned f = {.value = 1.0};
    CHECK(!hri_learn_measured(&f, 5.0) && !hri_learn_measured(&f, 5.0));
    CHECK(!hri_learn_measured(&f, 0.95) && f.value == 1.0);
    CHECK(hri_learn_measured(&f, 0.5) && f.value == 0.5);
}

/* ---- whether a change is worth it */

static void check_worth(void)
{
    TEST_CASE("one more accelerator pays from a tenth on");
    CHECK(hri_model_pays(0.899, 1.0) && !hri_model_pays(0.901, 1.0));
    TEST_CASE("a way that uses no more is preferred from 3 per cent on");
    CHECK(hri_model_prefers(0.969, 1.0) && !hri_model_prefers(0.971, 1.0));
}

/* ---- which accelerators share links and slow each other */

static void check_sharing(void)
{
    TEST_CASE("all in host memory is one device, else the physical one is");
    hr_context *context = create("host,2xhost,opencl:1:0,2xcuda:0,cuda:1");
    hri_accelerator *all[7];
    static const uint32_t sharing[7] = {4, 4, 4, 4, 2, 2, 1};
    for (uint32_t i = 0; i < 7; i++) {
        all[i] = &context->accelerators[i];
    }
    for (uint32_t i = 0; i < 7; i++) {
        CHECK(hri_accelerators_sharing(all, 7, all[i]) == sharing[i]);
    }
    hri_accelerator **devices = NULL;
    uint32_t count = 0;
    CHECK(hri_devices_list(context, NULL, &devices, &count) == HR_OK);
    CHECK(count == 3 && devices[0] == all[0] && devices[1] == all[4] &&
          devices[2] == all[6]);
    free(devices);
    hr_context_destroy(context);
}

static void check_flows(void)
{
    const hri_link one = {10.0, 8.0, 12.0}, together = {15.0, 16.0, 12.0};
    hr_context *context = create("2xcuda:0,cuda:1,host");
    hri_accelerator *a = context->accelerators;
    hri_flow flows[4];
    for (uint32_t i = 0; i < 3; i++) {
        a[i].device->info.staged = true;
    }
    told_links(context, &one);
    static const char *const names[] = {"link-up", "link-down", "link-both"};
    const double rates[] = {together.up, together.down, together.both};
    for (int i = 0; i < 3; i++) {
        hri_figure_set((hri_subject){context->model, HRI_ALL_DEVICES, ""},
                       (hri_kind){.name = names[i]}, rates[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        flows[i] = hri_model_flow(&a[i], false, false);
    }
    hri_model_flows(context, flows, 4);
    TEST_CASE("virtual accelerators share a link");
    CHECK(flows[0].own.up == 10.0 && flows[0].alone.up == 5.0);
    CHECK(flows[2].alone.up == 10.0 && flows[2].alone.both == 12.0);
    TEST_CASE("links together carry no more than was measured");
    CHECK(flows[0].beside.up == 3.75 && flows[2].beside.up == 7.5);
    CHECK(flows[2].beside.down == 8.0);
    CHECK(flows[2].beside.both == 6.0);
    TEST_CASE("in place there is none");
    CHECK(flows[3].own.up == 0.0 && flows[3].beside.down == 0.0);
    TEST_CASE("staged memory has rates of its own");
    told(&a[2], "staged-up", 4.0);
    flows[0] = hri_model_flow(&a[2], true, false);
    CHECK(flows[0].own.up == 4.0 && flows[0].own.down == 8.0);
    TEST_CASE("alone nobody crowds");
    hri_model_flows(context, flows, 1);
    CHECK(flows[0].beside.up == 4.0);
    hr_context_destroy(context);
}

static void check_host_memory(void)
{
    TEST_CASE("host memory bears what is done in it at once");
    const hri_host_load load = {10.0, 20.0, 30.0, 5.0};
    CHECK(hri_host_memory_seconds(&load) == 6.5);
    const hri_host_load none = {0.0, 20.0, 30.0, 5.0};
    CHECK(hri_host_memory_seconds(&none) == 0.0);
}

/* ---- what enqueueing costs */

static void check_overheads(void)
{
    hri_overheads o;
    hr_context *context = create("2xcuda:0,host");
    hri_accelerator *a = context->accelerators;
    TEST_CASE("unasked, they are guessed and nothing runs");
    const long calls = fake.calls;
    CHECK(hri_model_overheads(&a[0], false, &o) == HR_OK);
    CHECK(o.launch == 1e-5 && o.copy == 5e-6 && o.wait == 2e-5);
    CHECK(fake.calls == calls);

    TEST_CASE("measured once, for all of a device");
    CHECK(hri_model_overheads(&a[0], true, &o) == HR_OK);
    CHECK(fake.calls > calls && told_of(&a[1], "launches") > 0.0);
    CHECK(told_of(&a[1], "copies") > 0.0 && told_of(&a[1], "waits") > 0.0);
    const long after = fake.calls;
    CHECK(hri_model_overheads(&a[1], true, &o) == HR_OK);
    CHECK(fake.calls == after && a[0].memory_used == 0);

    TEST_CASE("in place, too, where nothing may be held");
    CHECK(hri_model_overheads(&a[2], true, &o) == HR_OK);
    CHECK(told_of(&a[2], "launches") > 0.0 && a[2].memory_peak == 0);

    TEST_CASE("what cannot be is not believed");
    told(&a[0], "launches", 1e15);
    told(&a[0], "copies", 1.0);
    CHECK(hri_model_overheads(&a[0], true, &o) == HR_OK);
    CHECK(o.launch == 1e-5 / 50.0 && o.copy == 5e-6 * 20.0);

    TEST_CASE("no room: guessed");
    hr_context_destroy(context);
    context = create("cuda:1");
    context->accelerators[0].memory_limit = 1;
    CHECK(hri_model_overheads(context->accelerators, true, &o) == HR_OK);
    CHECK(o.launch == 1e-5 && o.copy == 5e-6 && o.wait == 2e-5);
    const long asked = fake.calls;
    CHECK(hri_model_overheads(context->accelerators, true, &o) == HR_OK);
    CHECK(fake.calls == asked);

    TEST_CASE("nor for one copy within memory");
    double rate = 0.0;
    context->accelerators[0].memory_limit = 0;
    CHECK(hri_bandwidth_know(context, context->accelerators, &rate) == HR_OK);
    CHECK(rate == hri_guess(HRI_GUESS_MEMORY));
    hr_context_destroy(context);
}

/* ---- predictions */

static hr_predictions told_by(hr_context *context, hr_engine engine)
{
    hr_predictions p = HR_PREDICTIONS_INIT;
    CHECK(hr_predictions_describe(context, engine, &p) == HR_OK);
    return p;
}

static void check_corrections(hri_model *model)
{
    TEST_CASE("plans of like work are corrected by what two runs took");
    CHECK(hri_model_expect(model, 7, 2.0) == 2.0);
    hri_model_correct(model, 7, 1.0, 40.0); /* the first of all */
    CHECK(hri_model_expect(model, 7, 2.0) == 2.0);
    hri_model_correct(model, 7, 1.0, 3.0);
    CHECK(hri_model_expect(model, 7, 2.0) == 6.0);
    CHECK(hri_model_expect(model, 8, 2.0) == 2.0);
}

static void check_predictions(void)
{
    hr_context *context = create("cuda:0,cuda:1");
    TEST_CASE("nothing has been predicted yet");
    CHECK(told_by(context, HR_ENGINE_GEMM).runs == 0);

    TEST_CASE("each run counts for the factors that it is within");
    static const double seen[] = {1.0, 1.09, 0.92, 1.25, 0.8, 1.9, 0.51, 3.0};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        hri_model_saw(context->model, HR_ENGINE_FILTER, 1.0, seen[i]);
    }
    hr_predictions p = told_by(context, HR_ENGINE_FILTER);
    CHECK(p.runs == 8 && p.within_1_1 == 3 && p.within_1_3 == 5);
    CHECK(p.within_2 == 7 && p.predicted == 1.0 && p.seen == 3.0);
    CHECK(told_by(context, HR_ENGINE_GRID).runs == 0);
    check_corrections(context->model);
    TEST_CASE("what was not predicted does not count");
    hri_model_saw(context->model, HR_ENGINE_FILTER, 0.0, 1.0);
    CHECK(told_by(context, HR_ENGINE_FILTER).runs == 8);

    TEST_CASE("they outlive the context, and are added up");
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(context->accelerators[i].key, 16, "gpu %u", i);
    }
    hr_context_destroy(context);
    context = create("cuda:0,cuda:1");
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(context->accelerators[i].key, 16, "gpu %u", i);
    }
    p = told_by(context, HR_ENGINE_FILTER);
    CHECK(p.runs == 8 && p.within_1_1 == 3 && p.within_1_3 == 5);
    CHECK(p.within_2 == 7 && p.predicted == 1.0 && p.seen == 3.0);
    hri_model_saw(context->model, HR_ENGINE_FILTER, 2.0, 2.0);
    p = told_by(context, HR_ENGINE_FILTER);
    CHECK(p.runs == 9 && p.within_1_1 == 4 && p.predicted == 2.0);

    TEST_CASE("others' are not theirs");
    snprintf(context->accelerators[1].key, 16, "gpu 2");
    CHECK(told_by(context, HR_ENGINE_FILTER).runs == 1);

    TEST_CASE("a smaller struct, a larger one, one that is too small");
    p.size = offsetof(hr_predictions, within_2);
    p.within_2 = 77;
    CHECK(hr_predictions_describe(context, HR_ENGINE_FILTER, &p) == HR_OK);
    CHECK(p.runs == 1 && p.within_1_3 == 1 && p.within_2 == 77);
    struct {
        hr_predictions known;
        uint64_t more[2];
    } large = {HR_PREDICTIONS_INIT, {7, 7}};
    large.known.size = sizeof large;
    CHECK(hr_predictions_describe(context, HR_ENGINE_FILTER, &large.known) ==
          HR_OK);
    CHECK(large.known.runs == 1 && large.more[0] == 0 && large.more[1] == 0);
    p.size = 4;
    CHECK_FAILS(hr_predictions_describe(context, HR_ENGINE_FILTER, &p),
                HR_ERROR_INVALID, "size is 4");
    CHECK_FAILS(hr_predictions_describe(context, (hr_engine)9, &p),
                HR_ERROR_INVALID, "size is 4");
    p.size = sizeof p;
    CHECK_FAILS(hr_predictions_describe(context, (hr_engine)9, &p),
                HR_ERROR_INVALID, "engine 9");
    CHECK_FAILS(hr_predictions_describe(NULL, HR_ENGINE_GEMM, &p),
                HR_ERROR_INVALID, "context is NULL");
    CHECK_FAILS(hr_predictions_describe(context, HR_ENGINE_GEMM, NULL),
                HR_ERROR_INVALID, "predictions is NULL");
    hr_context_destroy(context);
}

int main(void)
{
    char folder[64];
    files_make_cache(folder, sizeof folder);
    TEST(check_store());
    TEST(check_kept());
    TEST(check_probe());
    TEST(check_rising());
    TEST(check_questions());
    TEST(check_learning());
    TEST(check_worth());
    TEST(check_sharing());
    TEST(check_flows());
    TEST(check_host_memory());
    TEST(check_overheads());
    TEST(check_predictions());
    files_remove_folder(folder);
    return test_end();
}
