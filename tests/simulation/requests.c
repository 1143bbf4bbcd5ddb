/* SPDX-License-Identifier: MIT */
/* In place of functions of MPI: a process that waits sleeps, since polling
 * would be simulated look by look. */
#include <simgrid/actor.h>
#include <stdlib.h>

#include "simulate.h"

uint64_t simulated_bytes;

void *simulated_memory(void)
{
    static void *memory; /* SMPI copies nothing between shared blocks */
    if (memory == NULL) {
        memory = SMPI_SHARED_MALLOC(1 << 20);
    }
    return memory;
}

void simulated_pass(double seconds)
{
    if (seconds > 0.0) {
        sg_actor_sleep_for(seconds);
    }
}

/* ---- collective functions that do not wait. SMPI sends P^2 messages for one.
 * Here it is the one that waits, of which SMPI sends P log P, and it begins
 * when the process waits for it. All processes do so in the same order. */

typedef struct later {
    const void *mine;
    void *all;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
    bool used;
} later;

enum { MAX_LATER = 1 << 15 };
static later list[MAX_LATER];

int MPI_Iallreduce(const void *mine, void *all, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    static size_t next;
    for (size_t i = 0; i < MAX_LATER; i++) {
        later *l = &list[next++ % MAX_LATER];
        if (!l->used) {
            *l = (later){mine, all, count, type, op, comm, true};
            *request = (MPI_Request)l;
            return MPI_SUCCESS;
        }
    }
    return MPI_ERR_NO_MEM;
}

static later *find_later(MPI_Request request)
{
    later *l = (later *)request;
    return l >= list && l < list + MAX_LATER ? l : NULL;
}

static int reduce_now(later *l)
{
    l->used = false;
    return MPI_Allreduce(l->mine, l->all, l->count, l->type, l->op, l->comm);
}

/* Not done until it is. */
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    later *l = find_later(*request);
    *done = 1;
    return l != NULL ? reduce_now(l) : PMPI_Wait(request, status);
}

/* ---- messages: nothing is in them */

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    (void)bytes;
    simulated_bytes += (uint64_t)count;
    return PMPI_Isend(simulated_memory(), count, type, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    (void)bytes;
    return PMPI_Irecv(simulated_memory(), count, type, from, tag, comm,
                      request);
}
