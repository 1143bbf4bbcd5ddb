/* SPDX-License-Identifier: MIT */
/* pdgemm_ of Headrace beside that of ScaLAPACK, and of COSMA if a variable
 * names its library, on the same random matrices in the same processes, in
 * turns:
 *
 *     COSMA=.../libcosma_prefixed_pxgemm.so HEADRACE_BLAS_MIN_FLOPS=0 \
 *         mpirun -n 4 bench_pdgemm_openmpi [M N K [BLOCK [TURNS]]]
 *
 * Prints the first call and the best one of each, in seconds of the slowest
 * process, and the others' best over Headrace's. Behind it are the bytes that
 * the last call sent between processes, and their ratio to the fewest that any
 * schedule needs (see hr_mpi_gemm). The first call of Headrace sends more,
 * since it measures how fast messages are.
 *
 * What Headrace sends depends on that. Processes that share CPUs have slow
 * messages, so the row "planned" is Headrace with the grid of processes that it
 * chooses for machines of a cluster, given by the numbers in plan_cluster. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/processes.h>

#include "blacs.h"
#include "processes.h"
#include "sent.h"

typedef struct matrix {
    int descriptor[9];
    double *data;
    size_t count;
} matrix;

static matrix make_matrix(int context, int rows, int cols, int block)
{
    const int zero = 0;
    int p, q, i, j;
    Cblacs_gridinfo(context, &p, &q, &i, &j);
    const int high = numroc_(&rows, &block, &i, &zero, &p);
    const int wide = numroc_(&cols, &block, &j, &zero, &q);
    const int leading = high > 0 ? high : 1;
    matrix m = {
        .descriptor = {1, context, rows, cols, block, block, 0, 0, leading},
        .count = (size_t)high * (size_t)wide};
    m.data = malloc((m.count + 1) * sizeof *m.data);
    if (m.data == NULL) {
        fail("no memory for a matrix");
    }
    for (size_t e = 0; e < m.count; e++) {
        m.data[e] = (double)rand() / RAND_MAX - 0.5;
    }
    return m;
}

/* The times, and bytes that all sent in the last call. */
typedef struct result {
    times of;
    uint64_t sent;
} result;

