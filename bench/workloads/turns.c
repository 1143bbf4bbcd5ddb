/* SPDX-License-Identifier: MIT */
#include "bench/workloads/turns.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "console/context.h"
#include "console/signals.h"

enum {
    ALONE_BYTES = 1 << 29, /* of operands: larger cases are large */
    THREADED_SIZE = 64     /* OpenBLAS uses threads from about here on */
};

static const char *const kinds[] = {
    [BENCH_AUTO] = "auto",
    [BENCH_LIST] = "list",
    [BENCH_CBLAS] = "cblas",
    [BENCH_CUBLAS] = "cublas",
};

/* ---- the contestants */

bench_contestant *bench_turns_add(bench_turns *t, bench_kind kind,
                                  const char *name,
                                  const bench_setting *setting)
{
    bench_contestant *c = &t->contestants[t->count];
    double *seconds = calloc((size_t)t->bench->o.repeat, sizeof *seconds);
    if (seconds == NULL) {
        return NULL;
    }
    *c = (bench_contestant){
        .kind = kind, .setting = setting, .seconds = seconds};
    snprintf(c->name, sizeof c->name, "%s", name);
    t->count++;
    return c;
}

bool bench_turns_add_lists(bench_turns *t)
{
    bool good = true;
    for (int i = 0; i < t->bench->setting_count && good; i++) {
        const bench_setting *setting = &t->bench->settings[i];
        good = bench_turns_add(t, BENCH_LIST, setting->name, setting) != NULL;
        if (t->gpu[0] == '\0') {
            snprintf(t->gpu, sizeof t->gpu, "%.*s",
                     (int)strcspn(setting->gpus, ","), setting->gpus);
        }
    }
    return good;
}

bool bench_turns_wants(const bench_turns *t, unsigned peer)
{
    const bench_peers_wish *wish = &t->bench->o.peers;
    return !wish->given || (wish->peers & peer) != 0;
}

bool bench_turns_add_cublas(bench_turns *t)
{
    return !bench_turns_wants(t, BENCH_WITH_CUBLAS) || t->gpu[0] == '\0' ||
           !bench_cublas_start(&t->cublas) ||
           bench_turns_add(t, BENCH_CUBLAS, t->cublas.name, NULL) != NULL;
}

static void close_contexts(bench_turns *t)
{
    for (int i = 0; i < t->count; i++) {
        hr_context_destroy(t->contestants[i].context);
        t->contestants[i].context = NULL;
    }
}

/* ---- running */

/* A call that is timed. */
typedef struct timed {
    const bench_turns *turns;
    const bench_contestant *contestant;
    atomic_bool refused; /* the CBLAS does not offer a product */
} timed;

static bool call_headrace(void *data)
{
    const timed *x = data;
    const bench_operands *o = &x->turns->operands;
    hr_context *context = x->contestant->context;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = x->turns->number.compute;
    if (!x->turns->batch) {
        return hr_gemm(context, hr_real(1.0), o->a, o->b, hr_real(0.0), o->c,
                       &options) == HR_OK;
    }
    return hr_gemm_batch(context, o->count, hr_real(1.0),
                         hr_matrices_strided(o->a, o->a.rows * o->a.cols),
                         hr_matrices_strided(o->b, o->b.rows * o->b.cols),
                         hr_real(0.0),
                         hr_matrices_strided(o->c, o->c.rows * o->c.cols),
                         &options) == HR_OK;
}

/* Product `index` of the case, by the CBLAS. */
static void multiply_one(void *data, int64_t index)
{
    timed *x = data;
    const bench_operands o = bench_operands_at(&x->turns->operands, index);
    if (!bench_cblas_gemm(&x->turns->cblas, o.a, o.b, o.c)) {
        atomic_store(&x->refused, true);
    }
}

static bool call_cblas(void *data)
{
    timed *x = data;
    hri_pool_run(x->contestant->pool, x->turns->operands.count, multiply_one,
                 x);
    return x->turns->number.compute == HR_COMPUTE_NATIVE &&
           !atomic_load(&x->refused);
}

/* Time a call in this process: the first one, or those of a later round. */
static bool time_here(const bench_turns *t, const bench_contestant *c,
                      bool first, double *seconds)
{
    timed x = {.turns = t, .contestant = c};
    const bool cblas = c->kind == BENCH_CBLAS;
    bool (*const call)(void *) = cblas ? call_cblas : call_headrace;
    const int before = cblas ? bench_cblas_begin(&t->cblas) : 0;
    if (c->pool != NULL) {
        bench_cblas_use(&t->cblas, 1);
    }
    const double begin = cli_clock();
    const bool good = first ? call(&x) : bench_time_calls(call, &x, seconds);
    *seconds = first ? cli_clock() - begin : *seconds;
    if (cblas) {
        bench_cblas_end(&t->cblas, before);
    }
    return good;
}

