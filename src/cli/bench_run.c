/* SPDX-License-Identifier: MIT */
/* Running the contestants of a benchmark in turns, so that whatever else the
 * machine does meets all of them. */
#include "bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "args.h"
#include "output.h"
#include "text.h"

/* The threads of the contestant before, in this process or another, may still
 * be spinning in wait for more: OpenBLAS's do so for about 0.1 s. */
static void pause_between(void)
{
    struct timespec pause = {0, 200000000L};
    nanosleep(&pause, NULL);
}

static int run_headrace(cli_bench *bench, cli_entry *entry, double *seconds)
{
    hr_gemm_options options = HR_GEMM_OPTIONS_INIT;
    options.report = &entry->report;
    const cli_operands *o = &bench->operands;
    double begin = cli_clock();
    hr_status status = hr_gemm(entry->context, hr_real(1.0), o->a, o->b,
                               hr_real(0.0), o->c, &options);
    *seconds = cli_clock() - begin;
    return status == HR_OK ? CLI_OK : cli_failed_call();
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
        return cli_peer_run(entry->peer, bench->type,
                            (int64_t[]){bench->m, bench->n, bench->k}, seconds)
                   ? CLI_OK
                   : cli_fail("the process of %s ended", entry->name);
    case CLI_ENTRY_HEADRACE:
        return run_headrace(bench, entry, seconds);
    case CLI_ENTRY_COLD:
    case CLI_ENTRY_WARM:
        break;
    }
    return cli_bench_files_run(bench, entry, seconds);
}

/* A result that is fast but wrong is none. */
static int verify(cli_bench *bench, cli_entry *entry)
{
    const cli_operands *o = &bench->operands;
    if (entry->kind != CLI_ENTRY_HEADRACE) {
        return CLI_OK;
    }
    if (hr_gemm_verify(entry->context, hr_real(1.0), o->a, o->b, hr_real(0.0),
                       o->c, o->c, NULL) != HR_OK) {
        return cli_fail("%s: %s", entry->name, hr_last_error());
    }
    entry->verified = true;
    return CLI_OK;
}

/* Round 0 gives the first runs; each later one starts with another entry, so
 * that nobody always follows the same one. */
static int run_round(cli_bench *bench, int64_t round)
{
    int status = CLI_OK;
    for (int i = 0; i < bench->entry_count && status == CLI_OK; i++) {
        int64_t turn = (round + i) % bench->entry_count;
        cli_entry *entry = &bench->entries[turn];
        double seconds = 0.0;
        pause_between();
        status = run_entry(bench, entry, &seconds);
        if (round > 0) {
            entry->seconds[round - 1] = seconds;
        } else if (status == CLI_OK) {
            entry->first = seconds;
            status = verify(bench, entry);
        }
    }
    return status;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The peer that is fastest at this type, by a short contest. */
static cli_peer *find_best(cli_bench *bench)
{
    enum { SIZE = 1536, TRIES = 4 };
    const int64_t mnk[] = {bench->m < SIZE ? bench->m : SIZE,
                           bench->n < SIZE ? bench->n : SIZE,
                           bench->k < SIZE ? bench->k : SIZE};
    cli_peer *best = NULL;
    double best_seconds = 0.0;
    for (int i = 0; i < bench->peer_count; i++) {
        double least = 0.0, seconds;
        for (int t = 0; t < TRIES; t++) {
            if (cli_peer_run(&bench->peers[i], bench->type, mnk, &seconds) &&
                (least <= 0.0 || seconds < least)) {
                least = seconds;
            }
        }
        pause_between();
        if (least > 0.0 && (best == NULL || least < best_seconds)) {
            best = &bench->peers[i];
            best_seconds = least;
        }
    }
    return best;
}

static cli_entry *add_entry(cli_bench *bench, cli_entry_kind kind,
                            const char *name, const char *suffix)
{
    cli_entry *entry = &bench->entries[bench->entry_count++];
    *entry = (cli_entry){.kind = kind, .report = HR_GEMM_REPORT_INIT};
    snprintf(entry->name, sizeof entry->name, "%s%s", name, suffix);
    return entry;
}

static void add_setting(cli_bench *bench, const cli_setting *setting)
{
    const char *name = setting->name;
    add_entry(bench, CLI_ENTRY_HEADRACE, name, "")->context = setting->context;
    if (bench->from_files) {
        add_entry(bench, CLI_ENTRY_COLD, name, ", cold files")->context =
            setting->context;
        add_entry(bench, CLI_ENTRY_WARM, name, ", warm files")->context =
            setting->context;
    }
}

static void add_entries(cli_bench *bench)
{
    bench->entry_count = 0;
    if (bench->has_cblas && cli_cblas_offers(&bench->cblas, bench->type,
                                             bench->m, bench->n, bench->k)) {
        add_entry(bench, CLI_ENTRY_CBLAS, "cblas ", bench->cblas.name);
    }
    cli_peer *best = find_best(bench);
    if (best != NULL) {
        add_entry(bench, CLI_ENTRY_OPENBLAS, "OpenBLAS ", best->core)->peer =
            best;
    }
    for (int i = 0; i < bench->setting_count; i++) {
        add_setting(bench, &bench->settings[i]);
    }
}

static bool allocate(cli_bench *bench)
{
    for (int i = 0; i < bench->entry_count; i++) {
        cli_entry *entry = &bench->entries[i];
        entry->seconds = calloc((size_t)bench->repeat, sizeof *entry->seconds);
        uint32_t count =
            entry->context != NULL ? hr_accelerator_count(entry->context) : 1;
        entry->report.shares = calloc(count, sizeof *entry->report.shares);
        if (entry->seconds == NULL || entry->report.shares == NULL) {
            return false;
        }
        entry->report.share_capacity = count;
    }
    return true;
}

static void release(cli_bench *bench)
{
    for (int i = 0; i < bench->entry_count; i++) {
        free(bench->entries[i].seconds);
        free(bench->entries[i].report.shares);
    }
    bench->entry_count = 0;
    cli_operands_free(&bench->operands);
}

static int measure(cli_bench *bench)
{
    if (!allocate(bench) ||
        !cli_operands_create(&bench->operands, bench->type, bench->m, bench->n,
                             bench->k)) {
        return cli_fail(
            "out of memory: %s matrices of %" PRId64 "x%" PRId64 "x%" PRId64,
            hr_type_name(bench->type), bench->m, bench->k, bench->n);
    }
    int status = bench->from_files ? cli_bench_files_create(bench) : CLI_OK;
    for (int64_t r = 0; r <= bench->repeat && status == CLI_OK; r++) {
        status = run_round(bench, r);
    }
    if (bench->from_files) {
        cli_bench_files_remove(bench);
    }
    for (int i = 0; i < bench->entry_count; i++) {
        qsort(bench->entries[i].seconds, (size_t)bench->repeat, sizeof(double),
              compare);
    }
    return status;
}

int cli_bench_type(cli_bench *bench)
{
    add_entries(bench);
    int status = measure(bench);
    if (status == CLI_OK) {
        status = cli_bench_print(bench);
    }
    release(bench);
    return status;
}
