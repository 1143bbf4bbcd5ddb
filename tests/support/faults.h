/* SPDX-License-Identifier: MIT */
/* The same work again and again, while one call of an accelerator after another
 * fails.
 *
 *     static hr_status work(hr_context *context, const void *with);
 *     ...
 *     static const fault_case cases[] = {
 *         {"scan", work, .accelerators = "3xhost", .limit = 1 << 20},
 *     };
 *     FAULTS_EACH(cases);
 *
 * Work makes what it needs in the context, does something, checks all that was
 * reported as right, leaves nothing behind, and returns the first status that
 * is not HR_OK. The runner checks that this is the injected one, with a
 * message, that nothing is left, that the limits of memory held, and that the
 * same work then goes well in the same context.
 *
 * Of the calls that come from one place (fault_backend_path) the first and the
 * last fail: measured by the branches of src that are taken, one in the middle,
 * or the same for each device, finds nothing more. faults_exhaustive makes all
 * of them fail. */
#ifndef FAULTS_H
#define FAULTS_H

#include "base/status.h"
#include "runtime/runtime.h"
#include "support/fault_backend.h"
#include "support/told.h"
#include "test.h"

enum {
    FAULTS_CALL = 1 << FAULT_CALL,
    FAULTS_OPERATION = 1 << FAULT_OPERATION,
    FAULTS_LOSS = 1 << FAULT_LOSS,
    FAULTS_CANCEL = 1 << FAULT_HOOK,
    FAULTS_MEMORY = 1 << FAULT_MEMORY,
    FAULTS_USUAL = FAULTS_CALL | FAULTS_OPERATION | FAULTS_LOSS
};

typedef struct fault_case {
    const char *name; /* TEST in the environment takes it */
    hr_status (*work)(hr_context *context, const void *with);
    const void *with;
    const char *accelerators;
    uint64_t limit; /* of each accelerator's memory; 0: none */
    uint32_t threads;
    int ways;         /* FAULTS_...; 0: FAULTS_USUAL */
    hr_status status; /* of calls that fail; 0: HR_ERROR_BACKEND */
    uint32_t beside;  /* so many operations, spread over all, fail later, each
                    beside  each call that fails */
    void (*pretend)(const void *with); /* before there is a context */
    void (*prepare)(hr_context *context, const void *with); /* its figures */
    const hri_backend *const *(*backends)(void); /* NULL: hosts, wrapped */
} fault_case;

/* Whether all calls fail in turn. */
extern bool faults_exhaustive;

#define FAULTS_EACH(cases) faults_each(cases, sizeof(cases) / sizeof(cases)[0])
void faults_each(const fault_case *cases, size_t count);

/* The context of a case. Overheads and the bandwidth of memory are told, since
 * measuring them takes thousands of calls, or copies. */
hr_status faults_open(const fault_case *c, hr_context **context);

/* Nothing is left of a context, nor was the contract broken. */
void faults_closed(void);

/* For work: from here on nothing fails. false: the devices are lost. */
bool faults_over(void);
fault_way faults_way(void);

/* For work that can be cancelled: the progress function that cancels it at the
 * call in question; NULL in other ways. */
hr_progress_function faults_progress(void);

/* For work: bring arrays home, each of so many bytes. What could be brought is
 * as wanted. Returns the first error. */
hr_status faults_synchronize(hr_array *const *arrays, int count,
                             const void *data, const void *want, size_t bytes);

/* A split of three unequal parts, whatever is measured. */
hr_split_options faults_shares(void);

#endif
