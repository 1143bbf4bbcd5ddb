/* SPDX-License-Identifier: MIT */
/* Reports of products: what was planned, what was done, and both as text. The
 * text has a line for each figure, and a table with a row for each accelerator.
 * It is worked out twice where the caller asks for its length first, and needs
 * no memory. */
#include <headrace/gemm.h>

#include <math.h>

#include "base/arithmetic.h"
#include "base/format.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/size.h"
#include "base/structs.h"
#include "gemm/call.h"
#include "trace/trace.h"

static const hri_struct report_struct =
    HRI_STRUCT(hr_gemm_report, "gemm report", "HR_GEMM_REPORT_INIT", seconds);

hr_status hri_report_check(const hr_gemm_report *report)
{
    return hri_struct_check(&report_struct, report);
}

hr_status hri_report_read(const hr_gemm_report *from, hr_gemm_report *report)
{
    return hri_struct_read(&report_struct, from, report);
}

void hri_report_write(const hr_gemm_report *from, hr_gemm_report *report)
{
    hri_struct_write(&report_struct, from, report);
}

const char *hr_bound_name(hr_bound bound)
{
    static const char *const names[] = {"compute", "link", "host memory",
                                        "disk"};
    return bound >= HR_BOUND_COMPUTE && bound <= HR_BOUND_DISK ? names[bound]
                                                               : "?";
}

/* ---- what was planned */

void hri_report_add(hr_gemm_report *report, const hr_gemm_share *entry)
{
    if (report->shares != NULL &&
        report->share_count < report->share_capacity) {
        report->shares[report->share_count] = *entry;
    }
    report->share_count++;
}

static void report_share(const hri_gemm_call *c, const hri_flow_share *share,
                         hr_gemm_report *report)
{
    const hri_accelerator *a = c->accelerators[share->accelerator];
    const hri_plan_accelerator *f = &c->inputs[share->accelerator];
    const int64_t chunks = c->plan->blocking.chunks;
    const hr_gemm_share entry = {
        .accelerator = (uint32_t)(a - c->context->accelerators),
        .seconds_busy = share->seconds,
        .flops = share->flops,
        .tiles = (uint64_t)(share->task_count / chunks),
        .host_to_device = share->up,
        .device_to_host = share->down,
        .peer = share->peer,
        .memory_bytes = share->memory + (a->in_place ? 0 : f->own),
        .memory_limit = a->in_place ? 0 : f->memory,
    };
    hri_report_add(report, &entry);
    report->pinned_bytes += a->pinned_used;
}

static double ratio_of(const hr_gemm_report *r)
{
    return r->compulsory > 0 ? (double)(r->host_to_device + r->device_to_host) /
                                   (double)r->compulsory
                             : 1.0;
}

void hri_report_sizes(const hri_product *p, const int64_t block[2],
                      const int64_t tile[2], int64_t depth,
                      hr_gemm_report *report)
{
    report->block_rows = block[p->transposed];
    report->block_cols = block[!p->transposed];
    report->tile_rows = tile[p->transposed];
    report->tile_cols = tile[!p->transposed];
    report->tile_depth = depth;
}

void hri_report_plan(const hri_gemm_call *c, hr_gemm_report *report)
{
    const hri_product *p = &c->product;
    *report = (hr_gemm_report){.size = report->size,
                               .share_capacity = report->share_capacity,
                               .shares = report->shares,
                               .ratio = 1.0};
    if (c->plan == NULL) {
        return;
    }
    const hri_plan *plan = c->plan;
    report->seconds = plan->flow.seconds;
    report->flops = hri_flops_of(p);
    report->bound = plan->link_bound ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
    report->compulsory = plan->compulsory;
    report->host_to_device = plan->up;
    report->device_to_host = plan->down;
    report->peer = plan->peer;
    report->ratio = ratio_of(report);
    const int64_t tile[] = {hri_plan_row(plan, 1), hri_plan_col(plan, 1)};
    const int64_t block[] = {hri_plan_row(plan, plan->blocking.rows),
                             hri_plan_col(plan, plan->blocking.cols)};
    hri_report_sizes(p, block, tile, hri_cut_depth_max(&plan->blocking, p->k),
                     report);
    for (uint32_t i = 0; i < plan->flow.share_count; i++) {
        report_share(c, &plan->flow.shares[i], report);
    }
}

/* ---- what was done */

/* Correct the rate of an accelerator in place after a run that had the device
 * to itself. A rate measured while others were busy would stay too low. */
static void learn_rate(const hri_gemm_call *c, uint32_t index,
                       const hri_run_report *done)
{
    hri_accelerator *a = c->accelerators[index];
    if (a->in_place &&
        hri_accelerators_sharing(c->accelerators, c->count, a) == 1) {
        hri_accelerator_learn_rate(a, hri_kind_of(&c->product), done->flops,
                                   done->seconds_busy);
    }
}

/* Whether the plan has a share for an accelerator. */
static bool is_planned(const hri_gemm_call *c, uint32_t index)
{
    for (uint32_t i = 0; i < c->plan->flow.share_count; i++) {
        if (c->plan->flow.shares[i].accelerator == index) {
            return true;
        }
    }
    return false;
}

