/* SPDX-License-Identifier: MIT */
/* What a program that runs with more rights than its caller takes from the
 * environment: nothing. getauxval, which tells such programs, is ours. */
#include <string.h>
#include <sys/auxv.h>

#include "base/cpus.h"
#include "base/environment.h"
#include "runtime/cache.h"
#include "test.h"

static bool secure;

unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);

unsigned long __wrap_getauxval(unsigned long type)
{
    return type == AT_SECURE ? secure : __real_getauxval(type);
}

static void variables(void)
{
    TEST_CASE("a variable is read in an ordinary program alone");
    setenv("HEADRACE_TEST", "value", 1);
    secure = false;
    const char *value = hri_environment("HEADRACE_TEST");
    CHECK(value != NULL && strcmp(value, "value") == 0);
    secure = true;
    CHECK(hri_environment("HEADRACE_TEST") == NULL);
}

static void folders(void)
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
static hr_status open_host(const char *list)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = list;
    const hr_status status = hr_context_create(&options, &context);
    hr_context_destroy(context);
    return status;
}

/* Libraries are looked for once, so this is one case. */
static void libraries(void)
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
    CHECK(open_host(NULL) == HR_OK || open_host("host") == HR_OK);
    CHECK(hri_thread_count() == hri_cpu_count());
    secure = false;
    CHECK(open_host(NULL) == HR_ERROR_INVALID);
}

int main(void)
{
    TEST(variables());
    TEST(folders());
    TEST(libraries());
    return test_end();
}
