/* SPDX-License-Identifier: MIT */
/* Which accelerators get which products of a batch. */
#include <math.h>
#include <stdlib.h>

#include "base/size.h"
#include "distribute/distribute.h"
#include "gemm/batch.h"

/* One thread shall not work longer on a product: progress and cancelling would
 * wait for it. Such products run one after the other, on all threads. */
static const double long_product = 0.25;

/* ---- how operands travel */

/* Short lines of pinned memory travel slowly; threads pack them. */
static bool is_direct(const hri_matrices *m, hri_device *device,
                      const hri_batch_side *side, int64_t first, int64_t count)
{
    enum { LINE_BYTES = 1 << 16 };
    const size_t extent = (side->lines - 1) * side->pitch + side->width;
    const bool apart = m->list == NULL && m->step >= (int64_t)extent;
    if (!apart || !device->info.staged) {
        return apart;
    }
    const bool dense = side->pitch == side->width || side->lines == 1;
    const size_t line = !dense                            ? side->width
                        : m->step == (int64_t)side->bytes ? SIZE_MAX
                                                          : side->bytes;
    const hr_matrix at = hri_matrices_at(m, first);
    return line >= LINE_BYTES && at.data != NULL &&
           device->ops->is_pinned(device, at.data,
                                  (size_t)((count - 1) * m->step) + extent);
}

void hri_batch_sides(const hri_batch_call *call, hri_device *device,
                     int64_t first, int64_t count, hri_batch_side sides[3])
{
    const bool reads = hri_reads_result(&call->one.product);
    for (int i = 0; i < 3; i++) {
        const hr_matrix *m = &call->operands[i].first;
        const size_t size = hr_type_size(m->type);
        const bool row_major = m->col_stride == 1;
        hri_batch_side *s = &sides[i];
        *s = (hri_batch_side){
            .shared = i < 2 && hri_matrices_are_shared(&call->operands[i]),
            .width = (size_t)(row_major ? m->cols : m->rows) * size,
            .lines = (size_t)(row_major ? m->rows : m->cols),
            .pitch = (size_t)(row_major ? m->row_stride : m->col_stride) * size,
        };
        s->bytes = s->width * s->lines;
        /* what is read of C must stay until its group is complete: another
         * accelerator may have to begin anew */
        s->direct = !s->shared && !(i == 2 && reads) &&
                    is_direct(&call->operands[i], device, s, first, count);
    }
}

/* ---- predictions */

typedef struct planning {
    const hri_batch_call *call;
    const hri_gemm_call *planned;
    int64_t first, count;
    hri_candidate *candidates;
    hri_link_use *links;    /* of a set */
    hri_share *shares;      /* of a set */
    double *seconds;        /* of a set: for a product */
    double *fill;           /* of a set: to bring a product there and home */
    hri_accelerator **list; /* of a set */
} planning;

static hri_accelerator *accelerator_of(const planning *p, uint32_t index)
{
    return p->planned->accelerators[index];
}

/* Bytes of a product in a slot, and those that stay. */
static void bytes_of(const hri_batch_side sides[3], uint64_t *slot,
                     uint64_t *shared)
{
    *slot = *shared = 0;
    for (int i = 0; i < 3; i++) {
        *(sides[i].shared ? shared : slot) += sides[i].bytes;
    }
}

/* The most products that a slot may hold; 0: the accelerator's memory holds not
 * even one. */
static int64_t most_group(const planning *p, uint32_t index)
{
    const hri_plan_accelerator *f = &p->planned->inputs[index];
    const uint64_t padding = 16 * (uint64_t)HRI_BATCH_ALIGNMENT;
    hri_batch_side sides[3];
    uint64_t slot, shared;
    hri_batch_sides(p->call, accelerator_of(p, index)->device, p->first,
                    p->count, sides);
    bytes_of(sides, &slot, &shared);
    if (f->memory < f->own + shared + padding || shared > f->buffer) {
        return 0;
    }
    const uint64_t room = f->memory - f->own - shared - padding;
    const uint64_t of_slot = room < f->buffer ? room : f->buffer;
    return (int64_t)(of_slot / slot);
}

/* Products that travel together: so many bytes that starting a copy does not
 * matter, and so few that groups of a range overlap. */
