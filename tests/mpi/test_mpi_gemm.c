/* SPDX-License-Identifier: MIT */
/* Products of matrices that are distributed at random, against a plain loop in
 * each process. Elements are small integers, so results are exact in every
 * type, and must be equal.
 *
 *     mpirun -n 5 test_mpi_gemm [COUNT] */
#include <headrace/mpi.h>

#include "support/pairs.h"
#include "support/plain.h"
#include "support/random.h"
#include "test.h"

enum { MAX_SIZE = 160, MAX_PROCESSES = 64, SENTINEL = 77 };

static int rank, process_count;
static bool counts;          /* what is sent, for no message is read directly */
static random_source source; /* the same numbers in every process */

static int64_t between(int64_t low, int64_t high)
{
    return random_between(&source, low, high);
}

/* ---- what is sent */

static int64_t sent[2]; /* bytes and messages of this process */

/* The library's call comes here first. */
int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    int width = 0;
    (void)MPI_Type_size(type, &width);
    sent[0] += (int64_t)count * width;
    sent[1]++;
    return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

static int machine_size; /* processes of each machine; 0: all are on one */

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                        MPI_Comm *machine)
{
    return machine_size > 0
               ? PMPI_Comm_split(comm, rank / machine_size, key, machine)
               : PMPI_Comm_split_type(comm, type, key, info, machine);
}

