/* SPDX-License-Identifier: MIT */
/* What was measured of the processes of a context, and contexts of processes
 * that are not there. */
#include <math.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/structs.h"
#include "mpi/processes.h"

enum { FLOPS = 2 /* a multiplication and an addition */ };

static const hri_struct cluster_struct =
    HRI_STRUCT(hr_mpi_cluster, "cluster", "HR_MPI_CLUSTER_INIT", count);

hr_status hr_mpi_context_describe(const hr_mpi_context *context,
                                  hr_mpi_cluster *cluster)
{
    if (context == NULL || cluster == NULL) {
        return hri_fail(HR_ERROR_INVALID, "mpi: the %s is NULL",
                        context == NULL ? "context" : "cluster");
    }
    const hr_status status = hri_struct_check(&cluster_struct, cluster);
    if (status == HR_OK) {
        const hr_mpi_cluster known = {
            .count = context->count,
            .memory_bytes = context->memory_bytes,
            .accelerator_bytes =
                context->c_seconds > 0.0 ? context->accelerator_bytes : 0,
            .c_bytes_per_second =
                context->c_seconds > 0.0
                    ? (double)sizeof(double) / context->c_seconds
                    : 0.0,
            .flops_per_second = FLOPS / context->flop_seconds,
            .latency_seconds = context->latency_seconds,
            .bytes_per_second = context->byte_seconds > 0.0
                                    ? 1.0 / context->byte_seconds
                                    : 0.0};
        hri_struct_write(&cluster_struct, &known, cluster);
    }
    return status;
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
    const double c_rate = c->c_bytes_per_second;
    const bool latency =
        !(c->latency_seconds >= 0.0 && isfinite(c->latency_seconds));
    return !latency &&
                   (c_rate == 0.0 || (c_rate > 0.0 && isfinite(1.0 / c_rate)))
               ? HR_OK
               : hri_fail(HR_ERROR_INVALID, "mpi: a cluster's %s is %g",
                          latency ? "latency_seconds" : "c_bytes_per_second",
                          latency ? c->latency_seconds : c_rate);
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
    hr_status status = hri_struct_read(&cluster_struct, cluster, &c);
    if (status == HR_OK) {
        status = check_cluster(&c);
    }
    if (status != HR_OK) {
        return status;
    }
    hr_mpi_context *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "mpi: no memory for a context");
    }
    hri_threads_init(&made->threads);
    made->comm = made->control = MPI_COMM_NULL;
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
    status = hr_context_create(&options, &made->local);
    if (status != HR_OK) {
        hr_mpi_context_destroy(made);
        return status;
    }
    *context = made;
    return HR_OK;
}
