/* SPDX-License-Identifier: MIT */
/* A product of floats over processes beside what it consists of, in turns: the
 * products of its parts without messages, as many bytes without products, and
 * the same product by process 0 alone with all accelerators of the machine:
 *
 *     mpirun -n 2 bench_gemm_openmpi [M N K [TURNS [alone]]]
 *
 * Matrices lie in one block for each process. Prints the first and the best
 * time of each, the larger of products and messages over the time of the whole,
 * and one process's time over that of all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <headrace/headrace.h>
#include <headrace/mpi.h>

#include "processes.h"

/* ---- matrices of values that depend on their place alone */

typedef struct matrix {
    int64_t rows, cols; /* of the whole */
    int seed;
    hr_mpi_cyclic blocks;
    int64_t row, col, high, wide; /* this process's block */
    float *data;                  /* by columns */
} matrix;

static float value_at(int seed, int64_t row, int64_t col)
{
    uint64_t x = (uint64_t)row * 0x9e3779b97f4a7c15u +
                 (uint64_t)col * 0xc2b2ae3d27d4eb4fu + (uint64_t)seed;
    x = (x ^ (x >> 31)) * 0xff51afd7ed558ccdu;
    return (float)(int64_t)(x >> 40) / (float)(1 << 23) - 1.0f;
}

static float *make_values(int seed, int64_t row, int64_t col, int64_t high,
                          int64_t wide)
{
    float *data = malloc((size_t)(high * wide + 1) * sizeof *data);
    if (data == NULL) {
        fail("no memory");
    }
    for (int64_t j = 0; j < wide; j++) {
        for (int64_t i = 0; i < high; i++) {
            data[j * high + i] = value_at(seed, row + i, col + j);
        }
    }
    return data;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static matrix make_matrix(int64_t rows, int64_t cols, int seed)
{
    const int high = process_rows(), wide = process_count / high;
    const int64_t height = (rows + high - 1) / high,
                  width = (cols + wide - 1) / wide;
    matrix m = {.rows = rows, .cols = cols, .seed = seed};
    m.row = least(rank / wide * height, rows);
    m.col = least(rank % wide * width, cols);
    m.high = least(height, rows - m.row);
    m.wide = least(width, cols - m.col);
    m.data = make_values(seed, m.row, m.col, m.high, m.wide);
    m.blocks = (hr_mpi_cyclic){.row_block = height,
                               .col_block = width,
                               .process_rows = high,
                               .process_cols = wide,
                               .data = m.data,
                               .leading_dimension = m.high > 0 ? m.high : 1};
    return m;
}

static hr_mpi_matrix matrix_of(const matrix *m)
{
    return hr_mpi_matrix_cyclic(HR_F32, m->rows, m->cols, &m->blocks);
}

/* ---- times */

/* Wait for all, without work for the CPU, which another process may need. */
static void meet_all(void)
{
    const struct timespec moment = {.tv_nsec = 200000};
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; !done;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            (void)nanosleep(&moment, NULL);
        }
    }
}

typedef struct bench {
    hr_mpi_context *context;
    hr_context *all; /* of process 0, with all accelerators */
    int64_t m, n, k;
    matrix a, b, c;
    hr_mpi_gemm_report report;
    hr_matrix part[3], whole[3]; /* of the second kind in process 0 */
    char *bytes;
    times of_whole, of_parts, of_messages, of_one;
} bench;

static hr_matrix random_matrix(int64_t rows, int64_t cols, int seed)
{
    return hr_matrix_column_major(make_values(seed, 0, 0, rows, cols), HR_F32,
                                  rows, cols, 0);
}

/* As many panels as this process multiplies. */
static void multiply_parts(const bench *b)
{
    const hr_mpi_gemm_report *r = &b->report;
    if (rank >= r->rows * r->cols * r->depth) {
        return;
    }
    hr_matrix *a = malloc((size_t)r->panels * sizeof *a);
    hr_matrix *of_b = malloc((size_t)r->panels * sizeof *of_b);
    for (int64_t i = 0; i < r->panels; i++) {
        a[i] = b->part[0];
        of_b[i] = b->part[1];
    }
    require_ok(hr_gemm_sum(hr_mpi_context_local(b->context), hr_real(1),
                           r->panels, a, of_b, hr_real(0), b->part[2], NULL));
    free(a);
    free(of_b);
}

