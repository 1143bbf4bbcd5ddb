/* SPDX-License-Identifier: MIT */
/* headrace bench sizes: products of many sizes, each with every list that a
 * program could name, beside a CBLAS called directly and cuBLAS by hand.
 *
 * A case is one shape, type and kind of memory. Of a small case the contestants
 * run in turns, and their contexts stay open from case to case. Of a large one
 * they run one after another, each with a context of its own, since they would
 * take each other's memory. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/signals.h"

enum {
    ENTRIES_MAX = BENCH_SETTINGS_MAX + 3,
    ALONE_BYTES = 1 << 29, /* of operands: larger cases are large */
    THREADED_SIZE = 64     /* OpenBLAS uses threads from about here on */
};

typedef enum size_kind { SIZE_AUTO, SIZE_LIST, SIZE_CBLAS, SIZE_CUBLAS } kind;

static const char *const kinds[] = {
    [SIZE_AUTO] = "auto",
    [SIZE_LIST] = "list",
    [SIZE_CBLAS] = "cblas",
    [SIZE_CUBLAS] = "cublas",
};

/* The times of a contestant in one case. */
typedef struct result {
    double first, best, median; /* seconds; NAN: none */
    char note[200];             /* why there are none; "": there are */
} result;

typedef struct entry {
    kind kind;
    char name[192];
    const bench_setting *setting; /* of the first two kinds */
    hr_context *context;          /* of these, while it is open */
    double *seconds;              /* of the case's rounds */
    result results[BENCH_PROBLEMS_MAX];
} entry;

typedef struct sizes {
    benchmark *bench;
    const bench_options *options;
    bench_setting all;   /* auto's */
    char lists[4096];    /* the lists, when no option gives them */
    char gpus[256];      /* for cuBLAS */
    hr_context *pinning; /* owns pinned memory; NULL if not needed */
    bench_cblas cblas;
    bench_peer cublas;
    entry entries[ENTRIES_MAX];
    int count;
    /* the case */
    int problem;
    bench_number number;
    bool pinned;
    bench_operands operands;
} sizes;

/* ---- the lists */

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
    bool known = false;
    for (uint32_t j = 0; j < i; j++) {
        known =
            known || (strcmp(list[j].backend, list[i].backend) == 0 &&
                      (!as_good || (list[j].parts == list[i].parts &&
                                    strcmp(list[j].name, list[i].name) == 0)));
    }
    return known;
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
    bool good = true, host = false;
    for (uint32_t i = 0; i < count; i++) {
        host = host || strcmp(list[i].item, "host") == 0;
    }
    for (uint32_t i = 0; i < count && good; i++) {
        good = is_known(list, i, true) || add_list(x, list[i].item);
    }
    for (uint32_t i = 0; i < count && good; i++) {
        good = strcmp(list[i].item, "host") == 0 || is_known(list, i, false) ||
               add_backend(x, list, count, i, host);
    }
    return good;
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
    bool good = list != NULL;
    for (uint32_t i = 0; i < count && good; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        good = hr_accelerator_describe(context, i, &info) == HR_OK;
        note_accelerator(&info, list, &noted);
    }
    good = good && make_lists(x, list, noted);
    free(list);
    return good ? CLI_OK : cli_fail("too many accelerators");
}

static int find_lists(sizes *x)
{
    benchmark *bench = x->bench;
    x->all = (bench_setting){.memory_limit = bench->o.memory_limit};
    snprintf(x->all.name, sizeof x->all.name, "auto");
    hr_context *context = NULL;
    int status = CLI_OK;
    if (bench->o.accelerators == NULL) {
        status = bench_context(&x->all, &context);
        if (status == CLI_OK) {
            status = describe_all(x, context);
        }
        hr_context_destroy(context);
        bench->o.accelerators = x->lists;
    }
    return status == CLI_OK ? bench_settings(bench, NULL) : status;
}

/* ---- the contestants */

static void add_entry(sizes *x, kind which, const char *name,
                      const bench_setting *setting)
{
    entry *e = &x->entries[x->count++];
    *e = (entry){.kind = which, .setting = setting};
    snprintf(e->name, sizeof e->name, "%s", name);
    e->seconds = calloc((size_t)x->options->repeat, sizeof *e->seconds);
}

