/* SPDX-License-Identifier: MIT */
/* Products from files that all processes see into a file that each writes in
 * part, against a plain loop. Elements are small integers.
 *
 *     mpirun -n 5 test_mpi_files [COUNT] */
#include <unistd.h>

#include <headrace/mpi.h>

#include "support/random.h"
#include "test.h"

enum { MAX_ROWS = 300, MAX_COLS = 90 };

static int rank;
static hr_mpi_context *context;
static random_source source; /* the same numbers in every process */

static int64_t between(int64_t low, int64_t high)
{
    return random_between(&source, low, high);
}

static void name_file(char *path, size_t bytes, const char *name)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, bytes, "%s/headrace_%d_%s.npy",
             folder != NULL ? folder : "/tmp", (int)getppid(), name);
}

/* Process 0 writes the matrices, of doubles; all read them. */
static hr_file *write_factor(const char *name, int64_t rows, int64_t cols,
                             hr_mpi_block *block)
{
    char path[4096];
    hr_file *file = NULL;
    hr_matrix m;
    const double shift = (double)between(0, 5);
    name_file(path, sizeof path, name);
    if (rank == 0) {
        CHECK(hr_file_create(path, HR_F64, rows, cols, HR_ROW_MAJOR, &file,
                             &m) == HR_OK);
        for (int64_t i = 0; i < rows * cols; i++) {
            ((double *)m.data)[i] = (double)(i * 7 % 11) - shift;
        }
        CHECK(hr_file_commit(file) == HR_OK);
        hr_file_close(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(hr_file_open(path, &file, &m) == HR_OK);
    *block = (hr_mpi_block){.rows = rows,
                            .cols = cols,
                            .owner = HR_MPI_EVERYWHERE,
                            .data = m.data,
                            .row_stride = m.row_stride,
                            .col_stride = m.col_stride};
    return file;
}

/* C in the committed file, for matrix `number`. */
static long count_wrong(const double *c, const hr_mpi_block *a,
                        const hr_mpi_block *b, double factor)
{
    const double *x = a->data, *y = b->data;
    long wrong = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < b->cols; j++) {
            double sum = 0;
            for (int64_t l = 0; l < a->cols; l++) {
                sum += x[i * a->row_stride + l * a->col_stride] *
                       y[l * b->row_stride + j * b->col_stride];
            }
            wrong += c[i * b->cols + j] != factor * sum;
        }
    }
    return wrong;
}

