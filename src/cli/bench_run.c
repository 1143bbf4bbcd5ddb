/* SPDX-License-Identifier: MIT */
/* Running the contestants of a case. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "commands.h"
#include "context.h"
#include "output.h"
#include "signals.h"
#include "text.h"

static bool has_context(const cli_entry *entry)
{
    return entry->kind >= CLI_ENTRY_HEADRACE;
}

/* A call of the library on an entry has failed: no reason to give up the
 * others, unless a signal asked for it. Returns an exit status. */
static int note_failure(cli_bench *bench, cli_entry *entry, hr_status status)
{
    if (status == HR_ERROR_UNSUPPORTED) {
        snprintf(entry->note, sizeof entry->note, "not offered");
        return CLI_OK;
    }
    snprintf(entry->note, sizeof entry->note, "%.190s", hr_last_error());
    int failed = cli_failed_call();
    bench->failed = true;
    return cli_cancelled() ? failed : CLI_OK;
}

static hr_gemm_options options_of(const cli_bench *bench)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.compute = bench->number.compute;
    return options;
}

static int run_headrace(cli_bench *bench, cli_entry *entry, double *seconds)
{
    hr_gemm_options options = options_of(bench);
    options.report = &entry->report;
    const cli_operands *o = &bench->operands;
    double begin = cli_clock();
    hr_status status = hr_gemm(entry->context, hr_real(1.0), o->a, o->b,
                               hr_real(0.0), o->c, &options);
    *seconds = cli_clock() - begin;
    return status == HR_OK ? CLI_OK : note_failure(bench, entry, status);
}

static int run_entry(cli_bench *bench, cli_entry *entry, double *seconds)
{
    const cli_operands *o = &bench->operands;
    double begin = cli_clock();
    switch (entry->kind) {
    case CLI_ENTRY_CBLAS:
        cli_cblas_gemm(&bench->cblas, o->a, o->b, o->c);
        *seconds = cli_clock() - begin;
        return CLI_OK;
    case CLI_ENTRY_OPENBLAS:
        return cli_peer_run(entry->peer, bench->number.type,
                            (int64_t[]){bench->m, bench->n, bench->k}, seconds)
                   ? CLI_OK
                   : cli_fail("the process of %s ended", entry->name);
    case CLI_ENTRY_HEADRACE:
        return run_headrace(bench, entry, seconds);
    case CLI_ENTRY_CUBLASXT: /* run_xt */
    case CLI_ENTRY_COLD:
    case CLI_ENTRY_WARM:
        break;
    }
    return cli_bench_files_run(bench, entry, seconds);
}

/* All runs of the peer, while none of our contexts but the keeper of pinned
 * memory, which has nothing on the GPUs, is there. */
static void run_xt(cli_bench *bench, cli_entry *entry)
{
    const cli_xt_request request = {
        .type = bench->number.name,
        .m = bench->m,
        .n = bench->n,
        .k = bench->k,
        .repeat = bench->repeat < 100 ? bench->repeat : 100,
        .pinned = bench->pinned,
        .gpus = entry->setting->gpus};
    cli_xt_result result;
    if (cli_xt_run(&bench->xt, &request, &result, entry->note,
                   sizeof entry->note)) {
        entry->block = result.block;
        entry->runs = request.repeat;
        entry->first = result.first;
        entry->best = result.best;
        entry->median = result.median;
    }
}

/* A result that is fast but wrong is none. */
static int verify(cli_bench *bench, cli_entry *entry)
{
    const cli_operands *o = &bench->operands;
    if (entry->kind != CLI_ENTRY_HEADRACE ||
        bench->number.compute != HR_COMPUTE_NATIVE) {
        return CLI_OK; /* its bounds are those of native products */
    }
    if (hr_gemm_verify(entry->context, hr_real(1.0), o->a, o->b, hr_real(0.0),
                       o->c, o->c, NULL) != HR_OK) {
        return cli_fail("%s: %s", entry->name, hr_last_error());
    }
    entry->verified = true;
    return CLI_OK;
}

