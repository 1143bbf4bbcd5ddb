/* SPDX-License-Identifier: MIT */
/* From a blocking to the sequence of deliveries and tasks.
 *
 * The work goes in phases: one block of C and one chunk of k each. In a phase
 * panels are delivered so that a square of finished tiles grows (A0, B0, A1,
 * B1, ...). Tasks follow as soon as both panels are there. So the first product
 * needs little data, and later bytes allow ever more work. The slot that was
 * needed longest ago is used again first. */
#include <stdlib.h>

#include "base/size.h"
#include "gemm/plan.h"

/* What a panel slot of a share holds. */
typedef struct slot {
    int32_t index, chunk; /* of the panel; index -1: empty */
    int64_t delivery;
    int64_t last_task; /* the share's last task that reads it; -1: none */
    int64_t phase;     /* the last phase that needs it */
} slot;

/* A panel that some share needs in every block: a tile row of A or a tile
 * column of B, counted inside the block. */
typedef struct panel {
    int32_t side, index;
    int32_t key; /* its earliest place in any share's order */
} panel;

typedef struct builder {
    hri_plan *plan;
    const hri_plan_accelerator *accelerators;
    slot *(*slots)[2]; /* [share][HRI_A or HRI_B] */
    panel *panels;     /* [panel_count], in order of delivery */
    int64_t panel_count;
    uint32_t *lacking; /* room for a list of shares that lack a panel */
    int64_t puller_count, puller_capacity; /* of the flow */
    /* the present phase */
    int64_t phase;
    int32_t block_row, block_col, chunk;
} builder;

static hr_status no_memory(void)
{
    return hri_fail(HR_ERROR_OUT_OF_MEMORY, "gemm: no memory for the plan");
}

static uint64_t panel_size(const hri_plan *p, int side, int64_t index,
                           int64_t chunk)
{
    int64_t depth = hri_plan_length(p, hri_plan_chunk, chunk);
    int64_t width =
        hri_plan_length(p, side == HRI_A ? hri_plan_row : hri_plan_col, index);
    return (uint64_t)depth * (uint64_t)width * p->shape.size;
}

/* ---- which panels there are, and which shares need them */

static int first_to_grow(const void *x, const void *y)
{
    const panel *a = x, *b = y;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    if (a->side != b->side) {
        return a->side - b->side;
    }
    return a->index < b->index ? -1 : 1;
}

/* The place of a panel in a share's order. Negative when the share does not
 * need it, or works in place. */
static int32_t place_of(const hri_plan *plan, uint32_t share, int side,
                        int32_t index)
{
    const hri_tile_box *r = &plan->boxes[share];
    int32_t from = side == HRI_A ? r->row0 : r->col0;
    int32_t to = side == HRI_A ? r->row1 : r->col1;
    return !plan->flow.shares[share].in_place && index < to ? index - from : -1;
}

static hr_status list_panels(builder *b)
{
    const hri_plan *plan = b->plan;
    const int64_t rows = plan->blocking.rows, cols = plan->blocking.cols;
    b->panels = calloc((size_t)(rows + cols), sizeof *b->panels);
    if (b->panels == NULL) {
        return no_memory();
    }
    for (int64_t i = 0; i < rows + cols; i++) {
        panel p = {.side = i < rows ? HRI_A : HRI_B,
                   .index = (int32_t)(i < rows ? i : i - rows),
                   .key = INT32_MAX};
        for (uint32_t j = 0; j < plan->flow.share_count; j++) {
            int32_t place = place_of(plan, j, p.side, p.index);
            p.key = place >= 0 && place < p.key ? place : p.key;
        }
        if (p.key < INT32_MAX) {
            b->panels[b->panel_count++] = p;
        }
    }
    qsort(b->panels, (size_t)b->panel_count, sizeof *b->panels, first_to_grow);
    return HR_OK;
}

/* ---- memory for the schedule */

