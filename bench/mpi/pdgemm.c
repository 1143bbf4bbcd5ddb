/* SPDX-License-Identifier: MIT */
/* pdgemm_ of Headrace beside that of ScaLAPACK, and of COSMA if a variable
 * names its library, on the same random matrices in the same processes, in
 * turns:
 *
 *     COSMA=.../libcosma_prefixed_pxgemm.so \
 *         mpirun -n 4 bench_pdgemm_openmpi [M N K [BLOCK [TURNS]]]
 *
 * Prints the first call and the best one of each, in seconds of the slowest
 * process, and the others' best over Headrace's. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blacs.h"

typedef struct matrix {
    int descriptor[9];
    double *data;
    size_t count;
} matrix;

static int rank, process_count;

static void fail(const char *why)
{
    fprintf(stderr, "bench_pdgemm: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static matrix make(int context, int rows, int cols, int block)
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

/* The seconds of the slowest process. */
static double run(gemm *function, const int size[3], matrix *a, matrix *b,
                  matrix *c)
{
    const int one = 1;
    const double alpha = 1.0, beta = 0.0;
    double seconds, slowest;
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    function("N", "N", &size[0], &size[1], &size[2], &alpha, a->data, &one,
             &one, a->descriptor, b->data, &one, &one, b->descriptor, &beta,
             c->data, &one, &one, c->descriptor);
    seconds = MPI_Wtime() - start;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

/* The greatest difference of two results. */
static double compare(const matrix *one, const matrix *other)
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

enum { HEADRACE, SCALAPACK, COSMA, LIBRARIES };
static const char *const names[LIBRARIES] = {"Headrace", "ScaLAPACK", "COSMA"};

static void measure(gemm *const functions[LIBRARIES], const int size[3],
                    int block, int turns)
{
    int context, rows = (int)sqrt((double)process_count);
    while (process_count % rows != 0) {
        rows--;
    }
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, process_count / rows);
    matrix a = make(context, size[0], size[2], block);
    matrix b = make(context, size[2], size[1], block);
    matrix c[LIBRARIES];
    double first[LIBRARIES] = {0.0}, best[LIBRARIES];
    for (int f = 0; f < LIBRARIES; f++) {
        c[f] = make(context, size[0], size[1], block);
        best[f] = INFINITY;
    }
    for (int t = 0; t < turns; t++) {
        for (int f = 0; f < LIBRARIES; f++) {
            if (functions[f] != NULL) {
                const double seconds = run(functions[f], size, &a, &b, &c[f]);
                first[f] = t == 0 ? seconds : first[f];
                best[f] = fmin(best[f], seconds);
            }
        }
    }
    if (rank == 0) {
        printf("%d x %d x %d, blocks of %d, %d x %d processes", size[0],
               size[1], size[2], block, rows, process_count / rows);
    }
    for (int f = 0; f < LIBRARIES; f++) {
        const double difference =
            functions[f] != NULL ? compare(&c[HEADRACE], &c[f]) : 0.0;
        if (rank == 0 && functions[f] != NULL) {
            printf("; %s first %.3g best %.3g", names[f], first[f], best[f]);
        }
        if (rank == 0 && functions[f] != NULL && f != HEADRACE) {
            printf(", over ours %.2f, difference %.2g",
                   best[f] / best[HEADRACE], difference);
        }
    }
    if (rank == 0) {
        printf("\n");
        fflush(stdout);
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
    gemm *const functions[LIBRARIES] = {pdgemm_, find_own(), find_cosma()};
    for (int i = 1; i < argc && i <= TURNS; i++) {
        argument[i] = atoi(argv[i]);
    }
    if (argument[1] < 1 || argument[2] < 1 || argument[3] < 1 ||
        argument[BLOCK] < 1 || argument[TURNS] < 1) {
        fail("M N K BLOCK TURNS must be 1 or more");
    }
    measure(functions, argument + 1, argument[BLOCK], argument[TURNS]);
    Cblacs_exit(0);
    return 0;
}
