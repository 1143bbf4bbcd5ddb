/* SPDX-License-Identifier: MIT */
/* Plans for processes that are not there: what is sent beside the fewest bytes
 * that any schedule needs, and what is refused. One process, without mpirun. */
#include <headrace/processes.h>

#include "test.h"

typedef struct shape {
    const char *name;
    int64_t m, n, k;
} shape;

static hr_mpi_context *make_model(int count, double flops_per_second,
                                  double bytes_per_second,
                                  double c_bytes_per_second)
{
    hr_mpi_cluster cluster = HR_MPI_CLUSTER_INIT;
    hr_mpi_context *context = NULL;
    cluster.count = count;
    cluster.memory_bytes = (uint64_t)64 << 30;
    cluster.c_bytes_per_second = c_bytes_per_second;
    cluster.flops_per_second = flops_per_second;
    cluster.latency_seconds = 2e-6;
    cluster.bytes_per_second = bytes_per_second;
    CHECK(hr_mpi_context_create_model(&cluster, &context) == HR_OK);
    CHECK(hr_mpi_count(context) == count && hr_mpi_rank(context) == 0);
    return context;
}

static int64_t share_of(int64_t length, int count)
{
    return (length + count - 1) / count;
}

enum { MAX_COUNT = 64 };

/* Three matrices whose parts lie where a grid of processes needs them: process
 * (i, j, l) has the j-th piece of part (i, l) of A, the i-th one of part (l, j)
 * of B and the l-th one of part (i, j) of C. */
typedef struct parts {
    hr_mpi_cyclic blocks[3];
    int ranks[3][MAX_COUNT];
    hr_mpi_matrix m[3];
} parts;

static void lay_out(parts *p, const shape *s, int rows, int cols, int depth)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            for (int l = 0; l < depth; l++) {
                const int rank = (l * rows + i) * cols + j;
                p->ranks[0][i * depth * cols + l * cols + j] = rank;
                p->ranks[1][(l * rows + i) * cols + j] = rank;
                p->ranks[2][i * cols * depth + j * depth + l] = rank;
            }
        }
    }
    const int sides[3][2] = {
        {rows, depth * cols}, {depth * rows, cols}, {rows, cols * depth}};
    const int64_t sizes[3][2] = {{s->m, s->k}, {s->k, s->n}, {s->m, s->n}};
    for (int x = 0; x < 3; x++) {
        p->blocks[x] =
            (hr_mpi_cyclic){.row_block = share_of(sizes[x][0], sides[x][0]),
                            .col_block = share_of(sizes[x][1], sides[x][1]),
                            .process_rows = sides[x][0],
                            .process_cols = sides[x][1],
                            .ranks = p->ranks[x],
                            .leading_dimension = sizes[x][0]};
        p->m[x] = hr_mpi_matrix_cyclic(HR_F64, sizes[x][0], sizes[x][1],
                                       &p->blocks[x]);
    }
}

static hr_mpi_gemm_report plan_product(hr_mpi_context *context, const parts *p)
{
    hr_mpi_gemm_report report = HR_MPI_GEMM_REPORT_INIT;
    CHECK(hr_mpi_gemm_plan(context, hr_real(1), p->m[0], p->m[1], hr_real(0),
                           p->m[2], NULL, &report) == HR_OK);
    return report;
}

/* Over the bound, for the grid of processes that suits best. */
static double least_ratio(hr_mpi_context *context, const shape *s, int count)
{
    static parts p;
    double least = 1e9;
    for (int rows = 1; rows <= count; rows++) {
        for (int cols = 1; cols <= count / rows; cols++) {
            if (count % (rows * cols) == 0) {
                lay_out(&p, s, rows, cols, count / (rows * cols));
                const hr_mpi_gemm_report r = plan_product(context, &p);
                CHECK(r.sent >= r.bound || r.ratio > 0.999);
                least = r.ratio < least ? r.ratio : least;
            }
        }
    }
    return least;
}

/* [Kwasniewski2019]'s bound is that of boxes whose sides need not divide the
 * matrices. Four equal boxes of a cube have 4/3 of its faces less a share, and
 * 1.135 of that bound: no grid of four processes sends less. Messages take
 * longer than products here; where they do not, a grid that sends more may be
 * faster. */
static void check_bytes(void)
{
    static const int counts[] = {4, 8, 12, MAX_COUNT};
    static const shape shapes[] = {{"square", 16384, 16384, 16384},
                                   {"tall", 262144, 2048, 2048},
                                   {"wide", 2048, 262144, 2048},
                                   {"deep", 2048, 2048, 262144}};
    for (int i = 0; i < 4; i++) {
        hr_mpi_context *context = make_model(counts[i], 1e12, 1e8, 0);
        for (int j = 0; j < 4; j++) {
            TEST_CASE(shapes[j].name);
            const double ratio = least_ratio(context, &shapes[j], counts[i]);
            const double most = j == 0 && counts[i] == 4 ? 1.14 : 1.1;
            test_note("%s, %d processes: %.3f of the bound\n", shapes[j].name,
                      counts[i], ratio);
            CHECK(ratio <= most);
        }
        hr_mpi_context_destroy(context);
    }
}

