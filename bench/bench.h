/* SPDX-License-Identifier: MIT */
/* Benchmarks: their options, the lists of accelerators to measure, and what all
 * workloads share. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "console/json.h"
#include "console/text.h"
#include "console/values.h"

/* ---- options whose values are lists */

enum { BENCH_PROBLEMS_MAX = 32, BENCH_NUMBERS_MAX = 9 };

/* A number type, and how products of it are computed. */
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

/* The kinds of memory for operands: page-locked or not. */
typedef struct bench_memories {
    bool pinned[2];
    int count;
} bench_memories;

/* The peers to measure, too. */
enum {
    BENCH_WITH_CBLAS = 1,
    BENCH_WITH_OPENBLAS = 2,
    BENCH_WITH_CUBLASXT = 4,
    BENCH_WITH_CUBLAS = 8
};

typedef struct bench_peers_wish {
    bool given;
    unsigned peers; /* bits BENCH_WITH_... */
} bench_peers_wish;

/* ---- options of grids */

enum { BENCH_WORKLOADS_MAX = 8 };

typedef struct bench_workloads {
    const struct bench_workload *list[BENCH_WORKLOADS_MAX];
    int count;
} bench_workloads;

typedef struct bench_grid_wish {
    bench_workloads workloads;
    int64_t steps;    /* time steps; 0: the usual number */
    int64_t residual; /* time steps between two residuals; 0: none */
    bool weak;        /* the same number of rows for each accelerator */
} bench_grid_wish;

/* One list of accelerators to measure. */
typedef struct bench_setting {
    char name[160];   /* "4xhost@128MiB" */
    const char *list; /* "4xhost" */
    uint64_t memory_limit;
    uint32_t count;   /* accelerators */
    char device[128]; /* the first one's name */
    char gpus[256];   /* "0,1" when all are GPUs of CUDA, else "" */
    bool host_only;
    bool all_gpus;  /* of CUDA or OpenCL */
    bool same_name; /* all accelerators have the same name */
} bench_setting;

enum { BENCH_SETTINGS_MAX = 16 };

typedef struct bench_options {
    bench_problems sizes, shapes;
    bench_numbers numbers;
    bench_memories memories;
    bench_peers_wish peers;
    const char *accelerators;
    uint64_t memory_limit;
    int64_t threads;  /* 0: not given */
    int64_t batch;    /* products of a batch; 0: not given */
    int64_t elements; /* of views; 0: not given */
    int64_t reach;    /* reach of windows; negative: not given */
    bench_grid_wish grid;
    int64_t repeat;
    bool from_files, json;
    const char *plot; /* the picture to make; NULL: none */
} bench_options;

/* ---- measure.c: rows of results. Each is a line of JSON or a line of a
 * table; and a line of JSON for the picture */

typedef struct bench_rows {
    bool json;    /* instead of a table */
    FILE *plot;   /* also gets lines of JSON; NULL: none */
    bool writing; /* this row becomes JSON */
    bool failed;  /* out of memory: plot lacks a line */
    char *text;   /* with plot: the line */
    size_t bytes;
    bool absent;    /* values that follow have none: JSON omits them, a table
                       has "-" */
    bool first;     /* the first row of the table also makes its heading */
    char align[24]; /* of the columns so far */
    cli_json line;
    cli_table table;
} bench_rows;

/* The units of numbers, and their form in a table. NAN becomes "-" in a table,
 * and null in JSON. */
typedef enum bench_unit {
    BENCH_COUNT,
    BENCH_SECONDS,
    BENCH_MICROSECONDS, /* in a table; given in seconds */
    BENCH_GFLOPS,       /* given in flop/s */
    BENCH_CELLS,        /* a second */
    BENCH_LINK,         /* bytes a second */
    BENCH_BYTES,
    BENCH_RATIO,      /* with 2 decimals */
    BENCH_RATIO_3,    /* with 3 */
    BENCH_PER_CENT,   /* given as a ratio; without decimals */
    BENCH_PER_CENT_1, /* with 1 */
    BENCH_ERROR
} bench_unit;

/* Begin a row of `headrace bench BENCH`. In JSON it begins with what it was
 * measured with. NULL: the row is only for the table. */
void bench_row_begin(bench_rows *rows, const char *bench);
void bench_row_end(bench_rows *rows);

/* Add values to a row. key is the name in JSON (NULL: not in JSON), heading the
 * column of a table (NULL: not in the table). */
void bench_value(bench_rows *rows, const char *key, const char *heading,
                 bench_unit unit, double value);
void bench_text(bench_rows *rows, const char *key, const char *heading,
                const char *text);
void bench_cell(bench_rows *rows, const char *heading, char align,
                const char *text); /* only in a table */
void bench_flag(bench_rows *rows, const char *key, bool known,
                bool value); /* only in JSON; null: not known */
/* Add the values that describe a list of accelerators. Only in JSON. */
void bench_list(bench_rows *rows, const bench_setting *setting);

