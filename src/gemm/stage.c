/* SPDX-License-Identifier: MIT */
#include "gemm/stage.h"

#include <string.h>

/* A part of a box that fits into one piece. */
typedef struct piece {
    size_t row, rows;    /* of the box */
    size_t start, width; /* bytes inside each row */
} piece;

hr_status hri_ring_init(hri_ring *ring, hri_accelerator *accelerator)
{
    *ring = (hri_ring){.accelerator = accelerator};
    hri_device *device = accelerator->device;
    for (int i = 0; i < HRI_RING_PIECES; i++) {
        hr_status status = hri_accelerator_allocate_pinned(
            accelerator, HRI_RING_PIECE_BYTES, &ring->pinned[i]);
        if (status == HR_OK) {
            status = device->ops->create_event(device, &ring->events[i]);
        }
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

void hri_ring_finish(hri_ring *ring)
{
    for (int i = 0; i < HRI_RING_PIECES; i++) {
        if (ring->events[i] != NULL) {
            ring->events[i]->ops->destroy(ring->events[i]);
        }
        if (ring->pinned[i] != NULL) {
            hri_accelerator_release_pinned(ring->accelerator, ring->pinned[i]);
        }
    }
    *ring = (hri_ring){0};
}

/* The piece after p, or the first when p->rows is 0; false after the last. */
static bool next_piece(const hri_copy *box, piece *p)
{
    size_t width =
        box->width < HRI_RING_PIECE_BYTES ? box->width : HRI_RING_PIECE_BYTES;
    if (p->rows == 0) {
        *p = (piece){.width = width};
    } else if (p->start + p->width < box->width) {
        p->start += p->width;
    } else {
        p->row += p->rows;
        p->start = 0;
    }
    if (p->row >= box->height) {
        return false;
    }
    size_t left = box->width - p->start;
    p->width = left < width ? left : width;
    p->rows = p->width < box->width ? 1 : HRI_RING_PIECE_BYTES / p->width;
    if (p->rows > box->height - p->row) {
        p->rows = box->height - p->row;
    }
    return true;
}

static void copy_rows(char *to, size_t to_pitch, const char *from,
                      size_t from_pitch, const piece *p)
{
    if (to_pitch == p->width && from_pitch == p->width) {
        memcpy(to, from, p->width * p->rows);
        return;
    }
    for (size_t r = 0; r < p->rows; r++) {
        memcpy(to + r * to_pitch, from + r * from_pitch, p->width);
    }
}

hr_status hri_ring_up(hri_ring *ring, hri_queue *queue, const hri_copy *copy)
{
    piece p = {0};
    if (copy->width == 0 || copy->height == 0) {
        return HR_OK;
    }
    while (next_piece(copy, &p)) {
        uint32_t at = ring->next++ % HRI_RING_PIECES;
        hri_event *event = ring->events[at];
        hr_status status = event->ops->wait(event);
        if (status != HR_OK) {
            return status;
        }
        const char *from = (const char *)copy->from.host + copy->from.offset +
                           p.row * copy->from_pitch + p.start;
        copy_rows(ring->pinned[at], p.width, from, copy->from_pitch, &p);
        hri_copy send = {
            .to = copy->to,
            .from = hri_at_host(ring->pinned[at], 0),
            .to_pitch = copy->to_pitch,
            .from_pitch = p.width,
            .width = p.width,
            .height = p.rows,
            .depth = 1,
        };
        send.to.offset += p.row * copy->to_pitch + p.start;
        status = queue->ops->copy(queue, &send);
        if (status == HR_OK) {
            status = queue->ops->record(queue, event);
        }
        if (status != HR_OK) {
            return status;
        }
    }
    return HR_OK;
}

static hr_status fetch(hri_ring *ring, hri_queue *queue, const hri_copy *copy,
                       const piece *p, uint32_t at)
{
    hri_copy send = {
        .to = hri_at_host(ring->pinned[at], 0),
        .from = copy->from,
        .to_pitch = p->width,
        .from_pitch = copy->from_pitch,
        .width = p->width,
        .height = p->rows,
        .depth = 1,
    };
    send.from.offset += p->row * copy->from_pitch + p->start;
    hr_status status = queue->ops->copy(queue, &send);
    return status == HR_OK ? queue->ops->record(queue, ring->events[at])
                           : status;
}

hr_status hri_ring_down(hri_ring *ring, hri_queue *queue, const hri_copy *copy)
{
    piece ahead = {0}, behind = {0};
    hr_status status = HR_OK;
    uint32_t fetched = 0, arrived = 0;
    if (copy->width == 0 || copy->height == 0) {
        return HR_OK;
    }
    bool more = next_piece(copy, &ahead);
    while (status == HR_OK && (more || arrived < fetched)) {
        if (more && fetched - arrived < HRI_RING_PIECES) {
            status =
                fetch(ring, queue, copy, &ahead, fetched++ % HRI_RING_PIECES);
            more = next_piece(copy, &ahead);
            continue;
        }
        uint32_t at = arrived++ % HRI_RING_PIECES;
        status = ring->events[at]->ops->wait(ring->events[at]);
        if (status == HR_OK) {
            next_piece(copy, &behind);
            char *to = (char *)copy->to.host + copy->to.offset +
                       behind.row * copy->to_pitch + behind.start;
            copy_rows(to, copy->to_pitch, ring->pinned[at], behind.width,
                      &behind);
        }
    }
    return status;
}