static void add_peers(sizes *x)
{
    const bench_peers_wish *wish = &x->options->peers;
    const unsigned usual = BENCH_WITH_CBLAS | BENCH_WITH_CUBLAS;
    const unsigned peers = wish->given ? wish->peers : usual;
    if ((peers & BENCH_WITH_CBLAS) != 0 && bench_cblas_find(&x->cblas)) {
        add_entry(x, SIZE_CBLAS, x->cblas.name, NULL);
    }
    if ((peers & BENCH_WITH_CUBLAS) != 0 && x->gpus[0] != '\0' &&
        bench_cublas_start(&x->cublas)) {
        add_entry(x, SIZE_CUBLAS, x->cublas.name, NULL);
    }
}

/* All contexts must be created before the CBLAS is looked for: it is the one
 * that they load. bench_settings has done so. */
static bool add_entries(sizes *x)
{
    add_entry(x, SIZE_AUTO, "auto", &x->all);
    for (int i = 0; i < x->bench->setting_count; i++) {
        const bench_setting *setting = &x->bench->settings[i];
        add_entry(x, SIZE_LIST, setting->name, setting);
        if (x->gpus[0] == '\0') {
            snprintf(x->gpus, sizeof x->gpus, "%.*s",
                     (int)strcspn(setting->gpus, ","), setting->gpus);
        }
    }
    add_peers(x);
    bool good = true;
    for (int i = 0; i < x->count; i++) {
        good = good && x->entries[i].seconds != NULL;
    }
    return good;
}

static void close_contexts(sizes *x)
{
    for (int i = 0; i < x->count; i++) {
        hr_context_destroy(x->entries[i].context);
        x->entries[i].context = NULL;
    }
}

/* ---- running */

/* A call that is timed. */
typedef struct timed {
    const sizes *x;
    hr_context *context;
} timed;

static bool call_headrace(void *data)
{
    const timed *t = data;
    const bench_operands *o = &t->x->operands;
    return hr_gemm(t->context, hr_real(1.0), o->a, o->b, hr_real(0.0), o->c,
                   NULL) == HR_OK;
}

static bool call_cblas(void *data)
{
    const timed *t = data;
    return bench_cblas_gemm(&t->x->cblas, t->x->operands.a, t->x->operands.b,
                            t->x->operands.c);
}

/* Time a call in this process: the first one, or those of a later round. */
static bool time_here(const sizes *x, const entry *e, bool first,
                      double *seconds)
{
    timed t = {x, e->context};
    bool (*const call)(void *) =
        e->kind == SIZE_CBLAS ? call_cblas : call_headrace;
    const int before = e->kind == SIZE_CBLAS ? bench_cblas_begin(&x->cblas) : 0;
    const double begin = cli_clock();
    const bool good = first ? call(&t) : bench_time_calls(call, &t, seconds);
    *seconds = first ? cli_clock() - begin : *seconds;
    if (e->kind == SIZE_CBLAS) {
        bench_cblas_end(&x->cblas, before);
    }
    return good;
}

static bool ask_cublas(sizes *x, bool first, double *seconds, result *r)
{
    const bench_operands *o = &x->operands;
    const bench_request request = {.wish = {.type = o->a.type,
                                            .c_type = o->c.type,
                                            .m = o->c.rows,
                                            .n = o->c.cols,
                                            .k = o->a.cols},
                                   .repeat = 1,
                                   .pinned = x->pinned,
                                   .gpus = x->gpus};
    bench_answer answer = {.first = 0.0};
    const bool good =
        bench_peer_run(&x->cublas, &request, &answer, r->note, sizeof r->note);
    *seconds = first ? answer.first : answer.best;
    return good;
}

/* Verify the first result: a fast result that is wrong does not count. */
static int verify(const sizes *x, const entry *e)
{
    const bench_operands *o = &x->operands;
    if (e->context != NULL &&
        hr_gemm_verify(e->context, hr_real(1.0), o->a, o->b, hr_real(0.0), o->c,
                       o->c, NULL) != HR_OK) {
        return cli_fail("%s: %s", e->name, hr_last_error());
    }
    return CLI_OK;
}

/* A contestant that fails is left out of the case, unless a signal asked to
 * stop. Returns an exit status. */
static int note_failure(sizes *x, const entry *e, result *r)
{
    if (e->kind <= SIZE_LIST) {
        snprintf(r->note, sizeof r->note, "%.190s", hr_last_error());
        x->bench->failed = true;
        const int failed = cli_failed_call();
        return cli_cancelled() ? failed : CLI_OK;
    }
    if (r->note[0] == '\0') {
        snprintf(r->note, sizeof r->note, "not offered");
    }
    return CLI_OK;
}

