/* SPDX-License-Identifier: MIT */
/* Steps of a grid over processes beside a plain loop of C with messages, on the
 * same values in the same processes, in turns; and beside one process alone.
 * Each process has ROWS x COLS cells, so that more processes have more to do:
 *
 *     mpirun -n 2 bench_grid_openmpi [ROWS COLS [STEPS [TURNS [ring]]]]
 *
 * "ring": the last process's rows and the first one's meet, too. So it is in
 * NVIDIA's multi-gpu-programming-models, where -nx is COLS, -ny is 2 more than
 * the ROWS of all processes, and -niter is STEPS. With -csv and an -nccheck
 * above STEPS they leave out the norm, which is not computed here.
 *
 * Prints the first call and the best one of each, in cells of a process for a
 * second, the loop's best over Headrace's, and one process's best over that of
 * all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>
#include <headrace/mpi.h>

#include "processes.h"

extern const hr_kernel jacobi;

static bool ring, in_columns;

/* ---- the loop: rows with one more on each side, and a column */

typedef struct plain {
    int64_t rows, cols, pitch;
    float *now, *next;
    int up, down;
} plain;

static int neighbour_at(int other)
{
    const bool inside = other >= 0 && other < process_count;
    return inside || ring ? (other + process_count) % process_count
                          : MPI_PROC_NULL;
}

static plain make_plain(int64_t rows, int64_t cols, const float *values)
{
    plain p = {.rows = rows, .cols = cols, .pitch = cols + 2};
    const size_t count = (size_t)((rows + 2) * p.pitch);
    p.now = calloc(count, sizeof *p.now);
    p.next = calloc(count, sizeof *p.next);
    if (p.now == NULL || p.next == NULL) {
        fail("no memory");
    }
    for (int64_t i = 0; i < rows; i++) {
        memcpy(p.now + (i + 1) * p.pitch + 1, values + i * cols,
               (size_t)cols * sizeof *values);
    }
    p.up = neighbour_at(rank - 1);
    p.down = neighbour_at(rank + 1);
    return p;
}

static void sweep_rows(const plain *p, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++) {
        const float *restrict x = p->now + (i + 1) * p->pitch + 1;
        const float *restrict above = x - p->pitch;
        const float *restrict below = x + p->pitch;
        float *restrict y = p->next + (i + 1) * p->pitch + 1;
        for (int64_t j = 0; j < p->cols; j++) {
            y[j] = 0.25f * (above[j] + below[j] + x[j - 1] + x[j + 1]);
        }
    }
}

/* Messages travel while the inner rows are computed. */
static void step_plain(plain *p)
{
    MPI_Request r[4];
    MPI_Status of[4];
    const int count = (int)p->pitch;
    float *first = p->now + p->pitch, *last = p->now + p->rows * p->pitch;
    MPI_Irecv(p->now, count, MPI_FLOAT, p->up, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(last + p->pitch, count, MPI_FLOAT, p->down, 1, MPI_COMM_WORLD,
              &r[1]);
    MPI_Isend(first, count, MPI_FLOAT, p->up, 1, MPI_COMM_WORLD, &r[2]);
    MPI_Isend(last, count, MPI_FLOAT, p->down, 0, MPI_COMM_WORLD, &r[3]);
    sweep_rows(p, 1, p->rows - 1);
    MPI_Waitall(4, r, of);
    sweep_rows(p, 0, 1);
    sweep_rows(p, p->rows - 1, p->rows);
    float *old = p->now;
    p->now = p->next;
    p->next = old;
}

/* ---- grids */

/* Items go down columns but on the host, as in `headrace bench grid`. */
static void step_grid(hr_grid *grid, int64_t steps)
{
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1)};
    hr_phase phases[] = {hr_phase_of(&jacobi, arguments, 2),
                         hr_phase_swap(0, 1)};
    if (in_columns) {
        phases[0].tile = hr_extent2(1, 256);
        phases[0].step[0] = 32;
        phases[0].step[1] = 1;
    }
    require_ok(hr_grid_step(grid, phases, 2, steps));
    require_ok(hr_grid_finish(grid));
}

static int64_t number_at(int argc, char **argv, int i, int64_t otherwise)
{
    return argc > i ? strtoll(argv[i], NULL, 10) : otherwise;
}

