/* SPDX-License-Identifier: MIT */
/* The drain: copies finished tiles home through pinned memory. */
#include "gemm/lane.h"

void hri_drain_put(hri_lane *lane, int32_t slot, int32_t row, int32_t col)
{
    hri_run_state *run = lane->run;
    pthread_mutex_lock(&run->lock);
    int64_t at = lane->drain_end++ % lane->part->slots[HRI_C];
    lane->drain_list[at].slot = slot;
    lane->drain_list[at].row = row;
    lane->drain_list[at].col = col;
    lane->tiles[slot].draining = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

/* The next tile to bring home; false when there will be none any more. */
static bool next_tile(hri_lane *lane, int32_t *slot, int32_t *row, int32_t *col)
{
    hri_run_state *run = lane->run;
    pthread_mutex_lock(&run->lock);
    while (run->error.status == HR_OK && !lane->drain_closed &&
           lane->drain_first == lane->drain_end) {
        pthread_cond_wait(&run->changed, &run->lock);
    }
    bool there =
        run->error.status == HR_OK && lane->drain_first < lane->drain_end;
    if (there) {
        int64_t at = lane->drain_first++ % lane->part->slots[HRI_C];
        *slot = lane->drain_list[at].slot;
        *row = lane->drain_list[at].row;
        *col = lane->drain_list[at].col;
    }
    pthread_mutex_unlock(&run->lock);
    return there;
}

void *hri_drain_main(void *argument)
{
    hri_lane *lane = argument;
    hri_run_state *run = lane->run;
    hr_status status = HR_OK;
    int32_t slot, row, col;
    while (status == HR_OK && next_tile(lane, &slot, &row, &col)) {
        hri_tile_slot *tile = &lane->tiles[slot];
        hri_copy copy = hri_tile_copy(run, row, col, tile->place, true);
        status = lane->down->ops->wait(lane->down, tile->final);
        if (status == HR_OK) {
            status = hri_ring_down(&lane->down_ring, lane->down, &copy);
        }
        pthread_mutex_lock(&run->lock);
        lane->share->down += hri_copy_bytes(&copy);
        tile->draining = status != HR_OK; /* then it may still be in use */
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
    }
    hri_run_fail(run, status);
    pthread_mutex_lock(&run->lock);
    run->threads_running--;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    return NULL;
}
