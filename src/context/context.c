/* SPDX-License-Identifier: MIT */
/* Contexts: their options, their life, the default one, and descriptions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/trace.h>

#include "arrays/array.h"
#include "arrays/profile.h"
#include "base/arithmetic.h"
#include "base/cpus.h"
#include "base/environment.h"
#include "base/size.h"
#include "base/structs.h"
#include "checker/check.h"
#include "context/machine.h"
#include "flow/flow.h"
#include "kernels/kernels.h"
#include "model/model.h"
#include "trace/trace.h"

static const hri_struct options_struct = HRI_STRUCT(
    hr_context_options, "context options", "HR_CONTEXT_OPTIONS_INIT", log);
static const hri_struct info_struct = HRI_STRUCT(
    hr_accelerator_info, "accelerator info", "HR_ACCELERATOR_INFO_INIT", name);

/* The value of a variable. NULL also when it is empty: scripts unset variables
 * in this way. */
static const char *variable(const char *name)
{
    const char *value = hri_environment(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Take the number of threads from the options, else from the environment or the
 * machine. */
static hr_status read_threads(hr_context_options *options)
{
    if (options->threads > HRI_MAX_THREADS) {
        return hri_fail(HR_ERROR_INVALID,
                        "context options: %u threads are not 1 to %d",
                        options->threads, HRI_MAX_THREADS);
    }
    if (options->threads == 0) {
        HRI_TRY(hri_thread_count_check());
        options->threads = hri_thread_count();
    }
    return HR_OK;
}

/* Take the list and the limit from the options, else from the environment. */
static hr_status read_environment(hr_context_options *options,
                                  const char **source)
{
    *source = "accelerators";
    if (options->accelerators == NULL) {
        options->accelerators = variable("HEADRACE_ACCELERATORS");
        *source = "HEADRACE_ACCELERATORS";
    }
    const char *limit = variable("HEADRACE_MEMORY_LIMIT");
    if (options->memory_limit == 0 && limit != NULL &&
        !hri_parse_bytes(limit, &options->memory_limit)) {
        return hri_fail(
            HR_ERROR_INVALID,
            "HEADRACE_MEMORY_LIMIT is \"%.64s\", not a size from 1 to below "
            "2^63 bytes, such as 512MiB (B, KiB to TiB, kB to TB)",
            limit);
    }
    return read_threads(options);
}

/* Read whether kernels are checked (HEADRACE_CHECK). */
static hr_status read_check(bool *check)
{
    const char *value = variable("HEADRACE_CHECK");
    *check = value != NULL && strcmp(value, "1") == 0;
    if (value != NULL && !*check && strcmp(value, "0") != 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "HEADRACE_CHECK is \"%.64s\", not 1 or 0", value);
    }
    return HR_OK;
}

/* Read how products are formed that leave it open (HEADRACE_COMPUTE). */
static hr_status read_compute(bool *precise)
{
    const char *value = variable("HEADRACE_COMPUTE");
    *precise = value != NULL && strcmp(value, "precise") == 0;
    if (value != NULL && !*precise && strcmp(value, "native") != 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "HEADRACE_COMPUTE is \"%.64s\", not native or precise",
                        value);
    }
    return HR_OK;
}

static void describe_device(const hri_device_info *device,
                            hr_accelerator_info *info)
{
    info->size = sizeof *info;
    snprintf(info->path, sizeof info->path, "%s", device->path);
    snprintf(info->name, sizeof info->name, "%s", device->name);
    snprintf(info->arithmetic, sizeof info->arithmetic, "%s",
             device->arithmetic);
    snprintf(info->compiler, sizeof info->compiler, "%s", device->compiler);
    info->memory_bytes = device->memory_bytes;
    info->compute_units = device->compute_units;
    info->emulated = device->emulated;
    info->in_place = device->host;
}

static void describe_accelerator(const hri_accelerator *accelerator,
                                 hr_accelerator_info *info)
{
    describe_device(&accelerator->device->info, info);
    snprintf(info->path, sizeof info->path, "%s", accelerator->path);
    info->memory_limit = accelerator->memory_limit;
    info->in_place = accelerator->in_place;
    info->chosen = true;
}

