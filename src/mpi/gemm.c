/* SPDX-License-Identifier: MIT */
/* Products. While a thread multiplies panels, this one exchanges the messages
 * of later ones. All processes stop behind the same panel. At the end C comes
 * to the processes that have it, in chunks of its columns. */
#include <math.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/hash.h"
#include "base/matrix.h"
#include "base/pages.h"
#include "base/size.h"
#include "base/structs.h"
#include "mpi/run.h"

/* Kinds of messages. */
enum { MESSAGE_A = 1, MESSAGE_B = 2, MESSAGE_C = 3 };

/* ---- where panels lie */

/* Whether the process, or every one, has all of a tile as one box. */
static bool is_one_box(const hri_mpi_operand *o, hri_mpi_tile tile, int owner,
                       hri_mpi_place *at)
{
    hri_mpi_boxes boxes;
    hri_mpi_box box;
    hri_mpi_boxes_begin(&boxes, o, tile, owner);
    if (!hri_mpi_boxes_next(&boxes, &box) ||
        box.rows != hri_mpi_tile_rows(o, tile) ||
        box.cols != hri_mpi_tile_cols(o, tile)) {
        return false;
    }
    *at = hri_mpi_place_owned(&box);
    return true;
}

static bool is_here(const hri_mpi_run *r, const hri_mpi_operand *o,
                    hri_mpi_tile tile, hri_mpi_place *at)
{
    return is_one_box(o, tile, r->context->rank, at) ||
           is_one_box(o, tile, r->context->count, at);
}

static size_t bytes_of(const hri_mpi_operand *o, hri_mpi_tile tile)
{
    return (size_t)(hri_mpi_tile_rows(o, tile) * hri_mpi_tile_cols(o, tile)) *
           o->element_bytes;
}

static hri_mpi_panel *panel_of(hri_mpi_run *r, int64_t number)
{
    return &r->panels[number % r->plan.buffers];
}

/* Find where this process's panel goes, and give it memory. */
static hr_status place_panel(hri_mpi_run *r, int64_t number)
{
    hri_mpi_panel *p = panel_of(r, number);
    const hri_mpi_product *x = &r->product;
    const hri_mpi_tile a = hri_mpi_tile_of_a(&r->plan, r->grid_rank, number);
    const hri_mpi_tile b = hri_mpi_tile_of_b(&r->plan, r->grid_rank, number);
    const bool a_here = is_here(r, &x->a, a, &p->a);
    const bool b_here = is_here(r, &x->b, b, &p->b);
    const size_t a_bytes =
        a_here ? 0 : hri_round_up_bytes(bytes_of(&x->a, a), 64);
    const size_t bytes = a_bytes + (b_here ? 0 : bytes_of(&x->b, b));
    if (bytes > p->memory_bytes) {
        free(p->memory);
        p->memory = hri_pages(bytes);
        p->memory_bytes = p->memory != NULL ? bytes : 0;
        if (p->memory == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "mpi: no %zu bytes for a panel", bytes);
        }
    }
    if (!a_here) {
        p->a = (hri_mpi_place){p->memory, 1,
                               hri_max(1, hri_mpi_tile_rows(&x->a, a))};
    }
    if (!b_here) {
        p->b = (hri_mpi_place){p->memory + a_bytes, 1,
                               hri_max(1, hri_mpi_tile_rows(&x->b, b))};
    }
    return HR_OK;
}

/* ---- messages of panels */

static hr_status add_message(const hri_mpi_run *r, hri_message_list *list,
                             const hri_message *m, const hri_mpi_place *at)
{
    const size_t bytes = m->operand->element_bytes;
    const int before = list->count;
    HRI_TRY(hri_messages_add(list, m, r->context, bytes));
    if (list->count > before) {
        hri_message_place(&list->of[before], at, bytes);
    }
    return HR_OK;
}

/* The messages of the panel of A or of B that the process of `grid_rank` needs:
 * what this process receives for its own one, which lies at `at`, or what it
 * sends. */
