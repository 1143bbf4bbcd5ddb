/* SPDX-License-Identifier: MIT */
/* Every call to a backend and every allocation of ours fails once: the result
 * is right or the status is clean, and nothing leaks. Linked so that the
 * library's calls of calloc and its like arrive here (tests/CMakeLists.txt). */
#include "test.h"

#include <stdatomic.h>

#include "runtime/runtime.h"
#include "support/fake.h"

static struct {
    _Atomic long live;   /* allocations not freed */
    _Atomic long made;   /* allocations asked for */
    _Atomic long refuse; /* this one of them (from 1); 0: none */
} heap;

/* What the linker's --wrap calls these functions. */
void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t bytes) __asm__("__real_calloc");
void *real_realloc(void *old, size_t bytes) __asm__("__real_realloc");
void real_free(void *memory) __asm__("__real_free");
void *wrap_malloc(size_t bytes) __asm__("__wrap_malloc");
void *wrap_calloc(size_t count, size_t bytes) __asm__("__wrap_calloc");
void *wrap_realloc(void *old, size_t bytes) __asm__("__wrap_realloc");
void wrap_free(void *memory) __asm__("__wrap_free");

static bool refused(void)
{
    long made = atomic_fetch_add(&heap.made, 1) + 1;
    return made == atomic_load(&heap.refuse);
}

void *wrap_malloc(size_t bytes)
{
    void *memory = refused() ? NULL : real_malloc(bytes);
    heap.live += memory != NULL;
    return memory;
}

void *wrap_calloc(size_t count, size_t bytes)
{
    void *memory = refused() ? NULL : real_calloc(count, bytes);
    heap.live += memory != NULL;
    return memory;
}

void *wrap_realloc(void *old, size_t bytes)
{
    void *memory = refused() ? NULL : real_realloc(old, bytes);
    heap.live += memory != NULL && old == NULL;
    return memory;
}

void wrap_free(void *memory)
{
    heap.live -= memory != NULL;
    real_free(memory);
}

/* Use a context's memory as an engine would. */
static hr_status use(hr_context *context)
{
    hri_buffer *buffers[3] = {NULL};
    void *pinned = NULL;
    hr_status status = HR_OK;
    hri_accelerator *a = &context->accelerators[0];
    for (uint32_t i = 0; i < 3 && status == HR_OK; i++) {
        status = hri_accelerator_allocate(a, 1000 + i, &buffers[i]);
        CHECK((status == HR_OK) == (buffers[i] != NULL));
    }
    if (status == HR_OK) {
        status = hri_accelerator_allocate_pinned(a, 1000, &pinned);
        CHECK((status == HR_OK) == (pinned != NULL));
    }
    for (uint32_t i = 0; i < 3; i++) {
        hri_accelerator_release(a, buffers[i]);
    }
    hri_accelerator_release_pinned(a, pinned);
    return status;
}

static hr_status measure(hr_context *context, uint32_t index)
{
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    hr_status status = hr_accelerator_measure(context, index, &rates);
    CHECK(status != HR_OK || rates.f32 > 0.0);
    return status;
}

static hr_status run(const char *accelerators)
{
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    options.memory_limit = 250000;
    hr_status status = hri_context_create_from(fake_list, &options, &context);
    CHECK((status == HR_OK) == (context != NULL));
    if (context != NULL) {
        CHECK(hr_accelerator_count(context) > 0);
        status = use(context);
    }
    if (status == HR_OK) { /* the last one works in place, if all are there */
        status = measure(context, 0);
    }
    if (status == HR_OK) {
        status = measure(context, hr_accelerator_count(context) - 1);
    }
    if (context != NULL && status != HR_OK) {
        CHECK(use(context) == HR_OK); /* usable after a failure */
    }
    hr_context_destroy(context);
    CHECK(fake.live == 0 && heap.live == 0);
    return status;
}

/* Let the nth fail, for every n there is. Returns how many there were. */
static long fail_each(const char *accelerators, hr_status status, bool memory)
{
    for (long n = 1;; n++) {
        fake_reset();
        for (int i = 0; i < FAKE_BACKENDS; i++) { /* small jobs suffice */
            fake.backends[i].devices[0].flops = 1e9;
            fake.backends[i].devices[0].link = 1e7;
        }
        heap.made = 0;
        heap.refuse = memory ? n : 0;
        fake.fail_call = memory ? 0 : n;
        fake.fail_with = status;
        hr_status result = run(accelerators);
        if ((memory ? heap.made : fake.calls) < n) {
            CHECK(result == HR_OK);
            printf("%s: %ld fail in turn\n", test_state.name, n - 1);
            return n - 1;
        }
        if (result != HR_OK) {
            CHECK(hr_last_error()[0] != '\0');
            CHECK(result == status || result == HR_ERROR_UNAVAILABLE);
        }
    }
}

static void every_call(const char *list, hr_status status)
{
    TEST_CASE(status == HR_ERROR_LOST ? "every call of the backends, lost"
                                      : "every call, out of memory");
    CHECK(fail_each(list, status, false) > 100);
}

static void every_allocation(const char *list)
{
    TEST_CASE("every allocation");
    CHECK(fail_each(list, HR_ERROR_OUT_OF_MEMORY, true) > 20);
}

int main(void)
{
    unsetenv("HEADRACE_ACCELERATORS");
    unsetenv("HEADRACE_MEMORY_LIMIT");
    static const char *const lists[] = {NULL, "2xcuda:0,host"};
    for (int i = 0; i < 2; i++) {
        TEST(every_call(lists[i], HR_ERROR_OUT_OF_MEMORY));
        TEST(every_call(lists[i], HR_ERROR_LOST));
        TEST(every_allocation(lists[i]));
    }
    return test_end();
}
