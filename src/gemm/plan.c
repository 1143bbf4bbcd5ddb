/* SPDX-License-Identifier: MIT */
/* Which accelerators take part, and making the plan. Sets are estimated: all
 * accelerators with memory of their own, fewer of them, the host in place, and
 * all together. A larger set must pay (hri_model_pays). Another one need only
 * be preferred (hri_model_prefers). So accelerators whose small memory would
 * hold the others up are left out. */
#include "gemm/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "model/cost.h"
#include "model/pays.h"

hri_plan *hri_plan_hold(hri_plan *plan)
{
    atomic_fetch_add(&plan->holders, 1);
    return plan;
}

void hri_plan_destroy(hri_plan *plan)
{
    if (plan == NULL || atomic_fetch_sub(&plan->holders, 1) > 0) {
        return;
    }
    hri_flow_finish(&plan->flow);
    free(plan->boxes);
    free(plan->bounds);
    free(plan);
}

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for the plan");
}

/* ---- sets of accelerators */

/* A set of accelerators, and what follows from it. */
typedef struct candidate_set {
    uint32_t count;
    uint32_t *members;                  /* indices among all accelerators */
    hri_plan_accelerator *accelerators; /* of the members */
    double *speeds;
    hri_tile_box *boxes;
    hri_partition *partition;
    hri_blockings blockings;
} candidate_set;

static double seconds_of(const candidate_set *set)
{
    return set->blockings.of[0].seconds;
}

static void candidate_set_finish(candidate_set *set)
{
    free(set->members);
    free(set->accelerators);
    free(set->speeds);
    free(set->boxes);
    hri_partition_destroy(set->partition);
    *set = (candidate_set){0};
}

/* Allocate for `count` accelerators. */
static hr_status candidate_set_init(candidate_set *set, uint32_t count)
{
    *set = (candidate_set){.count = count};
    set->members = calloc(count, sizeof *set->members);
    set->accelerators = calloc(count, sizeof *set->accelerators);
    set->speeds = calloc(count, sizeof *set->speeds);
    set->boxes = calloc(count, sizeof *set->boxes);
    if (set->members == NULL || set->accelerators == NULL ||
        set->speeds == NULL || set->boxes == NULL) {
        candidate_set_finish(set);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "gemm: no memory to plan for %u accelerator%s", count,
                        hri_plural(count));
    }
    return HR_OK;
}

static hr_status candidate_set_choose(candidate_set *set,
                                      const hri_plan_shape *shape,
                                      const hri_plan_accelerator *all)
{
    for (uint32_t i = 0; i < set->count; i++) {
        set->accelerators[i] = all[set->members[i]];
        set->accelerators[i].memory -=
            set->accelerators[i].in_place ? 0 : set->accelerators[i].own;
        set->speeds[i] = set->accelerators[i].rate;
    }
    HRI_TRY(hri_partition_create(set->speeds, set->count, (double)shape->m,
                                 (double)shape->n, &set->partition));
    return hri_blocking_choose(shape, set->accelerators, set->count,
                               set->partition, set->boxes, &set->blockings);
}

bool hri_plan_fits(const hri_plan_accelerator *a, uint64_t least)
{
    return a->in_place || (a->memory >= least + a->own && a->buffer >= least);
}

/* List accelerators with enough memory that work in place, or do not, as
 * wanted. The one with the most memory for its speed comes first. Returns how
 * many there are. */
static uint32_t list_candidates(const hri_plan_shape *shape,
                                const hri_plan_accelerator *all, uint32_t count,
                                bool in_place, bool others,
                                hri_ranked *candidates)
{
    uint64_t least = hri_plan_min_memory(shape);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hri_plan_accelerator *a = &all[i];
        if ((a->in_place ? in_place : others) && hri_plan_fits(a, least)) {
            double worth = a->in_place ? HUGE_VAL : (double)a->memory / a->rate;
            candidates[found++] = (hri_ranked){worth, i};
        }
    }
    hri_rank(candidates, found);
    return found;
}

