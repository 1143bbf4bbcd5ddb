/* SPDX-License-Identifier: MIT */
/* Contexts over fake backends: what is chosen, described, limited, refused. One
 * that is destroyed before a queue with work waits for the work. */
#include "test.h"

#include <pthread.h>

#include "runtime/runtime.h"
#include "support/fake.h"

extern const hr_kernel axpy;

enum { GPU = 1000000, GPU_FREE = 900000, HOST = 8000000 }; /* see fake.h */

static hr_status create_context(const char *accelerators, uint64_t limit,
                                hr_context **context)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    options.memory_limit = limit;
    *context = NULL;
    return hri_context_create_from(fake_list, &options, context);
}

static void destroy_context(hr_context *context)
{
    hr_context_destroy(context);
    CHECK(fake.live == 0);
}

/* The accelerators' paths and limits: "host=0 cuda:0#0=500". */
static void check_chosen(const hr_context *context, const char *want)
{
    char text[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_accelerator_describe(context, i, &info) == HR_OK);
        CHECK(info.chosen && info.reason[0] == '\0');
        CHECK(info.in_place == (info.memory_limit == 0));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%llu",
                                 i > 0 ? " " : "", info.path,
                                 (unsigned long long)info.memory_limit);
    }
    if (!CHECK(strcmp(text, want) == 0)) {
        fprintf(stderr, "  chosen: %s\n  wanted: %s\n", text, want);
    }
}

/* The defaults are half of the host's free memory and 90 per cent of a
 * device's, in equal shares. An explicit limit is used, but never more than an
 * equal share of all memory. */
static const struct {
    const char *name, *accelerators;
    uint64_t limit;
    const char *want;
} chosen[] = {
    {"all", NULL, 0, "cuda:0=810000 cuda:1=810000 host=0"},
    {"virtual ones share what is free", "3xcuda:0", 0,
     "cuda:0#0=270000 cuda:0#1=270000 cuda:0#2=270000"},
    {"virtual ones of the host share half", "2xhost", 0,
     "host#0=1000000 host#1=1000000"},
    {"what works in place has no share", "host,1xhost", 0,
     "host=0 host#0=2000000"},
    {"two faces of one device share", "cuda:0,opencl:0:0", 0,
     "cuda:0=405000 opencl:0:0=405000"},
    {"an emulated one has host memory", "opencl:1:0,1xhost", 0,
     "opencl:1:0=500000 host#0=500000"},
    {"a limit for each", "2xcuda:0,cuda:1,host", 1000,
     "cuda:0#0=1000 cuda:0#1=1000 cuda:1=1000 host=0"},
    {"a limit above what is free", "cuda:0", GPU_FREE + 1, "cuda:0=900001"},
    {"a limit above all memory", "cuda:0", GPU + 1, "cuda:0=1000000"},
    {"limits above all memory together", "2xcuda:0,2xhost", GPU,
     "cuda:0#0=500000 cuda:0#1=500000 host#0=1000000 host#1=1000000"},
};

static void check_choices(void)
{
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        hr_context *context;
        TEST_CASE(chosen[i].name);
        CHECK(create_context(chosen[i].accelerators, chosen[i].limit,
                             &context) == HR_OK);
        check_chosen(context, chosen[i].want);
        destroy_context(context);
    }
}

