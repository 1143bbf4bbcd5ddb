/* SPDX-License-Identifier: MIT */
/* The drop-in BLAS compared with plain loops: all types, both widths of
 * integers, by rows and by columns, all operations, part of C. Also its rules,
 * and the errors that it reports when they are broken. With "alone" there is no
 * other BLAS, and wrong arguments end in xerbla_. */
#include <math.h>

#include "blas/elements.h"
#include "support/random.h"
#include "test.h"

enum { MAX_EXTENT = 96, ROOM = (MAX_EXTENT + 7) * (MAX_EXTENT + 7) };
enum { UPPER = 121, LOWER = 122 };

/* How a call is made. */
typedef enum way {
    PLAIN,
    WIDE,
    SCIPY,
    SCIPY_WIDE,
    BY_CBLAS,
    BY_CBLAS_WIDE,
    WAYS
} way;

typedef struct job {
    hr_type type;
    way way;
    int order; /* BY_COLUMNS for Fortran */
    char part; /* 'A': all of C; U, L */
    char op_a, op_b;
    int m, n, k, lda, ldb, ldc;
    double complex alpha, beta;
    char *a, *b, *c;
} job;

/* ---- the call */

static int flag_of(char op)
{
    return op == 'N' ? 111 : op == 'T' ? 112 : 113;
}

/* A scalar as it is passed by address. */
typedef struct passed {
    char bytes[16];
} passed;

static passed pass_scalar(hr_type type, double complex x)
{
    passed p;
    put_element(type, p.bytes, 0, x);
    return p;
}

#define FORTRAN_CALL(INT, gemm, gemmt)                                         \
    {                                                                          \
        const INT m = j->m, n = j->n, k = j->k, lda = j->lda, ldb = j->ldb,    \
                  ldc = j->ldc;                                                \
        if (j->part == 'A') {                                                  \
            gemm(&j->op_a, &j->op_b, &m, &n, &k, alpha.bytes, j->a, &lda,      \
                 j->b, &ldb, beta.bytes, j->c, &ldc, 1, 1);                    \
        } else {                                                               \
            gemmt(&j->part, &j->op_a, &j->op_b, &n, &k, alpha.bytes, j->a,     \
                  &lda, j->b, &ldb, beta.bytes, j->c, &ldc, 1, 1, 1);          \
        }                                                                      \
    }

#define CBLAS_CALL(gemm, gemmt, ALPHA, BETA)                                   \
    if (j->part == 'A') {                                                      \
        gemm(j->order, flag_of(j->op_a), flag_of(j->op_b), j->m, j->n, j->k,   \
             ALPHA, j->a, j->lda, j->b, j->ldb, BETA, j->c, j->ldc);           \
    } else {                                                                   \
        gemmt(j->order, j->part == 'U' ? UPPER : LOWER, flag_of(j->op_a),      \
              flag_of(j->op_b), j->n, j->k, ALPHA, j->a, j->lda, j->b, j->ldb, \
              BETA, j->c, j->ldc);                                             \
    }

