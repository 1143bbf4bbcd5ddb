/* SPDX-License-Identifier: MIT */
/* Which CBLAS is chosen, and that OpenBLAS gets the core type that this CPU
 * deserves. Libraries and the environment belong to the process, so each case
 * is a child of its own. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/host/arithmetic.h"
#include "backends/host/cblas.h"
#include "test.h"

extern const hri_backend hri_backend_host;

/* The core type that the fake library should end up with on this CPU. */
static const char *best_core(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd")) {
        return "SkylakeX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return "Haswell";
    }
#endif
    return "Prescott";
}

static bool fails(hr_status status, const char *word)
{
    return status == HR_ERROR_UNAVAILABLE &&
           strstr(hr_last_error(), word) != NULL;
}

static bool fake_is(const char *core)
{
    char want[64];
    hri_cblas cblas;
    snprintf(want, sizeof want, "OpenBLAS 9.8.7 %s", core);
    return hri_cblas_open(FAKE_OPENBLAS, false, &cblas) == HR_OK &&
           strcmp(cblas.name, want) == 0;
}

static bool a_misjudged_cpu_is_put_right(void)
{
    return fake_is(best_core());
}

static bool the_environment_is_as_it_was(void)
{
    setenv("BEFORE", "1", 1);
    return fake_is(best_core()) && getenv("OPENBLAS_CORETYPE") == NULL &&
           strcmp(getenv("BEFORE"), "1") == 0;
}

static bool the_users_core_type_stands(void)
{
    setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
    return fake_is("Nehalem by OPENBLAS_CORETYPE") &&
           strcmp(getenv("OPENBLAS_CORETYPE"), "Nehalem") == 0;
}

