/* SPDX-License-Identifier: MIT */
/* Copies of boxes, in the fewest commands that OpenCL's rules allow. */
#include "backends/opencl/opencl.h"

/* What the Rect commands ask of pitches: rows do not overlap, a slice is a
 * whole number of rows. */
static bool regular(const hri_copy *c, size_t pitch, size_t slice)
{
    return pitch >= c->width && (c->depth == 1 || (slice % pitch == 0 &&
                                                   slice / pitch >= c->height));
}

static bool takes(const void *queue, const hri_copy *c)
{
    (void)queue;
    /* Within one buffer, CopyBufferRect wants equal pitches. */
    bool within = c->to.buffer != NULL && c->to.buffer == c->from.buffer;
    return regular(c, c->to_pitch, c->to_slice) &&
           regular(c, c->from_pitch, c->from_slice) &&
           (!within || (c->to_pitch == c->from_pitch &&
                        (c->depth == 1 || c->to_slice == c->from_slice)));
}

static cl_int submit_row(void *queue, const hri_copy *c)
{
    if (c->to.buffer == NULL) {
        return hri_cl.clEnqueueReadBuffer(
            queue, hri_cl_memory(c->from.buffer), CL_FALSE, c->from.offset,
            c->width, (char *)c->to.host + c->to.offset, 0, NULL, NULL);
    }
    if (c->from.buffer == NULL) {
        return hri_cl.clEnqueueWriteBuffer(
            queue, hri_cl_memory(c->to.buffer), CL_FALSE, c->to.offset,
            c->width, (const char *)c->from.host + c->from.offset, 0, NULL,
            NULL);
    }
    return hri_cl.clEnqueueCopyBuffer(
        queue, hri_cl_memory(c->from.buffer), hri_cl_memory(c->to.buffer),
        c->from.offset, c->to.offset, c->width, 0, NULL, NULL);
}

static cl_int submit_box(void *queue, const hri_copy *c)
{
    const size_t region[3] = {c->width, c->height, c->depth};
    const size_t to[3] = {c->to.offset, 0, 0};
    const size_t from[3] = {c->from.offset, 0, 0};
    size_t to_slice = c->depth > 1 ? c->to_slice : 0;
    size_t from_slice = c->depth > 1 ? c->from_slice : 0;
    if (c->to.buffer == NULL) {
        return hri_cl.clEnqueueReadBufferRect(
            queue, hri_cl_memory(c->from.buffer), CL_FALSE, from, to, region,
            c->from_pitch, from_slice, c->to_pitch, to_slice, c->to.host, 0,
            NULL, NULL);
    }
    if (c->from.buffer == NULL) {
        return hri_cl.clEnqueueWriteBufferRect(
            queue, hri_cl_memory(c->to.buffer), CL_FALSE, to, from, region,
            c->to_pitch, to_slice, c->from_pitch, from_slice, c->from.host, 0,
            NULL, NULL);
    }
    return hri_cl.clEnqueueCopyBufferRect(queue, hri_cl_memory(c->from.buffer),
                                          hri_cl_memory(c->to.buffer), from, to,
                                          region, c->from_pitch, from_slice,
                                          c->to_pitch, to_slice, 0, NULL, NULL);
}

hr_status hri_cl_copy(cl_command_queue queue, const hri_copy *copy)
{
    static const hri_copy_commands commands = {
        .takes = takes, .row = submit_row, .box = submit_box};
    return hri_copy_is_empty(copy)
               ? HR_OK
               : hri_cl_check(hri_copy_enqueue(&commands, queue, copy),
                              "enqueueing a copy");
}
