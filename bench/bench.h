/* SPDX-License-Identifier: MIT */
/* Benchmarks: what was asked for, and the lists of accelerators that are
 * measured. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "bench/values.h"
#include "console/args.h"

/* One list of accelerators to measure. */
typedef struct bench_setting {
    char name[160];   /* "4xhost@128MiB" */
    const char *list; /* "4xhost" */
    uint64_t memory_limit;
    uint32_t count;   /* accelerators */
    char device[128]; /* the first one's name */
    char gpus[256];   /* "0,1" when all are GPUs of CUDA, else "" */
    bool host_only;
    bool all_gpus; /* of CUDA or OpenCL */
    bool alike;    /* all accelerators are of the same name */
} bench_setting;

enum { BENCH_SETTINGS_MAX = 16 };

typedef struct bench_options {
    bench_problems sizes, shapes;
    bench_numbers numbers;
    bench_memories memories;
    bench_peers_wish peers;
    const char *accelerators;
    uint64_t memory_limit;
    cli_reach reach;
    bench_grid_wish grid;
    int64_t repeat;
    bool from_files, json;
} bench_options;

typedef struct benchmark {
    bench_options o;
    bench_problems problems;
    bool failed;      /* some row: the exit status says so in the end */
    char lists[4096]; /* what settings point into */
    bench_setting settings[BENCH_SETTINGS_MAX];
    int setting_count;
} benchmark;

/* main.c, dialect/command.c and workloads/copies.c */
extern const cli_command bench_command, bench_dialect, bench_copies;

/* Each measures all problems on all settings. Return exit statuses. */
int bench_matmul(benchmark *bench);  /* workloads/matmul.c */
int bench_kernels(benchmark *bench); /* workloads/kernels.c */
int bench_filter(benchmark *bench);  /* workloads/filter.c */
int bench_grid(benchmark *bench);    /* workloads/grid.c */

/* setting.c: "LIST[@SIZE];..." into settings, each tried once. Returns an exit
 * status. */
int bench_settings(benchmark *bench, const char *lists, uint64_t limit);
/* Or list, which is what HEADRACE_ACCELERATORS says, as the only setting. */
int bench_environment(benchmark *bench, const char *list, uint64_t limit);

/* What each setting is measured with: a context of its own, which is gone
 * before the next one's, as contexts on one device would take its memory from
 * each other. */
int bench_context(const bench_setting *setting, hr_context **context);

/* The members of a row that tell of its setting. */
struct cli_json;
void bench_setting_json(struct cli_json *json, const bench_setting *setting);

#endif
