/* SPDX-License-Identifier: MIT */
/* Launches over several accelerators: one launch for each band. */
#include <stdlib.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/size.h"
#include "base/structs.h"
#include "split/split.h"

hr_argument hr_near(hr_argument argument, int64_t before, int64_t after)
{
    argument.before = before;
    argument.after = after;
    return argument;
}

hr_argument hr_whole(hr_argument argument)
{
    argument.whole = true;
    return argument;
}

/* ---- rules */

static const hri_struct options_struct = HRI_STRUCT(
    hr_split_options, "split options", "HR_SPLIT_OPTIONS_INIT", weights);
static const hri_struct report_struct = HRI_STRUCT(
    hr_split_report, "split report", "HR_SPLIT_REPORT_INIT", seconds);

/* Read the caller's options, which may be NULL, and the report and the list of
 * accelerators in them. */
static hr_status read_options(hri_splitting *s, const hr_split_options *options)
{
    s->options = (hr_split_options)HR_SPLIT_OPTIONS_INIT;
    hr_status status = hri_struct_read(&options_struct, options, &s->options);
    if (status == HR_OK) {
        status = hri_struct_read(&report_struct, s->options.report, &s->report);
    }
    if (status == HR_OK) {
        status = hri_indices_read(
            s->context, s->kernel->name, s->options.accelerators,
            s->options.accelerator_count, &s->accelerators);
    }
    return status;
}

/* Check that an argument can be given in bands. */
static hr_status check_argument(const hri_splitting *s, uint32_t i)
{
    const hr_argument *a = &s->arguments[i];
    const char *name = s->parameters[i].name;
    const bool alone = !a->whole && a->before == 0 && a->after == 0;
    if (a->before < 0 || a->after < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s near %lld rows before and %lld after, not 0 or "
                        "more",
                        s->kernel->name, name, (long long)a->before,
                        (long long)a->after);
    }
    if (a->access != HR_IN && !alone) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: %s is written, so each accelerator takes its own rows, not %s",
            s->kernel->name, name, a->whole ? "all rows" : "rows near them");
    }
    if (!a->whole && a->view.extent.size[0] != s->domain.size[0]) {
        return hri_fail(
            HR_ERROR_INVALID, "%s: %s has %lld row%s, but the domain has %lld",
            s->kernel->name, name, (long long)a->view.extent.size[0],
            hri_plural((uint64_t)a->view.extent.size[0]),
            (long long)s->domain.size[0]);
    }
    return HR_OK;
}

/* Check that kernel, domain and `count` arguments go together. */
static hr_status check(const hri_splitting *s, size_t count)
{
    hri_part part = hri_part_of(s->domain);
    part.tile = s->options.tile;
    hr_status status = hri_launch_part(s->context, NULL, s->kernel, &part,
                                       s->arguments, count);
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        status = hri_split_is_view(s, i) ? check_argument(s, i) : HR_OK;
    }
    return status;
}

/* ---- launches */

/* Make the arguments of a band, and their windows in the whole. */
static hr_status cut_arguments(const hri_splitting *s, const hr_band *band,
                               hr_argument *arguments, hri_window *windows)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < s->kernel->parameter_count && status == HR_OK;
         i++) {
        arguments[i] = s->arguments[i];
        if (hri_split_is_view(s, i)) {
            const hr_extent *whole = &s->arguments[i].view.extent;
            status = hri_split_argument(s, i, band, &arguments[i].view,
                                        &windows[i].first[0]);
            for (uint32_t d = 0; d < whole->rank; d++) {
                windows[i].extent[d] = whole->size[d];
            }
        }
    }
    return status;
}

