/* SPDX-License-Identifier: MIT */
/* More than 2^31 elements, and more than 4 GiB into files: a C of 50,000 x
 * 50,000 floats in memory and as a file, and a file of A of 70,000 x 16,000.
 * Wants about 12 GiB of memory and 16 GiB of disk in TMPDIR or /tmp. */
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "test.h"

enum { N = 50000, K = 3, ROWS = 70000, COLS = 16000 };

static char folder[512];

static const char *path_of(const char *name)
{
    static char text[600];
    snprintf(text, sizeof text, "%s/%s", folder, name);
    return text;
}

/* a(i, k) and b(k, j) are small integers: every product is exact. */
static float value_at(int64_t i, int64_t j)
{
    return (float)((i * 3 + j * 5) % 17 - 8);
}

static float product_at(int64_t i, int64_t j)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < K; k++) {
        sum += value_at(i, k) * value_at(k, j);
    }
    return sum;
}

static float *make_matrix(int64_t rows, int64_t cols)
{
    float *m = calloc((size_t)(rows * cols), sizeof *m);
    for (int64_t i = 0; m != NULL && i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            m[i * cols + j] = value_at(i, j);
        }
    }
    return m;
}

/* The corners, and elements spread over everything. */
static bool is_right(const float *c)
{
    const int64_t last = N - 1;
    const int64_t corners[][2] = {
        {0, 0}, {0, last}, {last, 0}, {last, last}, {42949, 33647}};
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        int64_t r = corners[i][0], s = corners[i][1];
        if (c[r * N + s] != product_at(r, s)) {
            return false;
        }
    }
    for (int64_t i = 0; i < (int64_t)N * N; i += 9973) {
        if (c[i] != product_at(i / N, i % N)) {
            return false;
        }
    }
    return true;
}

static void multiply_into(const char *list, uint64_t limit, hr_matrix c)
{
    hr_context *context = test_context(list, limit);
    float *a = make_matrix(N, K), *b = make_matrix(K, N);
    if (CHECK(a != NULL && b != NULL)) {
        CHECK(hr_gemm(context, hr_real(1),
                      hr_matrix_row_major(a, HR_F32, N, K, 0),
                      hr_matrix_row_major(b, HR_F32, K, N, 0), hr_real(0), c,
                      NULL) == HR_OK);
    }
    CHECK(is_right(c.data));
    free(a);
    free(b);
    hr_context_destroy(context);
}

static void multiply_in_memory(void)
{
    TEST_CASE("2.5 billion elements in memory");
    float *c = calloc((size_t)N * N, sizeof *c);
    if (!CHECK(c != NULL)) {
        return;
    }
    hr_matrix m = hr_matrix_row_major(c, HR_F32, N, N, 0);
    multiply_into("host", 0, m);
    memset(c, 0x7f, (size_t)N * N * sizeof *c);
    multiply_into("2xhost", 512 << 20, m);
    free(c);
}

static void multiply_into_file(void)
{
    TEST_CASE("2.5 billion elements in a file");
    hr_file *file = NULL;
    hr_matrix c;
    if (CHECK(hr_file_create(path_of("c.npy"), HR_F32, N, N, HR_ROW_MAJOR,
                             &file, &c) == HR_OK)) {
        multiply_into("host", 0, c);
        CHECK(hr_file_commit(file) == HR_OK);
        hr_file_close(file);
        CHECK(hr_file_open(path_of("c.npy"), &file, &c) == HR_OK);
        CHECK(is_right(c.data));
        hr_file_close(file);
    }
    unlink(path_of("c.npy"));
}

static void multiply_from_file(void)
{
    TEST_CASE("an operand beyond 4 GiB of its file");
    hr_file *file = NULL;
    hr_matrix a;
    hr_context *context = test_context("2xhost", 256 << 20);
    float *b = make_matrix(COLS, 2), *c = calloc(ROWS, 2 * sizeof *c);
    if (CHECK(b != NULL && c != NULL) &&
        CHECK(hr_file_create(path_of("a.npy"), HR_F32, ROWS, COLS, HR_ROW_MAJOR,
                             &file, &a) == HR_OK)) {
        float *last = (float *)a.data + (int64_t)(ROWS - 1) * COLS;
        last[0] = 2.0f; /* all other elements are zeros */
        last[COLS - 1] = 3.0f;
        CHECK(hr_file_commit(file) == HR_OK);
        hr_file_close(file);
        CHECK(hr_file_open(path_of("a.npy"), &file, &a) == HR_OK);
        CHECK(hr_gemm(context, hr_real(1), a,
                      hr_matrix_row_major(b, HR_F32, COLS, 2, 0), hr_real(0),
                      hr_matrix_row_major(c, HR_F32, ROWS, 2, 0),
                      NULL) == HR_OK);
        for (int64_t j = 0; j < 2; j++) {
            CHECK(c[j] == 0.0f);
            CHECK(c[(int64_t)(ROWS - 1) * 2 + j] ==
                  2.0f * value_at(0, j) + 3.0f * value_at(COLS - 1, j));
        }
        hr_file_close(file);
    }
    unlink(path_of("a.npy"));
    free(b);
    free(c);
    hr_context_destroy(context);
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/headrace-large-XXXXXX",
             base != NULL ? base : "/tmp");
    struct statvfs disk;
    if (sysconf(_SC_PHYS_PAGES) / 1024 * sysconf(_SC_PAGESIZE) / 1024 <
        14 * 1024) {
        return test_skip("less than 14 GiB of memory");
    }
    if (statvfs(base != NULL ? base : "/tmp", &disk) != 0 ||
        (double)disk.f_bavail * (double)disk.f_frsize < 17e9) {
        return test_skip("less than 17 GB free in TMPDIR or /tmp");
    }
    if (mkdtemp(folder) == NULL) {
        return test_skip("no temporary folder can be made");
    }
    TEST(multiply_in_memory());
    TEST(multiply_into_file());
    TEST(multiply_from_file());
    rmdir(folder);
    return test_end();
}
