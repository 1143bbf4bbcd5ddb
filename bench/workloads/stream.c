/* SPDX-License-Identifier: MIT */
/* headrace bench stream: a kernel over views that may be larger than the memory
 * of the accelerators, beside what their links carry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"
#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "console/context.h"
#include "console/output.h"

extern const hr_kernel bench_add; /* C := A + B */

enum { A, B, C, VIEWS, MAX_ACCELERATORS = 64, TIMES = 5 };

/* An accelerator with memory of its own, and arrays to copy between. */
typedef struct side {
    hr_queue *queue;
    hr_array *from, *there, *to;
    hr_event *event;
} side;

typedef struct streaming {
    benchmark *bench;
    const bench_setting *setting;
    hr_context *context;
    bool pinned;
    int64_t count; /* elements of each view */
    float *memory[VIEWS];
    side sides[MAX_ACCELERATORS];
    uint32_t side_count;
    uint64_t link_bytes; /* of each side's arrays */
    double up, down;     /* bytes/s of all links at once */
    bool in_place[MAX_ACCELERATORS];
    int64_t rows;             /* of accelerators that are not in place */
    double first, best, half; /* seconds: of the first run, and of others */
} streaming;

/* ---- links */

/* Choose the sides, and arrays that fit into a part of their memory. */
static hr_status find_sides(streaming *s, uint32_t *index)
{
    const uint64_t most = (uint64_t)64 << 20;
    uint64_t bytes = (uint64_t)s->count * sizeof(float);
    bytes = bytes < most ? bytes : most;
    s->side_count = 0;
    for (uint32_t i = 0; i < hr_accelerator_count(s->context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        HRI_TRY(hr_accelerator_describe(s->context, i, &info));
        s->in_place[i] = info.in_place;
        if (!info.in_place) {
            index[s->side_count++] = i;
            const uint64_t fits = info.memory_limit / 4;
            bytes = bytes < fits ? bytes : fits;
        }
    }
    bytes /= s->side_count > 0 ? s->side_count : 1;
    s->link_bytes = bytes > 0 ? bytes : 1;
    return HR_OK;
}

static hr_status open_side(streaming *s, uint32_t i, uint32_t index)
{
    side *x = &s->sides[i];
    const hr_extent extent = hr_extent1((int64_t)s->link_bytes);
    char *from = (char *)s->memory[A] + i * s->link_bytes;
    char *to = (char *)s->memory[C] + i * s->link_bytes;
    HRI_TRY(hr_array_wrap(s->context, from, 1, extent, 0, &x->from));
    HRI_TRY(hr_queue_create(s->context, index, &x->queue));
    HRI_TRY(hr_array_create(x->queue, 1, extent, &x->there));
    return hr_array_wrap(s->context, to, 1, extent, 0, &x->to);
}

static void close_sides(streaming *s)
{
    for (uint32_t i = 0; i < s->side_count; i++) {
        side *x = &s->sides[i];
        hr_array_destroy(x->from);
        hr_array_destroy(x->to);
        hr_array_destroy(x->there);
        hr_queue_destroy(x->queue);
        *x = (side){0};
    }
}

/* Copy on all links at once. */
static hr_status copy_and_wait(streaming *s, bool up)
{
    for (uint32_t i = 0; i < s->side_count; i++) {
        side *x = &s->sides[i];
        const hr_view there = hr_view_of(x->there);
        HRI_TRY(up ? hr_copy_async(hr_view_of(x->from), there, &x->event)
                   : hr_copy_async(there, hr_view_of(x->to), &x->event));
    }
    for (uint32_t i = 0; i < s->side_count; i++) {
        HRI_TRY(hr_event_wait(s->sides[i].event));
    }
    return HR_OK;
}

static hr_status measure_way(streaming *s, bool up, double *rate)
{
    double first = 0, best = 0;
    for (int i = 0; i <= TIMES; i++) {
        const double start = cli_clock();
        const hr_status status = copy_and_wait(s, up);
        for (uint32_t k = 0; k < s->side_count; k++) {
            hr_event_destroy(s->sides[k].event);
            s->sides[k].event = NULL;
        }
        HRI_TRY(status);
        bench_note(i, cli_clock() - start, &first, &best);
    }
    *rate = (double)s->link_bytes * (double)s->side_count / best;
    return HR_OK;
}

static hr_status measure_links(streaming *s)
{
    uint32_t index[MAX_ACCELERATORS];
    HRI_TRY(find_sides(s, index));
    if (s->side_count == 0) {
        return HR_OK;
    }
    for (uint32_t i = 0; i < s->side_count; i++) {
        HRI_TRY(open_side(s, i, index[i]));
    }
    HRI_TRY(measure_way(s, true, &s->up));
    return measure_way(s, false, &s->down);
}

/* ---- by hand */

/* Seconds of headrace-bench-staged for what one GPU moves. NAN: they are not
 * known. */
static double ask_by_hand(const streaming *s)
{
    char line[200] = "";
    double seconds = NAN;
    FILE *out = NULL;
    const long long view = (long long)s->rows * (long long)sizeof(float);
    snprintf(line, sizeof line, "%lld %lld %lld", (VIEWS - 1) * view, view,
             (long long)s->bench->o.repeat);
    if (s->setting->gpus[0] != '\0' && s->side_count == 1 && !s->pinned) {
        out = bench_beside("staged", line);
    }
    if (out != NULL) {
        seconds = fscanf(out, "%lf", &seconds) == 1 ? seconds : NAN;
        (void)pclose(out);
    }
    return seconds;
}

/* ---- the kernel */

static int fill_views(streaming *s)
{
    const size_t bytes = (size_t)s->count * sizeof(float);
    for (int i = 0; i < VIEWS; i++) {
        s->memory[i] = bench_allocate(s->pinned ? s->context : NULL, bytes);
        if (s->memory[i] == NULL) {
            return cli_fail("no memory for %d views of %lld elements", VIEWS,
                            (long long)s->count);
        }
    }
    for (int64_t i = 0; i < s->count; i++) {
        s->memory[A][i] = (float)(i % 1000);
        s->memory[B][i] = (float)(i % 77);
        s->memory[C][i] = -1;
    }
    return CLI_OK;
}

static bool is_right(const streaming *s)
{
    for (int64_t i = 0; i < s->count; i++) {
        if (s->memory[C][i] != (float)(i % 1000 + i % 77)) {
            return false;
        }
    }
    return true;
}

/* The same rows for every accelerator: the links of all are busy. */
static hr_status run_kernel(streaming *s)
{
    double weights[MAX_ACCELERATORS];
    hr_band bands[MAX_ACCELERATORS];
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    report.shares = bands;
    report.share_capacity = MAX_ACCELERATORS;
    options.report = &report;
    for (int i = 0; i < MAX_ACCELERATORS; i++) {
        weights[i] = 1;
    }
    options.weights = weights;
    HRI_TRY(hr_run(s->context, &bench_add, hr_extent1(s->count),
                   HR_ARGUMENTS(hr_near(hr_in(s->memory[A], s->count), 0, 0),
                                hr_near(hr_in(s->memory[B], s->count), 0, 0),
                                hr_out(s->memory[C], s->count)),
                   &options));
    s->rows = 0;
    for (uint32_t i = 0; i < report.share_count; i++) {
        s->rows += s->in_place[bands[i].accelerator] ? 0 : bands[i].count;
    }
    return HR_OK;
}

static void add_row(streaming *s, double moved, double by_hand)
{
    bench_rows *rows = &s->bench->rows;
    const double view = (double)s->count * sizeof(float);
    const double must = VIEWS * (double)s->rows * sizeof(float);
    const double limit = fmax(must * 2 / VIEWS / s->up, must / VIEWS / s->down);
    bench_row_begin(rows, "stream");
    bench_list(rows, s->setting);
    bench_cell(rows, "list", 'l', s->setting->name);
    bench_text(rows, "memory", "memory", s->pinned ? "pinned" : "ordinary");
    bench_value(rows, "bytes", "views", BENCH_BYTES, VIEWS * view);
    bench_value(rows, "first_seconds", "first", BENCH_SECONDS, s->first);
    bench_value(rows, "min_seconds", "best", BENCH_SECONDS, s->best);
    bench_value(rows, "median_seconds", "median", BENCH_SECONDS, s->half);
    bench_value(rows, "moved_bytes", NULL, BENCH_BYTES, moved);
    bench_value(rows, "bytes_per_second", "moved", BENCH_LINK, moved / s->best);
    bench_value(rows, "over_compulsory", "over least", BENCH_RATIO_3,
                s->side_count > 0 ? moved / must : NAN);
    bench_value(rows, "up_bytes_per_second", "up", BENCH_LINK, s->up);
    bench_value(rows, "down_bytes_per_second", "down", BENCH_LINK, s->down);
    bench_value(rows, "of_limit", "of links", BENCH_PER_CENT, limit / s->best);
    bench_value(rows, "by_hand_seconds", "by hand", BENCH_SECONDS, by_hand);
    bench_value(rows, "over_by_hand", "its over ours", BENCH_RATIO,
                by_hand / s->best);
    bench_row_end(rows);
}

/* Seconds of all runs after the first, and the bytes that the last one moved.
 */
static hr_status time_runs(streaming *s, double *seconds, double *moved)
{
    for (int64_t i = 0; i <= s->bench->o.repeat; i++) {
        const hr_traffic before = hr_context_traffic(s->context);
        const double start = cli_clock();
        HRI_TRY(run_kernel(s));
        *(i == 0 ? &s->first : &seconds[i - 1]) = cli_clock() - start;
        const hr_traffic after = hr_context_traffic(s->context);
        *moved = (double)(after.up - before.up + after.down - before.down +
                          after.peer - before.peer);
    }
    return HR_OK;
}

static int measure_runs(streaming *s)
{
    double *seconds = calloc((size_t)s->bench->o.repeat, sizeof *seconds);
    double moved = 0;
    if (seconds == NULL) {
        return cli_fail("out of memory");
    }
    const hr_status status = time_runs(s, seconds, &moved);
    if (status == HR_OK) {
        bench_sum_up(seconds, s->bench->o.repeat, &s->best, &s->half);
        add_row(s, moved, ask_by_hand(s));
    }
    free(seconds);
    HRI_TRY(cli_called(status));
    return is_right(s) ? CLI_OK : cli_fail("%s: wrong sums", s->setting->name);
}

static int measure_memory(streaming *s)
{
    s->up = s->down = NAN;
    HRI_TRY(fill_views(s));
    const hr_status status = measure_links(s);
    close_sides(s);
    HRI_TRY(cli_called(status));
    return measure_runs(s);
}

static int measure_memories(streaming *s)
{
    const bench_memories *memories = &s->bench->o.memories;
    for (int i = 0; i < memories->count; i++) {
        s->pinned = memories->pinned[i];
        const int status = measure_memory(s);
        for (int v = 0; v < VIEWS; v++) {
            bench_release(s->pinned ? s->context : NULL, s->memory[v]);
            s->memory[v] = NULL;
        }
        HRI_TRY(status);
    }
    return CLI_OK;
}

static int measure_lists(streaming *s)
{
    for (int i = 0; i < s->bench->setting_count; i++) {
        s->setting = &s->bench->settings[i];
        if (s->setting->count > MAX_ACCELERATORS) {
            return cli_fail("more than %d accelerators", MAX_ACCELERATORS);
        }
        HRI_TRY(bench_context(s->setting, &s->context));
        const int status = measure_memories(s);
        hr_context_destroy(s->context);
        HRI_TRY(status);
    }
    return s->bench->o.json ? CLI_OK : bench_rows_print(&s->bench->rows);
}

int bench_stream(benchmark *bench)
{
    streaming *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return cli_fail("out of memory");
    }
    s->bench = bench;
    s->count = bench->o.elements > 0 ? bench->o.elements : 50000000;
    const int status = measure_lists(s);
    free(s);
    return status;
}