/* Find the memory limit with which equal bands fit everywhere. */
static hr_status find_common_limit(const hri_splitting *s, uint64_t *limit)
{
    const int64_t rows = s->domain.size[0];
    const int64_t grain =
        s->options.tile != NULL ? s->options.tile->size[0] : 1;
    const int64_t share = hri_round_up(hri_ceil_div(rows, s->count), grain);
    hr_status status = HR_OK;
    int64_t first = 0;
    *limit = 0;
    for (uint32_t i = 0; i < s->count && first < rows && status == HR_OK; i++) {
        const hr_band band = {.first = first,
                              .count = hri_min(share, rows - first)};
        uint64_t needed = 0;
        status = hri_split_limit(s, i, &band, &needed);
        *limit = needed > *limit ? needed : *limit;
        first += band.count;
    }
    return status;
}

/* Say what is needed when a band did not fit into the memory limit. Other
 * failures keep their message. */
static hr_status explain(const hri_splitting *s, uint32_t index,
                         hr_status failure)
{
    const hr_band *band = &s->bands[index];
    const hri_accelerator *a = s->participants[index].accelerator;
    const bool chosen = s->options.weights == NULL && s->count > 1;
    uint64_t needed = 0, each = 0;
    hri_error error = {0};
    hri_error_keep(&error, failure);
    if (failure != HR_ERROR_OUT_OF_MEMORY ||
        hri_split_limit(s, index, band, &needed) != HR_OK ||
        needed <= a->memory_limit ||
        (chosen && find_common_limit(s, &each) != HR_OK)) {
        return hri_error_raise(&error);
    }
    if (chosen) {
        return hri_fail(failure,
                        "%s: the launch does not fit into the memory limits of "
                        "%u accelerators; %llu bytes for each are enough",
                        s->kernel->name, s->count, (unsigned long long)each);
    }
    return hri_fail(failure,
                    "%s: a band of %lld row%s does not fit into %s's limit of "
                    "%llu bytes: it needs %llu",
                    s->kernel->name, (long long)band->count,
                    hri_plural((uint64_t)band->count), a->path,
                    (unsigned long long)a->memory_limit,
                    (unsigned long long)needed);
}

static hr_status launch_band(const hri_splitting *s, uint32_t index,
                             hri_stream *stream)
{
    const hr_band *band = &s->bands[index];
    hri_accelerator *a = s->participants[index].accelerator;
    hr_queue queue = {
        .context = s->context, .accelerator = a, .stream = stream};
    hr_argument arguments[HR_MAX_PARAMETERS];
    hri_window windows[HR_MAX_PARAMETERS] = {0};
    hri_part part = hri_part_of(s->domain);
    part.first[0] = band->first;
    part.end[0] = band->first + band->count;
    part.tile = s->options.tile;
    part.windows = windows;
    hr_status status = cut_arguments(s, band, arguments, windows);
    if (status == HR_OK) {
        const double rows = (double)band->count * hri_split_sharers(s, index);
        part.start =
            hri_model_time_kernel(a, s->kernel, hri_split_points(s), rows);
        status = hri_launch_part(s->context, &queue, s->kernel, &part,
                                 arguments, s->kernel->parameter_count);
    }
    if (status != HR_OK) {
        a->default_queue.kernel = NULL;
        status = explain(s, index, status);
    }
    return status;
}

static hr_status give(void *argument)
{
    hri_participant *p = argument;
    const hri_splitting *s = p->split;
    const uint32_t index = (uint32_t)(p - s->participants);
    hri_stream *stream = NULL;
    hri_fence *fence = NULL;
    if (s->bands[index].count == 0) {
        return HR_OK;
    }
    pthread_mutex_lock(&s->context->lock);
    hr_status status = hri_accelerator_default_queue(p->accelerator, &stream);
    if (status == HR_OK) {
        hri_error_keep(&p->call.error, launch_band(s, index, stream));
        /* record it even after a failure, since copies may be under way */
        status = hri_fence_create_recorded(stream, &fence);
        if (status == HR_OK && p->call.error.status != HR_OK) {
            /* wait, so that the next launch knows of a queue that failed */
            (void)hri_fence_wait(fence);
        }
        hri_fence_drop(fence);
    }
    pthread_mutex_unlock(&s->context->lock);
    return status;
}