/* Replace what was planned for an accelerator by what it did. */
static void report_done(const hri_gemm_call *c, uint32_t index, uint32_t entry,
                        hr_gemm_report *report)
{
    const hri_run_report *s = hri_call_report(c, index);
    report->host_to_device += s->up;
    report->device_to_host += s->down;
    report->peer += s->peer;
    report->stolen += s->stolen;
    if (report->shares != NULL && entry < report->share_capacity) {
        hr_gemm_share *out = &report->shares[entry];
        out->seconds_busy = s->seconds_busy;
        out->flops = s->flops;
        out->tiles = s->tiles;
        out->tiles_stolen = s->tiles_stolen;
        out->host_to_device = s->up;
        out->device_to_host = s->down;
        out->peer = s->peer;
    }
}

uint64_t hri_compulsory_of(const hri_gemm_call *c, uint64_t moved)
{
    return moved < c->plan->compulsory ? moved : c->plan->compulsory;
}

void hri_report_run(const hri_gemm_call *c, double seconds,
                    hr_gemm_report *report)
{
    double compute = 0.0, link = 0.0;
    uint32_t next = 0;
    report->seconds = seconds;
    report->recomputed = c->recomputed;
    report->host_to_device = report->device_to_host = report->peer = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const hri_run_report *s = hri_call_report(c, i);
        const hri_plan_accelerator *f = &c->inputs[i];
        report->lost += s->lost;
        report->late += s->late;
        compute = fmax(compute, s->seconds_busy);
        link = fmax(link, hri_cost_bytes((double)s->up, f->up.rate));
        link = fmax(link, hri_cost_bytes((double)s->down, f->down.rate));
        if (is_planned(c, i)) {
            learn_rate(c, i, s);
            report_done(c, i, next++, report);
        }
    }
    /* those that only took over tiles of a lost one */
    for (uint32_t i = 0; i < c->count; i++) {
        if (!is_planned(c, i) && hri_call_report(c, i)->tiles > 0) {
            const hri_accelerator *a = c->accelerators[i];
            const hr_gemm_share entry = {
                .accelerator = (uint32_t)(a - c->context->accelerators),
                .memory_limit = a->in_place ? 0 : c->inputs[i].memory};
            hri_report_add(report, &entry);
            report_done(c, i, next++, report);
        }
    }
    report->compulsory =
        hri_compulsory_of(c, report->host_to_device + report->device_to_host);
    report->ratio = ratio_of(report);
    report->bound = link > compute ? HR_BOUND_LINK : HR_BOUND_COMPUTE;
}

void hri_report_trace(const hri_gemm_call *c, const hr_gemm_report *r,
                      const char *name)
{
    if (c->context->trace == NULL) {
        return;
    }
    char more[512];
    const hri_product *p = &c->product;
    const int length = hri_format(
        more, sizeof more, ",\"type\":\"%s\",\"m\":%lld,\"n\":%lld,\"k\":%lld",
        hr_type_name(p->a.type), (long long)p->m, (long long)p->n,
        (long long)p->k);
    if (r->flops > 0 && length > 0) {
        char predicted[64] = "";
        if (c->plan != NULL) {
            hri_format(predicted, sizeof predicted, ",\"predicted\":%.9f",
                       c->plan->flow.seconds);
        }
        hri_format(more + length, sizeof more - (size_t)length,
                   "%s,\"bound\":\"%s\",\"compulsory\":%llu,\"up\":%llu,"
                   "\"down\":%llu,\"peer\":%llu",
                   predicted, hr_bound_name(r->bound),
                   (unsigned long long)r->compulsory,
                   (unsigned long long)r->host_to_device,
                   (unsigned long long)r->device_to_host,
                   (unsigned long long)r->peer);
    }
    hri_trace_call(c->context->trace, name, c->start_ns, c->flops, more);
}

/* ---- text */

/* The caller's text, and what would stand in it if it had room. */
typedef struct writer {
    char *text;
    size_t size, length;
} writer;

static void __attribute__((format(printf, 2, 3)))
put(writer *w, const char *format, ...)
{
    const size_t room = w->length < w->size ? w->size - w->length : 0;
    va_list arguments;
    va_start(arguments, format);
    const int length = hri_format_list(room > 0 ? w->text + w->length : NULL,
                                       room, format, arguments);
    va_end(arguments);
    w->length += length > 0 ? (size_t)length : 0;
}

/* ---- figures in words */

static void put_figures(writer *w, const hr_gemm_report *r)
{
    put(w, "%-11s %s\n", "time", hri_seconds_text(r->seconds).text);
    if (r->flops > 0.0) {
        const double rate = r->seconds > 0.0 ? r->flops / r->seconds : 0.0;
        put(w, "%-11s %s, bound by %s\n", "rate", hri_rate_text(rate).text,
            hr_bound_name(r->bound));
    } else {
        put(w, "%-11s none: nothing to multiply\n", "rate");
    }
    put(w, "%-11s up %s, down %s; compulsory %s, ratio %.3f\n", "host links",
        hri_bytes_text(r->host_to_device).text,
        hri_bytes_text(r->device_to_host).text,
        hri_bytes_text(r->compulsory).text, r->ratio);
    put(w, "%-11s %s\n", "peer links", hri_bytes_text(r->peer).text);
    put(w, "%-11s %s for staging\n", "pinned",
        hri_bytes_text(r->pinned_bytes).text);
    put(w,
        "%-11s %lldx%lld of C at one time, in tiles of %lldx%lld, %lld deep\n",
        "blocks", (long long)r->block_rows, (long long)r->block_cols,
        (long long)r->tile_rows, (long long)r->tile_cols,
        (long long)r->tile_depth);
}