static int64_t group_of(const planning *p, uint32_t index, int64_t count)
{
    enum { BYTES = 16 << 20, MIN_BYTES = 1 << 20, GROUPS = 8 };
    hri_batch_side sides[3];
    uint64_t slot, shared;
    hri_batch_sides(p->call, accelerator_of(p, index)->device, p->first,
                    p->count, sides);
    bytes_of(sides, &slot, &shared);
    const int64_t most = most_group(p, index);
    int64_t group = hri_ceil_div(count, GROUPS);
    group = hri_min(group, hri_max(BYTES / (int64_t)slot, 1));
    group = hri_max(group, MIN_BYTES / (int64_t)slot);
    group =
        hri_min(group, most >= HRI_BATCH_SLOTS ? most / HRI_BATCH_SLOTS : 1);
    return hri_max(hri_min(group, count), 1);
}

/* How many of these the accelerator's device is. */
static double count_sharing(hri_accelerator *const *list, uint32_t count,
                            const hri_accelerator *a)
{
    return fmax(hri_accelerators_sharing(list, count, a), 1.0);
}

/* How many work on the accelerator's device beside each other, itself counted.
 * Virtual accelerators are there to be tried: as in hr_gemm, each has its share
 * of the device, whether the others work or not. */
static double count_beside(const planning *p, uint32_t count,
                           const hri_accelerator *a)
{
    uint32_t siblings = 0;
    for (uint32_t i = 0; i < p->planned->count; i++) {
        const hri_accelerator *other = accelerator_of(p, i);
        siblings += !other->in_place && hri_accelerators_same_kind(a, other);
    }
    const double of_set = count_sharing(p->list, count, a);
    return a->in_place ? of_set : fmax(of_set, siblings);
}

/* flop/s of the accelerator's device when one works on it. */
static double rate_of(const planning *p, uint32_t index)
{
    const hri_gemm_call *c = p->planned;
    return c->inputs[index].rate *
           count_sharing(c->accelerators, c->count, c->accelerators[index]);
}

static uint32_t threads_of(const hri_accelerator *a)
{
    return a->device->info.compute_units > 0 ? a->device->info.compute_units
                                             : 1;
}

/* Seconds of arithmetic for a product, when so many share the device. */
static double arithmetic(const planning *p, uint32_t index, double beside)
{
    const hri_product *one = &p->call->one.product;
    const double fraction = /* of the rate */
        hri_cost_batch((double)one->m, (double)one->n, (double)one->k);
    return hri_flops_of(one) * beside / (rate_of(p, index) * fraction);
}

/* Seconds for a product where the bytes of others travel, too. *fill: those of
 * them that nothing hides at the start and the end. */
static double on_device(const planning *p, uint32_t index, double beside,
                        const hri_link_use *flow, double *fill)
{
    const hri_product *one = &p->call->one.product;
    const bool reads = hri_reads_result(one);
    hri_batch_side s[3];
    hri_batch_sides(p->call, accelerator_of(p, index)->device, p->first,
                    p->count, s);
    const double down = (double)s[2].bytes;
    const double up = (s[0].shared ? 0.0 : (double)s[0].bytes) +
                      (s[1].shared ? 0.0 : (double)s[1].bytes) +
                      (reads ? down : 0.0);
    const double carry_up = hri_cost_bytes(up, flow->beside.up);
    const double carry_down = hri_cost_bytes(down, flow->beside.down);
    double seconds = arithmetic(p, index, beside);
    seconds = fmax(seconds, fmax(carry_up, carry_down));
    *fill = carry_up + carry_down;
    return fmax(seconds, hri_cost_bytes(up + down, flow->beside.both));
}

/* Seconds for a product in place. Beside threads that pack for others it gets
 * nothing: they need its CPUs and its memory. On an H100 with 16 CPUs sharing
 * took 1.1 to 1.4 times as long as the better of the two alone, for products of
 * 128 and 256 (November 2026). */
static double in_place(const planning *p, uint32_t index, double beside,
                       bool packing)
{
    return packing ? INFINITY
                   : arithmetic(p, index, beside) +
                         hri_model_small_product /
                             threads_of(accelerator_of(p, index));
}

/* Seconds for a product on each of a set. */
static void predict_products(planning *p, const hri_candidate *set,
                             uint32_t count)
{
    bool packing = false;
    for (uint32_t i = 0; i < count; i++) {
        hri_accelerator *a = p->list[i] = accelerator_of(p, set[i].index);
        hri_batch_side s[3];
        hri_batch_sides(p->call, a->device, p->first, p->count, s);
        const bool staged = a->device->info.staged && !a->in_place;
        p->links[i] =
            hri_model_link_use(a, staged && (!s[0].direct || !s[1].direct),
                               staged && !s[2].direct);
        packing = packing || p->links[i].staged_up || p->links[i].staged_down;
    }
    hri_model_link_uses(p->planned->context, p->links, count);
    for (uint32_t i = 0; i < count; i++) {
        hri_accelerator *a = p->list[i];
        const double beside = count_beside(p, count, a);
        p->fill[i] = 0.0;
        p->seconds[i] = a->in_place ? in_place(p, set[i].index, beside, packing)
                                    : on_device(p, set[i].index, beside,
                                                &p->links[i], &p->fill[i]);
    }
}

