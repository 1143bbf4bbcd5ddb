/* SPDX-License-Identifier: MIT */
/* Launches over several accelerators: one launch for each band. hri_split_run
 * plans it (choose.c, room.c), launches the bands (run_bands) and reports. */
#include <stdlib.h>

#include "arrays/array.h"
#include "arrays/launch.h"
#include "base/arithmetic.h"
#include "base/format.h"
#include "base/size.h"
#include "base/structs.h"
#include "kernels/kernels.h"
#include "split/split.h"
#include "trace/nvtx.h"
#include "trace/trace.h"

hr_argument hr_near(hr_argument argument, int64_t before, int64_t after)
{
    argument.before = before;
    argument.after = after;
    argument.whole = false;
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

hr_status hri_split_read_progress(const hr_split_options *options,
                                  const char *call, double total,
                                  hri_progress *progress)
{
    hr_split_options read = HR_SPLIT_OPTIONS_INIT;
    const hr_status status = hri_struct_read(&options_struct, options, &read);
    hri_progress_init(progress, call, read.dry_run ? NULL : read.progress,
                      read.progress_data, total);
    return status;
}

/* Read the caller's options, which may be NULL, and the report and the list of
 * accelerators in them. */
static hr_status read_options(hri_splitting *s, const hr_split_options *options)
{
    s->options = (hr_split_options)HR_SPLIT_OPTIONS_INIT;
    HRI_TRY(hri_struct_read(&options_struct, options, &s->options));
    HRI_TRY(hri_struct_read(&report_struct, s->options.report, &s->report));
    HRI_TRY(hri_indices_read(s->context, hri_split_name(s),
                             s->options.accelerators,
                             s->options.accelerator_count, &s->accelerators));
    if (s->call == NULL) {
        return HR_OK;
    }
    if (s->options.tile != NULL) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: options have a tile, which this call chooses "
                        "itself",
                        hri_split_name(s));
    }
    s->options.tile = s->tile;
    return HR_OK;
}

/* Check that an argument can be given in bands. */
static hr_status check_argument(const hri_splitting *s, uint32_t i)
{
    const hr_argument *a = &s->arguments[i];
    const char *name = s->parameters[i].name;
    const bool alone = !a->whole && a->before == 0 && a->after == 0;
    const int64_t size = a->view.extent.size[hri_split_dimension(s, i)];
    if (a->before < 0 || a->after < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "%s: %s near %lld rows before and %lld after, not 0 or "
                        "more",
                        hri_split_name(s), name, (long long)a->before,
                        (long long)a->after);
    }
    if (hri_split_is_combined(s, i)) {
        return hri_split_check_combined(s, i);
    }
    if (a->access != HR_IN && !alone) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: %s is written, so each accelerator takes its own rows, not %s",
            hri_split_name(s), name, a->whole ? "all rows" : "rows near them");
    }
    if (!a->whole &&
        hri_ceil_div(size, hri_split_rows(s, i)) != s->domain.size[0]) {
        return hri_fail(
            HR_ERROR_INVALID,
            "%s: %s has %lld row%s, but the domain has %lld%s",
            hri_split_name(s), name, (long long)size,
            hri_plural((uint64_t)size), (long long)s->domain.size[0],
            a->access == HR_IN      ? "; if points read any row, say hr_whole"
            : a->access == HR_INOUT ? "; if points write any row, say "
                                      "hr_combined"
                                    : "");
    }
    return HR_OK;
}

/* Check that kernel, domain and `count` arguments go together. */
static hr_status check_launch(const hri_splitting *s, size_t count)
{
    hri_launch_box box = hri_launch_box_of(s->domain);
    box.tile = s->options.tile;
    HRI_TRY(hri_launch_in_box(s->context, NULL, s->kernel, &box, s->arguments,
                              count));
    for (uint32_t i = 0; i < count; i++) {
        if (hri_split_is_view(s, i)) {
            HRI_TRY(check_argument(s, i));
        }
    }
    return HR_OK;
}

