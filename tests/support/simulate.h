/* SPDX-License-Identifier: MIT */
/* A simulated machine under the real library. One thread of the process runs at
 * a time. A seed chooses which, at every lock, wait and start of a thread, so
 * one seed repeats exactly. Time is virtual: it goes on when all threads wait.
 *
 * Devices are those of the backend sim_backend, which has `sim.count` of them.
 * They do their work in virtual time, some later than others. Products, copies
 * and kernels are computed in truth. A device can fail, be lost, hang, become
 * slow, or flip a bit.
 *
 * A program that is linked with this (tests/CMakeLists.txt, with_simulation)
 * has it from its start. Where all threads wait for ever, where a mutex is
 * unlocked by another thread, and the like, the program says so and ends.
 * Threads of libraries that are opened later are not seen: time stands still
 * while one is waited for, and they call nothing of the program. */
#ifndef TEST_SIMULATE_H
#define TEST_SIMULATE_H

#include <pthread.h>

#include "hal/hal.h"

enum { SIM_DEVICES = 6 };

typedef enum sim_fault {
    SIM_WELL,
    SIM_FAILS, /* an operation does not happen, nor do those behind it */
    SIM_LOST,  /* from an operation on, no call of the device does anything */
    SIM_HANGS, /* an operation does not end until sim_let_go */
    SIM_SLOW,  /* from an operation on, all take `slower` times as long */
    SIM_FLIPS  /* of a copy to host memory one bit is wrong */
} sim_fault;

typedef struct sim_device_state {
    uint64_t memory_bytes;
    double flops, link, peer_link; /* a second */
    uint64_t latency_ns;           /* of each operation */
    bool staged, reaches;          /* as in hri_device_info */
    uint32_t packed;
    sim_fault fault;
    uint64_t at; /* the operation that it comes with, from 1 */
    double slower;
    uint64_t operations; /* begun */
    bool came;           /* the fault */
    bool let_go;         /* it hangs no more */
} sim_device_state;

typedef struct sim_machine {
    uint32_t count;
    bool peers;      /* all devices are */
    uint64_t stalls; /* operations that took much longer than usual */
    sim_device_state devices[SIM_DEVICES];
} sim_machine;

extern sim_machine sim;
extern const hri_backend sim_backend;

/* Begin anew with this seed. All threads but the caller's have ended. The
 * library finds no CBLAS. */
void sim_seed(uint64_t seed);

/* A hash of all that was chosen since then: equal for equal runs. */
uint64_t sim_trace(void);

/* How often another thread went on, and the virtual time. */
uint64_t sim_steps(void);
uint64_t sim_now_ns(void);

/* How much CPU time the process gets while its threads wait for a time, as if
 * so many of them worked. At first none. */
void sim_works(int threads);

/* So much time passes now, whoever works. */
void sim_pass(uint64_t ns);

/* A number of the seed in [low, high]. */
int64_t sim_between(int64_t low, int64_t high);

/* For ThreadSanitizer. It does not see this mutex. What a thread did before it
 * released something comes before what another does after it acquired it. */
void sim_hide(pthread_mutex_t *mutex);
void sim_release(void *what);
void sim_acquire(void *what);

/* Devices that hang go on, and hang no more. */
void sim_let_go(void);

/* Add what happened to the trace. */
void sim_note(uint64_t what);

#endif
