/* SPDX-License-Identifier: MIT */
/* Products. All processes go through the same steps: panel after panel of k,
 * and then strip after strip of C. While a thread multiplies a panel, this one
 * exchanges the messages of the next. With each panel goes a question to all
 * whether any wants to stop, so that all stop behind the same one. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/format.h"
#include "base/hash.h"
#include "base/size.h"
#include "base/structs.h"
#include "mpi/messages.h"
#include "mpi/plan.h"
#include "mpi/sum.h"

enum { KIND_A = 1, KIND_B = 2, KIND_C = 3 };

/* A panel of A and one of B. */
typedef struct panel {
    hri_messages messages;
    char *memory; /* of both, where they do not lie in one block of this process
                     as they are */
    size_t memory_bytes;
    hri_place a, b;
    int64_t a_leading, b_leading;
    const int *stops; /* whether any process wants to stop behind it */
    MPI_Request question;
} panel;

typedef struct run {
    hr_mpi_context *context;
    hri_mpi_product *product;
    const hri_mpi_plan *plan;
    const hr_mpi_gemm_options *options;
    int64_t place; /* -1: nothing is computed here */
    panel panels[2];
    char *sum; /* of this process's part of C, by columns; NULL: in place */
    hr_matrix c;
    hri_messages strips;
    const char **terms; /* [depth] of the sum */
    hr_status status;   /* of what fails in this process alone */
    char sentence[HRI_MESSAGE_BYTES];
} run;

/* ---- errors of one process, which all hear at the end */

static void keep(run *r, hr_status status)
{
    if (status != HR_OK && r->status == HR_OK) {
        r->status = status;
        hri_format(r->sentence, sizeof r->sentence, "%s", hr_last_error());
    }
}

static hr_status raise(const run *r)
{
    return r->status != HR_OK ? hr_set_last_error(r->status, r->sentence)
                              : HR_OK;
}

/* ---- panels */

/* The part as a matrix that the product sees. */
static hr_matrix view_of(const hri_operand *o, hri_place at, int64_t rows,
                         int64_t cols)
{
    const hr_matrix stored = {.data = at.data,
                              .type = o->m.type,
                              .conjugate = o->m.conjugate,
                              .rows = rows,
                              .cols = cols,
                              .row_stride = at.row_stride,
                              .col_stride = at.col_stride};
    return o->m.transposed ? hr_matrix_transpose(stored) : stored;
}

/* Whether the process, or every one, has all of a part as one box. */
static bool is_one_box(const hri_operand *o, hri_part part, int owner,
                       hri_place *at)
{
    hri_boxes boxes;
    hri_box box;
    hri_boxes_begin(&boxes, o, part, owner);
    if (!hri_boxes_next(&boxes, &box) || box.rows != hri_part_rows(o, part) ||
        box.cols != hri_part_cols(o, part)) {
        return false;
    }
    *at = (hri_place){box.owned, box.row_stride, box.col_stride};
    return true;
}

static bool is_here(const run *r, const hri_operand *o, hri_part part,
                    hri_place *at)
{
    return is_one_box(o, part, r->context->rank, at) ||
           is_one_box(o, part, r->context->count, at);
}

static size_t bytes_of(const hri_operand *o, hri_part part)
{
    return (size_t)(hri_part_rows(o, part) * hri_part_cols(o, part)) *
           o->element_bytes;
}

/* Where the parts of this process's panel go. */
static hr_status place_panel(const run *r, panel *p, hri_part a, hri_part b)
{
    const hri_mpi_product *x = r->product;
    const bool a_here = is_here(r, &x->a, a, &p->a);
    const bool b_here = is_here(r, &x->b, b, &p->b);
    const size_t a_bytes =
        a_here ? 0 : hri_round_up_bytes(bytes_of(&x->a, a), 64);
    const size_t bytes = a_bytes + (b_here ? 0 : bytes_of(&x->b, b));
    if (bytes > p->memory_bytes) {
        free(p->memory);
        p->memory = malloc(bytes);
        p->memory_bytes = p->memory != NULL ? bytes : 0;
        if (p->memory == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "mpi: no %zu bytes for a panel", bytes);
        }
    }
    if (!a_here) {
        p->a = (hri_place){p->memory, 1, hri_max(1, hri_part_rows(&x->a, a))};
    }
    if (!b_here) {
        p->b = (hri_place){p->memory + a_bytes, 1,
                           hri_max(1, hri_part_rows(&x->b, b))};
    }
    return HR_OK;
}

