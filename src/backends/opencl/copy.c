/* SPDX-License-Identifier: MIT */
/* Copies of boxes, in the fewest commands that OpenCL's rules allow. */
#include "backends/opencl/opencl.h"

/* A stack of rows or of slices without gaps is one longer row. */
static hri_copy flatten(hri_copy c)
{
    for (int pass = 0; pass < 2; pass++) {
        if (c.height == 1) {
            c.height = c.depth;
            c.to_pitch = c.to_slice;
            c.from_pitch = c.from_slice;
            c.depth = 1;
        }
        if (c.height > 1 && c.to_pitch == c.width && c.from_pitch == c.width) {
            c.width *= c.height;
            c.height = 1;
        }
    }
    return c;
}

/* What the Rect commands ask of pitches: rows do not overlap, a slice is a
 * whole number of rows. */
static bool regular(const hri_copy *c, size_t pitch, size_t slice)
{
    return pitch >= c->width && (c->depth == 1 || (slice % pitch == 0 &&
                                                   slice / pitch >= c->height));
}

static bool one_command(const hri_copy *c)
{
    if (c->height == 1) {
        return c->depth == 1;
    }
    /* Within one buffer, CopyBufferRect wants equal pitches. */
    bool within = c->to.buffer != NULL && c->to.buffer == c->from.buffer;
    return regular(c, c->to_pitch, c->to_slice) &&
           regular(c, c->from_pitch, c->from_slice) &&
           (!within || (c->to_pitch == c->from_pitch &&
                        (c->depth == 1 || c->to_slice == c->from_slice)));
}

static cl_int submit_row(cl_command_queue queue, const hri_copy *c)
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

static cl_int submit_box(cl_command_queue queue, const hri_copy *c)
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

/* A box that one command cannot take, slice by slice or row by row. */
static cl_int submit(cl_command_queue queue, hri_copy c)
{
    c = flatten(c);
    if (one_command(&c)) {
        return c.height == 1 ? submit_row(queue, &c) : submit_box(queue, &c);
    }
    bool slices = c.depth > 1;
    size_t count = slices ? c.depth : c.height;
    hri_copy part = c;
    *(slices ? &part.depth : &part.height) = 1;
    cl_int error = CL_SUCCESS;
    for (size_t i = 0; i < count && error == CL_SUCCESS; i++) {
        error = submit(queue, part);
        part.to.offset += slices ? c.to_slice : c.to_pitch;
        part.from.offset += slices ? c.from_slice : c.from_pitch;
    }
    return error;
}

hr_status hri_cl_copy(cl_command_queue queue, const hri_copy *copy)
{
    if (copy->width == 0 || copy->height == 0 || copy->depth == 0) {
        return HR_OK;
    }
    return hri_cl_check(submit(queue, *copy), "enqueueing a copy");
}
