/* SPDX-License-Identifier: MIT */
/* What the plan of a product is made from: the accelerators that take part, and
 * what the model knows of them. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/size.h"
#include "flow/flow.h"
#include "gemm/call.h"
#include "gemm/plans.h"
#include "hal/precise.h"

/* ---- accelerators */

/* Whether the call can use an accelerator. Not when it is lost, or this product
 * went on without it, or an earlier one still waits for it; then *error says
 * so. */
static bool can_use(const hri_gemm_call *c, hri_accelerator *a,
                    hri_error *error)
{
    const uint32_t index = (uint32_t)(a - c->context->accelerators);
    hr_status status = HR_OK;
    if (c->reports != NULL && c->reports[index].lost) {
        status = hri_error_raise(&c->lost);
    } else if (hri_runs_hold(c->context, a)) {
        status = hri_fail(HR_ERROR_LOST,
                          "gemm: %s has not answered since an earlier product",
                          a->path);
    } else {
        status = hri_accelerator_check(a);
    }
    hri_error_keep(error, status);
    return status == HR_OK;
}

/* Those that the caller wants, that offer this product, and that can be used.
 * They stay in the order of the context, whatever the order of the list.
 * Returns why one cannot be used. */
static hri_error find_usable(hri_gemm_call *c, const hri_indices *wanted)
{
    hri_error unusable = {0};
    for (uint32_t i = 0; i < c->context->accelerator_count; i++) {
        hri_accelerator *a = &c->context->accelerators[i];
        if (hri_indices_have(wanted, i) &&
            hri_accelerator_multiplies(a, hri_kind_of(&c->product)) &&
            can_use(c, a, &unusable)) {
            c->accelerators[c->count++] = a;
        }
    }
    return unusable;
}

/* Choose the accelerators. While a cancelled product still has all of them,
 * wait for its end. */
static hr_status choose_accelerators(hri_gemm_call *c)
{
    const double moment = 0.01; /* seconds */
    hri_indices wanted;
    HRI_TRY(hri_indices_read(c->context, "gemm", c->options.accelerators,
                             c->options.accelerator_count, &wanted));
    c->accelerators = calloc(wanted.count, sizeof(hri_accelerator *));
    c->inputs = calloc(wanted.count, sizeof *c->inputs);
    c->links = calloc(wanted.count, sizeof *c->links);
    c->staged = calloc(wanted.count, sizeof *c->staged);
    if (c->accelerators == NULL || c->inputs == NULL || c->links == NULL ||
        c->staged == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: out of memory");
    }
    hri_error unusable = find_usable(c, &wanted);
    const uint64_t start_ns = hri_clock_ns();
    while (c->count == 0 && unusable.status == HR_ERROR_LOST &&
           hri_runs_cancelled(c->context) &&
           hri_seconds_since(start_ns) <
               HRI_RUNS_PATIENCE * c->context->patience) {
        (void)hri_runs_await(c->context, moment);
        unusable = find_usable(c, &wanted);
    }
    if (c->count == 0 && unusable.status != HR_OK) {
        return hri_error_raise(&unusable);
    }
    if (c->count == 0) {
        return hri_fail(
            HR_ERROR_UNSUPPORTED,
            "gemm: none of %u accelerator%s multiplies %s into %s%s",
            wanted.count, hri_plural(wanted.count),
            hr_type_name(c->product.a.type), hr_type_name(c->product.c.type),
            hri_compute_phrase(c->product.compute));
    }
    return HR_OK;
}

/* Whether accelerators are left after those that turned out to be lost are
 * taken out, and some were. */
static bool leave_out_lost(hri_gemm_call *c)
{
    const uint32_t before = c->count;
    c->count = 0;
    for (uint32_t i = 0; i < before; i++) {
        if (!hri_accelerator_is_lost(c->accelerators[i])) {
            c->accelerators[c->count++] = c->accelerators[i];
        }
    }
    return c->count > 0 && c->count < before;
}

/* ---- what the plan is made from */

/* Whether the device multiplies faster when panels of A are packed. */
static bool wants_packing(const hri_product *p, hri_device *device)
{
    return (device->info.packed >> p->a.type & 1) != 0 &&
           p->compute == HR_COMPUTE_NATIVE && p->a.col_stride == 1 &&
           p->b.col_stride == 1 && !p->a.conjugate && p->k <= INT32_MAX;
}

/* Measure what planning needs to know of accelerator i, or look it up. */
static hr_status measure_one(hri_gemm_call *c, uint32_t i,
                             hri_overheads *overheads)
{
    hri_accelerator *a = c->accelerators[i];
    hri_plan_accelerator *f = &c->inputs[i];
    const hri_product_kind kind = hri_kind_of(&c->product);
    const bool small = hri_model_skips_measuring(c->flops);
    HRI_TRY(hri_accelerator_rate(a, kind, &f->rate));
    if (!small) {
        HRI_TRY(hri_accelerator_tile_rates(a, kind, f->tile_rates));
        HRI_TRY(hri_model_overheads(a, true, overheads));
    }
    /* without memory, which others have, plan without links */
    const hr_status status = hri_model_know_link(c->context, a);
    return status == HR_ERROR_OUT_OF_MEMORY ? HR_OK : status;
}