static bool has_sent(const hr_mpi_gemm_report *report)
{
    int64_t all[2] = {0};
    MPI_Allreduce(sent, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return (uint64_t)all[0] == report->sent &&
           (uint64_t)all[1] == report->messages;
}

/* ---- matrices */

/* A matrix, whole in every process, and its distribution. */
typedef struct spread {
    hr_type type;
    int64_t rows, cols; /* stored */
    double *whole[2];   /* real and imaginary parts, by rows */
    char *local;        /* of a cyclic one */
    size_t local_bytes;
    hr_mpi_cyclic cyclic;
    int ranks[MAX_PROCESSES];
    hr_mpi_block *blocks;
    int64_t block_count;
    hr_mpi_matrix m;
} spread;

/* The element of a type that lies there. */
static hr_matrix element_at(hr_type type, void *at)
{
    return hr_matrix_row_major(at, type, 1, 1, 0);
}

/* ---- distributions */

static void fill_whole(spread *s, double range)
{
    const size_t count = (size_t)(s->rows * s->cols + 1);
    for (int part = 0; part < 2; part++) {
        s->whole[part] = calloc(count, sizeof(double));
        for (size_t i = 0; i < count; i++) {
            const bool any = part == 0 || is_complex(s->type);
            s->whole[part][i] =
                any ? (double)between(-(int64_t)range, (int64_t)range) : 0.0;
        }
    }
}

/* Ranks in any order. */
static void shuffle_ranks(int *ranks)
{
    for (int i = 0; i < process_count; i++) {
        ranks[i] = i;
    }
    for (int i = process_count - 1; i > 0; i--) {
        const int j = (int)between(0, i), kept = ranks[i];
        ranks[i] = ranks[j];
        ranks[j] = kept;
    }
}

/* The process that has the element, counted on beyond the last one: the block's
 * number from that of the first process. */
static int64_t number_of(int64_t i, int64_t first, int64_t block, int process)
{
    first = first > 0 ? first : block;
    return process + (i < first ? 0 : 1 + (i - first) / block);
}

static char *find_element(const spread *s, int64_t i, int64_t j)
{
    const size_t bytes = hr_type_size(s->type);
    for (int64_t b = 0; b < s->block_count; b++) {
        const hr_mpi_block *x = &s->blocks[b];
        if (i >= x->row && i < x->row + x->rows && j >= x->col &&
            j < x->col + x->cols) {
            return x->owner != rank && x->owner != HR_MPI_EVERYWHERE
                       ? NULL
                       : (char *)x->data + ((i - x->row) * x->row_stride +
                                            (j - x->col) * x->col_stride) *
                                               (int64_t)bytes;
        }
    }
    if (s->block_count > 0) {
        return NULL;
    }
    const hr_mpi_cyclic *c = &s->cyclic;
    const int64_t p = number_of(i, c->first_rows, c->row_block, c->first_row) %
                      c->process_rows;
    const int64_t q = number_of(j, c->first_cols, c->col_block, c->first_col) %
                      c->process_cols;
    if ((c->ranks != NULL ? c->ranks[p * c->process_cols + q]
                          : (int)(p * c->process_cols + q)) != rank) {
        return NULL;
    }
    /* Rows of this process before row i, counted one after another. */
    int64_t row = 0, col = 0;
    for (int64_t x = 0; x < i; x++) {
        row += number_of(x, c->first_rows, c->row_block, c->first_row) %
                   c->process_rows ==
               p;
    }
    for (int64_t x = 0; x < j; x++) {
        col += number_of(x, c->first_cols, c->col_block, c->first_col) %
                   c->process_cols ==
               q;
    }
    return (char *)c->data +
           (row + col * c->leading_dimension) * (int64_t)bytes;
}

static void spread_cyclic(spread *s)
{
    hr_mpi_cyclic *c = &s->cyclic;
    shuffle_ranks(s->ranks);
    c->process_rows = (int)between(1, process_count);
    c->process_cols = (int)between(1, process_count / c->process_rows);
    c->row_block = between(1, between(1, 70));
    c->col_block = between(1, between(1, 70));
    if (between(0, 2) == 0) {
        c->first_rows = between(0, 90);
        c->first_cols = between(0, 90);
    }
    c->first_row = (int)between(0, c->process_rows - 1);
    c->first_col = (int)between(0, c->process_cols - 1);
    c->ranks = between(0, 1) != 0 ? s->ranks : NULL;
    c->leading_dimension = s->rows + between(1, 5);
    s->local_bytes =
        (size_t)(c->leading_dimension * (s->cols + 1)) * hr_type_size(s->type);
    s->local = malloc(s->local_bytes);
    memset(s->local, SENTINEL, s->local_bytes);
    c->data = s->local;
    s->m = hr_mpi_matrix_cyclic(s->type, s->rows, s->cols, c);
}

/* Blocks of random sizes, in columns of their own heights. */
static void spread_blocks(spread *s, bool everywhere)
{
    everywhere = everywhere && between(0, 1) != 0;
    s->blocks =
        calloc((size_t)((s->rows + 1) * (s->cols + 1)), sizeof *s->blocks);
    for (int64_t col = 0, wide; col < s->cols; col += wide) {
        wide = between(1, s->cols - col);
        for (int64_t row = 0, high; row < s->rows; row += high) {
            high = between((s->rows - row + 3) / 4, s->rows - row);
            hr_mpi_block *b = &s->blocks[s->block_count++];
            const bool by_rows = between(0, 1) != 0;
            *b = (hr_mpi_block){
                .row = row,
                .col = col,
                .rows = high,
                .cols = wide,
                .owner = (int)between(everywhere ? -1 : 0, process_count - 1),
                .row_stride = by_rows ? wide + 2 : 1,
                .col_stride = by_rows ? 1 : high + 3};
            if (b->owner == rank || b->owner == HR_MPI_EVERYWHERE) {
                b->data = calloc((size_t)((high + 3) * (wide + 3)),
                                 hr_type_size(s->type));
            }
        }
    }
    s->m = hr_mpi_matrix_blocks(s->type, s->rows, s->cols, s->blocks,
                                s->block_count);
}

static void open_spread(spread *s, hr_type type, int64_t rows, int64_t cols,
                        double range, bool everywhere)
{
    *s = (spread){.type = type, .rows = rows, .cols = cols};
    fill_whole(s, range);
    if (between(0, 2) == 0 && rows > 0 && cols > 0) {
        spread_blocks(s, everywhere);
    } else {
        spread_cyclic(s);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            char *at = find_element(s, i, j);
            if (at != NULL) {
                const hr_matrix m = element_at(type, at);
                plain_store(&m, 0, 0, s->whole[0][i * cols + j],
                            s->whole[1][i * cols + j]);
            }
        }
    }
}

