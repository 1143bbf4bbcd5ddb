/* SPDX-License-Identifier: MIT */
/* headrace bench sizes and headrace bench batch: contestants that compute the
 * same products in turns. They are lists of accelerators, a CBLAS called
 * directly, and cuBLAS by hand.
 *
 * A case is one shape, type and kind of memory. Of a small case the contestants
 * run in turns, and their contexts stay open from case to case. Of a large one
 * they run one after another, each with a context of its own, since they would
 * take each other's memory. */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/matrix.h"
#include "base/pool.h"
#include "base/size.h"
#include "base/status.h"
#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/signals.h"

typedef enum contestant_kind { AUTO, LIST, CBLAS, CUBLAS } contestant_kind;

/* The times of a contestant in one case. */
typedef struct case_times {
    double first, best, median; /* seconds; NAN: none */
    char note[200];             /* why there are none; "": there are */
} case_times;

typedef struct contestant {
    contestant_kind kind;
    char name[192];
    const bench_setting *setting; /* of the first two kinds */
    hr_context *context;          /* of these, while it is open */
    hri_pool *pool;  /* of a CBLAS: runs a product on each thread; NULL: one
                        product after the other */
    double *seconds; /* of the case's rounds */
    case_times times[BENCH_PROBLEMS_MAX];
} contestant;

enum { CONTESTANTS_MAX = BENCH_SETTINGS_MAX + 4 };

typedef struct contest contest;

struct contest {
    benchmark *bench;
    const char *subject; /* "sizes" */
    bool batch;          /* products by hr_gemm_batch */
    /* Products of a case, after problem has been set. */
    int64_t (*products)(const contest *t);
    /* Add what a contestant's line of JSON has in the end, or the last cells of
     * a case in the table of the best times. */
    void (*add_line)(const contest *t, const contestant *c);
    void (*add_cells)(const contest *t);
    const bench_setting *pinning_setting;
    hr_context *pinning; /* owns pinned memory; NULL if not needed */
    bench_cblas cblas;
    bench_peer cublas;
    char gpu[16]; /* for cuBLAS: the first one of the lists; "": none */
    contestant contestants[CONTESTANTS_MAX];
    int count;
    /* the case */
    int problem;
    bench_number number;
    bool pinned;
    bench_operands operands;
};

enum {
    ALONE_BYTES = 1 << 29, /* of operands: larger cases are large */
    THREADED_SIZE = 64     /* OpenBLAS uses threads from about here on */
};

static const char *const kinds[] = {
    [AUTO] = "auto",
    [LIST] = "list",
    [CBLAS] = "cblas",
    [CUBLAS] = "cublas",
};

/* ---- the contestants */

/* Add a contestant. Returns it, or NULL when out of memory. */
static contestant *add_contestant(contest *t, contestant_kind kind,
                                  const char *name,
                                  const bench_setting *setting)
{
    contestant *c = &t->contestants[t->count];
    double *seconds = calloc((size_t)t->bench->o.repeat, sizeof *seconds);
    if (seconds == NULL) {
        return NULL;
    }
    *c = (contestant){.kind = kind, .setting = setting, .seconds = seconds};
    snprintf(c->name, sizeof c->name, "%s", name);
    t->count++;
    return c;
}

/* Add all lists of the benchmark. */
static bool add_lists(contest *t)
{
    for (int i = 0; i < t->bench->setting_count; i++) {
        const bench_setting *setting = &t->bench->settings[i];
        if (add_contestant(t, LIST, setting->name, setting) == NULL) {
            return false;
        }
        if (t->gpu[0] == '\0') {
            snprintf(t->gpu, sizeof t->gpu, "%.*s",
                     (int)strcspn(setting->gpus, ","), setting->gpus);
        }
    }
    return true;
}

/* Whether the option wants a peer, of BENCH_WITH_...; both are usual. */
static bool wants_peer(const contest *t, unsigned peer)
{
    const bench_peers_wish *wish = &t->bench->o.peers;
    return !wish->given || (wish->peers & peer) != 0;
}

/* Add cuBLAS if a list has a GPU of CUDA and the option does not forbid it. */
static bool add_cublas(contest *t)
{
    return !wants_peer(t, BENCH_WITH_CUBLAS) || t->gpu[0] == '\0' ||
           !bench_cublas_start(&t->cublas) ||
           add_contestant(t, CUBLAS, t->cublas.name, NULL) != NULL;
}

