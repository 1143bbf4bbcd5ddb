/* SPDX-License-Identifier: MIT */
/* Grids of processes are compared by formulas first: as if elements lay
 * anywhere, and as if each process had the largest possible fraction of what it
 * needs. For those that could be the fastest, what is sent is counted element
 * by element. */
#include "mpi/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/size.h"

/* ---- counting: bytes */

/* What a process receives of A and B, while products run, and what it sends of
 * C, when they have ended. Bytes or seconds. */
typedef struct traffic {
    double panels, sums;
} traffic;

/* Whether every process multiplies with it where it is. */
static bool operand_stays(const hri_mpi_operand *o)
{
    return o->everywhere >= 1.0 && o->m.block_count == 1;
}

/* Bytes of an element, or of the fraction of it that not every process has. */
static double foreign_width(const hri_mpi_operand *o)
{
    return (double)o->element_bytes * (1.0 - o->everywhere);
}

static int64_t size_of(const hri_mpi_operand *o, hri_mpi_tile tile)
{
    return hri_mpi_tile_rows(o, tile) * hri_mpi_tile_cols(o, tile);
}

/* The bytes of a tile that come from other processes, or go to them. */
static uint64_t foreign_bytes(const hri_mpi_plan *plan,
                              const hri_mpi_operand *o, hri_mpi_tile tile,
                              int rank, size_t element_bytes)
{
    return (uint64_t)(size_of(o, tile) - hri_mpi_tile_elements(o, tile, rank) -
                      hri_mpi_tile_elements(o, tile, plan->process_count)) *
           element_bytes;
}

/* The bytes of its n-th panel that the process of a grid rank receives. */
static uint64_t count_panel(const hri_mpi_plan *plan, const hri_mpi_product *p,
                            int64_t grid_rank, int64_t n)
{
    const int rank = plan->rank[grid_rank];
    return foreign_bytes(plan, &p->a, hri_mpi_tile_of_a(plan, grid_rank, n),
                         rank, p->a.element_bytes) +
           foreign_bytes(plan, &p->b, hri_mpi_tile_of_b(plan, grid_rank, n),
                         rank, p->b.element_bytes);
}

/* All bytes that are sent, and *most: those of the process that receives most
 * of A and B and sends most of C. */
static uint64_t count_sent(const hri_mpi_plan *plan, const hri_mpi_product *p,
                           traffic *most)
{
    const int64_t chunks = plan->in_place ? 0 : plan->chunks;
    uint64_t sent = 0;
    *most = (traffic){0.0, 0.0};
    for (int i = 0; i < plan->rows * plan->cols * plan->depth; i++) {
        uint64_t panels = 0, sums = 0;
        for (int64_t n = 0; n < plan->panels; n++) {
            panels += count_panel(plan, p, i, n);
        }
        for (int64_t s = 0; s < chunks; s++) {
            sums += foreign_bytes(plan, &p->c, hri_mpi_tile_of_c(plan, i, s),
                                  plan->rank[i], hr_type_size(p->sum_type));
        }
        sent += panels + sums;
        if ((double)panels + (double)sums > most->panels + most->sums) {
            *most = (traffic){(double)panels, (double)sums};
        }
    }
    return sent;
}

/* ---- counting: messages */

/* The messages that bring tiles of an operand: each process gets one from every
 * other that has elements of a tile. Processes of `count` grid ranks, `stride`
 * from each other, need the same tiles. */
static uint64_t messages_of(const hri_mpi_plan *plan, const hri_mpi_operand *o,
                            hri_mpi_tile (*tile_of)(const hri_mpi_plan *plan,
                                                    int64_t grid_rank,
                                                    int64_t number),
                            int64_t tiles, int count, int stride)
{
    const int grid_size = plan->rows * plan->cols * plan->depth;
    uint64_t messages = 0;
    for (int i = 0; i < grid_size; i++) {
        if (i / stride % count > 0) {
            continue; /* its tiles are those of an earlier grid rank */
        }
        for (int64_t t = 0; t < tiles; t++) {
            const hri_mpi_tile tile = tile_of(plan, i, t);
            int owners = 0;
            for (int rank = 0; rank < plan->process_count; rank++) {
                owners += hri_mpi_tile_elements(o, tile, rank) > 0;
            }
            for (int s = 0; s < count; s++) {
                const int rank = plan->rank[i + s * stride];
                messages +=
                    (uint64_t)(owners -
                               (hri_mpi_tile_elements(o, tile, rank) > 0));
            }
        }
    }
    return messages;
}