#define CALLS(base, ALPHA, BETA)                                               \
    switch (j->way) {                                                          \
    case PLAIN:                                                                \
        FORTRAN_CALL(plain_int, base##_, base##t_)                             \
        break;                                                                 \
    case WIDE:                                                                 \
        FORTRAN_CALL(int64_t, base##_64_, base##t_64_)                         \
        break;                                                                 \
    case SCIPY:                                                                \
        FORTRAN_CALL(int32_t, scipy_##base##_, scipy_##base##t_)               \
        break;                                                                 \
    case SCIPY_WIDE:                                                           \
        FORTRAN_CALL(int64_t, scipy_##base##_64_, base##t_64_)                 \
        break;                                                                 \
    case BY_CBLAS:                                                             \
        CBLAS_CALL(cblas_##base, cblas_##base##t, ALPHA, BETA)                 \
        break;                                                                 \
    default:                                                                   \
        CBLAS_CALL(scipy_cblas_##base##64_, cblas_##base##t64_, ALPHA, BETA)   \
        break;                                                                 \
    }

FORTRAN_GEMMT(scipy_sgemmt_, int32_t)
FORTRAN_GEMMT(scipy_dgemmt_, int32_t)
FORTRAN_GEMMT(scipy_cgemmt_, int32_t)
FORTRAN_GEMMT(scipy_zgemmt_, int32_t)

static void call_real(const job *j, passed alpha, passed beta)
{
    const float alpha_s = (float)creal(j->alpha),
                beta_s = (float)creal(j->beta);
    if (j->type == HR_F32) {
        CALLS(sgemm, alpha_s, beta_s)
    } else {
        CALLS(dgemm, creal(j->alpha), creal(j->beta))
    }
}

static void call_complex(const job *j, passed alpha, passed beta)
{
    if (j->type == HR_C32) {
        CALLS(cgemm, alpha.bytes, beta.bytes)
    } else {
        CALLS(zgemm, alpha.bytes, beta.bytes)
    }
}

static void make_call(const job *j)
{
    const passed alpha = pass_scalar(j->type, j->alpha);
    const passed beta = pass_scalar(j->type, j->beta);
    if (is_complex(j->type)) {
        call_complex(j, alpha, beta);
    } else {
        call_real(j, alpha, beta);
    }
}

/* ---- what must result */

static int64_t place_of(const job *j, int row, int col, int ld)
{
    return j->order == BY_ROWS ? (int64_t)row * ld + col
                               : (int64_t)col * ld + row;
}

static double complex operand_at(const job *j, const char *data, char op,
                                 int row, int col, int ld)
{
    const bool transposed = op != 'N';
    const double complex x = get_element(
        j->type, data,
        place_of(j, transposed ? col : row, transposed ? row : col, ld));
    return op == 'C' ? conj(x) : x;
}

static bool has_element(const job *j, int row, int col)
{
    return j->part == 'A' || (j->part == 'U' ? row <= col : row >= col);
}

/* The number of elements of C that are wrong, given the old C. */
static int count_wrong(const job *j, const char *old)
{
    const double unit = roundoff_of(j->type);
    const int64_t bytes = (int64_t)hr_type_size(j->type);
    int count = 0;
    for (int row = 0; row < j->m; row++) {
        for (int col = 0; col < j->n; col++) {
            const int64_t i = place_of(j, row, col, j->ldc);
            double complex want = 0;
            double size = 0;
            for (int p = 0; p < j->k; p++) {
                const double complex x =
                    operand_at(j, j->a, j->op_a, row, p, j->lda) *
                    operand_at(j, j->b, j->op_b, p, col, j->ldb);
                want += x;
                size += cabs(x);
            }
            const double complex before = get_element(j->type, old, i);
            want = j->alpha * want + (j->beta != 0 ? j->beta * before : 0);
            size = cabs(j->alpha) * size +
                   (j->beta != 0 ? cabs(j->beta * before) : 0);
            const double complex seen = get_element(j->type, j->c, i);
            const bool same =
                has_element(j, row, col)
                    ? cabs(seen - want) <= 4 * (2 * j->k + 6) * unit * size
                    : memcmp(j->c + i * bytes, old + i * bytes,
                             (size_t)bytes) == 0;
            count += !same;
        }
    }
    return count;
}

static void fill_matrix(const job *j, random_source *source, char *data)
{
    for (int64_t i = 0; i < ROOM; i++) {
        const double re = (double)random_between(source, -1000, 1000) / 997;
        const double im = (double)random_between(source, -1000, 1000) / 991;
        put_element(j->type, data, i, is_complex(j->type) ? re + im * I : re);
    }
}

static int leading_of(const job *j, int rows, int cols, char op, int more)
{
    const int high = op == 'N' ? rows : cols, wide = op == 'N' ? cols : rows;
    const int least = j->order == BY_ROWS ? wide : high;
    return (least > 1 ? least : 1) + more;
}

static job random_job(random_source *source)
{
    static const char ops[] = "NTC", parts[] = "AAUL";
    static const double complex factors[] = {0, 1, -0.5, 0.75 - 0.25 * I};
    static const int sizes[] = {0, 1, 2, 7, 31, 64, MAX_EXTENT};
    job j = {.type = (hr_type)random_between(source, HR_F32, HR_C64),
             .way = (way)random_between(source, 0, WAYS - 1),
             .part = parts[random_between(source, 0, 3)],
             .op_a = ops[random_between(source, 0, 2)],
             .op_b = ops[random_between(source, 0, 2)],
             .m = sizes[random_between(source, 0, 6)],
             .n = sizes[random_between(source, 0, 6)],
             .k = sizes[random_between(source, 0, 6)],
             .alpha = factors[random_between(source, 0, 3)],
             .beta = factors[random_between(source, 0, 3)]};
    j.order = j.way >= BY_CBLAS && random_between(source, 0, 1) == 0
                  ? BY_ROWS
                  : BY_COLUMNS;
    if (!is_complex(j.type)) {
        j.alpha = creal(j.alpha);
        j.beta = creal(j.beta);
    }
    j.m = j.part == 'A' ? j.m : j.n;
    j.lda = leading_of(&j, j.m, j.k, j.op_a, (int)random_between(source, 0, 2));
    j.ldb = leading_of(&j, j.k, j.n, j.op_b, (int)random_between(source, 0, 2));
    j.ldc = leading_of(&j, j.m, j.n, 'N', (int)random_between(source, 0, 2));
    return j;
}

static void call_randomly(int count)
{
    TEST_CASE("random calls");
    random_source source = {3};
    char *room = malloc(4 * ROOM * 16);
    for (int i = 0; i < count && test_state.failures == 0; i++) {
        job j = random_job(&source);
        char *old = room + 3 * ROOM * 16;
        j.a = room;
        j.b = room + ROOM * 16;
        j.c = room + 2 * ROOM * 16;
        fill_matrix(&j, &source, j.a);
        fill_matrix(&j, &source, j.b);
        fill_matrix(&j, &source, j.c);
        if (j.beta == 0) { /* which must not be read */
            put_element(j.type, j.c, 0, NAN);
        }
        memcpy(old, j.c, ROOM * 16);
        make_call(&j);
        if (!CHECK(count_wrong(&j, old) == 0)) {
            fprintf(stderr,
                    "  call %d: type %d, way %d, order %d, %c %c%c, %d x %d x "
                    "%d, ld %d %d %d\n",
                    i, (int)j.type, (int)j.way, j.order, j.part, j.op_a, j.op_b,
                    j.m, j.n, j.k, j.lda, j.ldb, j.ldc);
        }
    }
    free(room);
}

/* ---- names that random calls do not use */

static void call_other_names(void)
{
    TEST_CASE("other names");
    const double complex a = 2 + I, b = 3 - I, one = 1, none = 0;
    const plain_int n = 1;
    double complex c[3] = {0};
    zgemm3m_("N", "N", &n, &n, &n, &one, &a, &n, &b, &n, &none, &c[0], &n, 1,
             1);
    cblas_zgemm3m(BY_ROWS, 111, 113, 1, 1, 1, &one, &a, 1, &b, 1, &none, &c[1],
                  1);
    zgemmtr_("U", "N", "N", &n, &n, &one, &a, &n, &b, &n, &none, &c[2], &n, 1,
             1, 1);
    CHECK(c[0] == a * b && c[1] == a * conj(b) && c[2] == a * b);
    double x = 3, y = 0;
    cblas_dgemm_64(BY_COLUMNS, 111, 111, 1, 1, 1, 2, &x, 1, &x, 1, 0, &y, 1);
    CHECK(y == 18);
    cblas_dgemm64_(BY_COLUMNS, 111, 111, 1, 1, 1, 2, &x, 1, &x, 1, 1, &y, 1);
    CHECK(y == 36);
    float s = 3, t = 0;
    scipy_cblas_sgemm(BY_COLUMNS, 111, 111, 1, 1, 1, 2, &s, 1, &s, 1, 0, &t, 1);
    CHECK(t == 18);
}

/* ---- rules */

static void check_fortran_rules(void)
{
    static const struct {
        const char *op_a, *op_b;
        plain_int m, n, k, lda, ldb, ldc, position;
    } rules[] = {
        {"X", "N", 2, 2, 2, 2, 2, 2, 1},  {"N", "?", 2, 2, 2, 2, 2, 2, 2},
        {"N", "N", -1, 2, 2, 2, 2, 2, 3}, {"N", "N", 2, -1, 2, 2, 2, 2, 4},
        {"N", "N", 2, 2, -1, 2, 2, 2, 5}, {"N", "N", 3, 2, 2, 2, 2, 3, 8},
        {"T", "N", 2, 2, 3, 2, 3, 2, 8},  {"N", "N", 2, 2, 3, 2, 2, 2, 10},
        {"N", "C", 2, 3, 2, 2, 2, 2, 10}, {"N", "N", 3, 2, 2, 3, 2, 2, 13},
        {"N", "N", 0, 0, 0, 0, 1, 1, 8},
    };
    const double one = 1;
    double a[64] = {0}, c[64] = {7};
    TEST_CASE("rules");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        told = -1;
        dgemm_(rules[i].op_a, rules[i].op_b, &rules[i].m, &rules[i].n,
               &rules[i].k, &one, a, &rules[i].lda, a, &rules[i].ldb, &one, c,
               &rules[i].ldc, 1, 1);
        CHECK(told == rules[i].position && strcmp(told_of, "DGEMM") == 0 &&
              c[0] == 7);
    }
}

/* By rows the first matrix is the second of the call by columns. */
static void check_cblas_rules(void)
{
    static const struct {
        int order, op_a;
        plain_int m, n, k, lda, ldb, ldc, position;
    } rules[] = {
        {100, 111, 2, 2, 2, 2, 2, 2, 1},
        {BY_ROWS, 110, 2, 2, 2, 2, 2, 2, 2},
        {BY_ROWS, 111, -1, 2, 2, 2, 2, 2, 4},
        {BY_ROWS, 111, 2, 2, 3, 2, 2, 2, 9},
        {BY_ROWS, 111, 2, 3, 2, 2, 2, 3, 11},
        {BY_COLUMNS, 111, 3, 2, 2, 3, 2, 2, 14},
    };
    double a[64] = {0}, c[64] = {7};
    TEST_CASE("rules of the CBLAS");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        told = -1;
        cblas_dgemm(rules[i].order, rules[i].op_a, 111, rules[i].m, rules[i].n,
                    rules[i].k, 1, a, rules[i].lda, a, rules[i].ldb, 1, c,
                    rules[i].ldc);
        CHECK(told == rules[i].position && c[0] == 7);
    }
}

int main(int argc, char **argv)
{
    const bool alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    TEST(call_randomly(argc > 2 ? atoi(argv[2]) : 1500));
    TEST(call_other_names());
    if (alone) {
        TEST(check_fortran_rules());
        TEST(check_cblas_rules());
    }
    return test_end();
}
