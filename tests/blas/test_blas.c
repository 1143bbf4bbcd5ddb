/* SPDX-License-Identifier: MIT */
/* The drop-in BLAS compared with plain loops: all types, both widths of
 * integers, by rows and by columns, all operations, part of C. Also its rules,
 * and the errors that it reports when they are broken. With "alone" there is no
 * other BLAS, and wrong arguments end in xerbla_. */
#include <complex.h>
#include <math.h>

#include "blas/names.h"
#include "support/random.h"
#include "test.h"

enum { MAX_EXTENT = 96, ROOM = (MAX_EXTENT + 7) * (MAX_EXTENT + 7) };
enum { BY_ROWS = 101, BY_COLUMNS = 102, UPPER = 121, LOWER = 122 };

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

static size_t size_of(hr_type type)
{
    return hr_type_size(type);
}

static bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

static double complex get(hr_type type, const char *data, size_t i)
{
    switch (type) {
    case HR_F32:
        return ((const float *)(const void *)data)[i];
    case HR_F64:
        return ((const double *)(const void *)data)[i];
    case HR_C32:
        return ((const float complex *)(const void *)data)[i];
    default:
        return ((const double complex *)(const void *)data)[i];
    }
}

static void put(hr_type type, char *data, size_t i, double complex x)
{
    switch (type) {
    case HR_F32:
        ((float *)(void *)data)[i] = (float)creal(x);
        break;
    case HR_F64:
        ((double *)(void *)data)[i] = creal(x);
        break;
    case HR_C32:
        ((float complex *)(void *)data)[i] = (float complex)x;
        break;
    default:
        ((double complex *)(void *)data)[i] = x;
        break;
    }
}

/* ---- the call */

static int flag_of(char op)
{
    return op == 'N' ? 111 : op == 'T' ? 112 : 113;
}

/* A scalar as it is passed by address. */
typedef struct passed {
    char bytes[16];
} passed;

static passed pass(hr_type type, double complex x)
{
    passed p;
    put(type, p.bytes, 0, x);
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

static void call(const job *j)
{
    const passed alpha = pass(j->type, j->alpha);
    const passed beta = pass(j->type, j->beta);
    if (is_complex(j->type)) {
        call_complex(j, alpha, beta);
    } else {
        call_real(j, alpha, beta);
    }
}

/* ---- what must result */

static size_t at(const job *j, int row, int col, int ld)
{
    return j->order == BY_ROWS ? (size_t)row * (size_t)ld + (size_t)col
                               : (size_t)col * (size_t)ld + (size_t)row;
}

static double complex operand(const job *j, const char *data, char op, int row,
                              int col, int ld)
{
    const bool transposed = op != 'N';
    const double complex x =
        get(j->type, data,
            at(j, transposed ? col : row, transposed ? row : col, ld));
    return op == 'C' ? conj(x) : x;
}

static bool has(const job *j, int row, int col)
{
    return j->part == 'A' || (j->part == 'U' ? row <= col : row >= col);
}

/* The number of elements of C that are wrong, given the old C. */
static int wrong(const job *j, const char *old)
{
    const double unit =
        j->type == HR_F32 || j->type == HR_C32 ? 0x1p-24 : 0x1p-53;
    int count = 0;
    for (int row = 0; row < j->m; row++) {
        for (int col = 0; col < j->n; col++) {
            const size_t i = at(j, row, col, j->ldc);
            double complex want = 0;
            double size = 0;
            for (int p = 0; p < j->k; p++) {
                const double complex x =
                    operand(j, j->a, j->op_a, row, p, j->lda) *
                    operand(j, j->b, j->op_b, p, col, j->ldb);
                want += x;
                size += cabs(x);
            }
            const double complex before = get(j->type, old, i);
            want = j->alpha * want + (j->beta != 0 ? j->beta * before : 0);
            size = cabs(j->alpha) * size +
                   (j->beta != 0 ? cabs(j->beta * before) : 0);
            const double complex seen = get(j->type, j->c, i);
            const bool same =
                has(j, row, col)
                    ? cabs(seen - want) <= 4 * (2 * j->k + 6) * unit * size
                    : memcmp(j->c + i * size_of(j->type),
                             old + i * size_of(j->type), size_of(j->type)) == 0;
            count += !same;
        }
    }
    return count;
}

static void fill(job *j, random_source *source, char *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double re = (double)random_between(source, -1000, 1000) / 997;
        const double im = (double)random_between(source, -1000, 1000) / 991;
        put(j->type, data, i, is_complex(j->type) ? re + im * I : re);
    }
}