static void check_environment(void)
{
    hr_context *context;
    setenv("HEADRACE_ACCELERATORS", "2xcuda:1", 1);
    setenv("HEADRACE_MEMORY_LIMIT", "2kB", 1);
    TEST_CASE("the environment counts without options");
    CHECK(hri_context_create_from(fake_list, NULL, &context) == HR_OK);
    check_chosen(context, "cuda:1#0=2000 cuda:1#1=2000");
    destroy_context(context);

    TEST_CASE("options come first, each for itself");
    CHECK(create_context("cuda:0", 0, &context) == HR_OK);
    check_chosen(context, "cuda:0=2000");
    destroy_context(context);
    CHECK(create_context(NULL, 3000, &context) == HR_OK);
    check_chosen(context, "cuda:1#0=3000 cuda:1#1=3000");
    destroy_context(context);

    TEST_CASE("a list in the environment that is wrong says where it stands");
    setenv("HEADRACE_ACCELERATORS", "cuda:0,", 1);
    CHECK_FAILS(create_context(NULL, 0, &context), HR_ERROR_INVALID,
                "HEADRACE_ACCELERATORS, character 8: an item is empty");
    setenv("HEADRACE_ACCELERATORS", " ", 1);
    CHECK_FAILS(create_context(NULL, 0, &context), HR_ERROR_INVALID,
                "HEADRACE_ACCELERATORS, character 2: the list is empty");
    CHECK(create_context("cuda:0", 0, &context) == HR_OK);
    destroy_context(context);
    unsetenv("HEADRACE_ACCELERATORS");

    static const char *const wrong[] = {"0", "-1", " ", "many", "5 apples"};
    TEST_CASE("a limit in the environment that is wrong");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("HEADRACE_MEMORY_LIMIT", wrong[i], 1);
        CHECK_FAILS(create_context(NULL, 0, &context), HR_ERROR_INVALID,
                    "such as 512MiB (B, KiB to TiB, kB to TB)");
        CHECK(strncmp(hr_last_error(), "HEADRACE_MEMORY_LIMIT is \"", 26) == 0);
        CHECK(context == NULL);
        CHECK(create_context(NULL, 1000, &context) == HR_OK);
        destroy_context(context);
    }

    TEST_CASE("what is empty counts as not set");
    setenv("HEADRACE_ACCELERATORS", "", 1);
    setenv("HEADRACE_MEMORY_LIMIT", "", 1);
    CHECK(create_context(NULL, 0, &context) == HR_OK);
    check_chosen(context, "cuda:0=810000 cuda:1=810000 host=0");
    destroy_context(context);
    unsetenv("HEADRACE_ACCELERATORS");
    unsetenv("HEADRACE_MEMORY_LIMIT");
    CHECK(fake.live == 0);
}

/* The machine's entries: path, chosen or why not. */
static void check_machine(const hr_context *context, const char *want)
{
    char text[1024] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < hr_machine_count(context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_machine_describe(context, i, &info) == HR_OK);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s: %s; ",
                             info.path, info.chosen ? "chosen" : info.reason);
        CHECK(info.chosen || info.memory_limit == 0);
    }
    if (!CHECK(strcmp(text, want) == 0)) {
        fprintf(stderr, "  machine: %s\n  wanted:  %s\n", text, want);
    }
}

static void check_machines(void)
{
    hr_context *context;
    TEST_CASE("the machine without a list");
    CHECK(create_context(NULL, 0, &context) == HR_OK);
    check_machine(context, "cuda:0: chosen; cuda:1: chosen; "
                           "opencl:0:0: same device as cuda:0; "
                           "opencl:1:0: emulated: only on request; "
                           "host: chosen; ");
    destroy_context(context);

    TEST_CASE("the machine with a list");
    CHECK(create_context("2xhost,opencl:1", 1000, &context) == HR_OK);
    check_machine(context, "opencl:0:0: not in the list; opencl:1:0: chosen; "
                           "host: chosen; cuda: not in the list; ");
    TEST_CASE("a device's entry sums up its virtual accelerators");
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_machine_describe(context, 2, &info) == HR_OK);
    CHECK(info.memory_limit == 2000 && !info.in_place);
    CHECK(info.memory_bytes == HOST && info.compute_units == 4);
    CHECK(strcmp(info.name, "device of host") == 0);
    destroy_context(context);

    TEST_CASE("backends without devices come last, with their sentence");
    fake.backends[0].probe_fails = HR_ERROR_UNAVAILABLE;
    fake.backends[1].count = 0;
    CHECK(create_context(NULL, 0, &context) == HR_OK);
    check_machine(context, "host: chosen; cuda: fake: no driver; "
                           "opencl: it has no devices; ");
    destroy_context(context);

    TEST_CASE("a broken driver or device does not stop the others");
    fake_reset();
    fake.backends[0].describe_fails = 0;
    fake.backends[1].probe_fails = HR_ERROR_BACKEND;
    CHECK(create_context(NULL, 0, &context) == HR_OK);
    check_machine(context, "cuda:1: chosen; host: chosen; "
                           "cuda: fake: device 0 is mute; "
                           "opencl: fake: no driver; ");
    destroy_context(context);

    TEST_CASE("a backend made for another HAL");
    fake_reset();
    fake_backends[0].abi = HRI_HAL_ABI + 1;
    CHECK(create_context(NULL, 0, &context) == HR_OK);
    check_machine(context, "opencl:0:0: chosen; "
                           "opencl:1:0: emulated: only on request; "
                           "host: chosen; "
                           "cuda: made for another version of Headrace; ");
    destroy_context(context);
    fake_reset();
}

