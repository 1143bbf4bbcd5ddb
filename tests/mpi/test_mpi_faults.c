/* SPDX-License-Identifier: MIT */
/* In one process the n-th call of MPI fails, in products and in grids: all
 * processes return an error, none waits for ever, and the next context works.
 * Each call fails, or each STEP-th one.
 *
 *     mpirun -n 3 test_mpi_faults [STEP] */
#define _GNU_SOURCE /* syscall, dladdr */
#include <headrace/mpi.h>

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/stencil.h"
#include "test.h"

enum { SIZE = 24, CELLS = 40, MAX_CALLS = 4000 };

static int rank, process_count;
static long step = 1;
static long calls, fails; /* the call that fails; 0: none */
static bool came;         /* it was called */
static bool read_fails; /* it reads another process's memory: MPI still works */
static bool late; /* it failed when all was done, perhaps: others may not hear
                     of it before their next call */

/* The library's calls come here first. */
static bool fails_now(void)
{
    const bool now = ++calls == fails;
    came = came || now;
    return now;
}

/* Whether the library calls from there. UCX reads other processes' memory, too,
 * and ends the process where it cannot. */
static bool is_ours(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 &&
           strstr(info.dli_fname, "headrace") != NULL;
}

/* Few bytes are read by one thread, so the order of calls is known. */
ssize_t process_vm_readv(pid_t process, const struct iovec *to,
                         unsigned long to_count, const struct iovec *from,
                         unsigned long from_count, unsigned long flags)
{
    if (is_ours(__builtin_return_address(0)) && fails_now()) {
        read_fails = true;
        errno = EPERM;
        return -1;
    }
    return syscall(SYS_process_vm_readv, process, to, to_count, from,
                   from_count, flags);
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    return fails_now() ? MPI_ERR_OTHER
                       : PMPI_Isend(bytes, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    return fails_now()
               ? MPI_ERR_OTHER
               : PMPI_Irecv(bytes, count, type, from, tag, comm, request);
}

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    return fails_now()
               ? MPI_ERR_OTHER
               : PMPI_Iallreduce(from, to, count, type, op, comm, request);
}

/* Of tests those count that find something done. */
int MPI_Test(MPI_Request *request, int *done, MPI_Status *of)
{
    const int code = PMPI_Test(request, done, of);
    const bool failed = code == MPI_SUCCESS && *done && fails_now();
    late = late || failed;
    return failed ? MPI_ERR_OTHER : code;
}

int MPI_Ibcast(void *bytes, int count, MPI_Datatype type, int root,
               MPI_Comm comm, MPI_Request *request)
{
    return fails_now() ? MPI_ERR_OTHER
                       : PMPI_Ibcast(bytes, count, type, root, comm, request);
}

/* A product whose A, B and C lie in columns, in rows and in blocks. */
static hr_status multiply_matrices(hr_mpi_context *context)
{
    static double data[3][SIZE * SIZE];
    hr_mpi_cyclic blocks[3];
    hr_mpi_matrix m[3];
    hr_mpi_gemm_options options = HR_MPI_GEMM_OPTIONS_INIT;
    for (int i = 0; i < 3; i++) {
        blocks[i] = (hr_mpi_cyclic){.row_block = i == 1 ? 1 : SIZE,
                                    .col_block = i == 1 ? SIZE : 1,
                                    .process_rows = i == 1 ? process_count : 1,
                                    .process_cols = i == 1 ? 1 : process_count,
                                    .data = data[i],
                                    .leading_dimension = SIZE};
        m[i] = hr_mpi_matrix_cyclic(HR_F64, SIZE, SIZE, &blocks[i]);
    }
    options.rows = 1;
    options.cols = 1;
    options.depth = process_count;
    options.memory_limit = 3000;
    return hr_mpi_gemm(context, hr_real(1), m[0], m[1], hr_real(0), m[2],
                       &options);
}

