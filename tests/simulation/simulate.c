/* SPDX-License-Identifier: MIT */
/* One product, or steps of one grid, over simulated processes, which all have
 * as much to do, however many there are:
 *
 *     smpirun -no-privatize -np 64 -platform fat_tree_64.xml ...
 *         simulate.so gemm|jacobi|heat [SIZE]
 *
 * SIZE is the side of what each process has. Prints one line. Fails if less
 * than 0.9 of the time is work, if the prediction is off by more than a factor
 * of 1.2, or if other bytes are sent than planned. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "simulate.h"

/* A GPU with 25 Tflop/s in f64 and 50 in f32. Steps run at the speed of its
 * memory, some 2 TB/s for 10 bytes a cell. A quarter of 128 GiB is for panels.
 */
const simulated_machine machine = {.flops_per_second = 25e12,
                                   .cells_per_second = 2e11,
                                   .copy_seconds = 1.0 / 100e9,
                                   .link_seconds = 1.0 / 50e9,
                                   .link_latency = 2e-6,
                                   .memory_bytes = 32ULL << 30};

typedef struct result {
    double work, predicted, simulated; /* seconds */
    uint64_t planned, sent;            /* bytes of all processes */
    int grid[3];
} result;

static void check_status(hr_status status)
{
    if (status != HR_OK) {
        fprintf(stderr, "simulate: %s\n", hr_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double slowest_of(double own)
{
    double all = own;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* All begin together, and count bytes from 0. */
static double begin_together(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    simulated_bytes = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* ---- contexts: what src/mpi/context.c would measure */

/* Seconds of a message to the partner and one from it. */
static double time_exchange(hr_mpi_context *context, size_t bytes)
{
    const int partner = context->rank ^ 1;
    const double from = begin_together();
    if (partner < context->count) {
        MPI_Request requests[2];
        char *memory = simulated_memory();
        MPI_Irecv(memory, (int)bytes, MPI_BYTE, partner, 0, context->comm,
                  &requests[0]);
        MPI_Isend(memory, (int)bytes, MPI_BYTE, partner, 0, context->comm,
                  &requests[1]);
        check_status(hri_mpi_wait(context, 2, requests));
    }
    return slowest_of(MPI_Wtime() - from);
}

static hr_mpi_context *create_context(void)
{
    enum { FLOPS = 2, BYTES = 4 << 20 };
    hr_mpi_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        check_status(
            hri_fail(HR_ERROR_OUT_OF_MEMORY, "no memory for a context"));
    }
    hri_threads_init(&context->threads);
    context->comm = MPI_COMM_WORLD; /* SMPI takes half a minute for a copy */
    context->control = MPI_COMM_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &context->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &context->count);
    context->memory_bytes = machine.memory_bytes;
    context->flop_seconds = FLOPS / machine.flops_per_second;
    context->latency_seconds = time_exchange(context, 0);
    context->byte_seconds =
        (time_exchange(context, BYTES) - context->latency_seconds) / BYTES;
    return context;
}

/* ---- products */

static hr_mpi_matrix square_matrix(int64_t size, int processes,
                                   hr_mpi_cyclic *blocks)
{
    int dims[2] = {0, 0};
    MPI_Dims_create(processes, 2, dims);
    *blocks = (hr_mpi_cyclic){.row_block = size,
                              .col_block = size,
                              .process_rows = dims[0],
                              .process_cols = dims[1],
                              .data = simulated_memory(),
                              .leading_dimension = size};
    return hr_mpi_matrix_cyclic(HR_F32, size * dims[0], size * dims[1], blocks);
}

static result time_product(hr_mpi_context *context, int64_t size)
{
    hr_mpi_cyclic blocks;
    const hr_mpi_matrix m = square_matrix(size, context->count, &blocks);
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    hr_mpi_gemm_report plan = HR_MPI_GEMM_REPORT_INIT;
    check_status(hr_mpi_gemm_plan(context, hr_real(1), m, m, hr_real(0), m,
                                  &options, &plan));
    const double from = begin_together();
    check_status(
        hr_mpi_gemm(context, hr_real(1), m, m, hr_real(0), m, &options));
    result r = {.simulated = slowest_of(MPI_Wtime() - from),
                .predicted = plan.seconds,
                .planned = plan.sent,
                .sent = simulated_bytes,
                .grid = {plan.rows, plan.cols, plan.depth}};
    r.work = (double)m.rows * (double)m.rows * (double)m.cols / context->count /
             machine.flops_per_second; /* f32, 2 flops */
    return r;
}

/* ---- grids */

/* What a step takes: messages and their copies beside the inner cells, and then
 * the others. */
static double predict_step(const hr_mpi_context *context, const hr_grid *grid,
                           uint64_t bytes, uint64_t messages)
{
    double inner;
    const double all = simulated_cells(grid, &inner);
    const double copies = 2.0 * ((double)messages * simulated_copy_seconds(0) +
                                 (double)bytes * machine.link_seconds);
    const double travel = (double)messages * context->latency_seconds +
                          (double)bytes * context->byte_seconds;
    return fmax(inner / machine.cells_per_second, copies + travel) +
           (all - inner) / machine.cells_per_second;
}

static result time_steps(hr_mpi_context *context, uint32_t dimensions,
                         int64_t size)
{
    enum { STEPS = 4, BOTH = 2 };
    const hr_field field =
        hr_field_of(sizeof(float), 1, HR_BOUNDARY_CONSTANT, NULL);
    const hr_field fields[BOTH] = {field, field};
    int dims[3] = {0, 0, 0};
    int64_t sizes[3];
    hr_grid *grid = NULL;
    MPI_Dims_create(context->count, (int)dimensions, dims);
    for (uint32_t d = 0; d < dimensions; d++) {
        sizes[d] = size * dims[d];
    }
    check_status(hr_mpi_grid_create(context, hr_extent_of(dimensions, sizes),
                                    fields, BOTH, NULL, NULL, &grid));
    const double from = begin_together();
    check_status(hr_grid_step(grid, NULL, 0, STEPS));
    result r = {.simulated = slowest_of(MPI_Wtime() - from),
                .sent = simulated_bytes};
    hr_mpi_grid_state state = HR_MPI_GRID_STATE_INIT;
    double inner;
    check_status(hr_mpi_grid_describe(grid, &state));
    r.work = STEPS * simulated_cells(grid, &inner) / machine.cells_per_second;
    r.predicted = slowest_of(STEPS * predict_step(context, grid,
                                                  state.exchange_bytes / BOTH,
                                                  state.messages / STEPS));
    uint64_t planned = state.exchange_bytes / BOTH * STEPS;
    MPI_Allreduce(&planned, &r.planned, 1, MPI_UINT64_T, MPI_SUM,
                  MPI_COMM_WORLD);
    memcpy(r.grid, state.processes, sizeof r.grid);
    hr_grid_destroy(grid);
    return r;
}

/* ---- results */

static bool print_result(const char *what, int64_t size, int processes,
                         const result *r)
{
    const double efficiency = r->work / r->simulated;
    const double ratio = r->predicted / r->simulated;
    printf("| %s | %lld | %d | %d x %d x %d | %.6f | %.6f | %.6f | %.3f | %.3f "
           "| %.3f |\n",
           what, (long long)size, processes, r->grid[0], r->grid[1], r->grid[2],
           r->work, r->predicted, r->simulated, efficiency, ratio,
           (double)r->sent / 1e9);
    if (r->sent != r->planned) {
        printf("%llu bytes were sent, not %llu\n", (unsigned long long)r->sent,
               (unsigned long long)r->planned);
    }
    return efficiency >= 0.9 && fmax(ratio, 1.0 / ratio) <= 1.2 &&
           r->sent == r->planned;
}

int main(int argc, char **argv)
{
    int good = 1;
    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "gemm";
    const bool product = strcmp(what, "gemm") == 0;
    const bool plane = strcmp(what, "jacobi") == 0;
    const int64_t usual = product ? 32768 : plane ? 16384 : 512;
    const int64_t size = argc > 2 ? strtoll(argv[2], NULL, 10) : usual;
    hr_mpi_context *context = create_context();
    const result r = product ? time_product(context, size)
                             : time_steps(context, plane ? 2 : 3, size);
    if (context->rank == 0) {
        good = print_result(what, size, context->count, &r);
    }
    context->comm = MPI_COMM_NULL;
    hr_mpi_context_destroy(context);
    MPI_Finalize();
    return good ? 0 : 1;
}
