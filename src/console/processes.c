/* SPDX-License-Identifier: MIT */
#include "processes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/environment.h"
#include "signals.h"

/* Variables that launchers set: of OpenMPI, of MPICH and its kin, of Slurm. */
static const struct {
    const char *rank, *count;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                 {"PMI_RANK", "PMI_SIZE"},
                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

cli_launch cli_launched(void)
{
    cli_launch found = {0, 1};
    const size_t all = sizeof launchers / sizeof launchers[0];
    for (size_t i = 0; i < all; i++) { /* the innermost one first */
        const char *rank = hri_environment(launchers[i].rank);
        const char *count = hri_environment(launchers[i].count);
        if (rank != NULL && count != NULL) {
            found = (cli_launch){atoi(rank), atoi(count)};
            break;
        }
    }
    return found;
}

static bool take_functions(void *library, cli_processes *p)
{
    const struct {
        const char *name;
        void *place;
    } all[] = {{"hr_mpi_context_create_world", &p->create},
               {"hr_mpi_context_create_model", &p->create_model},
               {"hr_mpi_context_describe", &p->describe},
               {"hr_mpi_context_destroy", &p->destroy},
               {"hr_mpi_context_local", &p->local},
               {"hr_mpi_rank", &p->rank},
               {"hr_mpi_count", &p->count},
               {"hr_mpi_agree", &p->agree},
               {"hr_mpi_matrix_blocks", &p->blocks},
               {"hr_mpi_matrix_transpose", &p->transpose},
               {"hr_mpi_matrix_conjugate", &p->conjugate},
               {"hr_mpi_gemm", &p->gemm},
               {"hr_mpi_gemm_plan", &p->plan},
               {"hr_mpi_file_create", &p->file_create},
               {"hr_mpi_file_matrix", &p->file_matrix},
               {"hr_mpi_file_commit", &p->file_commit},
               {"hr_mpi_file_temporary", &p->file_temporary},
               {"hr_mpi_file_close", &p->file_close}};
    bool found = true;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void *function = dlsym(library, all[i].name);
        memcpy(all[i].place, &function, sizeof function);
        found = found && function != NULL;
    }
    return found;
}

/* Whether OpenMPI started this process, or Slurm for it. */
static bool is_openmpi(void)
{
    return hri_environment("OMPI_COMM_WORLD_SIZE") != NULL ||
           (hri_environment("PMIX_RANK") != NULL &&
            hri_environment("PMI_SIZE") == NULL);
}

/* OpenMPI's parts look for its symbols among all. */
int cli_processes_open(cli_processes *p)
{
    const bool openmpi = is_openmpi();
    const char *const kinds[] = {openmpi ? "_openmpi" : "_mpich", "",
                                 openmpi ? "" : "_openmpi"};
    char name[64], why[256] = "";
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "libheadrace_mpi%s.so.%d.%d", kinds[i],
                 HR_VERSION_MAJOR, HR_VERSION_MINOR);
        void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
        if (library != NULL) {
            return take_functions(library, p)
                       ? CLI_OK
                       : cli_fail("%s is of another version", name);
        }
        if (i == 0) {
            snprintf(why, sizeof why, "%s", dlerror());
        }
    }
    return cli_fail("there is no library for several processes: %s", why);
}

int cli_processes_create(const cli_processes *p, const cli_machine *machine,
                         hr_mpi_context **context)
{
    const hr_context_options options = cli_context_options(machine);
    const hr_status status = p->create(&options, context);
    cli_signals_install();
    if (status != HR_OK) {
        cli_fail_silently(cli_launched().rank > 0);
        return cli_fail("%s", hr_last_error());
    }
    const int found = p->count(*context), told = cli_launched().count;
    if (found == told) {
        return CLI_OK;
    }
    cli_fail_silently(cli_launched().rank > 0);
    return cli_fail(
        "%d processes were started, but MPI knows %d: it is another "
        "MPI than that of libheadrace_mpi, or srun needs "
        "--mpi=pmix or --mpi=pmi2",
        told, found);
}
