/* SPDX-License-Identifier: MIT */
/* psgemm_, pdgemm_, pcgemm_ and pzgemm_ on random grids of the BLACS, against a
 * plain loop. Elements are small integers, so results are exact and must be
 * equal. With libheadrace_pblas preloaded, else this tests ScaLAPACK:
 *
 *     mpirun -n 5 env LD_PRELOAD=libheadrace_pblas_openmpi.so test_pblas
 * [COUNT]
 */
#include "mpi/blacs.h"
#include "support/pairs.h"
#include "support/plain.h"
#include "support/random.h"
#include "test.h"

enum { MAX_SIZE = 70, KINDS = 4 };

static const struct {
    const char *name;
    gemm *function;
    hr_type type;
} kinds[KINDS] = {{"psgemm_", psgemm_, HR_F32},
                  {"pdgemm_", pdgemm_, HR_F64},
                  {"pcgemm_", pcgemm_, HR_C32},
                  {"pzgemm_", pzgemm_, HR_C64}};

static int rank, process_count;
static random_source source; /* the same numbers in every process */

static int between(int low, int high)
{
    return (int)random_between(&source, low, high);
}

/* ---- grids */

typedef struct grid {
    int context, rows, cols;
    int row, col; /* of this process; -1: it is not in the grid */
} grid;

static void open_grid(grid *g)
{
    const int rows = between(1, process_count);
    const int cols = between(1, process_count / rows);
    Cblacs_get(-1, 0, &g->context);
    Cblacs_gridinit(&g->context, between(0, 1) != 0 ? "Row" : "Col", rows,
                    cols);
    Cblacs_gridinfo(g->context, &g->rows, &g->cols, &g->row, &g->col);
}

/* ---- matrices */

/* One direction of a matrix. */
typedef struct axis {
    int length, first_block, block;
    int first, processes; /* -1: every process has all */
    int own;              /* the process that this one is */
    int start;            /* of the section */
} axis;

static axis open_axis(int length, int processes, int own)
{
    axis x = {.start = between(0, 9),
              .first_block = between(1, 40),
              .block = between(1, 30),
              .first = between(0, processes - 1),
              .processes = processes,
              .own = own};
    x.length = x.start + length + between(0, 9);
    x.first_block = between(0, 2) != 0 ? x.block : x.first_block;
    x.first = between(0, 19) == 0 ? -1 : x.first;
    return x;
}

static bool is_own(const axis *x, int i)
{
    const int number =
        i < x->first_block ? 0 : 1 + (i - x->first_block) / x->block;
    return x->first < 0 || (x->first + number) % x->processes == x->own;
}

/* Where this process keeps an element: so many of its own come before. */
static int local_of(const axis *x, int i)
{
    int before = 0;
    for (int e = 0; e < i; e++) {
        before += is_own(x, e);
    }
    return before;
}

typedef struct matrix {
    axis rows, cols;
    char op;
    int row, col; /* from 1 */
    int descriptor[11];
    double *whole; /* [cols][rows][2] */
    char *local;
    int leading;
} matrix;

static double *whole_at(const matrix *m, int i, int j)
{
    return m->whole + 2 * ((size_t)j * (size_t)m->rows.length + (size_t)i);
}

/* The element of a kind that lies there. */
static hr_matrix element_at(int kind, void *at)
{
    return hr_matrix_row_major(at, kinds[kind].type, 1, 1, 0);
}

static void put_element(int kind, void *at, const double *value)
{
    const hr_matrix m = element_at(kind, at);
    plain_store(&m, 0, 0, value[0], value[1]);
}

static char *local_at(const matrix *m, int kind, int i, int j)
{
    return m->local + (size_t)(local_of(&m->rows, i) +
                               local_of(&m->cols, j) * m->leading) *
                          hr_type_size(kinds[kind].type);
}

static void fill_matrix(matrix *m, int kind)
{
    const size_t count = (size_t)m->rows.length * (size_t)m->cols.length;
    m->whole = calloc(2 * count + 1, sizeof *m->whole);
    m->local = calloc(count + 100 * 100, hr_type_size(kinds[kind].type));
    for (int j = 0; j < m->cols.length; j++) {
        for (int i = 0; i < m->rows.length; i++) {
            double *at = whole_at(m, i, j);
            at[0] = between(-3, 3);
            at[1] = is_complex(kinds[kind].type) ? between(-3, 3) : 0;
            if (is_own(&m->rows, i) && is_own(&m->cols, j)) {
                put_element(kind, local_at(m, kind, i, j), at);
            }
        }
    }
}

static void open_matrix(matrix *m, const grid *g, int kind, char op, int rows,
                        int cols)
{
    *m = (matrix){.op = op,
                  .rows = open_axis(op == 'N' ? rows : cols, g->rows, g->row),
                  .cols = open_axis(op == 'N' ? cols : rows, g->cols, g->col)};
    m->row = m->rows.start + 1;
    m->col = m->cols.start + 1;
    m->leading = m->rows.length + between(1, 4);
    const int plain[] = {1,
                         g->context,
                         m->rows.length,
                         m->cols.length,
                         m->rows.block,
                         m->cols.block,
                         m->rows.first,
                         m->cols.first,
                         m->leading};
    const int other[] = {2,
                         g->context,
                         m->rows.length,
                         m->cols.length,
                         m->rows.first_block,
                         m->cols.first_block,
                         m->rows.block,
                         m->cols.block,
                         m->rows.first,
                         m->cols.first,
                         m->leading};
    if (m->rows.first_block == m->rows.block &&
        m->cols.first_block == m->cols.block) {
        memcpy(m->descriptor, plain, sizeof plain);
    } else {
        memcpy(m->descriptor, other, sizeof other);
    }
    fill_matrix(m, kind);
}