static hr_status allocate_share(builder *b, uint32_t i)
{
    const hri_blocking *k = &b->plan->blocking;
    hri_flow_share *share = &b->plan->flow.shares[i];
    const hri_tile_box *r = &b->plan->boxes[i];
    uint64_t rows = (uint64_t)(r->row1 - r->row0);
    uint64_t cols = (uint64_t)(r->col1 - r->col0);
    uint64_t phases = (uint64_t)(k->block_rows * k->block_cols * k->chunks);
    uint64_t tasks, deliveries;
    if (!hri_mul(phases, rows * cols, &tasks) ||
        !hri_mul(phases, rows + cols, &deliveries) ||
        tasks > SIZE_MAX / sizeof *share->tasks ||
        deliveries > SIZE_MAX / sizeof *share->deliveries) {
        return no_memory();
    }
    share->tasks = malloc((size_t)tasks * sizeof *share->tasks);
    if (share->tasks == NULL) {
        return no_memory();
    }
    if (share->in_place) {
        return HR_OK;
    }
    share->deliveries = malloc((size_t)deliveries * sizeof *share->deliveries);
    if (share->deliveries == NULL) {
        return no_memory();
    }
    for (int side = HRI_A; side <= HRI_B; side++) {
        slot *s = calloc((size_t)share->slots[side], sizeof *s);
        if (s == NULL) {
            return no_memory();
        }
        b->slots[i][side] = s;
        for (int32_t j = 0; j < share->slots[side]; j++) {
            s[j] = (slot){.index = -1, .last_task = -1, .phase = -1};
        }
    }
    return HR_OK;
}

/* ---- deliveries */

/* The share's slot that holds the panel. NULL when none does. */
static slot *find_slot(const builder *b, uint32_t share, int side,
                       int32_t index, int32_t chunk)
{
    slot *s = b->slots[share][side];
    for (int32_t i = 0; i < b->plan->flow.shares[share].slots[side]; i++) {
        if (s[i].index == index && s[i].chunk == chunk) {
            return &s[i];
        }
    }
    return NULL;
}

/* The slot to overwrite: an empty one, else the one needed longest ago. The
 * blocking has enough slots, so this phase does not need it. */
static int32_t slot_to_overwrite(const builder *b, uint32_t share, int side)
{
    const slot *s = b->slots[share][side];
    int32_t best = 0;
    for (int32_t i = 1; i < b->plan->flow.shares[share].slots[side]; i++) {
        if (s[i].phase < s[best].phase ||
            (s[i].phase == s[best].phase &&
             s[i].last_task < s[best].last_task)) {
            best = i;
        }
    }
    return best;
}

static int64_t deliver(builder *b, uint32_t share_index, int side,
                       int32_t index, int32_t source)
{
    hri_flow_share *share = &b->plan->flow.shares[share_index];
    int32_t at = slot_to_overwrite(b, share_index, side);
    slot *s = &b->slots[share_index][side][at];
    int64_t number = share->delivery_count++;
    share->deliveries[number] = (hri_delivery){
        .after = s->last_task,
        .only = -1,
        .index = index,
        .chunk = b->chunk,
        .slot = at,
        .source = source,
        .side = side,
    };
    *s = (slot){index, b->chunk, number, -1, b->phase};
    uint64_t bytes = panel_size(b->plan, side, index, b->chunk);
    *(source < 0 ? &share->up : &share->peer) += bytes;
    return number;
}

static hr_status add_puller(builder *b, uint32_t share, int64_t delivery)
{
    hri_plan *p = b->plan;
    if (b->puller_count == b->puller_capacity) {
        int64_t capacity = b->puller_capacity * 2 + 64;
        hri_puller *more =
            realloc(p->flow.pullers, (size_t)capacity * sizeof *more);
        if (more == NULL) {
            return no_memory();
        }
        p->flow.pullers = more;
        b->puller_capacity = capacity;
    }
    p->flow.pullers[b->puller_count++] = (hri_puller){(int32_t)share, delivery};
    return HR_OK;
}

/* Choose the share that gets the panel from the host. It is a peer of `like`
 * that lacks the panel, and its link has the least to do so far. */
static uint32_t pick_loader(const builder *b, const uint32_t *lacking,
                            uint32_t count, uint32_t peers)
{
    uint32_t best = UINT32_MAX;
    double least = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const hri_flow_share *share = &b->plan->flow.shares[lacking[i]];
        const hri_plan_accelerator *a = &b->accelerators[share->accelerator];
        double busy = (double)share->up / (a->up.rate > 0 ? a->up.rate : 1.0);
        if (a->peers == peers && (best == UINT32_MAX || busy < least)) {
            best = lacking[i];
            least = busy;
        }
    }
    return best;
}

