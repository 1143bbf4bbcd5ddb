/* SPDX-License-Identifier: MIT */
#include "gemm/forecast.h"

#include <math.h>
#include <stdlib.h>

#include "base/size.h"
#include "gemm/cost.h"
#include "gemm/lane.h"

/* Looks at lanes in one forecast: some milliseconds. */
static const double most_looks = 3e5;

/* One way of an accelerator's link. */
typedef struct way {
    double rate, alone; /* bytes/s beside the others, and without */
    double free;        /* when it can carry more */
} way;

/* A part as time goes on. Times are in seconds. INFINITY: not known yet. */
typedef struct lane {
    const hri_part *part;
    const hri_plan_accelerator *facts;
    double efficiencies[HRI_TILE_RATES];
    double *arrivals; /* [delivery] */
    double *ends;     /* [task] */
    double *tiles;    /* [slot of C] when it may be written */
    way up, down;
    double both;      /* when it has carried all so far */
    double compute;   /* when arithmetic is free again */
    int64_t delivery; /* the next to be looked at */
    int64_t task;     /* the next to run */
    int64_t home;     /* the next task whose tile might go home */
    double starts[3]; /* when the next of each kind of step can start */
} lane;

enum { LOAD, PRODUCT, HOME };

typedef struct forecast {
    const hri_plan *plan;
    lane *lanes;
} forecast;

static void lane_finish(lane *l)
{
    free(l->arrivals);
    free(l->ends);
    free(l->tiles);
}

static hr_status lane_init(lane *l, const hri_part *part,
                           const hri_plan_accelerator *facts)
{
    *l = (lane){.part = part,
                .facts = facts,
                .up = {facts->up, facts->up_alone, 0},
                .down = {facts->down, facts->down_alone, 0}};
    for (int i = 0; i < HRI_TILE_RATES; i++) {
        l->efficiencies[i] = fmin(facts->tile_rates[i] / facts->rate, 1.0);
    }
    l->arrivals = calloc((size_t)part->delivery_count + 1, sizeof(double));
    l->ends = calloc((size_t)part->task_count + 1, sizeof(double));
    l->tiles = calloc((size_t)part->slots[HRI_C] + 1, sizeof(double));
    if (l->arrivals == NULL || l->ends == NULL || l->tiles == NULL) {
        lane_finish(l);
        *l = (lane){0};
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for the plan");
    }
    for (int64_t i = 0; i < part->delivery_count; i++) {
        l->arrivals[i] = INFINITY;
    }
    return HR_OK;
}

static double height_of(const hri_plan *p, int64_t row)
{
    return (double)(hri_plan_row(p, row + 1) - hri_plan_row(p, row));
}

static double width_of(const hri_plan *p, int64_t col)
{
    return (double)(hri_plan_col(p, col + 1) - hri_plan_col(p, col));
}

static double depth_of(const hri_plan *p, int64_t chunk)
{
    return (double)(hri_plan_chunk(p, chunk + 1) - hri_plan_chunk(p, chunk));
}

static bool is_host(const lane *l)
{
    return l->facts->tile_rates[0] == 0.0;
}

/* ---- links */

/* Carry rows of so many bytes from `start` on, when the link is free that way.
 * Both ways at once each goes slower. Returns when it is there. */
static double carry(lane *l, way *w, double start, double rows, double width)
{
    start = fmax(start, w->free);
    double there = start + hri_cost_carry(w->rate, w->alone, rows * width,
                                          is_host(l) ? 0.0 : width);
    if (l->facts->both > 0.0) {
        l->both = fmax(l->both, start) + rows * width / l->facts->both;
        there = fmax(there, l->both);
    }
    return w->free = there;
}

/* ---- panels */

static double start_of_load(const lane *l)
{
    if (l->delivery == l->part->delivery_count) {
        return INFINITY;
    }
    int64_t after = l->part->deliveries[l->delivery].after;
    if (after >= l->task) {
        return INFINITY;
    }
    return after < 0 ? l->up.free : fmax(l->up.free, l->ends[after]);
}

/* On to the next delivery that comes over the lane's own link. */
static void skip_forwarded(lane *l)
{
    while (l->delivery < l->part->delivery_count &&
           l->part->deliveries[l->delivery].source >= 0) {
        l->delivery++;
    }
}

static void load(forecast *f, lane *l)
{
    const hri_plan *p = f->plan;
    const hri_delivery *d = &l->part->deliveries[l->delivery];
    double depth = depth_of(p, d->chunk), size = p->shape.size;
    double there = d->side == HRI_A
                       ? carry(l, &l->up, l->starts[LOAD],
                               height_of(p, d->index), depth * size)
                       : carry(l, &l->up, l->starts[LOAD], depth,
                               width_of(p, d->index) * size);
    l->arrivals[l->delivery++] = there;
    for (int32_t i = 0; i < d->forward_count; i++) {
        const hri_forward *to = &p->forwards[d->forwards + i];
        f->lanes[to->part].arrivals[to->delivery] = there;
    }
    skip_forwarded(l);
}

/* ---- products */

/* Where the tile of the lane's task is; NULL in place. */
static double *tile_of(lane *l, int64_t number)
{
    const hri_task *task = &l->part->tasks[number];
    if (l->part->in_place) {
        return NULL;
    }
    return &l->tiles[task->slot >= 0 ? task->slot
                                     : number % l->part->slots[HRI_C]];
}

