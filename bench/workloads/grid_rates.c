/* SPDX-License-Identifier: MIT */
/* How fast accelerators copy within their memory, and to each other. */
#include <stdlib.h>

#include "base/status.h"
#include "bench/workloads/grid.h"
#include "console/context.h"
#include "console/output.h"
#include "console/random.h"
#include "console/text.h"

enum {
    ROUNDS = 3,         /* the best one counts */
    MAX_IN_A_ROW = 500, /* copies of a round */
    GPU_COPY = 1 << 28, /* bytes of a copy */
    HOST_COPY = 1 << 26
};

/* Each round takes at least so long, so that its start and end do not count. */
static const double round_seconds = 0.02;

/* From one accelerator to another, or within one. The array that is copied has
 * values, or nothing would be copied. */
typedef struct link {
    uint32_t ends[2]; /* accelerators */
    hr_queue *queues[2];
    hr_array *from, *to;
} link;

/* Copy over all links at the same time, `times` times. */
static hr_status copy_all(const link *links, uint32_t count, int64_t times,
                          double *seconds)
{
    const double begin = cli_clock();
    for (int64_t n = 0; n < times; n++) {
        for (uint32_t i = 0; i < count; i++) {
            HRI_TRY(hr_copy_async(hr_view_of(links[i].from),
                                  hr_view_of(links[i].to), NULL));
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        HRI_TRY(hr_synchronize(hr_view_of(links[i].to)));
    }
    *seconds = cli_clock() - begin;
    return HR_OK;
}

static int64_t copies_in(double seconds)
{
    const double times = 1.0 + round_seconds / seconds;
    return times < MAX_IN_A_ROW ? (int64_t)times : MAX_IN_A_ROW;
}

/* The best time of a copy over all links. First runs tell how many copies are
 * enough: the first copy is slow, the second is not. */
static hr_status time_copies(const link *links, uint32_t count, double *best)
{
    double seconds = 0.0, once = 0.0;
    HRI_TRY(copy_all(links, count, 1, &seconds));
    HRI_TRY(copy_all(links, count, 1, &seconds));
    const int64_t times = copies_in(seconds);
    for (int n = 0; n < ROUNDS; n++) {
        HRI_TRY(copy_all(links, count, times, &seconds));
        bench_note(n + 1, seconds / (double)times, &once, best);
    }
    return HR_OK;
}

static hr_status open_links(hr_context *context, link *links, uint32_t count,
                            hr_array *values)
{
    const hr_extent extent = hr_array_extent(values);
    for (link *l = links; l < links + count; l++) {
        HRI_TRY(hr_queue_create(context, l->ends[0], &l->queues[0]));
        HRI_TRY(hr_queue_create(context, l->ends[1], &l->queues[1]));
        HRI_TRY(hr_array_create(l->queues[0], 1, extent, &l->from));
        HRI_TRY(hr_array_create(l->queues[1], 1, extent, &l->to));
        HRI_TRY(hr_copy(hr_view_of(values), hr_view_of(l->from)));
    }
    return HR_OK;
}

/* Measure copies of `bytes` bytes over links with known ends. Frees the
 * links. */
static int measure_links(hr_context *context, link *links, uint32_t count,
                         uint64_t bytes, double *best)
{
    const int64_t floats = (int64_t)(bytes / sizeof(float)) + 1;
    float *data = calloc((size_t)floats, sizeof(float));
    hr_array *values = NULL;
    if (data == NULL) {
        free(links);
        return cli_fail("out of memory");
    }
    const bool good =
        cli_random_fill(hr_matrix_row_major(data, HR_F32, 1, floats, 0), 3,
                        NULL) &&
        hr_array_wrap(context, data, 1, hr_extent1((int64_t)bytes), 0,
                      &values) == HR_OK &&
        open_links(context, links, count, values) == HR_OK &&
        time_copies(links, count, best) == HR_OK;
    const int status = good ? CLI_OK : cli_failed_call();
    for (uint32_t i = 0; i < count; i++) {
        hr_array_destroy(links[i].from);
        hr_array_destroy(links[i].to);
        hr_queue_destroy(links[i].queues[0]);
        hr_queue_destroy(links[i].queues[1]);
    }
    free(links);
    hr_array_destroy(values);
    free(data);
    return status;
}

int bench_copy_rate(hr_context *context, bool gpus, double *rate)
{
    uint64_t bytes = gpus ? GPU_COPY : HOST_COPY;
    const uint32_t count = hr_accelerator_count(context);
    link *links = calloc(count, sizeof *links);
    double seconds = 0.0;
    if (links == NULL) {
        return cli_fail("out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        links[i].ends[0] = links[i].ends[1] = i;
        if (hr_accelerator_describe(context, i, &info) == HR_OK &&
            !info.in_place && info.memory_limit / 4 < bytes) {
            bytes = info.memory_limit / 4;
        }
    }
    const int status = measure_links(context, links, count, bytes, &seconds);
    *rate = seconds > 0.0 ? 2.0 * (double)bytes * count / seconds : 0.0;
    return status;
}

int bench_grid_exchange(hr_context *context, const hr_band *bands,
                        uint32_t count, uint64_t bytes, double *seconds)
{
    link *links = calloc(2 * (size_t)count, sizeof *links);
    if (links == NULL) {
        return cli_fail("out of memory");
    }
    for (uint32_t b = 0; b + 1 < count; b++) {
        link *down = &links[2 * b], *up = down + 1;
        down->ends[0] = up->ends[1] = bands[b].accelerator;
        down->ends[1] = up->ends[0] = bands[b + 1].accelerator;
    }
    return measure_links(context, links, 2 * (count - 1), bytes, seconds);
}