/* How many accelerators take turns on the host's CPUs, if this one does. */
static uint32_t sharers_of(const hri_gemm_call *c, const hri_accelerator *a)
{
    uint32_t sharers = 0;
    for (uint32_t i = 0; i < c->count && a->device->info.host; i++) {
        sharers += c->accelerators[i]->device->info.host;
    }
    return sharers;
}

static hr_status gather_one(hri_gemm_call *c, uint32_t i, uint64_t least)
{
    hri_accelerator *a = c->accelerators[i];
    hri_plan_accelerator *f = &c->inputs[i];
    const hri_product *p = &c->product;
    double sharing = hri_accelerators_sharing(c->accelerators, c->count, a);
    const uint64_t held = hri_accelerator_held(a); /* by arrays */
    hri_overheads overheads;
    *f = (hri_plan_accelerator){
        .memory = a->memory_limit > held ? a->memory_limit - held : 0,
        .own = a->device->info.gemm_bytes,
        .buffer = a->device->info.allocation_bytes,
        .rate = hri_accelerator_likely_rate(a, hri_kind_of(p)),
        .sharers = sharers_of(c, a),
        .peers = i,
        .device = i,
        .in_place = a->in_place};
    if (c->options.memory_limit > 0 && c->options.memory_limit < f->memory) {
        f->memory = c->options.memory_limit;
    }
    f->packed = wants_packing(p, a->device);
    HRI_TRY(hri_model_overheads(a, false, &overheads));
    /* speeds matter when they differ, or when the work takes long; and an
     * accelerator that cannot take part may have no memory to measure in */
    if ((!hri_model_skips_measuring(c->flops) || sharing < c->count) &&
        hri_plan_fits(f, least)) {
        HRI_TRY(measure_one(c, i, &overheads));
    }
    f->task = overheads.task;
    f->start = hri_model_executor(f->tile_rates[0] == 0.0);
    f->up.start = f->down.start = overheads.carried;
    if (hri_in_host_memory(a)) { /* they share the CPUs that start their work */
        f->task += overheads.busy * (sharing - 1.0);
        f->start *= sharing;
    }
    f->brief = a->in_place ? hri_model_in_place(a->device->info.compute_units)
                           : fmin(f->start, hri_model_brief);
    f->rate /= sharing;
    f->single = a->in_place && a->device->info.compute_units > 1
                    ? f->rate * hri_model_one_cpu(a->device->info.compute_units)
                    : 0.0;
    for (int j = 0; j < HRI_TILE_RATES; j++) {
        f->tile_rates[j] /= sharing;
    }
    return HR_OK;
}

/* Copies of C of at most TINY_BYTES are always staged if any may be: nothing
 * need wait before it goes home. So are A and B of at most TINIEST_BYTES, for
 * which it takes longer to ask. */
enum { TINY_BYTES = 128 << 10, TINIEST_BYTES = 16 << 10 };

/* From a matrix's first element to its last. */
static size_t extent_bytes(const hr_matrix *m)
{
    const int64_t last =
        (m->rows - 1) * m->row_stride + (m->cols - 1) * m->col_stride;
    return (size_t)(last + 1) * hr_type_size(m->type);
}

/* Whether copies between a matrix of the caller and the device are staged.
 * Asking takes longer than few bytes. */
static bool is_staged(hri_device *device, const hr_matrix *m, size_t tiny)
{
    const size_t bytes = extent_bytes(m);
    return bytes <= tiny ? device->info.staged
                         : hri_is_staged(device, m->data, bytes);
}

/* Whether copies of an operand, or of any of its terms, are staged. */
static bool is_any_staged(const hri_gemm_call *c, hri_device *device, int side)
{
    const hri_terms *t = c->terms;
    const hri_product *p = &c->product;
    const hr_matrix *of = t == NULL       ? (side == HRI_A ? &p->a : &p->b)
                          : side == HRI_A ? t->a
                                          : t->b;
    for (int64_t i = 0; i < (t != NULL ? t->come.count : 1); i++) {
        if (is_staged(device, &of[i], TINIEST_BYTES)) {
            return true;
        }
    }
    return false;
}

/* How most bytes travel: matrices of few bytes do not count, unless both do. */
static hri_link_use link_use_of(hri_accelerator *a, const hri_product *p,
                                const hri_staged *staged)
{
    const bool one = extent_bytes(&p->a) > TINY_BYTES;
    const bool other = extent_bytes(&p->b) > TINY_BYTES;
    const bool up = (staged->of[HRI_A] && (one || !other)) ||
                    (staged->of[HRI_B] && (other || !one));
    const bool down = extent_bytes(&p->c) > TINY_BYTES
                          ? staged->of[HRI_C]
                          : staged->of[HRI_C] && up;
    return hri_model_link_use(a, up, down);
}