/* The messages of a part: what this process receives for its own, or what it
 * sends to the process at `place`. */
static hr_status list_part(const run *r, hri_messages *m, const hri_operand *o,
                           hri_part part, int kind, int64_t place)
{
    const int own = r->context->rank, needs = r->plan->rank[place];
    hri_message message = {
        .operand = o, .part = part, .kind = kind, .place = place};
    hr_status status = HR_OK;
    if (needs != own) {
        message.owner = own;
        message.peer = needs;
        return hri_messages_add(&m->out, &message, o->element_bytes);
    }
    for (int rank = 0; rank < r->context->count && status == HR_OK; rank++) {
        message.owner = message.peer = rank;
        status = rank == own
                     ? HR_OK
                     : hri_messages_add(&m->in, &message, o->element_bytes);
    }
    return status;
}

static hr_status list_panel(const run *r, hri_messages *m, int64_t number)
{
    const hri_mpi_plan *plan = r->plan;
    const int64_t places = (int64_t)plan->rows * plan->cols * plan->depth;
    hr_status status = HR_OK;
    hri_messages_clear(m);
    for (int64_t i = 0; i < places && status == HR_OK; i++) {
        status = list_part(r, m, &r->product->a, hri_part_of_a(plan, i, number),
                           KIND_A, i);
        if (status == HR_OK) {
            status = list_part(r, m, &r->product->b,
                               hri_part_of_b(plan, i, number), KIND_B, i);
        }
    }
    return status == HR_OK ? hri_messages_place(m) : status;
}

/* Pack what a process has of a part. */
static void pack(const hri_message *m, size_t element_bytes)
{
    hri_boxes boxes;
    hri_box box;
    char *to = m->bytes;
    hri_boxes_begin(&boxes, m->operand, m->part, m->owner);
    while (hri_boxes_next(&boxes, &box)) {
        hri_copy_box((hri_place){to, 1, box.rows},
                     (hri_place){box.owned, box.row_stride, box.col_stride},
                     box.rows, box.cols, element_bytes);
        to += (size_t)(box.rows * box.cols) * element_bytes;
    }
}

/* Bring boxes to a part: from a message, or from this process's own memory. */
static void unpack(const hri_operand *o, hri_part part, int owner,
                   const char *bytes, hri_place at)
{
    hri_boxes boxes;
    hri_box box;
    hri_boxes_begin(&boxes, o, part, owner);
    while (hri_boxes_next(&boxes, &box)) {
        const hri_place from =
            bytes != NULL
                ? (hri_place){(char *)bytes, 1, box.rows}
                : (hri_place){box.owned, box.row_stride, box.col_stride};
        hri_copy_box(hri_place_of(at, &box, o->element_bytes), from, box.rows,
                     box.cols, o->element_bytes);
        bytes += bytes != NULL
                     ? (size_t)(box.rows * box.cols) * o->element_bytes
                     : 0;
    }
}

/* Bring what this process has of its own part there, unless it lies there. */
static void bring(const run *r, const hri_operand *o, hri_part part,
                  hri_place at)
{
    hri_place here;
    if (!is_here(r, o, part, &here)) {
        unpack(o, part, r->context->rank, NULL, at);
        unpack(o, part, r->context->count, NULL, at); /* every process has it */
    }
}

