/* SPDX-License-Identifier: MIT */
/* Contexts: the accelerators of each process among those of its machine, and
 * how fast they and messages are. Contexts of processes that are not there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/environment.h"
#include "base/format.h"
#include "base/structs.h"
#include "mpi/direct.h"

enum {
    LIST = 1024, /* bytes of names of accelerators */
    FLOPS = 2    /* a multiplication and an addition */
};

/* ---- accelerators */

/* The processes of this machine, and the local rank of this one among them. */
typedef struct neighbours {
    int local_rank, count;
    int64_t threads; /* of all together, if each used all that it may */
} neighbours;

static hr_status find_neighbours(hr_mpi_context *context, neighbours *n)
{
    MPI_Comm machine = MPI_COMM_NULL;
    hri_mpi_memory *memory = &context->memory;
    HRI_TRY(hri_mpi_check(
        context,
        MPI_Comm_split_type(context->comm, MPI_COMM_TYPE_SHARED, context->rank,
                            MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type"));
    memory->threads = hr_thread_count(NULL);
    (void)MPI_Comm_set_errhandler(machine, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(machine, &n->local_rank);
    (void)MPI_Comm_size(machine, &n->count);
    HRI_TRY(hri_mpi_reduce(context, machine,
                           &(hri_mpi_reduction){&memory->threads,
                                                &memory->all_threads, 1,
                                                MPI_INT64_T, MPI_SUM}));
    n->threads = memory->all_threads;
    HRI_TRY(hri_direct_init(context, machine));
    return hri_mpi_check(context, MPI_Comm_free(&machine), "MPI_Comm_free");
}

/* Accelerators local_rank, local_rank + count ... of those chosen, or one that
 * others use, too. *users: how many do. */
static hr_status list_accelerators(const hr_context *all, const neighbours *n,
                                   char *list, int *users)
{
    const int found = (int)hr_accelerator_count(all);
    const int step = n->count < found ? n->count : found;
    size_t used = 0;
    list[0] = '\0';
    *users = (n->count + found - 1) / found;
    for (int i = n->local_rank % found; i < found; i += step) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        HRI_TRY(hr_accelerator_describe(all, (uint32_t)i, &info));
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

/* The threads of a process if its CPUs are others', too. 0: what
 * HEADRACE_THREADS says. */
static uint32_t threads_here(const neighbours *n)
{
    const char *set = hri_environment("HEADRACE_THREADS");
    const int64_t own = hr_thread_count(NULL);
    const int64_t there = sysconf(_SC_NPROCESSORS_ONLN);
    const int64_t fair = n->threads > there ? own * there / n->threads : own;
    return set != NULL && set[0] != '\0' ? 0 : (uint32_t)(fair > 0 ? fair : 1);
}

/* Set the options to those of this process's accelerators. They are written to
 * `list`. */
static hr_status limit_options(hr_mpi_context *context, const hr_context *all,
                               const neighbours *n, hr_context_options *options,
                               char *list)
{
    hr_accelerator_info first = HR_ACCELERATOR_INFO_INIT;
    int users = 1;
    HRI_TRY(list_accelerators(all, n, list, &users));
    HRI_TRY(hr_accelerator_describe(
        all, (uint32_t)n->local_rank % hr_accelerator_count(all), &first));
    context->sharers = users;
    options->accelerators = list;
    if (users > 1) {
        options->memory_limit = first.memory_limit / (uint64_t)users;
    }
    if (options->threads == 0) {
        options->threads = threads_here(n);
    }
    return HR_OK;
}

static hr_status open_local(hr_mpi_context *context,
                            const hr_context_options *asked,
                            const neighbours *n)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *all = NULL;
    char list[LIST];
    if (asked != NULL) {
        options = *asked;
    }
    HRI_TRY(hr_context_create(&options, &all));
    if (hr_accelerator_count(all) == 0) {
        hr_context_destroy(all);
        return hri_fail(HR_ERROR_UNAVAILABLE,
                        "mpi: this process has no accelerator");
    }
    if (n->count == 1) {
        context->local = all;
        return HR_OK;
    }
    const hr_status status = limit_options(context, all, n, &options, list);
    hr_context_destroy(all);
    HRI_TRY(status);
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
static hr_status predict_rates(hr_context *local, double *flop_seconds,
                               double *c_seconds)
{
    enum { SIZE = 4096, THIN = 64 };
    const hr_matrix m = hr_matrix_row_major(NULL, HR_F64, SIZE, SIZE, 0);
    const hr_matrix a = hr_matrix_row_major(NULL, HR_F64, SIZE, THIN, 0);
    const hr_matrix b = hr_matrix_row_major(NULL, HR_F64, THIN, SIZE, 0);
    hr_gemm_report report = HR_GEMM_REPORT_INIT;
    HRI_TRY(
        hr_gemm_plan(local, hr_real(1), m, m, hr_real(0), m, NULL, &report));
    *flop_seconds = report.seconds / ((double)SIZE * SIZE * SIZE);
    if (works_in_place(local)) {
        return HR_OK;
    }
    HRI_TRY(
        hr_gemm_plan(local, hr_real(1), a, b, hr_real(1), m, NULL, &report));
    *c_seconds = fmax(0.0, report.seconds / ((double)SIZE * SIZE) -
                               THIN * *flop_seconds);
    return HR_OK;
}

/* Send bytes to the partner and receive as many, some times. */
static hr_status time_messages(hr_mpi_context *context, int partner,
                               char *bytes, int count, double *seconds)
{
    enum { TIMES = 4 };
    double begin = 0.0;
    for (int i = 0; i <= TIMES; i++) {
        MPI_Request requests[2];
        begin = i == 1 ? MPI_Wtime() : begin; /* the first connects */
        HRI_TRY(hri_mpi_check(context,
                              MPI_Irecv(bytes + count, count, MPI_BYTE, partner,
                                        0, context->comm, &requests[0]),
                              "MPI_Irecv"));
        HRI_TRY(hri_mpi_check(context,
                              MPI_Isend(bytes, count, MPI_BYTE, partner, 0,
                                        context->comm, &requests[1]),
                              "MPI_Isend"));
        HRI_TRY(hri_mpi_wait(context, 2, requests));
    }
    *seconds = (MPI_Wtime() - begin) / TIMES;
    return HR_OK;
}

/* A quarter of the memory that is free, divided by the processes here. */
static double memory_there(int processes)
{
    enum { PART = 4 };
    return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) /
           PART / processes;
}

/* The numbers of hri_mpi_memory.rates. The greatest of all processes counts: so
 * the least memory is the greatest negative one. */
enum {
    RATE_FLOP,
    RATE_LATENCY,
    RATE_BYTE,
    RATE_MEMORY,
    RATE_C,
    RATE_ACCELERATORS
};

/* Measure messages, with room for 2 * MESSAGE_BYTES. */
enum { MESSAGE_BYTES = 4 << 20 };
static hr_status measure_messages(hr_mpi_context *context, char *bytes)
{
    double *mine = context->memory.rates;
    const int partner = context->rank ^ 1;
    const hr_status status =
        bytes != NULL ? hri_mpi_limited(context, predict_rates(context->local,
                                                               &mine[RATE_FLOP],
                                                               &mine[RATE_C]))
                      : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                                 "mpi: no %d bytes to measure messages",
                                 2 * MESSAGE_BYTES);
    HRI_TRY(hr_mpi_agree(context, status));
    if (partner >= context->count) {
        return HR_OK;
    }
    HRI_TRY(time_messages(context, partner, bytes, 0, &mine[RATE_LATENCY]));
    return time_messages(context, partner, bytes, MESSAGE_BYTES,
                         &mine[RATE_BYTE]);
}

/* The greatest times of all processes, and the least memory. */
static hr_status find_rates(hr_mpi_context *context, int neighbours_here)
{
    double *mine = context->memory.rates;
    const double *all = context->memory.all_rates;
    char *bytes = calloc(2, MESSAGE_BYTES);
    const hr_status status = measure_messages(context, bytes);
    if (!context->lost) { /* else MPI may still use them */
        free(bytes);
    }
    HRI_TRY(status);
    if (mine[RATE_BYTE] > mine[RATE_LATENCY]) {
        mine[RATE_BYTE] -= mine[RATE_LATENCY];
    }
    mine[RATE_BYTE] /= MESSAGE_BYTES;
    mine[RATE_MEMORY] = -memory_there(neighbours_here);
    mine[RATE_ACCELERATORS] = -accelerator_bytes(context->local);
    HRI_TRY(hri_mpi_reduce(context, context->comm,
                           &(hri_mpi_reduction){mine, context->memory.all_rates,
                                                HRI_MPI_RATES, MPI_DOUBLE,
                                                MPI_MAX}));
    context->flop_seconds = all[RATE_FLOP];
    context->c_seconds = all[RATE_C];
    context->latency_seconds = all[RATE_LATENCY];
    context->byte_seconds = all[RATE_BYTE];
    context->memory_bytes = (uint64_t)-all[RATE_MEMORY];
    context->accelerator_bytes = (uint64_t)-all[RATE_ACCELERATORS];
    return HR_OK;
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

static hr_mpi_context *new_context(void)
{
    hr_mpi_context *made = calloc(1, sizeof *made);
    if (made == NULL) {
        (void)hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for a context");
        return NULL;
    }
    made->comm = made->control = MPI_COMM_NULL;
    hri_threads_init(&made->threads);
    return made;
}

static hr_status open_context(hr_mpi_context *context, MPI_Comm comm,
                              const hr_context_options *options)
{
    neighbours n = {0};
    HRI_TRY(copy_comm(context, comm));
    HRI_TRY(find_neighbours(context, &n));
    HRI_TRY(hr_mpi_agree(context, open_local(context, options, &n)));
    return find_rates(context, n.count);
}

static hr_status create_context(MPI_Comm comm, bool initialized,
                                const hr_context_options *options,
                                hr_mpi_context **context)
{
    HRI_TRY(check_mpi());
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
    hr_mpi_context *made = new_context();
    if (made == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    made->initialized = initialized;
    const hr_status status = open_context(made, comm, options);
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
    return create_context(comm, false, options, context);
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
    return create_context(MPI_COMM_WORLD, !begun, options, context);
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

/* ---- what was measured, and contexts of processes that are not there */

static const hri_struct cluster_struct =
    HRI_STRUCT(hr_mpi_cluster, "cluster", "HR_MPI_CLUSTER_INIT", count);

hr_status hr_mpi_context_describe(const hr_mpi_context *context,
                                  hr_mpi_cluster *cluster)
{
    if (context == NULL || cluster == NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the %s is NULL",
                        context == NULL ? "context" : "cluster");
    }
    HRI_TRY(hri_struct_check(&cluster_struct, cluster));
    const hr_mpi_cluster known = {
        .count = context->count,
        .memory_bytes = context->memory_bytes,
        .accelerator_bytes =
            context->c_seconds > 0.0 ? context->accelerator_bytes : 0,
        .c_bytes_per_second = context->c_seconds > 0.0
                                  ? (double)sizeof(double) / context->c_seconds
                                  : 0.0,
        .flops_per_second = FLOPS / context->flop_seconds,
        .latency_seconds = context->latency_seconds,
        .bytes_per_second =
            context->byte_seconds > 0.0 ? 1.0 / context->byte_seconds : 0.0};
    hri_struct_write(&cluster_struct, &known, cluster);
    return HR_OK;
}

static hr_status check_cluster(const hr_mpi_cluster *c)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"flops_per_second", c->flops_per_second},
               {"bytes_per_second", c->bytes_per_second}};
    enum { MAX_PROCESSES = 4096 }; /* plans of more take too long */
    if (c->count > MAX_PROCESSES) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: a cluster of %d processes, more than %d",
                        c->count, MAX_PROCESSES);
    }
    if (c->count < 1 || c->memory_bytes < 1) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: a cluster of %d processes with %llu bytes each",
                        c->count, (unsigned long long)c->memory_bytes);
    }
    for (int i = 0; i < 2; i++) {
        if (!(all[i].value > 0.0 && isfinite(all[i].value) &&
              isfinite(1.0 / all[i].value))) {
            return hri_fail(HR_ERROR_INVALID, "mpi: a cluster's %s is %g",
                            all[i].name, all[i].value);
        }
    }
    if (!(c->latency_seconds >= 0.0 && isfinite(c->latency_seconds))) {
        return hri_fail(HR_ERROR_INVALID, "mpi: a cluster's %s is %g",
                        "latency_seconds", c->latency_seconds);
    }
    const double c_rate = c->c_bytes_per_second;
    return c_rate == 0.0 || (c_rate > 0.0 && isfinite(1.0 / c_rate))
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID, "mpi: a cluster's %s is %g",
                          "c_bytes_per_second", c_rate);
}

