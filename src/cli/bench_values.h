/* SPDX-License-Identifier: MIT */
/* The lists that bench's options take. */
#ifndef CLI_BENCH_VALUES_H
#define CLI_BENCH_VALUES_H

#include "values.h"

enum { CLI_PROBLEMS_MAX = 32, CLI_NUMBERS_MAX = 9 };

/* A kind of product. */
typedef struct cli_number {
    const char *name; /* "tf32" is f32 with HR_COMPUTE_TF32 */
    hr_type type, c_type;
    hr_compute compute;
} cli_number;

typedef struct cli_numbers {
    cli_number list[CLI_NUMBERS_MAX];
    int count;
} cli_numbers;

/* Extents m, k, n. */
typedef struct cli_problems {
    cli_shape list[CLI_PROBLEMS_MAX];
    int count;
} cli_problems;

/* Of operands: page-locked or not. */
typedef struct cli_memories {
    bool pinned[2];
    int count;
} cli_memories;

/* Who else to measure. */
enum { CLI_WITH_CBLAS = 1, CLI_WITH_OPENBLAS = 2, CLI_WITH_CUBLASXT = 4 };

typedef struct cli_peers_wish {
    bool given;
    unsigned who; /* bits of the above */
} cli_peers_wish;

extern const cli_kind cli_sizes;       /* cli_problems: "512,1024" */
extern const cli_kind cli_shapes;      /* cli_problems: "MxKxN,MxKxN" */
extern const cli_kind cli_number_list; /* cli_numbers: "f32,tf32" */
extern const cli_kind cli_memory_list; /* cli_memories */
extern const cli_kind cli_peers_list;  /* cli_peers_wish */
extern const cli_kind cli_repeats;     /* int64_t: from 1 to 10000 */
extern const cli_kind cli_steps;       /* int64_t: from 1 to 10^9 */
extern const cli_kind cli_period;      /* int64_t: from 0 to 10^9 */

/* Hand each word of a list to `take`; false when one is refused, is empty or
 * too long. */
bool cli_take_words(const char *text, bool (*take)(const char *, void *),
                    void *field);

/* f32 and f64. */
extern const cli_numbers cli_default_numbers;

#endif
