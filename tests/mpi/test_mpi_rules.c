/* SPDX-License-Identifier: MIT */
/* What products and grids over processes refuse, in all processes with one
 * sentence, and that the context works afterwards.
 *
 *     mpirun -n 3 test_mpi_rules */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <headrace/mpi.h>

#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/refused.h"
#include "support/stencil.h"

extern const hr_kernel weighed;

typedef hr_status sum_function(hr_context *, hr_scalar, int64_t,
                               const hr_matrix *, const hr_matrix *, hr_scalar,
                               hr_matrix, const hr_gemm_options *);

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

/* A product. good() also resets `blocks`, to which `of` points. */
typedef struct request {
    hr_mpi_matrix of[3];
    double alpha;
    hr_mpi_gemm_options options;
} request;

static hr_mpi_cyclic blocks[3];

static request good(void)
{
    request r = {.alpha = 1, .options = HR_MPI_GEMM_OPTIONS_INIT};
    for (int i = 0; i < 3; i++) {
        blocks[i] = by_columns(data[i]);
        r.of[i] = hr_mpi_matrix_cyclic(HR_F64, SIZE, SIZE, &blocks[i]);
    }
    for (int i = 0; i < SIZE * SIZE; i++) {
        data[2][i] = -2.0;
    }
    return r;
}

static hr_status call(const request *r)
{
    return hr_mpi_gemm(context, hr_real(r->alpha), r->of[0], r->of[1],
                       hr_real(0), r->of[2], &r->options);
}

/* The identity times A, of columns of ones. */
static bool still_works(void)
{
    const request r = good();
    for (int j = rank, place = 0; j < SIZE; j += process_count, place++) {
        for (int i = 0; i < SIZE; i++) {
            data[0][place * SIZE + i] = i == j;
            data[1][place * SIZE + i] = i + 100.0 * j;
            data[2][place * SIZE + i] = -1.0;
        }
    }
    if (!CHECK(call(&r) == HR_OK)) {
        return false;
    }
    for (int j = rank, place = 0; j < SIZE; j += process_count, place++) {
        for (int i = 0; i < SIZE; i++) {
            if (data[2][place * SIZE + i] != i + 100.0 * j) {
                return false;
            }
        }
    }
    return true;
}

/* And products work. */
static bool untouched(const request *r)
{
    (void)r;
    bool same = true;
    for (int i = 0; i < SIZE * SIZE; i++) {
        same = same && data[2][i] == -2.0;
    }
    return still_works() && same;
}

static void refuse_differences(void)
{
    const bool last = rank == process_count - 1;
    REFUSED(blocks[0].row_block = last ? 7 : SIZE, HR_ERROR_INVALID,
            "different arguments");
    REFUSED(r.alpha = rank == 0, HR_ERROR_INVALID, "different arguments");
}

static void refuse_operands(void)
{
    REFUSED(blocks[1].data = rank == 1 ? NULL : data[1], HR_ERROR_INVALID,
            "process 1");
    REFUSED(blocks[2].leading_dimension -= rank == 1, HR_ERROR_INVALID,
            "leading dimension is 39");
    REFUSED(r.of[0] = hr_mpi_matrix_section(r.of[0], 0, 0, SIZE, SIZE - 1),
            HR_ERROR_INVALID, "A is 40 x 39");
    REFUSED(r.of[0] = hr_mpi_matrix_section(r.of[0], 1, 0, SIZE, SIZE),
            HR_ERROR_INVALID, "are not in 40 x 40");
    REFUSED(r.options.rows = r.options.cols = process_count, HR_ERROR_INVALID,
            "asked for");
    REFUSED(r.options.size = 0, HR_ERROR_INVALID, "HR_MPI_GEMM_OPTIONS_INIT");
    REFUSED(r.of[2].type = HR_F32, HR_ERROR_UNSUPPORTED, "f64");
}

