/* SPDX-License-Identifier: MIT */
/* Grids are compared by formulas first, as if elements lay anywhere, and as if
 * each process had as much of what it needs as equal shares allow. For those
 * that could be the fastest, what is sent is counted element by element. */
#include "mpi/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/size.h"
#include "mpi/count.h"

/* A grid of processes that may be chosen. */
typedef struct grid {
    int rows, cols, depth;
    bool in_place;
    double m, n; /* rows and columns of C in the process that has most */
    int64_t panels;
    double buffers;  /* for panels that are in memory at once, at most */
    double messages; /* of a process */
    double compute_seconds, message_seconds, seconds;
    double least_seconds; /* wherever elements lie */
} grid;

static double share(int64_t length, int count)
{
    return (double)hri_ceil_div(length, count);
}

static double memory_width(const hri_mpi_operand *o, int processes)
{
    const bool own = processes == 1 && o->m.block_count == 1;
    return hri_mpi_operand_stays(o) || own ? 0.0 : (double)o->element_bytes;
}

/* What a process receives and sends, if elements lie anywhere in `count`
 * processes, and the least. */
static hri_traffic received(const hri_mpi_product *p, int count, const grid *g,
                            hri_traffic *least)
{
    const double m = g->m, n = g->n, k = share(p->k, g->depth);
    const double a_bytes = m * k * hri_foreign_width(&p->a);
    const double b_bytes = k * n * hri_foreign_width(&p->b);
    const double c_bytes = m * n * (double)hr_type_size(p->sum_type);
    const double others = 1.0 - 1.0 / count;
    *least = (hri_traffic){a_bytes * (1.0 - 1.0 / g->cols) +
                               b_bytes * (1.0 - 1.0 / g->rows),
                           c_bytes * (1.0 - 1.0 / g->depth)};
    return g->in_place
               ? *least
               : (hri_traffic){(a_bytes + b_bytes) * others, c_bytes * others};
}

static hri_traffic seconds_of(const hr_mpi_context *context, const grid *g,
                              hri_traffic bytes)
{
    return context->count == 1
               ? (hri_traffic){0.0, 0.0}
               : (hri_traffic){bytes.panels * context->byte_seconds +
                                   g->messages * context->latency_seconds,
                               bytes.sums * context->byte_seconds};
}

/* The seconds of a grid whose processes receive and send so much each. */
static double seconds_with(const hr_mpi_context *context, const grid *g,
                           hri_traffic bytes)
{
    const hri_traffic seconds = seconds_of(context, g, bytes);
    return fmax(g->compute_seconds, seconds.panels) +
           fmin(g->compute_seconds, seconds.panels) / (double)g->panels +
           seconds.sums;
}

/* How many columns of A and rows of B fit into memory, beside as many in
 * messages that come, and in those that go. */
static double columns_there(const hri_mpi_product *p, const grid *g,
                            int processes, uint64_t memory)
{
    enum { COPIES = 3 };
    const double column = COPIES * (g->m * memory_width(&p->a, processes) +
                                    g->n * memory_width(&p->b, processes));
    return column > 0.0 ? (double)memory / column : HUGE_VAL;
}

/* How many panels there may be: of *least, two fit into memory. */
static int64_t most_panels(const hri_mpi_product *p, const grid *g,
                           int processes, uint64_t memory, int64_t *least)
{
    enum { SHORTEST = 256, ENOUGH = 8, IN_MEMORY = 2 };
    const int64_t k = hri_ceil_div(p->k, g->depth);
    const double most =
        fmin(columns_there(p, g, processes, memory) / IN_MEMORY, (double)k);
    const int64_t few = processes == 1 || (hri_mpi_operand_stays(&p->a) &&
                                           hri_mpi_operand_stays(&p->b))
                            ? 1
                            : hri_min(ENOUGH, k / SHORTEST);
    const int64_t needed = (int64_t)ceil((double)k / fmax(1.0, most));
    *least = hri_max(1, hri_min(needed, k));
    return hri_max(*least, hri_min(few, k));
}

/* Whether C stays on accelerators from panel to panel, with room for two of
 * these. */
static bool keeps_c(const hr_mpi_context *context, const hri_mpi_product *p,
                    const grid *g)
{
    const double depth = share(p->k, g->depth) / (double)g->panels;
    const double panels =
        2.0 * depth * (g->m + g->n) * (double)p->a.element_bytes;
    const double c = g->m * g->n * (double)hr_type_size(p->sum_type);
    return 1.25 * (c + panels) <= (double)context->accelerator_bytes;
}

