/* SPDX-License-Identifier: MIT */
/* The time of a schedule, with the rates of the facts. The schedule is walked
 * through: a load, a product or a tile going home starts as soon as its link or
 * accelerator is free and what it needs is there. The planner does this for the
 * fastest blockings, each of another kind, and takes the quickest; that time is
 * what the plan says. Blockings with few tasks come first, as long as walking
 * takes less than a hundredth of the product's time. One that was not walked
 * through must be a tenth better by its estimate. The estimate alone stands for
 * more than 16 accelerators. */
#include "gemm/plan.h"

#include <math.h>
#include <stdlib.h>

/* One direction of an accelerator's link. */
typedef struct way {
    hri_way of;
    double free; /* when it is free again */
} way;

/* The steps of an executor: old C is fetched, a panel comes from the host, a
 * product runs, a tile goes home. */
enum { FETCH, LOAD, PRODUCT, HOME, STEPS };

/* The state of a share at a time. Times are in seconds. INFINITY: not known
 * yet. */
typedef struct executor {
    const hri_flow_share *share;
    const hri_plan_accelerator *accelerator;
    double efficiencies[HRI_TILE_RATES];
    double *arrivals; /* [delivery] */
    double *ends;     /* [task] when the product ends; before that, the fetch of
                         old C */
    double *tiles;    /* [slot of C] when it may be written */
    way up, down, both;
    double compute;       /* when arithmetic is free again */
    int64_t next[STEPS];  /* the next delivery, or task, of each step */
    double starts[STEPS]; /* when each step can start */
    bool stale;           /* starts must be computed again */
} executor;

typedef struct forecast {
    const hri_plan *plan;
    double *heights, *widths, *depths; /* of tiles, and of chunks of k */
    executor *executors;
    double host; /* when the next on the host may compute or copy */
} forecast;

/* ---- setting up and freeing */

static bool executor_init(executor *e, const hri_flow_share *share,
                          const hri_plan_accelerator *accelerator)
{
    *e = (executor){.share = share,
                    .accelerator = accelerator,
                    .up = {.of = accelerator->up},
                    .down = {.of = accelerator->down},
                    .both = {.of = accelerator->both},
                    .stale = true};
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        e->efficiencies[i] =
            fmin(accelerator->tile_rates[i] / accelerator->rate, 1.0);
    }
    e->arrivals = calloc((size_t)share->delivery_count + 1, sizeof(double));
    e->ends = calloc((size_t)share->task_count + 1, sizeof(double));
    e->tiles = calloc((size_t)share->slots[HRI_C] + 1, sizeof(double));
    if (e->arrivals == NULL || e->ends == NULL || e->tiles == NULL) {
        return false;
    }
    for (int64_t i = 0; i < share->delivery_count; i++) {
        e->arrivals[i] = INFINITY;
    }
    return true;
}

static double *extents(const hri_plan *plan, int64_t count,
                       hri_plan_start *start)
{
    double *all = calloc((size_t)count, sizeof *all);
    for (int64_t i = 0; all != NULL && i < count; i++) {
        all[i] = (double)hri_plan_length(plan, start, i);
    }
    return all;
}

static void forecast_finish(forecast *f)
{
    for (uint32_t i = 0; f->executors != NULL && i < f->plan->flow.share_count;
         i++) {
        free(f->executors[i].arrivals);
        free(f->executors[i].ends);
        free(f->executors[i].tiles);
    }
    free(f->executors);
    free(f->heights);
    free(f->widths);
    free(f->depths);
}

static hr_status forecast_init(forecast *f, const hri_plan *plan,
                               const hri_plan_accelerator *accelerators)
{
    *f = (forecast){
        .plan = plan,
        .heights = extents(plan, plan->tile_rows, hri_plan_row),
        .widths = extents(plan, plan->tile_cols, hri_plan_col),
        .depths = extents(plan, plan->blocking.chunks, hri_plan_chunk),
        .executors = calloc(plan->flow.share_count, sizeof *f->executors),
    };
    bool made = f->heights != NULL && f->widths != NULL && f->depths != NULL &&
                f->executors != NULL;
    for (uint32_t i = 0; made && i < plan->flow.share_count; i++) {
        const hri_flow_share *share = &plan->flow.shares[i];
        made = executor_init(&f->executors[i], share,
                             &accelerators[share->accelerator]);
    }
    if (!made) {
        forecast_finish(f);
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for the plan");
    }
    return HR_OK;
}

/* ---- links */

static bool is_host(const executor *e)
{
    return e->accelerator->tile_rates[0] == 0.0;
}

/* Copy bytes within the host's memory, when it is the executor's turn. Returns
 * when that has been done. */
