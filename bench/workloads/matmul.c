/* SPDX-License-Identifier: MIT */
/* headrace bench matmul: contestants that do the same work.
 *
 * A case is one shape, type and kind of memory. In each case peers come first.
 * Then come the lists of accelerators, each in a new context that is destroyed
 * before the next begins. Where all lists only have the host, all contestants
 * run by turns instead. So other work on the machine disturbs all of them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "base/size.h"
#include "base/status.h"
#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/output.h"
#include "console/product.h"
#include "console/signals.h"
#include "console/text.h"

typedef enum matmul_kind {
    MATMUL_CBLAS,    /* the CBLAS that Headrace uses, called directly */
    MATMUL_OPENBLAS, /* OpenBLAS with its best core type */
    MATMUL_CUBLASXT, /* cuBLASXt with its best block dimension */
    MATMUL_HEADRACE, /* hr_gemm, in memory */
    MATMUL_COLD,     /* from files that are not in memory, to a file */
    MATMUL_WARM      /* from files that may be in memory */
} matmul_kind;

/* A contestant and its times, in seconds. */
typedef struct matmul_entry {
    matmul_kind kind;
    char name[192];
    char note[200]; /* why there are no times; "": there are times */
    const bench_setting *setting;
    bench_peer *peer;      /* for MATMUL_OPENBLAS */
    int block;             /* for MATMUL_CUBLASXT */
    hr_context *context;   /* for the last three kinds, while they run */
    hr_gemm_report report; /* of the last run; the entry owns the shares */
    double created;        /* seconds to make the context */
    double predicted;      /* by the plan, after the last run */
    hr_gemm_limits limits; /* of its context */
    double memory;         /* bytes/second of copies; 0: not in place */
    double first;          /* the first run */
    int64_t runs;          /* runs after the first */
    double *seconds;       /* of these runs */
    double best, median;   /* of these runs */
    bool verified;
} matmul_entry;

enum { ENTRIES_MAX = 2 + 4 * BENCH_SETTINGS_MAX, FILES = 3 };

typedef struct matmul {
    benchmark *bench;
    const bench_options *options; /* the benchmark's */
    bool in_turns;
    bench_cblas cblas;
    bool has_cblas;
    bench_peer peers[BENCH_PEERS_MAX];
    int peer_count;
    bench_peer xt;
    bool has_xt;
    hr_context *pinned_context; /* of pinned memory; it computes nothing, so it
                                   holds none of a GPU's; NULL: not needed */
    const bench_setting *owner; /* of that context */
    char folder[512];           /* with from_files: */
    char paths[FILES][600];
    /* the case being measured */
    int64_t m, n, k;
    bench_number number;
    bool pinned;
    bench_operands operands;
    matmul_entry entries[ENTRIES_MAX];
    int entry_count;
} matmul;

/* ---- the contestants */

/* Find peers: those asked for, else those that the lists should be compared
 * with. */
static void find_peers(matmul *x, const bench_peers_wish *wish)
{
    unsigned peers = wish->given ? wish->peers : 0;
    x->in_turns = true;
    for (int i = 0; i < x->bench->setting_count; i++) {
        const bench_setting *setting = &x->bench->settings[i];
        x->in_turns = x->in_turns && setting->host_only;
        if (!wish->given && setting->host_only) {
            peers |= BENCH_WITH_CBLAS | BENCH_WITH_OPENBLAS;
        } else if (!wish->given && setting->gpus[0] != '\0') {
            peers |= BENCH_WITH_CUBLASXT;
        }
    }
    if ((peers & BENCH_WITH_CBLAS) != 0) {
        x->has_cblas = bench_cblas_find(&x->cblas);
    }
    if ((peers & BENCH_WITH_OPENBLAS) != 0) {
        x->peer_count = bench_openblas_start(x->peers);
    }
    x->has_xt = (peers & BENCH_WITH_CUBLASXT) != 0 && bench_xt_start(&x->xt);
}

static bool has_cuda(const bench_setting *setting)
{
    return strstr(setting->list, "cuda") != NULL;
}

