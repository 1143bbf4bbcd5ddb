/* SPDX-License-Identifier: MIT */
/* Who takes part in a case of a benchmark. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

void cli_bench_pause(void)
{
    struct timespec pause = {0, 200000000L};
    nanosleep(&pause, NULL);
}

/* Whether CBLAS and its kin have a word for the case. */
static bool is_plain(const cli_bench *bench)
{
    return bench->number.compute == HR_COMPUTE_NATIVE &&
           bench->number.type <= HR_C64;
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
            if (cli_peer_run(&bench->peers[i], bench->number.type, mnk,
                             &seconds) &&
                (least <= 0.0 || seconds < least)) {
                least = seconds;
            }
        }
        cli_bench_pause();
        if (least > 0.0 && (best == NULL || least < best_seconds)) {
            best = &bench->peers[i];
            best_seconds = least;
        }
    }
    return best;
}

static cli_entry *add_entry(cli_bench *bench, cli_entry_kind kind,
                            const char *name, const char *suffix,
                            const cli_setting *setting)
{
    cli_entry *entry = &bench->entries[bench->entry_count++];
    *entry = (cli_entry){.kind = kind,
                         .report = HR_GEMM_REPORT_INIT,
                         .limits = HR_GEMM_LIMITS_INIT,
                         .setting = setting};
    snprintf(entry->name, sizeof entry->name, "%s%s", name, suffix);
    return entry;
}

static void add_host_peers(cli_bench *bench)
{
    if (bench->has_cblas && is_plain(bench) &&
        cli_cblas_offers(&bench->cblas, bench->number.type, bench->m, bench->n,
                         bench->k)) {
        add_entry(bench, CLI_ENTRY_CBLAS, "cblas ", bench->cblas.name, NULL);
    }
    cli_peer *best = is_plain(bench) ? find_best(bench) : NULL;
    if (best != NULL) {
        add_entry(bench, CLI_ENTRY_OPENBLAS, "OpenBLAS ", best->core, NULL)
            ->peer = best;
    }
}

static void add_xt(cli_bench *bench, const cli_setting *setting)
{
    if (!bench->has_xt || setting->gpus[0] == '\0') {
        return;
    }
    cli_entry *entry = add_entry(bench, CLI_ENTRY_CUBLASXT, "cuBLASXt on ",
                                 setting->name, setting);
    if (!is_plain(bench)) {
        snprintf(entry->note, sizeof entry->note, "not offered");
    }
}

static void add_setting(cli_bench *bench, const cli_setting *setting)
{
    const char *name = setting->name;
    add_entry(bench, CLI_ENTRY_HEADRACE, name, "", setting);
    if (bench->from_files) {
        add_entry(bench, CLI_ENTRY_COLD, name, ", cold files", setting);
        add_entry(bench, CLI_ENTRY_WARM, name, ", warm files", setting);
    }
}

void cli_bench_add_entries(cli_bench *bench)
{
    bench->entry_count = 0;
    add_host_peers(bench);
    for (int i = 0; i < bench->setting_count; i++) {
        add_xt(bench, &bench->settings[i]);
    }
    for (int i = 0; i < bench->setting_count; i++) {
        add_setting(bench, &bench->settings[i]);
    }
}

bool cli_bench_allocate(cli_bench *bench)
{
    for (int i = 0; i < bench->entry_count; i++) {
        cli_entry *entry = &bench->entries[i];
        uint32_t count = entry->setting != NULL ? entry->setting->count : 1;
        entry->seconds = calloc((size_t)bench->repeat, sizeof *entry->seconds);
        entry->report.shares = calloc(count, sizeof *entry->report.shares);
        if (entry->seconds == NULL || entry->report.shares == NULL) {
            return false;
        }
        entry->report.share_capacity = count;
    }
    return true;
}

void cli_bench_release(cli_bench *bench)
{
    for (int i = 0; i < bench->entry_count; i++) {
        hr_context_destroy(bench->entries[i].context);
        free(bench->entries[i].seconds);
        free(bench->entries[i].report.shares);
    }
    bench->entry_count = 0;
    cli_operands_free(&bench->operands);
}