/* ---- the table */

static const char *const heads[] = {"accelerator", "busy",   "rate",
                                    "tiles",       "stolen", "up",
                                    "down",        "peer",   "memory"};
enum {
    PATH, /* begins at its left edge; others end at their right one */
    BUSY,
    RATE,
    TILES,
    STOLEN,
    UP,
    DOWN,
    PEER,
    MEMORY,
    COLUMNS,
    GAP = 2,
    CELL_BYTES = 64 /* a row has at most 100 characters, as most terminals */
};

typedef struct cell {
    char text[CELL_BYTES];
} cell;

static void name_accelerator(const hr_context *context, uint32_t index, cell *c)
{
    if (context != NULL && index < context->accelerator_count) {
        hri_format(c->text, CELL_BYTES, "%s",
                   context->accelerators[index].path);
    } else {
        hri_format(c->text, CELL_BYTES, "#%u", index);
    }
}

static cell cell_of(const hr_context *context, const hr_gemm_share *s,
                    int column)
{
    cell c = {""};
    const double rate = s->seconds_busy > 0.0 ? s->flops / s->seconds_busy : 0;
    const uint64_t bytes = column == UP     ? s->host_to_device
                           : column == DOWN ? s->device_to_host
                                            : s->peer;
    switch (column) {
    case PATH:
        name_accelerator(context, s->accelerator, &c);
        break;
    case BUSY:
        hri_format(c.text, CELL_BYTES, "%s",
                   hri_seconds_text(s->seconds_busy).text);
        break;
    case RATE:
        hri_format(c.text, CELL_BYTES, "%s", hri_rate_text(rate).text);
        break;
    case TILES:
    case STOLEN:
        hri_format(
            c.text, CELL_BYTES, "%llu",
            (unsigned long long)(column == TILES ? s->tiles : s->tiles_stolen));
        break;
    case MEMORY:
        hri_format(c.text, CELL_BYTES, "%s%s%s",
                   s->memory_limit == 0 ? "in place"
                                        : hri_bytes_text(s->memory_bytes).text,
                   s->memory_limit == 0 ? "" : "/",
                   s->memory_limit == 0 ? ""
                                        : hri_bytes_text(s->memory_limit).text);
        break;
    default:
        hri_format(c.text, CELL_BYTES, "%s", hri_bytes_text(bytes).text);
    }
    return c;
}

static void put_cell(writer *w, int column, int width, const char *text)
{
    const int pad = width - hri_printable_width(text);
    const bool left = column == PATH, last = column + 1 == COLUMNS;
    put(w, "%*s%s", left ? 0 : pad, "", text);
    put(w, "%*s%s", last ? 0 : GAP + (left ? pad : 0), "", last ? "\n" : "");
}

static void put_table(writer *w, const hr_context *context,
                      const hr_gemm_share *shares, uint32_t count)
{
    int widths[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        widths[column] = hri_printable_width(heads[column]);
        for (uint32_t i = 0; i < count; i++) {
            const cell c = cell_of(context, &shares[i], column);
            const int width = hri_printable_width(c.text);
            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    for (int column = 0; column < COLUMNS; column++) {
        put_cell(w, column, widths[column], heads[column]);
    }
    for (uint32_t i = 0; i < count; i++) {
        for (int column = 0; column < COLUMNS; column++) {
            const cell c = cell_of(context, &shares[i], column);
            put_cell(w, column, widths[column], c.text);
        }
    }
}

size_t hr_gemm_report_text(const hr_context *context,
                           const hr_gemm_report *report, char *text,
                           size_t size)
{
    HRI_USUAL_ARITHMETIC;
    writer w = {.text = text, .size = size};
    hr_gemm_report r = HR_GEMM_REPORT_INIT;
    put(&w, "%s", "");
    if (report == NULL) {
        (void)hri_fail(HR_ERROR_INVALID, "gemm: the report is NULL");
    }
    if (report == NULL || hri_report_read(report, &r) != HR_OK) {
        return 0;
    }
    const uint32_t count = (uint32_t)hri_min(r.share_count, r.share_capacity);
    put_figures(&w, &r);
    if (r.shares != NULL && count > 0) {
        put(&w, "\n");
        put_table(&w, context, r.shares, count);
    }
    if (r.lost > 0) {
        put(&w,
            "\nlost accelerators: %llu failed, %llu late; tiles that others "
            "computed for them: %llu\n",
            (unsigned long long)(r.lost - r.late), (unsigned long long)r.late,
            (unsigned long long)r.recomputed);
    }
    return w.length;
}