static double start_of_product(lane *l)
{
    if (l->task == l->part->task_count) {
        return INFINITY;
    }
    const hri_task *task = &l->part->tasks[l->task];
    const double *tile = tile_of(l, l->task);
    double start = l->compute;
    if (tile != NULL) {
        start = fmax(start, l->arrivals[task->a]);
        start = fmax(start, l->arrivals[task->b]);
        start = fmax(start, *tile);
    }
    return start;
}

static void multiply(forecast *f, lane *l)
{
    const hri_plan *p = f->plan;
    const hri_task *task = &l->part->tasks[l->task];
    double height = height_of(p, task->row), width = width_of(p, task->col);
    double depth = depth_of(p, task->chunk);
    double start = l->starts[PRODUCT];
    double *tile = tile_of(l, l->task);
    if (tile != NULL && p->shape.read_c && task->chunk == 0) {
        /* old C comes when the task is issued */
        double issued =
            l->task < HRI_WINDOW ? 0 : l->ends[l->task - HRI_WINDOW];
        start = fmax(start, carry(l, &l->up, fmax(issued, *tile), height,
                                  width * p->shape.c_size));
    }
    double rate = l->facts->rate *
                  hri_cost_efficiency(l->efficiencies, height, width, depth);
    l->compute = start + hri_cost_task() +
                 p->shape.flops * height * width * depth / rate;
    if (tile != NULL && task->chunk == p->blocking.chunks - 1) {
        *tile = INFINITY; /* until it is home */
    }
    l->ends[l->task++] = l->compute;
}

/* ---- tiles that go home */

static double start_of_home(const lane *l)
{
    return l->home == l->task ? INFINITY : fmax(l->down.free, l->ends[l->home]);
}

/* On to the next task that finishes a tile. */
static void skip_unfinished(const forecast *f, lane *l)
{
    while (l->home < l->task &&
           (l->part->in_place ||
            l->part->tasks[l->home].chunk < f->plan->blocking.chunks - 1)) {
        l->home++;
    }
}

static void send_home(forecast *f, lane *l)
{
    const hri_plan *p = f->plan;
    const hri_task *task = &l->part->tasks[l->home];
    double height = height_of(p, task->row), width = width_of(p, task->col);
    *tile_of(l, l->home) =
        carry(l, &l->down, l->starts[HOME], height, width * p->shape.c_size);
    l->home++;
}

/* ---- the whole */

/* The step that can start first; NULL: there is none left. */
static lane *next_step(forecast *f, int *step)
{
    lane *first = NULL;
    double least = INFINITY;
    for (uint32_t i = 0; i < f->plan->part_count; i++) {
        lane *l = &f->lanes[i];
        skip_unfinished(f, l);
        l->starts[LOAD] = start_of_load(l);
        l->starts[PRODUCT] = start_of_product(l);
        l->starts[HOME] = start_of_home(l);
        for (int s = LOAD; s <= HOME; s++) {
            if (l->starts[s] < least) {
                least = l->starts[s];
                first = l;
                *step = s;
            }
        }
    }
    return first;
}

static double walk(forecast *f)
{
    static void (*const steps[])(forecast *, lane *) = {
        [LOAD] = load, [PRODUCT] = multiply, [HOME] = send_home};
    for (uint32_t i = 0; i < f->plan->part_count; i++) {
        skip_forwarded(&f->lanes[i]);
    }
    int step;
    for (lane *l; (l = next_step(f, &step)) != NULL;) {
        steps[step](f, l);
    }
    double seconds = 0.0, lanes[2] = {0.0, 0.0};
    for (uint32_t i = 0; i < f->plan->part_count; i++) {
        const lane *l = &f->lanes[i];
        seconds = fmax(seconds, fmax(l->compute, l->down.free));
        lanes[is_host(l)]++;
    }
    return seconds + hri_cost_lanes(false, lanes[0]) +
           hri_cost_lanes(true, lanes[1]);
}

bool hri_forecast_pays(const hri_plan *plan)
{
    double steps = 0.0;
    for (uint32_t i = 0; i < plan->part_count; i++) {
        const hri_part *part = &plan->parts[i];
        steps += (double)part->task_count + (double)part->delivery_count;
    }
    return plan->part_count <= HRI_FORECAST_PARTS &&
           steps * plan->part_count <= most_looks;
}

hr_status hri_forecast(hri_plan *plan, const hri_plan_accelerator *accelerators)
{
    forecast f = {plan, calloc(plan->part_count, sizeof *f.lanes)};
    hr_status status =
        f.lanes != NULL
            ? HR_OK
            : hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for the plan");
    for (uint32_t i = 0; i < plan->part_count && status == HR_OK; i++) {
        const hri_part *part = &plan->parts[i];
        status = lane_init(&f.lanes[i], part, &accelerators[part->accelerator]);
    }
    if (status == HR_OK) {
        plan->seconds = walk(&f);
    }
    for (uint32_t i = 0; f.lanes != NULL && i < plan->part_count; i++) {
        lane_finish(&f.lanes[i]);
    }
    free(f.lanes);
    return status;
}
