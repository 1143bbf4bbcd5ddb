/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <string.h>

#include "base/environment.h"
#include "mpi/grid.h"

/* Whether MPI says that it sends from the memory of CUDA devices. It says so
 * with one of two functions, which are in no standard. */
static bool mpi_sends_from_cuda(void)
{
    enum { CUDA = 0 };
    int (*ask)(void) = NULL;
    int (*ask_of)(int kind, int *supports) = NULL;
    int supports = 0;
    void *found = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    if (found != NULL) {
        memcpy(&ask_of, &found, sizeof found);
        return ask_of(CUDA, &supports) == MPI_SUCCESS && supports != 0;
    }
    found = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&ask, &found, sizeof found);
    return ask != NULL && ask() != 0;
}

bool hri_mpi_sends_from_device(const hr_mpi_context *context)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    const char *wanted = hri_environment("HEADRACE_MPI_DEVICE");
    return (wanted == NULL || strcmp(wanted, "0") != 0) &&
           hr_accelerator_count(context->local) == 1 &&
           hr_accelerator_describe(context->local, 0, &info) == HR_OK &&
           strncmp(info.path, "cuda", 4) == 0 && mpi_sends_from_cuda();
}
