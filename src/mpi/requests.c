/* SPDX-License-Identifier: MIT */
/* Waiting for messages, of which long ones come in pieces. */
#include <sched.h>
#include <time.h>

#include "mpi/processes.h"

const size_t hri_mpi_piece = 1 << 20;

/* So many looks have found nothing since then. After 2 ms a process sleeps
 * between two looks: each piece of a message takes less, unless it comes
 * slowly. */
static void wait_a_moment(unsigned looks, double since)
{
    enum { EAGER = 200 };
    const double awake = 2e-3; /* seconds */
    const struct timespec moment = {.tv_nsec = 100000};
    if (looks < EAGER) {
        return;
    }
    if (MPI_Wtime() - since < awake) {
        (void)sched_yield();
    } else {
        (void)nanosleep(&moment, NULL);
    }
}

hr_status hri_mpi_wait(hr_mpi_context *context, int count,
                       MPI_Request *requests)
{
    hr_status status = HR_OK;
    for (int i = 0; i < count && status == HR_OK; i++) {
        const double since = MPI_Wtime();
        unsigned looks = 0;
        for (int done = 0; status == HR_OK && !done;) {
            MPI_Status of; /* all others go on meanwhile */
            status = hri_mpi_check(context, MPI_Test(&requests[i], &done, &of),
                                   "MPI_Test");
            if (status == HR_OK && !done) {
                status = hri_mpi_listen(context);
                wait_a_moment(looks++, since);
            }
        }
    }
    return status;
}
