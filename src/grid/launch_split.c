/* SPDX-License-Identifier: MIT */
/* Launches over several accelerators: rules, bands, and one launch for each. */
#include <stdlib.h>

#include "arrays/event.h"
#include "arrays/launch.h"
#include "base/size.h"
#include "grid/split.h"
#include "runtime/structs.h"
#include "runtime/worker.h"

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

static hr_status read_options(const hr_split_options *options,
                              hr_split_options *read)
{
    if (options == NULL) {
        return HR_OK;
    }
    if (options->size < offsetof(hr_split_options, weights)) {
        return hri_fail(HR_ERROR_INVALID,
                        "split options: size is %u, not %zu; start with "
                        "HR_SPLIT_OPTIONS_INIT",
                        options->size, sizeof *options);
    }
    hri_struct_read(read, sizeof *read, options, options->size);
    if (read->report != NULL &&
        read->report->size < offsetof(hr_split_report, seconds)) {
        return hri_fail(HR_ERROR_INVALID,
                        "split report: size is %u, not %zu; start with "
                        "HR_SPLIT_REPORT_INIT",
                        read->report->size, sizeof *read->report);
    }
    return HR_OK;
}

static uint32_t accelerator_at(const hri_splitting *s, uint32_t i)
{
    return s->options.accelerators != NULL ? s->options.accelerators[i] : i;
}

static hr_status check_accelerators(const hri_splitting *s)
{
    const uint32_t there = s->context->accelerator_count;
    if (s->count == 0) {
        return hri_fail(HR_ERROR_INVALID, "%s: a list of 0 accelerators",
                        s->kernel->name);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        const uint32_t a = accelerator_at(s, i);
        if (a >= there) {
            return hri_fail(HR_ERROR_INVALID,
                            "%s: accelerator %u, but there are %u",
                            s->kernel->name, a, there);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (accelerator_at(s, j) == a) {
                return hri_fail(HR_ERROR_INVALID,
                                "%s: accelerator %u is listed twice",
                                s->kernel->name, a);
            }
        }
    }
    return HR_OK;
}

static bool is_view(const hri_splitting *s, uint32_t i)
{
    return s->arguments[i].kind == HR_PARAMETER_VIEW;
}

/* Whether an argument can be given in bands. */
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
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s is written, so each accelerator has rows of "
                        "its own of it, not %s",
                        s->kernel->name, name,
                        a->whole ? "the whole" : "those near");
    }
    if (!a->whole && a->view.extent.size[0] != s->domain.size[0]) {
        return hri_fail(
            HR_ERROR_INVALID, "%s: %s has %lld rows, but the domain has %lld",
            s->kernel->name, name, (long long)a->view.extent.size[0],
            (long long)s->domain.size[0]);
    }
    return HR_OK;
}

static hr_status check(const hri_splitting *s, size_t count)
{
    hri_part part = hri_part_of(s->domain);
    part.tile = s->options.tile;
    hr_status status = check_accelerators(s);
    if (status == HR_OK) {
        status =
            hri_launch_check(s->context, s->kernel, &part, s->arguments, count);
    }
    for (uint32_t i = 0; i < count && status == HR_OK; i++) {
        status = is_view(s, i) ? check_argument(s, i) : HR_OK;
    }
    return status;
}

/* ---- bands */

hr_status hri_split_cut(hri_splitting *s, const double *weights)
{
    const int64_t rows = s->domain.size[0];
    const int64_t step = s->options.tile != NULL ? s->options.tile->size[0] : 1;
    int64_t before = 0, after = 0;
    for (uint32_t i = 0; i < s->kernel->parameter_count; i++) {
        if (is_view(s, i)) {
            const hr_argument *a = &s->arguments[i];
            before = hri_max(before, a->whole ? rows : a->before);
            after = hri_max(after, a->whole ? rows : a->after);
        }
    }
    hr_status status =
        hr_split(hri_ceil_div(rows, step), weights, s->count, 0, 0, s->bands);
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        hr_band *b = &s->bands[i];
        const int64_t end = hri_min(rows, (b->first + b->count) * step);
        b->first = hri_min(rows, b->first * step);
        b->count = end - b->first;
        b->accelerator = accelerator_at(s, i);
        hri_band_reach(rows, before, after, b);
    }
    return status;
}

hr_status hri_split_argument(const hri_splitting *s, uint32_t i,
                             const hr_band *band, hr_view *view, int64_t *first)
{
    const hr_argument *a = &s->arguments[i];
    int64_t origin[HR_MOST_RANK] = {0};
    hr_extent extent = a->view.extent;
    if (!a->whole) {
        hr_band own = *band;
        hri_band_reach(extent.size[0], a->before, a->after, &own);
        origin[0] = own.read_first;
        extent.size[0] = own.read_count;
    }
    *first = origin[0];
    return hr_view_section(a->view, origin, extent, view);
}

/* ---- launches */

int64_t hri_split_points(const hri_splitting *s)
{
    return hr_extent_count(s->domain) / s->domain.size[0];
}

uint32_t hri_split_sharers(const hri_splitting *s, uint32_t i)
{
    const hri_accelerator *all = s->context->accelerators;
    uint32_t count = 0;
    for (uint32_t j = 0; j < s->count; j++) {
        count += s->bands[j].count > 0 &&
                 hri_accelerators_alike(&all[s->bands[j].accelerator],
                                        &all[s->bands[i].accelerator]);
    }
    return count;
}

/* What one accelerator is given. */
typedef struct giving {
    const hri_splitting *split;
    uint32_t index; /* of its band */
    hri_thread *thread;
    hri_error error;
} giving;

