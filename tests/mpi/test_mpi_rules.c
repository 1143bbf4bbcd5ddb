/* SPDX-License-Identifier: MIT */
/* What products over processes refuse, in all processes with one sentence, and
 * that the context works afterwards.
 *
 *     mpirun -n 3 test_mpi_rules */
#include <headrace/mpi.h>

#include "test.h"

enum { SIZE = 40 };

static int rank, process_count;
static double data[3][SIZE * SIZE];
static hr_mpi_context *context;

/* Columns of the matrix go to processes in turn. */
static hr_mpi_cyclic by_columns(double *elements)
{
    return (hr_mpi_cyclic){.row_block = SIZE,
                           .col_block = 1,
                           .process_rows = 1,
                           .process_cols = process_count,
                           .data = elements,
                           .leading_dimension = SIZE};
}

typedef struct operands {
    hr_mpi_cyclic blocks[3];
    hr_mpi_matrix of[3];
} operands;

static void open_operands(operands *o)
{
    for (int i = 0; i < 3; i++) {
        o->blocks[i] = by_columns(data[i]);
        o->of[i] = hr_mpi_matrix_cyclic(HR_F64, SIZE, SIZE, &o->blocks[i]);
    }
}

static hr_status multiply(const operands *o, const hr_mpi_gemm_options *options)
{
    return hr_mpi_gemm(context, hr_real(1), o->of[0], o->of[1], hr_real(0),
                       o->of[2], options);
}

/* The identity times A, of columns of ones. */
static void works(void)
{
    operands o;
    open_operands(&o);
    for (int j = rank, place = 0; j < SIZE; j += process_count, place++) {
        for (int i = 0; i < SIZE; i++) {
            data[0][place * SIZE + i] = i == j;
            data[1][place * SIZE + i] = i + 100.0 * j;
            data[2][place * SIZE + i] = -1.0;
        }
    }
    CHECK(multiply(&o, NULL) == HR_OK);
    bool right = true;
    for (int j = rank, place = 0; j < SIZE; j += process_count, place++) {
        for (int i = 0; i < SIZE; i++) {
            right = right && data[2][place * SIZE + i] == i + 100.0 * j;
        }
    }
    CHECK(right);
}

static void differing(void)
{
    operands o;
    TEST_CASE("blocks differ in one process");
    open_operands(&o);
    o.blocks[0].row_block = rank == process_count - 1 ? 7 : SIZE;
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "different arguments");
    works();
    TEST_CASE("alpha differs in one process");
    open_operands(&o);
    CHECK_FAILS(hr_mpi_gemm(context, hr_real(rank == 0), o.of[0], o.of[1],
                            hr_real(0), o.of[2], NULL),
                HR_ERROR_INVALID, "different arguments");
    works();
}

static void refused(void)
{
    operands o;
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    TEST_CASE("one process has no data");
    open_operands(&o);
    o.blocks[1].data = rank == 1 ? NULL : data[1];
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "process 1");
    works();
    TEST_CASE("one process has a short leading dimension");
    open_operands(&o);
    o.blocks[2].leading_dimension = rank == 1 ? SIZE - 1 : SIZE;
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID,
                "leading dimension is 39");
    works();
    TEST_CASE("shapes");
    open_operands(&o);
    o.of[0] = hr_mpi_matrix_section(o.of[0], 0, 0, SIZE, SIZE - 1);
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "A is 40 x 39");
    TEST_CASE("a section outside");
    open_operands(&o);
    o.of[0] = hr_mpi_matrix_section(o.of[0], 1, 0, SIZE, SIZE);
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "are not in 40 x 40");
    TEST_CASE("more processes than there are");
    open_operands(&o);
    options.rows = options.cols = process_count;
    CHECK_FAILS(multiply(&o, &options), HR_ERROR_INVALID, "asked for");
    TEST_CASE("types");
    open_operands(&o);
    o.of[2].type = HR_F32;
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_UNSUPPORTED, "f64");
    works();
}

static void lists(void)
{
    operands o;
    hr_mpi_block blocks[2] = {{.rows = SIZE,
                               .cols = SIZE / 2,
                               .data = data[0],
                               .row_stride = 1,
                               .col_stride = SIZE},
                              {.col = SIZE / 2,
                               .rows = SIZE,
                               .cols = SIZE / 2 - 1,
                               .owner = 1,
                               .data = data[0],
                               .row_stride = 1,
                               .col_stride = SIZE}};
    TEST_CASE("blocks that leave a column out");
    open_operands(&o);
    o.of[0] = hr_mpi_matrix_blocks(HR_F64, SIZE, SIZE, blocks, 2);
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID,
                "no block has element (0, 39)");
    TEST_CASE("blocks that overlap");
    blocks[1].col--;
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "overlap");
    TEST_CASE("a block outside");
    blocks[1].col += 2;
    blocks[1].cols++;
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "is not in 40 x 40");
    TEST_CASE("a rank that is not there");
    blocks[1].col--;
    blocks[1].owner = process_count;
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "processes");
    works();
}

