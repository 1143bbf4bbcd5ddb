/* SPDX-License-Identifier: MIT */
/* headrace bench matmul: contestants that do the same work.
 *
 * A case is one shape, type and kind of memory. In each case peers come first.
 * Then come the lists of accelerators, each in a new context that is destroyed
 * before the next begins. Where all lists only have the host, all contestants
 * run by turns instead. So other work on the machine disturbs all of them. */
#ifndef BENCH_MATMUL_H
#define BENCH_MATMUL_H

#include "bench/bench.h"
#include "bench/peers/peer.h"

typedef enum matmul_kind {
    MATMUL_CBLAS,    /* the CBLAS that Headrace uses, called directly */
    MATMUL_OPENBLAS, /* OpenBLAS with its best core type */
    MATMUL_CUBLASXT, /* cuBLASXt with its best block dimension */
    MATMUL_HEADRACE, /* hr_gemm, in memory */
    MATMUL_COLD,     /* from files that are not in memory, to a file */
    MATMUL_WARM      /* from files that may be in memory */
} matmul_kind;

/* A contestant and its times, in seconds. */
typedef struct matmul_entry {
    matmul_kind kind;
    char name[192];
    char note[200]; /* why there are no times; "": there are times */
    const bench_setting *setting;
    bench_peer *peer;      /* for MATMUL_OPENBLAS */
    int block;             /* for MATMUL_CUBLASXT */
    hr_context *context;   /* for the last three kinds, while they run */
    hr_gemm_report report; /* of the last run; the entry owns the shares */
    double created;        /* seconds to make the context */
    double predicted;      /* by the plan, after the last run */
    hr_gemm_limits limits; /* of its context */
    double memory;         /* bytes/second of copies; 0: not in place */
    double first;          /* the first run */
    int64_t runs;          /* runs after the first */
    double *seconds;       /* of these runs */
    double best, median;   /* of these runs */
    bool verified;
} matmul_entry;

enum { MATMUL_ENTRIES_MAX = 2 + 4 * BENCH_SETTINGS_MAX, MATMUL_FILES = 3 };

typedef struct matmul {
    benchmark *bench;
    const bench_options *options; /* the benchmark's */
    bool in_turns;
    bench_cblas cblas;
    bool has_cblas;
    bench_peer peers[BENCH_PEERS_MAX];
    int peer_count;
    bench_peer xt;
    bool has_xt;
    hr_context *pinned_context; /* of pinned memory; NULL if not needed */
    const bench_setting *owner; /* of that context */
    char folder[512];           /* with from_files: */
    char paths[MATMUL_FILES][600];
    /* the case being measured */
    int64_t m, n, k;
    bench_number number;
    bool pinned;
    bench_operands operands;
    matmul_entry entries[MATMUL_ENTRIES_MAX];
    int entry_count;
} matmul;

/* matmul_print.c: add the rows of some entries, while their contexts are open;
 * and print the case's table. Return exit statuses. */
int matmul_add_rows(const matmul *x, int first, int count);
int matmul_print(const matmul *x);

/* matmul_files.c: make the folder with A.npy and B.npy for the case, and remove
 * it. */
int matmul_files_create(matmul *x);
void matmul_files_remove(matmul *x);

/* Multiply files into a file. Returns an exit status. */
int matmul_files_run(matmul *x, matmul_entry *entry, double *seconds);

#endif