/* All messages. Processes that need the same tiles must have them in the same
 * order: all begin with the first panel. */
static uint64_t count_messages(const hri_mpi_plan *plan,
                               const hri_mpi_product *p)
{
    return messages_of(plan, &p->a, hri_mpi_tile_of_a, plan->panels, plan->cols,
                       1) +
           messages_of(plan, &p->b, hri_mpi_tile_of_b, plan->panels, plan->rows,
                       plan->cols) +
           messages_of(plan, &p->c, hri_mpi_tile_of_c,
                       plan->in_place ? 0 : plan->chunks, plan->depth,
                       plan->rows * plan->cols);
}

/* ---- counting: the fewest bytes that any plan sends */

/* The sides of a box of `volume` products, none longer than `length`, with the
 * smallest faces: weight[d] is that of the face across side d. Such sides are
 * in proportion to these weights, but for those that are too long so. */
static void find_box(const double length[3], const double weight[3],
                     double volume, double side[3])
{
    bool full[3] = {false, false, false};
    bool changed = true;
    while (changed) {
        double left = volume;
        int free_sides = 0;
        changed = false;
        for (int d = 0; d < 3; d++) {
            left /= full[d] ? length[d] : weight[d];
            free_sides += !full[d];
        }
        const double scale = free_sides > 0 ? pow(left, 1.0 / free_sides) : 0.0;
        for (int d = 0; d < 3; d++) {
            side[d] = full[d] ? length[d] : weight[d] * scale;
            changed = changed || side[d] > length[d];
            full[d] = side[d] >= length[d];
        }
    }
}

/* Bytes that all of `count` processes receive at least, each computing an equal
 * box of products: the faces of a box of m n k / P products, no side longer
 * than the matrix's, less what a process has if all have as much. */
static uint64_t least_sent(const hri_mpi_product *p, int count)
{
    const double least = 1e-6; /* of what every process has */
    const double length[3] = {(double)p->m, (double)p->n, (double)p->k};
    const double width[3] = {foreign_width(&p->b), foreign_width(&p->a),
                             (double)hr_type_size(p->sum_type)};
    const double weight[3] = {fmax(width[0], least), fmax(width[1], least),
                              width[2]};
    const double all = length[0] * length[1] * length[2];
    double side[3], need = 0.0, have = 0.0;
    if (all <= 0.0 || count == 1) {
        return 0;
    }
    find_box(length, weight, all / count, side);
    for (int d = 0; d < 3; d++) {
        need += width[d] * all / count / side[d];
        have += width[d] * all / length[d] / count;
    }
    return need > have ? (uint64_t)((need - have) * count) : 0;
}

/* ---- counting: memory */

/* What every process has stays where it is. */
static uint64_t memory_of_tile(const hri_mpi_operand *o, hri_mpi_tile tile)
{
    return operand_stays(o) ? 0 : (uint64_t)size_of(o, tile) * o->element_bytes;
}

/* Whatever the process of a grid rank has in memory at one time: what comes,
 * goes and is multiplied of panels, and the sum. */
static uint64_t count_memory(const hri_mpi_plan *plan, const hri_mpi_product *p,
                             int64_t grid_rank)
{
    uint64_t panel = 0, sum = 0, chunk = 0;
    if (grid_rank < 0) {
        return 0;
    }
    for (int64_t t = 0; t < plan->panels; t++) {
        const uint64_t bytes =
            memory_of_tile(&p->a, hri_mpi_tile_of_a(plan, grid_rank, t)) +
            memory_of_tile(&p->b, hri_mpi_tile_of_b(plan, grid_rank, t));
        panel = bytes > panel ? bytes : panel;
    }
    for (int64_t s = 0; !plan->in_place && s < plan->chunks; s++) {
        const uint64_t bytes =
            (uint64_t)size_of(&p->c, hri_mpi_tile_of_c(plan, grid_rank, s)) *
            hr_type_size(p->sum_type);
        sum += bytes;
        chunk = bytes > chunk ? bytes : chunk;
    }
    return (uint64_t)plan->buffers * 3 * panel + sum + 2 * chunk;
}

