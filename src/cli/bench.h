/* SPDX-License-Identifier: MIT */
/* Benchmarks: contestants that do the same work.
 *
 * A case is one shape, type and kind of memory. In each, peers come first and
 * then the lists of accelerators, each in a new context that is gone before the
 * next begins, because contexts that share a device would take its memory from
 * each other. Where all lists are of the host alone, all contestants run in
 * turns instead, so that whatever else the machine does meets all of them. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "bench_values.h"
#include "cblas.h"
#include "cublasxt.h"
#include "operands.h"
#include "peer.h"

typedef enum cli_entry_kind {
    CLI_ENTRY_CBLAS,    /* the CBLAS that Headrace uses, called directly */
    CLI_ENTRY_OPENBLAS, /* OpenBLAS with its best core type */
    CLI_ENTRY_CUBLASXT, /* cuBLASXt with its best block dimension */
    CLI_ENTRY_HEADRACE, /* hr_gemm, in memory */
    CLI_ENTRY_COLD,     /* from files that are not in memory, into a file */
    CLI_ENTRY_WARM      /* from files that may be */
} cli_entry_kind;

/* One list of accelerators to measure. */
typedef struct cli_setting {
    char name[160];   /* "4xhost@128MiB" */
    const char *list; /* "4xhost" */
    uint64_t memory_limit;
    uint32_t count;   /* accelerators */
    char device[128]; /* the first one's name */
    char gpus[256];   /* "0,1" when all are GPUs of CUDA, else "" */
    bool host_only;
    bool all_gpus; /* of CUDA or OpenCL */
    bool alike;    /* all accelerators are of the same name */
} cli_setting;

/* A contestant and its times, in seconds. */
typedef struct cli_entry {
    cli_entry_kind kind;
    char name[192];
    char note[200]; /* why there are no times; "": there are */
    const cli_setting *setting;
    cli_peer *peer;        /* CLI_ENTRY_OPENBLAS */
    int block;             /* CLI_ENTRY_CUBLASXT */
    hr_context *context;   /* the last three kinds, while they run */
    hr_gemm_report report; /* of the last run; shares are the entry's own */
    double created;        /* making the context */
    double predicted;      /* by the plan, after the last run */
    hr_gemm_limits limits; /* of its context */
    double first;          /* the first run */
    int64_t runs;          /* after it */
    double *seconds;       /* of the others */
    double best, median;   /* of these */
    bool verified;
} cli_entry;

enum { CLI_SETTINGS_MAX = 16, CLI_ENTRIES_MAX = 2 + 4 * CLI_SETTINGS_MAX };

typedef struct cli_bench {
    cli_problems problems;
    cli_numbers numbers;
    cli_memories memories;
    int64_t repeat;
    bool from_files, json, in_turns;
    bool failed;      /* some row: the exit status says so in the end */
    char lists[4096]; /* what settings point into */
    cli_setting settings[CLI_SETTINGS_MAX];
    int setting_count;
    unsigned who; /* of cli_peers_wish */
    cli_cblas cblas;
    bool has_cblas;
    cli_peer peers[CLI_PEERS_MAX];
    int peer_count;
    cli_xt xt;
    bool has_xt;
    hr_context *keeper; /* of pinned memory; NULL when none is asked for */
    char folder[512];   /* with from_files */
    /* the case being measured */
    int64_t m, n, k;
    cli_number number;
    bool pinned;
    cli_operands operands;
    cli_entry entries[CLI_ENTRIES_MAX];
    int entry_count;
} cli_bench;

/* bench_setting.c: "LIST[@SIZE];..." into settings, each tried once. Returns an
 * exit status. */
int cli_bench_settings(cli_bench *bench, const char *lists, uint64_t limit);
/* Or list, which is what HEADRACE_ACCELERATORS says, as the only setting. */
int cli_bench_environment(cli_bench *bench, const char *list, uint64_t limit);

/* bench_run.c: measure every entry of the case and print it. Returns an exit
 * status. */
int cli_bench_case(cli_bench *bench);

/* bench_kernels.c: the kernels of kernels/dialect/matmul.c on every accelerator
 * of the settings, for all problems. Returns an exit status. */
int cli_bench_kernels(cli_bench *bench);

/* bench_filter.c: filters by windows of this reach on every list of the
 * settings, for pictures of MxN of all problems. Returns an exit status. */
int cli_bench_filter(cli_bench *bench, int64_t reach);

/* bench_entry.c: who takes part in the case; memory for their times. */
void cli_bench_add_entries(cli_bench *bench);
bool cli_bench_allocate(cli_bench *bench);
void cli_bench_release(cli_bench *bench);
/* Let the threads of the contestant before, in this process or another, stop
 * spinning in wait for more: OpenBLAS's do so for about 0.1 s. */
void cli_bench_pause(void);

/* bench_print.c: the rows of some entries, whose contexts are still there, as
 * JSON; the case as a table. Return an exit status. */
int cli_bench_write(const cli_bench *bench, int first, int count);
int cli_bench_print(const cli_bench *bench);

/* bench_files.c: make the folder with A.npy and B.npy for the case; remove it.
 */
int cli_bench_files_create(cli_bench *bench);
void cli_bench_files_remove(cli_bench *bench);

/* One product from files into a file. Returns an exit status. */
int cli_bench_files_run(cli_bench *bench, cli_entry *entry, double *seconds);

#endif
