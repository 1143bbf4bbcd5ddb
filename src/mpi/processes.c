/* SPDX-License-Identifier: MIT */
#include "mpi/processes.h"

#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/format.h"

enum { LOST = 1 /* tag of the news */ };

/* ---- errors */

hr_status hri_fail(hr_status status, const char *format, ...)
{
    char sentence[HRI_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    hri_format_list(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return hr_set_last_error(status, sentence);
}

void hri_error_keep(hri_error *error, hr_status status)
{
    if (error->status == HR_OK && status != HR_OK) {
        error->status = status;
        hri_format(error->message, sizeof error->message, "%s",
                   hr_last_error());
    }
}

hr_status hri_error_raise(const hri_error *error)
{
    return error->status != HR_OK
               ? hr_set_last_error(error->status, error->message)
               : HR_OK;
}

hr_status hri_mpi_context_check(const hr_mpi_context *context)
{
    if (context == NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the context is NULL");
    }
    if (context->model) {
        return hri_fail(HR_ERROR_INVALID,
                        "mpi: these %d processes are not there: the context "
                        "only plans products",
                        context->count);
    }
    return context->lost
               ? hri_fail(HR_ERROR_LOST,
                          "mpi: a function of MPI failed before, so this "
                          "context has ended")
               : HR_OK;
}

/* Tell all other processes. What fails now is not heard. */
static void tell_lost(hr_mpi_context *context)
{
    context->lost = true;
    for (int rank = 0; rank < context->count; rank++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank != context->rank &&
            MPI_Isend(NULL, 0, MPI_BYTE, rank, LOST, context->control,
                      &request) == MPI_SUCCESS) {
            (void)MPI_Request_free(&request);
        }
    }
}

hr_status hri_mpi_check(hr_mpi_context *context, int code, const char *function)
{
    char text[MPI_MAX_ERROR_STRING] = "no reason";
    int length = 0;
    if (code == MPI_SUCCESS) {
        return HR_OK;
    }
    (void)MPI_Error_string(code, text, &length);
    if (!context->lost) {
        tell_lost(context);
    }
    return hri_fail(HR_ERROR_BACKEND, "mpi: process %d: %s failed: %.300s",
                    context->rank, function, text);
}

hr_status hri_mpi_listen(hr_mpi_context *context)
{
    int heard = 0;
    MPI_Status from;
    const hr_status status = hri_mpi_check(
        context,
        MPI_Iprobe(MPI_ANY_SOURCE, LOST, context->control, &heard, &from),
        "MPI_Iprobe");
    if (status != HR_OK || !heard) {
        return status;
    }
    context->lost = true;
    return hri_fail(HR_ERROR_LOST,
                    "mpi: a function of MPI failed in process %d",
                    from.MPI_SOURCE);
}

/* ---- requests */

/* Wait after so many looks that have found nothing, since then. After 2 ms a
 * process sleeps between two looks: each fragment of a message takes less,
 * unless it comes slowly. */
static void wait_a_moment(unsigned looks, uint64_t since_ns)
{
    enum { EAGER = 200, MOMENT_NS = 100000 };
    const double awake = 2e-3; /* seconds */
    if (looks < EAGER) {
        return;
    }
    if (hri_seconds_since(since_ns) < awake) {
        (void)sched_yield();
    } else {
        hri_sleep_ns(MOMENT_NS);
    }
}

/* Wait for one request. All others go on meanwhile. */
static hr_status wait_for(hr_mpi_context *context, MPI_Request *request)
{
    const uint64_t since_ns = hri_clock_ns();
    for (unsigned looks = 0;; looks++) {
        int done = 0;
        MPI_Status of;
        HRI_TRY(
            hri_mpi_check(context, MPI_Test(request, &done, &of), "MPI_Test"));
        if (done) {
            return HR_OK;
        }
        HRI_TRY(hri_mpi_listen(context));
        wait_a_moment(looks, since_ns);
    }
}

hr_status hri_mpi_wait(hr_mpi_context *context, int count,
                       MPI_Request *requests)
{
    for (int i = 0; i < count; i++) {
        HRI_TRY(wait_for(context, &requests[i]));
    }
    return HR_OK;
}

int hri_mpi_fragments(size_t count)
{
    return (int)(count / HRI_MPI_FRAGMENT_BYTES) + 1;
}

hr_status hri_mpi_post(hr_mpi_context *context, const hri_mpi_bytes *m,
                       MPI_Request *requests, int *request_count)
{
    const size_t most = HRI_MPI_FRAGMENT_BYTES;
    for (size_t at = 0; at < m->count; at += most) {
        const size_t left = m->count - at;
        const int count = (int)(left < most ? left : most);
        MPI_Request *request = &requests[*request_count];
        HRI_TRY(hri_mpi_check(
            context,
            m->out ? MPI_Isend(m->bytes + at, count, MPI_BYTE, m->peer, m->tag,
                               context->comm, request)
                   : MPI_Irecv(m->bytes + at, count, MPI_BYTE, m->peer, m->tag,
                               context->comm, request),
            m->out ? "MPI_Isend" : "MPI_Irecv"));
        ++*request_count;
    }
    return HR_OK;
}

/* ---- collective functions */

hr_status hri_mpi_reduce(hr_mpi_context *context, MPI_Comm comm,
                         const hri_mpi_reduction *r)
{
    MPI_Request request = MPI_REQUEST_NULL;
    HRI_TRY(hri_mpi_check(context,
                          MPI_Iallreduce(r->mine, r->all, r->count, r->type,
                                         r->op, comm, &request),
                          "MPI_Iallreduce"));
    return wait_for(context, &request);
}

/* The least value of all processes, for each of them. */
static hr_status find_least(hr_mpi_context *context, const int64_t values[3])
{
    hri_mpi_memory *memory = &context->memory;
    memcpy(memory->mine, values, sizeof memory->mine);
    return hri_mpi_reduce(context, context->comm,
                          &(hri_mpi_reduction){memory->mine, memory->least, 3,
                                               MPI_INT64_T, MPI_MIN});
}

hr_status hri_mpi_join(hr_mpi_context *context, int64_t *numbers,
                       uint32_t count, bool largest)
{
    int64_t *mine = context->memory.numbers[0],
            *all = context->memory.numbers[1];
    HRI_TRY(hri_mpi_context_check(context));
    memcpy(mine, numbers, count * sizeof *mine);
    HRI_TRY(
        hri_mpi_reduce(context, context->comm,
                       &(hri_mpi_reduction){mine, all, (int)count, MPI_INT64_T,
                                            largest ? MPI_MAX : MPI_SUM}));
    memcpy(numbers, all, count * sizeof *all);
    return HR_OK;
}

hr_status hri_mpi_merge(hr_mpi_context *context, uint64_t *any, int64_t *least)
{
    hri_mpi_memory *memory = &context->memory;
    const int64_t values[3] = {least[0], least[1], 0};
    HRI_TRY(find_least(context, values));
    memcpy(least, memory->least, 2 * sizeof *least);
    memcpy(memory->any, any, sizeof memory->any);
    HRI_TRY(hri_mpi_reduce(context, context->comm,
                           &(hri_mpi_reduction){memory->any, memory->all_any, 2,
                                                MPI_UINT64_T, MPI_BOR}));
    memcpy(any, memory->all_any, sizeof memory->all_any);
    return HR_OK;
}

static hr_status broadcast_from(hr_mpi_context *context, void *bytes,
                                size_t count, int rank)
{
    MPI_Request request = MPI_REQUEST_NULL;
    HRI_TRY(hri_mpi_check(
        context,
        MPI_Ibcast(bytes, (int)count, MPI_BYTE, rank, context->comm, &request),
        "MPI_Ibcast"));
    return wait_for(context, &request);
}

hr_status hri_mpi_broadcast(hr_mpi_context *context, void *bytes, size_t count)
{
    return broadcast_from(context, bytes, count, 0);
}

/* The process `rank` tells all its status and its sentence. */
static hr_status tell_error(hr_mpi_context *context, hr_status status, int rank)
{
    const char *sentence = context->memory.news.sentence;
    context->memory.news.status = status;
    hri_format(context->memory.news.sentence,
               sizeof context->memory.news.sentence, "%.500s", hr_last_error());
    HRI_TRY(broadcast_from(context, &context->memory.news,
                           sizeof context->memory.news, rank));
    const hr_status told = (hr_status)context->memory.news.status;
    return context->count == 1
               ? hr_set_last_error(told, sentence)
               : hri_fail(told, "process %d: %.480s", rank, sentence);
}

hr_status hri_mpi_agree_on(hr_mpi_context *context, hr_status status,
                           uint64_t hash)
{
    if (context != NULL && context->model) {
        return status;
    }
    HRI_TRY(hri_mpi_context_check(context));
    const int64_t half = (int64_t)(hash >> 1);
    const int64_t mine[] = {status != HR_OK ? context->rank : INT_MAX, half,
                            -half};
    const int64_t *least = context->memory.least;
    HRI_TRY(find_least(context, mine));
    if (least[0] != INT_MAX) {
        return tell_error(context, status, (int)least[0]);
    }
    return least[1] == -least[2]
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID,
                          "mpi: the %d processes passed different arguments",
                          context->count);
}

hr_status hr_mpi_agree(hr_mpi_context *context, hr_status status)
{
    return hri_mpi_agree_on(context, status, 0);
}