static hr_status list_factor(const hri_mpi_run *r, hri_messages *m, int kind,
                             int64_t grid_rank, int64_t number,
                             const hri_mpi_place *at)
{
    const bool a = kind == MESSAGE_A;
    const int own = r->context->rank, needs = r->plan.rank[grid_rank];
    hri_message message = {
        .operand = a ? &r->product.a : &r->product.b,
        .tile = a ? hri_mpi_tile_of_a(&r->plan, grid_rank, number)
                  : hri_mpi_tile_of_b(&r->plan, grid_rank, number),
        .kind = kind,
        .grid_rank = grid_rank};
    if (needs != own) {
        message.owner = own;
        message.peer = needs;
        return add_message(r, &m->out, &message, NULL);
    }
    for (int rank = 0; rank < r->context->count; rank++) {
        message.owner = message.peer = rank;
        if (rank != own) {
            HRI_TRY(add_message(r, &m->in, &message, at));
        }
    }
    return HR_OK;
}

/* Find where the panel goes, and list its messages. */
static hr_status list_panel(hri_mpi_run *r, int64_t number)
{
    hri_mpi_panel *p = panel_of(r, number);
    hri_messages *m = &p->messages;
    const int64_t grid_size =
        (int64_t)r->plan.rows * r->plan.cols * r->plan.depth;
    hri_messages_clear(m);
    if (r->grid_rank >= 0) {
        HRI_TRY(place_panel(r, number));
    }
    for (int64_t i = 0; i < grid_size; i++) {
        HRI_TRY(list_factor(r, m, MESSAGE_A, i, number, &p->a));
        HRI_TRY(list_factor(r, m, MESSAGE_B, i, number, &p->b));
    }
    return hri_messages_place(m);
}

/* Bring what this process has of its own tile there, unless it lies there. */
static void bring_own(const hri_mpi_run *r, const hri_mpi_operand *o,
                      hri_mpi_tile tile, hri_mpi_place at)
{
    hri_mpi_place here;
    if (!is_here(r, o, tile, &here)) {
        const int everywhere = r->context->count; /* every process has it */
        hri_mpi_tile_bring(o, tile, r->context->rank, NULL, at);
        hri_mpi_tile_bring(o, tile, everywhere, NULL, at);
    }
}

/* Begin to exchange a panel, and ask all whether any wants to stop behind it.
 */
static hr_status post_panel(hri_mpi_run *r, int64_t number)
{
    hri_mpi_panel *p = panel_of(r, number);
    const hri_mpi_product *x = &r->product;
    HRI_TRY(hri_messages_end(&p->messages, r->context));
    hri_error_keep(&r->error, list_panel(r, number));
    for (int i = 0; i < p->messages.out.count; i++) {
        const hri_message *m = &p->messages.out.of[i];
        if (!m->in_place) {
            hri_message_pack(m, NULL, m->operand->element_bytes);
        }
    }
    HRI_TRY(hri_messages_start(&p->messages, r->context));
    if (r->grid_rank >= 0) {
        bring_own(r, &x->a, hri_mpi_tile_of_a(&r->plan, r->grid_rank, number),
                  p->a);
        bring_own(r, &x->b, hri_mpi_tile_of_b(&r->plan, r->grid_rank, number),
                  p->b);
    }
    hri_mpi_memory *memory = &r->context->memory;
    const int64_t at = number % r->plan.buffers;
    memory->stop[at] =
        r->error.status != HR_OK || hri_progress_stopped(&r->progress);
    return hri_mpi_check(r->context,
                         MPI_Iallreduce(&memory->stop[at], &memory->stops[at],
                                        1, MPI_INT, MPI_MAX, r->context->comm,
                                        &p->question),
                         "MPI_Iallreduce");
}

/* Wait until the panel is here. *stops: all stop behind it. */
static hr_status complete_panel(hri_mpi_run *r, int64_t number, bool *stops)
{
    hri_mpi_panel *p = panel_of(r, number);
    HRI_TRY(hri_messages_await(&p->messages, r->context, &r->error));
    HRI_TRY(hri_mpi_wait(r->context, 1, &p->question));
    for (int i = 0; i < p->messages.in.count; i++) {
        const hri_message *m = &p->messages.in.of[i];
        if (!m->in_place) {
            hri_mpi_tile_bring(m->operand, m->tile, m->owner, m->at.data,
                               m->kind == MESSAGE_A ? p->a : p->b);
        }
    }
    *stops = *stops || r->context->memory.stops[number % r->plan.buffers] != 0;
    return HR_OK;
}

