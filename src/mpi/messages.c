/* SPDX-License-Identifier: MIT */
#include "mpi/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/size.h"

enum { ALIGNMENT = 64 };

void hri_messages_finish(hri_messages *m)
{
    free(m->in.of);
    free(m->out.of);
    free(m->memory);
    free(m->requests);
    *m = (hri_messages){0};
}

void hri_messages_clear(hri_messages *m)
{
    m->in.count = m->out.count = 0;
    m->request_count = 0;
}

hr_status hri_messages_add(hri_message_list *list, const hri_message *message,
                           size_t element_bytes)
{
    const int64_t elements =
        hri_part_elements(message->operand, message->part, message->owner);
    if (elements == 0) {
        return HR_OK;
    }
    if (list->count == list->room) {
        const int room = 2 * list->room + 16;
        hri_message *more = realloc(list->of, (size_t)room * sizeof *more);
        if (more == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "mpi: no memory for %d messages", room);
        }
        list->of = more;
        list->room = room;
    }
    list->of[list->count] = *message;
    list->of[list->count++].bytes_count = (size_t)elements * element_bytes;
    return HR_OK;
}

static size_t place(hri_message_list *list, char *memory, size_t used)
{
    for (int i = 0; i < list->count; i++) {
        hri_message *m = &list->of[i];
        if (!m->in_place) {
            m->bytes = memory != NULL ? memory + used : NULL;
            used += hri_round_up_bytes(m->bytes_count, ALIGNMENT);
        }
    }
    return used;
}

static int count_pieces(const hri_message_list *list)
{
    int count = 0;
    for (int i = 0; i < list->count; i++) {
        count += hri_mpi_pieces(list->of[i].bytes_count);
    }
    return count;
}

hr_status hri_messages_place(hri_messages *m)
{
    const int room = count_pieces(&m->in) + count_pieces(&m->out) + 1;
    const size_t bytes = place(&m->out, NULL, place(&m->in, NULL, 0));
    if (bytes > m->memory_bytes) {
        free(m->memory);
        m->memory_bytes = 0;
        m->memory = hri_pages(bytes);
        if (m->memory == NULL) {
            return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                            "mpi: no %zu bytes for messages", bytes);
        }
        m->memory_bytes = bytes;
    }
    (void)place(&m->out, m->memory, place(&m->in, m->memory, 0));
    if (room > m->request_room) {
        free(m->requests);
        m->requests = malloc((size_t)room * sizeof *m->requests);
        m->request_room = m->requests != NULL ? room : 0;
    }
    return m->requests != NULL
               ? HR_OK
               : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                          "mpi: no memory for %d messages", room);
}

hr_status hri_messages_start(hri_messages *m, hr_mpi_context *context)
{
    hr_status status = HR_OK;
    for (int side = 0; side < 2; side++) {
        const hri_message_list *list = side == 0 ? &m->in : &m->out;
        for (int i = 0; i < list->count && status == HR_OK; i++) {
            const hri_message *x = &list->of[i];
            const hri_mpi_bytes bytes = {x->bytes, x->bytes_count, x->peer,
                                         x->kind, side == 1};
            if (x->peer != context->rank) {
                status = hri_mpi_post(context, &bytes, m->requests,
                                      &m->request_count);
            }
        }
    }
    return status;
}

static void copy_elements(hri_place to, hri_place from, int64_t rows,
                          size_t element_bytes)
{
    for (int64_t i = 0; i < rows; i++) {
        memcpy(to.data, from.data, element_bytes);
        to.data += to.row_stride * (int64_t)element_bytes;
        from.data += from.row_stride * (int64_t)element_bytes;
    }
}

void hri_copy_box(hri_place to, hri_place from, int64_t rows, int64_t cols,
                  size_t element_bytes)
{
    const bool whole = to.row_stride == 1 && from.row_stride == 1;
    for (int64_t j = 0; j < cols; j++) {
        if (whole) {
            memcpy(to.data, from.data, (size_t)rows * element_bytes);
        } else {
            copy_elements(to, from, rows, element_bytes);
        }
        to.data += to.col_stride * (int64_t)element_bytes;
        from.data += from.col_stride * (int64_t)element_bytes;
    }
}

bool hri_message_is_run(const hri_message *m, const hri_place *part,
                        size_t element_bytes, char **run)
{
    hri_boxes boxes;
    hri_box box;
    hri_boxes_begin(&boxes, m->operand, m->part, m->owner);
    if (!hri_boxes_next(&boxes, &box) ||
        (size_t)(box.rows * box.cols) * element_bytes != m->bytes_count) {
        return false;
    }
    const hri_place at = part != NULL ? hri_place_of(*part, &box, element_bytes)
                                      : hri_place_owned(&box);
    *run = at.data;
    return (at.row_stride == 1 || box.rows == 1) &&
           (at.col_stride == box.rows || box.cols == 1);
}

void hri_message_pack(const hri_message *m, const hri_place *part,
                      size_t element_bytes)
{
    hri_boxes boxes;
    hri_box box;
    char *to = m->bytes;
    hri_boxes_begin(&boxes, m->operand, m->part, m->owner);
    while (hri_boxes_next(&boxes, &box)) {
        const hri_place from = part != NULL
                                   ? hri_place_of(*part, &box, element_bytes)
                                   : hri_place_owned(&box);
        hri_copy_box((hri_place){to, 1, box.rows}, from, box.rows, box.cols,
                     element_bytes);
        to += (size_t)(box.rows * box.cols) * element_bytes;
    }
}

void hri_part_bring(const hri_operand *o, hri_part part, int owner,
                    const char *bytes, hri_place at)
{
    hri_boxes boxes;
    hri_box box;
    hri_boxes_begin(&boxes, o, part, owner);
    while (hri_boxes_next(&boxes, &box)) {
        const hri_place from = bytes != NULL
                                   ? (hri_place){(char *)bytes, 1, box.rows}
                                   : hri_place_owned(&box);
        hri_copy_box(hri_place_of(at, &box, o->element_bytes), from, box.rows,
                     box.cols, o->element_bytes);
        bytes += bytes != NULL
                     ? (size_t)(box.rows * box.cols) * o->element_bytes
                     : 0;
    }
}