/* Begin to exchange a panel. */
static hr_status post(run *r, panel *p, int64_t number)
{
    const hri_mpi_product *x = r->product;
    keep(r, list_panel(r, &p->messages, number));
    for (int i = 0; i < p->messages.out.count; i++) {
        const hri_message *m = &p->messages.out.of[i];
        pack(m, m->operand->element_bytes);
    }
    hr_status status = hri_messages_start(&p->messages, r->context);
    if (status == HR_OK && r->place >= 0) {
        const hri_part a = hri_part_of_a(r->plan, r->place, number);
        const hri_part b = hri_part_of_b(r->plan, r->place, number);
        keep(r, place_panel(r, p, a, b));
        bring(r, &x->a, a, p->a);
        bring(r, &x->b, b, p->b);
    }
    hri_mpi_memory *memory = &r->context->memory;
    int *stop = &memory->stop[number % 2], *stops = &memory->stops[number % 2];
    *stop = r->status != HR_OK;
    p->stops = stops;
    return status == HR_OK
               ? hri_mpi_check(r->context,
                               MPI_Iallreduce(stop, stops, 1, MPI_INT, MPI_MAX,
                                              r->context->comm, &p->question),
                               "MPI_Iallreduce")
               : status;
}

/* Wait until the panel is here. */
static hr_status complete(run *r, panel *p)
{
    hr_status status = hri_mpi_wait(r->context, p->messages.request_count,
                                    p->messages.requests);
    if (status == HR_OK) {
        status = hri_mpi_wait(r->context, 1, &p->question);
    }
    for (int i = 0; i < p->messages.in.count && status == HR_OK; i++) {
        const hri_message *m = &p->messages.in.of[i];
        unpack(m->operand, m->part, m->owner, m->bytes,
               m->kind == KIND_A ? p->a : p->b);
    }
    return status;
}

/* ---- products */

/* The product of a panel, on a thread of its own. */
typedef struct job {
    const run *r;
    const panel *p;
    int64_t number;
    pthread_t thread;
    bool apart;           /* there is the thread */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t ended;
    bool over, stop;
    double part; /* of the product that is done */
    hr_status status;
    char sentence[HRI_MESSAGE_BYTES];
} job;

static bool note_progress(void *argument, double done, double total)
{
    job *j = argument;
    pthread_mutex_lock(&j->lock);
    j->part = total > 0.0 ? done / total : 0.0;
    const bool goes_on = !j->stop;
    pthread_mutex_unlock(&j->lock);
    return goes_on;
}

static void *multiply(void *argument)
{
    job *j = argument;
    const run *r = j->r;
    const hri_mpi_product *x = r->product;
    const hri_part a = hri_part_of_a(r->plan, r->place, j->number);
    const hri_part b = hri_part_of_b(r->plan, r->place, j->number);
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = r->options->compute;
    options.progress = r->options->progress != NULL ? note_progress : NULL;
    options.progress_data = j;
    const hr_scalar first = r->sum == NULL ? x->beta : hr_real(0);
    j->status = hr_gemm(r->context->local, x->alpha,
                        view_of(&x->a, j->p->a, hri_part_rows(&x->a, a),
                                hri_part_cols(&x->a, a)),
                        view_of(&x->b, j->p->b, hri_part_rows(&x->b, b),
                                hri_part_cols(&x->b, b)),
                        j->number == 0 ? first : hr_real(1), r->c, &options);
    if (j->status != HR_OK) {
        hri_format(j->sentence, sizeof j->sentence, "%s", hr_last_error());
    }
    pthread_mutex_lock(&j->lock);
    j->over = true;
    pthread_cond_signal(&j->ended);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

static void begin(const run *r, job *j, const panel *p, int64_t number)
{
    *j = (job){.r = r, .p = p, .number = number};
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->ended, NULL);
    if (r->place < 0 || r->c.rows == 0 || r->c.cols == 0) {
        return;
    }
    j->apart = pthread_create(&j->thread, NULL, multiply, j) == 0;
    if (!j->apart) {
        (void)multiply(j);
    }
}

static double flops_of(const hri_mpi_product *x)
{
    const bool complex = x->c.m.type == HR_C32 || x->c.m.type == HR_C64;
    return (complex ? 8.0 : 2.0) * (double)x->m * (double)x->n * (double)x->k;
}

