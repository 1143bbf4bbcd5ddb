/* SPDX-License-Identifier: MIT */
#include "filter/piece.h"

#include <headrace/view.h>

hr_status hri_filter_lane_open(hri_filter_lane *lane)
{
    hr_context *context = lane->job->context;
    const uint32_t index =
        (uint32_t)(lane->share->accelerator - context->accelerators);
    hr_status status = HR_OK;
    for (int i = 0; i < 2 && status == HR_OK; i++) {
        status = hr_queue_create(context, index, &lane->queues[i]);
    }
    hri_error_keep(&lane->error, status);
    return status;
}

static hr_status begin(hri_filter_lane *lane, hri_filter_piece *piece,
                       hr_queue *queue)
{
    const int64_t last = hri_share_piece(lane->job, lane->share, lane->next);
    hr_status status = hri_filter_piece_finish(piece);
    if (status == HR_OK) {
        status = hri_filter_piece_init(
            piece, lane->job, lane->share->accelerator, lane->next, last);
    }
    if (status == HR_OK) {
        status = hri_filter_piece_launch(piece, lane->job, lane->tables, queue);
    }
    if (status == HR_OK && piece->own[1] != NULL) {
        /* it goes home as soon as it is there */
        status = hr_synchronize_async(piece->out, NULL);
    }
    lane->next = last;
    return status;
}

bool hri_filter_lane_step(hri_filter_lane *lane)
{
    if (lane->next >= lane->share->last || lane->error.status != HR_OK) {
        return false;
    }
    const int turn = (int)(lane->count % 2);
    lane->count++;
    hri_error_keep(&lane->error,
                   begin(lane, &lane->pieces[turn], lane->queues[turn]));
    return true;
}

void hri_filter_lane_close(hri_filter_lane *lane)
{
    for (uint64_t i = 0; i < 2; i++) { /* the older one first */
        hri_error_keep(&lane->error, hri_filter_piece_finish(
                                         &lane->pieces[(lane->count + i) % 2]));
    }
    for (int i = 0; i < 2; i++) {
        hr_queue_destroy(lane->queues[i]);
    }
}