/* Give each of a set its range, in proportion to speed. */
static hr_status distribute(planning *p, const hri_candidate *set,
                            uint32_t count)
{
    bool held;
    predict_products(p, set, count);
    for (uint32_t i = 0; i < count; i++) {
        p->shares[i] =
            (hri_share){.weight = 1.0 / p->seconds[i], .most = INT64_MAX};
    }
    const hri_distribution d = {.caller = "gemm batch",
                                .units = p->count,
                                .grain = 1,
                                .shares = p->shares,
                                .count = count};
    return hri_distribute(&d, &held);
}

/* The least group of the devices of a set: all of them have it, so that each
 * has room for what another one had. */
static int64_t least_group(const planning *p, const hri_candidate *set,
                           uint32_t count)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t products = p->shares[i].count;
        if (products > 0 && !accelerator_of(p, set[i].index)->in_place) {
            least = hri_min(least, group_of(p, set[i].index, products));
        }
    }
    return least;
}

/* What starting adds: threads, the groups that travel alone, and what each
 * group takes to be enqueued. */
static double start_of(const planning *p, uint32_t index, int64_t count,
                       int64_t group, double fill)
{
    const hri_plan_accelerator *f = &p->planned->inputs[index];
    const double start = hri_model_executor(accelerator_of(p, index)->in_place);
    if (accelerator_of(p, index)->in_place) {
        return start;
    }
    const double groups = (double)hri_ceil_div(count, group);
    return start + fill * (double)group +
           groups * (f->task + 2.0 * f->up.start + f->down.start);
}

static hr_status predict_set(void *data, const hri_candidate *set,
                             uint32_t count, double *seconds)
{
    planning *p = data;
    HRI_TRY(distribute(p, set, count));
    const int64_t group = least_group(p, set, count);
    *seconds = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const hri_accelerator *a = accelerator_of(p, set[i].index);
        const int64_t threads = a->in_place ? (int64_t)threads_of(a) : 1;
        const int64_t products = p->shares[i].count;
        if (products > 0) { /* the last ones leave threads without work */
            *seconds = fmax(
                *seconds,
                p->seconds[i] * (double)hri_round_up(products, threads) +
                    start_of(p, set[i].index, products, group, p->fill[i]));
        }
    }
    return HR_OK;
}

/* ---- the plan */

/* Accelerators that can take part: in place, or with memory for a product. */
static hr_status list_candidates(planning *p, uint32_t *count)
{
    *count = 0;
    for (uint32_t i = 0; i < p->planned->count; i++) {
        const hri_accelerator *a = accelerator_of(p, i);
        if (a->in_place || most_group(p, i) > 0) {
            hri_candidate one = {.index = i,
                                 .device = p->planned->inputs[i].device};
            HRI_TRY(predict_set(p, &one, 1, &one.seconds));
            p->candidates[(*count)++] = one;
        }
    }
    return HR_OK;
}

/* Whether one product would keep a thread, or an accelerator that takes whole
 * products, busy for too long. */
static bool is_long(const planning *p, const hri_candidate *set, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const hri_accelerator *a = accelerator_of(p, set[i].index);
        const double seconds =
            p->seconds[i] * (a->in_place ? threads_of(a) : 1);
        if (isfinite(seconds) && seconds > long_product) {
            return true;
        }
    }
    return false;
}

/* The share of candidate i. In place a group is what runs between two looks at
 * progress. */
static hri_batch_share share_of(const planning *p, uint32_t i)
{
    const uint32_t index = p->candidates[i].index;
    const hri_accelerator *a = accelerator_of(p, index);
    const hri_share *given = &p->shares[i];
    const double tenth = 0.1 / p->seconds[i];
    hri_batch_share share = {.accelerator = index,
                             .first = p->first + given->first,
                             .count = given->count,
                             .group = given->count,
                             .slots = 1,
                             .seconds = p->seconds[i] * (double)given->count};
    if (a->in_place && tenth < (double)share.group) {
        share.group = hri_max((int64_t)tenth, 2 * (int64_t)threads_of(a));
    }
    return share;
}