/* A in two blocks: the first half of its columns, and `cols` columns from `col`
 * on, of process `owner`. */
static void halve_a(request *r, int64_t col, int64_t cols, int owner)
{
    static hr_mpi_block half[2];
    half[0] = (hr_mpi_block){.rows = SIZE,
                             .cols = SIZE / 2,
                             .data = data[0],
                             .row_stride = 1,
                             .col_stride = SIZE};
    half[1] = half[0];
    half[1].col = col;
    half[1].cols = cols;
    half[1].owner = owner;
    r->of[0] = hr_mpi_matrix_blocks(HR_F64, SIZE, SIZE, half, 2);
}

static void refuse_lists(void)
{
    const hr_mpi_block everywhere = {.rows = SIZE,
                                     .cols = SIZE,
                                     .owner = HR_MPI_EVERYWHERE,
                                     .data = data[2],
                                     .row_stride = 1,
                                     .col_stride = SIZE};
    REFUSED(halve_a(&r, 20, 19, 1), HR_ERROR_INVALID,
            "no block has element (0, 39)");
    REFUSED(halve_a(&r, 19, 19, 1), HR_ERROR_INVALID, "overlap");
    REFUSED(halve_a(&r, 21, 20, 1), HR_ERROR_INVALID, "is not in 40 x 40");
    REFUSED(halve_a(&r, 20, 20, process_count), HR_ERROR_INVALID, "processes");
    REFUSED(r.of[2] = hr_mpi_matrix_blocks(HR_F64, SIZE, SIZE, &everywhere, 1),
            HR_ERROR_INVALID, "C: every process");
}

/* Reports of older and newer programs. */
static void fill_reports(void)
{
    request r = good();
    struct {
        hr_mpi_gemm_report known;
        uint64_t more[2];
    } report = {HR_MPI_GEMM_REPORT_INIT, {7, 7}};
    TEST_CASE("a report that is larger than known");
    report.known.size = sizeof report;
    r.options.report = &report.known;
    CHECK(call(&r) == HR_OK);
    CHECK(report.known.panels > 0 && report.more[0] == 0);
    TEST_CASE("a report that ends early");
    report.known = (hr_mpi_gemm_report){
        .size = offsetof(hr_mpi_gemm_report, seconds), .seconds = -1.0};
    CHECK(call(&r) == HR_OK);
    CHECK(report.known.panels > 0 && report.known.seconds < 0.0);
    TEST_CASE("a report of no size");
    report.known.size = 0;
    CHECK_FAILS(call(&r), HR_ERROR_INVALID, "HR_MPI_GEMM_REPORT_INIT");
    CHECK(still_works());
}

static bool cancel_in_one(void *asked, double done, double total)
{
    (void)done;
    (void)total;
    ++*(int *)asked;
    return rank != 1;
}

static void cancel_product(void)
{
    request r = good();
    int asked = 0;
    TEST_CASE("one process cancels");
    r.options.progress = cancel_in_one;
    r.options.progress_data = &asked;
    r.options.memory_limit = 1; /* a panel for each column */
    CHECK_FAILS(call(&r), HR_ERROR_CANCELLED, "process 1");
    CHECK(asked > 0 && asked < SIZE);
    CHECK(still_works());
}

/* ---- a product that is cancelled while a thread multiplies */

static bool held;          /* the thread waits until it has been cancelled */
static sem_t is_cancelled; /* in this process */

/* The library's call comes here first. */
hr_status hr_gemm_sum(hr_context *local, hr_scalar alpha, int64_t count,
                      const hr_matrix *a, const hr_matrix *b, hr_scalar beta,
                      hr_matrix c, const hr_gemm_options *options)
{
    void *found = dlsym(RTLD_NEXT, "hr_gemm_sum");
    sum_function *real;
    memcpy(&real, &found, sizeof real);
    while (held && sem_wait(&is_cancelled) != 0) { /* a signal's handler ran */
    }
    return real(local, alpha, count, a, b, beta, c, options);
}