static bool ask_cublas(bench_turns *t, bool first, double *seconds,
                       bench_times *r)
{
    const bench_operands *o = &t->operands;
    const bench_request request = {.wish = {.type = o->a.type,
                                            .c_type = o->c.type,
                                            .m = o->c.rows,
                                            .n = o->c.cols,
                                            .k = o->a.cols,
                                            .count = o->count},
                                   .repeat = 1,
                                   .pinned = t->pinned,
                                   .gpus = t->gpu};
    bench_answer answer = {.first = 0.0};
    const bool good =
        o->a.type <= HR_C64 && t->number.compute == HR_COMPUTE_NATIVE &&
        bench_peer_run(&t->cublas, &request, &answer, r->note, sizeof r->note);
    *seconds = first ? answer.first : answer.best;
    return good;
}

/* Verify the first results: a fast result that is wrong does not count. Of many
 * products the first and the last one. */
static int verify(const bench_turns *t, const bench_contestant *c)
{
    const int64_t count = t->operands.count;
    bool good = true;
    for (int64_t i = 0; i < count && good; i += count > 1 ? count - 1 : 1) {
        const bench_operands o = bench_operands_at(&t->operands, i);
        good = c->context == NULL || t->number.compute != HR_COMPUTE_NATIVE ||
               hr_gemm_verify(c->context, hr_real(1.0), o.a, o.b, hr_real(0.0),
                              o.c, o.c, NULL) == HR_OK;
    }
    return good ? CLI_OK : cli_fail("%s: %s", c->name, hr_last_error());
}

/* A contestant that fails is left out of the case, unless a signal asked to
 * stop. Returns an exit status. */
static int note_failure(bench_turns *t, const bench_contestant *c,
                        bench_times *r)
{
    if (c->kind <= BENCH_LIST) {
        snprintf(r->note, sizeof r->note, "%.190s", hr_last_error());
        t->bench->failed = true;
        const int failed = cli_failed_call();
        return cli_cancelled() ? failed : CLI_OK;
    }
    if (r->note[0] == '\0') {
        snprintf(r->note, sizeof r->note, "not offered");
    }
    return CLI_OK;
}

/* Round 0 is the first call. */
static int run_once(bench_turns *t, bench_contestant *c, int64_t round)
{
    const bench_operands *o = &t->operands;
    bench_times *r = &c->times[t->problem];
    double seconds = 0.0;
    if (r->note[0] != '\0') {
        return CLI_OK;
    }
    if (round == 0 && !bench_operands_spoil(o)) {
        return cli_failed_call();
    }
    if (o->count * o->c.rows >= THREADED_SIZE) {
        bench_rest(0.2);
    }
    if (!(c->kind == BENCH_CUBLAS ? ask_cublas(t, round == 0, &seconds, r)
                                  : time_here(t, c, round == 0, &seconds))) {
        return note_failure(t, c, r);
    }
    if (round == 0) {
        r->first = seconds;
        return verify(t, c);
    }
    c->seconds[round - 1] = seconds;
    return CLI_OK;
}

/* Run some contestants in turns. Each round starts with another one, so that
 * none always follows the same one. */
static int run_rounds(bench_turns *t, bench_contestant *list, int count)
{
    const int64_t repeat = t->bench->o.repeat;
    int status = CLI_OK;
    for (int i = 0; i < count && status == CLI_OK; i++) {
        bench_contestant *c = &list[i];
        if (c->setting != NULL && c->context == NULL) {
            status = bench_context(c->setting, &c->context);
        }
    }
    for (int64_t round = 0; round <= repeat; round++) {
        for (int i = 0; i < count && status == CLI_OK; i++) {
            status = run_once(t, &list[(round + i) % count], round);
        }
    }
    for (int i = 0; i < count && status == CLI_OK; i++) {
        bench_times *r = &list[i].times[t->problem];
        if (r->note[0] == '\0') {
            bench_sum_up(list[i].seconds, repeat, &r->best, &r->median);
        }
    }
    return status;
}

/* ---- rows */

double bench_turns_best(const bench_turns *t, unsigned wanted)
{
    double best = NAN;
    for (int i = 0; i < t->count; i++) {
        if ((wanted >> t->contestants[i].kind & 1) != 0) {
            best = fmin(best, t->contestants[i].times[t->problem].best);
        }
    }
    return best;
}

/* One line of JSON for a contestant of the case. */
static void write_line(const bench_turns *t, const bench_contestant *c)
{
    bench_rows *rows = &t->bench->rows;
    const bench_times *r = &c->times[t->problem];
    const bench_operands *o = &t->operands;
    bench_row_begin(rows, t->subject);
    bench_text(rows, "type", NULL, t->number.name);
    bench_text(rows, "memory", NULL, t->pinned ? "pinned" : "ordinary");
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)o->c.rows);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)o->c.cols);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)o->a.cols);
    bench_text(rows, "name", NULL, c->name);
    bench_text(rows, "kind", NULL, kinds[c->kind]);
    if (c->kind == BENCH_LIST) {
        bench_list(rows, c->setting);
    }
    if (r->note[0] != '\0') {
        bench_text(rows, "note", NULL, r->note);
    } else {
        bench_value(rows, "rounds", NULL, BENCH_COUNT,
                    (double)t->bench->o.repeat);
        bench_value(rows, "first_seconds", NULL, BENCH_SECONDS, r->first);
        bench_value(rows, "min_seconds", NULL, BENCH_SECONDS, r->best);
        bench_value(rows, "median_seconds", NULL, BENCH_SECONDS, r->median);
    }
    t->add_line(t, c);
    bench_row_end(rows);
}