/* Bring panel after panel, each to where an earlier one was that is not needed
 * any more. The first one comes alone: products wait for it. */
static hr_status exchange_panels(hri_mpi_run *r, bool *stopped)
{
    const hri_mpi_plan *plan = &r->plan;
    const int64_t ahead = plan->buffers > 2 ? 2 : 1;
    int64_t posted = 0, complete = 0;
    while (complete < (*stopped ? posted : plan->panels)) {
        const int64_t last =
            hri_min(plan->panels, complete > 0 ? complete + ahead : 1);
        for (; posted < last && !*stopped; posted++) {
            HRI_TRY(hri_multiply_await(r, posted + 1 - plan->buffers));
            HRI_TRY(post_panel(r, posted));
        }
        HRI_TRY(complete_panel(r, complete, stopped));
        complete++;
        if (!*stopped) {
            hri_multiply_arrived(r, complete);
            hri_progress_add(&r->progress, 0); /* tells the program */
        }
    }
    for (int64_t i = 0; i < plan->buffers; i++) { /* others have all of them */
        HRI_TRY(hri_messages_end(&r->panels[i].messages, r->context));
    }
    return HR_OK;
}

static hr_status multiply_panels(hri_mpi_run *r, bool *stopped)
{
    (void)hri_progress_tell(&r->progress, 0.0);
    hri_multiply_begin(r);
    const hr_status status = exchange_panels(r, stopped);
    const hr_status end = hri_multiply_end(r, *stopped || status != HR_OK);
    return status == HR_OK ? end : status;
}

/* ---- C comes home */

/* What one process computes of a chunk, for the processes that have it. */
static hr_status list_chunk(hri_mpi_run *r, int64_t chunk)
{
    const hri_mpi_plan *plan = &r->plan;
    const size_t width = hr_type_size(r->product.sum_type);
    const int64_t grid_size = (int64_t)plan->rows * plan->cols * plan->depth;
    const int own = r->context->rank;
    hri_messages *m = &r->home;
    hri_messages_clear(m);
    for (int64_t i = 0; i < grid_size; i++) {
        hri_message message = {.operand = &r->product.c,
                               .tile = hri_mpi_tile_of_c(plan, i, chunk),
                               .kind = MESSAGE_C,
                               .grid_rank = i,
                               .owner = own,
                               .peer = plan->rank[i]};
        HRI_TRY(hri_messages_add(&m->in, &message, r->context, width));
        for (int rank = 0; i == r->grid_rank && rank < r->context->count;
             rank++) {
            message.owner = message.peer = rank;
            if (rank != own) {
                HRI_TRY(hri_messages_add(&m->out, &message, r->context, width));
            }
        }
    }
    return hri_messages_place(m);
}

/* The columns of C in a chunk of this process's tile. */
static int64_t cols_of_chunk(const hri_mpi_run *r, int64_t chunk)
{
    const hri_mpi_operand *c = &r->product.c;
    const hri_mpi_tile tile = hri_mpi_tile_of_c(&r->plan, r->grid_rank, chunk);
    return c->m.transposed ? hri_mpi_tile_rows(c, tile)
                           : hri_mpi_tile_cols(c, tile);
}

/* Pack what owners get of this process's sum, and what it gets itself. */
static void pack_sums(const hri_mpi_run *r, int64_t chunk)
{
    const size_t width = hr_type_size(r->product.sum_type);
    if (r->grid_rank < 0) {
        return;
    }
    int64_t before = 0;
    for (int64_t i = 0; i < chunk; i++) {
        before += cols_of_chunk(r, i);
    }
    hri_mpi_place sum = {r->sum, 1, r->c.col_stride};
    sum.data += before * r->c.col_stride * (int64_t)width;
    if (r->product.c.m.transposed) {
        sum.row_stride = r->c.col_stride;
        sum.col_stride = 1;
    }
    for (int i = 0; i < r->home.out.count; i++) {
        hri_message_pack(&r->home.out.of[i], &sum, width);
    }
    for (int i = 0; i < r->home.in.count; i++) {
        const hri_message *m = &r->home.in.of[i];
        if (m->peer == r->context->rank) {
            hri_message_pack(m, &sum, width);
        }
    }
}

