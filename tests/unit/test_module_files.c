/* SPDX-License-Identifier: MIT */
/* Kernels on the accelerators of the backend argv[1], opencl or cuda, that an
 * earlier context or process has compiled: what is compiled and what is loaded
 * is counted, and results are right whatever lies in the files. Each case is a
 * process of its own, as drivers do not like to be forked. */
#include <unistd.h>

#include "kernels/kernels.h"
#include "support/fault_backend.h"
#include "support/files.h"
#include "test.h"
extern const hr_kernel transpose, box, broken;

enum { PROCESSES = 8, EDGE = 20 };

static const hri_backend *backend;
static char folder[64], modules[96], file[256];

typedef struct bed {
    hr_context *context;
    hr_queue *queue;
} bed;

/* A context on one accelerator; counts begin at zero. */
static bed open_counted(void)
{
    const hri_backend *list[] = {fault_backend_wrap(backend), NULL};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    char path[32];
    bed b = {0};
    snprintf(path, sizeof path, "%s:0", backend->name);
    options.accelerators = path;
    fault_backend_reset();
    CHECK(hri_context_create_from(list, &options, &b.context) == HR_OK);
    /* as if PoCL kept nothing */
    b.context->accelerators[0].device->info.caches = false;
    CHECK(hr_queue_create(b.context, 0, &b.queue) == HR_OK);
    return b;
}

static void close_counted(bed *b, uint64_t builds, uint64_t loads)
{
    hr_queue_destroy(b->queue);
    hr_context_destroy(b->context);
    if (!CHECK(fault_backend_count(FAULT_BUILD) == builds &&
               fault_backend_count(FAULT_LOAD) == loads)) {
        fprintf(stderr, "  %llu builds, %llu loads\n",
                (unsigned long long)fault_backend_count(FAULT_BUILD),
                (unsigned long long)fault_backend_count(FAULT_LOAD));
    }
    CHECK(fault_backend_breaches() == 0 && fault_backend_objects() == 0);
}

/* Launch the kernel, which transposes, and check every element. */
static void run_transpose(const bed *b, const hr_kernel *kernel)
{
    static int from[EDGE][EDGE], to[EDGE][EDGE];
    hr_array *in = NULL, *out = NULL;
    for (int i = 0; i < EDGE * EDGE; i++) {
        from[i / EDGE][i % EDGE] = i;
        to[i / EDGE][i % EDGE] = -1;
    }
    CHECK(hr_array_wrap(b->context, from, sizeof(int), hr_extent2(EDGE, EDGE),
                        0, &in) == HR_OK);
    CHECK(hr_array_wrap(b->context, to, sizeof(int), hr_extent2(EDGE, EDGE), 0,
                        &out) == HR_OK);
    const hr_argument arguments[] = {hr_in(hr_view_of(in)),
                                     hr_out(hr_view_of(out))};
    CHECK(hr_launch(b->queue, kernel, hr_extent2(EDGE, EDGE), NULL, arguments,
                    2) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(out)) == HR_OK);
    int ok = 1;
    for (int i = 0; i < EDGE * EDGE; i++) {
        ok = ok && to[i % EDGE][i / EDGE] == i;
    }
    CHECK(ok);
    hr_array_destroy(in);
    hr_array_destroy(out);
}

/* A context that runs the kernel, and how its module comes about. */
static void run_once(const hr_kernel *kernel, uint64_t builds, uint64_t loads)
{
    bed b = open_counted();
    run_transpose(&b, kernel);
    close_counted(&b, builds, loads);
}

/* The kernel with another source. */
static hr_kernel edited_kernel(char **text)
{
    hr_kernel kernel = transpose;
    size_t bytes = strlen(kernel.text) + 16;
    *text = malloc(bytes);
    CHECK(*text != NULL);
    snprintf(*text, bytes, "%s\n/* edited */\n", kernel.text);
    kernel.text = *text;
    return kernel;
}

/* ---- cases: each returns how many checks failed */

static int count_failures(void)
{
    return test_state.failures < 99 ? (int)test_state.failures : 99;
}

