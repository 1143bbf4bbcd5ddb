/* SPDX-License-Identifier: MIT */
/* Waiting for messages, of which long ones come in pieces. */
#include <sched.h>

#include "base/clock.h"
#include "mpi/processes.h"

const size_t hri_mpi_piece = 1 << 20;

/* So many looks have found nothing since then. After 2 ms a process sleeps
 * between two looks: each piece of a message takes less, unless it comes
 * slowly. */
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

hr_status hri_mpi_wait(hr_mpi_context *context, int count,
                       MPI_Request *requests)
{
    hr_status status = HR_OK;
    for (int i = 0; i < count && status == HR_OK; i++) {
        const uint64_t since_ns = hri_clock_ns();
        unsigned looks = 0;
        for (int done = 0; status == HR_OK && !done;) {
            MPI_Status of; /* all others go on meanwhile */
            status = hri_mpi_check(context, MPI_Test(&requests[i], &done, &of),
                                   "MPI_Test");
            if (status == HR_OK && !done) {
                status = hri_mpi_listen(context);
                wait_a_moment(looks++, since_ns);
            }
        }
    }
    return status;
}