/* Add up what has come for this process's elements of one chunk of a tile. */
static void add_up(const hri_mpi_run *r, int64_t face, int64_t chunk,
                   bool summed)
{
    const char **terms = r->terms;
    const hri_mpi_product *x = &r->product;
    hri_mpi_sum sum = {
        .type = x->c.m.type, .term_type = x->sum_type, .beta = x->beta};
    hri_mpi_boxes boxes;
    hri_mpi_box box;
    for (int i = 0; i < r->home.in.count; i++) { /* in the order of depth */
        const hri_message *m = &r->home.in.of[i];
        if (m->grid_rank % ((int64_t)r->plan.rows * r->plan.cols) == face) {
            terms[sum.count++] = m->at.data;
        }
    }
    sum.count = summed ? sum.count : 0;
    hri_mpi_boxes_begin(&boxes, &x->c, hri_mpi_tile_of_c(&r->plan, face, chunk),
                        r->context->rank);
    while (hri_mpi_boxes_next(&boxes, &box)) {
        hri_mpi_sum_box(&sum, &box, terms);
    }
}

/* Bring sums to the processes that have C. If nothing was summed, C is
 * scaled. */
static hr_status bring_c_home(hri_mpi_run *r, bool summed)
{
    for (int64_t chunk = 0; chunk < r->plan.chunks; chunk++) {
        hri_error_keep(&r->error, list_chunk(r, chunk));
        if (summed) {
            pack_sums(r, chunk);
            HRI_TRY(hri_messages_start(&r->home, r->context));
            HRI_TRY(hri_messages_await(&r->home, r->context, &r->error));
        }
        HRI_TRY(hri_messages_end(&r->home, r->context));
        for (int64_t i = 0; i < r->plan.rows * r->plan.cols; i++) {
            add_up(r, i, chunk, summed);
        }
    }
    return HR_OK;
}

/* ---- preparing: all that the run needs is allocated here */

static void take_memory(hri_mpi_kept *kept, char **memory, size_t *bytes)
{
    *memory = kept->memory;
    *bytes = kept->bytes;
    *kept = (hri_mpi_kept){NULL, 0};
}

static void keep_memory(hri_mpi_kept *kept, char **memory, size_t bytes)
{
    if (*memory != NULL) {
        *kept = (hri_mpi_kept){*memory, bytes};
    }
    *memory = NULL;
}

static hr_status prepare_panels(hri_mpi_run *r)
{
    for (int i = 0; i < HRI_MPI_PANELS; i++) {
        hri_mpi_panel *p = &r->panels[i];
        take_memory(&r->context->panels[i], &p->memory, &p->memory_bytes);
        take_memory(&r->context->messages[i], &p->messages.memory,
                    &p->messages.memory_bytes);
    }
    for (int64_t t = 0; t < r->plan.panels; t++) {
        HRI_TRY(list_panel(r, t));
    }
    return HR_OK;
}

/* A tile as a matrix that the product sees. */
static hr_matrix view_of(const hri_mpi_operand *o, hri_mpi_tile tile,
                         hri_mpi_place at)
{
    const hr_matrix stored = {.data = at.data,
                              .type = o->m.type,
                              .conjugate = o->m.conjugate,
                              .rows = hri_mpi_tile_rows(o, tile),
                              .cols = hri_mpi_tile_cols(o, tile),
                              .row_stride = at.row_stride,
                              .col_stride = at.col_stride};
    return o->m.transposed ? hr_matrix_transpose(stored) : stored;
}