/* Tell the program how far all are. */
static void tell(run *r, double done)
{
    const hr_mpi_gemm_options *o = r->options;
    const double all = flops_of(r->product);
    if (o->progress != NULL && r->status == HR_OK &&
        !o->progress(o->progress_data, all * done / (double)r->plan->panels,
                     all)) {
        keep(r, hri_fail(HR_ERROR_CANCELLED,
                         "gemm: cancelled by its progress function"));
    }
}

/* Tell the program of the product until it is over. */
static void watch(run *r, job *j)
{
    enum { OFTEN_NS = 50000000 };
    pthread_mutex_lock(&j->lock);
    while (!j->over) {
        struct timespec until;
        (void)clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += OFTEN_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&j->ended, &j->lock, &until) != 0 &&
            !j->over) {
            const double part = j->part;
            pthread_mutex_unlock(&j->lock);
            tell(r, (double)j->number + part);
            pthread_mutex_lock(&j->lock);
            j->stop = r->status != HR_OK;
        }
    }
    pthread_mutex_unlock(&j->lock);
}

static void end(run *r, job *j)
{
    if (j->apart) {
        if (r->options->progress != NULL) {
            watch(r, j);
        }
        (void)pthread_join(j->thread, NULL);
    }
    pthread_cond_destroy(&j->ended);
    pthread_mutex_destroy(&j->lock);
    keep(r, j->status != HR_OK ? hr_set_last_error(j->status, j->sentence)
                               : HR_OK);
}

static hr_status multiply_panels(run *r, bool *stopped)
{
    const int64_t panels = r->plan->panels;
    hr_status status = post(r, &r->panels[0], 0);
    if (status == HR_OK) {
        status = complete(r, &r->panels[0]);
    }
    for (int64_t t = 0; t < panels && status == HR_OK; t++) {
        panel *next = &r->panels[(t + 1) % 2];
        job j;
        *stopped = *r->panels[t % 2].stops != 0;
        if (*stopped) {
            break;
        }
        tell(r, (double)t);
        begin(r, &j, &r->panels[t % 2], t);
        if (t + 1 < panels) {
            status = post(r, next, t + 1);
            if (status == HR_OK) {
                status = complete(r, next);
            }
        }
        end(r, &j);
    }
    return status;
}

/* ---- C */

/* What one process computes of a strip, for the processes that have it. */
static hr_status list_strip(run *r, int64_t strip)
{
    const hri_mpi_plan *plan = r->plan;
    const size_t width = hr_type_size(r->product->sum_type);
    const int64_t places = (int64_t)plan->rows * plan->cols * plan->depth;
    const int own = r->context->rank;
    hri_messages *m = &r->strips;
    hr_status status = HR_OK;
    hri_messages_clear(m);
    for (int64_t i = 0; i < places && status == HR_OK; i++) {
        hri_message message = {.operand = &r->product->c,
                               .part = hri_part_of_c(plan, i, strip),
                               .kind = KIND_C,
                               .place = i,
                               .owner = own,
                               .peer = plan->rank[i]};
        status = hri_messages_add(&m->in, &message, width);
        for (int rank = 0;
             i == r->place && rank < r->context->count && status == HR_OK;
             rank++) {
            message.owner = message.peer = rank;
            status = rank == own ? HR_OK
                                 : hri_messages_add(&m->out, &message, width);
        }
    }
    return status == HR_OK ? hri_messages_place(m) : status;
}

/* Where this process's sum has the part. */
static hri_place place_of_sum(const run *r, int64_t strip)
{
    const hri_operand *c = &r->product->c;
    const int64_t width = (int64_t)hr_type_size(r->product->sum_type);
    int64_t before = 0;
    for (int64_t s = 0; s < strip; s++) {
        const hri_part part = hri_part_of_c(r->plan, r->place, s);
        before +=
            c->m.transposed ? hri_part_rows(c, part) : hri_part_cols(c, part);
    }
    char *data = r->sum + before * r->c.col_stride * width;
    return c->m.transposed ? (hri_place){data, r->c.col_stride, 1}
                           : (hri_place){data, 1, r->c.col_stride};
}

