/* SPDX-License-Identifier: MIT */
/* hr_filter and hr_filter_plan: from arguments to a method, to bands of rows,
 * and to a report. */
#include <headrace/filter.h>

#include <math.h>
#include <stdlib.h>

#include <headrace/array.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/size.h"
#include "base/structs.h"
#include "filter/chunk.h"
#include "filter/cost.h"
#include "filter/fft.h"
#include "trace/nvtx.h"
#include "trace/trace.h"

const char *hr_edges_name(hr_edges edges)
{
    static const char *const names[] = {"left", "clamped", "mirrored",
                                        "periodic", "constant"};
    return edges >= HR_EDGES_LEFT && edges <= HR_EDGES_CONSTANT ? names[edges]
                                                                : "?";
}

const char *hr_filter_method_name(hr_filter_method method)
{
    static const char *const names[] = {"auto", "direct", "separable", "fft"};
    return method >= HR_FILTER_AUTO && method <= HR_FILTER_FFT ? names[method]
                                                               : "?";
}

/* A call: its job, the accelerators that may take part, and those that do. */
typedef struct call {
    uint64_t start_ns;
    hri_filter_job job;
    bool views;               /* pictures are views; else they are matrices */
    hr_filter_report *report; /* of hr_filter_plan; NULL: do the work */
    hri_indices wanted;       /* accelerators */
    hri_accelerator **able;   /* wanted ones that can do the method and are not
                                 lost */
    hri_filter_plan plan;
    double factoring; /* seconds spent on finding factors */
} call;

/* ---- arguments */

static const hri_struct options_struct = HRI_STRUCT(
    hr_filter_options, "filter options", "HR_FILTER_OPTIONS_INIT", method);
static const hri_struct report_struct = HRI_STRUCT(
    hr_filter_report, "filter report", "HR_FILTER_REPORT_INIT", rank);

static hr_status choose_accelerators(call *c)
{
    const hr_filter_options *o = &c->job.options;
    HRI_TRY(hri_indices_read(c->job.context, "filter", o->accelerators,
                             o->accelerator_count, &c->wanted));
    c->able = calloc(c->wanted.count, sizeof(hri_accelerator *));
    c->plan.bands = calloc(c->wanted.count, sizeof *c->plan.bands);
    return c->able != NULL && c->plan.bands != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
}

/* ---- the method */

/* Find factors of the window within the tolerance, unless they would be more
 * work than all weights. */
static hr_status find_factors(hri_filter_job *job)
{
    const int64_t n = hri_filter_extent(job);
    const double usual = job->in.type == HR_F32 ? 1e-6 : 1e-14;
    const double tolerance =
        job->options.tolerance > 0.0 ? job->options.tolerance : usual;
    const bool open = job->options.method == HR_FILTER_AUTO;
    hri_factors *f = &job->factors;
    HRI_TRY(hri_factors_find(job->asked, tolerance,
                             open ? hri_max(n / 2, 1) : n, f));
    if (open && f->error > tolerance) {
        f->rank = 0;
    }
    if (job->transposed) {
        double *const down = f->down;
        f->down = f->across;
        f->across = down;
    }
    return HR_OK;
}

/* Plan a method. Only accelerators of the host can do Fourier transforms. */
static hr_status plan_method(call *c, hr_filter_method method)
{
    const bool fft = method == HR_FILTER_FFT;
    hr_context *context = c->job.context;
    const hri_fftw *api;
    uint32_t count = 0;
    if (fft) {
        HRI_TRY(hri_fft_find(c->job.in.type, &api));
    }
    c->job.method = method;
    for (uint32_t i = 0; i < c->wanted.count; i++) {
        hri_accelerator *a =
            &context->accelerators[hri_indices_at(&c->wanted, i)];
        if ((!fft || hri_filter_strips(context, a)) &&
            !hri_accelerator_is_lost(a)) {
            c->able[count++] = a;
        }
    }
    if (count == 0) {
        HRI_TRY(hri_indices_check(context, &c->wanted));
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "filter: none of %u accelerator%s transforms; use the "
                        "host%s",
                        c->wanted.count, hri_plural(c->wanted.count),
                        context->checker != NULL ? ", without HEADRACE_CHECK"
                                                 : "");
    }
    return hri_filter_plan_make(&c->job, c->able, count, &c->plan);
}