/* Which of cuda, opencl and host were asked for devices. */
static const struct {
    const char *list;
    int asked[FAKE_BACKENDS];
} asking[] = {
    {NULL, {1, 1, 1}},
    {"all", {1, 1, 1}},
    {"host", {0, 0, 1}},
    {" 3xhost ", {0, 0, 1}},
    {"opencl:1:0,2xhost", {0, 1, 1}},
    {"host,1xall", {1, 1, 1}},
    {"host:7", {0, 0, 1}}, /* is not there */
    {"hos", {1, 1, 1}},    /* the answer says what is there */
    {"host,", {1, 1, 1}},  /* wrong, whoever is asked */
    {"cuda host", {1, 0, 0}},
};

static void check_asking(void)
{
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        hr_context *context = NULL;
        TEST_CASE(asking[i].list != NULL ? asking[i].list : "no list");
        fake_reset();
        hr_status status = create_context(asking[i].list, 0, &context);
        CHECK((status == HR_OK) == (context != NULL));
        for (int b = 0; b < FAKE_BACKENDS; b++) {
            CHECK(fake.backends[b].probes == asking[i].asked[b]);
            CHECK(asking[i].asked[b] || fake.backends[b].describes == 0);
        }
        destroy_context(context);
    }
}

static void check_opening(void)
{
    hr_context *context;
    TEST_CASE("a device that is named must open");
    fake.backends[0].devices[1].open_fails = HR_ERROR_BACKEND;
    CHECK_FAILS(create_context("2xhost,cuda", 0, &context), HR_ERROR_BACKEND,
                "fake: cuda:1 is busy");
    CHECK(context == NULL && fake.live == 0);

    TEST_CASE("one that is not named is left out");
    CHECK(create_context(NULL, 0, &context) == HR_OK);
    check_chosen(context, "cuda:0=810000 host=0");
    check_machine(context, "cuda:0: chosen; cuda:1: fake: cuda:1 is busy; "
                           "opencl:0:0: same device as cuda:0; "
                           "opencl:1:0: emulated: only on request; "
                           "host: chosen; ");
    destroy_context(context);

    TEST_CASE("when none opens, the first one's error comes back");
    fake.backends[0].devices[0].open_fails = HR_ERROR_LOST;
    fake.backends[2].devices[0].open_fails = HR_ERROR_BACKEND;
    CHECK_FAILS(create_context(NULL, 0, &context), HR_ERROR_LOST,
                "fake: cuda:0 is busy");
    CHECK(context == NULL && fake.live == 0);

    TEST_CASE("unless the context may be empty: it tells why");
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.may_be_empty = true;
    CHECK(hri_context_create_from(fake_list, &options, &context) == HR_OK);
    CHECK(hr_accelerator_count(context) == 0);
    check_machine(context, "cuda:0: fake: cuda:0 is busy; "
                           "cuda:1: fake: cuda:1 is busy; "
                           "opencl:0:0: same device as cuda:0; "
                           "opencl:1:0: emulated: only on request; "
                           "host: fake: host is busy; ");
    hr_matrix m = hr_matrix_row_major(NULL, HR_F32, 0, 0, 0);
    CHECK_FAILS(hr_gemm(context, hr_real(1), m, m, hr_real(0), m, NULL),
                HR_ERROR_INVALID, "the context has 0");
    destroy_context(context);

    TEST_CASE("and one that is named must open all the same");
    context = NULL;
    options.accelerators = "host";
    CHECK_FAILS(hri_context_create_from(fake_list, &options, &context),
                HR_ERROR_BACKEND, "fake: host is busy");
    CHECK(context == NULL && fake.live == 0);
    fake_reset();
}