static void close_spread(spread *s)
{
    for (int64_t i = 0; i < s->block_count; i++) {
        free(s->blocks[i].data);
    }
    free(s->blocks);
    free(s->whole[0]);
    free(s->whole[1]);
    free(s->local);
}

/* ---- products */

/* A part of a stored matrix, as the product sees it. */
typedef struct view {
    const spread *s;
    int64_t row, col;
    bool transposed, conjugate;
} view;

static void get_element(const view *v, int64_t i, int64_t j, double out[2])
{
    const int64_t row = v->row + (v->transposed ? j : i);
    const int64_t col = v->col + (v->transposed ? i : j);
    out[0] = v->s->whole[0][row * v->s->cols + col];
    out[1] = v->s->whole[1][row * v->s->cols + col];
    out[1] = v->conjugate ? -out[1] : out[1];
}

typedef struct problem {
    hr_type type, c_type;
    int64_t m, n, k;
    hr_scalar alpha, beta;
    spread a, b, c;
    view va, vb, vc;
    hr_mpi_matrix ma, mb, mc;
} problem;

/* A random matrix, and a section of rows x cols in it, transposed or not. */
static hr_mpi_matrix open_operand(spread *s, view *v, hr_type type,
                                  int64_t rows, int64_t cols, double range,
                                  bool factor)
{
    const bool whole = between(0, 1) != 0;
    *v = (view){.s = s,
                .row = whole ? 0 : between(0, 20),
                .col = whole ? 0 : between(0, 20),
                .transposed = between(0, 1) != 0,
                .conjugate = factor && is_complex(type) && between(0, 1) != 0};
    const int64_t high = v->transposed ? cols : rows;
    const int64_t wide = v->transposed ? rows : cols;
    open_spread(s, type, v->row + high + (whole ? 0 : between(0, 9)),
                v->col + wide + (whole ? 0 : between(0, 9)), range, factor);
    hr_mpi_matrix m = hr_mpi_matrix_section(s->m, v->row, v->col, high, wide);
    m = v->transposed ? hr_mpi_matrix_transpose(m) : m;
    return v->conjugate ? hr_mpi_matrix_conjugate(m) : m;
}

static int64_t random_size(void)
{
    return between(0, between(0, 3) == 0 ? 5 : MAX_SIZE);
}

static void open_problem(problem *p)
{
    static const double scalars[] = {1, 0, -1, 2};
    const int64_t pair = between(0, PAIRS - 1);
    *p = (problem){.type = pairs[pair].ab, .c_type = pairs[pair].c};
    p->m = random_size();
    p->n = random_size();
    p->k = random_size();
    p->alpha.re = scalars[between(0, 3)];
    p->beta.re = scalars[between(0, 3)];
    if (is_complex(p->type)) {
        p->alpha.im = scalars[between(0, 3)];
        p->beta.im = scalars[between(0, 3)];
    }
    p->ma = open_operand(&p->a, &p->va, p->type, p->m, p->k, 2, true);
    p->mb = open_operand(&p->b, &p->vb, p->type, p->k, p->n, 2, true);
    p->mc = open_operand(&p->c, &p->vc, p->c_type, p->m, p->n, 2, false);
}

/* What an element of C should be. */
static void compute_element(const problem *p, int64_t i, int64_t j,
                            double out[2])
{
    double sum[2] = {0, 0}, a[2], b[2], c[2];
    for (int64_t l = 0; l < p->k; l++) {
        get_element(&p->va, i, l, a);
        get_element(&p->vb, l, j, b);
        sum[0] += a[0] * b[0] - a[1] * b[1];
        sum[1] += a[0] * b[1] + a[1] * b[0];
    }
    get_element(&p->vc, i, j, c);
    const hr_scalar x = p->alpha, y = p->beta;
    out[0] = x.re * sum[0] - x.im * sum[1] + y.re * c[0] - y.im * c[1];
    out[1] = x.re * sum[1] + x.im * sum[0] + y.re * c[1] + y.im * c[0];
}

/* How many of this process's elements are wrong, those that are not in the
 * section among them. */
