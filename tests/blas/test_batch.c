/* SPDX-License-Identifier: MIT */
/* gemm_batch and gemm_batch_strided of the drop-in BLAS compared with plain
 * loops: all types, both widths of integers, by rows and by columns, groups.
 * With "alone" there is no other BLAS, and wrong arguments end in xerbla_. */
#include <math.h>

#include "blas/elements.h"
#include "support/random.h"
#include "test.h"

enum { GROUPS = 4, COUNT = 5, EDGE = 24, PLACE = (EDGE + 2) * (EDGE + 2) };
enum { PRODUCTS = GROUPS * COUNT, ROOM = PRODUCTS * PLACE };

#define BATCH(name, INT)                                                       \
    void name(const char *, const char *, const INT *, const INT *,            \
              const INT *, const void *, const void *const *, const INT *,     \
              const void *const *, const INT *, const void *, void *const *,   \
              const INT *, const INT *, const INT *, size_t, size_t);
#define STRIDED(name, INT)                                                     \
    void name(const char *, const char *, const INT *, const INT *,            \
              const INT *, const void *, const void *, const INT *,            \
              const INT *, const void *, const INT *, const INT *,             \
              const void *, void *, const INT *, const INT *, const INT *,     \
              size_t, size_t);
#define CBLAS_BATCH(name, INT)                                                 \
    void name(int, const int *, const int *, const INT *, const INT *,         \
              const INT *, const void *, const void *const *, const INT *,     \
              const void *const *, const INT *, const void *, void *const *,   \
              const INT *, INT, const INT *);
#define CBLAS_STRIDED(name, INT, SCALAR)                                       \
    void name(int, int, int, INT, INT, INT, SCALAR, const void *, INT, INT,    \
              const void *, INT, INT, SCALAR, void *, INT, INT, INT);