/* Find the fastest method that is possible. The direct one always is, and comes
 * last. */
static hr_status find_fastest(call *c, hr_filter_method *fastest)
{
    double least = 0.0;
    bool found = false;
    hr_status status = HR_OK;
    for (int i = HR_FILTER_FFT; i >= HR_FILTER_DIRECT; i--) {
        const hr_filter_method method = (hr_filter_method)i;
        if (method == HR_FILTER_SEPARABLE && c->job.factors.rank == 0) {
            continue;
        }
        status = plan_method(c, method);
        if (status == HR_ERROR_UNSUPPORTED ||
            status == HR_ERROR_OUT_OF_MEMORY) {
            continue;
        }
        HRI_TRY(status);
        if (!found || c->plan.seconds < least) {
            least = c->plan.seconds;
            *fastest = method;
            found = true;
        }
    }
    return found ? HR_OK : status;
}

static hr_status choose_method(call *c)
{
    hr_filter_method wanted = c->job.options.method;
    if (wanted == HR_FILTER_AUTO || wanted == HR_FILTER_SEPARABLE) {
        const uint64_t start_ns = hri_clock_ns();
        HRI_TRY(find_factors(&c->job));
        c->factoring = hri_seconds_since(start_ns);
    }
    if (wanted == HR_FILTER_AUTO) {
        HRI_TRY(find_fastest(c, &wanted));
    }
    return plan_method(c, wanted);
}

/* ---- calls */

static bool is_empty(const call *c)
{
    return c->job.out.rows == 0 || c->job.out.cols == 0;
}

static hr_status make_plan(call *c, const hr_filter_options *options)
{
    c->job.options = (hr_filter_options)HR_FILTER_OPTIONS_INIT;
    HRI_TRY(hri_struct_read(&options_struct, options, &c->job.options));
    HRI_TRY(hri_struct_check(&report_struct, c->job.options.report));
    HRI_TRY(hri_filter_job_init(&c->job, c->views, c->report != NULL));
    HRI_TRY(choose_accelerators(c));
    if (!is_empty(c)) {
        return choose_method(c);
    }
    const hr_filter_method wanted = c->job.options.method;
    c->job.method = wanted == HR_FILTER_AUTO ? HR_FILTER_DIRECT : wanted;
    return HR_OK;
}

/* A number for work whose plans are wrong in the same way: pictures and windows
 * of about the same size, on the same accelerators. Plans do not count how long
 * chunks wait for each other. */
static uint64_t likeness(const call *c)
{
    const hri_filter_job *job = &c->job;
    const double elements = (double)job->out.rows * (double)job->out.cols;
    uint64_t like = 0;
    for (uint32_t i = 0; i < c->plan.count; i++) {
        like = 31 * like + c->plan.bands[i].accelerator->device_index + 1;
    }
    like = 64 * like + (uint64_t)(log2(elements + 1.0));
    like = 64 * like + (uint64_t)(log2((double)job->window->reach + 1.0));
    like = 4 * like + (uint64_t)job->method;
    like = 16 * like + (uint64_t)job->in.type;
    like = 2 * like + (job->views[0].array != NULL);
    return 2 * like + job->options.one_thread;
}

/* Seconds for the whole call. */
static double expected(const call *c)
{
    return c->factoring + hri_model_expect(c->job.context->model, likeness(c),
                                           c->plan.seconds);
}

