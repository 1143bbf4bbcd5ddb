/* SPDX-License-Identifier: MIT */
/* Functions of MPI that count bytes and call MPI's own, by its profiling
 * interface. They are all those with which Headrace, ScaLAPACK 2.2.1 and COSMA
 * 2.8.4 move data. What a process sends to itself counts nothing.
 *
 * A collective function counts as many bytes as any algorithm must move: each
 * process receives what it does not have, or sends what it does not keep.
 * MPI_Allreduce counts as MPI_Reduce and MPI_Bcast.
 *
 * OpenMPI 4.1.4 counts messages, too (pml_monitoring_enable). On 2026-11-28 it
 * found the same for 4 and 8 processes, but for 2 kB in a call. For that,
 * coll_tuned_reduce_scatter_block_algorithm was 3: the default sends half as
 * much again in COSMA's sums. */
#include "sent.h"

#include <mpi.h>

static uint64_t all_bytes;

uint64_t sent_bytes(void)
{
    return all_bytes;
}

static int rank_in(MPI_Comm comm)
{
    int rank = 0;
    (void)PMPI_Comm_rank(comm, &rank);
    return rank;
}

static int size_of(MPI_Comm comm)
{
    int size = 1;
    (void)PMPI_Comm_size(comm, &size);
    return size;
}

static void add(int64_t count, MPI_Datatype type)
{
    int width = 0;
    (void)PMPI_Type_size(type, &width);
    all_bytes += (uint64_t)count * (uint64_t)width;
}

/* NOLINTBEGIN(readability-function-size): MPI has so many parameters */
/* ---- messages */

static void add_message(int count, MPI_Datatype type, int to, MPI_Comm comm)
{
    if (to != MPI_PROC_NULL && to != rank_in(comm)) {
        add(count, type);
    }
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag,
             MPI_Comm comm)
{
    add_message(count, type, to, comm);
    return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Rsend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm)
{
    add_message(count, type, to, comm);
    return PMPI_Rsend(data, count, type, to, tag, comm);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    add_message(count, type, to, comm);
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void *data, int count, MPI_Datatype type, int to,
                 int tag, void *received, int received_count,
                 MPI_Datatype received_type, int from, int received_tag,
                 MPI_Comm comm, MPI_Status *status)
{
    add_message(count, type, to, comm);
    return PMPI_Sendrecv(data, count, type, to, tag, received, received_count,
                         received_type, from, received_tag, comm, status);
}

/* ---- other processes' memory */

static void add_access(int count, MPI_Datatype type, int other, MPI_Win window)
{
    MPI_Group group;
    int rank = 0;
    (void)PMPI_Win_get_group(window, &group);
    (void)PMPI_Group_rank(group, &rank);
    (void)PMPI_Group_free(&group);
    if (other != MPI_PROC_NULL && other != rank) {
        add(count, type);
    }
}

int MPI_Get(void *data, int count, MPI_Datatype type, int other, MPI_Aint at,
            int other_count, MPI_Datatype other_type, MPI_Win window)
{
    add_access(count, type, other, window);
    return PMPI_Get(data, count, type, other, at, other_count, other_type,
                    window);
}

int MPI_Rget(void *data, int count, MPI_Datatype type, int other, MPI_Aint at,
             int other_count, MPI_Datatype other_type, MPI_Win window,
             MPI_Request *request)
{
    add_access(count, type, other, window);
    return PMPI_Rget(data, count, type, other, at, other_count, other_type,
                     window, request);
}

int MPI_Accumulate(const void *data, int count, MPI_Datatype type, int other,
                   MPI_Aint at, int other_count, MPI_Datatype other_type,
                   MPI_Op op, MPI_Win window)
{
    add_access(count, type, other, window);
    return PMPI_Accumulate(data, count, type, other, at, other_count,
                           other_type, op, window);
}

/* ---- collective functions */

/* All but the root receive as much, or all but the root send it. */
static void add_rooted(int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (rank_in(comm) != root) {
        add(count, type);
    }
}

static void add_reduced_everywhere(int count, MPI_Datatype type, MPI_Comm comm)
{
    add_rooted(count, type, 0, comm);
    add_rooted(count, type, 0, comm);
}

/* The shares of all other processes. */
static void add_others(const int *counts, MPI_Datatype type, MPI_Comm comm)
{
    const int rank = rank_in(comm), size = size_of(comm);
    for (int i = 0; i < size; i++) {
        add(i != rank ? counts[i] : 0, type);
    }
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    add_rooted(count, type, root, comm);
    return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Ibcast(void *data, int count, MPI_Datatype type, int root,
               MPI_Comm comm, MPI_Request *request)
{
    add_rooted(count, type, root, comm);
    return PMPI_Ibcast(data, count, type, root, comm, request);
}

int MPI_Reduce(const void *data, void *sum, int count, MPI_Datatype type,
               MPI_Op op, int root, MPI_Comm comm)
{
    add_rooted(count, type, root, comm);
    return PMPI_Reduce(data, sum, count, type, op, root, comm);
}

int MPI_Allreduce(const void *data, void *sum, int count, MPI_Datatype type,
                  MPI_Op op, MPI_Comm comm)
{
    add_reduced_everywhere(count, type, comm);
    return PMPI_Allreduce(data, sum, count, type, op, comm);
}

int MPI_Iallreduce(const void *data, void *sum, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    add_reduced_everywhere(count, type, comm);
    return PMPI_Iallreduce(data, sum, count, type, op, comm, request);
}

int MPI_Reduce_scatter(const void *data, void *sum, const int counts[],
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    add_others(counts, type, comm);
    return PMPI_Reduce_scatter(data, sum, counts, type, op, comm);
}

int MPI_Reduce_scatter_block(const void *data, void *sum, int count,
                             MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    add((int64_t)count * (size_of(comm) - 1), type);
    return PMPI_Reduce_scatter_block(data, sum, count, type, op, comm);
}

int MPI_Allgather(const void *data, int count, MPI_Datatype type, void *all,
                  int each, MPI_Datatype all_type, MPI_Comm comm)
{
    add((int64_t)each * (size_of(comm) - 1), all_type);
    return PMPI_Allgather(data, count, type, all, each, all_type, comm);
}

int MPI_Allgatherv(const void *data, int count, MPI_Datatype type, void *all,
                   const int counts[], const int places[],
                   MPI_Datatype all_type, MPI_Comm comm)
{
    add_others(counts, all_type, comm);
    return PMPI_Allgatherv(data, count, type, all, counts, places, all_type,
                           comm);
}
/* NOLINTEND(readability-function-size) */
