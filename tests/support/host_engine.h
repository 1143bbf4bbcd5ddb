/* SPDX-License-Identifier: MIT */
/* Everything that multiplies on the host, against the reference: every variant
 * of the built-in kernel that this CPU runs, every CBLAS that is here, and what
 * the library itself chooses. */
#ifndef HOST_ENGINE_H
#define HOST_ENGINE_H

#include "backends/host/builtin.h"
#include "backends/host/cblas.h"
#include "base/pool.h"
#include "support/random.h"
#include "support/reference.h"

/* What multiplies: a variant, a CBLAS, or neither, the library's choice. */
typedef struct host_engine {
    char name[100];
    const hri_builtin_variant *variant;
    hri_cblas cblas;
    bool use_cblas;
    long expressed; /* products that the CBLAS had words for */
} host_engine;

enum { HOST_ENGINES = 8 };

typedef struct host_engines {
    host_engine engines[HOST_ENGINES];
    int count;
    hri_pool *pool;
} host_engines;

/* Find them, and tell which there are; false when one that is there cannot be
 * used. */
bool host_engines_init(host_engines *all);
void host_engines_finish(host_engines *all);

hr_status host_engine_run(host_engines *all, int index, const hri_gemm *gemm);

/* Memory in which everything between the elements, which are random, is poison:
 * NaN (all bits set), which would show in the result if it were read. */
typedef struct host_area {
    unsigned char *memory;
    size_t bytes;
    hr_matrix matrix;
} host_area;

/* padding: elements between rows, or columns when transposed. */
host_area host_area_make(random_source *source, hr_type type, int64_t rows,
                         int64_t cols, bool transposed, int64_t padding);
void host_area_finish(host_area *area);

/* The product of a problem whose matrices are in host memory. */
hri_gemm host_gemm_of(const reference_problem *problem);

/* Whether every engine's product is inside the bound, and nothing of c but its
 * elements changes: c is where problem->c lies, and as it was afterwards. With
 * beta = 0 the old C is NaN. Tells on stderr what is wrong. */
bool host_engines_are_right(host_engines *all, const reference_problem *problem,
                            host_area *c);

#endif
