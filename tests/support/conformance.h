/* SPDX-License-Identifier: MIT */
/* The frame of the conformance suite. Each program's main is
 *
 *     return conformance_main(what_must_hold);
 *
 * which calls the function with every device of every backend that is present.
 * It calls it again with the host behind the wrapper of fault_backend.h, which
 * checks that the suite itself keeps to the contract. CONFORMANCE_BACKEND in
 * the environment restricts it to one backend: host, opencl or cuda. Another
 * name is an error. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "hal/hal.h"
#include "test.h"

typedef void (*conformance_test)(hri_device *device);

/* What main returns. It fails when a device did not open, the wrapper found a
 * breach or a leak, or CONFORMANCE_BACKEND is wrong. Prints what is skipped and
 * why. */
int conformance_main(conformance_test test);

/* The device under test once more; closed by the caller. */
hri_device *conformance_open_again(void);

/* Helpers for every test. Each ends the program when it fails. */
hri_queue *conformance_queue(hri_device *device);
hri_queue *conformance_queue_as(hri_device *device, bool urgent);
hri_event *conformance_event(hri_device *device);
hri_buffer *conformance_buffer(hri_device *device, size_t bytes);
void *conformance_memory(size_t bytes);
void conformance_must(hr_status status, const char *what);

/* A device of any backend with a queue, a buffer and an event of its. */
typedef struct conformance_opened {
    hri_device *device;
    hri_queue *queue;
    hri_buffer *buffer;
    hri_event *event;
} conformance_opened;

conformance_opened conformance_open(const hri_backend *backend, uint32_t index,
                                    size_t bytes);
void conformance_close(conformance_opened *opened);

/* Enqueue a copy of all of host, which has the buffer's size, to the buffer, or
 * back. */
void conformance_upload(hri_queue *queue, hri_buffer *buffer, const void *host);
void conformance_download(hri_queue *queue, void *host, hri_buffer *buffer);

/* A single row of bytes. */
static inline hri_copy conformance_row(hri_place to, hri_place from,
                                       size_t bytes)
{
    return (hri_copy){
        .to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
}

/* All of a domain of one dimension, in tiles of 64. */
static inline hr_domain conformance_line(int64_t count)
{
    return (hr_domain){.extent = {count, 1, 1},
                       .tile = {64, 1, 1},
                       .tiles = {(count + 63) / 64, 1, 1},
                       .end = {count, 1, 1},
                       .step = {1, 1, 1}};
}

#endif