/* The setting whose context pins memory for this one, NULL: for any. Drivers
 * know only what they pinned themselves, so it is the first with a CUDA GPU, or
 * without one, as this one. */
static const bench_setting *owner_for(const matmul *x,
                                      const bench_setting *setting)
{
    const bench_setting *all = x->bench->settings, *owner = NULL;
    for (int i = 0; i < x->bench->setting_count && owner == NULL; i++) {
        const bool like =
            setting == NULL || has_cuda(&all[i]) == has_cuda(setting);
        owner = like ? &all[i] : NULL;
    }
    return owner;
}

/* Whether CBLAS and the other peers offer the case. */
static bool is_plain(const matmul *x)
{
    return x->number.compute == HR_COMPUTE_NATIVE && x->number.type <= HR_C64;
}

/* The request to a peer for the case, in ordinary memory. */
static bench_request request_of(const matmul *x)
{
    return (bench_request){.wish = {.type = x->number.type,
                                    .c_type = x->number.c_type,
                                    .m = x->m,
                                    .n = x->n,
                                    .k = x->k},
                           .repeat = 1,
                           .gpus = "-"};
}

/* The fastest peer for this type, by a short contest. */
static bench_peer *find_best(matmul *x)
{
    enum { SIZE = 1536, TRIES = 4 };
    bench_request request = request_of(x);
    bench_operands_wish *w = &request.wish;
    w->m = hri_min(w->m, SIZE);
    w->n = hri_min(w->n, SIZE);
    w->k = hri_min(w->k, SIZE);
    bench_peer *best = NULL;
    double least = INFINITY;
    char error[64];
    for (int i = 0; i < x->peer_count; i++) {
        for (int t = 0; t < TRIES; t++) {
            bench_answer answer;
            if (bench_peer_run(&x->peers[i], &request, &answer, error,
                               sizeof error) &&
                answer.first < least) {
                least = answer.first;
                best = &x->peers[i];
            }
        }
        bench_rest(0.2);
    }
    return best;
}

static matmul_entry *add_entry(matmul *x, matmul_kind kind, const char *name,
                               const char *suffix, const bench_setting *setting)
{
    matmul_entry *entry = &x->entries[x->entry_count++];
    *entry = (matmul_entry){.kind = kind,
                            .report = HR_GEMM_REPORT_INIT,
                            .limits = HR_GEMM_LIMITS_INIT,
                            .setting = setting};
    snprintf(entry->name, sizeof entry->name, "%s%s", name, suffix);
    return entry;
}

static void add_host_peers(matmul *x)
{
    if (x->has_cblas && is_plain(x)) {
        add_entry(x, MATMUL_CBLAS, "cblas ", x->cblas.name, NULL);
    }
    bench_peer *best = is_plain(x) ? find_best(x) : NULL;
    if (best != NULL) {
        add_entry(x, MATMUL_OPENBLAS, "OpenBLAS ", best->name, NULL)->peer =
            best;
    }
}

static void add_xt(matmul *x, const bench_setting *setting)
{
    if (!x->has_xt || setting->gpus[0] == '\0') {
        return;
    }
    matmul_entry *entry =
        add_entry(x, MATMUL_CUBLASXT, "cuBLASXt on ", setting->name, setting);
    if (!is_plain(x)) {
        snprintf(entry->note, sizeof entry->note, "not offered");
    }
}

static void add_setting(matmul *x, const bench_setting *setting)
{
    const char *name = setting->name;
    add_entry(x, MATMUL_HEADRACE, name, "", setting);
    if (x->options->from_files) {
        add_entry(x, MATMUL_COLD, name, ", cold files", setting);
        add_entry(x, MATMUL_WARM, name, ", warm files", setting);
    }
}

static void add_entries(matmul *x)
{
    x->entry_count = 0;
    add_host_peers(x);
    for (int i = 0; i < x->bench->setting_count; i++) {
        add_xt(x, &x->bench->settings[i]);
    }
    for (int i = 0; i < x->bench->setting_count; i++) {
        add_setting(x, &x->bench->settings[i]);
    }
}