static double copy_on_host(forecast *f, const executor *e, const way *w,
                           double start, double bytes, double row)
{
    const double seconds = hri_cost_carry(&w->of, bytes, row);
    f->host = fmax(start, f->host) + seconds / e->accelerator->sharers;
    return f->host;
}

/* Carry height x width elements of an operand from `start` on, or when the link
 * is free in this direction. While both directions are busy, each is slower.
 * Returns when they have arrived. */
static double carry_operand(forecast *f, executor *e, way *w, double start,
                            int side, double height, double width)
{
    const hri_plan_shape *s = &f->plan->shape;
    const double row = hri_row_bytes(s, side, height, width);
    const double bytes = height * width * (side == HRI_C ? s->c_size : s->size);
    if (e->accelerator->sharers > 0) {
        return w->free = copy_on_host(f, e, w, start, bytes, row);
    }
    const bool brief = hri_flow_is_brief(&f->plan->flow);
    start = fmax(start, w->free);
    double there = start + hri_carry_seconds(s, &w->of, brief, bytes, row);
    if (e->both.of.rate > 0.0 && !brief) {
        e->both.free =
            fmax(e->both.free, start) + hri_cost_carry(&e->both.of, bytes, row);
        there = fmax(there, e->both.free);
    }
    return w->free = there;
}

/* ---- panels */

/* When the executor's task `number` has run. -1: before everything. */
static double end_of(const executor *e, int64_t number)
{
    return number < 0                  ? 0.0
           : number < e->next[PRODUCT] ? e->ends[number]
                                       : INFINITY;
}

static double start_of_load(executor *e)
{
    const hri_flow_share *share = e->share;
    int64_t *next = &e->next[LOAD];
    while (*next < share->delivery_count &&
           share->deliveries[*next].source >= 0) {
        ++*next; /* it is copied from another executor */
    }
    return *next == share->delivery_count
               ? INFINITY
               : fmax(e->up.free, end_of(e, share->deliveries[*next].after));
}

static void load_panel(forecast *f, executor *e)
{
    const hri_delivery *d = &e->share->deliveries[e->next[LOAD]];
    const bool of_a = d->side == HRI_A;
    const double depth = f->depths[d->chunk];
    const double height = of_a ? f->heights[d->index] : depth;
    const double width = of_a ? depth : f->widths[d->index];
    const double row = hri_row_bytes(&f->plan->shape, d->side, height, width);
    const double bytes = height * width * f->plan->shape.size;
    double there =
        carry_operand(f, e, &e->up, e->starts[LOAD], d->side, height, width);
    e->arrivals[e->next[LOAD]++] = there;
    for (int32_t i = 0; i < d->puller_count; i++) {
        if (e->accelerator->sharers > 0) {
            there = copy_on_host(f, e, &e->up, there, bytes, row);
        }
        const hri_puller *to = &f->plan->flow.pullers[d->pullers + i];
        f->executors[to->share].arrivals[to->delivery] = there;
        f->executors[to->share].stale = true;
    }
}

/* ---- tiles */

/* The time of a task's tile slot. The executor is not in place. */
static double *tile_of(executor *e, int64_t number)
{
    const hri_task *task = &e->share->tasks[number];
    return &e->tiles[task->slot >= 0 ? task->slot
                                     : number % e->share->slots[HRI_C]];
}

/* Whether the task starts with the old values of C. */
static bool wants_old(const forecast *f, const executor *e,
                      const hri_task *task)
{
    return f->plan->shape.reads_result && hri_task_is_first(task) &&
           !e->share->in_place;
}

/* Whether the task's tile goes home after the task. */
static bool goes_home(const forecast *f, const executor *e,
                      const hri_task *task)
{
    return hri_task_is_last(&f->plan->flow, task) && !e->share->in_place;
}

/* Old C is fetched when the task is issued: its panels have been enqueued, and
 * at most HRI_WINDOW tasks are under way. */
static double start_of_fetch(const forecast *f, executor *e)
{
    int64_t *next = &e->next[FETCH];
    while (*next < e->share->task_count &&
           !wants_old(f, e, &e->share->tasks[*next])) {
        ++*next;
    }
    if (*next == e->share->task_count) {
        return INFINITY;
    }
    const hri_task *task = &e->share->tasks[*next];
    bool issued =
        e->arrivals[task->a] < INFINITY && e->arrivals[task->b] < INFINITY;
    return issued ? fmax(fmax(e->up.free, *tile_of(e, *next)),
                         end_of(e, *next - HRI_WINDOW))
                  : INFINITY;
}

static void fetch_tile(forecast *f, executor *e)
{
    int64_t number = e->next[FETCH]++;
    const hri_task *task = &e->share->tasks[number];
    e->ends[number] =
        carry_operand(f, e, &e->up, e->starts[FETCH], HRI_C,
                      f->heights[task->row], f->widths[task->col]);
    *tile_of(e, number) = INFINITY; /* until the tile is home */
}