static void close_matrix(matrix *m)
{
    free(m->whole);
    free(m->local);
}

/* op(X) at (i, j) of the section. */
static void get_element(const matrix *m, int i, int j, double out[2])
{
    const bool as_is = m->op == 'N';
    const double *at = whole_at(m, m->rows.start + (as_is ? i : j),
                                m->cols.start + (as_is ? j : i));
    out[0] = at[0];
    out[1] = m->op == 'C' ? -at[1] : at[1];
}

/* ---- products */

typedef struct problem {
    int kind, m, n, k;
    double alpha[2], beta[2];
    matrix a, b, c;
} problem;

static void compute_element(const problem *p, int i, int j, double out[2])
{
    double sum[2] = {0, 0}, a[2], b[2], c[2];
    for (int l = 0; l < p->k; l++) {
        get_element(&p->a, i, l, a);
        get_element(&p->b, l, j, b);
        sum[0] += a[0] * b[0] - a[1] * b[1];
        sum[1] += a[0] * b[1] + a[1] * b[0];
    }
    get_element(&p->c, i, j, c);
    const double *x = p->alpha, *y = p->beta;
    out[0] = x[0] * sum[0] - x[1] * sum[1] + y[0] * c[0] - y[1] * c[1];
    out[1] = x[0] * sum[1] + x[1] * sum[0] + y[0] * c[1] + y[1] * c[0];
}

/* How many of this process's elements of C are wrong, in the section or not. */
static long count_wrong(const problem *p)
{
    const matrix *c = &p->c;
    long wrong = 0;
    for (int i = 0; i < c->rows.length; i++) {
        for (int j = 0; j < c->cols.length; j++) {
            const int x = i - c->rows.start, y = j - c->cols.start;
            double right[2], rounded[2], got[2];
            if (!is_own(&c->rows, i) || !is_own(&c->cols, j)) {
                continue;
            }
            memcpy(right, whole_at(c, i, j), sizeof right);
            if (x >= 0 && x < p->m && y >= 0 && y < p->n) {
                compute_element(p, x, y, right);
            }
            put_element(p->kind, rounded, right);
            const hr_matrix want = element_at(p->kind, rounded);
            const hr_matrix found =
                element_at(p->kind, local_at(c, p->kind, i, j));
            reference_load(&want, 0, 0, &right[0], &right[1]);
            reference_load(&found, 0, 0, &got[0], &got[1]);
            wrong += right[0] != got[0] || right[1] != got[1];
        }
    }
    return wrong;
}

static char random_op(void)
{
    return "NTC"[between(0, 2)];
}

/* Of one problem. Its grid is new each time. */
static void try_problem(int number)
{
    static const double scalars[] = {1, 0, -1, 2};
    source.state = (uint64_t)number;
    grid g;
    problem p = {.kind = between(0, KINDS - 1),
                 .m = between(0, MAX_SIZE),
                 .n = between(0, MAX_SIZE),
                 .k = between(0, MAX_SIZE)};
    const int parts = is_complex(kinds[p.kind].type) ? 2 : 1;
    for (int i = 0; i < parts; i++) {
        p.alpha[i] = scalars[between(0, 3)];
        p.beta[i] = scalars[between(0, 3)];
    }
    open_grid(&g);
    if (g.row < 0) {
        return;
    }
    open_matrix(&p.a, &g, p.kind, random_op(), p.m, p.k);
    open_matrix(&p.b, &g, p.kind, random_op(), p.k, p.n);
    open_matrix(&p.c, &g, p.kind, 'N', p.m, p.n);
    double alpha[2], beta[2];
    put_element(p.kind, alpha, p.alpha);
    put_element(p.kind, beta, p.beta);
    kinds[p.kind].function(&p.a.op, &p.b.op, &p.m, &p.n, &p.k, alpha, p.a.local,
                           &p.a.row, &p.a.col, p.a.descriptor, p.b.local,
                           &p.b.row, &p.b.col, p.b.descriptor, beta, p.c.local,
                           &p.c.row, &p.c.col, p.c.descriptor);
    const long wrong = count_wrong(&p);
    if (wrong > 0) {
        printf("rank %d, seed %d: %ld of %s %c%c %d x %d x %d wrong, on %d x "
               "%d\n",
               rank, number, wrong, kinds[p.kind].name, p.a.op, p.b.op, p.m,
               p.n, p.k, g.rows, g.cols);
    }
    CHECK(wrong == 0);
    close_matrix(&p.a);
    close_matrix(&p.b);
    close_matrix(&p.c);
    Cblacs_gridexit(g.context);
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 50;
    uint64_t seed = 0;
    Cblacs_pinfo(&rank, &process_count);
    const bool one = test_seed(&seed);
    for (int i = 0; i < (one ? 1 : count); i++) {
        TEST(try_problem(one ? (int)seed : i));
    }
    Cblacs_exit(0);
    return test_end();
}