static long count_wrong(const problem *p)
{
    const spread *s = &p->c;
    long wrong = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        for (int64_t j = 0; j < s->cols; j++) {
            char *at = find_element(s, i, j);
            const int64_t x = p->vc.transposed ? j - p->vc.col : i - p->vc.row;
            const int64_t y = p->vc.transposed ? i - p->vc.row : j - p->vc.col;
            double right[2] = {s->whole[0][i * s->cols + j],
                               s->whole[1][i * s->cols + j]};
            if (at == NULL) {
                continue;
            }
            if (x >= 0 && x < p->m && y >= 0 && y < p->n) {
                compute_element(p, x, y, right);
            }
            double rounded[2], got[2];
            const hr_matrix want = element_at(s->type, rounded);
            const hr_matrix found = element_at(s->type, at);
            plain_store(&want, 0, 0, right[0], right[1]);
            reference_load(&want, 0, 0, &right[0], &right[1]);
            reference_load(&found, 0, 0, &got[0], &got[1]);
            wrong += right[0] != got[0] || right[1] != got[1];
        }
    }
    return wrong;
}

static void try_problem(hr_mpi_context *context, int64_t number)
{
    problem p;
    source.state = (uint64_t)number;
    open_problem(&p);
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    hr_mpi_gemm_report report = HR_MPI_GEMM_REPORT_INIT;
    hr_mpi_gemm_report planned = HR_MPI_GEMM_REPORT_INIT;
    options.report = &report;
    if (between(0, 1) != 0) { /* any grid, and panels of a column */
        options.rows = (int)between(1, process_count);
        options.cols = (int)between(1, process_count / options.rows);
        options.depth =
            (int)between(1, process_count / options.rows / options.cols);
        options.memory_limit = between(0, 1) != 0 ? 20000 : 0;
    }
    CHECK(hr_mpi_gemm_plan(context, p.alpha, p.ma, p.mb, p.beta, p.mc, &options,
                           &planned) == HR_OK);
    sent[0] = sent[1] = 0;
    const hr_status status =
        hr_mpi_gemm(context, p.alpha, p.ma, p.mb, p.beta, p.mc, &options);
    if (status != HR_OK) {
        printf("rank %d, seed %lld: %s\n", rank, (long long)number,
               hr_last_error());
    }
    CHECK(status == HR_OK);
    const long wrong = count_wrong(&p);
    if (wrong > 0) {
        printf(
            "rank %d, seed %lld: %ld of %s %lld x %lld x %lld wrong, on %d x "
            "%d x %d\n",
            rank, (long long)number, wrong, hr_type_name(p.c_type),
            (long long)p.m, (long long)p.n, (long long)p.k, report.rows,
            report.cols, report.depth);
    }
    CHECK(wrong == 0);
    CHECK(report.sent == planned.sent && report.rows == planned.rows);
    CHECK(!counts || has_sent(&report));
    close_spread(&p.a);
    close_spread(&p.b);
    close_spread(&p.c);
}

/* As if there were several machines, the last one with fewer processes. */
static void multiply_on_machines(int64_t seed)
{
    TEST_CASE("several machines");
    for (machine_size = 1; machine_size < 3; machine_size++) {
        hr_mpi_context *context = NULL;
        CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context) == HR_OK);
        for (int64_t i = 0; i < 5 && context != NULL; i++) {
            try_problem(context, seed + i);
        }
        hr_mpi_context_destroy(context);
    }
    machine_size = 0;
}

int main(int argc, char **argv)
{
    const int64_t count = argc > 1 ? atoll(argv[1]) : 50;
    hr_mpi_context *context = NULL;
    int level = 0;
    const char *direct = getenv("HEADRACE_MPI_DIRECT");
    counts = direct != NULL && strcmp(direct, "0") == 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    hr_status status = hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context);
    if (status != HR_OK) {
        printf("rank %d: %s\n", rank, hr_last_error());
    }
    CHECK(status == HR_OK);
    uint64_t seed = 0;
    const bool one = test_seed(&seed);
    for (int64_t i = 0; i < (one ? 1 : count) && context != NULL; i++) {
        TEST(try_problem(context, one ? (int64_t)seed : i));
    }
    hr_mpi_context_destroy(context);
    TEST(multiply_on_machines(count));
    MPI_Finalize();
    return test_end();
}