static bool allocate_times(matmul *x)
{
    for (int i = 0; i < x->entry_count; i++) {
        matmul_entry *entry = &x->entries[i];
        uint32_t count = entry->setting != NULL ? entry->setting->count : 1;
        entry->seconds =
            calloc((size_t)x->options->repeat, sizeof *entry->seconds);
        entry->report.shares = calloc(count, sizeof *entry->report.shares);
        if (entry->seconds == NULL || entry->report.shares == NULL) {
            return false;
        }
        entry->report.share_capacity = count;
    }
    return true;
}

static void release_case(matmul *x)
{
    for (int i = 0; i < x->entry_count; i++) {
        hr_context_destroy(x->entries[i].context);
        free(x->entries[i].seconds);
        free(x->entries[i].report.shares);
    }
    x->entry_count = 0;
    bench_operands_free(&x->operands);
}

/* ---- files, in a folder of their own below TMPDIR, or in /var/tmp, which
 * unlike /tmp is on a disk */

static const char *const file_names[FILES] = {"A.npy", "B.npy", "C.npy"};

static int write_random(const char *path, hr_matrix like, uint64_t seed)
{
    int status = cli_output_random(path, like, HR_ROW_MAJOR, seed, NULL);
    cli_signals_phase(CLI_AT_ONCE);
    return status;
}

/* Make the folder with A.npy and B.npy for the case. */
static int create_files(matmul *x)
{
    const char *parent = getenv("TMPDIR");
    int length =
        snprintf(x->folder, sizeof x->folder, "%s/headrace-bench-XXXXXX",
                 parent != NULL && *parent ? parent : "/var/tmp");
    if (length >= (int)sizeof x->folder || mkdtemp(x->folder) == NULL) {
        int status = cli_fail("%s: cannot make the folder: %s", x->folder,
                              strerror(errno));
        x->folder[0] = '\0';
        return status;
    }
    cli_remember(x->folder);
    for (int i = 0; i < FILES; i++) {
        snprintf(x->paths[i], sizeof x->paths[i], "%s/%s", x->folder,
                 file_names[i]);
        cli_remember(x->paths[i]);
    }
    HRI_TRY(write_random(x->paths[0], x->operands.a, 1));
    return write_random(x->paths[1], x->operands.b, 2);
}

/* Remove the folder, if it is there. */
static void remove_files(matmul *x)
{
    if (x->folder[0] == '\0') {
        return;
    }
    for (int i = 0; i < FILES; i++) {
        unlink(x->paths[i]);
        cli_forget();
    }
    rmdir(x->folder);
    cli_forget();
    x->folder[0] = '\0';
}

/* Make the system forget the file's pages. They have been written to the
 * disk. */
static int drop_pages(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error =
        file >= 0 ? posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) : errno;
    if (file >= 0) {
        close(file);
    }
    return error == 0 ? CLI_OK : cli_fail("%s: %s", path, strerror(error));
}

/* Multiply files into a file. */
static int run_files(matmul *x, matmul_entry *entry, double *seconds)
{
    for (int i = 0; i < 2 && entry->kind == MATMUL_COLD; i++) {
        HRI_TRY(drop_pages(x->paths[i]));
    }
    const cli_product product = {.a = x->paths[0],
                                 .b = x->paths[1],
                                 .output = x->paths[2],
                                 .alpha = hr_real(1.0),
                                 .type = x->number.c_type,
                                 .compute = x->number.compute,
                                 .quiet = true};
    cli_outcome outcome;
    const int status = cli_multiply(&entry->context, &product, &outcome);
    cli_signals_phase(CLI_AT_ONCE); /* more work follows */
    *seconds = outcome.seconds;
    cli_outcome_free(&outcome);
    return status;
}

/* ---- running */

/* A call on an entry has failed. The other entries are still measured, unless a
 * signal asked to stop. Returns an exit status. */