/* Set the links to their rates beside each other. */
static void gather_links(hri_gemm_call *c)
{
    const hri_product *p = &c->product;
    for (uint32_t i = 0; i < c->count; i++) {
        hri_device *device = c->accelerators[i]->device;
        const hri_staged staged = {{is_any_staged(c, device, HRI_A),
                                    is_any_staged(c, device, HRI_B),
                                    is_staged(device, &p->c, TINY_BYTES)}};
        c->staged[i] = staged;
        c->links[i] = link_use_of(c->accelerators[i], p, &staged);
    }
    hri_model_link_uses(c->context, c->links, c->count);
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_link_use *link = &c->links[i];
        hri_plan_accelerator *f = &c->inputs[i];
        f->up.rate = link->beside.up;
        f->down.rate = link->beside.down;
        f->both.rate = link->beside.both;
        if (f->both.rate > 0.0) { /* copy pools pack rows into chunks */
            const double copy_pools = hri_model_staged_copy;
            const double slow = hri_model_one_thread;
            f->up.start = link->staged_up ? copy_pools : f->up.start;
            f->down.start = link->staged_down ? copy_pools : f->down.start;
            f->up.few = link->staged_up ? slow : f->up.rate;
            f->down.few = link->staged_down ? slow : f->down.rate;
            f->up.alone = link->staged_up ? 0.0 : link->alone.up;
            f->down.alone = link->staged_down ? 0.0 : link->alone.down;
            f->both.alone =
                f->up.alone > 0 && f->down.alone > 0 ? link->alone.both : 0.0;
        } else {
            f->up.start = f->down.start = 0.0;
        }
    }
}

/* Find which accelerators share a device, and which copy from each other. */
static void gather_groups(hri_gemm_call *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_accelerator *a = c->accelerators[i];
        for (uint32_t j = 0; j < i; j++) {
            const hri_accelerator *other = c->accelerators[j];
            if (hri_accelerators_same_kind(a, other)) {
                c->inputs[i].device = c->inputs[j].device;
            }
            if (!a->in_place && !other->in_place &&
                a->device->ops->is_peer(a->device, other->device)) {
                c->inputs[i].peers = c->inputs[j].peers;
            }
        }
    }
}

/* Whether the lines of a matrix, rows or columns, lie without gaps, here and in
 * slots. */
static bool is_dense(const hr_matrix *m)
{
    const bool by_rows = m->col_stride == 1;
    const int64_t line = by_rows ? m->cols : m->rows;
    return (by_rows ? m->row_stride : m->col_stride) == line &&
           hri_slot_pitch(line) == line;
}

/* Where roundings depend on where k is cut: see hri_gemm in hal.h. */
static int64_t grain_of(const hri_product *p)
{
    return p->compute == HR_COMPUTE_REPRODUCIBLE ? HRI_ORDERED_DEPTH
           : p->compute == HR_COMPUTE_PRECISE    ? hri_precise_depth(p->a.type)
                                                 : 0;
}

static hr_status make_plan(hri_gemm_call *c)
{
    const hri_product *p = &c->product;
    const bool sums = c->terms != NULL;
    hri_gemm_state *state = hri_gemm_state_of(c->context);
    hr_type type = p->a.type, c_type = p->c.type;
    hri_plan_shape shape = {
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .size = (uint32_t)hr_type_size(type),
        .c_size = (uint32_t)hr_type_size(c_type),
        .flops = hri_product_flops(type, 1, 1, 1),
        .reads_result = hri_reads_result(p),
        .whole_k = c_type == HR_F16 || c_type == HR_BF16,
        .grain = grain_of(p),
        .dense = {!sums && is_dense(&p->a), !sums && is_dense(&p->b),
                  is_dense(&p->c)}, /* terms need not be dense */
        .by_columns = {p->a.col_stride != 1, p->b.col_stride != 1},
        .tf32 = p->compute == HR_COMPUTE_TF32,
        .precise = p->compute == HR_COMPUTE_PRECISE ? type : 0,
        .terms = sums ? c->terms->come.count : 0,
        .bounds = sums ? c->terms->bounds : NULL,
    };
    uint64_t least = hri_plan_min_memory(&shape);
    for (uint32_t i = 0; i < c->count; i++) {
        HRI_TRY(gather_one(c, i, least));
    }
    gather_links(c);
    gather_groups(c);
    return sums || state == NULL
               ? hri_plan_create(&shape, c->inputs, c->count, &c->plan)
               : hri_plans_get(&state->plans, &shape, c->inputs, c->count,
                               &c->plan);
}

hr_status hri_call_plan(hri_gemm_call *c)
{
    HRI_TRY(choose_accelerators(c));
    if (!hri_has_product(&c->product)) {
        return HR_OK;
    }
    for (;;) {
        hri_error error = {0};
        hri_error_keep(&error, make_plan(c));
        /* measuring may find that an accelerator is lost */
        if (error.status != HR_ERROR_LOST || !leave_out_lost(c)) {
            return hri_error_raise(&error);
        }
    }
}

void hri_call_close(hri_gemm_call *c)
{
    hri_plan_destroy(c->plan);
    free(c->accelerators);
    free(c->inputs);
    free(c->links);
    free(c->staged);
    c->plan = NULL;
    c->accelerators = NULL;
    c->inputs = NULL;
    c->links = NULL;
    c->staged = NULL;
    c->count = 0;
}
