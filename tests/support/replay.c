/* SPDX-License-Identifier: MIT */
#include "support/replay.h"

#include <stdlib.h>
#include <string.h>

typedef struct tile {
    int32_t row, col; /* row -1: the slot is free */
} tile;

/* A share under way. */
typedef struct executor {
    const hri_flow_share *share;
    int64_t *held[2]; /* [slot] delivery; -1: none */
    bool *arrived;    /* [delivery] */
    int32_t *pulls;   /* [delivery] by other shares, still to come */
    tile *tiles;      /* [slots[HRI_C]] when k is chunked */
    int64_t issued;   /* tasks */
    int64_t fed;      /* deliveries that the feeder is done with */
    int64_t next[2];  /* of those from the host, and from other shares */
} executor;

typedef struct model {
    const hri_plan *plan;
    executor *executors;
    const char *fault; /* the first thing that went wrong */
} model;

static void note_fault(model *m, const char *fault)
{
    m->fault = m->fault != NULL ? m->fault : fault;
}

static void *allocate_zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) {
        abort();
    }
    return memory;
}

static void executor_init(executor *e, const hri_flow_share *share)
{
    size_t deliveries = (size_t)share->delivery_count;
    *e = (executor){.share = share};
    for (int side = HRI_A; side <= HRI_B; side++) {
        size_t slots = (size_t)share->slots[side];
        e->held[side] = allocate_zeros(slots, sizeof(int64_t));
        memset(e->held[side], -1, slots * sizeof(int64_t));
    }
    e->arrived = allocate_zeros(deliveries, sizeof(bool));
    e->pulls = allocate_zeros(deliveries, sizeof(int32_t));
    e->tiles = allocate_zeros((size_t)share->slots[HRI_C], sizeof(tile));
    for (int32_t i = 0; i < share->slots[HRI_C]; i++) {
        e->tiles[i].row = -1;
    }
}

static void executor_finish(executor *e)
{
    free(e->held[HRI_A]);
    free(e->held[HRI_B]);
    free(e->arrived);
    free(e->pulls);
    free(e->tiles);
}

/* ---- the feeder */

/* Put delivery `number` into its slot of executor e, unless its old content is
 * still needed. */
static bool put_delivery(model *m, executor *e, int64_t number)
{
    const hri_delivery *d = &e->share->deliveries[number];
    int64_t *held = &e->held[d->side][d->slot];
    if (e->issued <= d->after || (*held >= 0 && e->pulls[*held] > 0)) {
        return false;
    }
    if (*held >= number) {
        note_fault(m, "an older delivery overwrites a newer one");
    }
    *held = number;
    e->arrived[number] = true;
    e->pulls[number] = d->puller_count;
    return true;
}

/* The next delivery in one of two ways: from the host, or from another share.
 */
static bool step_way(model *m, executor *e, bool pulls)
{
    const hri_flow_share *share = e->share;
    int64_t *next = &e->next[pulls];
    while (*next < share->delivery_count &&
           (share->deliveries[*next].source >= 0) != pulls) {
        ++*next;
    }
    if (*next == share->delivery_count) {
        return false;
    }
    const hri_delivery *d = &share->deliveries[*next];
    executor *from = pulls ? &m->executors[d->source] : NULL;
    if ((pulls && !from->arrived[d->origin]) || !put_delivery(m, e, *next)) {
        return false;
    }
    if (pulls) {
        const int32_t slot = from->share->deliveries[d->origin].slot;
        if (from->held[d->side][slot] != d->origin) {
            note_fault(m, "a panel is gone before another share has it");
        }
        from->pulls[d->origin]--;
    }
    e->fed++;
    ++*next;
    return true;
}

static bool step_feeder(model *m, executor *e)
{
    return step_way(m, e, true) || step_way(m, e, false);
}

/* ---- the compute thread */

/* Whether executor e has delivery `number` (-1: in place), panel `index` of a
 * side, where the task looks for it. */
static bool has_panel(const executor *e, const hri_task *task, int side)
{
    int64_t number = side == HRI_A ? task->a : task->b;
    if (e->share->in_place) {
        return number < 0;
    }
    const hri_delivery *d = &e->share->deliveries[number];
    return d->side == side && e->held[side][d->slot] == number &&
           d->index == (side == HRI_A ? task->row : task->col) &&
           d->chunk == task->chunk;
}