static hr_filter_report report_of(const call *c)
{
    const hri_filter_job *job = &c->job;
    const int64_t rank = hri_filter_rank(job);
    hr_filter_report r = {.method = job->method,
                          .rank = rank,
                          .window_error = rank > 0 ? job->factors.error : 0.0,
                          .seconds = expected(c),
                          .predicted = expected(c),
                          .bound = c->plan.bound};
    const double elements = (double)job->out.rows * (double)job->out.cols;
    r.products = is_empty(c) ? 0.0 : elements * hri_filter_products(job);
    const int64_t reach = job->window->reach;
    const uint64_t element = hr_type_size(job->in.type);
    for (uint32_t i = 0; i < c->plan.count; i++) {
        const hri_filter_band *b = &c->plan.bands[i];
        const int64_t rows = b->last - b->first;
        int64_t chunks = 0;
        for (int64_t at = b->first; at < b->last; chunks++) {
            at = hri_filter_chunk_end(job, b, at);
        }
        r.pieces += chunks;
        r.accelerators += rows > 0;
        if (!b->accelerator->in_place) {
            r.host_to_device +=
                (uint64_t)((rows + 2 * chunks * reach) * job->in.cols) *
                element;
            r.device_to_host += (uint64_t)(rows * job->out.cols) * element;
        }
    }
    return r;
}

/* The fewest bytes that bands on accelerators with memory of their own need:
 * all rows that they read once, and each row that they write. */
static uint64_t compulsory(const call *c)
{
    const hri_filter_job *job = &c->job;
    int64_t elements = 0;
    for (uint32_t i = 0; i < c->plan.count; i++) {
        const hri_filter_band *b = &c->plan.bands[i];
        const int64_t rows = b->last - b->first;
        if (rows > 0 && !b->accelerator->in_place) {
            const int64_t near = rows + 2 * job->window->reach;
            elements += hri_min(near, job->in.rows) * job->in.cols +
                        rows * job->out.cols;
        }
    }
    return (uint64_t)elements * hr_type_size(job->in.type);
}

/* Add the call to the timeline. Views may be on accelerators already, so that
 * nothing must move. */
static void tell(const call *c, const hr_filter_report *r)
{
    char more[256];
    const int length = hri_format(
        more, sizeof more,
        ",\"type\":\"%s\",\"rows\":%lld,\"cols\":%lld,\"reach\":%lld,"
        "\"method\":\"%s\",\"predicted\":%.9f,\"bound\":\"%s\",\"up\":%llu,"
        "\"down\":%llu",
        hr_type_name(c->job.in.type), (long long)c->job.in.rows,
        (long long)c->job.in.cols, (long long)c->job.window->reach,
        hr_filter_method_name(r->method), r->predicted, hr_bound_name(r->bound),
        (unsigned long long)r->host_to_device,
        (unsigned long long)r->device_to_host);
    if (!c->views && length > 0) {
        hri_format(more + length, sizeof more - (size_t)length,
                   ",\"compulsory\":%llu", (unsigned long long)compulsory(c));
    }
    hri_trace_call(c->job.context->trace, "hr_filter", c->start_ns,
                   2.0 * r->products, more);
}

static hr_status run_and_report(call *c)
{
    hr_context *context = c->job.context;
    const hr_traffic before = hr_context_traffic(context);
    if (!is_empty(c)) {
        HRI_TRY(hri_filter_run(&c->job, &c->plan));
    }
    const double predicted = expected(c);
    const double seen = hri_seconds_since(c->start_ns);
    if (!is_empty(c)) {
        hri_model_saw(context->model, HR_ENGINE_FILTER, predicted, seen);
        hri_model_correct(context->model, likeness(c), c->plan.seconds,
                          seen - c->factoring);
    }
    if (c->job.options.report == NULL && context->trace == NULL) {
        return HR_OK;
    }
    const hr_traffic after = hr_context_traffic(context);
    hr_filter_report r = report_of(c);
    r.predicted = predicted;
    r.seconds = seen;
    r.host_to_device = after.up - before.up;
    r.device_to_host = after.down - before.down;
    if (context->trace != NULL && !is_empty(c)) {
        tell(c, &r);
    }
    if (c->job.options.report != NULL) {
        hri_struct_write(&report_struct, &r, c->job.options.report);
    }
    return HR_OK;
}

