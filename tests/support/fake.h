/* SPDX-License-Identifier: MIT */
/* Fake backends: devices as a test describes them, which count what they hold
 * and fail where they are told to. Jobs are done in the calling thread, so that
 * millions of them take seconds. Each takes the time that follows from the
 * device's speed, on its own clock. Nothing is computed. */
#ifndef FAKE_H
#define FAKE_H

#include "hal/hal.h"

enum { FAKE_BACKENDS = 3, FAKE_DEVICES = 4 };

typedef struct fake_device_state {
    hri_device_info info;
    double flops, link;   /* per second; 0: no products, and copies at once */
    bool keeps;           /* what is copied and filled; else it is forgotten */
    uint32_t peers;       /* those of one number are; 0: it has none */
    bool no_f64;          /* gemm_offered says no */
    uint64_t held_bytes;  /* in buffers now, all openings together */
    uint64_t most_bytes;  /* the most of that */
    uint64_t gemms;       /* products run */
    uint32_t variants;    /* of gemm */
    uint32_t fastest;     /* of them; the others take twice as long */
    uint32_t broken;      /* of them: gemm fails with it; 0: none */
    uint32_t variant;     /* that gemm uses */
    hr_status open_fails; /* what open returns; 0: it works */
} fake_device_state;

typedef struct fake_backend_state {
    uint32_t count;
    int probes, describes; /* calls of these */
    hr_status probe_fails; /* what probe returns; 0: it works */
    int describe_fails;    /* this device cannot be described; -1: none */
    fake_device_state devices[FAKE_DEVICES];
} fake_backend_state;

typedef struct fake_world {
    fake_backend_state backends[FAKE_BACKENDS];
    long live;           /* devices, buffers, pinned areas, queues, events */
    long calls;          /* of slots that may fail */
    long fail_call;      /* this one of them fails (from 1); 0: none */
    hr_status fail_with; /* with this */
} fake_world;

extern fake_world fake;

/* All of them, ended by NULL: "cuda", "opencl", "host". Tests may change abi.
 */
extern hri_backend fake_backends[FAKE_BACKENDS];
extern const hri_backend *const fake_list[];

/* Forget everything, and describe this machine:
 *     cuda:0      pci:1, 1000000 bytes of which 900000 are free
 *     cuda:1      pci:2, the same
 *     opencl:0:0  pci:1: cuda:0 once more
 *     opencl:1:0  emulated, 4000000 bytes of which 2000000 are free
 *     host        8000000 bytes of which 4000000 are free */
void fake_reset(void);

/* Or this one, whose devices do nothing but copy and fill:
 *     cuda:0, cuda:1   peers, with 1 GiB each
 *     cuda:2, cuda:3   the same */
void fake_reset_instant(void);

/* A context of these accelerators, after fake_reset. memory_limit: of each. 0:
 * what is free. */
hr_context *fake_context(const char *accelerators, uint64_t memory_limit);

#endif
