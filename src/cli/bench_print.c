/* SPDX-License-Identifier: MIT */
/* What a benchmark measured: a table for people, JSON lines for programs. */
#include <inttypes.h>
#include <stdio.h>

#include "args.h"
#include "bench.h"
#include "json.h"
#include "machine.h"
#include "report.h"
#include "table.h"
#include "text.h"

static double flops(const cli_bench *bench)
{
    bool complex = bench->type == HR_C32 || bench->type == HR_C64;
    return (complex ? 8.0 : 2.0) * (double)bench->m * (double)bench->n *
           (double)bench->k;
}

static double best(const cli_entry *entry)
{
    return entry->seconds[0]; /* they are sorted */
}

static double median(const cli_bench *bench, const cli_entry *entry)
{
    const double *s = entry->seconds;
    int64_t half = bench->repeat / 2;
    return bench->repeat % 2 == 1 ? s[half] : 0.5 * (s[half - 1] + s[half]);
}

static const cli_entry *find_peer(const cli_bench *bench, cli_entry_kind kind)
{
    for (int i = 0; i < bench->entry_count; i++) {
        if (bench->entries[i].kind == kind) {
            return &bench->entries[i];
        }
    }
    return NULL;
}

/* Speed relative to the peer's: its time over ours. */
static void add_ratio(cli_table *table, const cli_bench *bench,
                      const cli_entry *entry, const cli_entry *peer)
{
    if (peer == NULL) {
        cli_table_add(table, "-");
        cli_table_add(table, "-");
        return;
    }
    cli_table_add(table, "%.1f %%",
                  100.0 * median(bench, peer) / median(bench, entry));
    cli_table_add(table, "%.1f %%", 100.0 * best(peer) / best(entry));
}

static int print_table(const cli_bench *bench)
{
    static const char *const heading[] = {
        "what",     "first",  "best",        "median", "rate",
        "of cblas", "(best)", "of OpenBLAS", "(best)",
    };
    const cli_entry *cblas = find_peer(bench, CLI_ENTRY_CBLAS);
    const cli_entry *openblas = find_peer(bench, CLI_ENTRY_OPENBLAS);
    char cpu[128];
    cli_cpu_name(cpu, sizeof cpu);
    printf("%s, %" PRId64 "x%" PRId64 " times %" PRId64 "x%" PRId64 ", %" PRId64
           " runs in turns after a first one, on %s\n",
           hr_type_name(bench->type), bench->m, bench->k, bench->k, bench->n,
           bench->repeat, cpu);
    cli_table table = {.align = "lrrrrrrrr"};
    for (size_t i = 0; i < sizeof heading / sizeof heading[0]; i++) {
        cli_table_add(&table, "%s", heading[i]);
    }
    for (int i = 0; i < bench->entry_count; i++) {
        const cli_entry *e = &bench->entries[i];
        cli_table_add(&table, "%s", e->name);
        cli_table_add(&table, "%s", cli_seconds_text(e->first).text);
        cli_table_add(&table, "%s", cli_seconds_text(best(e)).text);
        cli_table_add(&table, "%s", cli_seconds_text(median(bench, e)).text);
        cli_table_add(&table, "%s",
                      cli_rate_text(flops(bench) / median(bench, e)).text);
        add_ratio(&table, bench, e, cblas);
        add_ratio(&table, bench, e, openblas);
    }
    int status = cli_table_print(&table);
    putchar('\n');
    return status;
}

static void write_peer(cli_json *json, const char *key, const cli_bench *bench,
                       const cli_entry *entry, const cli_entry *peer)
{
    if (peer == NULL) {
        cli_json_null(json, key);
        return;
    }
    cli_json_begin(json, key, '{');
    cli_json_text(json, "name", peer->name);
    cli_json_number(json, "ratio_of_medians",
                    median(bench, peer) / median(bench, entry));
    cli_json_number(json, "ratio_of_best", best(peer) / best(entry));
    cli_json_number(json, "per_cent",
                    100.0 * median(bench, peer) / median(bench, entry));
    cli_json_end(json, '}');
}

static void write_setting(cli_json *json, const cli_bench *bench)
{
    char cpu[128];
    cli_cpu_name(cpu, sizeof cpu);
    cli_json_text(json, "bench", "matmul");
    cli_json_text(json, "commit", cli_build_commit());
    cli_json_text(json, "compiler", cli_build_compiler());
    cli_json_text(json, "cpu", cpu);
    cli_json_text(json, "type", hr_type_name(bench->type));
    cli_json_count(json, "m", (uint64_t)bench->m);
    cli_json_count(json, "n", (uint64_t)bench->n);
    cli_json_count(json, "k", (uint64_t)bench->k);
    cli_json_count(json, "runs", (uint64_t)bench->repeat);
    cli_json_number(json, "flops", flops(bench));
}

static const char *kind_name(cli_entry_kind kind)
{
    static const char *const names[] = {
        [CLI_ENTRY_CBLAS] = "cblas",       [CLI_ENTRY_OPENBLAS] = "openblas",
        [CLI_ENTRY_HEADRACE] = "headrace", [CLI_ENTRY_COLD] = "cold files",
        [CLI_ENTRY_WARM] = "warm files",
    };
    return names[kind];
}

static void write_entry(const cli_bench *bench, const cli_entry *e)
{
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    write_setting(&json, bench);
    cli_json_text(&json, "name", e->name);
    cli_json_text(&json, "kind", kind_name(e->kind));
    cli_json_number(&json, "first_seconds", e->first);
    cli_json_number(&json, "min_seconds", best(e));
    cli_json_number(&json, "median_seconds", median(bench, e));
    cli_json_number(&json, "gflops", flops(bench) / median(bench, e) * 1e-9);
    write_peer(&json, "cblas", bench, e, find_peer(bench, CLI_ENTRY_CBLAS));
    write_peer(&json, "best_openblas", bench, e,
               find_peer(bench, CLI_ENTRY_OPENBLAS));
    if (e->kind == CLI_ENTRY_HEADRACE) {
        cli_json_bool(&json, "verified", e->verified);
        cli_json_text(&json, "bound", hr_bound_name(e->report.bound));
        cli_report_members(&json, e->context, &e->report);
    }
    cli_json_end(&json, '}');
    putchar('\n');
}

int cli_bench_print(const cli_bench *bench)
{
    if (!bench->json) {
        return print_table(bench);
    }
    for (int i = 0; i < bench->entry_count; i++) {
        write_entry(bench, &bench->entries[i]);
    }
    return CLI_OK;
}
