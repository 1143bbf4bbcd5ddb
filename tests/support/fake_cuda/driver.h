/* SPDX-License-Identifier: MIT */
/* What the parts of the fake driver share. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "backends/cuda/api.h"
#include "fake_cuda.h"

#define SYM(kind, result, name, args) result name args;
#include "backends/cuda/symbols.inc"
#undef SYM

struct cu_context_object {
    cu_device device;
    uint64_t used;
    unsigned peers; /* bits of devices that it may reach */
};

struct cu_stream_object {
    cu_context context;
    int capture, member; /* graph.c: what it is part of, 0: nothing; as what */
};

enum { FAKE_MEMBERS = 8 }; /* streams of a capture */

/* A point in a capture: how much of each of its streams lies before. */
typedef struct fake_point {
    int capture; /* 0: it is in none */
    unsigned seen[FAKE_MEMBERS];
} fake_point;

struct cu_event_object {
    cu_context context;
    bool recorded;
    double ms;
    fake_point point;
};

/* The current context; only after a call below that succeeded. */
cu_context fake_current(void);

/* Count a call that needs a current context, or a stream of it; how it fails if
 * it is its turn. */
cu_result fake_enter_context(const char *name);
cu_result fake_enter_stream(const char *name, cu_stream stream);

/* launch.c: the kernel of the program under test that has this name, or NULL;
 * and launch it, where the grid is that of its domain. */
const void *fake_find_kernel(const char *name);
cu_result fake_launch(cu_stream stream, const void *found, unsigned blocks,
                      unsigned items, unsigned shared, void **arguments);

/* graph.c: run work with these arguments, or keep both while the stream is
 * captured. */
typedef void (*fake_work)(const void *arguments);
cu_result fake_do(cu_stream stream, fake_work work, const void *arguments,
                  size_t bytes);
/* What nobody captures: an error, and the end of the capture, where the stream
 * is part of one. */
cu_result fake_refuse(cu_stream stream);
/* Note where in a capture an event is recorded, and let a stream wait for
 * it. */
cu_result fake_record(cu_stream stream, cu_event event);
cu_result fake_await(cu_stream stream, cu_event event);

#endif
