/* SPDX-License-Identifier: MIT */
/* What the parts of the fake driver share. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include "backends/cuda/api.h"
#include "base/status.h"
#include "fake_cuda.h"

#define SYM(kind, result, name, args) result name args;
#include "backends/cuda/symbols.inc"
#undef SYM

struct cu_context_object {
    cu_device device;
    _Atomic uint64_t used; /* streams read it without a lock */
    unsigned peers;        /* bits of devices that it may access */
};

struct cu_stream_object {
    cu_context context;
    cu_graph capture; /* graph.c: the graph it becomes; NULL: it is not
                         captured */
};

struct cu_event_object {
    cu_context context;
    bool timed, recorded;
    double ms;
};

/* The current context; only after a call below that succeeded. */
cu_context fake_current(void);

/* Count a call that needs a current context, or a stream of it. Returns how it
 * fails when its turn comes. */
cu_result fake_enter_context(const char *name);
cu_result fake_enter_stream(const char *name, cu_stream stream);

/* launch.c: the kernel of the program under test that has this name, or NULL;
 * whether a launch of it makes a fault, which has happened then; and launch it,
 * where the blocks and items of x, y and z are those of its domain, or of a
 * part. */
const void *fake_find_kernel(const char *name);
bool fake_faults(const void *found);
cu_result fake_launch(cu_stream stream, const void *found,
                      const unsigned *blocks, const unsigned *items,
                      unsigned shared, void **arguments);

/* graph.c: run work with these arguments, or keep both while the stream is
 * captured. */
typedef void (*fake_work)(const void *arguments);
cu_result fake_do(cu_stream stream, fake_work work, const void *arguments,
                  size_t bytes);
/* Refuse a call that cannot be captured: an error, which spoils a capture. */
cu_result fake_refuse(cu_stream stream);

#endif