/* Round 0 is the first call. */
static int run_once(sizes *x, entry *e, int64_t round)
{
    const int64_t *extents = x->bench->problems.list[x->problem].extents;
    result *r = &e->results[x->problem];
    double seconds = 0.0;
    if (r->note[0] != '\0') {
        return CLI_OK;
    }
    if (round == 0 && !bench_operands_spoil(&x->operands)) {
        return cli_failed_call();
    }
    if (extents[0] >= THREADED_SIZE) {
        bench_rest();
    }
    if (!(e->kind == SIZE_CUBLAS ? ask_cublas(x, round == 0, &seconds, r)
                                 : time_here(x, e, round == 0, &seconds))) {
        return note_failure(x, e, r);
    }
    if (round == 0) {
        r->first = seconds;
        return verify(x, e);
    }
    e->seconds[round - 1] = seconds;
    return CLI_OK;
}

/* Run some entries in turns. Each round starts with another one, so that none
 * always follows the same one. */
static int run_rounds(sizes *x, entry *entries, int count)
{
    const int64_t repeat = x->options->repeat;
    int status = CLI_OK;
    for (int i = 0; i < count && status == CLI_OK; i++) {
        entry *e = &entries[i];
        if (e->setting != NULL && e->context == NULL) {
            status = bench_context(e->setting, &e->context);
        }
    }
    for (int64_t round = 0; round <= repeat; round++) {
        for (int i = 0; i < count && status == CLI_OK; i++) {
            status = run_once(x, &entries[(round + i) % count], round);
        }
    }
    for (int i = 0; i < count && status == CLI_OK; i++) {
        result *r = &entries[i].results[x->problem];
        if (r->note[0] == '\0') {
            bench_sum_up(entries[i].seconds, repeat, &r->best, &r->median);
        }
    }
    return status;
}

/* ---- rows */

/* The best time of the lists, or of all contestants but auto. NAN: none. */
static double best_of(const sizes *x, bool lists)
{
    double best = NAN;
    for (int i = 1; i < x->count; i++) {
        if (!lists || x->entries[i].kind == SIZE_LIST) {
            best = fmin(best, x->entries[i].results[x->problem].best);
        }
    }
    return best;
}

static double auto_over(const sizes *x, bool lists)
{
    return x->entries[0].results[x->problem].best / best_of(x, lists);
}

/* One line of JSON for a contestant of the case. */
static void write_entry(const sizes *x, const entry *e)
{
    bench_rows *rows = &x->bench->rows;
    const result *r = &e->results[x->problem];
    const bench_operands *o = &x->operands;
    bench_row_begin(rows, "sizes");
    bench_text(rows, "type", NULL, x->number.name);
    bench_text(rows, "memory", NULL, x->pinned ? "pinned" : "ordinary");
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)o->c.rows);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)o->c.cols);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)o->a.cols);
    bench_text(rows, "name", NULL, e->name);
    bench_text(rows, "kind", NULL, kinds[e->kind]);
    if (e->kind == SIZE_LIST) {
        bench_list(rows, e->setting);
    }
    if (r->note[0] != '\0') {
        bench_text(rows, "note", NULL, r->note);
    } else {
        bench_value(rows, "rounds", NULL, BENCH_COUNT,
                    (double)x->options->repeat);
        bench_value(rows, "first_seconds", NULL, BENCH_SECONDS, r->first);
        bench_value(rows, "min_seconds", NULL, BENCH_SECONDS, r->best);
        bench_value(rows, "median_seconds", NULL, BENCH_SECONDS, r->median);
    }
    if (e->kind == SIZE_AUTO) {
        bench_value(rows, "over_best_list", NULL, BENCH_RATIO,
                    auto_over(x, true));
        bench_value(rows, "over_best", NULL, BENCH_RATIO, auto_over(x, false));
    }
    bench_row_end(rows);
}

static void add_size(const sizes *x)
{
    const int64_t *e = x->bench->problems.list[x->problem].extents;
    char text[80];
    snprintf(text, sizeof text, "%" PRId64, e[0]);
    if (e[0] != e[1] || e[1] != e[2]) {
        snprintf(text, sizeof text, "%" PRId64 "x%" PRId64 "x%" PRId64, e[0],
                 e[1], e[2]);
    }
    bench_cell(&x->bench->rows, "size", 'r', text);
}

