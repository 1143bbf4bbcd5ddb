/* SPDX-License-Identifier: MIT */
#include "mpi/messages.h"

#include <stdlib.h>

#include "base/pages.h"
#include "base/size.h"

enum {
    ALIGNMENT = 64,
    READ = 8,        /* added to the tag of what was read */
    LONG_LINE = 4096 /* bytes: shorter ones are packed faster than read */
};

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
    m->in_count = m->request_count = 0;
}

/* Whether the message has one box. */
static bool is_box(const hri_message *m, size_t element_bytes, hri_mpi_box *box)
{
    hri_mpi_boxes boxes;
    hri_mpi_boxes_begin(&boxes, m->operand, m->tile, m->owner);
    return hri_mpi_boxes_next(&boxes, box) &&
           (size_t)(box->rows * box->cols) * element_bytes == m->bytes_count;
}

hr_status hri_messages_add(hri_message_list *list, const hri_message *message,
                           const hr_mpi_context *context, size_t element_bytes)
{
    const int64_t elements =
        hri_mpi_tile_elements(message->operand, message->tile, message->owner);
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
    hri_message *m = &list->of[list->count++];
    hri_mpi_box box;
    *m = *message;
    m->bytes_count = (size_t)elements * element_bytes;
    m->direct = hri_direct_reaches(context, m->peer, m->bytes_count);
    const bool columns = is_box(m, element_bytes, &box);
    m->at.count = columns ? (size_t)box.cols : 1;
    m->at.line = m->at.pitch = m->bytes_count / m->at.count;
    return HR_OK;
}

static size_t place_messages(hri_message_list *list, char *memory, size_t used)
{
    for (int i = 0; i < list->count; i++) {
        hri_message *m = &list->of[i];
        if (!m->in_place) {
            m->at.data = memory != NULL ? memory + used : NULL;
            used += hri_round_up_bytes(m->bytes_count, ALIGNMENT);
        }
    }
    return used;
}

static int count_requests(const hri_message_list *list)
{
    int count = 0;
    for (int i = 0; i < list->count; i++) {
        count += list->of[i].direct
                     ? 2 /* the note, and that it was read */
                     : hri_mpi_fragments(list->of[i].bytes_count);
    }
    return count;
}