typedef struct bench {
    hr_mpi_context *context;
    int64_t rows, cols, steps, turns;
    float *values;
    hr_grid *grid, *alone; /* the second one in process 0 */
    plain loop;
    times of_grid, of_loop, of_one;
} bench;

static void create_grids(bench *b)
{
    hr_field field = hr_field_of(sizeof(float), 1, HR_BOUNDARY_CONSTANT, NULL);
    if (ring) {
        field.before[0].boundary = HR_BOUNDARY_PERIODIC;
        field.after[0].boundary = HR_BOUNDARY_PERIODIC;
    }
    const hr_field fields[] = {field, field};
    const int processes[] = {process_count, 1};
    b->values = malloc((size_t)(b->rows * b->cols) * sizeof *b->values);
    for (int64_t i = 0; i < b->rows * b->cols; i++) {
        b->values[i] = (float)rand() / (float)RAND_MAX;
    }
    require_ok(hr_mpi_grid_create(b->context,
                                  hr_extent2(b->rows * process_count, b->cols),
                                  fields, 2, NULL, processes, &b->grid));
    require_ok(hr_grid_scatter(b->grid, 0, b->values));
    b->loop = make_plain(b->rows, b->cols, b->values);
    if (rank == 0) {
        require_ok(hr_grid_create(hr_mpi_context_local(b->context),
                                  hr_extent2(b->rows, b->cols), fields, 2, NULL,
                                  &b->alone));
        require_ok(hr_grid_scatter(b->alone, 0, b->values));
    }
}

static void measure_once(bench *b)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    step_grid(b->grid, b->steps);
    note_time(&b->of_grid, begin);
    begin = MPI_Wtime();
    for (int64_t i = 0; i < b->steps; i++) {
        step_plain(&b->loop);
    }
    note_time(&b->of_loop, begin);
    begin = MPI_Wtime();
    if (rank == 0) { /* the others wait */
        step_grid(b->alone, b->steps);
    }
    note_time(&b->of_one, begin);
}

/* The largest difference between the grid and the loop. */
static double compare_cells(bench *b)
{
    const plain *p = &b->loop;
    double error = 0, worst = 0;
    require_ok(hr_grid_gather(b->grid, 0, b->values));
    for (int64_t i = 0; i < b->rows; i++) {
        for (int64_t j = 0; j < b->cols; j++) {
            error =
                fmax(error, fabs((double)b->values[i * b->cols + j] -
                                 (double)p->now[(i + 1) * p->pitch + j + 1]));
        }
    }
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

static void print_times(const bench *b, double worst)
{
    const double cells =
        (double)b->rows * (double)b->cols * (double)b->steps / 1e6;
    printf("%lld x %lld cells in each of %d processes%s, %lld steps\n"
           "Headrace     first %8.1f best %8.1f million cells/s each\n"
           "plain loop   first %8.1f best %8.1f\n"
           "one process  first %8.1f best %8.1f\n"
           "loop's time over ours %.2f, one process's over all's %.2f\n"
           "largest difference %g\n",
           (long long)b->rows, (long long)b->cols, process_count,
           ring ? " in a ring" : "", (long long)b->steps,
           cells / b->of_grid.first, cells / b->of_grid.best,
           cells / b->of_loop.first, cells / b->of_loop.best,
           cells / b->of_one.first, cells / b->of_one.best,
           b->of_loop.best / b->of_grid.best, b->of_one.best / b->of_grid.best,
           worst);
}

int main(int argc, char **argv)
{
    bench b = {.rows = number_at(argc, argv, 1, 4096),
               .cols = number_at(argc, argv, 2, 4096),
               .steps = number_at(argc, argv, 3, 20),
               .turns = number_at(argc, argv, 4, 9)};
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    ring = argc > 5 && strcmp(argv[5], "ring") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    require_ok(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &b.context));
    require_ok(
        hr_accelerator_describe(hr_mpi_context_local(b.context), 0, &info));
    in_columns = strncmp(info.path, "host", 4) != 0;
    create_grids(&b);
    for (int64_t n = 0; n < b.turns; n++) {
        measure_once(&b);
    }
    const double worst = compare_cells(&b);
    if (rank == 0) {
        print_times(&b, worst);
    }
    hr_grid_destroy(b.alone);
    hr_grid_destroy(b.grid);
    hr_mpi_context_destroy(b.context);
    free(b.values);
    free(b.loop.now);
    free(b.loop.next);
    MPI_Finalize();
    return worst > 1e-5;
}