static double start_of_home(const forecast *f, executor *e)
{
    int64_t *next = &e->next[HOME];
    while (*next < e->next[PRODUCT] &&
           !goes_home(f, e, &e->share->tasks[*next])) {
        ++*next;
    }
    return *next == e->next[PRODUCT] ? INFINITY
                                     : fmax(e->down.free, e->ends[*next]);
}

static void send_home(forecast *f, executor *e)
{
    int64_t number = e->next[HOME]++;
    const hri_task *task = &e->share->tasks[number];
    *tile_of(e, number) =
        carry_operand(f, e, &e->down, e->starts[HOME], HRI_C,
                      f->heights[task->row], f->widths[task->col]);
}

/* ---- products */

static double start_of_product(const forecast *f, executor *e)
{
    int64_t number = e->next[PRODUCT];
    if (number == e->share->task_count) {
        return INFINITY;
    }
    const hri_task *task = &e->share->tasks[number];
    double start = e->compute;
    if (e->share->in_place) {
        return start;
    }
    if (wants_old(f, e, task)) {
        start =
            fmax(start, number < e->next[FETCH] ? e->ends[number] : INFINITY);
    } else if (hri_task_is_first(task)) {
        start = fmax(start, *tile_of(e, number));
    }
    return fmax(start, fmax(e->arrivals[task->a], e->arrivals[task->b]));
}

static void run_product(forecast *f, executor *e)
{
    int64_t number = e->next[PRODUCT]++;
    const hri_task *task = &e->share->tasks[number];
    double height = f->heights[task->row], width = f->widths[task->col];
    double depth = f->depths[task->chunk];
    double rate = e->accelerator->rate *
                  hri_cost_efficiency(e->efficiencies, height, width, depth);
    const double seconds = f->plan->shape.flops * height * width * depth / rate;
    e->compute = e->starts[PRODUCT] + e->accelerator->task + seconds;
    if (e->accelerator->sharers > 0) {
        e->compute = fmax(e->starts[PRODUCT], f->host) + e->accelerator->task +
                     seconds / e->accelerator->sharers;
        f->host = e->compute;
    }
    e->ends[number] = e->compute;
    if (goes_home(f, e, task)) {
        *tile_of(e, number) = INFINITY; /* until the tile is home */
    }
}

/* ---- the whole */

/* The executor that can start a step first. NULL: no step is left. */
static executor *next_step(forecast *f, int *step)
{
    executor *first = NULL;
    double least = INFINITY;
    for (uint32_t i = 0; i < f->plan->flow.share_count; i++) {
        executor *e = &f->executors[i];
        if (e->stale) {
            e->starts[LOAD] = start_of_load(e);
            e->starts[FETCH] = start_of_fetch(f, e);
            e->starts[PRODUCT] = start_of_product(f, e);
            e->starts[HOME] = start_of_home(f, e);
            e->stale = false;
        }
        for (int s = 0; s < STEPS; s++) {
            if (e->starts[s] < least) {
                least = e->starts[s];
                first = e;
                *step = s;
            }
        }
    }
    return first;
}

static double walk_through(forecast *f)
{
    static void (*const steps[STEPS])(forecast *, executor *) = {
        [FETCH] = fetch_tile,
        [LOAD] = load_panel,
        [PRODUCT] = run_product,
        [HOME] = send_home,
    };
    int step;
    for (executor *e; (e = next_step(f, &step)) != NULL;) {
        steps[step](f, e);
        e->stale = true;
    }
    const bool brief = hri_flow_is_brief(&f->plan->flow);
    double seconds = 0.0, hosts = 0.0;
    double start = brief ? f->executors[0].accelerator->brief : 0.0;
    for (uint32_t i = 0; i < f->plan->flow.share_count; i++) {
        const executor *e = &f->executors[i];
        bool over = e->next[PRODUCT] == e->share->task_count;
        seconds =
            fmax(seconds, over ? fmax(e->compute, e->down.free) : INFINITY);
        start += is_host(e) || brief ? 0.0 : e->accelerator->start;
        hosts =
            is_host(e) && !brief ? fmax(hosts, e->accelerator->start) : hosts;
    }
    return seconds + start + hosts;
}

double hri_forecast_cost(const hri_blocking *b, uint32_t shares)
{
    return hri_blocking_tasks(b) * hri_cost_walk(shares);
}

hr_status hri_forecast(hri_plan *plan, const hri_plan_accelerator *accelerators)
{
    forecast f;
    HRI_TRY(forecast_init(&f, plan, accelerators));
    plan->flow.seconds = walk_through(&f);
    forecast_finish(&f);
    return HR_OK;
}
