/* SPDX-License-Identifier: MIT */
/* Reports of products as text: a line for each figure, and a table with a row
 * for each accelerator. It is worked out twice where the caller asks for its
 * length first, and needs no memory. */
#include <headrace/gemm.h>

#include "base/arithmetic.h"
#include "base/format.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/size.h"
#include "gemm/call.h"

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

/* ---- figures */

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