static void use_tile(model *m, executor *e, const hri_task *task)
{
    if (e->share->in_place || m->plan->blocking.chunks == 1) {
        if (!e->share->in_place && task->slot != -1) {
            note_fault(m, "a tile has a slot though k is whole");
        }
        return;
    }
    if (task->slot < 0 || task->slot >= e->share->slots[HRI_C]) {
        note_fault(m, "there is no such tile slot");
        return;
    }
    tile *t = &e->tiles[task->slot];
    if (task->chunk == 0 && t->row >= 0) {
        note_fault(m, "a tile slot is given to two tiles");
    } else if (task->chunk > 0 &&
               (t->row != task->row || t->col != task->col)) {
        note_fault(m, "a tile is not in its slot");
    }
    bool last = task->chunk == m->plan->blocking.chunks - 1;
    *t = (tile){last ? -1 : task->row, task->col};
}

static bool step_compute_thread(model *m, executor *e)
{
    if (e->issued == e->share->task_count) {
        return false;
    }
    const hri_task *task = &e->share->tasks[e->issued];
    if ((task->a >= 0 && !e->arrived[task->a]) ||
        (task->b >= 0 && !e->arrived[task->b])) {
        return false;
    }
    if (!has_panel(e, task, HRI_A) || !has_panel(e, task, HRI_B)) {
        note_fault(m, "a task does not find its panel");
    }
    use_tile(m, e, task);
    e->issued++;
    return true;
}

/* ---- the whole */

/* Thread 2 i is the feeder of share i, and 2 i + 1 its compute thread. */
static bool step_thread(model *m, uint32_t thread)
{
    executor *e = &m->executors[thread / 2];
    return thread % 2 == 0 ? step_feeder(m, e) : step_compute_thread(m, e);
}

static void run_one_at_a_time(model *m)
{
    bool any = true;
    while (any && m->fault == NULL) {
        any = false;
        for (uint32_t i = 0; i < 2 * m->plan->flow.share_count; i++) {
            any = step_thread(m, i) || any;
        }
    }
}

static void run_at_random(model *m, random_source *order)
{
    uint32_t threads = 2 * m->plan->flow.share_count, stuck = 0;
    while (stuck < threads && m->fault == NULL) {
        uint64_t number = random_next(order);
        uint32_t thread = (uint32_t)(number % threads);
        /* from there on, the first that can go on */
        for (stuck = 0; stuck < threads && !step_thread(m, thread); stuck++) {
            thread = (thread + 1) % threads;
        }
        uint64_t more = number >> 61; /* up to 7 steps */
        while (more > 0 && step_thread(m, thread)) {
            more--;
        }
    }
}

static void check_ends(model *m)
{
    const hri_blocking *b = &m->plan->blocking;
    int64_t blocks = b->block_rows * b->block_cols;
    for (uint32_t i = 0; i < m->plan->flow.share_count; i++) {
        const executor *e = &m->executors[i];
        int64_t count = e->share->task_count;
        if (e->issued < count || e->fed < e->share->delivery_count) {
            note_fault(m, "nobody can go on");
        }
        for (int64_t t = count / blocks * (blocks - 1);
             t < count && b->chunks == 1; t++) {
            const hri_task *task = &e->share->tasks[t];
            if (!has_panel(e, task, HRI_A) || !has_panel(e, task, HRI_B)) {
                note_fault(m, "a panel of the last block is gone at the end");
            }
        }
    }
}

const char *replay_plan(const hri_plan *plan, random_source *order)
{
    model m = {.plan = plan};
    m.executors = allocate_zeros(plan->flow.share_count, sizeof *m.executors);
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        executor_init(&m.executors[i], &plan->flow.shares[i]);
    }
    if (order == NULL) {
        run_one_at_a_time(&m);
    } else {
        run_at_random(&m, order);
    }
    check_ends(&m);
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        executor_finish(&m.executors[i]);
    }
    free(m.executors);
    return m.fault;
}
