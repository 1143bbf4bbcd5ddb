/* SPDX-License-Identifier: MIT */
/* How many threads work on the host: the option, the variable, the affinity and
 * the control groups' quotas, in this order. Cases that change the process are
 * children of it. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "test.h"

#include <sched.h>
#include <sys/stat.h>

#include "base/cpus.h"
#include "runtime/runtime.h"
#include "support/child.h"
#include "support/files.h"

/* ---- control groups */

/* A file below the fake root. */
typedef struct entry {
    const char *path, *text;
} entry;

enum { ENTRIES = 5 };

static const struct {
    const char *name;
    uint32_t cpus;
    entry files[ENTRIES];
} groups[] = {
    {"nothing is there", 0, {{NULL, NULL}}},
    {"version 2: no quota",
     0,
     {{"/proc/self/cgroup", "0::/a\n"},
      {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}}},
    {"version 2: the group's quota",
     3,
     {{"/proc/self/cgroup", "0::/a/b\n"},
      {"/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n"},
      {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}}},
    {"version 2: the quota of a group above",
     2,
     {{"/proc/self/cgroup", "0::/a/b\n"},
      {"/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n"},
      {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
      {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}}},
    {"version 2: only the mount is there, as in a container",
     5,
     {{"/proc/self/cgroup", "0::/docker/0123\n"},
      {"/sys/fs/cgroup/cpu.max", "50000 10000\n"}}},
    {"a part of a CPU counts as one",
     1,
     {{"/proc/self/cgroup", "0::/\n"},
      {"/sys/fs/cgroup/cpu.max", "1000 100000\n"}}},
    {"parts are rounded up",
     3,
     {{"/proc/self/cgroup", "0::/\n"},
      {"/sys/fs/cgroup/cpu.max", "210000 100000\n"}}},
    {"version 1",
     2,
     {{"/proc/self/cgroup", "7:memory:/m\n4:cpu,cpuacct:/a\n1:name=cpu:/x\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n"},
      {"/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"}}},
    {"version 1: a folder with the short name",
     4,
     {{"/proc/self/cgroup", "4:cpuacct,cpu:/a\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
    {"version 1: no quota",
     0,
     {{"/proc/self/cgroup", "4:cpu:/a\n"},
      {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}}},
    {"both versions",
     6,
     {{"/proc/self/cgroup", "4:memory:/a\n0::/a\n"},
      {"/sys/fs/cgroup/unified/a/cpu.max", "600000 100000\n"}}},
    {"nonsense",
     0,
     {{"/proc/self/cgroup", "no colon\n0::/a\n"},
      {"/sys/fs/cgroup/a/cpu.max", "many\n"},
      {"/sys/fs/cgroup/cpu.max", "0 0\n"}}},
};

static void write_entry(const char *root, const entry *e)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", root, e->path);
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    CHECK(files_write(path, e->text, strlen(e->text)));
}

static void quotas_are_read(void)
{
    char root[64];
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        TEST_CASE(groups[i].name);
        const entry *files = groups[i].files;
        files_make_folder(root, sizeof root);
        for (int j = 0; j < ENTRIES && files[j].path != NULL; j++) {
            write_entry(root, &files[j]);
        }
        CHECK(hri_cpu_quota(root) == groups[i].cpus);
        files_remove_folder(root);
    }
}

/* ---- contexts */

static hr_context *open_with(const char *accelerators, uint32_t threads)
{
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    options.threads = threads;
    CHECK(hr_context_create(&options, &context) == HR_OK);
    return context;
}

static uint32_t units_of(const hr_context *context)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_accelerator_describe(context, 0, &info) == HR_OK);
    return info.compute_units;
}

static void has_threads(const char *accelerators, uint32_t option,
                        uint32_t want)
{
    hr_context *context = open_with(accelerators, option);
    if (CHECK(context != NULL)) {
        CHECK(hr_thread_count(context) == want);
        CHECK(hri_pool_threads(context->pool) == want);
        CHECK(units_of(context) == want);
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_machine_describe(context, 0, &info) == HR_OK);
        CHECK(!info.chosen || info.compute_units == want);
    }
    hr_context_destroy(context);
}