/* Deliver one panel to all shares of a group of peers that lack it, and remove
 * them from `lacking`. *count becomes the number of shares left. */
static hr_status deliver_group(builder *b, const panel *p, int32_t index,
                               uint32_t *count)
{
    uint32_t *lacking = b->lacking;
    uint32_t peers =
        b->accelerators[b->plan->flow.shares[lacking[0]].accelerator].peers;
    uint32_t loader = pick_loader(b, lacking, *count, peers);
    int64_t number = deliver(b, loader, p->side, index, -1);
    int64_t first = b->puller_count;
    uint32_t left = 0;
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t share = lacking[i];
        uint32_t its = b->plan->flow.shares[share].accelerator;
        if (b->accelerators[its].peers != peers) {
            lacking[left++] = share;
        } else if (share != loader) {
            int64_t d = deliver(b, share, p->side, index, (int32_t)loader);
            b->plan->flow.shares[share].deliveries[d].origin = number;
            HRI_TRY(add_puller(b, share, d));
        }
    }
    *count = left;
    hri_delivery *loaded = &b->plan->flow.shares[loader].deliveries[number];
    loaded->pullers = first;
    loaded->puller_count = (int32_t)(b->puller_count - first);
    return HR_OK;
}

static int32_t global_index(const builder *b, int side, int32_t index)
{
    const hri_blocking *k = &b->plan->blocking;
    return (int32_t)(side == HRI_A ? b->block_row * k->rows
                                   : b->block_col * k->cols) +
           index;
}

static hr_status deliver_phase(builder *b)
{
    const uint32_t shares = b->plan->flow.share_count;
    /* note which panels are there, so that new ones do not overwrite them */
    for (int64_t i = 0; i < b->panel_count; i++) {
        const panel *p = &b->panels[i];
        int32_t index = global_index(b, p->side, p->index);
        for (uint32_t share = 0; share < shares; share++) {
            slot *s = find_slot(b, share, p->side, index, b->chunk);
            if (s != NULL) {
                s->phase = b->phase;
            }
        }
    }
    for (int64_t i = 0; i < b->panel_count; i++) {
        const panel *p = &b->panels[i];
        int32_t index = global_index(b, p->side, p->index);
        uint32_t count = 0;
        for (uint32_t share = 0; share < shares; share++) {
            if (place_of(b->plan, share, p->side, p->index) >= 0 &&
                find_slot(b, share, p->side, index, b->chunk) == NULL) {
                b->lacking[count++] = share;
            }
        }
        while (count > 0) {
            HRI_TRY(deliver_group(b, p, index, &count));
        }
    }
    return HR_OK;
}

/* ---- tasks */

static int64_t use_panel(builder *b, uint32_t share, int side, int32_t index,
                         int64_t task)
{
    if (b->plan->flow.shares[share].in_place) {
        return -1;
    }
    slot *s = find_slot(b, share, side, index, b->chunk);
    s->last_task = task;
    return s->delivery;
}

static void add_task(builder *b, uint32_t share_index, int32_t i, int32_t j)
{
    hri_flow_share *share = &b->plan->flow.shares[share_index];
    const hri_tile_box *r = &b->plan->boxes[share_index];
    const int64_t chunks = b->plan->blocking.chunks;
    int32_t cols = r->col1 - r->col0;
    int32_t row = global_index(b, HRI_A, r->row0 + i);
    int32_t col = global_index(b, HRI_B, r->col0 + j);
    int64_t number = share->task_count++;
    share->tasks[number] = (hri_task){
        .a = use_panel(b, share_index, HRI_A, row, number),
        .b = use_panel(b, share_index, HRI_B, col, number),
        .row = row,
        .col = col,
        .chunk = b->chunk,
        .unit = row * b->plan->tile_cols + col,
        /* the sum over chunks of k stays in the slot until the last of them */
        .slot = chunks > 1 ? i * cols + j : -1,
    };
}

/* Add the tasks of a share's rectangle, as a growing square. */
static void add_tasks(builder *b, uint32_t share_index)
{
    const hri_tile_box *r = &b->plan->boxes[share_index];
    int32_t rows = r->row1 - r->row0, cols = r->col1 - r->col0;
    for (int32_t t = 0; t < rows || t < cols; t++) {
        for (int32_t j = 0; t < rows && j < t && j < cols; j++) {
            add_task(b, share_index, t, j);
        }
        for (int32_t i = 0; t < cols && i <= t && i < rows; i++) {
            add_task(b, share_index, i, t);
        }
    }
}