/* Blocks of HR_ITEMS run for whole tiles. So bands of such a kernel end between
 * tiles that are the same everywhere: behind a band's end an item would do once
 * more what one of the next band does, and write where no memory is. */
static hr_status choose_band_tile(hri_splitting *s)
{
    enum { ROW = 256 };
    const hri_indexings *read = NULL;
    HRI_TRY(hri_kernel_read(s->context, s->kernel, &read));
    if (s->options.tile != NULL) {
        s->band_tile = *s->options.tile;
    } else if (read->may_have_items) {
        s->band_tile = (hr_extent){.rank = s->domain.rank, .size = {1, 1, 1}};
        s->band_tile.size[s->domain.rank - 1] = ROW;
    }
    return HR_OK;
}

/* ---- launches */

static hr_status launch_band(const hri_splitting *s, uint32_t index,
                             hri_stream *stream)
{
    const hr_band *band = &s->bands[index];
    hr_argument arguments[HR_MAX_PARAMETERS];
    hri_window windows[HR_MAX_PARAMETERS];
    HRI_TRY(hri_split_make_arguments(s, index, band, arguments, windows));
    return hri_split_launch_rows(s, index, band, stream, arguments, windows);
}

/* Launch band `index` on the default queue of its accelerator. */
static hr_status enqueue_band(hri_participant *p, uint32_t index)
{
    hri_stream *stream = NULL;
    hri_fence *fence = NULL;
    HRI_TRY(hri_accelerator_default_queue(p->accelerator, &stream));
    hri_error_keep(&p->call.error, launch_band(p->split, index, stream));
    /* record it even after a failure, since copies may be under way */
    const hr_status status = hri_fence_create_recorded(stream, &fence);
    if (status == HR_OK && p->call.error.status != HR_OK) {
        /* wait, so that the next launch knows of a queue that failed */
        (void)hri_fence_wait(fence);
    }
    hri_fence_drop(fence);
    return status;
}

static hr_status run_band(void *argument)
{
    hri_participant *p = argument;
    const hri_splitting *s = p->split;
    const uint32_t index = (uint32_t)(p - s->participants);
    if (s->bands[index].count == 0) {
        return HR_OK;
    }
    if (p->chunk > 0 || hri_progress_is_told(s->progress)) {
        return hri_split_stream(s, index);
    }
    pthread_mutex_lock(&s->context->lock);
    const hr_status status = enqueue_band(p, index);
    pthread_mutex_unlock(&s->context->lock);
    return status;
}

/* Launch all bands, even after one has failed. Those that stream, or whose
 * progress is told, do so at the same time. */
static hr_status run_bands(const hri_splitting *s)
{
    const bool told = hri_progress_is_told(s->progress);
    for (uint32_t i = 0; i < s->count; i++) {
        hri_participant *p = &s->participants[i];
        p->split = s;
        if ((s->options.threads || p->chunk > 0 || told) &&
            s->bands[i].count > 0) {
            p->call.threads = &p->accelerator->threads;
        }
    }
    const hr_status status =
        hri_progress_call(s->progress, run_band, s->participants, s->count,
                          sizeof *s->participants);
    return hri_progress_status(s->progress, status);
}

/* ---- the call */

/* Accelerators that are lost or not usable are left out, unless the caller
 * gives each one a weight. */
static hr_status list_participants(hri_splitting *s)
{
    const bool all = s->options.weights != NULL;
    hri_error refused = {0};
    s->count = 0;
    for (uint32_t i = 0; i < s->accelerators.count; i++) {
        hri_accelerator *a =
            &s->context->accelerators[hri_indices_at(&s->accelerators, i)];
        if (!all && hri_accelerator_is_lost(a)) {
            continue;
        }
        const hr_status status = s->usable != NULL ? s->usable(a) : HR_OK;
        hri_error_keep(&refused, status);
        if (status == HR_OK || all) {
            s->participants[s->count++].accelerator = a;
        }
    }
    if (s->count > 0 && !all) {
        return HR_OK;
    }
    HRI_TRY(hri_indices_check(s->context, &s->accelerators));
    return hri_error_raise(&refused);
}

