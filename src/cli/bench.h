/* SPDX-License-Identifier: MIT */
/* Benchmarks: contestants that do the same work, run in turns. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cblas.h"
#include "operands.h"
#include "peer.h"

typedef struct cli_bench cli_bench;
typedef struct cli_entry cli_entry;

typedef enum cli_entry_kind {
    CLI_ENTRY_CBLAS,    /* the CBLAS that Headrace uses, called directly */
    CLI_ENTRY_OPENBLAS, /* OpenBLAS with its best core type */
    CLI_ENTRY_HEADRACE, /* hr_gemm, in memory */
    CLI_ENTRY_COLD,     /* from files that are not in memory, into a file */
    CLI_ENTRY_WARM      /* from files that may be */
} cli_entry_kind;

/* A contestant and its times. */
struct cli_entry {
    cli_entry_kind kind;
    char name[192];
    hr_context *context;   /* the last three kinds */
    cli_peer *peer;        /* CLI_ENTRY_OPENBLAS */
    hr_gemm_report report; /* of the last run; shares are the entry's own */
    double first;          /* seconds of the first run */
    double *seconds;       /* of the others, sorted in the end */
    bool verified;
};

/* One context to measure. */
typedef struct cli_setting {
    char name[160]; /* "4xhost@128MiB" */
    hr_context *context;
} cli_setting;

enum { CLI_SETTINGS_MAX = 16, CLI_ENTRIES_MAX = 2 + 3 * CLI_SETTINGS_MAX };

struct cli_bench {
    int64_t m, n, k;
    int64_t repeat;
    bool from_files, json;
    cli_setting settings[CLI_SETTINGS_MAX];
    int setting_count;
    cli_cblas cblas;
    bool has_cblas;
    cli_peer peers[CLI_PEERS_MAX];
    int peer_count;
    char folder[512]; /* with from_files */
    hr_type type;     /* being measured, as all that follows */
    cli_operands operands;
    cli_entry entries[CLI_ENTRIES_MAX];
    int entry_count;
};

/* Measure every entry on bench->type and print it. Returns an exit status. */
int cli_bench_type(cli_bench *bench);

/* Print what was measured. Return an exit status. */
int cli_bench_print(const cli_bench *bench);

/* Make the folder with A.npy and B.npy for the type in question; remove it. */
int cli_bench_files_create(cli_bench *bench);
void cli_bench_files_remove(cli_bench *bench);

/* One product from files into a file. Returns an exit status. */
int cli_bench_files_run(cli_bench *bench, cli_entry *entry, double *seconds);

#endif