static int note_failure(matmul *x, matmul_entry *entry, hr_status status)
{
    if (status == HR_ERROR_UNSUPPORTED) {
        snprintf(entry->note, sizeof entry->note, "not offered");
        return CLI_OK;
    }
    snprintf(entry->note, sizeof entry->note, "%.190s", hr_last_error());
    int failed = cli_failed_call();
    x->bench->failed = true;
    return cli_cancelled() ? failed : CLI_OK;
}

static hr_gemm_options options_of(const matmul *x)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = x->number.compute;
    return options;
}

static int run_headrace(matmul *x, matmul_entry *entry, double *seconds)
{
    hr_gemm_options options = options_of(x);
    options.report = &entry->report;
    const bench_operands *o = &x->operands;
    double begin = cli_clock();
    hr_status status = hr_gemm(entry->context, hr_real(1.0), o->a, o->b,
                               hr_real(0.0), o->c, &options);
    *seconds = cli_clock() - begin;
    return status == HR_OK ? CLI_OK : note_failure(x, entry, status);
}

static int run_openblas(const matmul *x, const matmul_entry *entry,
                        double *seconds)
{
    const bench_request request = request_of(x);
    bench_answer answer = {.first = 0.0};
    char error[64];
    const bool good =
        bench_peer_run(entry->peer, &request, &answer, error, sizeof error);
    *seconds = answer.first;
    return good ? CLI_OK : cli_fail("the process of %s ended", entry->name);
}

static int run_cblas(matmul *x, matmul_entry *entry, double *seconds)
{
    const double begin = cli_clock();
    const int before = bench_cblas_begin(&x->cblas);
    const bool done = bench_cblas_gemm(&x->cblas, x->operands.a, x->operands.b,
                                       x->operands.c);
    bench_cblas_end(&x->cblas, before);
    *seconds = cli_clock() - begin;
    return done ? CLI_OK : note_failure(x, entry, HR_ERROR_UNSUPPORTED);
}

static int run_entry(matmul *x, matmul_entry *entry, double *seconds)
{
    switch (entry->kind) {
    case MATMUL_CBLAS:
        return run_cblas(x, entry, seconds);
    case MATMUL_OPENBLAS:
        return run_openblas(x, entry, seconds);
    case MATMUL_HEADRACE:
        return run_headrace(x, entry, seconds);
    case MATMUL_CUBLASXT: /* run_xt */
    case MATMUL_COLD:
    case MATMUL_WARM:
        break;
    }
    return run_files(x, entry, seconds);
}

/* Make all runs of the peer. Of our contexts only the context of pinned memory
 * is open now. It has nothing on the GPUs. */
static void run_xt(matmul *x, matmul_entry *entry)
{
    bench_request request = request_of(x);
    bench_answer answer;
    request.repeat = hri_min(x->options->repeat, BENCH_PEER_REPEATS);
    request.pinned = x->pinned;
    request.gpus = entry->setting->gpus;
    if (bench_peer_run(&x->xt, &request, &answer, entry->note,
                       sizeof entry->note)) {
        entry->block = answer.block;
        entry->runs = request.repeat;
        entry->first = answer.first;
        entry->best = answer.best;
        entry->median = answer.median;
    }
}

/* Verify a result: a fast result that is wrong does not count. */
static int verify_result(matmul *x, matmul_entry *entry)
{
    const bench_operands *o = &x->operands;
    if (entry->kind != MATMUL_HEADRACE ||
        x->number.compute != HR_COMPUTE_NATIVE) {
        return CLI_OK; /* its bounds are for native products */
    }
    if (hr_gemm_verify(entry->context, hr_real(1.0), o->a, o->b, hr_real(0.0),
                       o->c, o->c, NULL) != HR_OK) {
        return cli_fail("%s: %s", entry->name, hr_last_error());
    }
    entry->verified = true;
    return CLI_OK;
}

static int run_once(matmul *x, matmul_entry *entry, int64_t round)
{
    double seconds = 0.0;
    if (round == 0 && entry->kind == MATMUL_HEADRACE &&
        !bench_operands_spoil(&x->operands)) {
        return cli_failed_call();
    }
    bench_rest(0.2);
    int status = run_entry(x, entry, &seconds);
    if (status != CLI_OK || entry->note[0] != '\0') {
        return status;
    }
    if (round > 0) {
        entry->seconds[entry->runs++] = seconds;
        return CLI_OK;
    }
    entry->first = seconds;
    return verify_result(x, entry);
}

