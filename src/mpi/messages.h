/* SPDX-License-Identifier: MIT */
/* The messages of one step: elements of tiles, packed box after box, each by
 * columns. Two processes exchange at most one of each kind in a step, in the
 * order of steps.
 *
 * If a process can read the memory of another one (direct.h), a large
 * message only says where the bytes are. Once they have been read, a byte
 * goes back. */
#ifndef HRI_MPI_MESSAGES_H
#define HRI_MPI_MESSAGES_H

#include "mpi/direct.h"
#include "mpi/elements.h"

typedef struct hri_message {
    const hri_mpi_operand *operand;
    hri_mpi_tile tile;
    int owner; /* of the elements in the matrix */
    int peer;  /* that it comes from or goes to; this process: it stays here */
    int kind;  /* the tag */
    int64_t grid_rank; /* for the caller */
    size_t bytes_count;
    hri_lines at;     /* its bytes: packed, in lines without gaps, unless they
                         are in place */
    bool in_place;    /* the bytes are the elements where they lie */
    bool direct;      /* the receiver reads them where they are */
    uint64_t note[2]; /* what a direct one says: where, and the pitch */
    char read;        /* what goes back */
} hri_message;

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
 * lines of a direct message. They are where the whole tile lies, or, if that is
 * NULL, in the owner's memory. */
void hri_message_place(hri_message *message, const hri_mpi_place *tile,
                       size_t element_bytes);

/* Give memory to all messages that are not in place. HR_ERROR_OUT_OF_MEMORY,
 * but never for as much as was given before. */
hr_status hri_messages_place(hri_messages *messages);

/* Receive what comes, and send what goes, which is packed. Messages of this
 * process to itself do not move. */
hr_status hri_messages_start(hri_messages *messages, hr_mpi_context *context);

/* Wait until all that comes is here. What cannot be read goes to *error. */
hr_status hri_messages_await(hri_messages *messages, hr_mpi_context *context,
                             hri_error *error);

/* Wait until others have all that goes: then its memory is free. */
hr_status hri_messages_end(hri_messages *messages, hr_mpi_context *context);

/* Pack what the owner has of a tile. It comes from where the whole tile lies,
 * or, if that is NULL, from the owner's blocks. */
void hri_message_pack(const hri_message *message, const hri_mpi_place *tile,
                      size_t element_bytes);

/* Bring what an owner has of a tile to where the tile lies. It comes from the
 * bytes of a message, or, if these are NULL, from the owner's blocks. */
void hri_mpi_tile_bring(const hri_mpi_operand *operand, hri_mpi_tile tile,
                        int owner, const char *bytes, hri_mpi_place at);

#endif