/* The seconds of a grid with so many panels, if elements lie anywhere and at
 * least. Where C does not stay on accelerators, it goes there and back for each
 * panel but the first. That took twice its time while messages went through the
 * same memory (two H200). */
static void predict_with(const hr_mpi_context *context,
                         const hri_mpi_product *p, int64_t panels, grid *g)
{
    enum { SLOWER = 2 };
    const bool complex = hri_is_complex(p->c.m.type);
    const double scale = complex ? 4.0 : 1.0;
    const double width = (double)p->a.element_bytes / (complex ? 16.0 : 8.0);
    const double c_width = (double)hr_type_size(p->sum_type) / 8.0;
    const double flops = g->m * g->n * share(p->k, g->depth) * scale * width *
                         context->flop_seconds;
    const int count = g->rows * g->cols * g->depth;
    hri_traffic least;
    g->panels = panels;
    g->compute_seconds = flops;
    if (!keeps_c(context, p, g)) {
        g->compute_seconds += (double)(panels - 1) * SLOWER * g->m * g->n *
                              c_width * context->c_seconds;
    }
    g->messages = (double)panels * ((p->a.everywhere < 1.0 ? g->cols : 0) +
                                    (p->b.everywhere < 1.0 ? g->rows : 0)) +
                  (g->in_place ? 0 : count);
    const hri_traffic bytes = received(p, context->count, g, &least);
    g->seconds = seconds_with(context, g, bytes);
    g->least_seconds = seconds_with(context, g, least);
}

/* With as many panels as are fastest: most messages should travel while
 * products run. */
static void predict(const hr_mpi_context *context, const hri_mpi_product *p,
                    uint64_t memory, grid *g)
{
    int64_t least;
    const int64_t most = most_panels(p, g, context->count, memory, &least);
    predict_with(context, p, least, g);
    for (int64_t panels = least + 1; panels <= most; panels++) {
        grid other = *g;
        predict_with(context, p, panels, &other);
        if (other.seconds < g->seconds) {
            *g = other;
        }
    }
    const double depth = share(p->k, g->depth) / (double)g->panels;
    g->buffers = columns_there(p, g, context->count, memory) / depth;
}

/* The grid that is fastest if elements lie anywhere, and those that may be
 * faster, the most promising one first. */
enum { HOPES = 6 };
typedef struct choice {
    grid best, hopes[HOPES];
    int hope_count;
} choice;

static void consider(choice *c, const grid *g)
{
    int at = c->hope_count < HOPES ? c->hope_count : HOPES - 1;
    if (c->best.rows == 0 || g->seconds < c->best.seconds) {
        c->best = *g;
    }
    if (c->hope_count == HOPES &&
        g->least_seconds >= c->hopes[at].least_seconds) {
        return;
    }
    for (; at > 0 && c->hopes[at - 1].least_seconds > g->least_seconds; at--) {
        c->hopes[at] = c->hopes[at - 1];
    }
    c->hopes[at] = *g;
    c->hope_count += c->hope_count < HOPES;
}

static hr_status compare(const hr_mpi_context *context,
                         const hri_mpi_product *p, const hr_mpi_gemm_options *o,
                         uint64_t memory, choice *all)
{
    const int most = context->count;
    const int rows = o->rows, cols = o->cols, depth = o->depth;
    if (rows < 0 || cols < 0 || depth < 0) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: %d x %d x %d processes are asked for", rows, cols,
                        depth);
    }
    if ((double)hri_max(rows, 1) * (double)hri_max(cols, 1) *
            (double)hri_max(depth, 1) >
        most) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: at least %d x %d x %d processes are asked for, "
                        "but there are %d",
                        rows > 0 ? rows : 1, cols > 0 ? cols : 1,
                        depth > 0 ? depth : 1, most);
    }
    const bool t = p->c.m.transposed;
    const int own_rows = t ? p->c.col_blocks.classes : p->c.row_blocks.classes;
    const int own_cols = t ? p->c.row_blocks.classes : p->c.col_blocks.classes;
    const double longest[] = {
        (double)hri_blocks_longest(&p->c.row_blocks, p->c.m.row,
                                   t ? p->n : p->m),
        (double)hri_blocks_longest(&p->c.col_blocks, p->c.m.col,
                                   t ? p->m : p->n)};
    for (int i = 1; i <= most; i++) {
        for (int j = 1; j <= most / i; j++) {
            for (int l = 1; l <= most / i / j; l++) {
                grid g = {.rows = i, .cols = j, .depth = l};
                if ((rows > 0 && i != rows) || (cols > 0 && j != cols) ||
                    (depth > 0 && l != depth)) {
                    continue;
                }
                g.in_place = l == 1 && i == own_rows && j == own_cols &&
                             p->c.single && p->c.m.type == p->sum_type;
                g.m = g.in_place ? longest[t] : share(p->m, i);
                g.n = g.in_place ? longest[!t] : share(p->n, j);
                predict(context, p, memory, &g);
                consider(all, &g);
            }
        }
    }
    return HR_OK;
}