/* Set the bands: the fastest ones, or those of the caller's weights. */
static hr_status set_bands(hri_splitting *s, bool choose)
{
    bool held;
    if (choose || s->options.report != NULL) {
        HRI_TRY(hri_split_learn(s));
    }
    HRI_TRY(choose ? hri_split_choose(s)
                   : hri_split_cut(s, s->options.weights, HRI_HOLD_ANY, &held));
    return hri_split_require_chunks(s);
}

static hr_status plan_launch(hri_splitting *s, size_t count)
{
    bool held;
    HRI_TRY(check_launch(s, count));
    HRI_TRY(choose_band_tile(s));
    HRI_TRY(list_participants(s));
    const bool choose = s->options.weights == NULL && s->count > 1;
    hr_status status = set_bands(s, choose);
    if (status == HR_ERROR_OUT_OF_MEMORY && choose) {
        /* as the message says: what accelerators hold may lie so that no other
         * bands fit */
        HRI_TRY(hri_split_cut(s, NULL, HRI_HOLD_ANY, &held));
        status = hri_split_require_chunks(s);
    }
    s->predicted =
        s->options.report != NULL || (choose && s->context->trace != NULL);
    HRI_TRY(status);
    return s->predicted
               ? hri_split_predict(s, &s->report.seconds, &s->report.bound)
               : HR_OK;
}

static void write_report(hri_splitting *s)
{
    hr_split_report *r = &s->report;
    r->share_count = s->count;
    r->used = 0;
    r->traffic = (hr_traffic){0};
    for (uint32_t i = 0; i < s->count; i++) {
        const hr_traffic *t = &s->participants[i].cost.traffic;
        r->traffic.up += t->up;
        r->traffic.down += t->down;
        r->traffic.peer += t->peer;
        r->used += s->bands[i].count > 0;
        if (r->shares != NULL && i < r->share_capacity) {
            r->shares[i] = s->bands[i];
        }
    }
    hri_struct_write(&report_struct, r, s->options.report);
}

void hri_split_trace(const hri_splitting *s, uint64_t start_ns)
{
    const hr_split_report *r = &s->report;
    const char *enqueued = s->waits ? "" : ",\"enqueued\":true";
    char more[256];
    hri_format(more, sizeof more, "%s", enqueued);
    if (s->predicted) {
        hri_format(more, sizeof more,
                   "%s,\"predicted\":%.9f,\"bound\":\"%s\",\"up\":%llu,"
                   "\"down\":%llu,\"peer\":%llu",
                   enqueued, r->seconds, hr_bound_name(r->bound),
                   (unsigned long long)r->traffic.up,
                   (unsigned long long)r->traffic.down,
                   (unsigned long long)r->traffic.peer);
    }
    hri_trace_call(s->context->trace, hri_split_name(s), start_ns, 0, more);
}

/* Do the work of all bands, with the copies of combined views around it. */
static hr_status run_and_fold(hri_splitting *s)
{
    (void)hri_progress_tell(s->progress, (double)s->progress->done);
    HRI_TRY(hri_progress_status(s->progress, HR_OK));
    HRI_TRY(hri_split_begin_combined(s));
    const hr_status status =
        s->carry_out != NULL ? s->carry_out(s->data, s) : run_bands(s);
    return hri_split_end_combined(s, status);
}