#define NAMES(base, SCALAR)                                                    \
    BATCH(base##_batch_, plain_int)                                            \
    BATCH(base##_batch_64_, int64_t)                                           \
    STRIDED(base##_batch_strided_, plain_int)                                  \
    STRIDED(base##_batch_strided_64_, int64_t)                                 \
    CBLAS_BATCH(cblas_##base##_batch, plain_int)                               \
    CBLAS_BATCH(cblas_##base##_batch64_, int64_t)                              \
    CBLAS_STRIDED(cblas_##base##_batch_strided, plain_int, SCALAR)             \
    CBLAS_STRIDED(cblas_##base##_batch_strided_64, int64_t, SCALAR)
NAMES(sgemm, float)
NAMES(dgemm, double)
NAMES(cgemm, const void *)
NAMES(zgemm, const void *)

typedef enum way { FORTRAN, FORTRAN_64, CBLAS, CBLAS_64, WAYS } way;

/* Arguments of groups; a strided call has one. */
typedef struct job {
    hr_type type;
    way way;
    int order;
    bool strided;
    plain_int groups;
    char op_a[GROUPS], op_b[GROUPS];
    int flags_a[GROUPS], flags_b[GROUPS];
    plain_int m[GROUPS], n[GROUPS], k[GROUPS], lda[GROUPS], ldb[GROUPS],
        ldc[GROUPS], count[GROUPS];
    plain_int step[3]; /* of a strided call */
    double complex alpha[GROUPS], beta[GROUPS];
    char alphas[GROUPS * 16], betas[GROUPS * 16]; /* as they are passed */
    void *a[PRODUCTS], *b[PRODUCTS], *c[PRODUCTS];
} job;

static char memory[3][ROOM * 16], old[ROOM * 16];

/* ---- the call */

/* The integers of a job, wider. */
typedef struct wide {
    int64_t m[GROUPS], n[GROUPS], k[GROUPS], lda[GROUPS], ldb[GROUPS],
        ldc[GROUPS], count[GROUPS], step[3], groups;
} wide;

static wide wide_of(const job *j)
{
    wide w = {.groups = j->groups};
    for (int i = 0; i < GROUPS; i++) {
        w.m[i] = j->m[i];
        w.n[i] = j->n[i];
        w.k[i] = j->k[i];
        w.lda[i] = j->lda[i];
        w.ldb[i] = j->ldb[i];
        w.ldc[i] = j->ldc[i];
        w.count[i] = j->count[i];
        w.step[i % 3] = j->step[i % 3];
    }
    return w;
}

#define GROUPED(x)                                                             \
    (x).m, (x).n, (x).k, j->alphas, (const void *const *)j->a, (x).lda,        \
        (const void *const *)j->b, (x).ldb, j->betas, j->c, (x).ldc
#define CALLS(base, ALPHA, BETA)                                               \
    if (j->strided && j->way == FORTRAN) {                                     \
        base##_strided_(j->op_a, j->op_b, j->m, j->n, j->k, j->alphas,         \
                        j->a[0], j->lda, &j->step[0], j->b[0], j->ldb,         \
                        &j->step[1], j->betas, j->c[0], j->ldc, &j->step[2],   \
                        j->count, 1, 1);                                       \
    } else if (j->strided && j->way == FORTRAN_64) {                           \
        base##_strided_64_(j->op_a, j->op_b, w.m, w.n, w.k, j->alphas,         \
                           j->a[0], w.lda, &w.step[0], j->b[0], w.ldb,         \
                           &w.step[1], j->betas, j->c[0], w.ldc, &w.step[2],   \
                           w.count, 1, 1);                                     \
    } else if (j->strided && j->way == CBLAS) {                                \
        cblas_##base##_strided(                                                \
            j->order, j->flags_a[0], j->flags_b[0], j->m[0], j->n[0], j->k[0], \
            ALPHA, j->a[0], j->lda[0], j->step[0], j->b[0], j->ldb[0],         \
            j->step[1], BETA, j->c[0], j->ldc[0], j->step[2], j->count[0]);    \
    } else if (j->strided) {                                                   \
        cblas_##base##_strided_64(                                             \
            j->order, j->flags_a[0], j->flags_b[0], w.m[0], w.n[0], w.k[0],    \
            ALPHA, j->a[0], w.lda[0], w.step[0], j->b[0], w.ldb[0], w.step[1], \
            BETA, j->c[0], w.ldc[0], w.step[2], w.count[0]);                   \
    } else if (j->way == FORTRAN) {                                            \
        base##_(j->op_a, j->op_b, GROUPED(*j), &j->groups, j->count, 1, 1);    \
    } else if (j->way == FORTRAN_64) {                                         \
        base##_64_(j->op_a, j->op_b, GROUPED(w), &w.groups, w.count, 1, 1);    \
    } else if (j->way == CBLAS) {                                              \
        cblas_##base(j->order, j->flags_a, j->flags_b, GROUPED(*j), j->groups, \
                     j->count);                                                \
    } else {                                                                   \
        cblas_##base##64_(j->order, j->flags_a, j->flags_b, GROUPED(w),        \
                          w.groups, w.count);                                  \
    }

static void call_real(const job *j)
{
    const wide w = wide_of(j);
    if (j->type == HR_F32) {
        CALLS(sgemm_batch, (float)creal(j->alpha[0]), (float)creal(j->beta[0]))
    } else {
        CALLS(dgemm_batch, creal(j->alpha[0]), creal(j->beta[0]))
    }
}

static void call_complex(const job *j)
{
    const wide w = wide_of(j);
    if (j->type == HR_C32) {
        CALLS(cgemm_batch, j->alphas, j->betas)
    } else {
        CALLS(zgemm_batch, j->alphas, j->betas)
    }
}

static void make_call(const job *j)
{
    if (is_complex(j->type)) {
        call_complex(j);
    } else {
        call_real(j);
    }
}

/* ---- making calls */

static void fill_matrices(hr_type type, random_source *source, char *data)
{
    for (int64_t i = 0; i < ROOM; i++) {
        const double re = random_unit(source), im = random_unit(source);
        put_element(type, data, i, is_complex(type) ? re + im * I : re);
    }
}

static plain_int random_leading(const job *j, plain_int rows, plain_int cols,
                                char op, random_source *source)
{
    const plain_int high = op == 'N' ? rows : cols;
    const plain_int across = op == 'N' ? cols : rows;
    const plain_int least = j->order == BY_ROWS ? across : high;
    return (least > 1 ? least : 1) + (plain_int)random_between(source, 0, 2);
}

static void random_group(job *j, int g, random_source *source)
{
    static const char ops[] = "NTC";
    static const int flags[] = {111, 112, 113};
    static const double complex factors[] = {0, 1, -0.5, 0.75 - 0.25 * I};
    const int64_t a = random_between(source, 0, 2);
    const int64_t b = random_between(source, 0, 2);
    j->op_a[g] = ops[a];
    j->op_b[g] = ops[b];
    j->flags_a[g] = flags[a];
    j->flags_b[g] = flags[b];
    j->m[g] = (plain_int)random_between(source, 0, EDGE);
    j->n[g] = (plain_int)random_between(source, 0, EDGE);
    j->k[g] = (plain_int)random_between(source, 0, EDGE);
    j->lda[g] = random_leading(j, j->m[g], j->k[g], ops[a], source);
    j->ldb[g] = random_leading(j, j->k[g], j->n[g], ops[b], source);
    j->ldc[g] = random_leading(j, j->m[g], j->n[g], 'N', source);
    j->count[g] = (plain_int)random_between(source, 0, COUNT);
    j->alpha[g] = factors[random_between(source, 0, 3)];
    j->beta[g] = factors[random_between(source, 0, 3)];
    if (!is_complex(j->type)) {
        j->alpha[g] = creal(j->alpha[g]);
        j->beta[g] = creal(j->beta[g]);
    }
    put_element(j->type, j->alphas, g, j->alpha[g]);
    put_element(j->type, j->betas, g, j->beta[g]);
}

static job random_job(random_source *source)
{
    job j = {.type = (hr_type)random_between(source, HR_F32, HR_C64),
             .way = (way)random_between(source, 0, WAYS - 1),
             .strided = random_between(source, 0, 1) == 0,
             .order = BY_COLUMNS};
    const int64_t size = (int64_t)hr_type_size(j.type);
    j.groups = j.strided ? 1 : (plain_int)random_between(source, 0, GROUPS);
    if (j.way >= CBLAS && random_between(source, 0, 1) == 0) {
        j.order = BY_ROWS;
    }
    for (int g = 0; g < GROUPS; g++) {
        random_group(&j, g, source);
    }
    j.step[0] = random_between(source, 0, 3) == 0 ? 0 : PLACE;
    j.step[1] = random_between(source, 0, 3) == 0 ? 0 : PLACE - 3;
    j.step[2] = PLACE;
    for (int i = 0; i < PRODUCTS; i++) { /* lists end with the first places */
        const int64_t at = j.strided ? i : PRODUCTS - 1 - i;
        j.a[i] = memory[0] + at * (j.strided ? j.step[0] : PLACE) * size;
        j.b[i] = memory[1] + at * (j.strided ? j.step[1] : PLACE) * size;
        j.c[i] = memory[2] + at * PLACE * size;
    }
    return j;
}

/* ---- what must result */

static double complex operand_at(const job *j, const void *data, char op,
                                 int64_t row, int64_t col, int64_t ld)
{
    const int64_t r = op == 'N' ? row : col, c = op == 'N' ? col : row;
    const double complex x = get_element(
        j->type, data, j->order == BY_ROWS ? r * ld + c : c * ld + r);
    return op == 'C' ? conj(x) : x;
}

/* Set the product's elements of `old` to what they must be. The number of those
 * from which C differs. */
static int64_t count_wrong(const job *j, int g, int64_t product)
{
    const double unit = roundoff_of(j->type);
    const int64_t size = (int64_t)hr_type_size(j->type);
    char *before = old + ((char *)j->c[product] - memory[2]);
    int64_t count = 0;
    for (int64_t i = 0; i < (int64_t)j->m[g] * j->n[g]; i++) {
        const int64_t row = i / j->n[g], col = i % j->n[g];
        const int64_t at =
            j->order == BY_ROWS ? row * j->ldc[g] + col : col * j->ldc[g] + row;
        const double complex was = get_element(j->type, before, at);
        const double complex add = j->beta[g] != 0 ? j->beta[g] * was : 0;
        double complex sum = 0;
        double bound = 0;
        for (int64_t p = 0; p < j->k[g]; p++) {
            const double complex x =
                operand_at(j, j->a[product], j->op_a[g], row, p, j->lda[g]) *
                operand_at(j, j->b[product], j->op_b[g], p, col, j->ldb[g]);
            sum += x;
            bound += cabs(x);
        }
        bound = cabs(j->alpha[g]) * bound + cabs(add);
        const double complex seen = get_element(j->type, j->c[product], at);
        count += !(cabs(seen - j->alpha[g] * sum - add) <=
                   4 * (2 * (double)j->k[g] + 6) * unit * bound);
        memcpy(before + at * size, (char *)j->c[product] + at * size,
               (size_t)size);
    }
    return count;
}

static void call_randomly(int count)
{
    TEST_CASE("random calls");
    random_source source = {5};
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        const job j = random_job(&source);
        int64_t product = 0, wrongs = 0;
        for (int m = 0; m < 3; m++) {
            fill_matrices(j.type, &source, memory[m]);
        }
        memcpy(old, memory[2], sizeof old);
        make_call(&j);
        for (int g = 0; g < j.groups; g++) {
            for (int64_t p = 0; p < j.count[g]; p++) {
                wrongs += count_wrong(&j, g, product++);
            }
        }
        /* all else is as it was */
        if (!CHECK(wrongs == 0) ||
            !CHECK(memcmp(old, memory[2], sizeof old) == 0)) {
            fprintf(stderr,
                    "  call %d: type %d, way %d, order %d, %d groups%s\n", i,
                    (int)j.type, (int)j.way, j.order, (int)j.groups,
                    j.strided ? ", strided" : "");
        }
    }
}

/* ---- rules */

/* What a call of one product each must not be, and what is told of it. */
typedef struct rule {
    plain_int m, n, k, lda, ldb, ldc, step_a, step_b, step_c, count;
    int op_a, op_b;
    int strided, grouped; /* the positions by columns */
} rule;

static const rule rules[] = {
    {2, 2, 2, 2, 2, 2, 4, 4, 4, 2, 110, 111, 2, 2},
    {2, 2, 2, 2, 2, 2, 4, 4, 4, 2, 111, 119, 3, 3},
    {-1, 2, 2, 2, 2, 2, 4, 4, 4, 2, 111, 111, 4, 4},
    {2, -1, 2, 2, 2, 2, 4, 4, 4, 2, 111, 111, 5, 5},
    {2, 2, -1, 2, 2, 2, 4, 4, 4, 2, 111, 111, 6, 6},
    {2, 2, 2, 1, 2, 2, 4, 4, 4, 2, 111, 111, 9, 9},
    {2, 2, 2, 2, 2, 2, -1, 4, 4, 2, 111, 111, 10, 0},
    {2, 2, 2, 2, 1, 2, 4, 4, 4, 2, 111, 111, 12, 11},
    {2, 2, 2, 2, 2, 2, 4, -1, 4, 2, 111, 111, 13, 0},
    {2, 2, 2, 2, 2, 1, 4, 4, 4, 2, 111, 111, 16, 14},
    {2, 2, 2, 2, 2, 2, 4, 4, -1, 2, 111, 111, 17, 0},
    {2, 2, 2, 2, 2, 2, 4, 4, 4, -1, 111, 111, 18, 16},
};

static void check_rules(void)
{
    TEST_CASE("rules");
    double a[64] = {0}, c[64] = {7};
    const void *as[] = {a, a, a, a};
    void *cs[] = {c, c + 8, c + 16, c + 24};
    const double ones[] = {1, 1};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const rule *r = &rules[i];
        told = 0;
        cblas_dgemm_batch_strided(BY_COLUMNS, r->op_a, r->op_b, r->m, r->n,
                                  r->k, 1, a, r->lda, r->step_a, a, r->ldb,
                                  r->step_b, 1, c, r->ldc, r->step_c, r->count);
        CHECK(told == r->strided &&
              strcmp(told_of, "CBLAS_DGEMM_BATCH_STRIDED") == 0);
        /* the second group is wrong: the first is not computed either */
        told = 0;
        const int op_a[] = {111, r->op_a}, op_b[] = {111, r->op_b};
        const plain_int m[] = {2, r->m}, n[] = {2, r->n}, k[] = {2, r->k},
                        lda[] = {2, r->lda}, ldb[] = {2, r->ldb},
                        ldc[] = {2, r->ldc}, count[] = {1, r->count};
        if (r->grouped > 0) {
            cblas_dgemm_batch(BY_COLUMNS, op_a, op_b, m, n, k, ones, as, lda,
                              as, ldb, ones, cs, ldc, 2, count);
            CHECK(told == r->grouped);
        }
        CHECK(c[0] == 7);
    }
    const plain_int two[] = {2, 2}, less = -1;
    dgemm_batch_("NN", "NN", two, two, two, ones, as, two, as, two, ones, cs,
                 two, &less, two, 1, 1);
    CHECK(told == 14 && strcmp(told_of, "DGEMM_BATCH") == 0);
    cblas_dgemm_batch(100, (const int[]){111}, (const int[]){111}, two, two,
                      two, ones, as, two, as, two, ones, cs, two, 1, two);
    CHECK(told == 1);
    /* by rows A and B keep their positions */
    cblas_dgemm_batch_strided(BY_ROWS, 111, 111, 2, 2, 3, 1, a, 2, 4, a, 2, 4,
                              1, c, 2, 4, 1);
    CHECK(told == 9);
    cblas_dgemm_batch_strided(BY_ROWS, 111, 111, 2, 3, 2, 1, a, 2, 4, a, 2, 4,
                              1, c, 3, 4, 1);
    CHECK(told == 12);
    cblas_dgemm_batch_strided(BY_ROWS, 111, 111, 2, 2, 2, 1, a, 2, -4, a, 2, 4,
                              1, c, 2, 4, 1);
    CHECK(told == 10);
    CHECK(c[0] == 7);
}

int main(int argc, char **argv)
{
    const bool alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    TEST(call_randomly(argc > 2 ? atoi(argv[2]) : 600));
    if (alone) {
        TEST(check_rules());
    }
    return test_end();
}
