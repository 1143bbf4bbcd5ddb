/* SPDX-License-Identifier: MIT */
/* Profiles: sums over the launches of a kernel, each timed by two fences. */
#include "arrays/profile.h"

#include <math.h>
#include <stdlib.h>

#include "arrays/array.h"
#include "base/arithmetic.h"
#include "base/structs.h"
#include "runtime/stream.h"

/* A launch that has not been seen to end. */
typedef struct timed {
    hri_fence *start, *end;
    double points, bytes;
    struct timed *next;
} timed;

/* The launches on an accelerator. */
typedef struct launches {
    hr_profile sum;
    timed *first, **last;
} launches;

struct hri_profile {
    const hr_kernel *kernel;
    double flops; /* of a point */
    hri_profile *next;
    launches of[]; /* accelerators */
};

static const hri_struct profile_struct =
    HRI_STRUCT(hr_profile, "profile", "HR_PROFILE_INIT", launches);

static void drop_first(launches *x)
{
    timed *t = x->first;
    x->first = t->next;
    if (x->first == NULL) {
        x->last = &x->first;
    }
    hri_fence_drop(t->start);
    hri_fence_drop(t->end);
    free(t);
}

/* Add a launch that has ended to the sums. One that failed has no time. */
static void add_launch(const hri_profile *p, const timed *t, launches *x)
{
    uint64_t ns = 0;
    if (hri_fence_elapsed(t->start, t->end, &ns) != HR_OK) {
        return;
    }
    x->sum.launches++;
    x->sum.seconds += (double)ns * 1e-9;
    x->sum.points += t->points;
    x->sum.bytes += t->bytes;
    x->sum.flops += t->points * p->flops;
}

/* Add the launches that have ended to the sums, but for those that failed. */
static void count_ended(const hri_profile *p, launches *x)
{
    while (x->first != NULL) {
        const timed *t = x->first;
        bool done = false;
        if (hri_fence_query(t->end, &done) == HR_OK) {
            if (!done) {
                return;
            }
            add_launch(p, t, x);
        }
        x->sum.running--;
        drop_first(x);
    }
}

static void reset_launches(launches *x)
{
    while (x->first != NULL) {
        drop_first(x);
    }
    x->sum = (hr_profile)HR_PROFILE_INIT;
    x->last = &x->first;
}

hri_profile *hri_profile_find(const hr_context *context,
                              const hr_kernel *kernel)
{
    hri_profile *p = context->profiles;
    while (p != NULL && p->kernel != kernel) {
        p = p->next;
    }
    return p;
}

/* The bytes that a launch reads and writes. */
static double bytes_of(const hr_kernel *kernel, const hr_argument *arguments)
{
    double bytes = 0;
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        const hr_argument *a = &arguments[i];
        if (a->kind == HR_PARAMETER_VIEW) {
            const double all = (double)hr_extent_count(a->view.extent) *
                               (double)a->view.element_bytes;
            bytes += a->access == HR_INOUT ? 2 * all : all;
        }
    }
    return bytes;
}

hr_status hri_profile_launched(hri_profile *profile, const hr_queue *queue,
                               hri_fence *start, const hri_launch_box *box,
                               const hr_argument *arguments)
{
    launches *x =
        &profile->of[queue->accelerator - queue->context->accelerators];
    timed *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "%s: no memory to time a launch",
                        profile->kernel->name);
    }
    hr_status status = hri_fence_create_recorded(queue->stream, &t->end);
    if (status != HR_OK) {
        free(t);
        return status;
    }
    hri_fence_hold(start);
    t->start = start;
    t->points = 1;
    for (uint32_t d = 0; d < box->domain.rank; d++) {
        t->points *= (double)(box->end[d] - box->first[d]);
    }
    t->bytes = bytes_of(profile->kernel, arguments);
    *x->last = t;
    x->last = &t->next;
    x->sum.running++;
    count_ended(profile, x);
    return HR_OK;
}

/* Whether the arguments of a call can be used. */
static hr_status check_call(const hr_context *context, const hr_kernel *kernel)
{
    if (context == NULL || kernel == NULL) {
        return hri_fail(HR_ERROR_INVALID, "profile: %s is NULL",
                        context == NULL ? "the context" : "the kernel");
    }
    return HR_OK;
}

/* Find or make a kernel's profile, and let it begin anew. */
static hr_status begin_profile(hr_context *context, const hr_kernel *kernel,
                               double flops)
{
    const uint32_t count = context->accelerator_count;
    hri_profile *p = hri_profile_find(context, kernel);
    if (p == NULL) {
        p = calloc(1, sizeof *p + count * sizeof p->of[0]);
        if (p == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "profile of %s: no memory for %u accelerators",
                            kernel->name, count);
        }
        p->kernel = kernel;
        p->next = context->profiles;
        context->profiles = p;
    }
    p->flops = flops;
    for (uint32_t i = 0; i < count; i++) {
        reset_launches(&p->of[i]);
    }
    return HR_OK;
}

hr_status hr_profile_kernel(hr_context *context, const hr_kernel *kernel,
                            double flops)
{
    HRI_USUAL_ARITHMETIC;
    HRI_TRY(check_call(context, kernel));
    if (!(flops >= 0 && flops < INFINITY)) {
        return hri_fail(HR_ERROR_INVALID,
                        "profile of %s: %g operations of a point, not 0 or "
                        "more",
                        kernel->name, flops);
    }
    pthread_mutex_lock(&context->lock);
    const hr_status status = begin_profile(context, kernel, flops);
    pthread_mutex_unlock(&context->lock);
    return status;
}

hr_status hr_profile_read(hr_context *context, const hr_kernel *kernel,
                          uint32_t accelerator, hr_profile *profile)
{
    HRI_USUAL_ARITHMETIC;
    hr_profile sum = HR_PROFILE_INIT;
    HRI_TRY(check_call(context, kernel));
    if (profile == NULL) {
        return hri_fail(HR_ERROR_INVALID, "profile of %s: the result is NULL",
                        kernel->name);
    }
    HRI_TRY(hri_struct_read(&profile_struct, profile, &sum));
    if (accelerator >= context->accelerator_count) {
        return hri_fail(HR_ERROR_INVALID, "profile of %s: accelerator %u of %u",
                        kernel->name, accelerator, context->accelerator_count);
    }
    pthread_mutex_lock(&context->lock);
    hri_profile *p = hri_profile_find(context, kernel);
    if (p != NULL) {
        const uint32_t size = sum.size;
        count_ended(p, &p->of[accelerator]);
        sum = p->of[accelerator].sum;
        sum.size = size;
        hri_struct_write(&profile_struct, &sum, profile);
    }
    pthread_mutex_unlock(&context->lock);
    return p != NULL ? HR_OK
                     : hri_fail(HR_ERROR_INVALID,
                                "profile of %s: hr_profile_kernel comes first",
                                kernel->name);
}

void hri_profiles_destroy(hr_context *context)
{
    while (context->profiles != NULL) {
        hri_profile *p = context->profiles;
        context->profiles = p->next;
        for (uint32_t i = 0; i < context->accelerator_count; i++) {
            reset_launches(&p->of[i]);
        }
        free(p);
    }
}