/* Structs of older and newer programs. */
static void sizes(void)
{
    operands o;
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    struct {
        hr_mpi_gemm_report known;
        uint64_t more[2];
    } report = {HR_MPI_GEMM_REPORT_INIT, {7, 7}};
    TEST_CASE("a report that is larger than known");
    open_operands(&o);
    report.known.size = sizeof report;
    options.report = &report.known;
    CHECK(multiply(&o, &options) == HR_OK);
    CHECK(report.known.panels > 0 && report.more[0] == 0);
    TEST_CASE("a report that ends early");
    report.known = (hr_mpi_gemm_report){
        .size = offsetof(hr_mpi_gemm_report, seconds), .seconds = -1.0};
    CHECK(multiply(&o, &options) == HR_OK);
    CHECK(report.known.panels > 0 && report.known.seconds < 0.0);
    TEST_CASE("a report of no size");
    report.known.size = 0;
    CHECK_FAILS(multiply(&o, &options), HR_ERROR_INVALID,
                "HR_MPI_GEMM_REPORT_INIT");
    TEST_CASE("options of no size");
    options.size = 0;
    CHECK_FAILS(multiply(&o, &options), HR_ERROR_INVALID,
                "HR_MPI_GEMM_OPTIONS_INIT");
    works();
}

static void everywhere(void)
{
    operands o;
    hr_mpi_block block = {.rows = SIZE,
                          .cols = SIZE,
                          .owner = HR_MPI_EVERYWHERE,
                          .data = data[2],
                          .row_stride = 1,
                          .col_stride = SIZE};
    TEST_CASE("C in every process");
    open_operands(&o);
    o.of[2] = hr_mpi_matrix_blocks(HR_F64, SIZE, SIZE, &block, 1);
    CHECK_FAILS(multiply(&o, NULL), HR_ERROR_INVALID, "C: every process");
    works();
}

static bool cancel(void *asked, double done, double total)
{
    (void)done;
    (void)total;
    ++*(int *)asked;
    return rank != 1;
}

static void cancelled(void)
{
    operands o;
    int asked = 0;
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    TEST_CASE("one process cancels");
    open_operands(&o);
    options.progress = cancel;
    options.progress_data = &asked;
    options.memory_limit = 1; /* a panel for each column */
    CHECK_FAILS(multiply(&o, &options), HR_ERROR_CANCELLED, "process 1");
    CHECK(asked > 0 && asked < SIZE);
    works();
}

static bool cancel_midway(void *told, double done, double total)
{
    *(double *)told = done / total;
    return done <= 0.0;
}

/* A product of n x n in one panel, which is told to stop when it is under way.
 */
static hr_status cancel_large(int64_t n, double *told)
{
    double *a = calloc((size_t)(n * n), sizeof *a);
    double *c = calloc((size_t)(n * n), sizeof *c);
    hr_mpi_block all = {.rows = n,
                        .cols = n,
                        .owner = HR_MPI_EVERYWHERE,
                        .data = a,
                        .row_stride = n,
                        .col_stride = 1};
    hr_mpi_block rows[64];
    for (int p = 0; p < process_count; p++) {
        const int64_t begin = n * p / process_count;
        rows[p] = (hr_mpi_block){.row = begin,
                                 .rows = n * (p + 1) / process_count - begin,
                                 .cols = n,
                                 .owner = p,
                                 .data = c + begin * n,
                                 .row_stride = n,
                                 .col_stride = 1};
    }
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    options.progress = cancel_midway;
    options.progress_data = told;
    options.rows = process_count;
    const hr_mpi_matrix m = hr_mpi_matrix_blocks(HR_F64, n, n, &all, 1);
    const hr_status status = hr_mpi_gemm(
        context, hr_real(1), m, m, hr_real(0),
        hr_mpi_matrix_blocks(HR_F64, n, n, rows, process_count), &options);
    free(a);
    free(c);
    return status;
}

/* Sizes grow until one takes long enough to be told of. */
static void cancelled_midway(void)
{
    TEST_CASE("a product in one panel");
    hr_status status = HR_OK;
    double told = 0.0;
    for (int64_t n = 500; n <= 8000 && status == HR_OK; n *= 2) {
        told = -1.0;
        status = cancel_large(n, &told);
    }
    CHECK(status == HR_ERROR_CANCELLED && told < 1.0);
    works();
}

int main(int argc, char **argv)
{
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context) == HR_OK);
    TEST(works());
    TEST(differing());
    TEST(refused());
    TEST(lists());
    TEST(sizes());
    TEST(everywhere());
    TEST(cancelled());
    TEST(cancelled_midway());
    hr_mpi_context_destroy(context);
    MPI_Finalize();
    return test_end();
}