static void check_relations(void)
{
    hr_context *context;
    TEST_CASE("accelerators of one device have one number and one ring");
    CHECK(create_context("cuda:1,2xhost,cuda:0,1xhost,opencl:0:0", 0,
                         &context) == HR_OK);
    static const uint32_t physical[] = {0, 1, 1, 2, 1, 2};
    static const uint32_t ring[] = {1, 3, 3, 1, 3, 1};
    for (uint32_t i = 0; i < 6; i++) {
        hri_accelerator *a = &context->accelerators[i];
        uint32_t length = 0;
        for (uint32_t j = 0; j < 6; j++) {
            const hri_accelerator *b = &context->accelerators[j];
            if (b->device_index == a->device_index) {
                CHECK(strcmp(a->device->info.path, b->device->info.path) == 0);
                length++;
            }
        }
        CHECK(a->physical == physical[i] && length == ring[i]);
    }
    CHECK(hri_pool_threads(context->pool) == hri_cpu_count());
    destroy_context(context);
}

static void check_sizes(void)
{
    hr_context *context;
    CHECK(create_context("cuda:0,host", 0, &context) == HR_OK);
    struct {
        hr_accelerator_info info;
        char more[16]; /* of a newer header */
    } large;

    TEST_CASE("a larger struct: what we do not know is zero");
    memset(&large, 'x', sizeof large);
    large.info.size = sizeof large;
    CHECK(hr_accelerator_describe(context, 0, &large.info) == HR_OK);
    CHECK(large.info.size == sizeof large && large.info.chosen);
    CHECK(large.more[0] == 0 && large.more[15] == 0);

    TEST_CASE("a smaller struct: nothing past its end is written");
    memset(&large, 'x', sizeof large);
    large.info.size = offsetof(hr_accelerator_info, memory_bytes);
    CHECK(hr_machine_describe(context, 0, &large.info) == HR_OK);
    CHECK(strcmp(large.info.name, "device of cuda:0") == 0);
    CHECK(*(unsigned char *)&large.info.memory_bytes == 'x');

    TEST_CASE("a size that cannot be, an index past the end, NULL");
    static const uint32_t tiny[] = {0, 4, 51};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        large.info.size = tiny[i];
        CHECK_FAILS(hr_accelerator_describe(context, 0, &large.info),
                    HR_ERROR_INVALID, "size is ");
        CHECK_FAILS(hr_machine_describe(context, 0, &large.info),
                    HR_ERROR_INVALID, "size is ");
    }
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK_FAILS(hr_accelerator_describe(context, 2, &info), HR_ERROR_INVALID,
                "index 2 is not below 2");
    CHECK_FAILS(hr_machine_describe(context, 4, &info), HR_ERROR_INVALID,
                "index 4 is not below 4");
    CHECK_FAILS(hr_machine_describe(context, UINT32_MAX, &info),
                HR_ERROR_INVALID, "index 4294967295");
    CHECK_FAILS(hr_accelerator_describe(NULL, 0, &info), HR_ERROR_INVALID,
                "context is NULL");
    CHECK_FAILS(hr_machine_describe(NULL, 0, &info), HR_ERROR_INVALID,
                "context is NULL");
    CHECK_FAILS(hr_accelerator_describe(context, 0, NULL), HR_ERROR_INVALID,
                "info is NULL");
    CHECK_FAILS(hr_machine_describe(context, 0, NULL), HR_ERROR_INVALID,
                "info is NULL");
    CHECK(hr_accelerator_count(NULL) == 0 && hr_machine_count(NULL) == 0);
    destroy_context(context);
    destroy_context(NULL);
}