/* Describe a device: its entry adds up what the context uses of it. */
static void describe_found(const hr_context *context, const hri_found *found,
                           hr_accelerator_info *info)
{
    describe_device(&found->info, info);
    info->chosen = found->chosen;
    if (!found->chosen) {
        snprintf(info->reason, sizeof info->reason, "%s", found->reason);
        return;
    }
    info->in_place = false;
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *accelerator = &context->accelerators[i];
        if (strcmp(accelerator->device->info.path, found->info.path) == 0) {
            info->memory_limit += accelerator->memory_limit;
            info->in_place = info->in_place || accelerator->in_place;
        }
    }
}

static hr_status describe_machine(hr_context *context,
                                  const hri_machine *machine)
{
    context->machine = calloc(machine->count, sizeof *context->machine);
    if (context->machine == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "context: out of memory for %u accelerator%s",
                        machine->count, hri_plural(machine->count));
    }
    context->machine_count = machine->count;
    for (uint32_t i = 0; i < machine->count; i++) {
        describe_found(context, &machine->entries[i], &context->machine[i]);
    }
    return HR_OK;
}

static void log_accelerators(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *accelerator = &context->accelerators[i];
        const hri_device_info *info = &accelerator->device->info;
        hri_log(context, "accelerator %u: %s, %s, %s, limit %llu bytes", i,
                accelerator->path, info->name, info->arithmetic,
                (unsigned long long)accelerator->memory_limit);
    }
}

/* Choose from what was found, and open it. */
static hr_status open_chosen(hr_context *context, hri_machine *machine,
                             const hr_context_options *options,
                             const char *source, bool remember)
{
    hri_choices choices = {0};
    HRI_TRY(hri_list_choose(options->accelerators, source, machine, &choices));
    hr_status status = hri_pool_hold(options->threads, &context->pool);
    if (status == HR_OK) {
        status = hri_accelerators_open(context, machine, &choices,
                                       options->memory_limit, remember);
    }
    hri_choices_free(&choices);
    return status;
}

static hr_status fill_context(hr_context *context, hri_machine *machine,
                              const hr_context_options *options,
                              const char *source, bool remember)
{
    bool check;
    const char *trace = variable("HEADRACE_TRACE");
    HRI_TRY(hri_model_create(context));
    HRI_TRY(read_check(&check));
    HRI_TRY(read_compute(&context->precise));
    if (check) {
        HRI_TRY(hri_checker_open(context));
    }
    HRI_TRY(open_chosen(context, machine, options, source, remember));
    HRI_TRY(describe_machine(context, machine));
    return trace != NULL ? hr_context_trace(context, trace) : HR_OK;
}

static hr_status make_context(hri_machine *machine,
                              const hr_context_options *options,
                              const char *source, bool remember,
                              hr_context **out)
{
    hr_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "context: out of memory");
    }
    pthread_mutex_init(&context->lock, NULL);
    pthread_mutex_init(&context->log_lock, NULL);
    context->log = options->log;
    context->log_data = options->log_data;
    context->may_be_empty = options->may_be_empty;
    context->reproducible = options->reproducible;
    context->patience = 0.1;
    const hr_status status =
        fill_context(context, machine, options, source, remember);
    if (status != HR_OK) {
        hr_context_destroy(context);
        return status;
    }
    log_accelerators(context);
    *out = context;
    return HR_OK;
}

/* Find the machine, and make a context of what the options choose of it. */
static hr_status find_and_make(const hri_backend *const *backends,
                               const hr_context_options *options,
                               const char *source, bool remember,
                               hr_context **context)
{
    hri_machine machine = {0};
    hr_status status =
        hri_machine_find(backends, options->accelerators, &machine);
    if (status == HR_OK) {
        status = make_context(&machine, options, source, remember, context);
    }
    hri_machine_free(&machine);
    return status;
}

static hr_status create_context(const hri_backend *const *backends,
                                const hr_context_options *options,
                                bool remember, hr_context **context)
{
    hr_context_options read = HR_CONTEXT_OPTIONS_INIT;
    const char *source = NULL;
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID, "context: the result is NULL");
    }
    HRI_TRY(hri_struct_read(&options_struct, options, &read));
    HRI_TRY(read_environment(&read, &source));
    hr_status status =
        find_and_make(backends, &read, source, remember, context);
    if (status == HR_ERROR_LOST) { /* while it was opened: now it is known, and
                                      left out */
        status = find_and_make(backends, &read, source, remember, context);
    }
    return status;
}

