/* SPDX-License-Identifier: MIT */
/* The machine model: its store, the rule of learning, which accelerators share
 * links and slow each other, what enqueueing costs, and predictions and their
 * results. test_probe has the loop that measures. */
#include "test.h"

#include <math.h>

#include "model/pays.h"
#include "model/tuning.h"
#include "support/fake.h"
#include "support/files.h"
#include "support/told.h"

/* ---- the store */

static void check_store(void)
{
    const int first = 0, second = 0; /* what kernels stand for */
    hr_context *context = fake_context("2xcuda:0,cuda:1", 0);
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
    hr_context *context = fake_context("cuda:0,cuda:1", 0);
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
    hr_context *context =
        fake_context("host,2xhost,opencl:1:0,2xcuda:0,cuda:1", 0);
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
    hr_context *context = fake_context("2xcuda:0,cuda:1,host", 0);
    hri_accelerator *a = context->accelerators;
    hri_link_use flows[4];
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
        flows[i] = hri_model_link_use(&a[i], false, false);
    }
    hri_model_link_uses(context, flows, 4);
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
    flows[0] = hri_model_link_use(&a[2], true, false);
    CHECK(flows[0].own.up == 4.0 && flows[0].own.down == 8.0);
    TEST_CASE("alone nobody crowds");
    hri_model_link_uses(context, flows, 1);
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
    hr_context *context = fake_context("2xcuda:0,host", 0);
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
    context = fake_context("cuda:1", 0);
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
    hr_context *context = fake_context("cuda:0,cuda:1", 0);
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
    context = fake_context("cuda:0,cuda:1", 0);
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