/* The same, with what it tells unless a greater call does. */
static hr_status run_with_progress(hri_splitting *s)
{
    hri_progress own;
    if (s->progress != NULL) {
        return run_and_fold(s);
    }
    hri_progress_init(&own, hri_split_name(s), s->options.progress,
                      s->options.progress_data,
                      (double)hr_extent_count(s->domain));
    s->progress = &own;
    const hr_status status = hri_progress_end(&own, run_and_fold(s));
    s->progress = NULL;
    return status;
}

static hr_status tell_findings(hr_context *context)
{
    pthread_mutex_lock(&context->lock);
    const hr_status status = hri_check_tell(context);
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* The same. The checker gets to know the chunks, and tells what it has found
 * when all have run. */
static hr_status run_checked(hri_splitting *s)
{
    const hri_checker *checker = s->context->checker;
    hri_chunks chunks;
    if (checker == NULL) {
        return run_with_progress(s);
    }
    HRI_TRY(tell_findings(s->context));
    hri_split_describe_chunks(s, &chunks);
    s->chunks = &chunks;
    const hr_status status = run_with_progress(s);
    s->chunks = NULL;
    checker->forget(&chunks);
    return status == HR_OK ? tell_findings(s->context) : status;
}

static hr_status allocate(hri_splitting *s)
{
    s->count = s->accelerators.count;
    s->bands = calloc(s->count, sizeof *s->bands);
    s->shares = calloc(s->count, sizeof *s->shares);
    s->participants = calloc(s->count, sizeof *s->participants);
    s->flows = calloc(s->count, sizeof *s->flows);
    if (s->bands == NULL || s->shares == NULL || s->participants == NULL ||
        s->flows == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "%s: no memory for %u bands",
                        hri_split_name(s), s->count);
    }
    return HR_OK;
}

static hr_status run_launch(hri_splitting *s, size_t count,
                            const hr_split_options *options)
{
    HRI_TRY(read_options(s, options));
    HRI_TRY(allocate(s));
    HRI_TRY(hri_context_check(s->context, hri_split_name(s)));
    pthread_mutex_lock(&s->context->lock);
    const hr_status status = plan_launch(s, count);
    pthread_mutex_unlock(&s->context->lock);
    if (status != HR_OK) {
        return status;
    }
    if (!s->options.dry_run) {
        HRI_TRY(run_checked(s));
    }
    write_report(s);
    return HR_OK;
}

hr_status hri_split_run(hri_splitting *s, size_t count,
                        const hr_split_options *options)
{
    const uint64_t start_ns = hri_trace_now(s->context->trace != NULL);
    if (!s->waits) {
        hri_range_begin(hri_split_name(s));
    }
    s->parameters = s->kernel->parameters(s->kernel);
    hr_argument flat[HR_MAX_PARAMETERS];
    if (count == s->kernel->parameter_count) {
        for (size_t i = 0; i < count; i++) {
            flat[i] = s->arguments[i];
            hri_argument_flatten(&s->parameters[i], &flat[i]);
        }
        s->arguments = flat;
    }
    const hr_status status = run_launch(s, count, options);
    if (status == HR_OK && !s->options.dry_run && !s->waits) {
        hri_split_trace(s, start_ns);
    }
    free(s->bands);
    free(s->shares);
    free(s->participants);
    free(s->flows);
    if (!s->waits) {
        hri_range_end();
    }
    return status;
}

hr_status hr_launch_split(hr_context *context, const hr_kernel *kernel,
                          hr_extent domain, const hr_argument *arguments,
                          size_t count, const hr_split_options *options)
{
    HRI_USUAL_ARITHMETIC;
    if (context == NULL || kernel == NULL || arguments == NULL) {
        return hri_fail(HR_ERROR_INVALID, "split launch: %s is NULL",
                        context == NULL  ? "the context"
                        : kernel == NULL ? "the kernel"
                                         : "the list of arguments");
    }
    hri_splitting s = {.context = context,
                       .kernel = kernel,
                       .domain = domain,
                       .arguments = arguments};
    return hri_split_run(&s, count, options);
}
