/* SPDX-License-Identifier: MIT */
/* Benchmarks: what was asked for, the lists of accelerators that are measured,
 * and what all workloads share. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "console/json.h"
#include "console/text.h"
#include "console/values.h"

/* ---- values.c: the lists that options take */

enum { BENCH_PROBLEMS_MAX = 32, BENCH_NUMBERS_MAX = 9 };

/* A kind of product. */
typedef struct bench_number {
    const char *name; /* "tf32" is f32 with HR_COMPUTE_TF32 */
    hr_type type, c_type;
    hr_compute compute;
} bench_number;

typedef struct bench_numbers {
    bench_number list[BENCH_NUMBERS_MAX];
    int count;
} bench_numbers;

/* Extents m, k, n. */
typedef struct bench_problems {
    cli_shape list[BENCH_PROBLEMS_MAX];
    int count;
} bench_problems;

/* Of operands: page-locked or not. */
typedef struct bench_memories {
    bool pinned[2];
    int count;
} bench_memories;

/* Who else to measure. */
enum { BENCH_WITH_CBLAS = 1, BENCH_WITH_OPENBLAS = 2, BENCH_WITH_CUBLASXT = 4 };

typedef struct bench_peers_wish {
    bool given;
    unsigned who; /* bits of the above */
} bench_peers_wish;

/* ---- of grids */

enum { BENCH_WORKLOADS_MAX = 8 };

typedef struct bench_workloads {
    const struct bench_workload *list[BENCH_WORKLOADS_MAX];
    int count;
} bench_workloads;

typedef struct bench_grid_wish {
    bench_workloads workloads;
    int64_t steps;    /* time steps; 0: as many as are usual */
    int64_t residual; /* time steps from one to the next; 0: none */
    bool weak;        /* as many rows for each accelerator */
} bench_grid_wish;

extern const cli_kind bench_sizes;       /* bench_problems: "512,1024" */
extern const cli_kind bench_shapes;      /* bench_problems: "MxKxN,MxKxN" */
extern const cli_kind bench_number_list; /* bench_numbers: "f32,tf32" */
extern const cli_kind bench_memory_list; /* bench_memories */
extern const cli_kind bench_peers_list;  /* bench_peers_wish */
extern const cli_kind bench_repeats;     /* int64_t: from 1 to 10000 */
extern const cli_kind bench_steps;       /* int64_t: from 1 to 10^9 */
extern const cli_kind bench_period;      /* int64_t: from 0 to 10^9 */

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
    bool equal;    /* all accelerators are of the same name */
} bench_setting;

enum { BENCH_SETTINGS_MAX = 16 };

typedef struct bench_options {
    bench_problems sizes, shapes;
    bench_numbers numbers;
    bench_memories memories;
    bench_peers_wish peers;
    const char *accelerators;
    uint64_t memory_limit;
    int64_t reach; /* of windows; negative: not given */
    bench_grid_wish grid;
    int64_t repeat;
    bool from_files, json;
} bench_options;

/* ---- measure.c: rows of results, each a line of JSON or a line of a table */

typedef struct bench_rows {
    bool json;
    bool absent;    /* what follows: JSON leaves it out, a table has "-" */
    bool first;     /* this row is the table's first, which makes the heading */
    char align[24]; /* of the columns so far */
    cli_json line;
    cli_table table;
} bench_rows;

/* How a number reads in a table; NAN is "-" there, and null in JSON. */
typedef enum bench_unit {
    BENCH_COUNT,
    BENCH_SECONDS,
    BENCH_GFLOPS, /* given in flop/s */
    BENCH_CELLS,  /* a second */
    BENCH_LINK,   /* bytes a second */
    BENCH_BYTES,
    BENCH_RATIO,      /* with 2 decimals */
    BENCH_RATIO_3,    /* with 3 */
    BENCH_PER_CENT,   /* given as a ratio; without decimals */
    BENCH_PER_CENT_1, /* with 1 */
    BENCH_ERROR
} bench_unit;

/* A row of `headrace bench BENCH`: in JSON begun with what it was measured
 * with. */
void bench_row_begin(bench_rows *rows, const char *bench);
void bench_row_end(bench_rows *rows);

/* Its members, with their keys in JSON (NULL: not there), which are its cells
 * where they have a heading (NULL: not there). */
void bench_value(bench_rows *rows, const char *key, const char *heading,
                 bench_unit unit, double value);
void bench_text(bench_rows *rows, const char *key, const char *heading,
                const char *text);
void bench_cell(bench_rows *rows, const char *heading, char align,
                const char *text); /* of a table only */
void bench_flag(bench_rows *rows, const char *key, bool known,
                bool value); /* of JSON only; null: not known */
/* Those that tell of its list of accelerators, in JSON only. */
void bench_list(bench_rows *rows, const bench_setting *setting);

/* Print and free the table. Returns an exit status. */
int bench_rows_print(bench_rows *rows);

typedef struct benchmark {
    bench_options o;
    bench_problems problems;
    bench_rows rows;
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

/* setting.c: what is measured, each list tried once: the option's lists,
 * "LIST[@SIZE];...", else the environment's one, else the usual ones. Returns
 * an exit status. */
int bench_settings(benchmark *bench, const char *usual);

/* What each setting is measured with: a context of its own, which is gone
 * before the next one's, as contexts on one device would take its memory from
 * each other. */
int bench_context(const bench_setting *setting, hr_context **context);

/* ---- operands.c: random matrices in memory, to be multiplied, and what a
 * product is off by */

/* Memory that is page-locked by a context, or with NULL ordinary; NULL when
 * there is none. */
void *bench_allocate(hr_context *pinned, size_t bytes);
void bench_release(hr_context *pinned, void *memory);

/* What is wanted. */
typedef struct bench_operands_wish {
    hr_type type, c_type;
    int64_t m, n, k;
    hr_context *pinned; /* page-locked by it; NULL: ordinary */
} bench_operands_wish;

typedef struct bench_operands {
    hr_matrix a, b, c; /* row-major and packed; data is this struct's own */
    hr_context *pinned;
} bench_operands;

/* Make them, unless they are such operands already: zeroed ones are not. False
 * when out of memory, or cancelled. */
bool bench_operands_make(bench_operands *operands,
                         const bench_operands_wish *wish);

/* Other numbers into C, so that no result of before is taken for the next one.
 * False when cancelled. */
bool bench_operands_spoil(const bench_operands *operands);

/* May be called for a zeroed struct. The context in question is still there. */
void bench_operands_free(bench_operands *operands);

/* Of about so many elements of C, spread over it, the largest |C - A B| over
 * |A| |B|, in double; infinite when one is no number. All three are packed by
 * rows, of f32, f64, c32 or c64. */
double bench_product_error(hr_matrix a, hr_matrix b, hr_matrix c,
                           int64_t samples);

/* ---- measure.c: what a measurement was made on, and what times come to */

/* The CPU's name and the number of processors in use. */
void bench_cpu_name(char *name, size_t size);

/* Of one time or more; puts them into order. */
void bench_sum_up(double *seconds, int64_t count, double *best, double *median);

/* Note a time: that of the first run (0), or the best of those after it. */
void bench_note(int64_t run, double seconds, double *first, double *best);

#endif
