/* SPDX-License-Identifier: MIT */
/* Contexts of fake devices, and what they measure; also when an allocation of
 * ours fails. Linked so that the library's calls of calloc and its like arrive
 * here (tests/CMakeLists.txt). */
#include <stdatomic.h>

#include "faults/groups.h"
#include "support/fake.h"
#include "support/faults.h"

static _Atomic long live; /* allocations not freed */

/* What the linker's --wrap calls these functions. */
void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t bytes) __asm__("__real_calloc");
void *real_realloc(void *old, size_t bytes) __asm__("__real_realloc");
void real_free(void *memory) __asm__("__real_free");
void *wrap_malloc(size_t bytes) __asm__("__wrap_malloc");
void *wrap_calloc(size_t count, size_t bytes) __asm__("__wrap_calloc");
void *wrap_realloc(void *old, size_t bytes) __asm__("__wrap_realloc");
void wrap_free(void *memory) __asm__("__wrap_free");

static bool is_refused(void)
{
    return faults_way() == FAULT_MEMORY && fault_backend_refuses();
}

void *wrap_malloc(size_t bytes)
{
    void *memory = is_refused() ? NULL : real_malloc(bytes);
    live += memory != NULL;
    return memory;
}

void *wrap_calloc(size_t count, size_t bytes)
{
    void *memory = is_refused() ? NULL : real_calloc(count, bytes);
    live += memory != NULL;
    return memory;
}

void *wrap_realloc(void *old, size_t bytes)
{
    void *memory = is_refused() ? NULL : real_realloc(old, bytes);
    live += memory != NULL && old == NULL;
    return memory;
}

void wrap_free(void *memory)
{
    live -= memory != NULL;
    real_free(memory);
}

/* Use a context's memory as an engine would. */
static hr_status use_memory(hr_context *context)
{
    hri_buffer *buffers[3] = {NULL};
    void *pinned = NULL;
    hr_status status = HR_OK;
    hri_accelerator *a = &context->accelerators[0];
    for (uint32_t i = 0; i < 3; i++) {
        status = hri_accelerator_allocate(a, 1000 + i, &buffers[i]);
        CHECK((status == HR_OK) == (buffers[i] != NULL));
        if (status != HR_OK) {
            goto done;
        }
    }
    status = hri_accelerator_allocate_pinned(a, 1000, &pinned);
    CHECK((status == HR_OK) == (pinned != NULL));
done:
    for (uint32_t i = 0; i < 3; i++) {
        hri_accelerator_release(a, buffers[i]);
    }
    hri_accelerator_release_pinned(a, pinned);
    return status;
}

static hr_status measure_rates(hr_context *context, uint32_t index)
{
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    HRI_TRY(hr_accelerator_measure(context, index, &rates));
    CHECK(rates.f32 > 0.0);
    return HR_OK;
}

/* The last one works in place, if all are there. */
static hr_status use_accelerators(hr_context *context)
{
    HRI_TRY(use_memory(context));
    HRI_TRY(measure_rates(context, 0));
    return measure_rates(context, hr_accelerator_count(context) - 1);
}

/* The context is usable after a failure. */
static hr_status use_context(hr_context *context, const void *unused)
{
    (void)unused;
    CHECK(hr_accelerator_count(context) > 0);
    const hr_status status = use_accelerators(context);
    if (status != HR_OK) {
        (void)faults_over();
        CHECK(use_memory(context) == HR_OK);
    }
    return status;
}

static const hri_backend *const *fakes(void)
{
    static const hri_backend *list[FAKE_BACKENDS + 1];
    for (int i = 0; i < FAKE_BACKENDS; i++) {
        list[i] = fault_backend_wrap(&fake_backends[i]);
    }
    return list;
}

/* Small jobs suffice. */
static void slow_fakes(const void *unused)
{
    (void)unused;
    CHECK(live == 0); /* nothing is left of the last context */
    fake_reset();
    for (int i = 0; i < FAKE_BACKENDS; i++) {
        fake.backends[i].devices[0].flops = 1e9;
        fake.backends[i].devices[0].link = 1e7;
    }
}

void faults_context(void)
{
    static const char *const lists[] = {NULL, "2xcuda:0,host"};
    unsetenv("HEADRACE_ACCELERATORS");
    unsetenv("HEADRACE_MEMORY_LIMIT");
    live = 0;
    for (int i = 0; i < 2; i++) {
        const fault_case memory = {"context",
                                   use_context,
                                   NULL,
                                   lists[i],
                                   250000,
                                   .ways = FAULTS_CALL | FAULTS_MEMORY,
                                   .status = HR_ERROR_OUT_OF_MEMORY,
                                   .pretend = slow_fakes,
                                   .backends = fakes};
        fault_case lost = memory;
        lost.name = "context_lost";
        lost.ways = FAULTS_CALL;
        lost.status = HR_ERROR_LOST;
        faults_each(&memory, 1);
        faults_each(&lost, 1);
    }
    CHECK(live == 0);
}
