/* SPDX-License-Identifier: MIT */
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "console/args.h"
#include "console/whole.h"

/* The members that are read again. Those from MEMORY on must be there. */
enum { C_RATE, C_MEMORY, MEMORY, FLOPS, LATENCY, RATE, MEMBERS };
static const char *const names[MEMBERS] = {
    "c_bytes_per_second",   "accelerator_bytes", "memory_bytes",
    "f64_flops_per_second", "message_seconds",   "message_bytes_per_second"};

void cli_cluster_write(cli_json *json, const hr_mpi_cluster *c)
{
    cli_json_begin(json, "cluster", '{');
    cli_json_count(json, "processes", (uint64_t)c->count);
    cli_json_count(json, names[MEMORY], c->memory_bytes);
    cli_json_number(json, names[C_RATE], c->c_bytes_per_second);
    cli_json_count(json, names[C_MEMORY], c->accelerator_bytes);
    cli_json_number(json, names[FLOPS], c->flops_per_second);
    cli_json_number(json, names[LATENCY], c->latency_seconds);
    cli_json_number(json, names[RATE], c->bytes_per_second);
    cli_json_end(json, '}');
}

static void read_members(hri_json *r, double values[MEMBERS], bool *there)
{
    char key[64];
    hri_json_begin(r, '{');
    while (hri_json_member(r, key, sizeof key, NULL)) {
        int i = 0;
        while (i < MEMBERS && strcmp(key, names[i]) != 0) {
            i++;
        }
        if (i == MEMBERS) {
            hri_json_any(r);
        } else {
            there[i] = hri_json_number(r, &values[i]);
        }
    }
}

static int read_text(const char *path, const char *text, size_t bytes,
                     hr_mpi_cluster *c)
{
    hri_json r = {.at = text, .end = text + bytes};
    double values[MEMBERS] = {0};
    bool there[MEMBERS] = {false}, found = false;
    char key[64];
    hri_json_begin(&r, '{');
    while (hri_json_member(&r, key, sizeof key, NULL)) {
        if (strcmp(key, "cluster") == 0) {
            found = true;
            read_members(&r, values, there);
        } else {
            hri_json_any(&r);
        }
    }
    if (!hri_json_end(&r)) {
        return cli_fail("%s is no JSON: %s is missing at byte %zu", path,
                        r.wanted != NULL ? r.wanted : "its end",
                        (size_t)(r.at - text));
    }
    if (!found) {
        return cli_fail("%s describes no processes: mpirun -n 2 headrace "
                        "devices --json does",
                        path);
    }
    for (int i = MEMORY; i < MEMBERS; i++) {
        if (!there[i]) {
            return cli_fail("%s: \"cluster\" has no \"%s\"", path, names[i]);
        }
    }
    for (int i = C_MEMORY; i <= MEMORY; i++) {
        const double least = i == MEMORY ? 1.0 : 0.0;
        if (!(values[i] >= least && values[i] < (double)INT64_MAX)) {
            return cli_fail("%s: \"%s\" is %g", path, names[i], values[i]);
        }
    }
    c->memory_bytes = (uint64_t)values[MEMORY];
    c->accelerator_bytes = (uint64_t)values[C_MEMORY];
    c->c_bytes_per_second = values[C_RATE];
    c->flops_per_second = values[FLOPS];
    c->latency_seconds = values[LATENCY];
    c->bytes_per_second = values[RATE];
    return CLI_OK;
}

int cli_cluster_read(const char *path, hr_mpi_cluster *cluster)
{
    enum { MAX_BYTES = 1 << 20 };
    char *text = NULL;
    size_t bytes = 0;
    int status = cli_whole_read(path, MAX_BYTES, &text, &bytes);
    if (status == CLI_OK) {
        status = read_text(path, text, bytes, cluster);
    }
    free(text);
    return status;
}