/* Beside devices, groups in place are not much larger than theirs. */
static void set_groups(const planning *p, uint32_t count, hri_batch_plan *plan)
{
    const int64_t least = least_group(p, p->candidates, count);
    plan->group = least < INT64_MAX ? least : 0;
    for (uint32_t i = 0; i < plan->count && plan->group > 0; i++) {
        hri_batch_share *share = &plan->shares[i];
        const hri_accelerator *a = accelerator_of(p, share->accelerator);
        if (a->in_place) {
            const int64_t few = 2 * (int64_t)threads_of(a);
            share->group = hri_min(share->group, hri_max(least, few));
        } else {
            const int64_t room = most_group(p, share->accelerator) / least;
            share->group = least;
            share->slots = (uint32_t)hri_min(room, HRI_BATCH_SLOTS);
        }
    }
}

static hr_status fill_plan(planning *p, uint32_t count, hri_batch_plan *plan)
{
    HRI_TRY(distribute(p, p->candidates, count));
    plan->shares = calloc(count, sizeof *plan->shares);
    if (plan->shares == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm batch: out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (p->shares[i].count > 0) {
            plan->shares[plan->count++] = share_of(p, i);
        }
    }
    set_groups(p, count, plan);
    return HR_OK;
}

/* Seconds for one product after the other. In place one needs a thread of its
 * own where progress is told. */
static double each_of(const planning *p)
{
    const hri_plan *plan = p->planned->plan;
    const bool thread =
        plan->flow.shares[0].in_place && p->call->one.options.progress != NULL;
    return plan->flow.seconds + (thread ? hri_model_executor(true) : 0.0);
}

static hr_status choose_shares(planning *p, hri_batch_plan *plan)
{
    uint32_t count;
    hri_set set = {0};
    HRI_TRY(list_candidates(p, &count));
    if (count > 0) {
        HRI_TRY(hri_choose_set(p->candidates, count, predict_set, p, &set));
    }
    if (set.count == 0) {
        return HR_OK;
    }
    const double each = each_of(p) * (double)p->count;
    predict_products(p, p->candidates, set.count);
    if (hri_model_prefers(each, set.seconds) ||
        is_long(p, p->candidates, set.count)) {
        plan->seconds = each;
        return HR_OK;
    }
    plan->seconds = set.seconds;
    return fill_plan(p, set.count, plan);
}

void hri_batch_traffic(const hri_batch_call *call, const hri_batch_share *share,
                       const hri_accelerator *accelerator, uint64_t *up,
                       uint64_t *down)
{
    const bool reads = hri_reads_result(&call->one.product);
    hri_batch_side sides[3];
    *up = *down = 0;
    if (accelerator->in_place) {
        return;
    }
    hri_batch_sides(call, accelerator->device, share->first, share->count,
                    sides);
    for (int i = 0; i < 3; i++) {
        const uint64_t count = sides[i].shared ? 1 : (uint64_t)share->count;
        *up += i < 2 || reads ? count * sides[i].bytes : 0;
    }
    *down = (uint64_t)share->count * sides[2].bytes;
}

hr_status hri_batch_plan_make(const hri_batch_call *call,
                              const hri_gemm_call *planned, int64_t first,
                              int64_t count, hri_batch_plan *plan)
{
    const uint32_t most = planned->count;
    planning p = {.call = call,
                  .planned = planned,
                  .first = first,
                  .count = count,
                  .candidates = calloc(most, sizeof *p.candidates),
                  .links = calloc(most, sizeof *p.links),
                  .shares = calloc(most, sizeof *p.shares),
                  .seconds = calloc(most, sizeof *p.seconds),
                  .fill = calloc(most, sizeof *p.fill),
                  .list = calloc(most, sizeof *p.list)};
    *plan = (hri_batch_plan){.seconds =
                                 planned->plan->flow.seconds * (double)count};
    hr_status status =
        p.candidates != NULL && p.links != NULL && p.shares != NULL &&
                p.seconds != NULL && p.fill != NULL && p.list != NULL
            ? choose_shares(&p, plan)
            : hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm batch: out of memory");
    free(p.candidates);
    free(p.links);
    free(p.shares);
    free(p.seconds);
    free(p.fill);
    free(p.list);
    if (status != HR_OK) {
        free(plan->shares);
        plan->shares = NULL;
        plan->count = 0;
    }
    return status;
}