static int first_and_second(int number)
{
    (void)number;
    TEST_CASE("a source is compiled once, for all of its kernels");
    hri_module *module = NULL;
    bed b = open_counted();
    run_transpose(&b, &transpose);
    run_transpose(&b, &transpose);
    CHECK(hri_accelerator_module(&b.context->accelerators[0], &box, &module) ==
          HR_OK);
    close_counted(&b, 1, 1);
    CHECK(files_count(modules, NULL, 0) == 1);
    TEST_CASE("and not by a second context");
    run_once(&transpose, 0, 1);
    CHECK(files_count(modules, NULL, 0) == 1);
    return count_failures();
}

static int second_process(int number)
{
    (void)number;
    TEST_CASE("nor by another process");
    run_once(&transpose, 0, 1);
    return count_failures();
}

static int another_source(int number)
{
    char *text;
    (void)number;
    TEST_CASE("a source that differs in a comment has its own file");
    hr_kernel kernel = edited_kernel(&text);
    run_once(&kernel, 1, 0);
    CHECK(files_count(modules, NULL, 0) == 2);
    run_once(&kernel, 0, 1);
    run_once(&transpose, 0, 1);
    free(text);
    return count_failures();
}

static int does_not_compile(int number)
{
    int data[10];
    hr_array *array = NULL;
    (void)number;
    TEST_CASE("what does not compile says so each time, and is not kept");
    bed b = open_counted();
    CHECK(hr_array_wrap(b.context, data, sizeof(int), hr_extent1(10), 0,
                        &array) == HR_OK);
    const hr_argument arguments[] = {hr_out(hr_view_of(array))};
    for (int i = 0; i < 2; i++) {
        CHECK_FAILS(
            hr_launch(b.queue, &broken, hr_extent1(10), NULL, arguments, 1),
            HR_ERROR_BUILD, "broken.c");
        CHECK(strstr(hr_last_error(), "12") != NULL); /* the line */
    }
    hr_array_destroy(array);
    close_counted(&b, 2, 0);
    CHECK(files_count(modules, NULL, 0) == 0);
    return count_failures();
}

/* The file is as good as none: it is mended by one build. */
static void check_mended(const char *name, const void *bytes, size_t count)
{
    size_t mended = 0;
    TEST_CASE(name);
    CHECK(files_write(file, bytes, count));
    run_once(&transpose, 1, 0);
    run_once(&transpose, 0, 1);
    char *now = files_read(file, &mended);
    CHECK(mended != count || memcmp(now, bytes, count) != 0);
    free(now);
}

static int damaged_files(int number)
{
    enum { HEADER = 48 };
    size_t count = 0;
    (void)number;
    run_once(&transpose, 1, 0);
    CHECK(files_count(modules, file, sizeof file) == 1);
    char *bytes = files_read(file, &count);
    const size_t flips[] = {0, 8, 16, 24, 32, 40, HEADER, count - 1};
    check_mended("an empty file", "", 0);
    check_mended("a header alone", bytes, HEADER);
    check_mended("all but the last byte", bytes, count - 1);
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; i++) {
        bytes[flips[i]] = (char)(bytes[flips[i]] ^ 1);
        check_mended("another byte", bytes, count);
        bytes[flips[i]] = (char)(bytes[flips[i]] ^ 1);
    }
    CHECK(files_count(modules, NULL, 0) == 1);
    free(bytes);
    return count_failures();
}

static int refused_image(int number)
{
    char words[] = "no machine code of anybody's";
    const hri_image image = {.bytes = words, .count = sizeof words};
    hri_image kept = {0};
    (void)number;
    TEST_CASE("an image that the driver does not take is compiled anew");
    bed b = open_counted();
    const hri_device_info *info = &b.context->accelerators[0].device->info;
    const char *target = info->target;
    char *source = hri_kernel_source(
        &transpose, info->emulated ? HRI_SOURCE_EMULATED : HRI_SOURCE_DEVICE);
    hri_module_cache_keep(target, source, &image);
    run_transpose(&b, &transpose);
    CHECK(hri_module_cache_find(target, source, &kept));
    CHECK(kept.count != image.count);
    free(kept.bytes);
    close_counted(&b, 1, 1);
    run_once(&transpose, 0, 1);
    free(source);
    return count_failures();
}

