/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* process_vm_readv */
#include "mpi/direct.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/hash.h"
#include "base/size.h"

/* ---- which processes reach each other */

/* How others find this process. In another container its number may be that of
 * another process, which does not have the token. */
struct hri_mpi_address {
    int64_t rank, process;
    uint64_t token_at, token;
};

static bool read_token(const hri_mpi_address *of)
{
    uint64_t token = 0;
    const struct iovec local = {&token, sizeof token};
    const struct iovec remote = {(void *)(uintptr_t)of->token_at, sizeof token};
    return process_vm_readv((pid_t)of->process, &local, 1, &remote, 1, 0) ==
               (ssize_t)sizeof token &&
           token == of->token;
}

/* Tell all where this process is, and hear where they are. */
static hr_status tell_addresses(hr_mpi_context *context, MPI_Comm machine,
                                int count)
{
    hri_mpi_address *all = context->addresses, *mine = &all[count];
    MPI_Request request = MPI_REQUEST_NULL;
    const uint64_t now = hri_clock_ns();
    *mine = (hri_mpi_address){
        context->rank, getpid(), (uint64_t)(uintptr_t)&context->memory.token,
        hri_hash(HRI_HASH_INIT + (uint64_t)getpid(), &now, sizeof now)};
    context->memory.token = mine->token;
    HRI_TRY(
        hri_mpi_check(context,
                      MPI_Iallgather(mine, sizeof *mine, MPI_BYTE, all,
                                     sizeof *all, MPI_BYTE, machine, &request),
                      "MPI_Iallgather"));
    return hri_mpi_wait(context, 1, &request);
}

/* From how many bytes on reading is faster than a message, or what the
 * environment says. INT64_MAX: never. */
static int64_t least_bytes(void)
{
    enum { DEFAULT = 64 << 10 };
    const char *wanted = hri_environment("HEADRACE_MPI_DIRECT");
    const int64_t least =
        wanted != NULL && *wanted != '\0' ? strtoll(wanted, NULL, 10) : DEFAULT;
    return least > 0 ? least : INT64_MAX;
}

/* Find out whether all processes read from all others. */
static hr_status try_all(hr_mpi_context *context, MPI_Comm machine, int count)
{
    hri_mpi_memory *memory = &context->memory;
    memory->direct_bytes = least_bytes();
    for (int i = 0; i < count && memory->direct_bytes < INT64_MAX; i++) {
        if (!read_token(&context->addresses[i])) {
            memory->direct_bytes = INT64_MAX;
        }
    }
    HRI_TRY(hri_mpi_reduce(context, machine,
                           &(hri_mpi_reduction){&memory->direct_bytes,
                                                &memory->all_direct_bytes, 1,
                                                MPI_INT64_T, MPI_MAX}));
    for (int i = 0; i < count; i++) {
        const hri_mpi_address *a = &context->addresses[i];
        context->process_of[a->rank] = a->process;
    }
    return HR_OK;
}

hr_status hri_direct_init(hr_mpi_context *context, MPI_Comm machine)
{
    int count = 0;
    (void)MPI_Comm_size(machine, &count);
    context->process_of =
        calloc((size_t)context->count, sizeof *context->process_of);
    context->addresses = calloc((size_t)count + 1, sizeof *context->addresses);
    HRI_TRY(hr_mpi_agree(
        context,
        context->process_of != NULL && context->addresses != NULL
            ? HR_OK
            : hri_fail(HR_ERROR_OUT_OF_MEMORY,
                       "mpi: no memory for %d processes", context->count)));
    HRI_TRY(tell_addresses(context, machine, count));
    return try_all(context, machine, count);
}

void hri_direct_finish(hr_mpi_context *context)
{
    free(context->process_of);
    free(context->addresses);
}

bool hri_direct_reaches(const hr_mpi_context *context, int rank, size_t bytes)
{
    return rank != context->rank && context->process_of != NULL &&
           context->process_of[rank] != 0 &&
           (int64_t)bytes >= context->memory.all_direct_bytes;
}

/* ---- reading */

/* The system reads less than 2 GiB in a call. */
enum { MAX_BYTES = 1 << 30, MAX_LINES = 64 };