static int run_once(cli_bench *bench, cli_entry *entry, int64_t round)
{
    double seconds = 0.0;
    if (round == 0 && entry->kind == CLI_ENTRY_HEADRACE &&
        !cli_operands_spoil(&bench->operands)) {
        return cli_failed_call();
    }
    cli_bench_pause();
    int status = run_entry(bench, entry, &seconds);
    if (status != CLI_OK || entry->note[0] != '\0') {
        return status;
    }
    if (round > 0) {
        entry->seconds[entry->runs++] = seconds;
        return CLI_OK;
    }
    entry->first = seconds;
    return verify(bench, entry);
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void sum_up(cli_entry *entry)
{
    double *s = entry->seconds;
    int64_t half = entry->runs / 2;
    qsort(s, (size_t)entry->runs, sizeof *s, compare);
    entry->best = s[0];
    entry->median =
        entry->runs % 2 == 1 ? s[half] : 0.5 * (s[half - 1] + s[half]);
}

/* What the plan foresaw, with all that is known of the machine by now, and what
 * the machine could do: after the runs, which would not be the first. */
static int ask(cli_bench *bench, cli_entry *entry)
{
    const cli_operands *o = &bench->operands;
    hr_gemm_report plan = HR_GEMM_REPORT_INIT;
    hr_gemm_options options = options_of(bench);
    hr_status status = hr_gemm_plan(entry->context, hr_real(1.0), o->a, o->b,
                                    hr_real(0.0), o->c, &options, &plan);
    if (status == HR_OK) {
        entry->predicted = plan.seconds;
        status = hr_gemm_measure_limits(entry->context, bench->number.type,
                                        bench->number.c_type,
                                        bench->number.compute, &entry->limits);
    }
    return status == HR_OK ? CLI_OK : note_failure(bench, entry, status);
}

static int open_entry(cli_entry *entry)
{
    double begin = cli_clock();
    int status = cli_context(&cli_bench_command, entry->setting->list,
                             entry->setting->memory_limit, &entry->context);
    entry->created = cli_clock() - begin;
    return status;
}

/* A peer on the host that takes so long beside GPUs is timed once more and then
 * left alone. */
static bool is_enough(const cli_bench *bench, const cli_entry *entry)
{
    const double long_time = 2.0;
    return !bench->in_turns && entry->setting == NULL && entry->runs > 0 &&
           entry->first > long_time;
}

/* Round 0 gives the first runs; each later one starts with another entry, so
 * that nobody always follows the same one. */
static int run_rounds(cli_bench *bench, cli_entry *entries, int count)
{
    int status = CLI_OK;
    for (int64_t round = 0; round <= bench->repeat; round++) {
        for (int i = 0; i < count && status == CLI_OK; i++) {
            cli_entry *entry = &entries[(round + i) % count];
            if (entry->note[0] != '\0' || is_enough(bench, entry)) {
                continue;
            }
            if (entry->kind != CLI_ENTRY_CUBLASXT) {
                status = run_once(bench, entry, round);
            } else if (round == 0) {
                run_xt(bench, entry);
            }
        }
    }
    return status;
}

/* Entries whose contexts are there at the same time. */
static int run_batch(cli_bench *bench, int first, int count)
{
    cli_entry *entries = &bench->entries[first];
    int status = CLI_OK;
    for (int i = 0; i < count && status == CLI_OK; i++) {
        status = has_context(&entries[i]) ? open_entry(&entries[i]) : CLI_OK;
    }
    if (status == CLI_OK) {
        status = run_rounds(bench, entries, count);
    }
    for (int i = 0; i < count && status == CLI_OK; i++) {
        cli_entry *entry = &entries[i];
        if (entry->note[0] == '\0' && entry->kind != CLI_ENTRY_CUBLASXT) {
            sum_up(entry);
        }
        if (entry->note[0] == '\0' && entry->kind == CLI_ENTRY_HEADRACE) {
            status = ask(bench, entry);
        }
    }
    if (status == CLI_OK && bench->json) {
        status = cli_bench_write(bench, first, count);
    }
    for (int i = 0; i < count; i++) {
        hr_context_destroy(entries[i].context);
        entries[i].context = NULL;
    }
    return status;
}

static int create_operands(cli_bench *bench)
{
    const cli_operands_wish wish = {
        bench->number.type, bench->number.c_type,
        bench->m,           bench->n,
        bench->k,           bench->pinned ? bench->keeper : NULL};
    return cli_bench_allocate(bench) &&
                   cli_operands_create(&bench->operands, &wish)
               ? CLI_OK
               : cli_fail("out of memory: %s matrices of %" PRId64 "x%" PRId64
                          "x%" PRId64,
                          bench->number.name, bench->m, bench->k, bench->n);
}

static int measure(cli_bench *bench)
{
    int status = create_operands(bench);
    if (status == CLI_OK && bench->from_files) {
        status = cli_bench_files_create(bench);
    }
    int step = bench->in_turns ? bench->entry_count : 1;
    for (int i = 0; i < bench->entry_count && status == CLI_OK; i += step) {
        status = run_batch(bench, i, step);
    }
    if (bench->from_files) {
        cli_bench_files_remove(bench);
    }
    return status;
}

int cli_bench_case(cli_bench *bench)
{
    cli_bench_add_entries(bench);
    int status = measure(bench);
    if (status == CLI_OK && !bench->json) {
        status = cli_bench_print(bench);
    }
    cli_bench_release(bench);
    return status;
}