/* Pack what the owner gets of this process's sum. */
static void pack_sum(const run *r, const hri_message *m, hri_place sum)
{
    const size_t width = hr_type_size(r->product->sum_type);
    char *to = m->bytes;
    hri_boxes boxes;
    hri_box box;
    hri_boxes_begin(&boxes, m->operand, m->part, m->owner);
    while (hri_boxes_next(&boxes, &box)) {
        hri_copy_box((hri_place){to, 1, box.rows},
                     hri_place_of(sum, &box, width), box.rows, box.cols, width);
        to += (size_t)(box.rows * box.cols) * width;
    }
}

/* Add up what has come for this process's elements of a part of C. */
static void add_up(const run *r, int64_t face, int64_t strip, bool summed)
{
    const char **terms = r->terms;
    const hri_mpi_product *x = r->product;
    hri_sum sum = {
        .type = x->c.m.type, .term_type = x->sum_type, .beta = x->beta};
    hri_boxes boxes;
    hri_box box;
    for (int i = 0; i < r->strips.in.count; i++) { /* in the order of depth */
        const hri_message *m = &r->strips.in.of[i];
        if (m->place % ((int64_t)r->plan->rows * r->plan->cols) == face) {
            terms[sum.count++] = m->bytes;
        }
    }
    sum.count = summed ? sum.count : 0;
    hri_boxes_begin(&boxes, &x->c, hri_part_of_c(r->plan, face, strip),
                    r->context->rank);
    while (hri_boxes_next(&boxes, &box)) {
        hri_sum_box(&sum, &box, terms);
    }
}

/* Bring sums to the processes that have C. Where nothing was summed, C is
 * scaled. */
static hr_status finish_strips(run *r, bool summed)
{
    const hri_mpi_plan *plan = r->plan;
    hr_status status = HR_OK;
    for (int64_t s = 0; s < plan->strips && status == HR_OK; s++) {
        keep(r, list_strip(r, s));
        for (int i = 0; summed && i < r->strips.out.count; i++) {
            pack_sum(r, &r->strips.out.of[i], place_of_sum(r, s));
        }
        for (int i = 0; summed && i < r->strips.in.count; i++) {
            const hri_message *m = &r->strips.in.of[i];
            if (m->peer == r->context->rank) {
                pack_sum(r, m, place_of_sum(r, s));
            }
        }
        if (summed) {
            status = hri_messages_start(&r->strips, r->context);
        }
        if (status == HR_OK) {
            status = hri_mpi_wait(r->context, r->strips.request_count,
                                  r->strips.requests);
        }
        for (int64_t i = 0; i < plan->rows * plan->cols && status == HR_OK;
             i++) {
            add_up(r, i, s, summed);
        }
    }
    return status;
}

/* ---- runs */

/* Where this process's part of C goes. */
static hr_status place_c(run *r)
{
    const hri_mpi_product *x = r->product;
    hri_part part = hri_part_of_c(r->plan, r->place, 0);
    int64_t rows = hri_part_rows(&x->c, part), cols = 0;
    hri_boxes boxes;
    hri_box box = {0};
    if (r->plan->in_place) {
        cols = hri_part_cols(&x->c, part);
        hri_boxes_begin(&boxes, &x->c, part, r->context->rank);
        (void)hri_boxes_next(&boxes, &box); /* the others lie behind it */
        r->c = view_of(&x->c,
                       (hri_place){box.owned, box.row_stride, box.col_stride},
                       rows, cols);
        return HR_OK;
    }
    rows = x->c.m.transposed ? hri_part_cols(&x->c, part) : rows;
    for (; part.col % r->plan->strips >= 0 &&
           part.col < (r->place % r->plan->cols + 1) * r->plan->strips;
         part.col++) {
        cols += x->c.m.transposed ? hri_part_rows(&x->c, part)
                                  : hri_part_cols(&x->c, part);
    }
    const size_t bytes = (size_t)(rows * cols) * hr_type_size(x->sum_type);
    r->sum = malloc(bytes > 0 ? bytes : 1);
    r->c = hr_matrix_column_major(r->sum, x->sum_type, rows, cols,
                                  hri_max(1, rows));
    return r->sum != NULL ? HR_OK
                          : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                     "mpi: no %zu bytes for sums", bytes);
}

