/* SPDX-License-Identifier: MIT */
/* The processes of a context: how they agree, and how one that fails is heard.
 *
 * Nothing here waits inside a function of MPI: a process that waits looks
 * whether another one has lost MPI, so that it does not wait for ever. */
#ifndef HRI_MPI_PROCESSES_H
#define HRI_MPI_PROCESSES_H

#include <headrace/mpi.h>

#include "base/status.h" /* hri_fail and errors are in processes.c here */
#include "base/threads.h"

enum {
    HRI_MPI_NUMBERS = 80, /* that are joined at once, at most */
    HRI_MPI_RATES = 6,    /* that hr_mpi_context_create measures */
    HRI_MPI_PANELS = 8    /* that are in memory at once, at most */
};

/* A new file, and where its elements are. */
typedef struct hri_mpi_file_place {
    int64_t offset, bytes; /* of the elements; all of the file */
    char path[4096];
} hri_mpi_file_place;

/* What collective functions read and write. MPI may still do so when the
 * context is lost. A lost context therefore stays in memory, with its
 * communicators. */
typedef struct hri_mpi_memory {
    int64_t mine[3], least[3];    /* hri_mpi_agree */
    int64_t threads, all_threads; /* hr_mpi_context_create */
    uint64_t token;               /* what others read here: hri_direct_init */
    int64_t direct_bytes, all_direct_bytes; /* the fewest that are read */
    double rates[HRI_MPI_RATES], all_rates[HRI_MPI_RATES];
    int stop[HRI_MPI_PANELS], stops[HRI_MPI_PANELS]; /* of a product */
    struct {
        int64_t status;
        char sentence[HRI_MESSAGE_BYTES];
    } news;                              /* of the process that failed */
    uint64_t any[2], all_any[2];         /* hri_mpi_merge */
    int64_t numbers[2][HRI_MPI_NUMBERS]; /* hri_mpi_join: mine, all */
    hri_mpi_file_place place;
} hri_mpi_memory;

/* Memory that the next product uses again: to touch new pages takes longer than
 * to multiply. */
typedef struct hri_mpi_kept {
    char *memory;
    size_t bytes;
} hri_mpi_kept;

typedef struct hri_mpi_address hri_mpi_address;

struct hr_mpi_context {
    MPI_Comm comm;    /* for messages of products, grids and files */
    MPI_Comm control; /* for the news that a process has lost MPI */
    int rank, count;
    hr_context *local;
    int sharers; /* processes that use an accelerator of local, and divide its
                    memory limit */
    hri_threads threads; /* that multiply and read for it */
    hri_mpi_memory memory;
    int64_t *process_of; /* [count] the numbers in the system of this machine's
                            processes; 0: elsewhere */
    hri_mpi_address *addresses; /* of this machine's processes */
    hri_mpi_kept panels[HRI_MPI_PANELS], messages[HRI_MPI_PANELS];
    bool model;       /* its processes are not there: it has no communicator */
    bool lost;        /* a function of MPI has failed: nothing works any more */
    bool keeps_local; /* it is lost, and MPI may still write to local's
                         memory, which therefore stays */
    bool initialized; /* MPI, so it finalizes it */
    /* the same in every process */
    uint64_t memory_bytes; /* for panels: of the process that has least */
    double flop_seconds;   /* of one multiplication and addition of doubles, in
                              the slowest process */
    double c_seconds;      /* that each double of C takes besides, to go to
                              accelerators and back, in the slowest process */
    uint64_t accelerator_bytes;           /* of the process that has least */
    double latency_seconds, byte_seconds; /* of a message, in the slowest pair
                                             that was measured */
};

/* HR_OK for MPI_SUCCESS, else HR_ERROR_BACKEND: the context is lost, and the
 * other processes will hear it. */
hr_status hri_mpi_check(hr_mpi_context *context, int code,
                        const char *function);

/* Whether another process has lost MPI. Then so has this one. */
hr_status hri_mpi_listen(hr_mpi_context *context);

/* Wait for all requests. */
hr_status hri_mpi_wait(hr_mpi_context *context, int count,
                       MPI_Request *requests);

/* `count` values of each process, and what they make together. Both lie in
 * context->memory, to which MPI may write when the context is lost. */
typedef struct hri_mpi_reduction {
    const void *mine;
    void *all;
    int count;
    MPI_Datatype type;
    MPI_Op op;
} hri_mpi_reduction;

/* Reduce over the communicator's processes, and wait. */
hr_status hri_mpi_reduce(hr_mpi_context *context, MPI_Comm comm,
                         const hri_mpi_reduction *reduction);

/* A message: bytes for a process, or from it. */
typedef struct hri_mpi_bytes {
    char *bytes;
    size_t count;
    int peer, tag;
    bool out;
} hri_mpi_bytes;

/* A message goes in fragments of this size, each with a request of its own. So
 * one that is on its way shows it, and counts of MPI are ints. The simulation
 * of processes has another size. */
#ifndef HRI_MPI_FRAGMENT_BYTES
#define HRI_MPI_FRAGMENT_BYTES ((size_t)1 << 20)
#endif

/* The fragments of a message of so many bytes, at most. */
int hri_mpi_fragments(size_t count);

/* Send or receive it: adds its requests to the list. */
hr_status hri_mpi_post(hr_mpi_context *context, const hri_mpi_bytes *message,
                       MPI_Request *requests, int *request_count);

/* As hr_mpi_agree, and HR_ERROR_INVALID where the hash of what all should pass
 * differs. */
hr_status hri_mpi_agree_on(hr_mpi_context *context, hr_status status,
                           uint64_t hash);

/* any[0] and any[1] get all bits that any process has set, least[0] and
 * least[1] the least of all. */
hr_status hri_mpi_merge(hr_mpi_context *context, uint64_t *any, int64_t *least);

/* Numbers, HRI_MPI_NUMBERS at most, become their sums or their largest. */
hr_status hri_mpi_join(hr_mpi_context *context, int64_t *numbers,
                       uint32_t count, bool largest);

/* All get what process 0 has in `bytes`, which lie in context->memory. */
hr_status hri_mpi_broadcast(hr_mpi_context *context, void *bytes, size_t count);

/* The status of a call on `local`. If a memory limit that processes share
 * is too small, the sentence says so. */
hr_status hri_mpi_limited(const hr_mpi_context *context, hr_status status);

/* HR_ERROR_LOST if the context is lost; HR_ERROR_INVALID if it is NULL or a
 * model. */
hr_status hri_mpi_context_check(const hr_mpi_context *context);

#endif
