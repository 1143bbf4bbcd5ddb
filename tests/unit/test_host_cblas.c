/* SPDX-License-Identifier: MIT */
/* Which CBLAS is chosen, which core type of OpenBLAS suits which CPU, and that
 * it gets the types that suit this one. Libraries and the environment belong to
 * the process, so each case is a child of its own. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/host/arithmetic.h"
#include "backends/host/cblas.h"
#include "test.h"

/* musl neither unloads a library nor loads a copy of one. */
#ifdef __GLIBC__
enum { UNLOADS = true };
#define NO_FILE "cannot open shared object file: No such file or directory"
#else
enum { UNLOADS = false };
#define NO_FILE "No such file or directory"
#endif

/* Nor can copies be had under the sanitizers. */
static bool copies_can_be_had(void)
{
    return UNLOADS &&
           dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace") == NULL;
}

/* The core type that a type's products should end up with on this CPU. */
static const char *best_core(hr_type type, const char *chosen)
{
    const char *wish = hri_openblas_better_core(hri_cpu_here(), type, chosen);
    return wish != NULL ? wish : chosen;
}

/* What a CBLAS should call its core types when the library itself has this one.
 */
static void name_cores(const char *core, char *name, size_t bytes)
{
    const bool copies = copies_can_be_had();
    const char *most = copies ? best_core(HR_F32, core) : core;
    const char *of_double = copies ? best_core(HR_F64, core) : core;
    if (strcmp(most, of_double) == 0) {
        snprintf(name, bytes, "%s", most);
    } else {
        snprintf(name, bytes, "%s, %s for double", most, of_double);
    }
}

static bool fails_with(hr_status status, const char *word)
{
    return status == HR_ERROR_UNAVAILABLE &&
           strstr(hr_last_error(), word) != NULL;
}

static bool fake_is(const char *cores)
{
    char want[96];
    hri_cblas cblas;
    snprintf(want, sizeof want, "OpenBLAS 9.8.7 %s", cores);
    return hri_cblas_open(FAKE_OPENBLAS, false, &cblas) == HR_OK &&
           strcmp(cblas.name, want) == 0;
}

/* It is loaded again, with the core type for double. */
static bool fake_is_put_right(void)
{
    char cores[64];
    name_cores(UNLOADS ? best_core(HR_F64, "Prescott") : "Prescott", cores,
               sizeof cores);
    return fake_is(cores);
}

static bool the_environment_is_as_it_was(void)
{
    setenv("BEFORE", "1", 1);
    return fake_is_put_right() && getenv("OPENBLAS_CORETYPE") == NULL &&
           strcmp(getenv("BEFORE"), "1") == 0;
}

