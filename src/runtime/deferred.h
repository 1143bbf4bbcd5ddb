/* SPDX-License-Identifier: MIT */
/* Deferred queues: commands that a thread hands on to the accelerator's queue
 * of a stream (stream.h). */
#ifndef HRI_RUNTIME_DEFERRED_H
#define HRI_RUNTIME_DEFERRED_H

#include "runtime/runtime.h"

typedef enum hri_command_kind {
    HRI_COMMAND_COPY,
    HRI_COMMAND_STAGED_COPY, /* by threads, through pinned memory (stage.h) */
    HRI_COMMAND_LAUNCH,
    HRI_COMMAND_RECORD,
    HRI_COMMAND_WAIT
} hri_command_kind;

/* What a stream is given; of the rest a kind has its own alone. */
typedef struct hri_command {
    hri_command_kind kind;
    const hri_copy *copy;
    const hri_launch *launch;
    hri_fence *fence;
} hri_command;

typedef struct hri_deferred hri_deferred;

void hri_deferral_init(hri_deferral *deferral);
void hri_deferral_finish(hri_deferral *deferral);

hr_status hri_deferred_create(hri_stream *stream, hri_deferred **deferred);
/* Hands everything on first. NULL is accepted, here and in what follows. */
void hri_deferred_destroy(hri_deferred *deferred);

/* Whether everything has been handed on. */
bool hri_deferred_is_empty(const hri_deferred *deferred);
/* Block the calling thread until then. */
void hri_deferred_drain(hri_deferred *deferred);
/* Defer a command of a stream that has a deferred queue. */
hr_status hri_deferred_add(hri_stream *stream, const hri_command *command);

/* stream.c: hand a command on, now. Errors of deferred commands are kept as the
 * stream's. */
hr_status hri_command_run(hri_stream *stream, const hri_command *command);

#endif