static int lowest_first(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

/* Whether the set should replace an earlier one. A larger set must pay, also
 * because the host has less arithmetic to give when it moves data for
 * accelerators. */
static bool is_better(const candidate_set *set, const candidate_set *best)
{
    return set->count > best->count
               ? hri_model_pays(seconds_of(set), seconds_of(best))
               : hri_model_prefers(seconds_of(set), seconds_of(best));
}

/* Find the fastest set of the candidates. Accelerators with little memory, or
 * with little to do, may delay the others, so smaller sets are tried, too.
 * *best is kept unless another one is better. */
static hr_status improve_set(const hri_plan_shape *shape,
                             const hri_plan_accelerator *all,
                             const hri_ranked *candidates, uint32_t count,
                             candidate_set *best)
{
    double flops =
        shape->flops * (double)shape->m * (double)shape->n * (double)shape->k;
    for (uint32_t n = count; n > 0; n = n * 3 / 4) {
        double rate = 0.0;
        for (uint32_t i = 0; i < n; i++) {
            rate += all[candidates[i].index].rate;
        }
        if (best->count > 0 && flops / rate > seconds_of(best)) {
            break; /* even smaller sets are not faster */
        }
        candidate_set set;
        HRI_TRY(candidate_set_init(&set, n));
        for (uint32_t i = 0; i < n; i++) {
            set.members[i] = candidates[i].index;
        }
        qsort(set.members, n, sizeof *set.members, lowest_first);
        const hr_status status = candidate_set_choose(&set, shape, all);
        if (status == HR_OK && (best->count == 0 || is_better(&set, best))) {
            candidate_set_finish(best);
            *best = set;
            continue;
        }
        candidate_set_finish(&set);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

/* Whether all accelerators together could be worth it instead of the best set
 * so far. What the others compute in its time is the most that they can take
 * from it. Searching for blocks of many takes milliseconds. */
static bool may_pay(const hri_plan_shape *shape,
                    const hri_plan_accelerator *all, uint32_t count,
                    const candidate_set *best)
{
    const double flops =
        shape->flops * (double)shape->m * (double)shape->n * (double)shape->k;
    double more = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        more += all[i].rate;
    }
    for (uint32_t i = 0; i < best->count; i++) {
        more -= best->speeds[i];
    }
    const double seconds = seconds_of(best);
    return hri_model_pays(seconds / (1.0 + seconds * more / flops), seconds);
}

static hr_status too_little_memory(const hri_plan_shape *shape,
                                   const hri_plan_accelerator *all,
                                   uint32_t count)
{
    const uint64_t least = hri_plan_min_memory(shape);
    uint64_t needed = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t usable =
            all[i].memory < all[i].buffer ? all[i].memory : all[i].buffer;
        uint64_t need = least + all[i].own;
        most = usable > most ? usable : most;
        needed = need < needed ? need : needed;
    }
    return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                    "gemm: the least working set is %llu bytes, but %s %llu "
                    "byte%s",
                    (unsigned long long)needed,
                    count == 1 ? "the accelerator may use only"
                               : "no accelerator may use more than",
                    (unsigned long long)most, hri_plural(most));
}

/* Find the fastest set: accelerators with their own memory, the host in place,
 * or all together. list: room for all. */
static hr_status find_best(const hri_plan_shape *shape,
                           const hri_plan_accelerator *all, uint32_t count,
                           hri_ranked *list, candidate_set *best)
{
    uint32_t others = list_candidates(shape, all, count, false, true, list);
    HRI_TRY(improve_set(shape, all, list, others, best));
    uint32_t in_place =
        shape->terms > 0
            ? 0 /* C does not leave the host: terms are products of their own */
            : list_candidates(shape, all, count, true, false, list);
    HRI_TRY(improve_set(shape, all, list, in_place, best));
    if (others > 0 && in_place > 0 && may_pay(shape, all, count, best)) {
        list_candidates(shape, all, count, true, true, list);
        HRI_TRY(improve_set(shape, all, list, others + in_place, best));
    }
    return best->count > 0 ? HR_OK : too_little_memory(shape, all, count);
}

static hr_status choose_candidate_set(const hri_plan_shape *shape,
                                      const hri_plan_accelerator *all,
                                      uint32_t count, candidate_set *best)
{
    hri_ranked *list = calloc(count, sizeof *list);
    if (list == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "gemm: no memory to plan for %u accelerator%s", count,
                        hri_plural(count));
    }
    *best = (candidate_set){0};
    const hr_status status = find_best(shape, all, count, list, best);
    free(list);
    if (status != HR_OK) {
        candidate_set_finish(best);
    }
    return status;
}

/* ---- the plan of a set */

/* Whether the share is wide enough to pack A: packing a panel takes as long as
 * it saves on some 3,000 columns of C (2 per cent of 51 TFLOP/s in float,
 * at 3.5 TB/s). */
static bool is_wide(const hri_plan *plan, hri_tile_box r)
{
    enum { WIDE = 4096 };
    return hri_plan_col(plan, r.col1) - hri_plan_col(plan, r.col0) >= WIDE;
}

/* Add slots for tiles on their way home, beyond those of the blocking. At the
 * end many tiles are finished at once, and products then need not wait for a
 * slot. Each tile is complete after one product. */