/* An equal share of the bytes, to the next process and from the one before. */
static void send_bytes(const bench *b)
{
    const int64_t chunk = 1 << 24;
    const int64_t count = (int64_t)(b->report.sent / (uint64_t)process_count);
    const int next = (rank + 1) % process_count;
    const int before = (rank + process_count - 1) % process_count;
    for (int64_t at = 0; at < count && process_count > 1; at += chunk) {
        const int now = (int)least(chunk, count - at);
        MPI_Sendrecv(b->bytes, now, MPI_BYTE, next, 0, b->bytes + chunk, now,
                     MPI_BYTE, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void measure_once(bench *b)
{
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    options.report = &b->report;
    meet_all();
    double begin = MPI_Wtime();
    require_ok(hr_mpi_gemm(b->context, hr_real(1), matrix_of(&b->a),
                           matrix_of(&b->b), hr_real(0), matrix_of(&b->c),
                           &options));
    note_time(&b->of_whole, begin);
    const double seconds = b->report.seconds;
    meet_all();
    begin = MPI_Wtime();
    multiply_parts(b);
    note_time(&b->of_parts, begin);
    meet_all();
    begin = MPI_Wtime();
    send_bytes(b);
    note_time(&b->of_messages, begin);
    meet_all();
    begin = MPI_Wtime();
    if (b->all != NULL) {
        require_ok(hr_gemm(b->all, hr_real(1), b->whole[0], b->whole[1],
                           hr_real(0), b->whole[2], NULL));
    }
    meet_all();
    note_time(&b->of_one, begin);
    b->report.seconds = seconds;
}

static void prepare_matrices(bench *b, bool alone)
{
    const hr_mpi_gemm_report *r = &b->report;
    b->a = make_matrix(b->m, b->k, 1);
    b->b = make_matrix(b->k, b->n, 2);
    b->c = make_matrix(b->m, b->n, 3);
    require_ok(hr_mpi_gemm_plan(b->context, hr_real(1), matrix_of(&b->a),
                                matrix_of(&b->b), hr_real(0), matrix_of(&b->c),
                                NULL, &b->report));
    const int64_t high = (b->m + r->rows - 1) / r->rows;
    const int64_t wide = (b->n + r->cols - 1) / r->cols;
    b->part[0] = random_matrix(high, r->panel, 1);
    b->part[1] = random_matrix(r->panel, wide, 2);
    b->part[2] = random_matrix(high, wide, 3);
    b->bytes = calloc(2, 1 << 24);
    if (alone && rank == 0) {
        require_ok(hr_context_create(NULL, &b->all));
        b->whole[0] = random_matrix(b->m, b->k, 1);
        b->whole[1] = random_matrix(b->k, b->n, 2);
        b->whole[2] = random_matrix(b->m, b->n, 3);
    }
}

/* The largest error of some elements of this process, as a part of what sums of
 * floats may have. */
static double compare_samples(const bench *b)
{
    enum { SAMPLES = 64 };
    double worst = 0, all = 0;
    for (int s = 0; s < SAMPLES && b->c.high > 0 && b->c.wide > 0; s++) {
        const int64_t i = rand() % b->c.high, j = rand() % b->c.wide;
        double sum = 0;
        for (int64_t l = 0; l < b->k; l++) {
            sum += (double)value_at(1, b->c.row + i, l) *
                   (double)value_at(2, l, b->c.col + j);
        }
        const double found = (double)b->c.data[j * b->c.high + i];
        worst = fmax(worst, fabs(found - sum) / (double)b->k / 6e-8);
    }
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void print_times(const bench *b, double worst)
{
    const hr_mpi_gemm_report *r = &b->report;
    const struct {
        const char *name;
        times of;
    } all[] = {{"whole", b->of_whole},
               {"products", b->of_parts},
               {"messages", b->of_messages},
               {"one process", b->of_one}};
    printf("%lld x %lld x %lld, %d processes: %d x %d x %d in %lld panels, "
           "%.4g bytes in %llu messages, %.2f of the bound\n",
           (long long)b->m, (long long)b->n, (long long)b->k, process_count,
           r->rows, r->cols, r->depth, (long long)r->panels, (double)r->sent,
           (unsigned long long)r->messages, r->ratio);
    for (int i = 0; i < (b->all != NULL ? 4 : 3); i++) {
        printf("%-12s first %9.4g s, best %9.4g s\n", all[i].name,
               all[i].of.first, all[i].of.best);
    }
    printf("larger part over whole %.3f",
           fmax(b->of_parts.best, b->of_messages.best) / b->of_whole.best);
    if (b->all != NULL) {
        printf(", one process over whole %.3f",
               b->of_one.best / b->of_whole.best);
    }
    printf("; error %.2g of what floats may have\n", worst);
}

int main(int argc, char **argv)
{
    bench b = {.report = HR_MPI_GEMM_REPORT_INIT};
    int64_t numbers[4] = {2048, 2048, 2048, 5};
    for (int i = 0; i < 4 && i + 1 < argc; i++) {
        numbers[i] = strtoll(argv[i + 1], NULL, 10);
        if (numbers[i] < 1) {
            fprintf(stderr, "bench_gemm: M N K TURNS must be 1 or more\n");
            return 2;
        }
    }
    b.m = numbers[0];
    b.n = numbers[1];
    b.k = numbers[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    require_ok(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &b.context));
    prepare_matrices(&b, argc > 5 && strcmp(argv[5], "alone") == 0);
    for (int64_t i = 0; i < numbers[3]; i++) {
        measure_once(&b);
    }
    const double worst = compare_samples(&b);
    if (rank == 0) {
        print_times(&b, worst);
    }
    hr_context_destroy(b.all);
    for (int i = 0; i < 3; i++) {
        free(b.part[i].data);
        free(b.whole[i].data);
    }
    free(b.a.data);
    free(b.b.data);
    free(b.c.data);
    free(b.bytes);
    hr_mpi_context_destroy(b.context);
    MPI_Finalize();
    return worst > 1.0;
}