static void the_option_comes_first(void)
{
    TEST_CASE("the option");
    setenv("HEADRACE_THREADS", "3", 1);
    has_threads("host", 0, 3);
    has_threads("host", 1, 1);
    has_threads("host", 5, 5);
    has_threads("2xhost", 2, 2);
    CHECK(hr_thread_count(NULL) == 3);

    TEST_CASE("each of several contexts has its own");
    hr_context *one = open_with("host", 1), *four = open_with("host", 4);
    CHECK(hr_thread_count(one) == 1 && hr_thread_count(four) == 4);
    CHECK(units_of(one) == 1 && units_of(four) == 4);
    hr_context_destroy(one);
    hr_context_destroy(four);

    TEST_CASE("nonsense");
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "host";
    options.threads = 1025;
    CHECK_FAILS(hr_context_create(&options, &context), HR_ERROR_INVALID,
                "1025 threads are not 1 to 1024");
    setenv("HEADRACE_THREADS", "none", 1);
    has_threads("host", 2, 2); /* the variable is not asked */
    unsetenv("HEADRACE_THREADS");
}

/* The process may use one CPU alone. */
static int use_one_cpu(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    size_t first = 0;
    while (!CPU_ISSET(first, &set)) {
        first++;
    }
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    CHECK(sched_setaffinity(0, sizeof set, &set) == 0);
    CHECK(hri_cpu_count() == 1 && hr_thread_count(NULL) == 1);
    has_threads("host", 0, 1);
    has_threads("host", 2, 2);
    setenv("HEADRACE_THREADS", "2", 1);
    has_threads("host", 0, 2);
    return 0;
}

static void affinity_is_respected(void)
{
    TEST_CASE("affinity");
    CHECK(test_in_child(use_one_cpu) == 0);
}

/* ---- devices that are the host's CPUs, and copies */

static bool multiplies(hr_context *context)
{
    enum { N = 100 };
    static float a[N * N], c[N * N];
    for (int i = 0; i < N * N; i++) {
        a[i] = 1.0f;
        c[i] = 0.0f;
    }
    const hr_matrix ma = hr_matrix_row_major(a, HR_F32, N, N, 0);
    const hr_matrix mc = hr_matrix_row_major(c, HR_F32, N, N, 0);
    bool right =
        hr_gemm(context, hr_real(1), ma, ma, hr_real(0), mc, NULL) == HR_OK;
    for (int i = 0; i < N * N; i++) {
        right = right && c[i] == (float)N;
    }
    return right;
}

static void opencl_is_limited(void)
{
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "2xopencl:0:0";
    options.threads = 1;
    TEST_CASE("OpenCL on CPUs");
    if (hr_context_create(&options, &context) != HR_OK) {
        test_note("not here, not tested: OpenCL\n");
        return;
    }
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_accelerator_describe(context, 0, &info) == HR_OK);
    CHECK(!info.emulated || info.compute_units == 1);
    CHECK(context->accelerators[0].copy_threads == 1);
    CHECK(multiplies(context));

    TEST_CASE("OpenCL on CPUs in two contexts");
    options.threads = 0;
    hr_context *whole = NULL;
    CHECK(hr_context_create(&options, &whole) == HR_OK);
    CHECK(multiplies(whole) && multiplies(context));
    hr_context_destroy(context);
    CHECK(multiplies(whole));
    hr_context_destroy(whole);
}

int main(void)
{
    setenv("HEADRACE_CBLAS", "builtin", 1);
    unsetenv("HEADRACE_THREADS");
    TEST(quotas_are_read());
    TEST(affinity_is_respected());
    TEST(the_option_comes_first());
    TEST(opencl_is_limited());
    return test_end();
}
