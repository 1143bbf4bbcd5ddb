/* SPDX-License-Identifier: MIT */
/* Everything that multiplies on the host, compared with the reference: every
 * variant of the built-in kernel that this CPU runs, every CBLAS found, and the
 * library's own choice. */
#ifndef HOST_ENGINE_H
#define HOST_ENGINE_H

#include "backends/host/builtin.h"
#include "backends/host/cblas.h"
#include "base/pool.h"
#include "support/random.h"
#include "support/reference.h"

/* An engine: a variant, a CBLAS, or neither, which is the library's choice. */
typedef struct host_engine {
    char name[100];
    const hri_builtin_variant *variant;
    hri_cblas cblas;
    bool use_cblas;
    long expressed; /* products that the CBLAS offered */
} host_engine;

enum { HOST_ENGINES = 8 };

typedef struct host_engines {
    host_engine engines[HOST_ENGINES];
    int count;
    hri_pool *pool;
} host_engines;

/* Find and print the engines. False when one of them cannot be used. */
bool host_engines_init(host_engines *all);
void host_engines_finish(host_engines *all);

hr_status host_engine_run(host_engines *all, int index, const hri_gemm *gemm);

/* Memory with random elements and poison between them: NaN (all bits set),
 * which would show in the result if it were read. */
typedef struct host_area {
    unsigned char *memory;
    size_t bytes;
    hr_matrix matrix;
} host_area;

/* padding: elements between rows, or columns when transposed. */
host_area host_area_make(random_source *source, hr_type type, int64_t rows,
                         int64_t cols, bool transposed, int64_t padding);
void host_area_finish(host_area *area);

/* The product of a problem with matrices in host memory. */
hri_gemm host_gemm_of(const reference_problem *problem);

/* Whether every engine's product is inside the bound, and only elements of c
 * change. c is where problem->c lies, and is as before afterwards. With beta =
 * 0 the old C is NaN. Prints on stderr what is wrong. */
bool host_engines_are_right(host_engines *all, const reference_problem *problem,
                            host_area *c);

#endif