/* Allocate all that the run needs: when messages are under way, a process can
 * no longer fail alone. */
static hr_status prepare(run *r)
{
    hr_status status = HR_OK;
    r->terms = calloc((size_t)r->plan->depth, sizeof *r->terms);
    if (r->terms == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for sums");
    }
    for (int64_t t = 0; t < r->plan->panels && !hri_mpi_is_empty(r->product) &&
                        status == HR_OK;
         t++) {
        panel *p = &r->panels[t % 2];
        status = list_panel(r, &p->messages, t);
        if (status == HR_OK && r->place >= 0) {
            status = place_panel(r, p, hri_part_of_a(r->plan, r->place, t),
                                 hri_part_of_b(r->plan, r->place, t));
        }
    }
    for (int64_t s = 0; s < r->plan->strips && status == HR_OK; s++) {
        status = list_strip(r, s);
    }
    return status == HR_OK && r->place >= 0 && !hri_mpi_is_empty(r->product)
               ? place_c(r)
               : status;
}

/* When MPI is lost, messages may still come: their memory stays. */
static void finish(run *r)
{
    for (int i = 0; i < 2; i++) {
        if (!r->context->lost) {
            hri_messages_finish(&r->panels[i].messages);
        }
        free(r->panels[i].memory);
    }
    if (!r->context->lost) {
        hri_messages_finish(&r->strips);
    }
    free(r->sum);
    free(r->terms);
}

static hr_status execute(run *r)
{
    bool stopped = false;
    hr_status status = HR_OK;
    if (!hri_mpi_is_empty(r->product)) {
        status = multiply_panels(r, &stopped);
        if (status == HR_OK) {
            keep(r, HR_OK);
        }
    }
    if (status == HR_OK && !stopped &&
        (hri_mpi_is_empty(r->product) || !r->plan->in_place)) {
        status = finish_strips(r, !hri_mpi_is_empty(r->product));
    }
    if (status == HR_OK) {
        tell(r, (double)r->plan->panels);
        status = hri_mpi_agree(r->context, raise(r));
    }
    return status;
}

/* ---- arguments */

static hr_status check_shapes(const hri_mpi_product *x, hr_mpi_matrix a,
                              hr_mpi_matrix b, hr_mpi_matrix c)
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
    (void)x;
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

static uint64_t hash_options(const hri_mpi_product *x,
                             const hr_mpi_gemm_options *o, uint64_t hash)
{
    const double scalars[] = {x->alpha.re, x->alpha.im, x->beta.re, x->beta.im};
    hash = hri_hash(hash, scalars, sizeof scalars);
    const int64_t all[] = {o->compute, o->rows, o->cols, o->depth,
                           (int64_t)o->memory_limit};
    hash = hri_hash(hash, all, sizeof all);
    return hash;
}

/* Check all. `read`: elements must be there. *hash is of what must be the same
 * in all processes. */
static hr_status open_product(hr_mpi_context *context, hri_mpi_product *x,
                              const hr_mpi_matrix m[3],
                              const hr_mpi_gemm_options *o, bool read,
                              uint64_t *hash)
{
    hr_status status = check_shapes(x, m[0], m[1], m[2]);
    const bool operands = read && !(x->alpha.re == 0.0 && x->alpha.im == 0.0);
    if (status == HR_OK) {
        status = hri_operand_init(&x->a, context, "A", m[0], operands, hash);
    }
    if (status == HR_OK) {
        status = hri_operand_init(&x->b, context, "B", m[1], operands, hash);
    }
    if (status == HR_OK) {
        status = hri_operand_init(&x->c, context, "C", m[2], read, hash);
    }
    if (status == HR_OK && x->c.everywhere > 0.0) {
        status = hri_fail(HR_ERROR_INVALID,
                          "mpi: C: every process has a block, so that none "
                          "could write it");
    }
    if (status == HR_OK) {
        status = check_types(context->local, x, o->compute);
        *hash = hash_options(x, o, *hash);
    }
    x->m = m[2].rows;
    x->n = m[2].cols;
    x->k = m[0].cols;
    x->sum_type =
        m[2].type == HR_F16 || m[2].type == HR_BF16 ? HR_F32 : m[2].type;
    return status;
}