/* The panels of a product where C goes so fast. */
static int64_t count_panels(double c_bytes_per_second, int count)
{
    hr_mpi_context *context = make_model(count, 1e13, 1e10, c_bytes_per_second);
    static parts p;
    const shape s = {"square", 16384, 16384, 16384};
    lay_out(&p, &s, count == 4 ? 2 : 1, count == 4 ? 2 : 1, 1);
    const int64_t found = plan_product(context, &p).panels;
    hr_mpi_context_destroy(context);
    return found;
}

/* C that goes to accelerators and back costs panels; one process needs none. */
static void check_panels(void)
{
    const int64_t most = count_panels(0, 4), some = count_panels(5e10, 4);
    CHECK(most > some && some > count_panels(1e9, 4) &&
          count_panels(1e9, 4) == 1);
    CHECK(count_panels(0, 1) == 1);
}

/* Clusters that differ from this one in a number that none has. */
static void check_numbers(const hr_mpi_cluster *good)
{
    hr_mpi_cluster clusters[7];
    static const char *const words[] = {
        "a cluster of 0 processes",
        "flops_per_second is 0",
        "latency_seconds is -1",
        "bytes_per_second is 1e-310",
        "c_bytes_per_second is -2",
        "HR_MPI_CLUSTER_INIT",
        "a cluster of 4097 processes, more than 4096"};
    TEST_CASE("numbers");
    for (int i = 0; i < 7; i++) {
        clusters[i] = *good;
    }
    clusters[0].count = 0;
    clusters[1].flops_per_second = 0;
    clusters[2].latency_seconds = -1;
    clusters[3].bytes_per_second = 1e-310;
    clusters[4].c_bytes_per_second = -2;
    clusters[5].size = 0;
    clusters[6].count = 4097;
    for (int i = 0; i < 7; i++) {
        hr_mpi_context *context = NULL;
        CHECK_FAILS(hr_mpi_context_create_model(&clusters[i], &context),
                    HR_ERROR_INVALID, words[i]);
        CHECK(context == NULL);
    }
}

/* What is not there sends nothing and has no grid. */
static void check_refusals(void)
{
    hr_mpi_context *context = make_model(4, 1e12, 1e10, 0);
    hr_mpi_cluster cluster = HR_MPI_CLUSTER_INIT;
    parts p;
    const shape s = {"small", 8, 8, 8};
    lay_out(&p, &s, 2, 2, 1);
    TEST_CASE("a model only plans");
    CHECK_FAILS(hr_mpi_gemm(context, hr_real(1), p.m[0], p.m[1], hr_real(0),
                            p.m[2], NULL),
                HR_ERROR_INVALID, "4 processes are not there");
    hr_grid *grid = NULL;
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_PERIODIC, NULL);
    CHECK_FAILS(hr_mpi_grid_create(context, hr_extent2(64, 64), &field, 1, NULL,
                                   NULL, &grid),
                HR_ERROR_INVALID, "4 processes are not there");
    hr_mpi_file *file = NULL;
    const hr_file_array like = {.type = HR_F64, .rank = 2, .extents = {4, 4}};
    CHECK_FAILS(hr_mpi_file_create(context, "never.npy", like, &file),
                HR_ERROR_INVALID, "4 processes are not there");
    CHECK(hr_mpi_agree(context, HR_ERROR_IO) == HR_ERROR_IO);
    TEST_CASE("what was given is described");
    CHECK(hr_mpi_context_describe(context, &cluster) == HR_OK);
    CHECK(cluster.count == 4 && cluster.memory_bytes == (uint64_t)64 << 30 &&
          cluster.c_bytes_per_second == 0 && cluster.flops_per_second == 1e12 &&
          cluster.latency_seconds == 2e-6 && cluster.bytes_per_second == 1e10);
    hr_mpi_context_destroy(context);
    check_numbers(&cluster);
    context = NULL;
    CHECK_FAILS(hr_mpi_context_create_model(NULL, &context), HR_ERROR_INVALID,
                "the cluster is NULL");
    CHECK_FAILS(hr_mpi_context_create_model(&cluster, NULL), HR_ERROR_INVALID,
                "the place for the context is NULL");
    CHECK_FAILS(hr_mpi_context_describe(NULL, &cluster), HR_ERROR_INVALID,
                "the context is NULL");
    CHECK(context == NULL);
}

int main(void)
{
    TEST(check_bytes());
    TEST(check_panels());
    TEST(check_refusals());
    return test_end();
}