static void add_tiles(const hri_plan *plan, uint64_t memory, int64_t tiles,
                      hri_flow_share *share)
{
    enum { MAX_TILES = 16 };
    uint64_t one = plan->flow.slot_bytes[HRI_C];
    int64_t most = hri_min(tiles, MAX_TILES);
    while (share->slots[HRI_C] < most && share->memory + one <= memory) {
        share->slots[HRI_C]++;
        share->memory += one;
    }
}

static void fill_share(const hri_plan *plan, const candidate_set *set,
                       uint32_t i, hri_flow_share *share)
{
    const hri_tile_box r = set->boxes[i];
    const int64_t rows = r.row1 - r.row0, cols = r.col1 - r.col0;
    int64_t slots[3];
    hri_blocking_slots(&plan->blocking, rows, cols, slots);
    *share = (hri_flow_share){.accelerator = set->members[i],
                              .in_place = set->accelerators[i].in_place};
    for (int side = HRI_A; side <= HRI_C && !share->in_place; side++) {
        share->slots[side] = (int32_t)slots[side];
    }
    const uint64_t memory = set->accelerators[i].memory;
    share->packed[HRI_A] = share->packed[HRI_B] =
        !share->in_place && plan->flow.must_pack;
    /* with k in chunks, the sum so far lies in a slot of the victim's */
    share->can_steal = plan->blocking.chunks == 1 && set->count > 1;
    share->can_steal =
        share->can_steal &&
        (share->in_place || hri_flow_memory(&plan->flow, share) <= memory);
    if (!share->in_place && !plan->flow.must_pack &&
        set->accelerators[i].packed && is_wide(plan, r)) {
        share->packed[HRI_A] = true;
        share->packed[HRI_A] = hri_flow_memory(&plan->flow, share) <= memory;
    }
    share->memory = hri_flow_memory(&plan->flow, share);
    if (plan->blocking.chunks == 1 && !share->in_place) {
        add_tiles(plan, memory, rows * cols, share);
    }
}

static hr_status fill_shares(hri_plan *plan, const candidate_set *set)
{
    plan->flow.shares = calloc(set->count, sizeof *plan->flow.shares);
    plan->boxes = calloc(set->count, sizeof *plan->boxes);
    if (plan->flow.shares == NULL || plan->boxes == NULL) {
        return no_memory();
    }
    hri_partition_boxes(set->partition, plan->blocking.rows,
                        plan->blocking.cols, set->boxes);
    for (uint32_t i = 0; i < set->count; i++) {
        hri_tile_box r = set->boxes[i];
        if (r.row1 > r.row0 && r.col1 > r.col0) {
            plan->boxes[plan->flow.share_count] = r;
            fill_share(plan, set, i,
                       &plan->flow.shares[plan->flow.share_count++]);
        }
    }
    return HR_OK;
}

/* Add up all shares, and find what takes longest. */
static void sum_up(hri_plan *plan, const hri_plan_accelerator *all)
{
    double compute = 0.0, link = 0.0;
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        hri_flow_share *share = &plan->flow.shares[i];
        const hri_plan_accelerator *a = &all[share->accelerator];
        share->seconds = share->flops / a->rate;
        compute = fmax(compute, share->seconds);
        link = fmax(link, hri_cost_bytes((double)share->up, a->up.rate));
        link = fmax(link, hri_cost_bytes((double)share->down, a->down.rate));
        link = fmax(link, hri_cost_bytes((double)(share->up + share->down),
                                         a->both.rate));
        plan->up += share->up;
        plan->down += share->down;
        plan->peer += share->peer;
    }
    plan->link_bound = link > compute;
}

/* The plan outlives the caller's bounds. */
static hr_status keep_bounds(hri_plan *plan)
{
    const size_t bytes = (size_t)(plan->shape.terms + 1) * sizeof(int64_t);
    if (plan->shape.terms == 0) {
        return HR_OK;
    }
    plan->bounds = malloc(bytes);
    if (plan->bounds == NULL) {
        return no_memory();
    }
    memcpy(plan->bounds, plan->shape.bounds, bytes);
    plan->shape.bounds = plan->blocking.bounds = plan->bounds;
    return HR_OK;
}

/* Make the plan of a set with one of its blockings. The caller destroys *out,
 * also after an error. */
