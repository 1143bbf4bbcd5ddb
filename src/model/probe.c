/* SPDX-License-Identifier: MIT */
#include "model/probe.h"

#include "base/clock.h"

void hri_probe_close(hri_probe *b)
{
    if (b->queue != NULL) {
        b->queue->ops->destroy(b->queue);
    }
    if (b->start != NULL) {
        b->start->ops->destroy(b->start);
    }
    if (b->end != NULL) {
        b->end->ops->destroy(b->end);
    }
    hri_accelerator_trim(b->accelerator);
}

hr_status hri_probe_open(hri_accelerator *accelerator, hri_probe *b)
{
    hri_device *device = accelerator->device;
    *b = (hri_probe){.accelerator = accelerator};
    /* what kept queues hold for multiplying is not counted twice */
    hri_accelerator_forget(accelerator);
    hr_status status = device->ops->create_queue(device, false, &b->queue);
    if (status == HR_OK) {
        status = device->ops->create_event(device, &b->start);
    }
    if (status == HR_OK) {
        status = device->ops->create_event(device, &b->end);
    }
    if (status != HR_OK) {
        hri_probe_close(b);
    }
    return status;
}

/* Seconds from start to end on the device's clock; on ours, from wall_ns on,
 * when the device's has not moved. */
static hr_status read_clock(const hri_probe *b, uint64_t wall_ns,
                            double *seconds)
{
    uint64_t ns = 0;
    hr_status status = b->end->ops->wait(b->end);
    uint64_t wall = hri_clock_ns() - wall_ns;
    if (status == HR_OK) {
        status = b->start->ops->elapsed(b->start, b->end, &ns);
    }
    if (status == HR_OK) {
        ns = ns > 0 ? ns : wall;
        *seconds = (double)(ns > 0 ? ns : 1) * 1e-9;
    }
    return status;
}

/* The time of one gemm or one copy: the other is NULL. */
static hr_status time_job(const hri_probe *b, const hri_gemm *gemm,
                          const hri_copy *copy, double *seconds)
{
    const hri_queue_ops *ops = b->queue->ops;
    hr_status status = ops->record(b->queue, b->start);
    uint64_t wall_ns = hri_clock_ns();
    if (status == HR_OK) {
        status = gemm != NULL ? ops->gemm(b->queue, gemm)
                              : ops->copy(b->queue, copy);
    }
    if (status == HR_OK) {
        status = ops->record(b->queue, b->end);
    }
    return status == HR_OK ? read_clock(b, wall_ns, seconds) : status;
}

hr_status hri_probe_time(const hri_probe *b, const hri_gemm *gemm,
                         const hri_copy *copy, double *seconds)
{
    enum { LEAST_TRIES = 3, MOST_TRIES = 10 };
    const double enough = 10e-3; /* short jobs are tried more often */
    double best = 0.0, sum = 0.0;
    for (int i = 0; i < MOST_TRIES && (i < LEAST_TRIES || sum < enough); i++) {
        double time;
        hr_status status = time_job(b, gemm, copy, &time);
        if (status != HR_OK) {
            return status;
        }
        best = i == 0 || time < best ? time : best;
        sum += time;
    }
    *seconds = best;
    return HR_OK;
}