/* Ask for the plan's prediction, with all that is known of the machine by now,
 * and for the machine's limits. This comes after the runs, since they would not
 * be the first otherwise. */
static int ask_plan(matmul *x, matmul_entry *entry)
{
    const bench_operands *o = &x->operands;
    hr_gemm_report plan = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = options_of(x);
    hr_status status = hr_gemm_plan(entry->context, hr_real(1.0), o->a, o->b,
                                    hr_real(0.0), o->c, &options, &plan);
    if (status != HR_OK) {
        return note_failure(x, entry, status);
    }
    entry->predicted = plan.seconds;
    status =
        hr_gemm_measure_limits(entry->context, x->number.type, x->number.c_type,
                               x->number.compute, &entry->limits);
    if (status != HR_OK) {
        return note_failure(x, entry, status);
    }
    const bool in_place =
        entry->setting->host_only && entry->limits.ordinary.both <= 0.0;
    const bool shown = x->options->json || x->options->plot != NULL;
    return in_place && shown
               ? bench_copy_rate(entry->context, false, &entry->memory)
               : CLI_OK;
}

static int open_entry(matmul_entry *entry)
{
    double begin = cli_clock();
    int status = bench_context(entry->setting, &entry->context);
    entry->created = cli_clock() - begin;
    return status;
}

/* Whether a peer on the host is so slow beside GPUs that it is timed only once
 * more. */
static bool is_enough(const matmul *x, const matmul_entry *entry)
{
    const double long_time = 2.0;
    return !x->in_turns && entry->setting == NULL && entry->runs > 0 &&
           entry->first > long_time;
}

/* Round 0 gives the first runs. Each later round starts with another entry, so
 * that no entry always follows the same one. */
static int run_rounds(matmul *x, matmul_entry *entries, int count)
{
    for (int64_t round = 0; round <= x->options->repeat; round++) {
        for (int i = 0; i < count; i++) {
            matmul_entry *entry = &entries[(round + i) % count];
            if (entry->note[0] != '\0' || is_enough(x, entry)) {
                continue;
            }
            if (entry->kind != MATMUL_CUBLASXT) {
                HRI_TRY(run_once(x, entry, round));
            } else if (round == 0) {
                run_xt(x, entry);
            }
        }
    }
    return CLI_OK;
}

/* ---- rows */

/* Peers come first. */
enum { PEERS = MATMUL_HEADRACE };

static const struct {
    const char *name, *heading, *key; /* heading and key only for peers */
} kinds[] = {
    [MATMUL_CBLAS] = {"cblas", "of cblas", "cblas"},
    [MATMUL_OPENBLAS] = {"openblas", "of OpenBLAS", "best_openblas"},
    [MATMUL_CUBLASXT] = {"cublasxt", "of cuBLASXt", "cublasxt"},
    [MATMUL_HEADRACE] = {"headrace", NULL, NULL},
    [MATMUL_COLD] = {"cold files", NULL, NULL},
    [MATMUL_WARM] = {"warm files", NULL, NULL},
};

static double flops(const matmul *x)
{
    return hri_product_flops(x->number.type, x->m, x->n, x->k);
}

