/* SPDX-License-Identifier: MIT */
/* The plans of a context's last products. A plan is a pure function of its
 * inputs, so a product with the same ones needs no other. */
#include "gemm/plans.h"

#include <stdlib.h>
#include <string.h>

enum {
    PLANS = 16,
    MAX_TASKS = 4096 /* of a plan that is kept: longer ones take memory, and
                        little of their product's time */
};

/* A plan, and what it was made from. */
typedef struct kept {
    hri_plan_shape shape;
    hri_plan_accelerator *inputs; /* [count] */
    uint32_t count;
    hri_plan *plan; /* held */
} kept;

struct hri_plans {
    kept of[PLANS]; /* the last one used is the first */
    uint32_t count;
};

static bool same_shape(const hri_plan_shape *a, const hri_plan_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->size == b->size &&
           a->c_size == b->c_size && a->flops == b->flops &&
           a->reads_result == b->reads_result && a->whole_k == b->whole_k &&
           a->grain == b->grain && a->tf32 == b->tf32 &&
           a->precise == b->precise &&
           memcmp(a->dense, b->dense, sizeof a->dense) == 0 &&
           memcmp(a->by_columns, b->by_columns, sizeof a->by_columns) == 0;
}

static bool same_way(const hri_way *a, const hri_way *b)
{
    return a->rate == b->rate && a->alone == b->alone && a->start == b->start &&
           a->few == b->few;
}

static bool same_rates(const double *a, const double *b)
{
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

static bool same_input(const hri_plan_accelerator *a,
                       const hri_plan_accelerator *b)
{
    return a->memory == b->memory && a->own == b->own &&
           a->buffer == b->buffer && a->rate == b->rate &&
           same_rates(a->tile_rates, b->tile_rates) &&
           same_way(&a->up, &b->up) && same_way(&a->down, &b->down) &&
           same_way(&a->both, &b->both) && a->task == b->task &&
           a->start == b->start && a->brief == b->brief &&
           a->single == b->single && a->sharers == b->sharers &&
           a->peers == b->peers && a->device == b->device &&
           a->in_place == b->in_place && a->packed == b->packed;
}

static bool is_of(const kept *k, const hri_plan_shape *shape,
                  const hri_plan_accelerator *inputs, uint32_t count)
{
    if (k->count != count || !same_shape(&k->shape, shape)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!same_input(&k->inputs[i], &inputs[i])) {
            return false;
        }
    }
    return true;
}

static void drop_kept(kept *k)
{
    hri_plan_destroy(k->plan);
    free(k->inputs);
    *k = (kept){0};
}

/* Put one in front of the first `before`. */
static void put_first(hri_plans *plans, kept one, uint32_t before)
{
    memmove(&plans->of[1], &plans->of[0], before * sizeof *plans->of);
    plans->of[0] = one;
}

static hri_plan *find_plan(hri_plans *plans, const hri_plan_shape *shape,
                           const hri_plan_accelerator *inputs, uint32_t count)
{
    for (uint32_t i = 0; plans != NULL && i < plans->count; i++) {
        const kept found = plans->of[i];
        if (is_of(&found, shape, inputs, count)) {
            put_first(plans, found, i);
            return hri_plan_hold(found.plan);
        }
    }
    return NULL;
}

static int64_t tasks_of(const hri_plan *plan)
{
    int64_t tasks = 0;
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        tasks += plan->flow.shares[i].task_count;
    }
    return tasks;
}

/* Keep a plan, in the place of the one that was not used for longest. Without
 * memory for it nothing is kept. */
static void keep_plan(hri_plans **plans, const hri_plan_shape *shape,
                      const hri_plan_accelerator *inputs, uint32_t count,
                      hri_plan *plan)
{
    if (*plans == NULL) {
        *plans = calloc(1, sizeof **plans);
    }
    kept one = {.shape = *shape, .count = count};
    one.inputs = malloc(count * sizeof *inputs);
    if (*plans == NULL || one.inputs == NULL || tasks_of(plan) > MAX_TASKS) {
        free(one.inputs);
        return;
    }
    memcpy(one.inputs, inputs, count * sizeof *inputs);
    one.plan = hri_plan_hold(plan);
    if ((*plans)->count == PLANS) {
        drop_kept(&(*plans)->of[--(*plans)->count]);
    }
    put_first(*plans, one, (*plans)->count++);
}

hr_status hri_plans_get(hri_plans **plans, const hri_plan_shape *shape,
                        const hri_plan_accelerator *inputs, uint32_t count,
                        hri_plan **plan)
{
    *plan = find_plan(*plans, shape, inputs, count);
    if (*plan != NULL) {
        return HR_OK;
    }
    HRI_TRY(hri_plan_create(shape, inputs, count, plan));
    keep_plan(plans, shape, inputs, count, *plan);
    return HR_OK;
}

void hri_plans_destroy(hri_plans *plans)
{
    for (uint32_t i = 0; plans != NULL && i < plans->count; i++) {
        drop_kept(&plans->of[i]);
    }
    free(plans);
}

/* ---- in a context */

static void destroy_state(hr_context *context)
{
    hri_plans_destroy(hri_gemm_state_of(context)->plans);
}

hri_gemm_state *hri_gemm_state_of(hr_context *context)
{
    static const hri_state_kind kind = {.bytes = sizeof(hri_gemm_state),
                                        .destroy = destroy_state};
    return hri_state_make(context, HRI_STATE_GEMM, &kind);
}