hr_status hri_messages_place(hri_messages *m)
{
    const int room = count_requests(&m->in) + count_requests(&m->out) + 1;
    const size_t bytes =
        place_messages(&m->out, NULL, place_messages(&m->in, NULL, 0));
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
    (void)place_messages(&m->out, m->memory,
                         place_messages(&m->in, m->memory, 0));
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

/* Send or receive so many bytes. */
static hr_status post_bytes(hri_messages *m, hr_mpi_context *context,
                            const hri_message *x, hri_mpi_bytes bytes)
{
    bytes.peer = x->peer;
    return hri_mpi_post(context, &bytes, m->requests, &m->request_count);
}

/* A message, or the note of a direct one. */
static hr_status start_message(hri_messages *m, hr_mpi_context *context,
                               hri_message *x, bool out)
{
    hri_mpi_bytes bytes = {.bytes = x->at.data,
                           .count = x->bytes_count,
                           .tag = x->kind,
                           .out = out};
    if (x->direct) {
        if (out) {
            x->note[0] = (uint64_t)(uintptr_t)x->at.data;
            x->note[1] = x->at.pitch;
        }
        bytes.bytes = (char *)x->note;
        bytes.count = sizeof x->note;
    }
    return post_bytes(m, context, x, bytes);
}

static hr_status tell_read(hri_messages *m, hr_mpi_context *context,
                           hri_message *x, bool out)
{
    return post_bytes(
        m, context, x,
        (hri_mpi_bytes){
            .bytes = &x->read, .count = 1, .tag = x->kind + READ, .out = out});
}

hr_status hri_messages_start(hri_messages *m, hr_mpi_context *context)
{
    for (int i = 0; i < m->in.count; i++) {
        hri_message *x = &m->in.of[i];
        if (x->peer != context->rank) {
            HRI_TRY(start_message(m, context, x, false));
        }
    }
    m->in_count = m->request_count;
    for (int i = 0; i < m->out.count; i++) {
        hri_message *x = &m->out.of[i];
        if (x->peer != context->rank) {
            HRI_TRY(start_message(m, context, x, true));
        }
        if (x->direct) {
            HRI_TRY(tell_read(m, context, x, false));
        }
    }
    return HR_OK;
}

/* Read what a note has announced. */
static hr_status read_message(hr_mpi_context *context, const hri_message *x)
{
    hri_lines from = x->at;
    from.data = (char *)(uintptr_t)x->note[0];
    from.pitch = (size_t)x->note[1];
    return hri_direct_read(context, x->peer, &x->at, &from);
}

hr_status hri_messages_await(hri_messages *m, hr_mpi_context *context,
                             hri_error *error)
{
    HRI_TRY(hri_mpi_wait(context, m->in_count, m->requests));
    for (int i = 0; i < m->in.count; i++) {
        hri_message *x = &m->in.of[i];
        if (x->direct) {
            hri_error_keep(error, read_message(context, x));
            HRI_TRY(tell_read(m, context, x, true));
        }
    }
    return HR_OK;
}

hr_status hri_messages_end(hri_messages *m, hr_mpi_context *context)
{
    const int first = m->in_count, last = m->request_count;
    m->in_count = m->request_count = 0;
    return hri_mpi_wait(context, last - first, m->requests + first);
}

void hri_message_place(hri_message *m, const hri_mpi_place *tile,
                       size_t element_bytes)
{
    hri_mpi_box box;
    if (!is_box(m, element_bytes, &box)) {
        return;
    }
    const hri_mpi_place at = tile != NULL
                                 ? hri_mpi_place_of(*tile, &box, element_bytes)
                                 : hri_mpi_place_owned(&box);
    const int64_t pitch =
        box.cols == 1 ? box.rows : at.col_stride; /* else it means nothing */
    const bool wide = m->direct && m->at.line >= LONG_LINE;
    if ((at.row_stride == 1 || box.rows == 1) &&
        (wide ? pitch >= box.rows : pitch == box.rows)) {
        m->in_place = true;
        m->at.data = at.data;
        m->at.pitch = (size_t)pitch * element_bytes;
    }
}

void hri_message_pack(const hri_message *m, const hri_mpi_place *tile,
                      size_t element_bytes)
{
    hri_mpi_boxes boxes;
    hri_mpi_box box;
    char *to = m->at.data;
    hri_mpi_boxes_begin(&boxes, m->operand, m->tile, m->owner);
    while (hri_mpi_boxes_next(&boxes, &box)) {
        const hri_mpi_place from =
            tile != NULL ? hri_mpi_place_of(*tile, &box, element_bytes)
                         : hri_mpi_place_owned(&box);
        hri_mpi_copy_box((hri_mpi_place){to, 1, box.rows}, from, box.rows,
                         box.cols, element_bytes);
        to += (size_t)(box.rows * box.cols) * element_bytes;
    }
}

void hri_mpi_tile_bring(const hri_mpi_operand *o, hri_mpi_tile tile, int owner,
                        const char *bytes, hri_mpi_place at)
{
    hri_mpi_boxes boxes;
    hri_mpi_box box;
    hri_mpi_boxes_begin(&boxes, o, tile, owner);
    while (hri_mpi_boxes_next(&boxes, &box)) {
        const hri_mpi_place from =
            bytes != NULL ? (hri_mpi_place){(char *)bytes, 1, box.rows}
                          : hri_mpi_place_owned(&box);
        hri_mpi_copy_box(hri_mpi_place_of(at, &box, o->element_bytes), from,
                         box.rows, box.cols, o->element_bytes);
        if (bytes != NULL) {
            bytes += (size_t)(box.rows * box.cols) * o->element_bytes;
        }
    }
}