static double over(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static const hr_link_rates *links(const matmul *x, const matmul_entry *e)
{
    return x->pinned ? &e->limits.pinned : &e->limits.ordinary;
}

/* No product can be faster: the time for arithmetic, and for the fewest bytes
 * over the links. */
static double limit_seconds(const matmul *x, const matmul_entry *e)
{
    double c_bytes =
        (double)x->m * (double)x->n * (double)hr_type_size(x->number.c_type);
    double all = (double)e->report.compulsory;
    double down = all < c_bytes ? all : c_bytes, up = all - down;
    const hr_link_rates *l = links(x, e);
    double seconds = over(flops(x), e->limits.flops);
    seconds = fmax(seconds, fmax(over(up, l->up), over(down, l->down)));
    return fmax(seconds, over(all, l->both));
}

/* The peer of a kind that an entry is compared with (NULL: any entry). NULL
 * when there is none. */
static const matmul_entry *peer_of(const matmul *x, matmul_kind kind,
                                   const matmul_entry *entry)
{
    for (int i = 0; i < x->entry_count; i++) {
        const matmul_entry *peer = &x->entries[i];
        if (peer->kind == kind && (entry == NULL || peer->setting == NULL ||
                                   peer->setting == entry->setting)) {
            return peer;
        }
    }
    return NULL;
}

/* Add how an entry compares with a peer: the ratios of their times. */
static void add_peer_cells(bench_rows *rows, const matmul_entry *entry,
                           const matmul_entry *peer, const char *heading)
{
    const bool there = peer != NULL && peer->note[0] == '\0';
    const double median = there ? over(peer->median, entry->median) : 0.0;
    const double best = there ? over(peer->best, entry->best) : 0.0;
    bench_value(rows, NULL, heading, BENCH_PER_CENT_1,
                median > 0.0 ? median : NAN);
    bench_value(rows, NULL, "(best)", BENCH_PER_CENT_1,
                best > 0.0 ? best : NAN);
}

static void write_peer(cli_json *json, const char *key,
                       const matmul_entry *entry, const matmul_entry *peer)
{
    if (peer == NULL || peer == entry) {
        cli_json_null(json, key);
        return;
    }
    cli_json_begin(json, key, '{');
    cli_json_text(json, "name", peer->name);
    if (peer->note[0] != '\0') {
        cli_json_text(json, "note", peer->note);
    } else if (entry->note[0] == '\0') {
        double ratio = over(peer->median, entry->median);
        cli_json_number(json, "min_seconds", peer->best);
        cli_json_number(json, "ratio_of_medians", ratio);
        cli_json_number(json, "ratio_of_best", over(peer->best, entry->best));
        cli_json_number(json, "per_cent", 100.0 * ratio);
    }
    cli_json_end(json, '}');
}

static void add_peers(const matmul *x, const matmul_entry *e)
{
    bench_rows *rows = &x->bench->rows;
    for (int i = 0; i < PEERS; i++) {
        const matmul_entry *peer = peer_of(x, (matmul_kind)i, e);
        if (rows->writing) {
            write_peer(&rows->line, kinds[i].key, e, peer);
        }
        if (peer_of(x, (matmul_kind)i, NULL) != NULL) {
            add_peer_cells(rows, e, peer, kinds[i].heading);
        }
    }
}

static void write_links(cli_json *json, const char *key,
                        const hr_link_rates *rates)
{
    cli_json_begin(json, key, '{');
    cli_json_number(json, "up", rates->up);
    cli_json_number(json, "down", rates->down);
    cli_json_number(json, "both", rates->both);
    cli_json_end(json, '}');
}

static void write_limits(cli_json *json, const matmul *x, const matmul_entry *e)
{
    const hr_gemm_limits *l = &e->limits;
    cli_json_begin(json, "limits", '{');
    cli_json_count(json, "devices", l->devices);
    cli_json_number(json, "flops_per_second", l->flops);
    write_links(json, "links", links(x, e));
    write_links(json, "first_alone",
                x->pinned ? &l->pinned_alone : &l->ordinary_alone);
    if (e->memory > 0.0) {
        cli_json_number(json, "memory", e->memory);
    }
    cli_json_number(json, "seconds", limit_seconds(x, e));
    cli_json_end(json, '}');
}

static void add_times(bench_rows *rows, const matmul *x, const matmul_entry *e)
{
    bench_value(rows, "runs", NULL, BENCH_COUNT, (double)e->runs);
    bench_value(rows, "first_seconds", NULL, BENCH_SECONDS, e->first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, e->best);
    bench_value(rows, "median_seconds", "median", BENCH_SECONDS, e->median);
    bench_value(rows, "gflops", "rate", BENCH_GFLOPS,
                over(flops(x), e->median));
    bench_value(rows, "tflops", NULL, BENCH_RATIO,
                over(flops(x), e->best) * 1e-12);
}

/* Add what only products by the library in memory have. */
static void add_plan(bench_rows *rows, const matmul *x, const matmul_entry *e)
{
    const double of_limit = over(limit_seconds(x, e), e->best);
    bench_cell(rows, "bound", 'l', hr_bound_name(e->report.bound));
    bench_value(rows, NULL, "planned", BENCH_SECONDS, e->predicted);
    bench_value(rows, NULL, "moved", BENCH_RATIO_3, e->report.ratio);
    bench_value(rows, NULL, "of limit", BENCH_PER_CENT_1,
                of_limit > 0.0 ? of_limit : NAN);
}

static void write_plan(bench_rows *rows, const matmul *x, const matmul_entry *e)
{
    bench_flag(rows, "verified", x->number.compute == HR_COMPUTE_NATIVE,
               e->verified);
    bench_value(rows, "create_seconds", NULL, BENCH_SECONDS, e->created);
    bench_value(rows, "predicted_seconds", NULL, BENCH_SECONDS, e->predicted);
    bench_text(rows, "bound", NULL, hr_bound_name(e->report.bound));
    write_limits(&rows->line, x, e);
    bench_value(rows, "of_limit", NULL, BENCH_RATIO,
                over(limit_seconds(x, e), e->best));
    cli_report_members(&rows->line, e->context, &e->report);
}

/* Whether a note is too long for a cell. */
static bool is_sentence(const char *note)
{
    return strlen(note) > 16;
}

static void add_row(const matmul *x, const matmul_entry *e)
{
    bench_rows *rows = &x->bench->rows;
    const bool noted = e->note[0] != '\0';
    const bool ours = !noted && e->kind == MATMUL_HEADRACE;
    bench_row_begin(rows, "matmul");
    bench_text(rows, "type", NULL, x->number.name);
    bench_text(rows, "memory", NULL, x->pinned ? "pinned" : "ordinary");
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)x->m);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)x->n);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)x->k);
    bench_value(rows, "flops", NULL, BENCH_RATIO, flops(x));
    bench_text(rows, "name", "what", e->name);
    bench_text(rows, "kind", NULL, kinds[e->kind].name);
    if (e->setting != NULL) {
        bench_list(rows, e->setting);
    }
    if (e->block > 0) {
        bench_text(rows, "library", NULL, x->xt.name);
        bench_value(rows, "block", NULL, BENCH_COUNT, e->block);
    }
    if (noted) {
        bench_text(rows, "note", NULL, e->note);
    }
    bench_cell(rows, "first", 'r',
               !noted                 ? hri_seconds_text(e->first).text
               : is_sentence(e->note) ? "failed"
                                      : e->note);
    rows->absent = noted;
    add_times(rows, x, e);
    rows->absent = !ours;
    add_plan(rows, x, e);
    rows->absent = noted;
    add_peers(x, e);
    if (ours && rows->writing) {
        write_plan(rows, x, e);
    }
    bench_row_end(rows);
}