/* Find where this process's tile of C goes, and give it memory. */
static hr_status place_c(hri_mpi_run *r)
{
    const hri_mpi_operand *c = &r->product.c;
    const hri_mpi_tile first = hri_mpi_tile_of_c(&r->plan, r->grid_rank, 0);
    if (r->plan.in_place) {
        hri_mpi_boxes boxes;
        hri_mpi_box box = {0};
        hri_mpi_boxes_begin(&boxes, c, first, r->context->rank);
        (void)hri_mpi_boxes_next(&boxes, &box); /* the others lie behind it */
        r->c = view_of(c, first, hri_mpi_place_owned(&box));
        return HR_OK;
    }
    const int64_t rows = c->m.transposed ? hri_mpi_tile_cols(c, first)
                                         : hri_mpi_tile_rows(c, first);
    int64_t cols = 0;
    for (int64_t chunk = 0; chunk < r->plan.chunks; chunk++) {
        cols += cols_of_chunk(r, chunk);
    }
    const hr_type type = r->product.sum_type;
    const size_t bytes = (size_t)(rows * cols) * hr_type_size(type);
    r->sum = hri_pages(bytes > 0 ? bytes : 1);
    r->c = hr_matrix_column_major(r->sum, type, rows, cols, hri_max(1, rows));
    return r->sum != NULL ? HR_OK
                          : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                     "mpi: no %zu bytes for sums", bytes);
}

/* Find where this process's panels will lie, when all are prepared. */
static hr_status find_factors(hri_mpi_run *r)
{
    const size_t panels = (size_t)r->plan.panels;
    r->a = calloc(panels, sizeof *r->a);
    r->b = calloc(panels, sizeof *r->b);
    if (r->a == NULL || r->b == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for %zu panels",
                        panels);
    }
    for (int64_t t = 0; t < r->plan.panels; t++) {
        const hri_mpi_panel *p = panel_of(r, t);
        HRI_TRY(place_panel(r, t)); /* its memory is there */
        r->a[t] = view_of(&r->product.a,
                          hri_mpi_tile_of_a(&r->plan, r->grid_rank, t), p->a);
        r->b[t] = view_of(&r->product.b,
                          hri_mpi_tile_of_b(&r->plan, r->grid_rank, t), p->b);
    }
    return HR_OK;
}

static hr_status allocate_all(hri_mpi_run *r)
{
    const bool empty = hri_mpi_is_empty(&r->product);
    r->grid_rank = r->plan.grid_rank[r->context->rank];
    if (!empty) {
        HRI_TRY(prepare_panels(r));
    }
    r->terms = calloc((size_t)r->plan.depth, sizeof *r->terms);
    if (r->terms == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for sums");
    }
    for (int64_t chunk = 0; chunk < r->plan.chunks; chunk++) {
        HRI_TRY(list_chunk(r, chunk));
    }
    if (r->grid_rank < 0 || empty) {
        return HR_OK;
    }
    HRI_TRY(place_c(r));
    return r->c.rows > 0 && r->c.cols > 0 ? find_factors(r) : HR_OK;
}

/* When MPI is lost, messages may still come: their memory stays. */
static void finish_run(hri_mpi_run *r)
{
    for (int i = 0; i < HRI_MPI_PANELS && !r->context->lost; i++) {
        hri_mpi_panel *p = &r->panels[i];
        keep_memory(&r->context->panels[i], &p->memory, p->memory_bytes);
        keep_memory(&r->context->messages[i], &p->messages.memory,
                    p->messages.memory_bytes);
        hri_messages_finish(&p->messages);
    }
    if (!r->context->lost) {
        hri_messages_finish(&r->home);
    }
    free(r->a);
    free(r->b);
    free(r->sum);
    free(r->terms);
    hri_mpi_plan_finish(&r->plan);
    hri_mpi_operand_finish(&r->product.a);
    hri_mpi_operand_finish(&r->product.b);
    hri_mpi_operand_finish(&r->product.c);
}

/* ---- arguments */

