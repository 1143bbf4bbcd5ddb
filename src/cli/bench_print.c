/* SPDX-License-Identifier: MIT */
/* What a benchmark measured: a table for people, JSON lines for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "bench.h"
#include "json.h"
#include "machine.h"
#include "report.h"
#include "table.h"
#include "text.h"

enum { PEERS = 3 };

static const struct {
    cli_entry_kind kind;
    const char *heading, *key;
} peers[PEERS] = {
    {CLI_ENTRY_CBLAS, "of cblas", "cblas"},
    {CLI_ENTRY_OPENBLAS, "of OpenBLAS", "best_openblas"},
    {CLI_ENTRY_CUBLASXT, "of cuBLASXt", "cublasxt"},
};

static double flops(const cli_bench *bench)
{
    bool complex = bench->number.type == HR_C32 || bench->number.type == HR_C64;
    return (complex ? 8.0 : 2.0) * (double)bench->m * (double)bench->n *
           (double)bench->k;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double over(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static const hr_link_rates *links(const cli_bench *bench, const cli_entry *e)
{
    return bench->pinned ? &e->limits.pinned : &e->limits.ordinary;
}

/* No product is faster: arithmetic, and the fewest bytes over the links. */
static double limit_seconds(const cli_bench *bench, const cli_entry *e)
{
    double c_bytes = (double)bench->m * (double)bench->n *
                     (double)hr_type_size(bench->number.c_type);
    double all = (double)e->report.compulsory;
    double down = all < c_bytes ? all : c_bytes, up = all - down;
    const hr_link_rates *l = links(bench, e);
    double seconds = over(flops(bench), e->limits.flops);
    seconds = larger(seconds, larger(over(up, l->up), over(down, l->down)));
    return larger(seconds, over(all, l->both));
}

/* The peer of a kind that an entry is compared with; NULL when there is none.
 */
static const cli_entry *find_peer(const cli_bench *bench, cli_entry_kind kind,
                                  const cli_entry *entry)
{
    for (int i = 0; i < bench->entry_count; i++) {
        const cli_entry *peer = &bench->entries[i];
        if (peer->kind == kind &&
            (peer->setting == NULL || peer->setting == entry->setting)) {
            return peer;
        }
    }
    return NULL;
}