/* ---- places */

/* Give processes places: where C is computed in place its owners, else in the
 * order of ranks, by rows or by columns of C, whichever sends less. */
static void place_in_order(hri_mpi_plan *plan, bool by_cols)
{
    const int face = plan->rows * plan->cols;
    for (int rank = 0; rank < face * plan->depth; rank++) {
        const int l = rank / face, at = rank % face;
        const int place =
            by_cols ? l * face + at % plan->rows * plan->cols + at / plan->rows
                    : rank;
        plan->rank[place] = rank;
    }
}

static void place_owners(hri_mpi_plan *plan, const hri_mpi_operand *c)
{
    for (int i = 0; i < plan->rows; i++) {
        for (int j = 0; j < plan->cols; j++) {
            const int cell =
                c->m.transposed ? j * plan->rows + i : i * plan->cols + j;
            plan->rank[i * plan->cols + j] = c->owner[cell];
        }
    }
}

static void find_places(hri_mpi_plan *plan, const hr_mpi_context *context)
{
    for (int rank = 0; rank < context->count; rank++) {
        plan->place[rank] = -1;
    }
    for (int i = 0; i < plan->rows * plan->cols * plan->depth; i++) {
        plan->place[plan->rank[i]] = i;
    }
}

/* Where the process at a place begins: with a panel that it has all of, so that
 * others come while it multiplies. Where there is none, the processes that need
 * the same parts begin with different ones. Else an owner sends to all at once,
 * and all wait for it: products were 0.80 of the time of 8 x 8 processes, not
 * 0.96 (tests/simulation). */
static int64_t first_of(const hri_mpi_plan *plan, const hri_mpi_product *p,
                        int64_t place)
{
    const int64_t panels = plan->panels;
    for (int64_t t = 0; t < panels; t++) {
        if (hri_count_panel(plan, p, place, t) == 0) {
            return t;
        }
    }
    const int64_t i = place / plan->cols % plan->rows, j = place % plan->cols;
    return (hri_even(panels, plan->rows, i) + hri_even(panels, plan->cols, j)) %
           panels;
}

static void find_first(hri_mpi_plan *plan, const hri_mpi_product *p)
{
    for (int i = 0; i < plan->rows * plan->cols * plan->depth; i++) {
        plan->first[i] = first_of(plan, p, i);
    }
}

/* ---- plans */

static hr_status cut(const hri_mpi_plan *plan, hri_mpi_product *p)
{
    const hri_mpi_operand *c = &p->c;
    const bool t = c->m.transposed;
    hri_mpi_parts rows = {NULL, 0, plan->rows, 1};
    hri_mpi_parts cols = {NULL, 0, plan->cols, 1};
    const hri_mpi_parts depth = {NULL, 0, plan->depth, plan->panels};
    if (plan->in_place) {
        rows.like = t ? &c->col_blocks : &c->row_blocks;
        rows.start = t ? c->m.col : c->m.row;
        cols.like = t ? &c->row_blocks : &c->col_blocks;
        cols.start = t ? c->m.row : c->m.col;
    }
    hr_status status = hri_mpi_operand_cut(&p->a, &rows, &depth);
    if (status == HR_OK) {
        status = hri_mpi_operand_cut(&p->b, &depth, &cols);
    }
    cols.inner = plan->strips;
    return status == HR_OK ? hri_mpi_operand_cut(&p->c, &rows, &cols) : status;
}

static void count_strips(hri_mpi_plan *plan, const hri_mpi_product *p)
{
    enum { STRIP_BYTES = 32 << 20 };
    const double bytes = share(p->m, plan->rows) * share(p->n, plan->cols) *
                         (double)hr_type_size(p->sum_type);
    plan->strips = plan->in_place
                       ? 1
                       : hri_max(1, hri_min((int64_t)ceil(bytes / STRIP_BYTES),
                                            p->n / plan->cols));
}