/* Read lines of MAX_BYTES at most, some in each call. */
static hr_status read_lines(pid_t process, hri_lines to, hri_lines from)
{
    struct iovec local[MAX_LINES], remote[MAX_LINES];
    const size_t fit = MAX_BYTES / (to.line > 0 ? to.line : 1);
    while (to.count > 0) {
        size_t lines = to.count < MAX_LINES ? to.count : MAX_LINES;
        lines = lines < fit ? lines : fit;
        for (size_t i = 0; i < lines; i++) {
            local[i] = (struct iovec){to.data + i * to.pitch, to.line};
            remote[i] = (struct iovec){from.data + i * from.pitch, to.line};
        }
        const ssize_t got =
            process_vm_readv(process, local, lines, remote, lines, 0);
        if (got != (ssize_t)(lines * to.line)) {
            return hri_fail(HR_ERROR_BACKEND,
                            "mpi: this process read %lld of %zu bytes of "
                            "process number %d (error %d)",
                            (long long)got, lines * to.line, (int)process,
                            got < 0 ? errno : 0);
        }
        to.data += lines * to.pitch;
        from.data += lines * from.pitch;
        to.count -= lines;
    }
    return HR_OK;
}

/* The lines of one thread. */
typedef struct job {
    hri_call call;
    pid_t process;
    hri_lines to, from;
} job;

static hr_status read_job(void *argument)
{
    const job *j = argument;
    return read_lines(j->process, j->to, j->from);
}

/* Lines that follow each other without gaps become others of about 1 MiB.
 * *rest: the bytes that are left behind the last one. */
static void join_lines(hri_lines *to, hri_lines *from, size_t *rest)
{
    const size_t bytes = to->line * to->count, usual = 1 << 20;
    const bool joined =
        to->count == 1 || (to->pitch == to->line && from->pitch == from->line);
    *rest = 0;
    if (joined) {
        to->line = to->pitch = from->line = from->pitch =
            bytes < usual ? bytes : usual;
        to->count = from->count = bytes / to->line;
        *rest = bytes % to->line;
    }
}

/* Read lines that are too long for one call. */
static hr_status read_each(hr_mpi_context *context, int rank,
                           const hri_lines *to, const hri_lines *from)
{
    for (size_t i = 0; i < to->count; i++) {
        const hri_lines here = {to->data + i * to->pitch, to->line, to->line,
                                1};
        const hri_lines there = {from->data + i * from->pitch, to->line,
                                 to->line, 1};
        HRI_TRY(hri_direct_read(context, rank, &here, &there));
    }
    return HR_OK;
}

/* More threads hold up copies to GPUs: with 8 in each of two processes a
 * product on two H200 took 3 per cent longer. */
enum { THREADS = 4 };

hr_status hri_direct_read(hr_mpi_context *context, int rank,
                          const hri_lines *to, const hri_lines *from)
{
    static const size_t least = 1 << 20; /* bytes of a thread */
    const pid_t process = (pid_t)context->process_of[rank];
    hri_lines here = *to, there = *from;
    size_t rest;
    if (to->count > 1 && to->line > MAX_BYTES) {
        return read_each(context, rank, to, from);
    }
    join_lines(&here, &there, &rest);
    const size_t lines = here.count, bytes = here.count * here.line;
    const size_t useful =
        bytes / least < THREADS ? bytes / least : (size_t)THREADS;
    const size_t allowed = hr_thread_count(context->local);
    const size_t threads =
        (size_t)hri_max(1, (int64_t)(useful < allowed ? useful : allowed));
    job jobs[THREADS] = {{.process = process}};
    for (size_t i = 0; i < threads; i++) {
        const size_t first = lines * i / threads;
        jobs[i] = (job){.process = process, .to = here, .from = there};
        jobs[i].call.threads = i > 0 ? &context->threads : NULL;
        jobs[i].to.count = lines * (i + 1) / threads - first;
        jobs[i].to.data += first * here.pitch;
        jobs[i].from.data += first * there.pitch;
    }
    HRI_TRY(hri_threads_call(read_job, jobs, threads, sizeof *jobs));
    if (rest == 0) {
        return HR_OK;
    }
    here.data += bytes;
    there.data += bytes;
    here.line = rest;
    here.count = 1;
    return read_lines(process, here, there);
}
