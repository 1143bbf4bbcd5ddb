/* SPDX-License-Identifier: MIT */
/* The same work with one fault after another, until a fault comes after its
 * end:
 *
 *   faults f = {.how = CALL};
 *   TEST_CASE("a call fails");
 *   while (faults_next(&f)) {
 *       status = create_and_work();
 *       faults_note(&f, status != HR_OK);
 *       destroy();
 *   }
 *   faults_end(&f);
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/told.h"
#include "test.h"

/* A context of three hosts that may fail. Their overheads are known, since
 * measuring them takes thousands of calls. */
static inline hr_status faults_context(hr_context **context)
{
    static const hri_backend *list[2];
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    list[0] = fault_backend_wrap(&hri_backend_host);
    options.accelerators = "3xhost";
    options.memory_limit = 1 << 20;
    const hr_status status = hri_context_create_from(list, &options, context);
    if (status == HR_OK) {
        told_overheads(*context);
    }
    return status;
}

typedef enum fault_way {
    CALL,      /* a call to an accelerator fails */
    OPERATION, /* what was enqueued fails later */
    LOSE       /* from a call on, the devices are lost */
} fault_way;

typedef struct faults {
    fault_way how;
    uint64_t stride; /* takes each stride-th fault; 0: each */
    uint64_t number; /* of the present fault */
    bool reached;    /* it came before the work had ended */
    int failed;      /* so often the work failed */
} faults;

static inline void faults_inject(fault_way how, uint64_t number)
{
    if (how == CALL) {
        fault_backend_fail_call(number, HR_ERROR_BACKEND);
    } else if (how == OPERATION) {
        fault_backend_fail_operation(number, HR_ERROR_BACKEND);
    } else {
        fault_backend_lose(number);
    }
}

/* The next fault. false: there are no more, or a check has failed. All that the
 * work created has been destroyed. */
static inline bool faults_next(faults *f)
{
    const uint64_t stride = (f->stride > 0 ? f->stride : 1) * FAULT_STEP;
    const bool begun = f->number > 0;
    if (begun) {
        CHECK(fault_backend_objects() == 0 && fault_backend_breaches() == 0);
    }
    if (begun && test_state.failures > 0) {
        printf("number %llu\n", (unsigned long long)f->number);
    }
    if ((begun && !f->reached) || test_state.failures > 0) {
        return false;
    }
    f->number = begun ? f->number + stride : 1;
    fault_backend_reset();
    faults_inject(f->how, f->number);
    return true;
}

/* The work has ended, or some of it has failed with a message. */
static inline void faults_note(faults *f, bool failed)
{
    const uint64_t count = f->how == OPERATION ? fault_backend_operations()
                                               : fault_backend_calls();
    CHECK(!failed || hr_last_error()[0] != '\0');
    f->reached = count >= f->number;
    f->failed += failed;
}

/* From here on nothing fails. false: the devices are lost. */
static inline bool faults_stop(const faults *f)
{
    if (f->how != LOSE) {
        faults_inject(f->how, 0);
    }
    return f->how != LOSE;
}

static inline void faults_end(const faults *f)
{
    test_note("%d failed\n", f->failed);
    CHECK(f->failed > 0);
}

/* The work in a context of its own with each fault, and once more without:
 * nothing of a fault stays. */
static inline void faults_each(fault_way how,
                               hr_status (*work)(hr_context *context),
                               const char *name)
{
    faults f = {.how = how};
    TEST_CASE(name);
    while (faults_next(&f)) {
        hr_context *context = NULL;
        hr_status status = faults_context(&context);
        const bool created = status == HR_OK;
        status = created ? work(context) : status;
        faults_note(&f, status != HR_OK);
        if (created && faults_stop(&f)) {
            CHECK(work(context) == HR_OK);
        }
        hr_context_destroy(context);
    }
    faults_end(&f);
}

#endif
