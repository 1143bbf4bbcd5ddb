/* SPDX-License-Identifier: MIT */
/* Contestants that compute the same products in turns: lists of accelerators, a
 * CBLAS called directly, and cuBLAS by hand.
 *
 * A case is one shape, type and kind of memory. Of a small case the contestants
 * run in turns, and their contexts stay open from case to case. Of a large one
 * they run one after another, each with a context of its own, since they would
 * take each other's memory. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include "base/pool.h"
#include "bench/bench.h"
#include "bench/peers/peer.h"

typedef enum bench_kind {
    BENCH_AUTO,
    BENCH_LIST,
    BENCH_CBLAS,
    BENCH_CUBLAS
} bench_kind;

/* The times of a contestant in one case. */
typedef struct bench_times {
    double first, best, median; /* seconds; NAN: none */
    char note[200];             /* why there are none; "": there are */
} bench_times;

typedef struct bench_contestant {
    bench_kind kind;
    char name[192];
    const bench_setting *setting; /* of the first two kinds */
    hr_context *context;          /* of these, while it is open */
    hri_pool *pool;  /* of a CBLAS: runs a product on each thread; NULL: one
                        product after the other */
    double *seconds; /* of the case's rounds */
    bench_times times[BENCH_PROBLEMS_MAX];
} bench_contestant;

enum { BENCH_CONTESTANTS_MAX = BENCH_SETTINGS_MAX + 4 };

typedef struct bench_turns bench_turns;

struct bench_turns {
    benchmark *bench;
    const char *subject; /* "sizes" */
    bool batch;          /* products by hr_gemm_batch */
    /* Products of a case, after problem has been set. */
    int64_t (*products)(const bench_turns *turns);
    /* Add what a contestant's line of JSON has in the end, or the last cells of
     * a case in the table of the best times. */
    void (*add_line)(const bench_turns *turns, const bench_contestant *c);
    void (*add_cells)(const bench_turns *turns);
    const bench_setting *pinning_setting;
    hr_context *pinning; /* owns pinned memory; NULL if not needed */
    bench_cblas cblas;
    bench_peer cublas;
    char gpu[16]; /* for cuBLAS: the first one of the lists; "": none */
    bench_contestant contestants[BENCH_CONTESTANTS_MAX];
    int count;
    /* the case */
    int problem;
    bench_number number;
    bool pinned;
    bench_operands operands;
};

/* Add a contestant. Returns it, or NULL when out of memory. */
bench_contestant *bench_turns_add(bench_turns *turns, bench_kind kind,
                                  const char *name,
                                  const bench_setting *setting);
/* Add all lists of the benchmark. */
bool bench_turns_add_lists(bench_turns *turns);
/* Add cuBLAS if a list has a GPU of CUDA and the option does not forbid it. */
bool bench_turns_add_cublas(bench_turns *turns);
/* Whether the option wants a peer, of BENCH_WITH_...; both are usual. */
bool bench_turns_wants(const bench_turns *turns, unsigned peer);

/* Measure all kinds of memory, types and problems: print a table of the best
 * times and one of the first calls for each, or lines of JSON. Returns an exit
 * status. */
int bench_turns_run(bench_turns *turns);
/* Accepts a zeroed struct. */
void bench_turns_close(bench_turns *turns);

/* The best time that the contestants of some kinds (1 << BENCH_LIST | ..) had
 * in the case. NAN: none. */
double bench_turns_best(const bench_turns *turns, unsigned kinds);

#endif