static hr_status check_shapes(hr_mpi_matrix a, hr_mpi_matrix b, hr_mpi_matrix c)
{
    if (a.cols != b.rows) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: A is %lld x %lld but B is %lld x %lld: A has "
                        "%lld columns and B %lld rows",
                        (long long)a.rows, (long long)a.cols, (long long)b.rows,
                        (long long)b.cols, (long long)a.cols,
                        (long long)b.rows);
    }
    if (a.rows != c.rows || b.cols != c.cols) {
        return hri_fail(
            HR_ERROR_INVALID,
            "mpi: A is %lld x %lld, B %lld x %lld and C %lld x %lld",
            (long long)a.rows, (long long)a.cols, (long long)b.rows,
            (long long)b.cols, (long long)c.rows, (long long)c.cols);
    }
    return c.conjugate ? hri_fail(HR_ERROR_INVALID,
                                  "mpi: C counts as its conjugate, which "
                                  "only A and B may")
                       : HR_OK;
}

/* Types, scalars and options, as a product of one process has them. */
static hr_status check_types(hr_context *local, const hri_mpi_product *x,
                             hr_compute compute)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    options.compute = compute;
    const hr_matrix a = hr_matrix_row_major(NULL, x->a.m.type, 1, 1, 0);
    const hr_matrix b = hr_matrix_row_major(NULL, x->b.m.type, 1, 1, 0);
    const hr_matrix c = hr_matrix_row_major(NULL, x->c.m.type, 1, 1, 0);
    return hr_gemm_plan(local, x->alpha, a, b, x->beta, c, &options, &report);
}

static const hri_struct options_struct = HRI_STRUCT(
    hr_mpi_gemm_options, "gemm options", "HR_MPI_GEMM_OPTIONS_INIT", rows);
static const hri_struct report_struct = HRI_STRUCT(
    hr_mpi_gemm_report, "gemm report", "HR_MPI_GEMM_REPORT_INIT", panel);

/* Check the matrices and scalars. `read`: elements must be there. */
static hr_status open_product(hri_mpi_run *r, const hr_mpi_matrix m[3],
                              bool read)
{
    hri_mpi_product *x = &r->product;
    const hr_mpi_context *context = r->context;
    const bool factors = read && !(x->alpha.re == 0.0 && x->alpha.im == 0.0);
    HRI_TRY(check_shapes(m[0], m[1], m[2]));
    HRI_TRY(hri_mpi_operand_init(&x->a, context, "A", m[0], factors, &r->hash));
    HRI_TRY(hri_mpi_operand_init(&x->b, context, "B", m[1], factors, &r->hash));
    HRI_TRY(hri_mpi_operand_init(&x->c, context, "C", m[2], read, &r->hash));
    if (x->c.everywhere > 0.0) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: C: every process has a block, so that none "
                        "could write it");
    }
    const hr_mpi_gemm_options *o = &r->options;
    const double scalars[] = {x->alpha.re, x->alpha.im, x->beta.re, x->beta.im};
    const int64_t all[] = {o->compute, o->rows, o->cols, o->depth,
                           (int64_t)o->memory_limit};
    r->hash = hri_hash(r->hash, scalars, sizeof scalars);
    r->hash = hri_hash(r->hash, all, sizeof all);
    x->m = m[2].rows;
    x->n = m[2].cols;
    x->k = m[0].cols;
    x->sum_type =
        m[2].type == HR_F16 || m[2].type == HR_BF16 ? HR_F32 : m[2].type;
    return check_types(context->local, x, o->compute);
}

/* Fill the caller's report, whose size has been checked. */
static void fill_report(const hri_mpi_run *r, double seconds)
{
    const hri_mpi_plan *plan = &r->plan;
    const int64_t k = hri_ceil_div(r->product.k, plan->depth);
    const hr_mpi_gemm_report known = {
        .rows = plan->rows,
        .cols = plan->cols,
        .depth = plan->depth,
        .panel = hri_ceil_div(k, plan->panels),
        .panels = plan->panels,
        .seconds = seconds,
        .compute_seconds = plan->compute_seconds,
        .message_seconds = plan->message_seconds,
        .sent = plan->sent,
        .bound = plan->bound,
        .ratio = plan->bound > 0  ? (double)plan->sent / (double)plan->bound
                 : plan->sent > 0 ? HUGE_VAL
                                  : 1.0,
        .messages = plan->messages,
        .memory_bytes = plan->memory_bytes};
    hri_struct_write(&report_struct, &known, r->options.report);
}

/* ---- the calls */

