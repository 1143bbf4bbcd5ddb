/* SPDX-License-Identifier: MIT */
/* What a benchmark measured: a table for people, JSON lines for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/workloads/matmul.h"
#include "console/args.h"
#include "console/json.h"
#include "console/product.h"
#include "console/text.h"

enum { PEERS = 3 };

static const struct {
    matmul_kind kind;
    const char *heading, *key;
} peers[PEERS] = {
    {MATMUL_CBLAS, "of cblas", "cblas"},
    {MATMUL_OPENBLAS, "of OpenBLAS", "best_openblas"},
    {MATMUL_CUBLASXT, "of cuBLASXt", "cublasxt"},
};

static double flops(const matmul *x)
{
    bool complex = x->number.type == HR_C32 || x->number.type == HR_C64;
    return (complex ? 8.0 : 2.0) * (double)x->m * (double)x->n * (double)x->k;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double over(double a, double b)
{
    return b > 0.0 ? a / b : 0.0;
}

static const hr_link_rates *links(const matmul *x, const matmul_entry *e)
{
    return x->pinned ? &e->limits.pinned : &e->limits.ordinary;
}

/* No product is faster: arithmetic, and the fewest bytes over the links. */
static double limit_seconds(const matmul *x, const matmul_entry *e)
{
    double c_bytes =
        (double)x->m * (double)x->n * (double)hr_type_size(x->number.c_type);
    double all = (double)e->report.compulsory;
    double down = all < c_bytes ? all : c_bytes, up = all - down;
    const hr_link_rates *l = links(x, e);
    double seconds = over(flops(x), e->limits.flops);
    seconds = larger(seconds, larger(over(up, l->up), over(down, l->down)));
    return larger(seconds, over(all, l->both));
}

/* The peer of a kind that an entry is compared with; NULL when there is none.
 */
static const matmul_entry *find_peer(const matmul *x, matmul_kind kind,
                                     const matmul_entry *entry)
{
    for (int i = 0; i < x->entry_count; i++) {
        const matmul_entry *peer = &x->entries[i];
        if (peer->kind == kind &&
            (peer->setting == NULL || peer->setting == entry->setting)) {
            return peer;
        }
    }
    return NULL;
}

