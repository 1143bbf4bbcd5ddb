/* SPDX-License-Identifier: MIT */
/* In one process the n-th call of MPI fails: all processes return an error,
 * none waits for ever, and the next context works.
 *
 *     mpirun -n 3 test_mpi_faults */
#include <headrace/mpi.h>

#include <unistd.h>

#include "test.h"

enum { SIZE = 24, MAX_CALLS = 4000, SECONDS = 100 /* then it hangs */ };

static int rank, process_count;
static long calls, fails; /* the call that fails; 0: none */

/* The library's calls come here first. */
static bool fails_now(void)
{
    return ++calls == fails;
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

/* A product whose A, B and C lie in columns, in rows and in blocks. */
static hr_status multiply(hr_mpi_context *context)
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

/* Whether the product succeeded in all processes. */
static bool run(hr_mpi_context *context, long n)
{
    calls = 0;
    fails = rank == process_count - 1 ? n : 0;
    const int failed = multiply(context) != HR_OK;
    fails = 0;
    int any = 0, all = 0;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    CHECK(any == all);
    return any == 0;
}

int main(int argc, char **argv)
{
    int level = 0;
    long n = 0;
    bool good = false;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    (void)alarm(SECONDS);
    while (!good && n < MAX_CALLS) {
        hr_mpi_context *context = NULL;
        CHECK(hr_mpi_context_create(MPI_COMM_WORLD, NULL, &context) == HR_OK);
        if (context == NULL) {
            break;
        }
        good = run(context, ++n);
        if (!good) {
            CHECK_FAILS(multiply(context), HR_ERROR_LOST, "has ended");
        }
        hr_mpi_context_destroy(context);
    }
    CHECK(good && n > 10);
    MPI_Finalize();
    return test_end();
}