/* ---- grids of processes */

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

/* The longest of `count` nearly equal lengths. */
static double even_length(int64_t length, int count)
{
    return (double)hri_ceil_div(length, count);
}

static double memory_width(const hri_mpi_operand *o, int processes)
{
    const bool own = processes == 1 && o->m.block_count == 1;
    return operand_stays(o) || own ? 0.0 : (double)o->element_bytes;
}

/* What a process receives and sends, if elements lie anywhere in `count`
 * processes, and the least. */
static traffic received_bytes(const hri_mpi_product *p, int count,
                              const grid *g, traffic *least)
{
    const double m = g->m, n = g->n, k = even_length(p->k, g->depth);
    const double a_bytes = m * k * foreign_width(&p->a);
    const double b_bytes = k * n * foreign_width(&p->b);
    const double c_bytes = m * n * (double)hr_type_size(p->sum_type);
    const double others = 1.0 - 1.0 / count;
    *least = (traffic){a_bytes * (1.0 - 1.0 / g->cols) +
                           b_bytes * (1.0 - 1.0 / g->rows),
                       c_bytes * (1.0 - 1.0 / g->depth)};
    return g->in_place
               ? *least
               : (traffic){(a_bytes + b_bytes) * others, c_bytes * others};
}

static traffic seconds_of(const hr_mpi_context *context, const grid *g,
                          traffic bytes)
{
    return context->count == 1
               ? (traffic){0.0, 0.0}
               : (traffic){bytes.panels * context->byte_seconds +
                               g->messages * context->latency_seconds,
                           bytes.sums * context->byte_seconds};
}

/* The seconds of a grid whose processes receive and send so much each. */
static double seconds_with(const hr_mpi_context *context, const grid *g,
                           traffic bytes)
{
    const traffic seconds = seconds_of(context, g, bytes);
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
    const int64_t few =
        processes == 1 || (operand_stays(&p->a) && operand_stays(&p->b))
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
    const double depth = even_length(p->k, g->depth) / (double)g->panels;
    const double panels =
        2.0 * depth * (g->m + g->n) * (double)p->a.element_bytes;
    const double c = g->m * g->n * (double)hr_type_size(p->sum_type);
    return 1.25 * (c + panels) <= (double)context->accelerator_bytes;
}

/* The seconds of a grid with so many panels, if elements lie anywhere and at
 * least. If C does not stay on accelerators, it goes there and back for each
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
    const double flops = g->m * g->n * even_length(p->k, g->depth) * scale *
                         width * context->flop_seconds;
    const int count = g->rows * g->cols * g->depth;
    traffic least;
    g->panels = panels;
    g->compute_seconds = flops;
    if (!keeps_c(context, p, g)) {
        g->compute_seconds += (double)(panels - 1) * SLOWER * g->m * g->n *
                              c_width * context->c_seconds;
    }
    g->messages = (double)panels * ((p->a.everywhere < 1.0 ? g->cols : 0) +
                                    (p->b.everywhere < 1.0 ? g->rows : 0)) +
                  (g->in_place ? 0 : count);
    const traffic bytes = received_bytes(p, context->count, g, &least);
    g->seconds = seconds_with(context, g, bytes);
    g->least_seconds = seconds_with(context, g, least);
}

/* With as many panels as are fastest: most messages should travel while
 * products run. */
static void predict_grid(const hr_mpi_context *context,
                         const hri_mpi_product *p, uint64_t memory, grid *g)
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
    const double depth = even_length(p->k, g->depth) / (double)g->panels;
    g->buffers = columns_there(p, g, context->count, memory) / depth;
}

/* The grid that is fastest if elements lie anywhere, and those that may be
 * faster, the most promising one first. */
enum { HOPES = 6 };
typedef struct choice {
    grid best, hopes[HOPES];
    int hope_count;
} choice;

static void consider_grid(choice *c, const grid *g)
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

/* Check that the grid that the caller asks for fits. */
static hr_status check_options(const hr_mpi_gemm_options *o, int most)
{
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
    return HR_OK;
}