/* It is asked when the product begins, and when some time has passed. */
static bool cancel_midway(void *asked, double done, double total)
{
    if (++*(int *)asked == 1) {
        return true;
    }
    CHECK(done < total);
    (void)sem_post(&is_cancelled);
    return false;
}

static void cancel_while_multiplying(void)
{
    request r = good();
    int asked = 0;
    TEST_CASE("processes cancel while they multiply");
    r.options.progress = cancel_midway;
    r.options.progress_data = &asked;
    r.options.cols = process_count;
    CHECK(sem_init(&is_cancelled, 0, 0) == 0);
    held = true;
    CHECK_FAILS(call(&r), HR_ERROR_CANCELLED, "cancelled");
    held = false;
    CHECK(asked == 2);
    (void)sem_destroy(&is_cancelled);
    CHECK(still_works());
}

/* ---- grids */

enum { ROWS = 30, COLS = 20 };

typedef struct bed {
    hr_grid *grid;
    hr_argument arguments[3];
    hr_phase phases[2];
    uint32_t *values;
} bed;

static bed make_grid(void)
{
    static const reach all = {{1, 1, 0}, {1, 1, 0}, {3, 5, 7}};
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_CLAMP, NULL);
    const hr_field fields[] = {field, field};
    bed b = {.values = calloc(ROWS * COLS, sizeof *b.values)};
    CHECK(hr_mpi_grid_create(context, hr_extent2(ROWS, COLS), fields, 2, NULL,
                             NULL, &b.grid) == HR_OK);
    b.arguments[0] = hr_field_in(0);
    b.arguments[1] = hr_field_out(1);
    b.arguments[2] = hr_value(&all, sizeof all);
    b.phases[1] = hr_phase_swap(0, 1);
    return b;
}

/* Step the grid. The phases point into the bed. */
static hr_status step_grid(bed *b, int64_t steps)
{
    b->phases[0] = hr_phase_of(&mix2, b->arguments, 3);
    return hr_grid_step(b->grid, b->phases, 2, steps);
}

static void check_grid_works(bed *b)
{
    double *sum = &(double){0};
    hr_reducing *reducing = NULL;
    CHECK(hr_mpi_grid_scatter(b->grid, 0, b->values, 0) == HR_OK);
    CHECK(step_grid(b, 3) == HR_OK);
    CHECK(hr_grid_reduce(b->grid, HR_REDUCE_MAX_ABS, HR_I32, 0, 0, &reducing) ==
          HR_OK);
    CHECK(hr_grid_reduced(reducing, sum) == HR_OK && *sum > 0);
}

static void refuse_grids(void)
{
    const hr_field thick = hr_field_of(4, ROWS, HR_BOUNDARY_CLAMP, NULL);
    const int all[] = {process_count, process_count};
    hr_field differing =
        hr_field_of(4, rank == 1 ? 2 : 1, HR_BOUNDARY_CLAMP, NULL);
    hr_grid *none = NULL;
    TEST_CASE("grids that cannot be cut");
    CHECK_FAILS(hr_mpi_grid_create(context, hr_extent2(ROWS, COLS), &thick, 1,
                                   NULL, NULL, &none),
                HR_ERROR_INVALID, "30 x 20 cells with halos of 30 x 30");
    CHECK_FAILS(hr_mpi_grid_create(context, hr_extent2(ROWS, COLS), &differing,
                                   1, NULL, all, &none),
                HR_ERROR_INVALID, "3 x 3");
    TEST_CASE("fields that differ");
    CHECK_FAILS(hr_mpi_grid_create(context, hr_extent2(ROWS, COLS), &differing,
                                   1, NULL, NULL, &none),
                HR_ERROR_INVALID, "different arguments");
    TEST_CASE("a halo that is none in one process");
    differing.before[0].halo = rank == 1 ? -1 : 2;
    CHECK_FAILS(hr_mpi_grid_create(context, hr_extent2(ROWS, COLS), &differing,
                                   1, NULL, NULL, &none),
                HR_ERROR_INVALID, "process 1");
    CHECK(none == NULL);
}