static int print_table(const matmul *x)
{
    char cpu[128];
    bench_cpu_name(cpu, sizeof cpu);
    printf("%s, %" PRId64 "x%" PRId64 " times %" PRId64 "x%" PRId64
           ", %s memory, %" PRId64 " run%s%s after a first one, on %s\n",
           x->number.name, x->m, x->k, x->k, x->n,
           x->pinned ? "pinned" : "ordinary", x->options->repeat,
           x->options->repeat == 1 ? "" : "s", x->in_turns ? " in turns" : "",
           cpu);
    int status = bench_rows_print(&x->bench->rows);
    for (int i = 0; i < x->entry_count; i++) {
        const matmul_entry *e = &x->entries[i];
        if (is_sentence(e->note)) {
            printf("%s: %s\n", e->name, e->note);
        }
    }
    putchar('\n');
    return status;
}

/* ---- cases */

/* Make the matrices, unless they are there, where the entry wants them. */
static int create_operands(matmul *x, const matmul_entry *entry)
{
    bench_operands_wish wish = request_of(x).wish;
    const bool pinned =
        x->pinned && (entry->setting != NULL || x->operands.a.data == NULL);
    const bench_setting *owner =
        pinned ? owner_for(x, entry->setting) : x->owner;
    if (owner != x->owner) {
        bench_operands_free(&x->operands);
        hr_context_destroy(x->pinned_context);
        x->pinned_context = NULL;
        x->owner = owner;
        HRI_TRY(bench_context(owner, &x->pinned_context));
    }
    wish.pinned = x->pinned ? x->pinned_context : NULL;
    return bench_operands_make(&x->operands, &wish)
               ? CLI_OK
               : cli_fail("out of memory: %s matrices of %" PRId64 "x%" PRId64
                          "x%" PRId64,
                          x->number.name, x->m, x->k, x->n);
}