static void compare_grids(const hr_mpi_context *context,
                          const hri_mpi_product *p,
                          const hr_mpi_gemm_options *o, uint64_t memory,
                          choice *all)
{
    const int most = context->count;
    const int rows = o->rows, cols = o->cols, depth = o->depth;
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
                g.m = g.in_place ? longest[t] : even_length(p->m, i);
                g.n = g.in_place ? longest[!t] : even_length(p->n, j);
                predict_grid(context, p, memory, &g);
                consider_grid(all, &g);
            }
        }
    }
}

/* ---- grid ranks */

/* Give processes grid ranks in the order of ranks, by rows or columns of C. */
static void place_in_order(hri_mpi_plan *plan, bool by_cols)
{
    const int face = plan->rows * plan->cols;
    for (int rank = 0; rank < face * plan->depth; rank++) {
        const int l = rank / face, at = rank % face;
        const int grid_rank =
            by_cols ? l * face + at % plan->rows * plan->cols + at / plan->rows
                    : rank;
        plan->rank[grid_rank] = rank;
    }
}

/* Give the owners of C their grid ranks: C is computed in place. */
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

static void find_grid_ranks(hri_mpi_plan *plan, const hr_mpi_context *context)
{
    for (int rank = 0; rank < context->count; rank++) {
        plan->grid_rank[rank] = -1;
    }
    for (int i = 0; i < plan->rows * plan->cols * plan->depth; i++) {
        plan->grid_rank[plan->rank[i]] = i;
    }
}

/* The panel with which the process of a grid rank begins: one that it has all
 * of, so that others come while it multiplies. If there is none, the processes
 * that need the same tiles begin with different ones. If they began with the
 * same one, its owner would send to all at once, and all would wait: products
 * would be 0.80 of the time of 8 x 8 processes, not 0.96 (tests/simulation). */
static int64_t first_of(const hri_mpi_plan *plan, const hri_mpi_product *p,
                        int64_t grid_rank)
{
    const int64_t panels = plan->panels;
    for (int64_t t = 0; t < panels; t++) {
        if (count_panel(plan, p, grid_rank, t) == 0) {
            return t;
        }
    }
    const int64_t i = grid_rank / plan->cols % plan->rows,
                  j = grid_rank % plan->cols;
    return (hri_even(panels, plan->rows, i) + hri_even(panels, plan->cols, j)) %
           panels;
}

/* ---- plans */

static hr_status cut_operands(const hri_mpi_plan *plan, hri_mpi_product *p)
{
    const hri_mpi_operand *c = &p->c;
    const bool t = c->m.transposed;
    hri_mpi_tiling rows = {NULL, 0, plan->rows, 1};
    hri_mpi_tiling cols = {NULL, 0, plan->cols, 1};
    const hri_mpi_tiling depth = {NULL, 0, plan->depth, plan->panels};
    if (plan->in_place) {
        rows.like = t ? &c->col_blocks : &c->row_blocks;
        rows.start = t ? c->m.col : c->m.row;
        cols.like = t ? &c->row_blocks : &c->col_blocks;
        cols.start = t ? c->m.row : c->m.col;
    }
    HRI_TRY(hri_mpi_operand_cut(&p->a, &rows, &depth));
    HRI_TRY(hri_mpi_operand_cut(&p->b, &depth, &cols));
    cols.inner = plan->chunks;
    return hri_mpi_operand_cut(&p->c, &rows, &cols);
}

static void count_chunks(hri_mpi_plan *plan, const hri_mpi_product *p)
{
    enum { CHUNK_BYTES = 32 << 20 };
    const double bytes = even_length(p->m, plan->rows) *
                         even_length(p->n, plan->cols) *
                         (double)hr_type_size(p->sum_type);
    plan->chunks = plan->in_place
                       ? 1
                       : hri_max(1, hri_min((int64_t)ceil(bytes / CHUNK_BYTES),
                                            p->n / plan->cols));
}