static hr_status use_grid(hr_grid *grid, double *values)
{
    static const reach all = {{1, 1, 0}, {1, 1, 0}, {3, 5, 7}};
    const hr_argument arguments[] = {hr_field_in(0), hr_field_out(1),
                                     hr_value(&all, sizeof all)};
    const hr_phase phases[] = {hr_phase_of(&mix2, arguments, 3),
                               hr_phase_swap(0, 1)};
    hr_reducing *reducing = NULL;
    double sum = 0;
    hr_status status = hr_mpi_grid_scatter(grid, 0, values, 0);
    if (status != HR_OK) {
        return status;
    }
    status = hr_grid_step(grid, phases, 2, 2);
    if (status != HR_OK) {
        return status;
    }
    status = hr_grid_reduce(grid, HR_REDUCE_SUM, HR_I32, 0, 0, &reducing);
    if (status != HR_OK) {
        return status;
    }
    status = hr_grid_reduced(reducing, &sum);
    if (status != HR_OK) {
        return status;
    }
    return hr_mpi_grid_gather(grid, 0, values, 0);
}

/* A grid that is stepped, reduced and gathered. */
static hr_status step_grid(hr_mpi_context *context)
{
    static double values[CELLS * CELLS];
    const hr_field field = hr_field_of(4, 1, HR_BOUNDARY_PERIODIC, NULL);
    const hr_field fields[] = {field, field};
    hr_grid *grid = NULL;
    hr_status status = hr_mpi_grid_create(context, hr_extent2(CELLS, CELLS),
                                          fields, 2, NULL, NULL, &grid);
    if (status != HR_OK) {
        return status;
    }
    status = use_grid(grid, values);
    hr_grid_destroy(grid);
    return status;
}

static bool in_any(bool here)
{
    const int mine = here;
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return any != 0;
}

/* Work while the n-th call fails in one process. False: there are fewer, and
 * all works. *again: the work can be done again with the same context. */
static bool fail_call(hr_status (*work)(hr_mpi_context *context),
                      hr_mpi_context *context, long n, bool *again)
{
    came = read_fails = late = false;
    calls = 0;
    fails = rank == process_count - 1 ? n : 0;
    const bool failed = work(context) != HR_OK;
    fails = 0;
    const bool any = in_any(failed), all = !in_any(!failed);
    CHECK(any == all || in_any(late));
    *again = in_any(read_fails);
    const bool reached = in_any(came);
    CHECK(any == reached || *again);
    return reached;
}

/* A context, of which nothing is left where it cannot be made. */
static hr_status create_context(hr_mpi_context *unused)
{
    hr_mpi_context *context = NULL;
    const hr_status status =
        hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context);
    (void)unused;
    CHECK((status == HR_OK) == (context != NULL));
    hr_mpi_context_destroy(context);
    return status;
}

static void fail_each_of_creation(void)
{
    long n = 1;
    bool again;
    while (fail_call(create_context, NULL, n, &again) && n < MAX_CALLS) {
        n += step;
    }
    CHECK(n > 10 && n < MAX_CALLS);
}

static void fail_each_call(hr_status (*work)(hr_mpi_context *context))
{
    bool reached = true;
    long n = 1;
    for (; reached && n < MAX_CALLS; n += step) {
        hr_mpi_context *context = NULL;
        bool again;
        CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context) == HR_OK);
        if (context == NULL) {
            break;
        }
        (void)MPI_Barrier(MPI_COMM_WORLD); /* else one still creates its own
                                              when it hears of the failure */
        reached = fail_call(work, context, n, &again);
        if (again || !reached) {
            CHECK(work(context) == HR_OK);
        } else {
            CHECK_FAILS(work(context), HR_ERROR_LOST, "mpi: a function of MPI");
        }
        hr_mpi_context_destroy(context);
    }
    CHECK(!reached && n > 10);
}

int main(int argc, char **argv)
{
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    step = argc > 1 ? atol(argv[1]) : 1;
    TEST_CASE("contexts");
    TEST(fail_each_of_creation());
    TEST_CASE("products");
    TEST(fail_each_call(multiply_matrices));
    TEST_CASE("grids");
    TEST(fail_each_call(step_grid));
    MPI_Finalize();
    return test_end();
}