/* Print and free the table. Returns an exit status. */
int bench_rows_print(bench_rows *rows);

typedef struct benchmark {
    bench_options o;
    bench_problems problems;
    bench_rows rows;
    bool failed;      /* a row failed: the exit status will say so */
    char lists[4096]; /* memory that settings point into */
    bench_setting settings[BENCH_SETTINGS_MAX];
    int setting_count;
} benchmark;

/* main.c, dialect/contest.c and workloads/copies.c */
extern const cli_command bench_command, bench_dialect, bench_copies;

/* Each function measures all problems on all settings, and returns an exit
 * status. */
int bench_matmul(benchmark *bench);  /* workloads/matmul.c */
int bench_batch(benchmark *bench);   /* workloads/turns.c */
int bench_kernels(benchmark *bench); /* workloads/kernels.c */
int bench_filter(benchmark *bench);  /* workloads/filter.c */
int bench_grid(benchmark *bench);    /* workloads/grid.c */
int bench_sizes(benchmark *bench);   /* workloads/turns.c */
int bench_calls(benchmark *bench);   /* workloads/calls.c */
int bench_run(benchmark *bench);     /* workloads/run.c */
int bench_stream(benchmark *bench);  /* workloads/stream.c */

/* setting.c: find the settings and try each list once. They are the option's
 * lists, "LIST[@SIZE];...", else the environment's list, else the usual ones.
 * Returns an exit status. */
int bench_settings(benchmark *bench, const char *usual);

/* Open the context of a setting. It is destroyed before the next setting's is
 * opened: contexts on one device would take its memory from each other. */
int bench_context(const bench_setting *setting, hr_context **context);

/* ---- main.c: the file that HEADRACE_TRACE names. It is held while
 * contexts come and go, so that one sentence tells that it could not be
 * written. */

/* Both return an exit status. `status` is that of what was measured. */
int bench_timeline_begin(void);
int bench_timeline_end(int status);

/* ---- operands.c: random matrices in memory to multiply, and the error of a
 * product */

/* Allocate memory: page-locked by a context, or ordinary if that is NULL. NULL
 * when there is none. */
void *bench_allocate(hr_context *pinned, size_t bytes);
void bench_release(hr_context *pinned, void *memory);

/* Which operands to make. */
typedef struct bench_operands_wish {
    hr_type type, c_type;
    int64_t m, n, k;
    int64_t count; /* of products, whose matrices follow each other; 0: 1 */
    hr_context *pinned; /* page-locks the memory; NULL: ordinary memory */
} bench_operands_wish;

typedef struct bench_operands {
    hr_matrix a, b, c; /* of the first product, row-major and packed; those of
                          the others follow. The struct owns the data */
    int64_t count;     /* of products */
    hr_context *pinned;
} bench_operands;

/* Make the operands, unless they are these already. A zeroed struct has none.
 * False when out of memory or cancelled. */
bool bench_operands_make(bench_operands *operands,
                         const bench_operands_wish *wish);

/* The operands of one product, which own nothing. */
bench_operands bench_operands_at(const bench_operands *operands, int64_t index);

/* Overwrite C with other numbers, so that no earlier result counts for the next
 * product. False when cancelled. */
bool bench_operands_spoil(const bench_operands *operands);

/* Free the operands. Accepts a zeroed struct. The context that page-locked them
 * must still exist. */
void bench_operands_free(bench_operands *operands);

/* The largest |C - A B| over |A| |B|, in double, for about `samples` elements
 * spread over C. Infinite when one is no number. All three are packed by rows,
 * of f32, f64, c32 or c64. */
double bench_product_error(hr_matrix a, hr_matrix b, hr_matrix c,
                           int64_t samples);

/* ---- workloads/grid_rates.c */

/* Bytes that all accelerators together read and write in a second. Each copies
 * from one array of its own to another. Those are larger than caches, also of
 * GPUs if gpus says so, or what its memory allows. Returns an exit status. */
int bench_copy_rate(hr_context *context, bool gpus, double *rate);

/* ---- measure.c: the CPU, and statistics of times */

/* The CPU's name and the number of CPUs in use. */
void bench_cpu_name(char *name, size_t size);

/* The best and the median of one or more times. It sorts them. */
void bench_sum_up(double *seconds, int64_t count, double *best, double *median);

/* Time calls: 2, 4, 8 .. in a row until they take a millisecond, after a call
 * that warms caches and threads; or that one alone if it takes 0.05 s. *seconds
 * is the time of one. False as soon as a call returns false. */
bool bench_time_calls(bool (*call)(void *data), void *data, double *seconds);

/* Wait until the threads of what ran before stop spinning, in this process or
 * another: OpenBLAS's do so for about 0.1 s, OpenMP's for milliseconds. Less
 * than a second. */
void bench_rest(double seconds);

/* Note a time: of the first run (0), or the best of later ones. */
void bench_note(int64_t run, double seconds, double *first, double *best);

#endif
