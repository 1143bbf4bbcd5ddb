/* SPDX-License-Identifier: MIT */
/* A context of two hosts that copy ordinary memory slowly, as GPUs do. */
#ifndef STAGED_MACHINE_H
#define STAGED_MACHINE_H

#include <stdlib.h>

#include <headrace/headrace.h>

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/random.h"
#include "support/told.h"
#include "test.h"

enum { ACCELERATORS = 2, MIB = 1 << 20 };

typedef struct machine {
    hr_context *context;
    hr_queue *queues[ACCELERATORS];
} machine;

static inline machine open_machine(void)
{
    static const hri_backend *list[2];
    machine m = {0};
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = "2xhost";
    options.memory_limit = 256 << 20;
    options.threads = 4 * ACCELERATORS; /* two copy in each direction */
    list[0] = fault_backend_wrap(&hri_backend_host);
    fault_backend_reset();
    fault_backend_pretend_staged(true);
    CHECK(hri_context_create_from(list, &options, &m.context) == HR_OK);
    told_patience(m.context);
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        CHECK(hr_queue_create(m.context, i, &m.queues[i]) == HR_OK);
    }
    return m;
}

static inline void close_machine(machine *m)
{
    for (uint32_t i = 0; i < ACCELERATORS; i++) {
        hr_queue_destroy(m->queues[i]);
    }
    fault_backend_close(m->context);
}

/* Random bytes. The caller frees them. */
static inline void *numbers(size_t bytes, uint64_t seed)
{
    random_source random = {seed};
    unsigned char *memory = malloc(bytes);
    for (size_t i = 0; memory != NULL && i < bytes; i++) {
        memory[i] = (unsigned char)random_next(&random);
    }
    CHECK(memory != NULL);
    return memory;
}

#endif