/* Choose between the orders of ranks. *most is as hri_count_sent has it. */
static void find_order(hri_mpi_plan *plan, const hr_mpi_context *context,
                       const hri_mpi_product *p, hri_traffic *most)
{
    if (plan->in_place) {
        place_owners(plan, &p->c);
        plan->sent = hri_count_sent(plan, p, most);
    } else {
        uint64_t sent[2];
        hri_traffic mosts[2];
        for (int by_cols = 1; by_cols >= 0; by_cols--) {
            place_in_order(plan, by_cols == 1);
            sent[by_cols] = hri_count_sent(plan, p, &mosts[by_cols]);
        }
        const bool by_cols = sent[1] < sent[0];
        if (by_cols) {
            place_in_order(plan, true);
        }
        plan->sent = sent[by_cols];
        *most = mosts[by_cols];
    }
    find_places(plan, context);
}

/* Make the plan that of a grid, and count the most bytes that a process
 * receives of A and B and sends of C. */
static hr_status take(hri_mpi_plan *plan, const hr_mpi_context *context,
                      hri_mpi_product *p, grid *g)
{
    plan->rows = g->rows;
    plan->cols = g->cols;
    plan->depth = g->depth;
    plan->in_place = g->in_place;
    plan->panels = g->panels;
    plan->buffers = (int64_t)fmin(fmin(fmax(g->buffers, 2.0), HRI_MPI_PANELS),
                                  (double)g->panels);
    count_strips(plan, p);
    const hr_status status = cut(plan, p);
    if (status == HR_OK) {
        hri_traffic most;
        find_order(plan, context, p, &most);
        const hri_traffic messages = seconds_of(context, g, most);
        g->message_seconds = messages.panels + messages.sums;
        g->seconds = seconds_with(context, g, most);
    }
    return status;
}

/* Take the fastest one. */
static hr_status choose(hri_mpi_plan *plan, const hr_mpi_context *context,
                        hri_mpi_product *p, choice *all)
{
    grid best = all->best;
    hr_status status = take(plan, context, p, &best);
    bool taken = true;
    for (int i = 0; i < all->hope_count && status == HR_OK; i++) {
        grid *g = &all->hopes[i];
        const bool same = g->rows == all->best.rows &&
                          g->cols == all->best.cols &&
                          g->depth == all->best.depth;
        if (!same && g->least_seconds < best.seconds) {
            status = take(plan, context, p, g);
            taken = g->seconds < best.seconds;
            best = taken ? *g : best;
        }
    }
    if (status == HR_OK && !taken) {
        status = take(plan, context, p, &best);
    }
    plan->seconds = best.seconds;
    plan->compute_seconds = best.compute_seconds;
    plan->message_seconds = best.message_seconds;
    return status;
}

hr_status hri_mpi_plan_init(hri_mpi_plan *plan, const hr_mpi_context *context,
                            hri_mpi_product *p,
                            const hr_mpi_gemm_options *options)
{
    choice all = {.hope_count = 0};
    *plan = (hri_mpi_plan){.process_count = context->count};
    const uint64_t memory = options->memory_limit > 0 ? options->memory_limit
                                                      : context->memory_bytes;
    hr_status status = compare(context, p, options, memory, &all);
    if (status != HR_OK) {
        return status;
    }
    plan->rank = malloc((size_t)context->count * sizeof *plan->rank);
    plan->place = malloc((size_t)context->count * sizeof *plan->place);
    plan->first = calloc((size_t)context->count, sizeof *plan->first);
    if (plan->rank == NULL || plan->place == NULL || plan->first == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "mpi: no memory for a plan of %d processes",
                        context->count);
    }
    status = choose(plan, context, p, &all);
    if (status == HR_OK && hri_mpi_is_empty(p)) {
        plan->sent = 0;
        plan->seconds = plan->compute_seconds = plan->message_seconds = 0.0;
    } else if (status == HR_OK) {
        plan->messages = hri_count_messages(plan, p);
        find_first(plan, p); /* from here on orders differ */
        plan->bound = hri_least_sent(p, plan->rows * plan->cols * plan->depth);
        plan->memory_bytes =
            hri_count_memory(plan, p, plan->place[context->rank]);
    }
    return status;
}

void hri_mpi_plan_finish(hri_mpi_plan *plan)
{
    free(plan->rank);
    free(plan->place);
    free(plan->first);
    *plan = (hri_mpi_plan){0};
}