/* ---- the whole schedule */

static hr_status run_phases(builder *b)
{
    const hri_blocking *k = &b->plan->blocking;
    int64_t outer = k->by_columns ? k->block_cols : k->block_rows;
    int64_t inner = k->by_columns ? k->block_rows : k->block_cols;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t step = 0; step < inner; step++) {
            /* back and forth, so that the first block of a line reuses panels
             * of the last */
            int64_t i = o % 2 == 0 ? step : inner - 1 - step;
            b->block_row = (int32_t)(k->by_columns ? i : o);
            b->block_col = (int32_t)(k->by_columns ? o : i);
            for (uint32_t p = 0; p < b->plan->flow.share_count; p++) {
                hri_flow_share *share = &b->plan->flow.shares[p];
                share->steady = share->task_count;
            }
            for (b->chunk = 0; b->chunk < k->chunks; b->chunk++) {
                HRI_TRY(deliver_phase(b));
                for (uint32_t share = 0; share < b->plan->flow.share_count;
                     share++) {
                    add_tasks(b, share);
                }
                b->phase++;
            }
        }
    }
    return HR_OK;
}

static void count_products(hri_plan *p, hri_flow_share *share)
{
    const hri_plan_shape *s = &p->shape;
    for (int64_t t = 0; t < share->task_count; t++) {
        const hri_task *task = &share->tasks[t];
        double tile = (double)hri_plan_length(p, hri_plan_row, task->row) *
                      (double)hri_plan_length(p, hri_plan_col, task->col);
        share->flops += s->flops * tile *
                        (double)hri_plan_length(p, hri_plan_chunk, task->chunk);
        if (hri_task_is_last(&p->flow, task) && !share->in_place) {
            uint64_t bytes = (uint64_t)tile * s->c_size;
            share->down += bytes;
            share->up += s->reads_result ? bytes : 0;
        }
    }
}

/* Count the compulsory bytes: each panel that a share with memory of its own
 * needs, once, and the tiles of such shares. */
static void count_compulsory(builder *b)
{
    hri_plan *p = b->plan;
    const hri_blocking *k = &p->blocking;
    for (int64_t i = 0; i < b->panel_count; i++) {
        const panel *q = &b->panels[i];
        int64_t blocks = q->side == HRI_A ? k->block_rows : k->block_cols;
        int64_t step = q->side == HRI_A ? k->rows : k->cols;
        for (int64_t block = 0; block < blocks; block++) {
            for (int64_t c = 0; c < k->chunks; c++) {
                p->compulsory +=
                    panel_size(p, q->side, block * step + q->index, c);
            }
        }
    }
    for (uint32_t i = 0; i < p->flow.share_count; i++) {
        p->compulsory +=
            p->flow.shares[i].down * (p->shape.reads_result ? 2 : 1);
    }
}

static hr_status build_schedule(builder *b)
{
    hri_flow *flow = &b->plan->flow;
    b->slots = calloc(flow->share_count, sizeof *b->slots);
    b->lacking = calloc(flow->share_count, sizeof *b->lacking);
    if (b->slots == NULL || b->lacking == NULL) {
        return no_memory();
    }
    for (uint32_t i = 0; i < flow->share_count; i++) {
        HRI_TRY(allocate_share(b, i));
    }
    HRI_TRY(list_panels(b));
    HRI_TRY(run_phases(b));
    for (uint32_t i = 0; i < flow->share_count; i++) {
        count_products(b->plan, &flow->shares[i]);
    }
    count_compulsory(b);
    return HR_OK;
}

hr_status hri_schedule(hri_plan *plan, const hri_plan_accelerator *accelerators)
{
    builder b = {.plan = plan, .accelerators = accelerators};
    const hr_status status = build_schedule(&b);
    for (uint32_t i = 0; i < plan->flow.share_count && b.slots != NULL; i++) {
        free(b.slots[i][HRI_A]);
        free(b.slots[i][HRI_B]);
    }
    free(b.slots);
    free(b.panels);
    free(b.lacking);
    return status;
}
