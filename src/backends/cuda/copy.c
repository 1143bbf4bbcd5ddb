/* SPDX-License-Identifier: MIT */
/* Copies of boxes, in the fewest commands that the driver's rules allow. */
#include "backends/cuda/cuda.h"

/* What the driver asks of pitches: rows do not overlap, a slice is a whole
 * number of rows, and there is a largest one. */
static bool regular(const hri_cuda_queue *queue, const hri_copy *c,
                    size_t pitch, size_t slice)
{
    return pitch >= c->width && pitch <= queue->unit->most_pitch &&
           (c->depth == 1 ||
            (slice % pitch == 0 && slice / pitch >= c->height));
}

static bool takes(const void *queue, const hri_copy *c)
{
    return regular(queue, c, c->to_pitch, c->to_slice) &&
           regular(queue, c, c->from_pitch, c->from_slice);
}

static cu_context context_of(const hri_place *place)
{
    return ((const hri_cuda_device *)place->buffer->device)->unit->context;
}

/* Whether the copy goes from one GPU to another. */
static bool crosses(const hri_copy *c)
{
    return c->to.buffer != NULL && c->from.buffer != NULL &&
           context_of(&c->to) != context_of(&c->from);
}

static cu_result submit_row(void *queue, const hri_copy *c)
{
    cu_stream stream = ((hri_cuda_queue *)queue)->stream;
    if (c->to.buffer == NULL) {
        return hri_cuda.cuMemcpyDtoHAsync_v2((char *)c->to.host + c->to.offset,
                                             hri_cuda_address(&c->from),
                                             c->width, stream);
    }
    if (c->from.buffer == NULL) {
        return hri_cuda.cuMemcpyHtoDAsync_v2(
            hri_cuda_address(&c->to),
            (const char *)c->from.host + c->from.offset, c->width, stream);
    }
    if (crosses(c)) {
        return hri_cuda.cuMemcpyPeerAsync(
            hri_cuda_address(&c->to), context_of(&c->to),
            hri_cuda_address(&c->from), context_of(&c->from), c->width, stream);
    }
    return hri_cuda.cuMemcpyDtoDAsync_v2(
        hri_cuda_address(&c->to), hri_cuda_address(&c->from), c->width, stream);
}

static cu_end_2d end_of_rows(const hri_place *place, size_t pitch)
{
    cu_end_2d end = {.pitch = pitch};
    if (place->buffer == NULL) {
        end.memory = CU_MEMORY_HOST;
        end.host = (char *)place->host + place->offset;
    } else {
        end.memory = CU_MEMORY_DEVICE;
        end.device = hri_cuda_address(place);
    }
    return end;
}

static cu_end_3d end_of_box(const hri_place *place, size_t pitch, size_t slice)
{
    cu_end_2d rows = end_of_rows(place, pitch);
    return (cu_end_3d){.memory = rows.memory,
                       .host = rows.host,
                       .device = rows.device,
                       .pitch = pitch,
                       .height = slice / pitch};
}

static cu_result submit_box(void *queue, const hri_copy *c)
{
    cu_stream stream = ((hri_cuda_queue *)queue)->stream;
    bool peers = crosses(c), slices = c->depth > 1;
    if (!peers && !slices) {
        const cu_copy_2d rows = {.from = end_of_rows(&c->from, c->from_pitch),
                                 .to = end_of_rows(&c->to, c->to_pitch),
                                 .width = c->width,
                                 .height = c->height};
        return hri_cuda.cuMemcpy2DAsync_v2(&rows, stream);
    }
    size_t from_slice = slices ? c->from_slice : c->from_pitch * c->height;
    size_t to_slice = slices ? c->to_slice : c->to_pitch * c->height;
    cu_copy_3d box = {.from = end_of_box(&c->from, c->from_pitch, from_slice),
                      .to = end_of_box(&c->to, c->to_pitch, to_slice),
                      .width = c->width,
                      .height = c->height,
                      .depth = c->depth};
    if (!peers) {
        return hri_cuda.cuMemcpy3DAsync_v2(&box, stream);
    }
    box.from.context = context_of(&c->from);
    box.to.context = context_of(&c->to);
    return hri_cuda.cuMemcpy3DPeerAsync(&box, stream);
}

hr_status hri_cuda_copy(hri_cuda_queue *queue, const hri_copy *copy)
{
    static const hri_copy_commands commands = {
        .takes = takes, .row = submit_row, .box = submit_box};
    if (hri_copy_is_empty(copy)) {
        return HR_OK;
    }
    cu_result error = hri_cuda_enter(queue->unit);
    if (error == CU_SUCCESS) {
        error = hri_copy_enqueue(&commands, queue, copy);
        hri_cuda_leave();
    }
    return hri_cuda_check(queue->unit->path, error, "enqueueing a copy");
}