static void add_size(const bench_turns *t)
{
    const int64_t *e = t->bench->problems.list[t->problem].extents;
    char text[80];
    snprintf(text, sizeof text, "%" PRId64, e[0]);
    if (e[0] != e[1] || e[1] != e[2]) {
        snprintf(text, sizeof text, "%" PRId64 "x%" PRId64 "x%" PRId64, e[0],
                 e[1], e[2]);
    }
    bench_cell(&t->bench->rows, "size", 'r', text);
}

/* Print the cases of one type: the best times, or the first calls. */
static int print_table(bench_turns *t, bool first)
{
    bench_rows *rows = &t->bench->rows;
    printf("%s, %s memory, microseconds of %s\n", t->number.name,
           t->pinned ? "pinned" : "ordinary",
           first ? "the first call" : "the best");
    for (t->problem = 0; t->problem < t->bench->problems.count; t->problem++) {
        bench_row_begin(rows, NULL);
        add_size(t);
        for (int i = 0; i < t->count; i++) {
            const bench_times *r = &t->contestants[i].times[t->problem];
            bench_value(rows, NULL, t->contestants[i].name, BENCH_MICROSECONDS,
                        first ? r->first : r->best);
        }
        if (!first) {
            t->add_cells(t);
        }
        bench_row_end(rows);
    }
    const int status = bench_rows_print(rows);
    putchar('\n');
    return status;
}

/* ---- cases */

static int make_operands(bench_turns *t)
{
    const int64_t *extents = t->bench->problems.list[t->problem].extents;
    const bench_operands_wish wish = {.type = t->number.type,
                                      .c_type = t->number.c_type,
                                      .m = extents[0],
                                      .k = extents[1],
                                      .n = extents[2],
                                      .count = t->products(t),
                                      .pinned = t->pinned ? t->pinning : NULL};
    for (int i = 0; i < t->count; i++) {
        t->contestants[i].times[t->problem] = (bench_times){NAN, NAN, NAN, ""};
    }
    return bench_operands_make(&t->operands, &wish)
               ? CLI_OK
               : cli_fail("out of memory: %s matrices of %" PRId64 "x%" PRId64
                          "x%" PRId64,
                          t->number.name, extents[0], extents[1], extents[2]);
}

static bool is_large(const bench_operands *o)
{
    const double numbers = (double)o->a.rows * (double)o->a.cols +
                           (double)o->b.rows * (double)o->b.cols +
                           (double)o->c.rows * (double)o->c.cols;
    return numbers * (double)hr_type_size(o->a.type) * (double)o->count >
           ALONE_BYTES;
}

static int measure_case(bench_turns *t)
{
    int status = make_operands(t);
    const bool large = status == CLI_OK && is_large(&t->operands);
    const int step = large ? 1 : t->count;
    for (int i = 0; i < t->count && status == CLI_OK; i += step) {
        if (large) {
            close_contexts(t);
        }
        status = run_rounds(t, &t->contestants[i], step);
    }
    for (int i = 0; i < t->count && status == CLI_OK; i++) {
        write_line(t, &t->contestants[i]);
    }
    return status == CLI_OK ? cli_flush() : status;
}

static int measure_type(bench_turns *t)
{
    int status = CLI_OK;
    for (int i = 0; i < t->bench->problems.count && status == CLI_OK; i++) {
        t->problem = i;
        status = measure_case(t);
    }
    if (status == CLI_OK && !t->bench->o.json) {
        status = print_table(t, false);
    }
    if (status == CLI_OK && !t->bench->o.json) {
        status = print_table(t, true);
    }
    return status;
}

int bench_turns_run(bench_turns *t)
{
    const bench_memories *memories = &t->bench->o.memories;
    const bench_numbers *numbers = &t->bench->o.numbers;
    int status = CLI_OK;
    for (int i = 0; i < memories->count && status == CLI_OK; i++) {
        t->pinned = memories->pinned[i];
        if (t->pinned && t->pinning == NULL) {
            status = bench_context(t->pinning_setting, &t->pinning);
        }
        for (int j = 0; j < numbers->count && status == CLI_OK; j++) {
            t->number = numbers->list[j];
            status = measure_type(t);
        }
    }
    return status;
}

void bench_turns_close(bench_turns *t)
{
    close_contexts(t);
    for (int i = 0; i < t->count; i++) {
        free(t->contestants[i].seconds);
    }
    bench_operands_free(&t->operands);
    hr_context_destroy(t->pinning);
    bench_peer_stop(&t->cublas);
}
