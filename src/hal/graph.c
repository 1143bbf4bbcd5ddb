/* SPDX-License-Identifier: MIT */
/* Slots of backends without graphs. */
#include "hal/hal.h"

static hr_status decline(const hri_queue *queue)
{
    return hri_fail(HR_ERROR_UNSUPPORTED, "%s: graphs are not offered",
                    queue->device->info.path);
}

hr_status hri_no_begin_graph(hri_queue *queue)
{
    return decline(queue);
}

hr_status hri_no_end_graph(hri_queue *queue, hri_graph **graph)
{
    (void)graph;
    return decline(queue);
}

hr_status hri_no_run_graph(hri_queue *queue, hri_graph *graph)
{
    (void)graph;
    return decline(queue);
}

void hri_no_destroy_graph(hri_graph *graph)
{
    (void)graph;
}