static void close_contexts(contest *t)
{
    for (int i = 0; i < t->count; i++) {
        hr_context_destroy(t->contestants[i].context);
        t->contestants[i].context = NULL;
    }
}

/* ---- running */

/* A call that is timed. */
typedef struct timed {
    const contest *t;
    const contestant *c;
    atomic_bool refused; /* the CBLAS does not offer a product */
} timed;

static bool call_headrace(void *data)
{
    const timed *x = data;
    const bench_operands *o = &x->t->operands;
    hr_context *context = x->c->context;
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = x->t->number.compute;
    if (!x->t->batch) {
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
    const bench_operands o = bench_operands_at(&x->t->operands, index);
    if (!bench_cblas_gemm(&x->t->cblas, o.a, o.b, o.c)) {
        atomic_store(&x->refused, true);
    }
}

static bool call_cblas(void *data)
{
    timed *x = data;
    hri_pool_run(x->c->pool, x->t->operands.count, multiply_one, x);
    return x->t->number.compute == HR_COMPUTE_NATIVE &&
           !atomic_load(&x->refused);
}

/* Time a call in this process: the first one, or those of a later round. */
static bool time_here(const contest *t, const contestant *c, bool first,
                      double *seconds)
{
    timed x = {.t = t, .c = c};
    const bool cblas = c->kind == CBLAS;
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

static bool ask_cublas(contest *t, bool first, double *seconds, case_times *r)
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
static int verify_first(const contest *t, const contestant *c)
{
    const int64_t count = t->operands.count, step = count > 1 ? count - 1 : 1;
    if (c->context == NULL || t->number.compute != HR_COMPUTE_NATIVE) {
        return CLI_OK;
    }
    for (int64_t i = 0; i < count; i += step) {
        const bench_operands o = bench_operands_at(&t->operands, i);
        if (hr_gemm_verify(c->context, hr_real(1.0), o.a, o.b, hr_real(0.0),
                           o.c, o.c, NULL) != HR_OK) {
            return cli_fail("%s: %s", c->name, hr_last_error());
        }
    }
    return CLI_OK;
}

/* A contestant that fails is left out of the case, unless a signal asked to
 * stop. Returns an exit status. */
static int note_failure(contest *t, const contestant *c, case_times *r)
{
    if (c->kind <= LIST) {
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
static int run_once(contest *t, contestant *c, int64_t round)
{
    const bench_operands *o = &t->operands;
    case_times *r = &c->times[t->problem];
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
    if (!(c->kind == CUBLAS ? ask_cublas(t, round == 0, &seconds, r)
                            : time_here(t, c, round == 0, &seconds))) {
        return note_failure(t, c, r);
    }
    if (round == 0) {
        r->first = seconds;
        return verify_first(t, c);
    }
    c->seconds[round - 1] = seconds;
    return CLI_OK;
}

/* Run some contestants in turns. Each round starts with another one, so that
 * none always follows the same one. */
static int run_rounds(contest *t, contestant *list, int count)
{
    const int64_t repeat = t->bench->o.repeat;
    for (int i = 0; i < count; i++) {
        contestant *c = &list[i];
        if (c->setting != NULL && c->context == NULL) {
            HRI_TRY(bench_context(c->setting, &c->context));
        }
    }
    for (int64_t round = 0; round <= repeat; round++) {
        for (int i = 0; i < count; i++) {
            HRI_TRY(run_once(t, &list[(round + i) % count], round));
        }
    }
    for (int i = 0; i < count; i++) {
        case_times *r = &list[i].times[t->problem];
        if (r->note[0] == '\0') {
            bench_sum_up(list[i].seconds, repeat, &r->best, &r->median);
        }
    }
    return CLI_OK;
}

/* ---- rows */

/* The best time that the contestants of some kinds (1 << LIST | ..) had
 * in the case. NAN: none. */
static double best_of(const contest *t, unsigned wanted)
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
static void write_line(const contest *t, const contestant *c)
{
    bench_rows *rows = &t->bench->rows;
    const case_times *r = &c->times[t->problem];
    const bench_operands *o = &t->operands;
    bench_row_begin(rows, t->subject);
    bench_text(rows, "type", NULL, t->number.name);
    bench_text(rows, "memory", NULL, t->pinned ? "pinned" : "ordinary");
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)o->c.rows);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)o->c.cols);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)o->a.cols);
    bench_text(rows, "name", NULL, c->name);
    bench_text(rows, "kind", NULL, kinds[c->kind]);
    if (c->kind == LIST) {
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

static void add_size(const contest *t)
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
static int print_table(contest *t, bool first)
{
    bench_rows *rows = &t->bench->rows;
    printf("%s, %s memory, microseconds of %s\n", t->number.name,
           t->pinned ? "pinned" : "ordinary",
           first ? "the first call" : "the best");
    for (t->problem = 0; t->problem < t->bench->problems.count; t->problem++) {
        bench_row_begin(rows, NULL);
        add_size(t);
        for (int i = 0; i < t->count; i++) {
            const case_times *r = &t->contestants[i].times[t->problem];
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

static int make_operands(contest *t)
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
        t->contestants[i].times[t->problem] = (case_times){NAN, NAN, NAN, ""};
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

static int measure_case(contest *t)
{
    HRI_TRY(make_operands(t));
    const bool large = is_large(&t->operands);
    const int step = large ? 1 : t->count;
    for (int i = 0; i < t->count; i += step) {
        if (large) {
            close_contexts(t);
        }
        HRI_TRY(run_rounds(t, &t->contestants[i], step));
    }
    for (int i = 0; i < t->count; i++) {
        write_line(t, &t->contestants[i]);
    }
    return cli_flush();
}

/* Measure all problems of a type and a kind of memory. */
static int measure_type(contest *t)
{
    for (int i = 0; i < t->bench->problems.count; i++) {
        t->problem = i;
        HRI_TRY(measure_case(t));
    }
    if (t->bench->o.json) {
        return CLI_OK;
    }
    HRI_TRY(print_table(t, false));
    return print_table(t, true);
}

/* Measure all kinds of memory and types: print a table of the best times and
 * one of the first calls for each, or lines of JSON. */
static int measure_types(contest *t)
{
    const bench_memories *memories = &t->bench->o.memories;
    const bench_numbers *numbers = &t->bench->o.numbers;
    for (int i = 0; i < memories->count; i++) {
        t->pinned = memories->pinned[i];
        if (t->pinned && t->pinning == NULL) {
            HRI_TRY(bench_context(t->pinning_setting, &t->pinning));
        }
        for (int j = 0; j < numbers->count; j++) {
            t->number = numbers->list[j];
            HRI_TRY(measure_type(t));
        }
    }
    return CLI_OK;
}

static void close_turns(contest *t)
{
    close_contexts(t);
    for (int i = 0; i < t->count; i++) {
        free(t->contestants[i].seconds);
    }
    bench_operands_free(&t->operands);
    hr_context_destroy(t->pinning);
    bench_peer_stop(&t->cublas);
}

typedef struct sizes {
    contest t;
    bench_setting all; /* auto's */
    char lists[4096];  /* the lists, when no option gives them */
} sizes;

/* ---- the lists of sizes */

static bool add_list(sizes *x, const char *list)
{
    const size_t used = strlen(x->lists);
    const size_t left = sizeof x->lists - used;
    return (size_t)snprintf(x->lists + used, left, "%s%s", used > 0 ? ";" : "",
                            list) < left;
}

/* An accelerator as lists name it, or the virtual ones of a device: "4xhost".
 */
typedef struct found {
    char item[64], device[48], name[128], backend[48];
    int parts; /* virtual ones; 0: it is none */
} found;

/* Whether one before it is as good, or just of the same backend. */
static bool is_known(const found *list, uint32_t i, bool as_good)
{
    for (uint32_t j = 0; j < i; j++) {
        if (strcmp(list[j].backend, list[i].backend) == 0 &&
            (!as_good || (list[j].parts == list[i].parts &&
                          strcmp(list[j].name, list[i].name) == 0))) {
            return true;
        }
    }
    return false;
}

/* Add the lists of a backend: all of it where there are several, and all with
 * the host. Paths are written out, since auto may have fewer than all. */
static bool add_backend(sizes *x, const found *list, uint32_t count,
                        uint32_t first, bool host)
{
    char all[512] = "", with[600];
    int members = 0;
    for (uint32_t i = first; i < count; i++) {
        if (strcmp(list[i].backend, list[first].backend) == 0) {
            const size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%s",
                     members > 0 ? "," : "", list[i].item);
            members++;
        }
    }
    snprintf(with, sizeof with, "%s,host", all);
    return (members == 1 || add_list(x, all)) && (!host || add_list(x, with));
}

/* Find the lists of what auto has: the host, each accelerator of another name,
 * and each backend. */
static bool make_lists(sizes *x, const found *list, uint32_t count)
{
    bool host = false;
    for (uint32_t i = 0; i < count; i++) {
        host = host || strcmp(list[i].item, "host") == 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_known(list, i, true) && !add_list(x, list[i].item)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(list[i].item, "host") != 0 && !is_known(list, i, false) &&
            !add_backend(x, list, count, i, host)) {
            return false;
        }
    }
    return true;
}

/* Note an accelerator, unless it is another virtual one of the device before.
 */
static void note_accelerator(const hr_accelerator_info *info, found *list,
                             uint32_t *count)
{
    const char *const path = info->path;
    const int device = (int)strcspn(path, "#");
    found *f = *count > 0 ? &list[*count - 1] : NULL;
    if (f == NULL || f->parts == 0 || strlen(f->device) != (size_t)device ||
        strncmp(f->device, path, (size_t)device) != 0) {
        f = &list[(*count)++];
        snprintf(f->device, sizeof f->device, "%.*s", device, path);
        snprintf(f->item, sizeof f->item, "%s", f->device);
        snprintf(f->name, sizeof f->name, "%s", info->name);
        snprintf(f->backend, sizeof f->backend, "%.*s",
                 (int)strcspn(path, ":#"), path);
    }
    if (path[device] == '#') {
        snprintf(f->item, sizeof f->item, "%dx%s", ++f->parts, f->device);
    }
}

static int describe_all(sizes *x, const hr_context *context)
{
    const uint32_t count = hr_accelerator_count(context);
    uint32_t noted = 0;
    found *list = calloc(count, sizeof *list);
    for (uint32_t i = 0; i < count && list != NULL; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        if (hr_accelerator_describe(context, i, &info) == HR_OK) {
            note_accelerator(&info, list, &noted);
        }
    }
    const bool good = list != NULL && make_lists(x, list, noted);
    free(list);
    return good ? CLI_OK : cli_fail("too many accelerators");
}

static int find_lists(sizes *x)
{
    benchmark *bench = x->t.bench;
    x->all = (bench_setting){.memory_limit = bench->o.memory_limit};
    snprintf(x->all.name, sizeof x->all.name, "auto");
    if (bench->o.accelerators == NULL) {
        hr_context *context = NULL;
        HRI_TRY(bench_context(&x->all, &context));
        const int status = describe_all(x, context);
        hr_context_destroy(context);
        HRI_TRY(status);
        bench->o.accelerators = x->lists;
    }
    return bench_settings(bench, NULL);
}

/* All contexts must be created before the CBLAS is looked for: it is the one
 * that they load. bench_settings has done so. */
static bool add_contestants(sizes *x)
{
    contest *t = &x->t;
    if (add_contestant(t, AUTO, "auto", &x->all) == NULL || !add_lists(t)) {
        return false;
    }
    const bool cblas =
        wants_peer(t, BENCH_WITH_CBLAS) && bench_cblas_find(&t->cblas);
    return (!cblas || add_contestant(t, CBLAS, t->cblas.name, NULL) != NULL) &&
           add_cublas(t);
}

static int64_t one_product(const contest *t)
{
    (void)t;
    return 1;
}

/* ---- sizes */

/* The time of auto over the best of the lists, or of all but auto. */
static double auto_over(const contest *t, bool lists)
{
    const unsigned all = ~(1u << AUTO);
    return t->contestants[0].times[t->problem].best /
           best_of(t, lists ? 1u << LIST : all);
}

static void add_auto_line(const contest *t, const contestant *c)
{
    bench_rows *rows = &t->bench->rows;
    if (c->kind == AUTO) {
        bench_value(rows, "over_best_list", NULL, BENCH_RATIO,
                    auto_over(t, true));
        bench_value(rows, "over_best", NULL, BENCH_RATIO, auto_over(t, false));
    }
}

static void add_auto_cells(const contest *t)
{
    bench_rows *rows = &t->bench->rows;
    bench_value(rows, NULL, "over lists", BENCH_RATIO, auto_over(t, true));
    bench_value(rows, NULL, "over all", BENCH_RATIO, auto_over(t, false));
}

static int measure_sizes(sizes *x)
{
    HRI_TRY(find_lists(x));
    return add_contestants(x) ? measure_types(&x->t)
                              : cli_fail("out of memory");
}

int bench_sizes(benchmark *bench)
{
    sizes *x = calloc(1, sizeof *x);
    if (x == NULL) {
        return cli_fail("out of memory");
    }
    x->t = (contest){.bench = bench,
                     .subject = "sizes",
                     .products = one_product,
                     .add_line = add_auto_line,
                     .add_cells = add_auto_cells,
                     .pinning_setting = &x->all};
    const int status = measure_sizes(x);
    close_turns(&x->t);
    free(x);
    return status;
}

/* ---- batches */

/* As many products as take 96 MiB, if their number is not given. */
static int64_t products_of_batch(const contest *t)
{
    const int64_t *e = t->bench->problems.list[t->problem].extents;
    const double m = (double)e[0], k = (double)e[1], n = (double)e[2];
    const double bytes =
        (double)hr_type_size(t->number.type) * (m * k + k * n) +
        (double)hr_type_size(t->number.c_type) * m * n;
    const double all = 96.0 * (1 << 20);
    return t->bench->o.batch > 0 ? t->bench->o.batch
                                 : hri_max((int64_t)(all / bytes), 1);
}

/* One loop over the CBLAS with all of its threads, and one on each thread. */
static bool add_loops(contest *t, hri_pool **pool)
{
    if (!wants_peer(t, BENCH_WITH_CBLAS) || !bench_cblas_find(&t->cblas)) {
        return true;
    }
    if (add_contestant(t, CBLAS, "cblas, one by one", NULL) == NULL) {
        return false;
    }
    if (t->cblas.set_threads == NULL ||
        hri_pool_hold(hri_thread_count(), pool) != HR_OK) {
        return true;
    }
    contestant *c = add_contestant(t, CBLAS, "cblas, one a thread", NULL);
    if (c != NULL) {
        c->pool = *pool;
    }
    return c != NULL;
}

/* `seconds` over the best time of the loops, or of cuBLAS. NAN: none. */
static double time_over(const contest *t, double seconds, contestant_kind kind)
{
    return seconds / best_of(t, 1u << kind);
}

static void add_batch_line(const contest *t, const contestant *c)
{
    bench_rows *rows = &t->bench->rows;
    const double best = c->times[t->problem].best;
    const bench_operands *o = &t->operands;
    const double flops =
        hri_product_flops(t->number.type, o->c.rows, o->c.cols, o->a.cols) *
        (double)o->count;
    bench_value(rows, "count", NULL, BENCH_COUNT, (double)o->count);
    bench_value(rows, "gflops", NULL, BENCH_GFLOPS, flops / best);
    if (c->kind == LIST) {
        bench_value(rows, "over_loops", NULL, BENCH_RATIO,
                    time_over(t, best, CBLAS));
        bench_value(rows, "over_cublas", NULL, BENCH_RATIO,
                    time_over(t, best, CUBLAS));
    }
}

static void add_batch_cells(const contest *t)
{
    bench_rows *rows = &t->bench->rows;
    const double best = best_of(t, 1u << LIST);
    bench_value(rows, NULL, "products", BENCH_COUNT,
                (double)products_of_batch(t));
    bench_value(rows, NULL, "over loops", BENCH_RATIO,
                time_over(t, best, CBLAS));
    bench_value(rows, NULL, "over cuBLAS", BENCH_RATIO,
                time_over(t, best, CUBLAS));
}

int bench_batch(benchmark *bench)
{
    hri_pool *pool = NULL;
    contest *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return cli_fail("out of memory");
    }
    *t = (contest){.bench = bench,
                   .subject = "batch",
                   .batch = true,
                   .products = products_of_batch,
                   .add_line = add_batch_line,
                   .add_cells = add_batch_cells,
                   .pinning_setting = &bench->settings[0]};
    const bool added = add_loops(t, &pool) && add_lists(t) && add_cublas(t);
    const int status = added ? measure_types(t) : cli_fail("out of memory");
    close_turns(t);
    if (pool != NULL) {
        hri_pool_drop(pool);
    }
    free(t);
    return status;
}
