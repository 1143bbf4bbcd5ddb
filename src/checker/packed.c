/* SPDX-License-Identifier: MIT */
/* Views, packed in memory of the checker's. */
#include "checker/watch.h"
#include "hal/backend.h"

/* Lay out the elements of an argument without gaps. */
void hri_watched_lay_out(hri_watched *v, const hri_kernel_argument *a)
{
    const hr_parameter *p = v->parameter;
    const uint32_t lead = p->list ? 1 : 0;
    v->shape = a->shape;
    v->shape.start = 0;
    v->rank = p->rank + lead;
    v->extent[0] = v->held[0] = a->shape.count; /* of a list */
    v->count = 1;
    for (uint32_t d = p->rank; d-- > 0;) {
        v->extent[d + lead] = a->shape.extent[d];
        v->held_first[d + lead] = a->held_first[d];
        v->held[d + lead] = a->held[d];
        v->stride[d + lead] = v->shape.stride[d] = v->count;
        v->shape.start -= a->held_first[d] * v->count;
        v->count *= a->held[d];
    }
    if (lead > 0) {
        v->stride[0] = v->shape.step = v->count;
        v->count *= a->shape.count;
    }
}

/* Copy a view to packed memory, or back. It is view q of its list, or the only
 * one. */
static hr_status copy_one(const hri_watched *v, const hri_kernel_argument *a,
                          hri_stream *stream, int64_t q, unsigned char *packed,
                          bool back)
{
    const uint32_t rank = v->parameter->rank;
    const size_t bytes = v->parameter->bytes;
    const int64_t *size = a->held, *stride = a->shape.stride;
    const int64_t behind = q * a->shape.step * (int64_t)bytes;
    hri_place place = a->place;
    if (place.buffer != NULL) {
        place.offset += (size_t)behind;
    } else {
        place.host = (unsigned char *)place.host + behind;
    }
    packed += (size_t)(q * v->stride[0]) * bytes;
    hri_copy box = {.width = (size_t)size[rank - 1] * bytes,
                    .height = rank > 1 ? (size_t)size[rank - 2] : 1,
                    .depth = rank > 2 ? (size_t)size[0] : 1};
    const size_t pitch = rank > 1 ? (size_t)stride[rank - 2] * bytes : 0;
    const size_t slice = rank > 2 ? (size_t)stride[0] * bytes : 0;
    const hri_place here = {.host = packed};
    box.from = back ? here : place;
    box.to = back ? place : here;
    box.from_pitch = back ? box.width : pitch;
    box.to_pitch = back ? pitch : box.width;
    box.from_slice = back ? box.width * box.height : slice;
    box.to_slice = back ? slice : box.width * box.height;
    if (place.buffer == NULL) {
        hri_copy_rows(&box);
        return HR_OK;
    }
    hr_status status = hri_stream_copy(stream, &box);
    return status == HR_OK ? hri_stream_finish(stream) : status;
}

hr_status hri_watched_copy(const hri_watched *v, const hri_kernel_argument *a,
                           hri_stream *stream, void *packed, bool back)
{
    const int64_t count = v->parameter->list ? v->held[0] : 1;
    hr_status status = HR_OK;
    for (int64_t q = 0; q < count && status == HR_OK; q++) {
        status = copy_one(v, a, stream, q, packed, back);
    }
    return status;
}