static void time_call(gemm *function, const int size[3], matrix *a, matrix *b,
                      matrix *c, result *r)
{
    const int one = 1;
    const double alpha = 1.0, beta = 0.0;
    MPI_Barrier(MPI_COMM_WORLD);
    const uint64_t before = sent_bytes();
    const double start = MPI_Wtime();
    function("N", "N", &size[0], &size[1], &size[2], &alpha, a->data, &one,
             &one, a->descriptor, b->data, &one, &one, b->descriptor, &beta,
             c->data, &one, &one, c->descriptor);
    const uint64_t sent = sent_bytes() - before;
    note_time(&r->of, start);
    MPI_Allreduce(&sent, &r->sent, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* The greatest difference of two results. */
static double compare_results(const matrix *one, const matrix *other)
{
    double most = 0.0, all;
    for (size_t e = 0; e < one->count; e++) {
        most = fmax(most, fabs(one->data[e] - other->data[e]));
    }
    MPI_Allreduce(&most, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* What ScaLAPACK itself has. */
static gemm *find_own(void)
{
    Dl_info info;
    void (*blacs)(int *, int *) = Cblacs_pinfo;
    void *address, *library, *found;
    gemm *function = NULL;
    memcpy(&address, &blacs, sizeof address);
    if (dladdr(address, &info) == 0) {
        fail("ScaLAPACK is no shared library");
    }
    library = dlopen(info.dli_fname, RTLD_NOW);
    found = library != NULL ? dlsym(library, "pdgemm_") : NULL;
    memcpy(&function, &found, sizeof found);
    if (function == NULL) {
        fail("ScaLAPACK has no pdgemm_");
    }
    if (function == pdgemm_) {
        fail("libheadrace_pblas is not linked before ScaLAPACK");
    }
    return function;
}

/* What COSMA has; NULL: it is not asked for. */
static gemm *find_cosma(void)
{
    const char *name = getenv("COSMA");
    gemm *function = NULL;
    if (name == NULL) {
        return NULL;
    }
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    void *found = library != NULL ? dlsym(library, "cosma_pdgemm_") : NULL;
    if (found == NULL) {
        fail(dlerror());
    }
    memcpy(&function, &found, sizeof found);
    return function;
}

/* ---- Headrace as in a cluster */

static hr_mpi_context *own;
static hr_mpi_gemm_options as_planned = HR_MPI_GEMM_OPTIONS_INIT;

/* *blocks is what it borrows. data NULL: for a plan. */
static hr_mpi_matrix matrix_of(const int d[9], void *data,
                               hr_mpi_cyclic *blocks)
{
    int p, q, i, j;
    Cblacs_gridinfo(d[1], &p, &q, &i, &j);
    *blocks = (hr_mpi_cyclic){.row_block = d[4],
                              .col_block = d[5],
                              .process_rows = p,
                              .process_cols = q,
                              .data = data,
                              .leading_dimension = data != NULL ? d[8] : d[2]};
    return hr_mpi_matrix_cyclic(HR_F64, d[2], d[3], blocks);
}

static hr_mpi_gemm_report plan_with(hr_mpi_context *context,
                                    const hr_mpi_gemm_options *options,
                                    const matrix *a, const matrix *b,
                                    const matrix *c)
{
    hr_mpi_cyclic blocks[3];
    hr_mpi_gemm_report report = HR_MPI_GEMM_REPORT_INIT;
    require_ok(hr_mpi_gemm_plan(
        context, hr_real(1), matrix_of(a->descriptor, NULL, &blocks[0]),
        matrix_of(b->descriptor, NULL, &blocks[1]), hr_real(0),
        matrix_of(c->descriptor, NULL, &blocks[2]), options, &report));
    return report;
}

/* Plan for a cluster. Returns the fewest bytes that any schedule needs, which
 * do not depend on its numbers. */
static uint64_t plan_cluster(const matrix *a, const matrix *b, const matrix *c)
{
    const hr_mpi_cluster cluster = {.size = sizeof cluster,
                                    .count = process_count,
                                    .memory_bytes = (uint64_t)64 << 30,
                                    .flops_per_second = 1e12,
                                    .latency_seconds = 2e-6,
                                    .bytes_per_second = 1.25e9};
    hr_mpi_context *context = NULL;
    require_ok(hr_mpi_context_create_model(&cluster, &context));
    const hr_mpi_gemm_report fastest = plan_with(context, &as_planned, a, b, c);
    /* The bound is one of the processes that multiply: here all do. */
    as_planned.rows = process_count;
    as_planned.cols = as_planned.depth = 1;
    const uint64_t bound = plan_with(context, &as_planned, a, b, c).bound;
    hr_mpi_context_destroy(context);
    as_planned.rows = fastest.rows;
    as_planned.cols = fastest.cols;
    as_planned.depth = fastest.depth;
    return bound;
}

static gemm planned;
/* NOLINTNEXTLINE(readability-function-size): PBLAS has so many parameters */
static void planned(const char *op_a, const char *op_b, const int *m,
                    const int *n, const int *k, const void *alpha, void *a,
                    const int *ia, const int *ja, const int *desca, void *b,
                    const int *ib, const int *jb, const int *descb,
                    const void *beta, void *c, const int *ic, const int *jc,
                    const int *descc)
{
    hr_mpi_cyclic blocks[3];
    (void)op_a, (void)op_b, (void)m, (void)n, (void)k, (void)alpha, (void)beta;
    (void)ia, (void)ja, (void)ib, (void)jb, (void)ic, (void)jc;
    require_ok(hr_mpi_gemm(own, hr_real(1), matrix_of(desca, a, &blocks[0]),
                           matrix_of(descb, b, &blocks[1]), hr_real(0),
                           matrix_of(descc, c, &blocks[2]), &as_planned));
}

/* ---- all of them */

enum { HEADRACE, PLANNED, SCALAPACK, COSMA, LIBRARIES };
static const char *const names[LIBRARIES] = {"Headrace", "planned", "ScaLAPACK",
                                             "COSMA"};

static void print_results(const result r[LIBRARIES],
                          const double difference[LIBRARIES], uint64_t bound)
{
    for (int f = 0; f < LIBRARIES; f++) {
        if (r[f].of.best > 0.0) {
            printf("%-9s first %8.3g best %8.3g s", names[f], r[f].of.first,
                   r[f].of.best);
            printf(", over ours %5.2f, difference %7.2g",
                   r[f].of.best / r[HEADRACE].of.best, difference[f]);
            printf(", sent %llu bytes", (unsigned long long)r[f].sent);
            if (bound > 0) {
                printf(", %.3f of the bound",
                       (double)r[f].sent / (double)bound);
            }
            printf("\n");
        }
    }
    fflush(stdout);
}

static void measure_all(gemm *const functions[LIBRARIES], const int size[3],
                        int block, int turns)
{
    const int rows = process_rows(), cols = process_count / rows;
    int context;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, cols);
    matrix a = make_matrix(context, size[0], size[2], block);
    matrix b = make_matrix(context, size[2], size[1], block);
    matrix c[LIBRARIES];
    result r[LIBRARIES] = {{{0}, 0}};
    double difference[LIBRARIES] = {0.0};
    for (int f = 0; f < LIBRARIES; f++) {
        c[f] = make_matrix(context, size[0], size[1], block);
    }
    const uint64_t bound = plan_cluster(&a, &b, &c[0]);
    for (int t = 0; t < turns; t++) {
        for (int f = 0; f < LIBRARIES; f++) {
            if (functions[f] != NULL) {
                time_call(functions[f], size, &a, &b, &c[f], &r[f]);
            }
        }
    }
    for (int f = 0; f < LIBRARIES; f++) {
        difference[f] =
            functions[f] != NULL ? compare_results(&c[HEADRACE], &c[f]) : 0.0;
    }
    if (rank == 0) {
        printf("%d x %d x %d, blocks of %d, %d x %d processes\n", size[0],
               size[1], size[2], block, rows, cols);
        print_results(r, difference, bound);
    }
    for (int f = 0; f < LIBRARIES; f++) {
        free(c[f].data);
    }
    free(a.data);
    free(b.data);
    Cblacs_gridexit(context);
}

int main(int argc, char **argv)
{
    enum { BLOCK = 4, TURNS = 5 };
    int argument[TURNS + 1] = {0, 2048, 2048, 2048, 128, 5};
    Cblacs_pinfo(&rank, &process_count);
    gemm *const functions[LIBRARIES] = {pdgemm_, planned, find_own(),
                                        find_cosma()};
    for (int i = 1; i < argc && i <= TURNS; i++) {
        argument[i] = atoi(argv[i]);
    }
    if (argument[1] < 1 || argument[2] < 1 || argument[3] < 1 ||
        argument[BLOCK] < 1 || argument[TURNS] < 1) {
        fail("M N K BLOCK TURNS must be 1 or more");
    }
    require_ok(hr_mpi_context_create_world(NULL, &own));
    measure_all(functions, argument + 1, argument[BLOCK], argument[TURNS]);
    hr_mpi_context_destroy(own);
    Cblacs_exit(0);
    return 0;
}