/* The arguments of a band, and what of the whole they are. */
static hr_status cut_arguments(const hri_splitting *s, const hr_band *band,
                               hr_argument *arguments, hri_window *windows)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < s->kernel->parameter_count && status == HR_OK;
         i++) {
        arguments[i] = s->arguments[i];
        if (is_view(s, i)) {
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

static hr_status launch_band(const hri_splitting *s, uint32_t index)
{
    const hr_band *band = &s->bands[index];
    hri_accelerator *a = &s->context->accelerators[band->accelerator];
    hr_queue queue = {s->context, a, a->worker->queue};
    hr_argument arguments[HR_MOST_PARAMETERS];
    hri_window windows[HR_MOST_PARAMETERS] = {0};
    hri_part part = hri_part_of(s->domain);
    part.first[0] = band->first;
    part.end[0] = band->first + band->count;
    part.tile = s->options.tile;
    part.windows = windows;
    hr_status status = cut_arguments(s, band, arguments, windows);
    if (status == HR_OK) {
        const double rows = (double)band->count * hri_split_sharers(s, index);
        status = hri_worker_time(a, s->kernel, hri_split_points(s), rows,
                                 &part.start);
    }
    if (status == HR_OK) {
        status = hri_launch_part(&queue, s->kernel, &part, arguments,
                                 s->kernel->parameter_count);
    }
    if (status != HR_OK) {
        a->worker->timed = NULL;
    }
    return status;
}

static void *give(void *data)
{
    giving *g = data;
    hr_context *context = g->split->context;
    const hr_band *band = &g->split->bands[g->index];
    hri_accelerator *a = &context->accelerators[band->accelerator];
    pthread_mutex_lock(&context->lock);
    hr_status status = hri_accelerator_worker(a);
    if (status == HR_OK) {
        hri_error_keep(&g->error, launch_band(g->split, g->index));
        status = hri_worker_mark(a); /* copies may go on all the same */
    }
    hri_error_keep(&g->error, status);
    pthread_mutex_unlock(&context->lock);
    return NULL;
}

/* All bands, so that an accelerator that fails does not depend on others. */
static hr_status give_all(const hri_splitting *s)
{
    giving *all = calloc(s->count, sizeof *all);
    hr_status status = HR_OK;
    if (all == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %u bands",
                        s->kernel->name, s->count);
    }
    for (uint32_t i = 0; i < s->count; i++) {
        giving *g = &all[i];
        *g = (giving){.split = s, .index = i};
        hri_accelerator *a = &s->context->accelerators[s->bands[i].accelerator];
        if (s->bands[i].count == 0) {
            continue;
        }
        if (s->options.threads) {
            g->thread = hri_threads_start(&a->threads, give, g);
        }
        if (g->thread == NULL) {
            give(g);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (all[i].thread != NULL) {
            hri_thread_join(all[i].thread);
        }
        status = status == HR_OK ? hri_error_raise(&all[i].error) : status;
    }
    free(all);
    return status;
}

/* ---- the call */

static hr_status plan(hri_splitting *s, hr_split_report *r)
{
    const bool choose = s->options.weights == NULL && s->count > 1;
    hr_status status = check_accelerators(s);
    for (uint32_t i = 0; i < s->count && status == HR_OK; i++) {
        s->runners[i].accelerator =
            &s->context->accelerators[accelerator_at(s, i)];
    }
    if (status == HR_OK && (choose || s->options.report != NULL)) {
        status = hri_split_learn(s);
    }
    if (status == HR_OK) {
        status =
            choose ? hri_split_choose(s) : hri_split_cut(s, s->options.weights);
    }
    return status == HR_OK && s->options.report != NULL
               ? hri_split_foresee(s, &r->seconds, &r->bound)
               : status;
}

static void report(const hri_splitting *s, const hr_split_report *found)
{
    hr_split_report *to = s->options.report;
    hr_split_report r = {0};
    if (to == NULL) {
        return;
    }
    hri_struct_read(&r, sizeof r, to, to->size);
    r.band_count = s->count;
    r.used = 0;
    r.traffic = (hr_traffic){0};
    r.seconds = found->seconds;
    r.bound = found->bound;
    for (uint32_t i = 0; i < s->count; i++) {
        const hr_traffic *t = &s->runners[i].cost.traffic;
        r.traffic.up += t->up;
        r.traffic.down += t->down;
        r.traffic.peer += t->peer;
        r.used += s->bands[i].count > 0;
        if (r.bands != NULL && i < r.band_capacity) {
            r.bands[i] = s->bands[i];
        }
    }
    hri_struct_write(to, to->size, &r, sizeof r);
}

static hr_status run(hri_splitting *s, size_t count)
{
    hr_split_report found = HR_SPLIT_REPORT_INIT;
    pthread_mutex_lock(&s->context->lock);
    hr_status status = check(s, count);
    if (status == HR_OK) {
        status = plan(s, &found);
    }
    pthread_mutex_unlock(&s->context->lock);
    if (status == HR_OK && !s->options.dry_run) {
        status = give_all(s);
    }
    if (status == HR_OK) {
        report(s, &found);
    }
    return status;
}

static hr_status allocate(hri_splitting *s)
{
    const uint32_t count = s->count > 0 ? s->count : 1;
    s->bands = calloc(count, sizeof *s->bands);
    s->runners = calloc(count, sizeof *s->runners);
    return s->bands != NULL && s->runners != NULL
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
                       .arguments = arguments,
                       .options = HR_SPLIT_OPTIONS_INIT};
    hr_status status = read_options(options, &s.options);
    if (status != HR_OK) {
        return status;
    }
    s.count = s.options.accelerators != NULL ? s.options.accelerator_count
                                             : context->accelerator_count;
    status = allocate(&s);
    if (status == HR_OK) {
        status = run(&s, count);
    }
    free(s.bands);
    free(s.runners);
    return status;
}