/* Counts lines without a line end; no lock, as calls come one at a time. */
static void count_line(void *data, const char *line)
{
    *(long *)data += strchr(line, '\n') == NULL;
}

static void *log_often(void *context)
{
    for (int i = 0; i < 1000; i++) {
        hri_log(context, "line %d", i);
    }
    return NULL;
}

static void check_options(void)
{
    long lines = 0;
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "2xhost";
    options.log = count_line;
    options.log_data = &lines;

    TEST_CASE("the log gets one line at a time");
    CHECK(hri_context_create_from(fake_list, &options, &context) == HR_OK);
    CHECK(lines == 2);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, log_often, context) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(lines == 2002);
    destroy_context(context);

    TEST_CASE("smaller options: the rest is not looked at");
    options.size = offsetof(hr_context_options, log);
    CHECK(hri_context_create_from(fake_list, &options, &context) == HR_OK);
    CHECK(lines == 2002);
    destroy_context(context);

    TEST_CASE("options without a size, no place for the context");
    context = NULL;
    options.size = 0;
    CHECK_FAILS(hri_context_create_from(fake_list, &options, &context),
                HR_ERROR_INVALID, "size is 0");
    options.size = 8;
    CHECK_FAILS(hri_context_create_from(fake_list, &options, &context),
                HR_ERROR_INVALID, "size is 8");
    CHECK(context == NULL);
    CHECK_FAILS(hr_context_create(NULL, NULL), HR_ERROR_INVALID, "NULL");
}

/* ---- a context that ends before its queues */

enum { N = 3000000, LAUNCHES = 30, SETS = 2 };

/* What is not destroyed is kept here, so that it is no leak. */
static struct {
    float *x, *y;
    hr_array *in, *inout;
} kept[SETS];

static void destroy_before_queue(int set, const char *list)
{
    static const struct {
        float x;
        int n;
    } point = {0.0F, 0};
    const float factor = 2.0F;
    const hr_extent extent = hr_extent1(N);
    hr_queue *queue = NULL, *idle = NULL;
    TEST_CASE(list);
    hr_context *context = test_context(list, 0);
    CHECK(hr_queue_create(context, 0, &queue) == HR_OK);
    CHECK(hr_queue_create(context, 0, &idle) == HR_OK);
    float *x = kept[set].x = malloc(N * sizeof *x);
    float *y = kept[set].y = calloc(N, sizeof *y);
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 100);
    }
    CHECK(hr_array_wrap(context, x, sizeof *x, extent, 0, &kept[set].in) ==
          HR_OK);
    CHECK(hr_array_wrap(context, y, sizeof *y, extent, 0, &kept[set].inout) ==
          HR_OK);
    const hr_argument arguments[] = {
        hr_in(hr_view_of(kept[set].in)), hr_inout(hr_view_of(kept[set].inout)),
        hr_value(&factor, sizeof factor), hr_value(&point, sizeof point)};
    for (int i = 0; i < LAUNCHES; i++) {
        CHECK(hr_launch(queue, &axpy, extent, NULL, arguments, 4) == HR_OK);
    }
    hr_context_destroy(context);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        wrong += y[i] != 2.0F * LAUNCHES * x[i];
    }
    CHECK(wrong == (strcmp(list, "host") == 0 ? 0 : N - N / 100));
    hr_queue_destroy(idle);
    hr_queue_destroy(queue);
}

int main(void)
{
    unsetenv("HEADRACE_ACCELERATORS");
    unsetenv("HEADRACE_MEMORY_LIMIT");
    fake_reset();
    TEST(check_choices());
    TEST(check_environment());
    TEST(check_machines());
    TEST(check_asking());
    TEST(check_opening());
    TEST(check_relations());
    TEST(check_sizes());
    TEST(check_options());
    TEST(destroy_before_queue(0, "host"));
    TEST(destroy_before_queue(1, "2xhost")); /* y is not brought home */
    return test_end();
}
