/* SPDX-License-Identifier: MIT */
/* Contexts: each process's share of its machine's accelerators, and how fast
 * they and messages are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/format.h"
#include "mpi/direct.h"

enum { LIST = 1024 };

/* ---- accelerators */

/* The processes of this machine, and the place of this one among them. */
typedef struct neighbours {
    int place, count;
    int64_t threads; /* of all together, if each used all that it may */
} neighbours;

static hr_status find_neighbours(hr_mpi_context *context, neighbours *n)
{
    MPI_Comm machine = MPI_COMM_NULL;
    hr_status status = hri_mpi_check(
        context,
        MPI_Comm_split_type(context->comm, MPI_COMM_TYPE_SHARED, context->rank,
                            MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
    if (status != HR_OK) {
        return status;
    }
    hri_mpi_memory *memory = &context->memory;
    memory->threads = hr_thread_count(NULL);
    (void)MPI_Comm_set_errhandler(machine, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(machine, &n->place);
    (void)MPI_Comm_size(machine, &n->count);
    status = hri_mpi_reduce(context, machine,
                            &(hri_mpi_reduction){&memory->threads,
                                                 &memory->all_threads, 1,
                                                 MPI_INT64_T, MPI_SUM});
    if (status == HR_OK) {
        status = hri_direct_init(context, machine);
    }
    if (status == HR_OK) {
        status =
            hri_mpi_check(context, MPI_Comm_free(&machine), "MPI_Comm_free");
    }
    return status;
}

/* Accelerators place, place + count ... of those chosen, or one that others
 * use, too. *users: how many do. */
static hr_status share_out(const hr_context *all, const neighbours *n,
                           char *list, int *users)
{
    const int found = (int)hr_accelerator_count(all);
    const int step = n->count < found ? n->count : found;
    size_t used = 0;
    list[0] = '\0';
    *users = (n->count + found - 1) / found;
    for (int i = n->place % found; i < found; i += step) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        const hr_status status =
            hr_accelerator_describe(all, (uint32_t)i, &info);
        if (status != HR_OK) {
            return status;
        }
        const size_t end = strcspn(info.path, "#"); /* behind it, which of */
        const int length =
            hri_format(/* several virtual ones */
                       list + used, LIST - used, "%s%s%.*s",
                       used > 0 ? "," : "", info.path[end] != '\0' ? "1x" : "",
                       (int)end, info.path);
        if (length < 0 || used + (size_t)length >= LIST) {
            return hri_fail(HR_ERROR_INVALID,
                            "mpi: %d accelerators are too many for one of %d "
                            "processes of a machine",
                            found, n->count);
        }
        used += (size_t)length;
    }
    return HR_OK;
}

/* The threads that a process uses where its CPUs are others', too. */
static uint32_t share_threads(const neighbours *n)
{
    const int64_t own = hr_thread_count(NULL);
    const int64_t there = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t fair = n->threads > there ? own * there / n->threads : own;
    return (uint32_t)(fair > 0 ? fair : 1);
}

static hr_status open_local(hr_mpi_context *context,
                            const hr_context_options *asked,
                            const neighbours *n)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *all = NULL;
    char list[LIST];
    int users = 1;
    if (asked != NULL) {
        options = *asked;
    }
    hr_status status = hr_context_create(&options, &all);
    if (status == HR_OK && hr_accelerator_count(all) == 0) {
        hr_context_destroy(all);
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "mpi: this process has no accelerator");
    }
    if (status != HR_OK || n->count == 1) {
        context->local = all;
        return status;
    }
    hr_accelerator_info first = HR_ACCELERATOR_INFO_INIT;
    status = share_out(all, n, list, &users);
    if (status == HR_OK) {
        status = hr_accelerator_describe(
            all, (uint32_t)n->place % hr_accelerator_count(all), &first);
    }
    hr_context_destroy(all);
    if (status != HR_OK) {
        return status;
    }
    context->sharers = users;
    options.accelerators = list;
    options.memory_limit =
        users > 1 ? first.memory_limit / (uint64_t)users : options.memory_limit;
    options.threads = options.threads > 0 ? options.threads : share_threads(n);
    return hr_context_create(&options, &context->local);
}

/* ---- rates */

/* Whether C stays where it is. */
static bool works_in_place(const hr_context *local)
{
    for (uint32_t i = 0; i < hr_accelerator_count(local); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        if (hr_accelerator_describe(local, i, &info) != HR_OK ||
            !info.in_place) {
            return false;
        }
    }
    return true;
}

