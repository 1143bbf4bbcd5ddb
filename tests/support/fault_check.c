/* SPDX-License-Identifier: MIT */
/* Whether callers of the wrapper backend keep to the contract of hal/hal.h. */
#include "base/size.h"
#include "support/fault_internal.h"

/* The bytes from the start of a place that a box of rows and slices reaches;
 * UINT64_MAX when that overflows. */
static uint64_t box_reach(const hri_copy *box, size_t pitch, size_t slice)
{
    uint64_t rows, slices, reach;
    if (box->width == 0 || box->height == 0 || box->depth == 0) {
        return 0;
    }
    if (!hri_mul(box->height - 1, box->height > 1 ? pitch : 0, &rows) ||
        !hri_mul(box->depth - 1, box->depth > 1 ? slice : 0, &slices) ||
        !hri_add(rows, slices, &reach) || !hri_add(reach, box->width, &reach)) {
        return UINT64_MAX;
    }
    return reach;
}

/* The bytes that an operand of rows x cols elements reaches. */
static uint64_t operand_reach(const hri_operand *operand, hr_type type,
                              int64_t rows, int64_t cols)
{
    uint64_t down, across, elements, reach;
    if (rows == 0 || cols == 0) {
        return 0;
    }
    if (!hri_mul((uint64_t)rows - 1, (uint64_t)operand->row_stride, &down) ||
        !hri_mul((uint64_t)cols - 1, (uint64_t)operand->col_stride, &across) ||
        !hri_add(down, across, &elements) || !hri_add(elements, 1, &elements) ||
        !hri_mul(elements, hr_type_size(type), &reach)) {
        return UINT64_MAX;
    }
    return reach;
}

static bool is_inside(const hri_place *place, uint64_t reach)
{
    return reach == 0 || place->buffer == NULL ||
           (place->offset <= place->buffer->bytes &&
            reach <= place->buffer->bytes - place->offset);
}

/* Whether device may use objects of other. */
bool fault_may_use(hri_device *device, hri_device *other)
{
    if (device == other) {
        return true;
    }
    hri_device *inner = fault_inner_device(device);
    return other->ops == device->ops &&
           inner->ops->is_peer(inner, fault_inner_device(other));
}

hr_status fault_check_copy(hri_device *device, const hri_copy *copy)
{
    const hri_buffer *to = copy->to.buffer;
    const hri_buffer *from = copy->from.buffer;
    if ((to == NULL || to->device != device) &&
        (from == NULL || from->device != device)) {
        return fault_breach("a copy with no buffer of the queue's device");
    }
    if ((to != NULL && !fault_may_use(device, to->device)) ||
        (from != NULL && !fault_may_use(device, from->device))) {
        return fault_breach("a copy with a buffer of no peer");
    }
    if (!is_inside(&copy->to,
                   box_reach(copy, copy->to_pitch, copy->to_slice)) ||
        !is_inside(&copy->from,
                   box_reach(copy, copy->from_pitch, copy->from_slice))) {
        return fault_breach("a copy reaches past the end of a buffer");
    }
    return HR_OK;
}

hr_status fault_check_fill(hri_device *device, const hri_place *place,
                           size_t bytes)
{
    if (place->buffer->device != device) {
        return fault_breach("a fill of another device's buffer");
    }
    if (!is_inside(place, bytes)) {
        return fault_breach("a fill reaches past the end of the buffer");
    }
    return HR_OK;
}

/* Whether the device's products write to this memory of the host. */
static bool reaches(hri_device *device, const hri_place *place, uint64_t bytes)
{
    return device->info.reaches &&
           device->ops->is_pinned(device, (char *)place->host + place->offset,
                                  (size_t)bytes);
}

/* out: it is C, which is not read. */
static hr_status check_operand(hri_device *device, const hri_operand *operand,
                               uint64_t reach, bool out)
{
    const hri_buffer *buffer = operand->place.buffer;
    if (buffer == NULL && reach > 0 && !device->info.host &&
        !(out && reaches(device, &operand->place, reach))) {
        return fault_breach("a product of host memory on a device");
    }
    if (buffer != NULL && buffer->device != device) {
        return fault_breach("a product of another device's buffer");
    }
    if (!is_inside(&operand->place, reach)) {
        return fault_breach("a product reaches past the end of a buffer");
    }
    if (reach > 0 && operand->row_stride != 1 && operand->col_stride != 1) {
        return fault_breach("a product of an operand without a stride of 1");
    }
    return HR_OK;
}

hr_status fault_check_pack(hri_device *device, const hri_pack *t)
{
    const uint64_t size = hr_type_size(t->type);
    if (t->to.buffer == NULL || t->from.buffer == NULL ||
        t->to.buffer->device != device || t->from.buffer->device != device) {
        return fault_breach("turning about in another device's buffer");
    }
    if (t->rows < 1 || t->cols < 1 || t->to_stride < t->rows ||
        t->from_stride < t->cols) {
        return fault_breach("turning about lines that overlap");
    }
    uint64_t to = (uint64_t)((t->cols - 1) * t->to_stride + t->rows);
    uint64_t from = (uint64_t)((t->rows - 1) * t->from_stride + t->cols);
    if (!is_inside(&t->to, to * size) || !is_inside(&t->from, from * size)) {
        return fault_breach("turning about past the end of a buffer");
    }
    return HR_OK;
}

/* The operands of a batch's last product; lists are for host memory alone. */
static hr_status check_batch(hri_device *device, const hri_gemm *g)
{
    const int64_t last = g->batch.count - 1;
    const struct {
        const hri_operand *operand;
        uint64_t reach;
    } all[] = {{&g->a, operand_reach(&g->a, g->type, g->m, g->k)},
               {&g->b, operand_reach(&g->b, g->type, g->k, g->n)},
               {&g->c, operand_reach(&g->c, g->c_type, g->m, g->n)}};
    const bool out = g->beta.re == 0 && g->beta.im == 0;
    hr_status status = HR_OK;
    for (int i = 0; i < 3 && last > 0 && status == HR_OK; i++) {
        hri_operand at = *all[i].operand;
        at.place.offset += (size_t)(last * g->batch.steps[i]);
        status = check_operand(device, &at, all[i].reach, out && i == 2);
        if (g->batch.lists[i] != NULL && !device->info.host) {
            status = fault_breach("a list of operands on a device");
        }
        if (status == HR_OK && g->batch.lists[i] == NULL && i == 2 &&
            g->batch.steps[i] < (int64_t)all[i].reach) {
            status = fault_breach("products of a batch that overlap");
        }
    }
    return status;
}

hr_status fault_check_gemm(hri_device *device, const hri_gemm *g)
{
    hri_device *inner = fault_inner_device(device);
    if (!inner->ops->gemm_offered(inner, g->type, g->c_type, g->compute)) {
        return fault_breach("a product that is not offered");
    }
    if (g->m == 0 || g->n == 0) {
        return HR_OK;
    }
    hr_status status = check_batch(device, g);
    if (status == HR_OK) {
        status = check_operand(device, &g->c,
                               operand_reach(&g->c, g->c_type, g->m, g->n),
                               g->beta.re == 0 && g->beta.im == 0);
    }
    if (status == HR_OK && g->c.col_stride != 1) {
        status = fault_breach("a product with a C of other than unit stride");
    }
    if (status == HR_OK) {
        status = check_operand(
            device, &g->a, operand_reach(&g->a, g->type, g->m, g->k), false);
    }
    if (status == HR_OK) {
        status = check_operand(
            device, &g->b, operand_reach(&g->b, g->type, g->k, g->n), false);
    }
    return status;
}