static int without_folder(int number)
{
    static const char *const names[] = {"", "/dev/null/x", "/proc/x"};
    (void)number;
    TEST_CASE("without a folder everything is compiled");
    for (int i = 0; i < 3; i++) {
        CHECK(setenv("HEADRACE_CACHE", names[i], 1) == 0);
        run_once(&transpose, 1, 0);
        run_once(&transpose, 1, 0);
    }
    return count_failures();
}

static int some_of_many(int number)
{
    (void)number;
    TEST_CASE("several processes at once");
    bed b = open_counted();
    run_transpose(&b, &transpose);
    uint64_t builds = fault_backend_count(FAULT_BUILD);
    CHECK(builds <= 1);
    close_counted(&b, builds, 1 - builds);
    return count_failures();
}

static int another_driver(int number)
{
    (void)number;
    TEST_CASE("for another driver it is compiled anew");
    run_once(&transpose, 1, 0);
    CHECK(files_count(modules, NULL, 0) == 2);
    run_once(&transpose, 0, 1);
    return count_failures();
}

static int without_compiler(int number)
{
    char *text;
    (void)number;
    TEST_CASE("what is kept needs no compiler, and the rest says so");
    run_once(&transpose, 0, 1);
    hr_kernel kernel = edited_kernel(&text);
    hri_module *module = NULL;
    bed b = open_counted();
    CHECK_FAILS(
        hri_accelerator_module(&b.context->accelerators[0], &kernel, &module),
        HR_ERROR_UNAVAILABLE, "HEADRACE_NVRTC is off");
    close_counted(&b, 1, 0);
    free(text);
    return count_failures();
}

/* The case in processes of its own, with what is there already or nothing. */
static void run_case(int processes, int (*function)(int number), bool empty)
{
    if (empty) {
        files_remove_folder(folder);
        files_make_folder(folder, sizeof folder);
        snprintf(modules, sizeof modules, "%s/modules", folder);
        setenv("HEADRACE_CACHE", folder, 1);
    }
    CHECK(files_in_children(processes, function) == 0);
}

/* 77 when there is no such device, or its driver gives no machine code. */
static int is_here(int number)
{
    uint32_t count = 0;
    hri_device_info info;
    (void)number;
    return backend->probe(&count) == HR_OK && count > 0 &&
                   backend->describe(0, &info) == HR_OK && info.target[0] != 0
               ? 0
               : 77;
}

static void from_process_to_process(bool cuda)
{
    run_case(1, first_and_second, true);
    run_case(1, second_process, false);
    run_case(1, another_source, false);
    run_case(1, does_not_compile, true);
    run_case(1, damaged_files, true);
    run_case(1, refused_image, true);
    run_case(1, without_folder, true);
    run_case(PROCESSES, some_of_many, true);
    CHECK(files_count(modules, NULL, 0) == 1);
    run_case(1, second_process, false);
    if (cuda && getenv("HEADRACE_CUDA") != NULL) { /* the fake one */
        const char *nvrtc = getenv("HEADRACE_NVRTC");
        setenv("FAKE_CUDA_VERSION", "12040", 1);
        run_case(1, another_driver, false);
        unsetenv("FAKE_CUDA_VERSION");
        CHECK(nvrtc != NULL && setenv("HEADRACE_NVRTC", "off", 1) == 0);
        run_case(1, without_compiler, false);
    }
}

int main(int count, char **arguments)
{
    bool cuda = count > 1 && strcmp(arguments[1], "cuda") == 0;
    backend = cuda ? &hri_backend_cuda : &hri_backend_opencl;
    if (files_in_children(1, is_here) == 77) {
        return test_skip("no device that gives machine code");
    }
    files_make_folder(folder, sizeof folder);
    TEST(from_process_to_process(cuda));
    files_remove_folder(folder);
    return test_end();
}