static bool what_is_set_meanwhile_stays(void)
{
    setenv("BEFORE", "1", 1);
    void *library = dlopen(FAKE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    setenv("FAKE_OPENBLAS_SETS", "1", 1);
    char cores[64];
    name_cores("Prescott", cores, sizeof cores);
    const bool loaded =
        copies_can_be_had() && hri_cpu_here() != HRI_CPU_BASELINE;
    return library != NULL && fake_is(cores) &&
           strcmp(getenv("BEFORE"), loaded ? "2" : "1") == 0 &&
           (getenv("FAKE_OPENBLAS_SETS") == NULL) == loaded &&
           getenv("OPENBLAS_CORETYPE") == NULL;
}

/* The library's number, and that of each of its copies. */
static bool all_have(const hri_cblas *cblas, int threads)
{
    bool have = cblas->openblas.get_threads() == threads;
    for (int i = 0; i < 2; i++) {
        have = have && (cblas->copies[i].set_threads == NULL ||
                        cblas->copies[i].get_threads() == threads);
    }
    return have;
}

static bool copies_follow_the_number_of_threads(void)
{
    void *library = dlopen(FAKE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    hri_openblas own;
    hri_cblas cblas;
    if (library == NULL || !hri_openblas_is(library, &own) ||
        hri_cblas_open(FAKE_OPENBLAS, false, &cblas) != HR_OK) {
        return false;
    }
    own.set_threads(7);
    bool follow = hri_openblas_limit(&cblas, 9) == 7 && all_have(&cblas, 7) &&
                  hri_openblas_limit(&cblas, 3) == 7 && all_have(&cblas, 3);
    hri_openblas_restore(&cblas, 3, 7);
    follow = follow && own.get_threads() == 7;
    own.set_threads(5); /* meanwhile */
    hri_openblas_restore(&cblas, 3, 7);
    return follow && own.get_threads() == 5 &&
           (cblas.copies[0].set_threads != NULL) ==
               (copies_can_be_had() && hri_cpu_here() != HRI_CPU_BASELINE);
}

/* The fake's products say how many threads they would have had. */
static bool has_threads(const hri_cblas *cblas, uint32_t threads, int want)
{
    float a = 1, c = 0;
    const hri_operand one = {hri_at_host(&a, 0), 1, 1, false};
    const hri_gemm gemm = {.type = HR_F32,
                           .c_type = HR_F32,
                           .m = 1,
                           .n = 1,
                           .k = 1,
                           .alpha = hr_real(1),
                           .a = one,
                           .b = one,
                           .c = {hri_at_host(&c, 0), 1, 1, false}};
    unsetenv("FAKE_OPENBLAS_THREADS");
    const char *had = hri_cblas_gemm(cblas, threads, &gemm)
                          ? getenv("FAKE_OPENBLAS_THREADS")
                          : NULL;
    return had != NULL && atoi(had) == want &&
           cblas->openblas.get_threads() == 7;
}

/* Whatever OpenBLAS's own variable says, and the program gets its own back. */
static bool products_have_no_more_threads_than_allowed(void)
{
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    hri_cblas cblas;
    if (hri_cblas_open(FAKE_OPENBLAS, false, &cblas) != HR_OK) {
        return false;
    }
    cblas.openblas.set_threads(7);
    return has_threads(&cblas, 1, 1) && has_threads(&cblas, 3, 3) &&
           has_threads(&cblas, 7, 7) && has_threads(&cblas, 64, 7);
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

/* Its copies have other core types; it has its own. */
static bool a_library_in_use_is_left_alone(void)
{
    void *library = dlopen(FAKE_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
    const char *(*core)(void) = NULL;
    char cores[64];
    name_cores("Prescott", cores, sizeof cores);
    if (library == NULL || !fake_is(cores)) {
        return false;
    }
    void *symbol = dlsym(library, "openblas_get_corename");
    memcpy(&core, &symbol, sizeof core);
    return strcmp(core(), "Prescott") == 0;
}

static bool opening_twice_is_the_same(void)
{
    return fake_is_put_right() && fake_is_put_right();
}

static bool integers_of_64_bits_are_refused(void)
{
    hri_cblas cblas;
    setenv("FAKE_OPENBLAS_64", "1", 1);
    return fails_with(hri_cblas_open(FAKE_OPENBLAS, true, &cblas), "64 bits");
}

static bool what_is_no_blas_is_refused(void)
{
    hri_cblas cblas;
    return fails_with(hri_cblas_open("libm.so.6", true, &cblas),
                      "cblas_sgemm") &&
           fails_with(hri_cblas_open("libnot-there.so.1", true, &cblas),
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
        held = held &&
               fails_with(hri_backend_host.open(0, 2, &device), sentence) &&
               device == NULL;
    }
    return held;
}

static bool headrace_cblas_that_is_not_there_is_refused(void)
{
    return host_is_refused("libnot-there.so.1",
                           "HEADRACE_CBLAS is \"libnot-there.so.1\", not a "
                           "usable CBLAS: " NO_FILE);
}

static bool headrace_cblas_that_is_none_is_refused(void)
{
    return host_is_refused("libm.so.6",
                           "HEADRACE_CBLAS is \"libm.so.6\", not a usable "
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
    if (hri_backend_host.open(0, 2, &device) != HR_OK) {
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

/* What the real one multiplies, of numbers that any order of sums makes the
 * same. */
static bool multiplies_right(const hri_cblas *cblas)
{
    enum { N = 70 };
    static float a32[N * N], c32[N * N];
    static double a64[N * N], c64[N * N];
    for (int i = 0; i < N * N; i++) {
        a64[i] = a32[i] = (float)(i % 13 - 6);
    }
    cblas->sgemm(HRI_CBLAS_ROW_MAJOR, HRI_CBLAS_NO_TRANS, HRI_CBLAS_TRANS, N, N,
                 N, 1.0f, a32, N, a32, N, 0.0f, c32, N);
    cblas->dgemm(HRI_CBLAS_ROW_MAJOR, HRI_CBLAS_NO_TRANS, HRI_CBLAS_TRANS, N, N,
                 N, 1.0, a64, N, a64, N, 0.0, c64, N);
    bool right = true;
    for (int i = 0; i < N * N; i++) {
        double sum = 0;
        for (int p = 0; p < N; p++) {
            sum += a64[i / N * N + p] * a64[i % N * N + p];
        }
        right = right && c32[i] == (float)sum && c64[i] == sum;
    }
    return right;
}

static const char real_name[] = "libopenblas.so.0";

/* Load it with a core type; NULL, and it is said, when it is not here. */
static void *load_real(const char *core)
{
    setenv("OPENBLAS_CORETYPE", core, 1);
    void *library = dlopen(real_name, RTLD_NOW | RTLD_LOCAL);
    unsetenv("OPENBLAS_CORETYPE");
    if (library == NULL) {
        printf("not here, not tested: %s\n", real_name);
    }
    return library;
}

/* It unloads, and multiplies after that. */
static bool a_real_openblas_survives_reloading(void)
{
    static const char *const types[] = {"Haswell", "SkylakeX", "Haswell"};
    for (int i = 0; i < 3; i++) {
        void *library = load_real(types[i]);
        if (library == NULL) {
            return true;
        }
        dlclose(library);
    }
    hri_cblas cblas;
    return hri_cblas_open(real_name, false, &cblas) == HR_OK &&
           printf("%s\n", cblas.name) > 0 && multiplies_right(&cblas);
}

/* One that misjudges the CPU and is in use gets copies that do not. */
static bool a_real_openblas_is_copied(void)
{
    hri_cblas cblas;
    char want[64];
    hri_openblas own;
    void *library = load_real("Prescott");
    if (library == NULL) {
        return true;
    }
    if (!hri_openblas_is(library, &own) ||
        strcmp(own.core(), "Prescott") != 0) {
        printf("it has one core type, not tested: %s\n", real_name);
        return true;
    }
    name_cores("Prescott", want, sizeof want);
    return hri_cblas_open(real_name, false, &cblas) == HR_OK &&
           printf("%s\n", cblas.name) > 0 && strstr(cblas.name, want) != NULL &&
           multiplies_right(&cblas);
}

static const struct {
    const char *name;
    bool (*holds)(void);
} cases[] = {
    {"a misjudged CPU is put right", fake_is_put_right},
    {"the environment is as it was", the_environment_is_as_it_was},
    {"what is set meanwhile stays", what_is_set_meanwhile_stays},
    {"copies follow the number of threads",
     copies_follow_the_number_of_threads},
    {"products have no more threads than allowed",
     products_have_no_more_threads_than_allowed},
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
    {"a real OpenBLAS is copied", a_real_openblas_is_copied},
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

static void cases_in_children(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].name);
        CHECK(holds_in_a_child(cases[i].holds));
    }
}

/* What to ask for instead of what was chosen, in float and in double; NULL: the
 * choice stands. */
static const struct {
    hri_cpu cpu;
    const char *chosen, *single, *real_double;
} core_rows[] = {
    {HRI_CPU_BASELINE, "Prescott", NULL, NULL},
    {HRI_CPU_BASELINE, "Unheard", NULL, NULL},
    {HRI_CPU_AVX2, "Prescott", "Haswell", "Haswell"},
    {HRI_CPU_AVX2, "Sandybridge", "Haswell", "Haswell"},
    {HRI_CPU_AVX2, "Haswell", NULL, NULL},
    {HRI_CPU_AVX2, "Zen", NULL, NULL},
    {HRI_CPU_AVX2, "Unheard", NULL, NULL},
    {HRI_CPU_AVX512, "Nehalem", "SkylakeX", "SkylakeX"},
    {HRI_CPU_AVX512, "Haswell", "SkylakeX", "SkylakeX"},
    {HRI_CPU_AVX512, "SkylakeX", NULL, NULL},
    {HRI_CPU_AVX512, "Sapphirerapids", NULL, NULL},
    {HRI_CPU_AVX512_256, "Prescott", "Haswell", "SkylakeX"},
    {HRI_CPU_AVX512_256, "Zen", NULL, "SkylakeX"},
    {HRI_CPU_AVX512_256, "Haswell", NULL, "SkylakeX"},
    {HRI_CPU_AVX512_256, "SkylakeX", "Haswell", NULL},
    {HRI_CPU_AVX512_256, "Cooperlake", "Haswell", NULL},
    {HRI_CPU_AVX512_256, "Unheard", NULL, NULL},
};

static bool is_core(const char *wish, const char *wanted)
{
    return wanted == NULL ? wish == NULL
                          : wish != NULL && strcmp(wish, wanted) == 0;
}

static void core_types_suit_cpus(void)
{
    for (size_t i = 0; i < sizeof core_rows / sizeof core_rows[0]; i++) {
        const hri_cpu cpu = core_rows[i].cpu;
        const char *chosen = core_rows[i].chosen;
        TEST_CASE(chosen);
        for (int type = HR_F32; type <= HR_C64; type++) {
            CHECK(is_core(hri_openblas_better_core(cpu, (hr_type)type, chosen),
                          type == HR_F64 ? core_rows[i].real_double
                                         : core_rows[i].single));
        }
    }
}

int main(void)
{
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("HEADRACE_CBLAS");
    TEST(cases_in_children());
    TEST(core_types_suit_cpus());
    return test_end();
}