static void close_product(hri_mpi_product *x)
{
    hri_operand_finish(&x->a);
    hri_operand_finish(&x->b);
    hri_operand_finish(&x->c);
}

/* Fill the caller's report, whose size has been checked. */
static void describe(const hri_mpi_plan *plan, hr_mpi_gemm_report *report,
                     int64_t k, double seconds)
{
    const hr_mpi_gemm_report known = {
        .rows = plan->rows,
        .cols = plan->cols,
        .depth = plan->depth,
        .panel = hri_ceil_div(hri_ceil_div(k, plan->depth), plan->panels),
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
    hri_struct_write(&report_struct, &known, report);
}

hr_status hr_mpi_gemm(hr_mpi_context *context, hr_scalar alpha, hr_mpi_matrix a,
                      hr_mpi_matrix b, hr_scalar beta, hr_mpi_matrix c,
                      const hr_mpi_gemm_options *options)
{
    const hr_mpi_matrix m[3] = {a, b, c};
    hr_status status = hri_mpi_context_check(context);
    if (status != HR_OK) {
        return status;
    }
    const double begin = MPI_Wtime();
    hri_mpi_product x = {.alpha = alpha, .beta = beta};
    hri_mpi_plan plan = {0};
    hr_mpi_gemm_options o = HR_MPI_GEMM_OPTIONS_INIT;
    uint64_t hash = HRI_HASH_INIT;
    run r = {.context = context,
             .product = &x,
             .plan = &plan,
             .options = &o,
             .place = -1};
    status = hri_struct_read(&options_struct, options, &o);
    if (status == HR_OK) {
        status = hri_struct_check(&report_struct, o.report);
    }
    if (status == HR_OK) {
        status = open_product(context, &x, m, &o, true, &hash);
    }
    if (status == HR_OK) {
        status = hri_mpi_plan_init(&plan, context, &x, &o);
    }
    if (status == HR_OK) {
        r.place = plan.place[context->rank];
        status = prepare(&r);
    }
    status = hri_mpi_agree_on(context, status, hash);
    if (status == HR_OK) {
        status = execute(&r);
    }
    finish(&r);
    if (status == HR_OK) {
        describe(&plan, o.report, x.k, MPI_Wtime() - begin);
    }
    hri_mpi_plan_finish(&plan);
    close_product(&x);
    return status;
}

hr_status hr_mpi_gemm_plan(hr_mpi_context *context, hr_scalar alpha,
                           hr_mpi_matrix a, hr_mpi_matrix b, hr_scalar beta,
                           hr_mpi_matrix c, const hr_mpi_gemm_options *options,
                           hr_mpi_gemm_report *report)
{
    const hr_mpi_matrix m[3] = {a, b, c};
    hr_status status = hri_mpi_context_check(context);
    if (status != HR_OK) {
        return status;
    }
    hri_mpi_product x = {.alpha = alpha, .beta = beta};
    hri_mpi_plan plan = {0};
    hr_mpi_gemm_options o = HR_MPI_GEMM_OPTIONS_INIT;
    uint64_t hash = HRI_HASH_INIT;
    status = hri_struct_read(&options_struct, options, &o);
    if (status == HR_OK) {
        status = hri_struct_check(&report_struct, report);
    }
    if (status == HR_OK) {
        status = open_product(context, &x, m, &o, false, &hash);
    }
    if (status == HR_OK) {
        status = hri_mpi_plan_init(&plan, context, &x, &o);
    }
    status = hri_mpi_agree_on(context, status, hash);
    if (status == HR_OK) {
        describe(&plan, report, x.k, plan.seconds);
    }
    hri_mpi_plan_finish(&plan);
    close_product(&x);
    return status;
}