static bool has_kind(const cli_bench *bench, cli_entry_kind kind)
{
    for (int i = 0; i < bench->entry_count; i++) {
        if (bench->entries[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* ---- the table */

static void add_per_cent(cli_table *table, double ratio)
{
    if (ratio > 0.0) {
        cli_table_add(table, "%.1f %%", 100.0 * ratio);
    } else {
        cli_table_add(table, "-");
    }
}

/* Speeds relative to the peers': their times over ours. */
static void add_ratios(cli_table *table, const cli_bench *bench,
                       const cli_entry *entry)
{
    for (int i = 0; i < PEERS; i++) {
        if (has_kind(bench, peers[i].kind)) {
            const cli_entry *peer = find_peer(bench, peers[i].kind, entry);
            add_per_cent(table, peer != NULL && peer->note[0] == '\0'
                                    ? over(peer->median, entry->median)
                                    : 0.0);
            add_per_cent(table, peer != NULL && peer->note[0] == '\0'
                                    ? over(peer->best, entry->best)
                                    : 0.0);
        }
    }
}

static void add_times(cli_table *table, const cli_bench *bench,
                      const cli_entry *e)
{
    bool ours = e->kind == CLI_ENTRY_HEADRACE;
    cli_table_add(table, "%s", cli_seconds_text(e->first).text);
    cli_table_add(table, "%s", cli_seconds_text(e->best).text);
    cli_table_add(table, "%s", cli_seconds_text(e->median).text);
    cli_table_add(table, "%s",
                  cli_rate_text(over(flops(bench), e->median)).text);
    cli_table_add(table, "%s", ours ? hr_bound_name(e->report.bound) : "-");
    cli_table_add(table, "%s",
                  ours ? cli_seconds_text(e->predicted).text : "-");
    if (ours) {
        cli_table_add(table, "%.3f", e->report.ratio);
    } else {
        cli_table_add(table, "-");
    }
    add_per_cent(table, ours ? over(limit_seconds(bench, e), e->best) : 0.0);
    add_ratios(table, bench, e);
}

static void add_heading(cli_table *table, const cli_bench *bench)
{
    static const char *const heading[] = {
        "what",  "first",   "best",  "median",   "rate",
        "bound", "planned", "moved", "of limit",
    };
    for (size_t i = 0; i < sizeof heading / sizeof heading[0]; i++) {
        cli_table_add(table, "%s", heading[i]);
    }
    for (int i = 0; i < PEERS; i++) {
        if (has_kind(bench, peers[i].kind)) {
            cli_table_add(table, "%s", peers[i].heading);
            cli_table_add(table, "(best)");
        }
    }
}

/* A note that is too long for a cell. */
static bool is_sentence(const char *note)
{
    return strlen(note) > 16;
}

int cli_bench_print(const cli_bench *bench)
{
    static const char align[] = "lrrrrlrrrrrrrrr";
    char cpu[128];
    size_t columns = 9;
    cli_cpu_name(cpu, sizeof cpu);
    printf("%s, %" PRId64 "x%" PRId64 " times %" PRId64 "x%" PRId64
           ", %s memory, %" PRId64 " run%s%s after a first one, on %s\n",
           bench->number.name, bench->m, bench->k, bench->k, bench->n,
           bench->pinned ? "pinned" : "ordinary", bench->repeat,
           bench->repeat == 1 ? "" : "s", bench->in_turns ? " in turns" : "",
           cpu);
    for (int i = 0; i < PEERS; i++) {
        columns += has_kind(bench, peers[i].kind) ? 2 : 0;
    }
    char used[sizeof align];
    snprintf(used, sizeof used, "%.*s", (int)columns, align);
    cli_table table = {.align = used};
    add_heading(&table, bench);
    for (int i = 0; i < bench->entry_count; i++) {
        const cli_entry *e = &bench->entries[i];
        cli_table_add(&table, "%s", e->name);
        if (e->note[0] == '\0') {
            add_times(&table, bench, e);
            continue;
        }
        cli_table_add(&table, "%s", is_sentence(e->note) ? "failed" : e->note);
        for (size_t c = 2; c < columns; c++) {
            cli_table_add(&table, "-");
        }
    }
    int status = cli_table_print(&table);
    for (int i = 0; i < bench->entry_count; i++) {
        const cli_entry *e = &bench->entries[i];
        if (is_sentence(e->note)) {
            printf("%s: %s\n", e->name, e->note);
        }
    }
    putchar('\n');
    return status;
}

/* ---- JSON */

static void write_peer(cli_json *json, const char *key, const cli_entry *entry,
                       const cli_entry *peer)
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

static void write_case(cli_json *json, const cli_bench *bench)
{
    cli_machine_json(json, "matmul");
    cli_json_text(json, "type", bench->number.name);
    cli_json_text(json, "memory", bench->pinned ? "pinned" : "ordinary");
    cli_json_count(json, "m", (uint64_t)bench->m);
    cli_json_count(json, "n", (uint64_t)bench->n);
    cli_json_count(json, "k", (uint64_t)bench->k);
    cli_json_number(json, "flops", flops(bench));
}

static const char *kind_name(cli_entry_kind kind)
{
    static const char *const names[] = {
        [CLI_ENTRY_CBLAS] = "cblas",       [CLI_ENTRY_OPENBLAS] = "openblas",
        [CLI_ENTRY_CUBLASXT] = "cublasxt", [CLI_ENTRY_HEADRACE] = "headrace",
        [CLI_ENTRY_COLD] = "cold files",   [CLI_ENTRY_WARM] = "warm files",
    };
    return names[kind];
}

static void write_setting(cli_json *json, const cli_setting *setting)
{
    cli_json_text(json, "list", setting->list);
    cli_json_count(json, "accelerator_count", setting->count);
    cli_json_text(json, "device", setting->device);
    cli_json_count(json, "list_memory_limit", setting->memory_limit);
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

static void write_limits(cli_json *json, const cli_bench *bench,
                         const cli_entry *e)
{
    const hr_gemm_limits *l = &e->limits;
    double seconds = limit_seconds(bench, e);
    cli_json_begin(json, "limits", '{');
    cli_json_count(json, "devices", l->devices);
    cli_json_number(json, "flops_per_second", l->flops);
    write_links(json, "links", links(bench, e));
    write_links(json, "first_alone",
                bench->pinned ? &l->pinned_alone : &l->ordinary_alone);
    cli_json_number(json, "seconds", seconds);
    cli_json_end(json, '}');
    cli_json_number(json, "of_limit", over(seconds, e->best));
}

static void write_times(cli_json *json, const cli_bench *bench,
                        const cli_entry *e)
{
    cli_json_count(json, "runs", (uint64_t)e->runs);
    cli_json_number(json, "first_seconds", e->first);
    cli_json_number(json, "min_seconds", e->best);
    cli_json_number(json, "median_seconds", e->median);
    cli_json_number(json, "gflops", over(flops(bench), e->median) * 1e-9);
    cli_json_number(json, "tflops", over(flops(bench), e->best) * 1e-12);
}

static void write_ours(cli_json *json, const cli_bench *bench,
                       const cli_entry *e)
{
    if (bench->number.compute == HR_COMPUTE_NATIVE) {
        cli_json_bool(json, "verified", e->verified);
    } else {
        cli_json_null(json, "verified");
    }
    cli_json_number(json, "create_seconds", e->created);
    cli_json_number(json, "predicted_seconds", e->predicted);
    cli_json_text(json, "bound", hr_bound_name(e->report.bound));
    write_limits(json, bench, e);
    cli_report_members(json, e->context, &e->report);
}

static void write_entry(const cli_bench *bench, const cli_entry *e)
{
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    write_case(&json, bench);
    cli_json_text(&json, "name", e->name);
    cli_json_text(&json, "kind", kind_name(e->kind));
    if (e->setting != NULL) {
        write_setting(&json, e->setting);
    }
    if (e->block > 0) {
        cli_json_text(&json, "library", bench->xt.name);
        cli_json_count(&json, "block", (uint64_t)e->block);
    }
    if (e->note[0] != '\0') {
        cli_json_text(&json, "note", e->note);
    } else {
        write_times(&json, bench, e);
    }
    for (int i = 0; i < PEERS; i++) {
        write_peer(&json, peers[i].key, e, find_peer(bench, peers[i].kind, e));
    }
    if (e->note[0] == '\0' && e->kind == CLI_ENTRY_HEADRACE) {
        write_ours(&json, bench, e);
    }
    cli_json_end(&json, '}');
    putchar('\n');
}

int cli_bench_write(const cli_bench *bench, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        write_entry(bench, &bench->entries[i]);
    }
    return cli_flush();
}