/* Print the cases of one type: the best times, or the first calls. */
static int print_table(sizes *x, bool first)
{
    bench_rows *rows = &x->bench->rows;
    printf("%s, %s memory, microseconds of %s\n", x->number.name,
           x->pinned ? "pinned" : "ordinary",
           first ? "the first call" : "the best");
    for (x->problem = 0; x->problem < x->bench->problems.count; x->problem++) {
        bench_row_begin(rows, "sizes");
        add_size(x);
        for (int i = 0; i < x->count; i++) {
            const result *r = &x->entries[i].results[x->problem];
            bench_value(rows, NULL, x->entries[i].name, BENCH_MICROSECONDS,
                        first ? r->first : r->best);
        }
        if (!first) {
            bench_value(rows, NULL, "over lists", BENCH_RATIO,
                        auto_over(x, true));
            bench_value(rows, NULL, "over all", BENCH_RATIO,
                        auto_over(x, false));
        }
        bench_row_end(rows);
    }
    const int status = bench_rows_print(rows);
    putchar('\n');
    return status;
}

/* ---- cases */

static int make_operands(sizes *x)
{
    const int64_t *extents = x->bench->problems.list[x->problem].extents;
    const bench_operands_wish wish = {.type = x->number.type,
                                      .c_type = x->number.c_type,
                                      .m = extents[0],
                                      .k = extents[1],
                                      .n = extents[2],
                                      .pinned = x->pinned ? x->pinning : NULL};
    for (int i = 0; i < x->count; i++) {
        x->entries[i].results[x->problem] = (result){NAN, NAN, NAN, ""};
    }
    return bench_operands_make(&x->operands, &wish)
               ? CLI_OK
               : cli_fail("out of memory: %s matrices of %" PRId64 "x%" PRId64
                          "x%" PRId64,
                          x->number.name, extents[0], extents[1], extents[2]);
}

static bool is_large(const bench_operands *o)
{
    const double numbers = (double)o->a.rows * (double)o->a.cols +
                           (double)o->b.rows * (double)o->b.cols +
                           (double)o->c.rows * (double)o->c.cols;
    return numbers * (double)hr_type_size(o->a.type) > ALONE_BYTES;
}

static int measure_case(sizes *x)
{
    int status = make_operands(x);
    const bool large = status == CLI_OK && is_large(&x->operands);
    const int step = large ? 1 : x->count;
    for (int i = 0; i < x->count && status == CLI_OK; i += step) {
        if (large) {
            close_contexts(x);
        }
        status = run_rounds(x, &x->entries[i], step);
    }
    for (int i = 0; i < x->count && status == CLI_OK && x->options->json; i++) {
        write_entry(x, &x->entries[i]);
    }
    return status == CLI_OK ? cli_flush() : status;
}

static int measure_type(sizes *x)
{
    int status = CLI_OK;
    for (int i = 0; i < x->bench->problems.count && status == CLI_OK; i++) {
        x->problem = i;
        status = measure_case(x);
    }
    if (status == CLI_OK && !x->options->json) {
        status = print_table(x, false);
    }
    if (status == CLI_OK && !x->options->json) {
        status = print_table(x, true);
    }
    return status;
}

static int measure_all(sizes *x)
{
    const bench_memories *memories = &x->options->memories;
    const bench_numbers *numbers = &x->options->numbers;
    int status = CLI_OK;
    for (int i = 0; i < memories->count && status == CLI_OK; i++) {
        x->pinned = memories->pinned[i];
        if (x->pinned && x->pinning == NULL) {
            status = bench_context(&x->all, &x->pinning);
        }
        for (int j = 0; j < numbers->count && status == CLI_OK; j++) {
            x->number = numbers->list[j];
            status = measure_type(x);
        }
    }
    return status;
}

int bench_sizes(benchmark *bench)
{
    sizes *x = calloc(1, sizeof *x);
    if (x == NULL) {
        return cli_fail("out of memory");
    }
    x->bench = bench;
    x->options = &bench->o;
    int status = find_lists(x);
    if (status == CLI_OK) {
        status = add_entries(x) ? measure_all(x) : cli_fail("out of memory");
    }
    close_contexts(x);
    for (int i = 0; i < x->count; i++) {
        free(x->entries[i].seconds);
    }
    bench_operands_free(&x->operands);
    hr_context_destroy(x->pinning);
    bench_peer_stop(&x->cublas);
    free(x);
    return status;
}