static int run_open_entries(matmul *x, matmul_entry *entries, int count)
{
    for (int i = 0; i < count; i++) {
        if (entries[i].kind >= MATMUL_HEADRACE) {
            HRI_TRY(open_entry(&entries[i]));
        }
    }
    HRI_TRY(run_rounds(x, entries, count));
    for (int i = 0; i < count; i++) {
        matmul_entry *entry = &entries[i];
        if (entry->note[0] == '\0' && entry->kind != MATMUL_CUBLASXT) {
            bench_sum_up(entry->seconds, entry->runs, &entry->best,
                         &entry->median);
        }
        if (entry->note[0] == '\0' && entry->kind == MATMUL_HEADRACE) {
            HRI_TRY(ask_plan(x, entry));
        }
    }
    for (int i = 0; i < count; i++) {
        add_row(x, &entries[i]);
    }
    return cli_flush();
}

/* Run entries whose contexts are open at the same time. */
static int run_together(matmul *x, matmul_entry *entries, int count)
{
    const int status = run_open_entries(x, entries, count);
    for (int i = 0; i < count; i++) {
        hr_context_destroy(entries[i].context);
        entries[i].context = NULL;
    }
    return status;
}

static int measure_entries(matmul *x)
{
    const int step = x->in_turns ? x->entry_count : 1;
    if (!allocate_times(x)) {
        return cli_fail("out of memory");
    }
    HRI_TRY(create_operands(x, &x->entries[0]));
    if (x->options->from_files) {
        HRI_TRY(create_files(x));
    }
    for (int i = 0; i < x->entry_count; i += step) {
        HRI_TRY(create_operands(x, &x->entries[i]));
        HRI_TRY(run_together(x, &x->entries[i], step));
    }
    return x->options->json ? CLI_OK : print_table(x);
}

static int measure_case(matmul *x)
{
    add_entries(x);
    const int status = measure_entries(x);
    remove_files(x);
    release_case(x);
    return status == CLI_OK ? cli_flush() : status;
}

static int measure_cases(matmul *x)
{
    const bench_problems *problems = &x->bench->problems;
    const bench_numbers *numbers = &x->options->numbers;
    const bench_memories *memories = &x->options->memories;
    const int each = numbers->count * memories->count;
    for (int i = 0; i < problems->count * each; i++) {
        const int64_t *extents = problems->list[i / each].extents;
        x->m = extents[0];
        x->k = extents[1];
        x->n = extents[2];
        x->number = numbers->list[i % each / memories->count];
        x->pinned = memories->pinned[i % memories->count];
        HRI_TRY(measure_case(x));
    }
    return CLI_OK;
}

int bench_matmul(benchmark *bench)
{
    matmul *x = calloc(1, sizeof *x);
    if (x == NULL) {
        return cli_fail("out of memory");
    }
    x->bench = bench;
    x->options = &bench->o;
    find_peers(x, &bench->o.peers);
    const int status = measure_cases(x);
    for (int i = 0; i < x->peer_count; i++) {
        bench_peer_stop(&x->peers[i]);
    }
    bench_peer_stop(&x->xt);
    hr_context_destroy(x->pinned_context);
    free(x);
    return status;
}