static void refuse_steps(void)
{
    bed b = make_grid();
    hr_reducing *reducing = NULL;
    TEST_CASE("steps that differ");
    check_grid_works(&b);
    CHECK_FAILS(step_grid(&b, rank == 1 ? 2 : 3), HR_ERROR_INVALID,
                "different");
    TEST_CASE("fields of phases that differ");
    b.arguments[0] = hr_field_in(rank == 1 ? 0 : 1);
    b.arguments[1] = hr_field_out(rank == 1 ? 1 : 0);
    CHECK_FAILS(step_grid(&b, 1), HR_ERROR_INVALID, "different");
    b.arguments[0] = hr_field_in(0);
    b.arguments[1] = hr_field_out(1);
    TEST_CASE("an argument that is wrong in one process");
    b.arguments[1] = hr_field_out(rank == 1 ? 7 : 1);
    CHECK_FAILS(step_grid(&b, 1), HR_ERROR_INVALID, "process 1");
    b.arguments[1] = hr_field_out(1);
    TEST_CASE("a reduction that is wrong in one process");
    CHECK_FAILS(hr_grid_reduce(b.grid, HR_REDUCE_SUM,
                               rank == 1 ? HR_F64 : HR_I32, 0, 0, &reducing),
                HR_ERROR_INVALID, "process 1");
    CHECK_FAILS(
        hr_grid_reduce(b.grid, HR_REDUCE_PRODUCT, HR_I32, 0, 0, &reducing),
        HR_ERROR_UNSUPPORTED, "products of a grid in parts");
    TEST_CASE("reductions that differ");
    CHECK_FAILS(hr_grid_reduce(b.grid,
                               rank == 1 ? HR_REDUCE_MAX : HR_REDUCE_SUM,
                               HR_I32, 0, 0, &reducing),
                HR_ERROR_INVALID, "different reductions");
    CHECK(reducing == NULL);
    TEST_CASE("a root that is none");
    CHECK_FAILS(hr_mpi_grid_gather(b.grid, 0, b.values, process_count),
                HR_ERROR_INVALID, "root is 3, not 0 to 2");
    TEST_CASE("roots that differ");
    CHECK_FAILS(hr_mpi_grid_gather(b.grid, 0, b.values, rank == 1),
                HR_ERROR_INVALID, "different arguments");
    TEST_CASE("data that are NULL at the root");
    CHECK_FAILS(hr_mpi_grid_scatter(b.grid, 0, NULL, 1), HR_ERROR_INVALID,
                "data is NULL");
    TEST_CASE("a type of another size");
    CHECK_FAILS(hr_mpi_grid_save(b.grid, 0, HR_F64, "test_mpi_rules.npy"),
                HR_ERROR_INVALID, "4 bytes");
    TEST_CASE("a folder that is not there");
    CHECK_FAILS(hr_mpi_grid_save(b.grid, 0, HR_F32, "not/there/x.npy"),
                HR_ERROR_IO, "not/there");
    check_grid_works(&b);
    hr_grid_destroy(b.grid);
    free(b.values);
}

