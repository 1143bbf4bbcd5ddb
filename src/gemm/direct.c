/* SPDX-License-Identifier: MIT */
/* Products on the caller's thread, in the caller's memory: no queue, no thread,
 * and for small ones no plan. */
#include <math.h>

#include "base/clock.h"
#include "base/size.h"
#include "gemm/call.h"
#include "gemm/plans.h"

static hri_operand operand_of(const hr_matrix *m)
{
    return (hri_operand){.place = hri_at_host(m->data, 0),
                         .row_stride = m->row_stride,
                         .col_stride = m->col_stride,
                         .conjugate = m->conjugate};
}

hri_gemm hri_gemm_in_place(const hri_product *p)
{
    return (hri_gemm){.type = p->a.type,
                      .c_type = p->c.type,
                      .compute = p->compute,
                      .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .alpha = p->alpha,
                      .beta = p->beta,
                      .a = operand_of(&p->a),
                      .b = operand_of(&p->b),
                      .c = operand_of(&p->c)};
}

static hr_status multiply_now(hri_device *device, const hri_product *p)
{
    const hri_gemm gemm = hri_gemm_in_place(p);
    return device->ops->gemm_now(device, &gemm);
}

/* ---- without a plan */

/* The accelerator that works in place and offers the product. NULL: none. */
static hri_accelerator *in_place(const hr_context *context,
                                 hri_product_kind kind)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        hri_accelerator *a = &context->accelerators[i];
        if (a->in_place && a->device->ops->gemm_now != NULL &&
            hri_accelerator_multiplies(a, kind)) {
            return a;
        }
    }
    return NULL;
}

/* The flops that one thread does while another accelerator starts: below that
 * no other one could end sooner. */
static double most_flops(const hr_context *context, const hri_accelerator *a,
                         hri_product_kind kind)
{
    const double rate = hri_accelerator_likely_rate(a, kind) *
                        hri_model_one_cpu(a->device->info.compute_units);
    return context->accelerator_count == 1 ? HUGE_VAL : rate * hri_model_brief;
}

/* The same, looked up again when a figure of the model has changed. NULL: no
 * memory. */
static const hri_direct *look_up(hr_context *context, hri_product_kind kind)
{
    hri_gemm_state *state = hri_gemm_state_of(context);
    if (state == NULL) {
        return NULL;
    }
    hri_direct *d = &state->direct[kind.type % HRI_DIRECT_KINDS];
    const uint64_t version = hri_model_version(context);
    if (d->version != version || d->accelerator == NULL ||
        d->kind.type != kind.type || d->kind.c_type != kind.c_type ||
        d->kind.compute != kind.compute) {
        hri_accelerator *a = in_place(context, kind);
        *d = (hri_direct){.version = version,
                          .kind = kind,
                          .accelerator = a,
                          .most_flops =
                              a != NULL ? most_flops(context, a, kind) : 0.0};
    }
    return d;
}

/* Whether the caller lets the accelerator take part. What is wrong with a list
 * is told where the product is planned. */
static bool is_wanted(const hri_gemm_call *c, const hri_accelerator *a)
{
    const uint32_t index = (uint32_t)(a - c->context->accelerators);
    return c->options.accelerators == NULL
               ? c->options.accelerator_count == 0
               : c->options.accelerator_count == 1 &&
                     c->options.accelerators[0] == index;
}

hri_device *hri_direct_device(const hri_gemm_call *c)
{
    if (c->options.report != NULL || c->options.progress != NULL ||
        !hri_has_product(&c->product)) {
        return NULL; /* a plan knows what is reported */
    }
    const hri_direct *d = look_up(c->context, hri_kind_of(&c->product));
    if (d == NULL || d->accelerator == NULL || !is_wanted(c, d->accelerator)) {
        return NULL;
    }
    if (!hri_model_skips_measuring(c->flops) || c->flops >= d->most_flops) {
        return NULL; /* others may be faster: plan.c compares (find_best) */
    }
    return d->accelerator->device;
}

bool hri_gemm_directly(const hri_gemm_call *c, hr_status *status)
{
    hri_device *device = hri_direct_device(c);
    *status = device != NULL ? multiply_now(device, &c->product) : HR_OK;
    return device != NULL;
}

/* ---- with a plan */

static hri_device *only_device(const hri_gemm_call *c)
{
    return c->accelerators[c->plan->flow.shares[0].accelerator]->device;
}

bool hri_plan_is_direct(const hri_gemm_call *c)
{
    const hri_plan *plan = c->plan;
    return plan->flow.share_count == 1 && plan->flow.shares[0].in_place &&
           plan->flow.shares[0].task_count == 1 &&
           c->options.progress == NULL && only_device(c)->ops->gemm_now != NULL;
}

hr_status hri_plan_directly(const hri_gemm_call *c, hri_run_outcome *outcome)
{
    const uint64_t start_ns = hri_clock_ns();
    hr_status status = multiply_now(only_device(c), &c->product);
    outcome->reports[0] =
        (hri_run_report){.seconds_busy = hri_seconds_since(start_ns),
                         .flops = hri_flops_of(&c->product),
                         .tiles = 1};
    outcome->home[0] = 1;
    return status;
}
