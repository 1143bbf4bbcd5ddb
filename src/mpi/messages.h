/* SPDX-License-Identifier: MIT */
/* The messages of one step: elements of parts, packed box after box, each by
 * columns. Two processes exchange at most one of each kind in a step, in the
 * order of steps.
 *
 * Where a process can read the memory of another one (direct.h), a large
 * message only says where the bytes are. Once they have been read, a byte
 * goes back. */
#ifndef HRI_MPI_MESSAGES_H
#define HRI_MPI_MESSAGES_H

#include "mpi/direct.h"
#include "mpi/operand.h"

typedef struct hri_message {
    const hri_mpi_operand *operand;
    hri_mpi_part part;
    int owner; /* of the elements in the matrix */
    int peer;  /* whom it comes from or goes to; this process: it stays here */
    int kind;  /* the tag */
    int64_t place; /* for the caller */
    size_t bytes_count;
    hri_lines at;     /* packed, in lines without gaps, or */
    bool in_place;    /* where the elements themselves lie */
    bool direct;      /* the receiver reads them where they are */
    uint64_t note[2]; /* what a direct one says: where, and the pitch */
    char read;        /* what goes back */
} hri_message;

/* Rectangles of elements in memory, with strides in elements. */
typedef struct hri_mpi_place {
    char *data;
    int64_t row_stride, col_stride;
} hri_mpi_place;

/* A growing list of them. */
typedef struct hri_message_list {
    hri_message *of;
    int count, room;
} hri_message_list;

typedef struct hri_messages {
    hri_message_list in, out;
    char *memory; /* of all messages */
    size_t memory_bytes;
    MPI_Request *requests; /* of messages that come, and then of the others */
    int in_count, request_count, request_room;
} hri_messages;

void hri_messages_finish(hri_messages *messages);

/* No messages any more. The memory stays. */
void hri_messages_clear(hri_messages *messages);

/* One more, if it has elements of element_bytes each. A direct one may lie in
 * lines with gaps. HR_ERROR_OUT_OF_MEMORY. */
hr_status hri_messages_add(hri_message_list *list, const hri_message *message,
                           const hr_mpi_context *context, size_t element_bytes);

/* Let the message lie where the elements are, if they are one run of bytes, or
 * lines of a direct message: in the owner's memory, or, if that is not NULL,
 * where the whole part lies. */
void hri_message_place(hri_message *message, const hri_mpi_place *part,
                       size_t element_bytes);

/* Give memory to all messages that are not in place. HR_ERROR_OUT_OF_MEMORY,
 * which never comes where as much was given before. */
hr_status hri_messages_place(hri_messages *messages);

/* Receive what comes, and send what goes, which is packed. Those whose
 * peer is this process do not move. */
hr_status hri_messages_start(hri_messages *messages, hr_mpi_context *context);

/* Wait until all that comes is here. What cannot be read goes to *error. */
hr_status hri_messages_await(hri_messages *messages, hr_mpi_context *context,
                             hri_error *error);

/* Wait until others have all that goes: then its memory is free. */
hr_status hri_messages_end(hri_messages *messages, hr_mpi_context *context);

/* copy.c: copy elements. */
void hri_mpi_copy_box(hri_mpi_place to, hri_mpi_place from, int64_t rows,
                      int64_t cols, size_t element_bytes);

/* Where a box is in a part that lies at `part`. */
static inline hri_mpi_place hri_mpi_place_of(hri_mpi_place part,
                                             const hri_mpi_box *box,
                                             size_t element_bytes)
{
    part.data += (box->row * part.row_stride + box->col * part.col_stride) *
                 (int64_t)element_bytes;
    return part;
}

/* Where its owner has a box. */
static inline hri_mpi_place hri_mpi_place_owned(const hri_mpi_box *box)
{
    return (hri_mpi_place){box->owned, box->row_stride, box->col_stride};
}

/* Pack what the owner has of a part: from where the whole part lies, or, for
 * NULL, from its blocks. */
void hri_message_pack(const hri_message *message, const hri_mpi_place *part,
                      size_t element_bytes);

/* Bring what an owner has of a part to where the part lies: from the bytes of a
 * message, or, for NULL, from its blocks. */
void hri_mpi_part_bring(const hri_mpi_operand *operand, hri_mpi_part part,
                        int owner, const char *bytes, hri_mpi_place at);

#endif