static bool has_kind(const matmul *x, matmul_kind kind)
{
    for (int i = 0; i < x->entry_count; i++) {
        if (x->entries[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* ---- the table */

/* Speeds relative to the peers': their times over ours. */
static void add_ratios(cli_table *table, const matmul *x,
                       const matmul_entry *entry)
{
    for (int i = 0; i < PEERS; i++) {
        if (has_kind(x, peers[i].kind)) {
            const matmul_entry *peer = find_peer(x, peers[i].kind, entry);
            const bool there = peer != NULL && peer->note[0] == '\0';
            for (int best = 0; best < 2; best++) {
                const double ratio = !there ? 0.0
                                     : best ? over(peer->best, entry->best)
                                            : over(peer->median, entry->median);
                cli_table_maybe(table, ratio > 0.0, "%.1f %%", 100.0 * ratio);
            }
        }
    }
}

static void add_times(cli_table *table, const matmul *x, const matmul_entry *e)
{
    bool ours = e->kind == MATMUL_HEADRACE;
    cli_table_add(table, "%s", cli_seconds_text(e->first).text);
    cli_table_add(table, "%s", cli_seconds_text(e->best).text);
    cli_table_add(table, "%s", cli_seconds_text(e->median).text);
    cli_table_add(table, "%s", cli_rate_text(over(flops(x), e->median)).text);
    cli_table_add(table, "%s", ours ? hr_bound_name(e->report.bound) : "-");
    cli_table_add(table, "%s",
                  ours ? cli_seconds_text(e->predicted).text : "-");
    const double of_limit = ours ? over(limit_seconds(x, e), e->best) : 0.0;
    cli_table_maybe(table, ours, "%.3f", e->report.ratio);
    cli_table_maybe(table, of_limit > 0.0, "%.1f %%", 100.0 * of_limit);
    add_ratios(table, x, e);
}

static void add_heading(cli_table *table, const matmul *x)
{
    cli_table_head(table,
                   "what|first|best|median|rate|bound|planned|moved|of limit");
    for (int i = 0; i < PEERS; i++) {
        if (has_kind(x, peers[i].kind)) {
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

int matmul_print(const matmul *x)
{
    static const char align[] = "lrrrrlrrrrrrrrr";
    char cpu[128];
    size_t columns = 9;
    bench_cpu_name(cpu, sizeof cpu);
    printf("%s, %" PRId64 "x%" PRId64 " times %" PRId64 "x%" PRId64
           ", %s memory, %" PRId64 " run%s%s after a first one, on %s\n",
           x->number.name, x->m, x->k, x->k, x->n,
           x->pinned ? "pinned" : "ordinary", x->options->repeat,
           x->options->repeat == 1 ? "" : "s", x->in_turns ? " in turns" : "",
           cpu);
    for (int i = 0; i < PEERS; i++) {
        columns += has_kind(x, peers[i].kind) ? 2 : 0;
    }
    char used[sizeof align];
    snprintf(used, sizeof used, "%.*s", (int)columns, align);
    cli_table table = {.align = used};
    add_heading(&table, x);
    for (int i = 0; i < x->entry_count; i++) {
        const matmul_entry *e = &x->entries[i];
        cli_table_add(&table, "%s", e->name);
        if (e->note[0] == '\0') {
            add_times(&table, x, e);
            continue;
        }
        cli_table_add(&table, "%s", is_sentence(e->note) ? "failed" : e->note);
        for (size_t c = 2; c < columns; c++) {
            cli_table_add(&table, "-");
        }
    }
    int status = cli_table_print(&table);
    for (int i = 0; i < x->entry_count; i++) {
        const matmul_entry *e = &x->entries[i];
        if (is_sentence(e->note)) {
            printf("%s: %s\n", e->name, e->note);
        }
    }
    putchar('\n');
    return status;
}

/* ---- JSON */

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

static void write_case(cli_json *json, const matmul *x)
{
    cli_json_text(json, "type", x->number.name);
    cli_json_text(json, "memory", x->pinned ? "pinned" : "ordinary");
    cli_json_count(json, "m", (uint64_t)x->m);
    cli_json_count(json, "n", (uint64_t)x->n);
    cli_json_count(json, "k", (uint64_t)x->k);
    cli_json_number(json, "flops", flops(x));
}

static const char *kind_name(matmul_kind kind)
{
    static const char *const names[] = {
        [MATMUL_CBLAS] = "cblas",       [MATMUL_OPENBLAS] = "openblas",
        [MATMUL_CUBLASXT] = "cublasxt", [MATMUL_HEADRACE] = "headrace",
        [MATMUL_COLD] = "cold files",   [MATMUL_WARM] = "warm files",
    };
    return names[kind];
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
    double seconds = limit_seconds(x, e);
    cli_json_begin(json, "limits", '{');
    cli_json_count(json, "devices", l->devices);
    cli_json_number(json, "flops_per_second", l->flops);
    write_links(json, "links", links(x, e));
    write_links(json, "first_alone",
                x->pinned ? &l->pinned_alone : &l->ordinary_alone);
    cli_json_number(json, "seconds", seconds);
    cli_json_end(json, '}');
    cli_json_number(json, "of_limit", over(seconds, e->best));
}

static void write_times(cli_json *json, const matmul *x, const matmul_entry *e)
{
    cli_json_count(json, "runs", (uint64_t)e->runs);
    cli_json_number(json, "first_seconds", e->first);
    cli_json_number(json, "min_seconds", e->best);
    cli_json_number(json, "median_seconds", e->median);
    cli_json_number(json, "gflops", over(flops(x), e->median) * 1e-9);
    cli_json_number(json, "tflops", over(flops(x), e->best) * 1e-12);
}

static void write_ours(cli_json *json, const matmul *x, const matmul_entry *e)
{
    if (x->number.compute == HR_COMPUTE_NATIVE) {
        cli_json_bool(json, "verified", e->verified);
    } else {
        cli_json_null(json, "verified");
    }
    cli_json_number(json, "create_seconds", e->created);
    cli_json_number(json, "predicted_seconds", e->predicted);
    cli_json_text(json, "bound", hr_bound_name(e->report.bound));
    write_limits(json, x, e);
    cli_report_members(json, e->context, &e->report);
}

static void write_entry(const matmul *x, const matmul_entry *e)
{
    cli_json json = bench_json_begin("matmul");
    write_case(&json, x);
    cli_json_text(&json, "name", e->name);
    cli_json_text(&json, "kind", kind_name(e->kind));
    if (e->setting != NULL) {
        bench_setting_json(&json, e->setting);
    }
    if (e->block > 0) {
        cli_json_text(&json, "library", x->xt.name);
        cli_json_count(&json, "block", (uint64_t)e->block);
    }
    if (e->note[0] != '\0') {
        cli_json_text(&json, "note", e->note);
    } else {
        write_times(&json, x, e);
    }
    for (int i = 0; i < PEERS; i++) {
        write_peer(&json, peers[i].key, e, find_peer(x, peers[i].kind, e));
    }
    if (e->note[0] == '\0' && e->kind == MATMUL_HEADRACE) {
        write_ours(&json, x, e);
    }
    cli_json_line(&json);
}

int matmul_write(const matmul *x, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        write_entry(x, &x->entries[i]);
    }
    return cli_flush();
}