/* The memory of all accelerators. */
static double accelerator_bytes(const hr_context *local)
{
    double bytes = 0.0;
    for (uint32_t i = 0; i < hr_accelerator_count(local); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        if (hr_accelerator_describe(local, i, &info) == HR_OK) {
            bytes += (double)info.memory_limit;
        }
    }
    return bytes;
}

hr_status hri_mpi_limited(const hr_mpi_context *context, hr_status status)
{
    if (status != HR_ERROR_OUT_OF_MEMORY || context->sharers < 2) {
        return status;
    }
    return hri_fail(status, "%s; %d processes share its memory limit",
                    hr_last_error(), context->sharers);
}

/* The seconds here of one multiplication and addition of doubles, and of each
 * double of C that goes to accelerators and back. */
static hr_status predict(hr_context *local, double *flop_seconds,
                         double *c_seconds)
{
    enum { SIZE = 4096, THIN = 64 };
    const hr_matrix m = hr_matrix_row_major(NULL, HR_F64, SIZE, SIZE, 0);
    const hr_matrix a = hr_matrix_row_major(NULL, HR_F64, SIZE, THIN, 0);
    const hr_matrix b = hr_matrix_row_major(NULL, HR_F64, THIN, SIZE, 0);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    hr_status status =
        hr_gemm_plan(local, hr_real(1), m, m, hr_real(0), m, NULL, &report);
    *flop_seconds = report.seconds / ((double)SIZE * SIZE * SIZE);
    if (status == HR_OK && !works_in_place(local)) {
        status =
            hr_gemm_plan(local, hr_real(1), a, b, hr_real(1), m, NULL, &report);
        *c_seconds = fmax(0.0, report.seconds / ((double)SIZE * SIZE) -
                                   THIN * *flop_seconds);
    }
    return status;
}

/* Send bytes to the partner and receive as many, some times. */
static hr_status exchange(hr_mpi_context *context, int partner, char *bytes,
                          int count, double *seconds)
{
    enum { TIMES = 4 };
    hr_status status = HR_OK;
    double begin = 0.0;
    for (int i = 0; i <= TIMES && status == HR_OK; i++) {
        MPI_Request requests[2];
        begin = i == 1 ? MPI_Wtime() : begin; /* the first connects */
        status =
            hri_mpi_check(context,
                          MPI_Irecv(bytes + count, count, MPI_BYTE, partner, 0,
                                    context->comm, &requests[0]),
                          "MPI_Irecv");
        if (status == HR_OK) {
            status = hri_mpi_check(context,
                                   MPI_Isend(bytes, count, MPI_BYTE, partner, 0,
                                             context->comm, &requests[1]),
                                   "MPI_Isend");
        }
        if (status == HR_OK) {
            status = hri_mpi_wait(context, 2, requests);
        }
    }
    *seconds = (MPI_Wtime() - begin) / TIMES;
    return status;
}

/* A quarter of the memory that is free, shared by the machine's processes. */
static double memory_there(int processes)
{
    enum { PART = 4 };
    return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) /
           PART / processes;
}

/* The greatest times of all processes, and the least memory. */
static hr_status find_rates(hr_mpi_context *context, int neighbours_here)
{
    enum { BYTES = 4 << 20 };
    const int partner = context->rank ^ 1;
    double *mine = context->memory.rates;
    const double *all = context->memory.all_rates;
    char *bytes = calloc(2, BYTES);
    hr_status status =
        bytes != NULL
            ? hri_mpi_limited(context,
                              predict(context->local, &mine[0], &mine[4]))
            : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                       "mpi: no %d bytes to measure messages", 2 * BYTES);
    status = hr_mpi_agree(context, status);
    if (status == HR_OK && partner < context->count) {
        status = exchange(context, partner, bytes, 0, &mine[1]);
        if (status == HR_OK) {
            status = exchange(context, partner, bytes, BYTES, &mine[2]);
        }
    }
    if (!context->lost) { /* else MPI may still use them */
        free(bytes);
    }
    mine[2] = (mine[2] > mine[1] ? mine[2] - mine[1] : mine[2]) / BYTES;
    mine[3] = -memory_there(neighbours_here);
    mine[5] = -accelerator_bytes(context->local);
    if (status == HR_OK) {
        status = hri_mpi_reduce(
            context, context->comm,
            &(hri_mpi_reduction){mine, context->memory.all_rates, HRI_MPI_RATES,
                                 MPI_DOUBLE, MPI_MAX});
    }
    if (status == HR_OK) {
        context->flop_seconds = all[0];
        context->c_seconds = all[4];
        context->latency_seconds = all[1];
        context->byte_seconds = all[2];
        context->memory_bytes = (uint64_t)-all[3];
        context->accelerator_bytes = (uint64_t)-all[5];
    }
    return status;
}