static hr_status make_plan(const hri_plan_shape *shape,
                           const hri_plan_accelerator *all,
                           const candidate_set *set,
                           const hri_blocking *blocking, hri_plan **out)
{
    hri_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return no_memory();
    }
    plan->shape = *shape;
    plan->blocking = *blocking;
    plan->tile_rows = blocking->block_rows * blocking->rows;
    plan->tile_cols = blocking->block_cols * blocking->cols;
    plan->flow = (hri_flow){.unit_count = plan->tile_rows * plan->tile_cols,
                            .chunks = blocking->chunks,
                            .reads_result = shape->reads_result,
                            .few = hri_is_few(shape),
                            .seconds = blocking->seconds};
    const hri_slot_bytes bytes = hri_blocking_slot_bytes(shape, blocking);
    memcpy(plan->flow.slot_bytes, bytes.of, sizeof bytes.of);
    memcpy(plan->flow.packed_bytes, bytes.packed, sizeof bytes.packed);
    plan->flow.scratch_bytes = bytes.scratch;
    plan->flow.must_pack = shape->precise != 0;
    *out = plan;
    HRI_TRY(keep_bounds(plan));
    HRI_TRY(fill_shares(plan, set));
    return hri_schedule(plan, all);
}

/* The seconds to compare plans by. With k in chunks the last tiles cannot be
 * stolen, which adds a risk, and so do flat tiles. */
static double seconds_with_risk(const candidate_set *set, const hri_plan *plan)
{
    double least = HUGE_VAL, most = 0.0;
    for (uint32_t i = 0; i < set->count; i++) {
        least = fmin(least, set->accelerators[i].rate);
        most = fmax(most, set->accelerators[i].rate);
    }
    bool alone = plan->blocking.chunks == 1 || set->count == 1;
    return plan->flow.seconds * (alone ? 1.0 : hri_cost_risk(least, most)) *
           hri_cost_flat_tiles((double)hri_plan_row(plan, 1),
                               (double)hri_plan_col(plan, 1));
}

/* The part of a product's time that may be spent on comparing plans. */
static const double planning_share = 0.01;

static int fewest_tasks_first(const void *x, const void *y)
{
    const hri_blocking *const *a = x, *const *b = y;
    const double left = hri_blocking_tasks(*a), right = hri_blocking_tasks(*b);
    return left < right ? -1 : left > right;
}

/* Make plans of a set and walk through them, those with the fewest tasks first,
 * as long as that takes little of the product's time. Keep the fastest in
 * *best. *estimated: the blocking with the least estimate was not among them.
 */
static hr_status compare_plans(const hri_plan_shape *shape,
                               const hri_plan_accelerator *all,
                               const candidate_set *set, hri_plan **best,
                               bool *estimated)
{
    const hri_blockings *list = &set->blockings;
    const hri_blocking *order[HRI_BLOCKINGS];
    double left = planning_share * list->of[0].seconds;
    bool in_place = set->count == 1 && set->accelerators[0].in_place;
    *estimated = true;
    if (set->count > HRI_FORECAST_SHARES || in_place) {
        return HR_OK;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        order[i] = &list->of[i];
    }
    qsort(order, list->count, sizeof *order, fewest_tasks_first);
    for (uint32_t i = 0; i < list->count; i++) {
        double cost = hri_forecast_cost(order[i], set->count);
        hri_plan *plan = NULL;
        if (cost > left) {
            continue;
        }
        if (make_plan(shape, all, set, order[i], &plan) != HR_OK) {
            hri_plan_destroy(plan);
            continue;
        }
        left -= cost;
        *estimated = *estimated && order[i] != &list->of[0];
        const hr_status status = hri_forecast(plan, all);
        if (status == HR_OK &&
            (*best == NULL ||
             seconds_with_risk(set, plan) < seconds_with_risk(set, *best))) {
            hri_plan *slower = *best;
            *best = plan;
            plan = slower;
        }
        hri_plan_destroy(plan);
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

/* Make the plan of a set. An estimate alone must be much better than what a
 * forecast says. */
static hr_status choose_plan(const hri_plan_shape *shape,
                             const hri_plan_accelerator *all,
                             const candidate_set *set, hri_plan **best)
{
    const hri_blocking *first = &set->blockings.of[0];
    bool estimated;
    HRI_TRY(compare_plans(shape, all, set, best, &estimated));
    if (*best != NULL &&
        !(estimated && hri_model_pays(first->seconds, (*best)->flow.seconds))) {
        return HR_OK;
    }
    hri_plan_destroy(*best);
    *best = NULL;
    return make_plan(shape, all, set, first, best);
}

hr_status hri_plan_create(const hri_plan_shape *shape,
                          const hri_plan_accelerator *accelerators,
                          uint32_t count, hri_plan **out)
{
    if (count == 0) {
        return hri_fail(HR_ERROR_INVALID, "gemm: no accelerators");
    }
    candidate_set set;
    hri_plan *best = NULL;
    HRI_TRY(choose_candidate_set(shape, accelerators, count, &set));
    const hr_status status = choose_plan(shape, accelerators, &set, &best);
    candidate_set_finish(&set);
    if (status != HR_OK) {
        hri_plan_destroy(best);
        return status;
    }
    sum_up(best, accelerators);
    *out = best;
    return HR_OK;
}