/* Launch all bands, even after one has failed. */
static hr_status give_all(const hri_splitting *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        hri_participant *p = &s->participants[i];
        p->split = s;
        if (s->options.threads && s->bands[i].count > 0) {
            p->call.threads = &p->accelerator->threads;
        }
    }
    return hri_threads_call(give, s->participants, s->count,
                            sizeof *s->participants);
}

/* ---- the call */

/* Lost accelerators are left out, unless the caller gives each one a weight. */
static hr_status list_participants(hri_splitting *s)
{
    s->count = 0;
    for (uint32_t i = 0; i < s->accelerators.count; i++) {
        hri_accelerator *a =
            &s->context->accelerators[hri_indices_at(&s->accelerators, i)];
        if (s->options.weights != NULL || !hri_accelerator_is_lost(a)) {
            s->participants[s->count++].accelerator = a;
        }
    }
    return s->options.weights != NULL || s->count == 0
               ? hri_indices_check(s->context, &s->accelerators)
               : HR_OK;
}

static hr_status plan(hri_splitting *s)
{
    bool held;
    hr_status status = list_participants(s);
    const bool choose = s->options.weights == NULL && s->count > 1;
    if (status == HR_OK && (choose || s->options.report != NULL)) {
        status = hri_split_learn(s);
    }
    if (status == HR_OK) {
        status = choose ? hri_split_choose(s)
                        : hri_split_cut(s, s->options.weights, false, &held);
    }
    return status == HR_OK && s->options.report != NULL
               ? hri_split_predict(s, &s->report.seconds, &s->report.bound)
               : status;
}

static void report(hri_splitting *s)
{
    hr_split_report *r = &s->report;
    r->band_count = s->count;
    r->used = 0;
    r->traffic = (hr_traffic){0};
    for (uint32_t i = 0; i < s->count; i++) {
        const hr_traffic *t = &s->participants[i].cost.traffic;
        r->traffic.up += t->up;
        r->traffic.down += t->down;
        r->traffic.peer += t->peer;
        r->used += s->bands[i].count > 0;
        if (r->bands != NULL && i < r->band_capacity) {
            r->bands[i] = s->bands[i];
        }
    }
    hri_struct_write(&report_struct, r, s->options.report);
}

static hr_status run(hri_splitting *s, size_t count)
{
    pthread_mutex_lock(&s->context->lock);
    hr_status status = check(s, count);
    if (status == HR_OK) {
        status = plan(s);
    }
    pthread_mutex_unlock(&s->context->lock);
    if (status == HR_OK && !s->options.dry_run) {
        status = give_all(s);
    }
    if (status == HR_OK) {
        report(s);
    }
    return status;
}

static hr_status allocate(hri_splitting *s)
{
    s->count = s->accelerators.count;
    s->bands = calloc(s->count, sizeof *s->bands);
    s->portions = calloc(s->count, sizeof *s->portions);
    s->participants = calloc(s->count, sizeof *s->participants);
    s->flows = calloc(s->count, sizeof *s->flows);
    return s->bands != NULL && s->portions != NULL && s->participants != NULL &&
                   s->flows != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %u bands",
                          s->kernel->name, s->count);
}

hr_status hr_launch_split(hr_context *context, const hr_kernel *kernel,
                          hr_extent domain, const hr_argument *arguments,
                          size_t count, const hr_split_options *options)
{
    if (context == NULL || kernel == NULL || arguments == NULL) {
        return hri_fail(HR_ERROR_INVALID, "split launch: %s is NULL",
                        context == NULL  ? "the context"
                        : kernel == NULL ? "the kernel"
                                         : "the list of arguments");
    }
    hri_splitting s = {.context = context,
                       .kernel = kernel,
                       .parameters = kernel->parameters(kernel),
                       .domain = domain,
                       .arguments = arguments};
    hr_status status = read_options(&s, options);
    if (status == HR_OK) {
        status = allocate(&s);
    }
    if (status == HR_OK) {
        status = run(&s, count);
    }
    free(s.bands);
    free(s.portions);
    free(s.participants);
    free(s.flows);
    return status;
}