/* ---- contexts */

static hr_status check_mpi(void)
{
    int begun = 0, ended = 0;
    (void)MPI_Initialized(&begun);
    (void)MPI_Finalized(&ended);
    return begun && !ended ? HR_OK
                           : hri_fail(HR_ERROR_INVALID, "mpi: MPI is %s",
                                      ended ? "finalized" : "not initialized");
}

static hr_status copy_comm(hr_mpi_context *context, MPI_Comm comm)
{
    MPI_Comm *const copies[] = {&context->comm, &context->control};
    for (int i = 0; i < 2; i++) {
        if (MPI_Comm_dup(comm, copies[i]) != MPI_SUCCESS) {
            return hri_fail(HR_ERROR_BACKEND, "mpi: MPI_Comm_dup failed");
        }
        (void)MPI_Comm_set_errhandler(*copies[i], MPI_ERRORS_RETURN);
    }
    (void)MPI_Comm_rank(comm, &context->rank);
    (void)MPI_Comm_size(comm, &context->count);
    return HR_OK;
}

static hr_status create(MPI_Comm comm, bool initialized,
                        const hr_context_options *options,
                        hr_mpi_context **context)
{
    hr_status status = check_mpi();
    if (status != HR_OK) {
        return status;
    }
    if (context == NULL || comm == MPI_COMM_NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the %s is NULL",
                        context == NULL ? "place for the context"
                                        : "communicator");
    }
    int between = 0;
    if (MPI_Comm_test_inter(comm, &between) == MPI_SUCCESS && between) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: the communicator is one between two groups");
    }
    hr_mpi_context *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for a context");
    }
    made->comm = made->control = MPI_COMM_NULL;
    made->initialized = initialized;
    hri_threads_init(&made->threads);
    neighbours n = {0};
    status = copy_comm(made, comm);
    if (status == HR_OK) {
        status = find_neighbours(made, &n);
    }
    if (status == HR_OK) {
        status = hr_mpi_agree(made, open_local(made, options, &n));
    }
    if (status == HR_OK) {
        status = find_rates(made, n.count);
    }
    if (status != HR_OK) {
        hr_mpi_context_destroy(made);
        return status;
    }
    *context = made;
    return HR_OK;
}

hr_status hr_mpi_context_create(MPI_Comm comm,
                                const hr_context_options *options,
                                hr_mpi_context **context)
{
    HRI_USUAL_ARITHMETIC;
    return create(comm, false, options, context);
}

hr_status hr_mpi_context_create_world(const hr_context_options *options,
                                      hr_mpi_context **context)
{
    int begun = 0, level = 0;
    (void)MPI_Initialized(&begun);
    if (!begun && MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) !=
                      MPI_SUCCESS) {
        return hri_fail(HR_ERROR_BACKEND, "mpi: MPI_Init_thread failed");
    }
    return create(MPI_COMM_WORLD, !begun, options, context);
}

void hr_mpi_context_destroy(hr_mpi_context *context)
{
    int ended = 0;
    if (context == NULL) {
        return;
    }
    const bool initialized = context->initialized;
    hri_threads_finish(&context->threads);
    if (context->lost) { /* see hri_mpi_memory */
        if (!context->keeps_local) {
            hr_context_destroy(context->local);
        }
        if (initialized) {
            (void)MPI_Abort(MPI_COMM_WORLD, 1);
        }
        return;
    }
    (void)MPI_Finalized(&ended);
    if (!ended && context->comm != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&context->comm);
    }
    if (!ended && context->control != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&context->control);
    }
    hri_direct_finish(context);
    hr_context_destroy(context->local);
    for (int i = 0; i < HRI_MPI_PANELS; i++) {
        free(context->panels[i].memory);
        free(context->messages[i].memory);
    }
    free(context);
    if (initialized && !ended) {
        (void)MPI_Finalize();
    }
}

int hr_mpi_rank(const hr_mpi_context *context)
{
    return context != NULL ? context->rank : 0;
}

int hr_mpi_count(const hr_mpi_context *context)
{
    return context != NULL ? context->count : 0;
}

hr_context *hr_mpi_context_local(const hr_mpi_context *context)
{
    return context != NULL ? context->local : NULL;
}
