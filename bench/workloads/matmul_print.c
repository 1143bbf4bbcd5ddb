/* SPDX-License-Identifier: MIT */
/* Printing what was measured: a table, or JSON lines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/matrix.h"
#include "bench/workloads/matmul.h"
#include "console/product.h"

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
static const matmul_entry *find_peer(const matmul *x, matmul_kind kind,
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

/* ---- rows */

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
        const matmul_entry *peer = find_peer(x, (matmul_kind)i, e);
        if (rows->writing) {
            write_peer(&rows->line, kinds[i].key, e, peer);
        }
        if (find_peer(x, (matmul_kind)i, NULL) != NULL) {
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

static void add_case(bench_rows *rows, const matmul *x)
{
    bench_text(rows, "type", NULL, x->number.name);
    bench_text(rows, "memory", NULL, x->pinned ? "pinned" : "ordinary");
    bench_value(rows, "m", NULL, BENCH_COUNT, (double)x->m);
    bench_value(rows, "n", NULL, BENCH_COUNT, (double)x->n);
    bench_value(rows, "k", NULL, BENCH_COUNT, (double)x->k);
    bench_value(rows, "flops", NULL, BENCH_RATIO, flops(x));
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
    add_case(rows, x);
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

int matmul_add_rows(const matmul *x, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        add_row(x, &x->entries[i]);
    }
    return cli_flush();
}

int matmul_print(const matmul *x)
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