/* Kernels index other views by the whole grid's rows. */
static void step_with_views(void)
{
    bed b = make_grid();
    float weights[ROWS] = {0};
    hr_array *array = NULL;
    hr_view few;
    TEST_CASE("a view of the rows that one process has");
    CHECK(hr_array_wrap(hr_mpi_context_local(context), weights, sizeof(float),
                        hr_extent1(ROWS), 0, &array) == HR_OK);
    CHECK(hr_view_section(hr_view_of(array), &(int64_t){0},
                          hr_extent1(ROWS / 6), &few) == HR_OK);
    const hr_argument arguments[] = {hr_field_out(0), hr_in(few)};
    hr_phase phase = hr_phase_of(&weighed, arguments, 2);
    phase.extent = hr_extent2(ROWS / 6, COLS);
    CHECK(hr_grid_step(b.grid, &phase, 1, 1) == HR_OK);
    CHECK(hr_grid_finish(b.grid) == HR_OK);
    TEST_CASE("a view with too few rows");
    phase.extent.rank = 0;
    CHECK_FAILS(hr_grid_step(b.grid, &phase, 1, 1), HR_ERROR_COMPUTE_DOMAIN,
                "has size 30 in dimension 0");
    check_grid_works(&b); /* it has not begun */
    hr_grid_destroy(b.grid);
    hr_array_destroy(array);
    free(b.values);
}

static bool stop_after(void *told, double done, double total)
{
    (void)total;
    *(double *)told = done;
    return rank != 1 || done < 5;
}

static bool stop_run(void *unused, hr_grid *grid, int64_t steps)
{
    (void)unused;
    (void)grid;
    return rank != 2 || steps < 8;
}

/* One process ends the steps of all, and the grid has the values after as many
 * in each. */