/* Choose the order of ranks that sends less. *most is as count_sent has it. */
static void find_order(hri_mpi_plan *plan, const hr_mpi_context *context,
                       const hri_mpi_product *p, traffic *most)
{
    if (plan->in_place) {
        place_owners(plan, &p->c);
        plan->sent = count_sent(plan, p, most);
    } else {
        uint64_t sent[2];
        traffic mosts[2];
        for (int by_cols = 1; by_cols >= 0; by_cols--) {
            place_in_order(plan, by_cols == 1);
            sent[by_cols] = count_sent(plan, p, &mosts[by_cols]);
        }
        const bool by_cols = sent[1] < sent[0];
        if (by_cols) {
            place_in_order(plan, true);
        }
        plan->sent = sent[by_cols];
        *most = mosts[by_cols];
    }
    find_grid_ranks(plan, context);
}

/* Make the plan that of a grid, and count the most bytes that a process
 * receives of A and B and sends of C. */
static hr_status take_grid(hri_mpi_plan *plan, const hr_mpi_context *context,
                           hri_mpi_product *p, grid *g)
{
    plan->rows = g->rows;
    plan->cols = g->cols;
    plan->depth = g->depth;
    plan->in_place = g->in_place;
    plan->panels = g->panels;
    plan->buffers = (int64_t)fmin(fmin(fmax(g->buffers, 2.0), HRI_MPI_PANELS),
                                  (double)g->panels);
    count_chunks(plan, p);
    HRI_TRY(cut_operands(plan, p));
    traffic most;
    find_order(plan, context, p, &most);
    const traffic messages = seconds_of(context, g, most);
    g->message_seconds = messages.panels + messages.sums;
    g->seconds = seconds_with(context, g, most);
    return HR_OK;
}

/* Take the fastest one. */
static hr_status take_fastest(hri_mpi_plan *plan, const hr_mpi_context *context,
                              hri_mpi_product *p, choice *all)
{
    grid best = all->best;
    bool taken = true;
    HRI_TRY(take_grid(plan, context, p, &best));
    for (int i = 0; i < all->hope_count; i++) {
        grid *g = &all->hopes[i];
        const bool same = g->rows == all->best.rows &&
                          g->cols == all->best.cols &&
                          g->depth == all->best.depth;
        if (!same && g->least_seconds < best.seconds) {
            HRI_TRY(take_grid(plan, context, p, g));
            taken = g->seconds < best.seconds;
            best = taken ? *g : best;
        }
    }
    if (!taken) {
        HRI_TRY(take_grid(plan, context, p, &best));
    }
    plan->seconds = best.seconds;
    plan->compute_seconds = best.compute_seconds;
    plan->message_seconds = best.message_seconds;
    return HR_OK;
}

hr_status hri_mpi_plan_init(hri_mpi_plan *plan, const hr_mpi_context *context,
                            hri_mpi_product *p,
                            const hr_mpi_gemm_options *options)
{
    const size_t count = (size_t)context->count;
    const uint64_t memory = options->memory_limit > 0 ? options->memory_limit
                                                      : context->memory_bytes;
    choice all = {.hope_count = 0};
    *plan = (hri_mpi_plan){.process_count = context->count};
    HRI_TRY(check_options(options, context->count));
    compare_grids(context, p, options, memory, &all);
    plan->rank = malloc(count * sizeof *plan->rank);
    plan->grid_rank = malloc(count * sizeof *plan->grid_rank);
    plan->first = calloc(count, sizeof *plan->first);
    if (plan->rank == NULL || plan->grid_rank == NULL || plan->first == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "mpi: no memory for a plan of %d processes",
                        context->count);
    }
    HRI_TRY(take_fastest(plan, context, p, &all));
    if (hri_mpi_is_empty(p)) {
        plan->sent = 0;
        plan->seconds = plan->compute_seconds = plan->message_seconds = 0.0;
        return HR_OK;
    }
    plan->messages = count_messages(plan, p);
    for (int i = 0; i < plan->rows * plan->cols * plan->depth; i++) {
        plan->first[i] = first_of(plan, p, i); /* from here on orders differ */
    }
    plan->bound = least_sent(p, plan->rows * plan->cols * plan->depth);
    plan->memory_bytes = count_memory(plan, p, plan->grid_rank[context->rank]);
    return HR_OK;
}

void hri_mpi_plan_finish(hri_mpi_plan *plan)
{
    free(plan->rank);
    free(plan->grid_rank);
    free(plan->first);
    *plan = (hri_mpi_plan){0};
}