/* Plan, and run unless only a report is wanted. */
static hr_status plan_and_run(call *c, const hr_filter_options *options)
{
    HRI_TRY(make_plan(c, options));
    if (c->report == NULL) {
        return run_and_report(c);
    }
    const hr_filter_report r = report_of(c);
    hri_struct_write(&report_struct, &r, c->report);
    return HR_OK;
}

static void init_lock(void *data)
{
    pthread_mutex_init(data, NULL);
}

static void destroy_lock(hr_context *context)
{
    pthread_mutex_destroy(hri_state_find(context, HRI_STATE_FILTER));
}

/* A context runs one filter at a time, since plans depend on the memory that
 * accelerators have left. The lock for this is locked before the context's.
 * NULL: no memory. */
static pthread_mutex_t *lock_of(hr_context *context)
{
    static const hri_state_kind kind = {.bytes = sizeof(pthread_mutex_t),
                                        .init = init_lock,
                                        .destroy = destroy_lock};
    pthread_mutex_t *lock = hri_state_find(context, HRI_STATE_FILTER);
    if (lock == NULL) {
        pthread_mutex_lock(&context->lock);
        lock = hri_state_make(context, HRI_STATE_FILTER, &kind);
        pthread_mutex_unlock(&context->lock);
    }
    return lock;
}

static hr_status filter(call *c, const hr_filter_options *options)
{
    hr_context *context = c->job.context;
    HRI_TRY(hri_context_check(context, "filter"));
    if (c->job.asked == NULL) {
        return hri_fail(HR_ERROR_INVALID, "filter: the window is NULL");
    }
    if (context->reproducible) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "filter: a reproducible context offers none, since "
                        "accelerators add up windows in different orders");
    }
    pthread_mutex_t *lock = lock_of(context);
    if (lock == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "filter: out of memory");
    }
    pthread_mutex_lock(lock);
    c->start_ns = hri_clock_ns();
    const hr_status status = plan_and_run(c, options);
    hri_filter_job_finish(&c->job);
    free(c->able);
    free(c->plan.bands);
    pthread_mutex_unlock(lock);
    return status;
}

static hr_status filter_now(call *c, const hr_filter_options *options)
{
    hri_range_begin("hr_filter");
    const hr_status status = filter(c, options);
    hri_range_end();
    return status;
}

hr_status hr_filter(hr_context *context, const hr_window *window, double scale,
                    hr_matrix in, hr_matrix out,
                    const hr_filter_options *options)
{
    HRI_USUAL_ARITHMETIC;
    call c = {.job = {.context = context,
                      .asked = window,
                      .scale = scale,
                      .in = in,
                      .out = out}};
    return filter_now(&c, options);
}

static hr_matrix shape_of(const hr_view *view, hr_type type)
{
    return hr_matrix_row_major(NULL, type, view->extent.size[0],
                               view->extent.size[1], 0);
}

hr_status hr_filter_views(hr_context *context, const hr_window *window,
                          double scale, hr_type type, hr_view in, hr_view out,
                          const hr_filter_options *options)
{
    HRI_USUAL_ARITHMETIC;
    call c = {.job = {.context = context,
                      .asked = window,
                      .scale = scale,
                      .in = shape_of(&in, type),
                      .out = shape_of(&out, type),
                      .views = {in, out}},
              .views = true};
    return filter_now(&c, options);
}

hr_status hr_filter_plan(hr_context *context, const hr_window *window,
                         double scale, hr_matrix in, hr_matrix out,
                         const hr_filter_options *options,
                         hr_filter_report *report)
{
    HRI_USUAL_ARITHMETIC;
    if (report == NULL) {
        return hri_fail(HR_ERROR_INVALID, "filter plan: the report is NULL");
    }
    HRI_TRY(hri_struct_check(&report_struct, report));
    call c = {.job = {.context = context,
                      .asked = window,
                      .scale = scale,
                      .in = in,
                      .out = out},
              .report = report};
    return filter(&c, options);
}