hr_status hri_context_create_from(const hri_backend *const *backends,
                                  const hr_context_options *options,
                                  hr_context **context)
{
    return create_context(backends, options, false, context);
}

hr_status hr_context_create(const hr_context_options *options,
                            hr_context **context)
{
    HRI_USUAL_ARITHMETIC;
    return create_context(hri_backends, options, true, context);
}

/* Contexts that could not be destroyed, so that tools see who has them. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static hr_context *kept;

/* Whether all accelerators have let go of products. One that does not answer
 * keeps the whole context: its driver may still use any of it. */
static bool can_destroy(hr_context *context)
{
    if (hri_runs_await(context, HRI_RUNS_PATIENCE * context->patience)) {
        return true;
    }
    pthread_mutex_lock(&kept_lock);
    context->next = kept;
    kept = context;
    pthread_mutex_unlock(&kept_lock);
    return false;
}

void hr_context_destroy(hr_context *context)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || context->is_default || !can_destroy(context)) {
        return;
    }
    hri_states_destroy(context, 0, HRI_STATE_CHECKER);
    hri_queues_close(context);
    hri_areas_free(context);
    hri_predictions_keep(context);
    hri_profiles_destroy(context);
    hri_accelerators_close(context);
    hri_states_destroy(context, HRI_STATE_CHECKER, HRI_STATES);
    if (hri_trace_drop(context->trace) != HR_OK) {
        hri_log(context, "%s", hr_last_error());
    }
    hri_model_destroy(context);
    hri_kernels_forget(context);
    hri_texts_free(context);
    hri_pool_drop(context->pool);
    free(context->machine);
    pthread_mutex_destroy(&context->log_lock);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

/* ---- the context of programs that make none */

static struct {
    pthread_mutex_t lock;  /* guards what follows */
    hr_context *context;   /* NULL: none yet */
    hr_context *of_parent; /* before a fork; its threads are not here */
} standard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Contexts do not survive a fork. The thread that held the lock may be
 * missing. */
static void forget_in_child(void)
{
    pthread_mutex_init(&standard.lock, NULL);
    if (standard.context != NULL) {
        standard.of_parent = standard.context;
        standard.context = NULL;
    }
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_in_child);
}

/* The lock is held. */
static hr_status make_standard(void)
{
    if (standard.context == NULL) {
        HRI_TRY(hr_context_create(NULL, &standard.context));
        standard.context->is_default = true;
    }
    return HR_OK;
}

hr_status hr_context_default(hr_context **context)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "default context: the result is NULL");
    }
    pthread_mutex_lock(&standard.lock);
    const hr_status status = make_standard();
    if (status == HR_OK) {
        *context = standard.context;
    }
    pthread_mutex_unlock(&standard.lock);
    return status;
}

/* ---- what a context has */

uint32_t hr_thread_count(const hr_context *context)
{
    return context != NULL ? hri_pool_threads(context->pool)
                           : hri_thread_count();
}

/* Check the arguments of a function that describes. */
static hr_status check_describe(const hr_context *context, uint32_t index,
                                uint32_t count, const hr_accelerator_info *info)
{
    if (context == NULL || info == NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "describing an accelerator: %s is NULL",
                        context == NULL ? "context" : "info");
    }
    HRI_TRY(hri_struct_check(&info_struct, info));
    if (index >= count) {
        return hri_fail(HR_ERROR_INVALID,
                        "describing an accelerator: index %u is not below %u",
                        index, count);
    }
    return HR_OK;
}

uint32_t hr_accelerator_count(const hr_context *context)
{
    return context != NULL ? context->accelerator_count : 0;
}

hr_status hr_accelerator_describe(const hr_context *context, uint32_t index,
                                  hr_accelerator_info *info)
{
    hr_accelerator_info known = {0};
    HRI_TRY(
        check_describe(context, index, hr_accelerator_count(context), info));
    describe_accelerator(&context->accelerators[index], &known);
    hri_struct_write(&info_struct, &known, info);
    return HR_OK;
}

uint32_t hr_machine_count(const hr_context *context)
{
    return context != NULL ? context->machine_count : 0;
}

hr_status hr_machine_describe(const hr_context *context, uint32_t index,
                              hr_accelerator_info *info)
{
    HRI_TRY(check_describe(context, index, hr_machine_count(context), info));
    hri_struct_write(&info_struct, &context->machine[index], info);
    return HR_OK;
}