hr_status hr_mpi_context_create_model(const hr_mpi_cluster *cluster,
                                      hr_mpi_context **context)
{
    HRI_USUAL_ARITHMETIC;
    hr_mpi_cluster c = HR_MPI_CLUSTER_INIT;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    if (cluster == NULL || context == NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the %s is NULL",
                        cluster == NULL ? "cluster" : "place for the context");
    }
    HRI_TRY(hri_struct_read(&cluster_struct, cluster, &c));
    HRI_TRY(check_cluster(&c));
    hr_mpi_context *made = new_context();
    if (made == NULL) {
        return HR_ERROR_OUT_OF_MEMORY;
    }
    made->model = true;
    made->count = c.count;
    made->memory_bytes = c.memory_bytes;
    made->accelerator_bytes = c.accelerator_bytes;
    made->c_seconds = c.c_bytes_per_second > 0.0
                          ? (double)sizeof(double) / c.c_bytes_per_second
                          : 0.0;
    made->flop_seconds = FLOPS / c.flops_per_second;
    made->latency_seconds = c.latency_seconds;
    made->byte_seconds = 1.0 / c.bytes_per_second;
    options.accelerators = "host"; /* types are checked with it */
    options.threads = 1;
    const hr_status status = hr_context_create(&options, &made->local);
    if (status != HR_OK) {
        hr_mpi_context_destroy(made);
        return status;
    }
    *context = made;
    return HR_OK;
}