static void multiply_files(int64_t number)
{
    source.state = (uint64_t)number;
    const int64_t m = between(0, 3) == 0 ? between(0, 3) : between(0, MAX_ROWS);
    const int64_t n = between(0, MAX_COLS), k = between(0, MAX_COLS);
    const int64_t count = between(1, 3);
    char path[4096];
    hr_mpi_block a, b;
    hr_file *const files[] = {write_factor("a", m, k, &a),
                              write_factor("b", k, n, &b)};
    hr_mpi_file *file = NULL;
    const hr_file_array like = {
        .type = HR_F64,
        .rank = count > 1 ? 3 : 2,
        .extents = {count > 1 ? count : m, count > 1 ? m : n, n}};
    name_file(path, sizeof path, "c");
    CHECK(hr_mpi_file_create(context, path, like, &file) == HR_OK);
    hr_mpi_gemm_report report = HR_MPI_GEMM_REPORT_INIT;
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    options.report = &report;
    for (int64_t i = 0; i < count; i++) {
        const hr_status status = hr_mpi_gemm(
            context, hr_real((double)(i + 1)),
            hr_mpi_matrix_blocks(HR_F64, m, k, &a, 1),
            hr_mpi_matrix_blocks(HR_F64, k, n, &b, 1), hr_real(0),
            hr_mpi_matrix_section(hr_mpi_file_matrix(file), i * m, 0, m, n),
            &options);
        if (status != HR_OK) {
            printf("rank %d, seed %lld: %s\n", rank, (long long)number,
                   hr_last_error());
        }
        CHECK(status == HR_OK);
    }
    CHECK(access(path, F_OK) != 0); /* not yet */
    CHECK(hr_mpi_file_commit(file) == HR_OK);
    hr_mpi_file_close(file);
    hr_file *made = NULL;
    hr_file_array c;
    CHECK(hr_file_open_array(path, NULL, &made, &c) == HR_OK);
    CHECK(c.rank == like.rank && c.extents[0] == like.extents[0]);
    for (int64_t i = 0; i < count; i++) {
        const long wrong = count_wrong((const double *)c.data + i * m * n, &a,
                                       &b, (double)(i + 1));
        if (wrong > 0) {
            printf("rank %d, seed %lld: %ld wrong of %lld x %lld x %lld\n",
                   rank, (long long)number, wrong, (long long)m, (long long)n,
                   (long long)k);
        }
        CHECK(wrong == 0);
    }
    hr_file_close(made);
    hr_file_close(files[0]);
    hr_file_close(files[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(unlink(path) == 0);
    }
}

/* Where as many rows of C as processes are computed, nothing is sent. */
static void send_nothing(void)
{
    TEST_CASE("a product of files sends nothing");
    char path[4096];
    hr_mpi_block a, b;
    hr_file *const files[] = {write_factor("a", 3000, 500, &a),
                              write_factor("b", 500, 40, &b)};
    hr_mpi_file *file = NULL;
    const hr_file_array like = {
        .type = HR_F64, .rank = 2, .extents = {3000, 40}};
    hr_mpi_gemm_report report = HR_MPI_GEMM_REPORT_INIT;
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    options.report = &report;
    options.rows = hr_mpi_count(context);
    name_file(path, sizeof path, "c");
    CHECK(hr_mpi_file_create(context, path, like, &file) == HR_OK);
    CHECK(hr_mpi_gemm(context, hr_real(1),
                      hr_mpi_matrix_blocks(HR_F64, 3000, 500, &a, 1),
                      hr_mpi_matrix_blocks(HR_F64, 500, 40, &b, 1), hr_real(0),
                      hr_mpi_file_matrix(file), &options) == HR_OK);
    CHECK(report.sent == 0 && report.messages == 0 && report.memory_bytes == 0);
    CHECK((hr_mpi_file_temporary(file) != NULL) == (rank == 0));
    char name[4096] = "";
    if (rank == 0) {
        snprintf(name, sizeof name, "%s", hr_mpi_file_temporary(file));
        CHECK(access(name, F_OK) == 0);
    }
    hr_mpi_file_close(file); /* not committed */
    CHECK(rank != 0 || access(name, F_OK) != 0);
    CHECK(access(path, F_OK) != 0);
    hr_file_close(files[0]);
    hr_file_close(files[1]);
}

static void refuse_files(void)
{
    TEST_CASE("files that cannot be made");
    hr_mpi_file *file = NULL;
    hr_file_array like = {.type = HR_F64, .rank = 2, .extents = {4, 5}};
    CHECK(hr_mpi_file_create(context, "/nowhere/at/all.npy", like, &file) ==
          HR_ERROR_IO);
    CHECK(strstr(hr_last_error(), "/nowhere/at") != NULL);
    CHECK(hr_mpi_file_create(NULL, "c.npy", like, &file) == HR_ERROR_INVALID);
    CHECK(hr_mpi_file_create(context, NULL, like, &file) == HR_ERROR_INVALID);
    CHECK(hr_mpi_file_create(context, "c.npy", like, NULL) == HR_ERROR_INVALID);
    like.order = HR_COLUMN_MAJOR;
    CHECK(hr_mpi_file_create(context, "c.npy", like, &file) ==
          HR_ERROR_INVALID);
    like.order = HR_ROW_MAJOR;
    like.extents[0] = -1;
    CHECK(hr_mpi_file_create(context, "c.npy", like, &file) ==
          HR_ERROR_INVALID);
    like.extents[0] = hr_mpi_count(context) > 1 ? 10 + rank : -2;
    CHECK(hr_mpi_file_create(context, "c.npy", like, &file) ==
          HR_ERROR_INVALID);
    CHECK(file == NULL && hr_mpi_file_commit(NULL) == HR_ERROR_INVALID);
    hr_mpi_file_close(NULL);
}

int main(int argc, char **argv)
{
    const int64_t count = argc > 1 ? atoll(argv[1]) : 30;
    uint64_t seed = 0;
    const hr_status status = hr_mpi_context_create_world(NULL, &context);
    if (status != HR_OK) {
        printf("%s\n", hr_last_error());
        return 1;
    }
    rank = hr_mpi_rank(context);
    const bool one = test_seed(&seed);
    for (int64_t i = 0; i < (one ? 1 : count); i++) {
        TEST(multiply_files(one ? (int64_t)seed : i));
    }
    TEST(send_nothing());
    TEST(refuse_files());
    hr_mpi_context_destroy(context);
    return test_end();
}