static int leading(const job *j, int rows, int cols, char op, int more)
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
    j.lda = leading(&j, j.m, j.k, j.op_a, (int)random_between(source, 0, 2));
    j.ldb = leading(&j, j.k, j.n, j.op_b, (int)random_between(source, 0, 2));
    j.ldc = leading(&j, j.m, j.n, 'N', (int)random_between(source, 0, 2));
    return j;
}

static void random_calls(int count)
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
        fill(&j, &source, j.a, ROOM);
        fill(&j, &source, j.b, ROOM);
        fill(&j, &source, j.c, ROOM);
        if (j.beta == 0) { /* which must not be read */
            put(j.type, j.c, 0, NAN);
        }
        memcpy(old, j.c, ROOM * 16);
        call(&j);
        if (!CHECK(wrong(&j, old) == 0)) {
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

static void other_names(void)
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

static plain_int told; /* the position that xerbla_ was told last */
static char told_of[32];

void xerbla_(const char *name, const plain_int *position, size_t length);

void xerbla_(const char *name, const plain_int *position, size_t length)
{
    told = *position;
    snprintf(told_of, sizeof told_of, "%.*s", (int)length, name);
}

/* sizes: m, n, k, lda, ldb, ldc */
static void refused(int position, const char *op_a, const char *op_b,
                    const plain_int sizes[6])
{
    const double one = 1;
    double a[64] = {0}, c[64] = {7};
    told = -1;
    dgemm_(op_a, op_b, &sizes[0], &sizes[1], &sizes[2], &one, a, &sizes[3], a,
           &sizes[4], &one, c, &sizes[5], 1, 1);
    CHECK(told == position && strcmp(told_of, "DGEMM") == 0 && c[0] == 7);
}

static void rules(void)
{
    TEST_CASE("rules");
    refused(1, "X", "N", (const plain_int[]){2, 2, 2, 2, 2, 2});
    refused(2, "N", "?", (const plain_int[]){2, 2, 2, 2, 2, 2});
    refused(3, "N", "N", (const plain_int[]){-1, 2, 2, 2, 2, 2});
    refused(4, "N", "N", (const plain_int[]){2, -1, 2, 2, 2, 2});
    refused(5, "N", "N", (const plain_int[]){2, 2, -1, 2, 2, 2});
    refused(8, "N", "N", (const plain_int[]){3, 2, 2, 2, 2, 3});
    refused(8, "T", "N", (const plain_int[]){2, 2, 3, 2, 3, 2});
    refused(10, "N", "N", (const plain_int[]){2, 2, 3, 2, 2, 2});
    refused(10, "N", "C", (const plain_int[]){2, 3, 2, 2, 2, 2});
    refused(13, "N", "N", (const plain_int[]){3, 2, 2, 3, 2, 2});
    refused(8, "N", "N", (const plain_int[]){0, 0, 0, 0, 1, 1});
}

/* By rows the first matrix is the second of the call by columns. */
static void rules_of_c(void)
{
    TEST_CASE("rules of the CBLAS");
    double a[64] = {0}, c[64] = {7};
    told = -1;
    cblas_dgemm(100, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    CHECK(told == 1);
    cblas_dgemm(BY_ROWS, 110, 111, 2, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    CHECK(told == 2);
    cblas_dgemm(BY_ROWS, 111, 111, -1, 2, 2, 1, a, 2, a, 2, 1, c, 2);
    CHECK(told == 4);
    cblas_dgemm(BY_ROWS, 111, 111, 2, 2, 3, 1, a, 2, a, 2, 1, c, 2);
    CHECK(told == 9);
    cblas_dgemm(BY_ROWS, 111, 111, 2, 3, 2, 1, a, 2, a, 2, 1, c, 3);
    CHECK(told == 11);
    cblas_dgemm(BY_COLUMNS, 111, 111, 3, 2, 2, 1, a, 3, a, 2, 1, c, 2);
    CHECK(told == 14);
    CHECK(c[0] == 7);
}

int main(int argc, char **argv)
{
    const bool alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    TEST(random_calls(argc > 2 ? atoi(argv[2]) : 1500));
    TEST(other_names());
    if (alone) {
        TEST(rules());
        TEST(rules_of_c());
    }
    return test_end();
}
