/* SPDX-License-Identifier: MIT */
/* Running the contestants of each case. */
#include "bench/workloads/matmul.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "console/context.h"
#include "console/signals.h"
#include "console/text.h"

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

/* Open the context that owns the pinned memory. It computes nothing, so it
 * holds none of the GPU's memory. */
static int open_pinned_context(matmul *x, const bench_setting *owner)
{
    hr_context_destroy(x->pinned_context);
    x->pinned_context = NULL;
    x->owner = owner;
    return bench_context(owner, &x->pinned_context);
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

static bool allocate(matmul *x)
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

static void release(matmul *x)
{
    for (int i = 0; i < x->entry_count; i++) {
        hr_context_destroy(x->entries[i].context);
        free(x->entries[i].seconds);
        free(x->entries[i].report.shares);
    }
    x->entry_count = 0;
    bench_operands_free(&x->operands);
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
    return matmul_files_run(x, entry, seconds);
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
static int verify(matmul *x, matmul_entry *entry)
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
    return verify(x, entry);
}

/* Ask for the plan's prediction, with all that is known of the machine by now,
 * and for the machine's limits. This comes after the runs, since they would not
 * be the first otherwise. */
static int ask(matmul *x, matmul_entry *entry)
{
    const bench_operands *o = &x->operands;
    hr_gemm_report plan = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = options_of(x);
    hr_status status = hr_gemm_plan(entry->context, hr_real(1.0), o->a, o->b,
                                    hr_real(0.0), o->c, &options, &plan);
    if (status == HR_OK) {
        entry->predicted = plan.seconds;
        status = hr_gemm_measure_limits(entry->context, x->number.type,
                                        x->number.c_type, x->number.compute,
                                        &entry->limits);
    }
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
    int status = CLI_OK;
    for (int64_t round = 0; round <= x->options->repeat; round++) {
        for (int i = 0; i < count && status == CLI_OK; i++) {
            matmul_entry *entry = &entries[(round + i) % count];
            if (entry->note[0] != '\0' || is_enough(x, entry)) {
                continue;
            }
            if (entry->kind != MATMUL_CUBLASXT) {
                status = run_once(x, entry, round);
            } else if (round == 0) {
                run_xt(x, entry);
            }
        }
    }
    return status;
}

/* Run entries whose contexts are open at the same time. */
static int run_batch(matmul *x, int first, int count)
{
    matmul_entry *entries = &x->entries[first];
    int status = CLI_OK;
    for (int i = 0; i < count && status == CLI_OK; i++) {
        if (entries[i].kind >= MATMUL_HEADRACE) {
            status = open_entry(&entries[i]);
        }
    }
    if (status == CLI_OK) {
        status = run_rounds(x, entries, count);
    }
    for (int i = 0; i < count && status == CLI_OK; i++) {
        matmul_entry *entry = &entries[i];
        if (entry->note[0] == '\0' && entry->kind != MATMUL_CUBLASXT) {
            bench_sum_up(entry->seconds, entry->runs, &entry->best,
                         &entry->median);
        }
        if (entry->note[0] == '\0' && entry->kind == MATMUL_HEADRACE) {
            status = ask(x, entry);
        }
    }
    if (status == CLI_OK) {
        status = matmul_add_rows(x, first, count);
    }
    for (int i = 0; i < count; i++) {
        hr_context_destroy(entries[i].context);
        entries[i].context = NULL;
    }
    return status;
}

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
        const int status = open_pinned_context(x, owner);
        if (status != CLI_OK) {
            return status;
        }
    }
    wish.pinned = x->pinned ? x->pinned_context : NULL;
    return bench_operands_make(&x->operands, &wish)
               ? CLI_OK
               : cli_fail("out of memory: %s matrices of %" PRId64 "x%" PRId64
                          "x%" PRId64,
                          x->number.name, x->m, x->k, x->n);
}

static int measure(matmul *x)
{
    int status = allocate(x) ? create_operands(x, &x->entries[0])
                             : cli_fail("out of memory");
    if (status == CLI_OK && x->options->from_files) {
        status = matmul_files_create(x);
    }
    int step = x->in_turns ? x->entry_count : 1;
    for (int i = 0; i < x->entry_count && status == CLI_OK; i += step) {
        status = create_operands(x, &x->entries[i]);
        status = status == CLI_OK ? run_batch(x, i, step) : status;
    }
    if (x->options->from_files) {
        matmul_files_remove(x);
    }
    return status;
}

static int measure_case(matmul *x)
{
    add_entries(x);
    int status = measure(x);
    if (status == CLI_OK && !x->options->json) {
        status = matmul_print(x);
    }
    release(x);
    return status == CLI_OK ? cli_flush() : status;
}

static int measure_all(matmul *x)
{
    int status = CLI_OK;
    const bench_problems *problems = &x->bench->problems;
    const bench_numbers *numbers = &x->options->numbers;
    const bench_memories *memories = &x->options->memories;
    const int each = numbers->count * memories->count;
    for (int i = 0; i < problems->count * each && status == CLI_OK; i++) {
        const int64_t *extents = problems->list[i / each].extents;
        x->m = extents[0];
        x->k = extents[1];
        x->n = extents[2];
        x->number = numbers->list[i % each / memories->count];
        x->pinned = memories->pinned[i % memories->count];
        status = measure_case(x);
    }
    return status;
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
    int status = measure_all(x);
    for (int i = 0; i < x->peer_count; i++) {
        bench_peer_stop(&x->peers[i]);
    }
    bench_peer_stop(&x->xt);
    hr_context_destroy(x->pinned_context);
    free(x);
    return status;
}