static void cancel_steps(void)
{
    bed b = make_grid();
    double done = 0;
    hr_grid_state state = HR_GRID_STATE_INIT;
    TEST_CASE("one process cancels steps");
    check_grid_works(&b);
    CHECK(hr_grid_set_progress(b.grid, rank < 2 ? stop_after : NULL, &done) ==
          HR_OK);
    CHECK_FAILS(step_grid(&b, 1000000), HR_ERROR_CANCELLED, "process 1");
    CHECK(hr_grid_set_progress(b.grid, NULL, NULL) == HR_OK);
    CHECK(hr_grid_describe(b.grid, &state, NULL, 0) == HR_OK);
    uint64_t steps[2] = {state.steps, UINT64_MAX - state.steps}, least[2];
    CHECK(MPI_Allreduce(steps, least, 2, MPI_UINT64_T, MPI_MIN,
                        MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(least[0] == UINT64_MAX - least[1] && least[0] < 1000000);
    TEST_CASE("one process ends a run");
    CHECK_FAILS(hr_grid_run(b.grid, b.phases, 2, 100, 2, stop_run, NULL),
                HR_ERROR_CANCELLED, "process 2");
    TEST_CASE("runs that call their functions at other steps");
    CHECK_FAILS(hr_grid_run(b.grid, b.phases, 2, 100, rank == 1 ? 3 : 2,
                            stop_run, NULL),
                HR_ERROR_INVALID, "different steps");
    check_grid_works(&b);
    hr_grid_destroy(b.grid);
    free(b.values);
}

/* Messages of several MiB, which go in pieces. */
enum { LONG = 1100 };

static double *make_elements(int64_t elements)
{
    double *made = calloc((size_t)elements + 1, sizeof *made);
    CHECK(made != NULL);
    return made;
}

/* A matrix in rows, times the unit matrix, which every process has. */
static void send_long_panels(void)
{
    const int64_t rows = (LONG + process_count - 1) / process_count;
    double *a = make_elements(rows * LONG), *c = make_elements(rows * LONG);
    double *unit = make_elements((int64_t)LONG * LONG);
    for (int64_t i = 0; i < LONG; i++) {
        unit[i * LONG + i] = 1.0;
    }
    for (int64_t e = 0; e < rows * LONG; e++) {
        a[e] = (double)(rank + 1) + (double)e / LONG;
    }
    hr_mpi_cyclic in_rows[2] = {{.row_block = rows,
                                 .col_block = LONG,
                                 .process_rows = process_count,
                                 .process_cols = 1,
                                 .data = a,
                                 .leading_dimension = rows},
                                {0}};
    in_rows[1] = in_rows[0];
    in_rows[1].data = c;
    const hr_mpi_block all = {.rows = LONG,
                              .cols = LONG,
                              .owner = HR_MPI_EVERYWHERE,
                              .data = unit,
                              .row_stride = LONG,
                              .col_stride = 1};
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    hr_mpi_gemm_report report = HR_MPI_GEMM_REPORT_INIT;
    options.rows = 1;
    options.cols = process_count;
    options.depth = 1;
    options.report = &report;
    CHECK(hr_mpi_gemm(context, hr_real(1),
                      hr_mpi_matrix_cyclic(HR_F64, LONG, LONG, &in_rows[0]),
                      hr_mpi_matrix_blocks(HR_F64, LONG, LONG, &all, 1),
                      hr_real(0),
                      hr_mpi_matrix_cyclic(HR_F64, LONG, LONG, &in_rows[1]),
                      &options) == HR_OK);
    const int64_t left = LONG - rank * rows;
    int64_t wrong = 0;
    for (int64_t j = 0; j < LONG; j++) {
        for (int64_t i = 0; i < rows && i < left; i++) {
            wrong += c[j * rows + i] != a[j * rows + i];
        }
    }
    CHECK(wrong == 0);
    CHECK(process_count == 1 || report.sent > (uint64_t)4 << 20);
    free(a);
    free(c);
    free(unit);
}

/* A grid that is scattered by one process and gathered in another. */
static void gather_long_parts(void)
{
    const int64_t count = (int64_t)LONG * LONG;
    double *from = make_elements(count), *to = make_elements(count);
    hr_grid *grid = NULL;
    const hr_field field =
        hr_field_of(sizeof *from, 1, HR_BOUNDARY_CLAMP, NULL);
    CHECK(hr_mpi_grid_create(context, hr_extent2(LONG, LONG), &field, 1, NULL,
                             NULL, &grid) == HR_OK);
    for (int64_t e = 0; e < count; e++) {
        from[e] = (double)e;
    }
    CHECK(hr_mpi_grid_scatter(grid, 0, from, 0) == HR_OK);
    CHECK(hr_mpi_grid_gather(grid, 0, to, process_count - 1) == HR_OK);
    CHECK(rank != process_count - 1 ||
          memcmp(from, to, (size_t)count * sizeof *to) == 0);
    hr_grid_destroy(grid);
    free(from);
    free(to);
}

static int threads_of(hr_mpi_context *c)
{
    return (int)hr_thread_count(hr_mpi_context_local(c));
}

/* All are on one machine. Unless HEADRACE_THREADS is set, they use at most its
 * CPUs together, and one thread each at least. */
static void divide_threads(void)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const char *set = getenv("HEADRACE_THREADS");
    char *before = set != NULL ? strdup(set) : NULL;
    hr_mpi_context *c = NULL;
    setenv("HEADRACE_THREADS", "3", 1);
    CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &c) == HR_OK);
    CHECK(threads_of(c) == 3);
    hr_mpi_context_destroy(c);
    unsetenv("HEADRACE_THREADS");
    CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &c) == HR_OK);
    const int own = threads_of(c);
    int all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(own >= 1);
    CHECK(all <= (cpus > process_count ? cpus : process_count));
    hr_mpi_context_destroy(c);
    if (before != NULL) {
        setenv("HEADRACE_THREADS", before, 1);
    }
    free(before);
}

int main(int argc, char **argv)
{
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context) == HR_OK);
    TEST(CHECK(still_works()));
    TEST(divide_threads());
    TEST(send_long_panels());
    TEST(gather_long_parts());
    TEST(refuse_differences());
    TEST(refuse_operands());
    TEST(refuse_lists());
    TEST(fill_reports());
    TEST(cancel_product());
    TEST(cancel_while_multiplying());
    TEST(refuse_grids());
    TEST(refuse_steps());
    TEST(step_with_views());
    TEST(cancel_steps());
    hr_mpi_context_destroy(context);
    MPI_Finalize();
    return test_end();
}
