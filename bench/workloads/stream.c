/* SPDX-License-Identifier: MIT */
/* headrace bench stream: a kernel over views that may be larger than the memory
 * of the accelerators, beside what their links carry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    const uint32_t all = hr_accelerator_count(s->context);
    const uint64_t most = (uint64_t)64 << 20;
    uint64_t bytes = (uint64_t)s->count * sizeof(float);
    hr_status status = HR_OK;
    s->side_count = 0;
    for (uint32_t i = 0; i < all && status == HR_OK; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        status = hr_accelerator_describe(s->context, i, &info);
        s->in_place[i] = info.in_place;
        if (status == HR_OK && !info.in_place) {
            index[s->side_count++] = i;
            bytes =
                bytes < info.memory_limit / 4 ? bytes : info.memory_limit / 4;
        }
    }
    bytes = bytes < most ? bytes : most;
    bytes /= s->side_count > 0 ? s->side_count : 1;
    s->link_bytes = bytes > 0 ? bytes : 1;
    return status;
}

static hr_status open_side(streaming *s, uint32_t i, uint32_t index)
{
    side *x = &s->sides[i];
    const hr_extent extent = hr_extent1((int64_t)s->link_bytes);
    char *from = (char *)s->memory[A] + i * s->link_bytes;
    char *to = (char *)s->memory[C] + i * s->link_bytes;
    hr_status status = hr_queue_create(s->context, index, &x->queue);
    if (status == HR_OK) {
        status = hr_array_create(x->queue, 1, extent, &x->there);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(s->context, from, 1, extent, 0, &x->from);
    }
    if (status == HR_OK) {
        status = hr_array_wrap(s->context, to, 1, extent, 0, &x->to);
    }
    return status;
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
static hr_status copy_once(streaming *s, bool up)
{
    hr_status status = HR_OK;
    for (uint32_t i = 0; i < s->side_count && status == HR_OK; i++) {
        side *x = &s->sides[i];
        const hr_view there = hr_view_of(x->there);
        status = up ? hr_copy_async(hr_view_of(x->from), there, &x->event)
                    : hr_copy_async(there, hr_view_of(x->to), &x->event);
    }
    for (uint32_t i = 0; i < s->side_count; i++) {
        side *x = &s->sides[i];
        if (x->event != NULL && status == HR_OK) {
            status = hr_event_wait(x->event);
        }
        hr_event_destroy(x->event);
        x->event = NULL;
    }
    return status;
}

static hr_status measure_way(streaming *s, bool up, double *rate)
{
    double first = 0, best = 0;
    hr_status status = HR_OK;
    for (int i = 0; i <= TIMES && status == HR_OK; i++) {
        const double start = cli_clock();
        status = copy_once(s, up);
        bench_note(i, cli_clock() - start, &first, &best);
    }
    *rate = (double)s->link_bytes * (double)s->side_count / best;
    return status;
}

static hr_status measure_links(streaming *s)
{
    uint32_t index[MAX_ACCELERATORS];
    hr_status status = find_sides(s, index);
    for (uint32_t i = 0; i < s->side_count && status == HR_OK; i++) {
        status = open_side(s, i, index[i]);
    }
    if (status == HR_OK && s->side_count > 0) {
        status = measure_way(s, true, &s->up);
    }
    if (status == HR_OK && s->side_count > 0) {
        status = measure_way(s, false, &s->down);
    }
    close_sides(s);
    return status;
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

static bool fill(streaming *s)
{
    const size_t bytes = (size_t)s->count * sizeof(float);
    for (int i = 0; i < VIEWS; i++) {
        s->memory[i] = bench_allocate(s->pinned ? s->context : NULL, bytes);
        if (s->memory[i] == NULL) {
            return false;
        }
    }
    for (int64_t i = 0; i < s->count; i++) {
        s->memory[A][i] = (float)(i % 1000);
        s->memory[B][i] = (float)(i % 77);
        s->memory[C][i] = -1;
    }
    return true;
}

static bool is_right(const streaming *s)
{
    bool right = true;
    for (int64_t i = 0; i < s->count && right; i++) {
        right = s->memory[C][i] == (float)(i % 1000 + i % 77);
    }
    return right;
}

/* The same rows for every accelerator: the links of all are busy. */
static hr_status run_once(streaming *s)
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
    hr_status status =
        hr_run(s->context, &bench_add, hr_extent1(s->count),
               HR_ARGUMENTS(hr_near(hr_in(s->memory[A], s->count), 0, 0),
                            hr_near(hr_in(s->memory[B], s->count), 0, 0),
                            hr_out(s->memory[C], s->count)),
               &options);
    s->rows = 0;
    for (uint32_t i = 0; i < report.share_count && status == HR_OK; i++) {
        s->rows += s->in_place[bands[i].accelerator] ? 0 : bands[i].count;
    }
    return status;
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

static int measure_runs(streaming *s)
{
    double *seconds = calloc((size_t)s->bench->o.repeat, sizeof *seconds);
    hr_traffic before = {0};
    hr_status status = HR_OK;
    if (seconds == NULL) {
        return cli_fail("out of memory");
    }
    for (int64_t i = 0; i <= s->bench->o.repeat && status == HR_OK; i++) {
        before = hr_context_traffic(s->context);
        const double start = cli_clock();
        status = run_once(s);
        *(i == 0 ? &s->first : &seconds[i - 1]) = cli_clock() - start;
    }
    if (status == HR_OK) {
        const hr_traffic after = hr_context_traffic(s->context);
        bench_sum_up(seconds, s->bench->o.repeat, &s->best, &s->half);
        add_row(s,
                (double)(after.up - before.up + after.down - before.down +
                         after.peer - before.peer),
                ask_by_hand(s));
    }
    free(seconds);
    if (status != HR_OK) {
        return cli_failed_call();
    }
    return is_right(s) ? CLI_OK : cli_fail("%s: wrong sums", s->setting->name);
}

static int measure_memory(streaming *s)
{
    int status = CLI_OK;
    s->up = s->down = NAN;
    if (!fill(s)) {
        status = cli_fail("no memory for %d views of %lld elements", VIEWS,
                          (long long)s->count);
    }
    if (status == CLI_OK && measure_links(s) != HR_OK) {
        status = cli_failed_call();
    }
    if (status == CLI_OK) {
        status = measure_runs(s);
    }
    for (int i = 0; i < VIEWS; i++) {
        bench_release(s->pinned ? s->context : NULL, s->memory[i]);
        s->memory[i] = NULL;
    }
    return status;
}

static int measure_list(streaming *s)
{
    const bench_memories *memories = &s->bench->o.memories;
    int status = s->setting->count <= MAX_ACCELERATORS
                     ? bench_context(s->setting, &s->context)
                     : cli_fail("more than %d accelerators", MAX_ACCELERATORS);
    for (int i = 0; i < memories->count && status == CLI_OK; i++) {
        s->pinned = memories->pinned[i];
        status = measure_memory(s);
    }
    hr_context_destroy(s->context);
    s->context = NULL;
    return status;
}

int bench_stream(benchmark *bench)
{
    streaming *s = calloc(1, sizeof *s);
    int status = CLI_OK;
    if (s == NULL) {
        return cli_fail("out of memory");
    }
    s->bench = bench;
    s->count = bench->o.elements > 0 ? bench->o.elements : 50000000;
    for (int i = 0; i < bench->setting_count && status == CLI_OK; i++) {
        s->setting = &bench->settings[i];
        status = measure_list(s);
    }
    free(s);
    return status == CLI_OK && !bench->o.json ? bench_rows_print(&bench->rows)
                                              : status;
}