static bool a_core_type_newer_than_we_know_stands(void)
{
    setenv("OPENBLAS_CORETYPE", "GraniteRapids", 1);
    void *library = dlopen(FAKE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    unsetenv("OPENBLAS_CORETYPE");
    return library != NULL && fake_is("GraniteRapids");
}

static bool a_library_in_use_is_left_alone(void)
{
    void *library = dlopen(FAKE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    return library != NULL && fake_is("Prescott");
}

static bool opening_twice_is_the_same(void)
{
    return fake_is(best_core()) && fake_is(best_core());
}

static bool integers_of_64_bits_are_refused(void)
{
    hri_cblas cblas;
    setenv("FAKE_OPENBLAS_64", "1", 1);
    return fails(hri_cblas_open(FAKE_OPENBLAS, true, &cblas), "64 bits");
}

static bool what_is_no_blas_is_refused(void)
{
    hri_cblas cblas;
    return fails(hri_cblas_open("libm.so.6", true, &cblas), "cblas_sgemm") &&
           fails(hri_cblas_open("libnot-there.so.1", true, &cblas),
                 "libnot-there");
}

static bool headrace_cblas_names_a_library(void)
{
    setenv("HEADRACE_CBLAS", FAKE_OPENBLAS, 1);
    return strncmp(hri_host_arithmetic_name(), "OpenBLAS 9.8.7 ", 15) == 0;
}

static bool headrace_cblas_can_ask_for_the_built_in(void)
{
    setenv("HEADRACE_CBLAS", "builtin", 1);
    return strncmp(hri_host_arithmetic_name(), "built-in (", 10) == 0;
}

/* The host can be described but not opened, each time with the sentence. */
static bool host_is_refused(const char *value, const char *sentence)
{
    hri_device *device = NULL;
    hri_device_info info;
    setenv("HEADRACE_CBLAS", value, 1);
    bool held = hri_backend_host.describe(0, &info) == HR_OK &&
                strcmp(info.arithmetic, "none") == 0;
    for (int i = 0; i < 2; i++) {
        held = held && fails(hri_backend_host.open(0, &device), sentence) &&
               device == NULL;
    }
    return held;
}

static bool headrace_cblas_that_is_not_there_is_refused(void)
{
    return host_is_refused(
        "libnot-there.so.1",
        "HEADRACE_CBLAS is \"libnot-there.so.1\", which is no usable CBLAS: "
        "cannot open shared object file");
}

static bool headrace_cblas_that_is_none_is_refused(void)
{
    return host_is_refused(
        "libm.so.6", "HEADRACE_CBLAS is \"libm.so.6\", which is no usable "
                     "CBLAS: libm.so.6 has no symbol cblas_sgemm");
}

static bool headrace_cblas_of_64_bits_is_refused(void)
{
    setenv("FAKE_OPENBLAS_64", "1", 1);
    return host_is_refused(FAKE_OPENBLAS, "takes integers of 64 bits");
}

static bool headrace_cblas_that_works_opens(void)
{
    hri_device *device = NULL;
    setenv("HEADRACE_CBLAS", FAKE_OPENBLAS, 1);
    if (hri_backend_host.open(0, &device) != HR_OK) {
        return false;
    }
    device->ops->close(device);
    return true;
}

static bool an_empty_headrace_cblas_means_nothing(void)
{
    hri_cblas cblas;
    setenv("HEADRACE_CBLAS", "", 1);
    bool found = hri_cblas_find(&cblas);
    return hri_host_arithmetic_load() == HR_OK &&
           found ==
               (strncmp(hri_host_arithmetic_name(), "built-in (", 10) != 0);
}

/* The real one, if it is here: it unloads, and multiplies after that. */
static bool a_real_openblas_survives_reloading(void)
{
    static const char *const types[] = {"Haswell", "SkylakeX", "Haswell"};
    for (int i = 0; i < 3; i++) {
        setenv("OPENBLAS_CORETYPE", types[i], 1);
        void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            printf("not here, not tested: libopenblas.so.0\n");
            return true;
        }
        dlclose(library);
    }
    unsetenv("OPENBLAS_CORETYPE");
    hri_cblas cblas;
    if (hri_cblas_open("libopenblas.so.0", false, &cblas) != HR_OK) {
        return false;
    }
    const float one = 1.0f;
    float two[4] = {0};
    cblas.sgemm(HRI_CBLAS_ROW_MAJOR, HRI_CBLAS_NO_TRANS, HRI_CBLAS_NO_TRANS, 1,
                1, 1, 2.0f, &one, 1, &one, 1, 0.0f, two, 1);
    printf("%s\n", cblas.name);
    return two[0] == 2.0f;
}

static const struct {
    const char *name;
    bool (*holds)(void);
} cases[] = {
    {"a misjudged CPU is put right", a_misjudged_cpu_is_put_right},
    {"the environment is as it was", the_environment_is_as_it_was},
    {"the user's core type stands", the_users_core_type_stands},
    {"a core type newer than we know stands",
     a_core_type_newer_than_we_know_stands},
    {"a library in use is left alone", a_library_in_use_is_left_alone},
    {"opening twice is the same", opening_twice_is_the_same},
    {"integers of 64 bits are refused", integers_of_64_bits_are_refused},
    {"what is no BLAS is refused", what_is_no_blas_is_refused},
    {"HEADRACE_CBLAS names a library", headrace_cblas_names_a_library},
    {"HEADRACE_CBLAS=builtin asks for the built-in kernel",
     headrace_cblas_can_ask_for_the_built_in},
    {"a HEADRACE_CBLAS that is not there is refused",
     headrace_cblas_that_is_not_there_is_refused},
    {"a HEADRACE_CBLAS that is none is refused",
     headrace_cblas_that_is_none_is_refused},
    {"a HEADRACE_CBLAS of 64 bits is refused",
     headrace_cblas_of_64_bits_is_refused},
    {"a HEADRACE_CBLAS that works opens", headrace_cblas_that_works_opens},
    {"an empty HEADRACE_CBLAS means nothing",
     an_empty_headrace_cblas_means_nothing},
    {"a real OpenBLAS survives reloading", a_real_openblas_survives_reloading},
};

static bool holds_in_a_child(bool (*holds)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        bool held = holds();
        fflush(NULL);
        _exit(held ? 0 : 1);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child &&
           WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("HEADRACE_CBLAS");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].name);
        CHECK(holds_in_a_child(cases[i].holds));
    }
    return test_end();
}
