/* SPDX-License-Identifier: MIT */
/* What a program that runs with more rights than its caller takes from the
 * environment: nothing. getauxval, which tells such programs, is ours. */
#include <string.h>
#include <sys/auxv.h>

#include "backends/host/cblas.h"
#include "base/cache.h"
#include "base/cpus.h"
#include "base/environment.h"
#include "test.h"

static bool secure;

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

unsigned long __wrap_getauxval(unsigned long type)
{
    return type == AT_SECURE ? secure : __real_getauxval(type);
}

static void read_variables(void)
{
    TEST_CASE("a variable is read in an ordinary program alone");
    setenv("HEADRACE_TEST", "value", 1);
    secure = false;
    const char *value = hri_environment("HEADRACE_TEST");
    CHECK(value != NULL && strcmp(value, "value") == 0);
    secure = true;
    CHECK(hri_environment("HEADRACE_TEST") == NULL);
}

static void find_folders(void)
{
    static const char *const names[] = {"HEADRACE_CACHE", "XDG_CACHE_HOME",
                                        "HOME"};
    char path[PATH_MAX];
    for (int i = 0; i < 3; i++) {
        TEST_CASE(names[i]);
        for (int k = 0; k < 3; k++) {
            unsetenv(names[k]);
        }
        setenv(names[i], "/a", 1);
        secure = false;
        CHECK(hri_cache_path("rates", path) && strncmp(path, "/a/", 3) == 0);
        secure = true;
        CHECK(!hri_cache_path("rates", path));
    }
    setenv("HEADRACE_CACHE", "", 1);
}

/* A context of the list, or why there is none. */
static hr_status open_list(const char *list)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = list;
    const hr_status status = hr_context_create(&options, &context);
    hr_context_destroy(context);
    return status;
}

/* Libraries are looked for once, so this is one case. */
static void read_settings(void)
{
    TEST_CASE("settings of a context, and the host's library");
    static const char *const wrong[][2] = {
        {"HEADRACE_CBLAS", "/no/such/library"},
        {"HEADRACE_THREADS", "none"},
        {"HEADRACE_MEMORY_LIMIT", "none"},
        {"HEADRACE_ACCELERATORS", "none"},
    };
    for (int i = 0; i < 4; i++) {
        setenv(wrong[i][0], wrong[i][1], 1);
    }
    secure = true;
    CHECK(open_list(NULL) == HR_OK || open_list("host") == HR_OK);
    CHECK(hri_thread_count() == hri_cpu_count());
    secure = false;
    CHECK(open_list(NULL) == HR_ERROR_INVALID);
}

/* Whether the library that looks like MKL is refused with this word. */
static bool is_refused(const char *word)
{
    hri_cblas cblas;
    return hri_cblas_open(FAKE_MKL, true, &cblas) == HR_ERROR_UNAVAILABLE &&
           strstr(hr_last_error(), word) != NULL;
}

static void load_mkl(void)
{
    hri_cblas cblas;
    TEST_CASE("MKL is for programs without more rights");
    secure = false;
    CHECK(hri_cblas_open(FAKE_MKL, true, &cblas) == HR_OK &&
          strcmp(cblas.name, "MKL 2023.1") == 0);
    secure = true;
    CHECK(is_refused("more rights than its caller"));
    TEST_CASE("MKL with integers of 64 bits is refused, with any rights");
    setenv("MKL_INTERFACE_LAYER", "ILP64", 1);
    CHECK(is_refused("more rights than its caller"));
    secure = false;
    CHECK(is_refused("64 bits"));
    unsetenv("MKL_INTERFACE_LAYER");
}

/* Drivers are looked for once, so this is one case. */
static void load_no_drivers(void)
{
    TEST_CASE("drivers obey the environment, so none is loaded");
    static const char *const lists[] = {"opencl", "cuda"};
    for (int i = 0; i < 2; i++) {
        secure = true;
        CHECK(open_list(lists[i]) == HR_ERROR_UNAVAILABLE &&
              strstr(hr_last_error(), "more rights than its caller") != NULL);
    }
}

int main(void)
{
    TEST(read_variables());
    TEST(find_folders());
    TEST(load_mkl());
    TEST(load_no_drivers());
    TEST(read_settings());
    return test_end();
}
