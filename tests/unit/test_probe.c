/* SPDX-License-Identifier: MIT */
/* The loop that measures: which sizes it tries, and what it finds; and figures
 * that engines ask for, which it measures at most once. */
#include "test.h"

#include <math.h>

#include "model/tuning.h"
#include "support/fake.h"
#include "support/files.h"
#include "support/told.h"

typedef struct job {
    double rate;    /* units a second */
    int64_t room;   /* the largest that fits */
    int64_t size;   /* now */
    int tries;      /* of this size, */
    int most_tries; /* the most of any; and of all sizes */
    int prepared, finished;
    hr_status fails; /* each try */
} job;

static hr_status prepare_job(void *data, int64_t size)
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
static hr_status run_job(void *data, double *seconds)
{
    job *j = data;
    j->tries++;
    j->most_tries = j->tries > j->most_tries ? j->tries : j->most_tries;
    *seconds = (double)j->size / j->rate * (j->tries == 1 ? 2.0 : 1.0);
    return j->fails;
}

static hr_status finish_job(void *data)
{
    ((job *)data)->finished++;
    return HR_OK;
}

static hri_trial trial_of(int64_t first, int64_t most, int64_t growth,
                          double enough)
{
    return (hri_trial){.prepare = prepare_job,
                       .run = run_job,
                       .finish = finish_job,
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
    hr_context *context = fake_context("2xcuda:0", 0);
    hri_accelerator *a = context->accelerators;
    const hri_trial trial = trial_of(1, 1 << 20, 2, 1e-2);
    job j = {.rate = 1e5, .room = INT64_MAX};
    hri_question q = {.name = "question",
                      .operations = 1e8,
                      .guess = 5.0,
                      .keep = true,
                      .trial = &trial,
                      .units = units,
                      .data = &j,
                      .bytes = sizeof j};
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

int main(void)
{
    char folder[64];
    files_make_cache(folder, sizeof folder);
    TEST(check_probe());
    TEST(check_rising());
    TEST(check_questions());
    files_remove_folder(folder);
    return test_end();
}