/* Check all arguments, and plan. `read`: elements must be there. */
static hr_status plan_run(hri_mpi_run *r, const hr_mpi_matrix m[3], bool read)
{
    HRI_TRY(hri_struct_check(&report_struct, r->options.report));
    HRI_TRY(open_product(r, m, read));
    return hri_mpi_plan_init(&r->plan, r->context, &r->product, &r->options);
}

/* Also allocate all that the product needs. */
static hr_status open_run(hri_mpi_run *r, const hr_mpi_matrix m[3],
                          const hr_mpi_gemm_options *options)
{
    HRI_TRY(hri_struct_read(&options_struct, options, &r->options));
    HRI_TRY(plan_run(r, m, true));
    return allocate_all(r);
}

/* Do no more than plan. */
static hr_status open_plan(hri_mpi_run *r, const hr_mpi_matrix m[3],
                           const hr_mpi_gemm_options *options,
                           hr_mpi_gemm_report *report)
{
    HRI_TRY(hri_struct_read(&options_struct, options, &r->options));
    r->options.report = report;
    return plan_run(r, m, false);
}

static hr_status walk_steps(hri_mpi_run *r)
{
    const bool empty = hri_mpi_is_empty(&r->product);
    bool stopped = false;
    if (!empty) {
        HRI_TRY(multiply_panels(r, &stopped));
    }
    if (!stopped && (empty || !r->plan.in_place)) {
        HRI_TRY(bring_c_home(r, !empty));
    }
    return hr_mpi_agree(
        r->context,
        hri_progress_status(&r->progress, hri_error_raise(&r->error)));
}

static hr_status run_product(hri_mpi_run *r, const hr_mpi_matrix m[3],
                             const hr_mpi_gemm_options *options)
{
    const double begin = MPI_Wtime();
    const hri_mpi_product *x = &r->product;
    const hr_mpi_gemm_options *o = &r->options;
    const hr_status opened = open_run(r, m, options);
    HRI_TRY(hri_mpi_agree_on(r->context, opened, r->hash));
    hri_progress_init(&r->progress, "gemm", o->progress, o->progress_data,
                      hri_product_flops(x->c.m.type, x->m, x->n, x->k));
    HRI_TRY(hri_progress_end(&r->progress, walk_steps(r)));
    fill_report(r, MPI_Wtime() - begin);
    return HR_OK;
}

static hri_mpi_run new_run(hr_mpi_context *context, hr_scalar alpha,
                           hr_scalar beta)
{
    return (hri_mpi_run){.context = context,
                         .product = {.alpha = alpha, .beta = beta},
                         .options = HR_MPI_GEMM_OPTIONS_INIT,
                         .hash = HRI_HASH_INIT,
                         .grid_rank = -1};
}

hr_status hr_mpi_gemm(hr_mpi_context *context, hr_scalar alpha, hr_mpi_matrix a,
                      hr_mpi_matrix b, hr_scalar beta, hr_mpi_matrix c,
                      const hr_mpi_gemm_options *options)
{
    HRI_USUAL_ARITHMETIC;
    const hr_mpi_matrix m[3] = {a, b, c};
    HRI_TRY(hri_mpi_context_check(context));
    hri_mpi_run r = new_run(context, alpha, beta);
    const hr_status status = run_product(&r, m, options);
    finish_run(&r);
    return status;
}

hr_status hr_mpi_gemm_plan(hr_mpi_context *context, hr_scalar alpha,
                           hr_mpi_matrix a, hr_mpi_matrix b, hr_scalar beta,
                           hr_mpi_matrix c, const hr_mpi_gemm_options *options,
                           hr_mpi_gemm_report *report)
{
    HRI_USUAL_ARITHMETIC;
    const hr_mpi_matrix m[3] = {a, b, c};
    if (context == NULL || !context->model) {
        HRI_TRY(hri_mpi_context_check(context));
    }
    hri_mpi_run r = new_run(context, alpha, beta);
    hr_status status = open_plan(&r, m, options, report);
    status = hri_mpi_agree_on(context, status, r.hash);
    if (status == HR_OK) {
        fill_report(&r, r.plan.seconds);
    }
    finish_run(&r);
    return status;
}
