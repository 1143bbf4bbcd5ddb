/* SPDX-License-Identifier: MIT */
/* headrace devices: what was found, what was not, and why. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "commands.h"
#include "console/context.h"
#include "console/json.h"
#include "console/output.h"
#include "console/processes.h"
#include "console/text.h"
#include "console/values.h"
#include "picture.h"

typedef struct options {
    cli_machine machine;
    const char *svg;
    bool measure, json;
} options;

static const cli_option table[] = {
    {"--accelerators", "LIST", &cli_list,
     offsetof(options, machine.accelerators),
     "choose these, such as host,opencl:0:0 or 4xhost\n"
     "(HEADRACE_ACCELERATORS, else all but emulated ones)"},
    {"--memory-limit", "SIZE", &cli_bytes,
     offsetof(options, machine.memory_limit),
     "limit of each accelerator, such as 512MiB; plain host\n"
     "works in place and needs none\n"
     "(HEADRACE_MEMORY_LIMIT, else most of what is free)"},
    {"--threads", "N", &cli_threads, offsetof(options, machine.threads),
     CLI_THREADS_HELP},
    {"--measure", NULL, &cli_flag, offsetof(options, measure),
     "measure the links and the arithmetic of each, and\n"
     "show how good predictions have been"},
    {"--svg", "FILE.svg", &cli_file, offsetof(options, svg),
     "also measure, and draw the machine into a file"},
    {"--json", NULL, &cli_flag, offsetof(options, json),
     "print one JSON object instead of tables"},
    {NULL, NULL, NULL, 0, NULL},
};

/* Describe entry `index` of the machine, or accelerator `index` of the
 * context. */
static hr_accelerator_info describe(const hr_context *context, uint32_t index,
                                    bool machine)
{
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    hr_status status = machine ? hr_machine_describe(context, index, &info)
                               : hr_accelerator_describe(context, index, &info);
    if (status != HR_OK) {
        snprintf(info.reason, sizeof info.reason, "%s", hr_last_error());
    }
    return info;
}

static void print_machine(const hr_context *context, cli_table *t)
{
    cli_table_head(t, "path|name|arithmetic|compiler|memory|chosen");
    for (uint32_t i = 0; i < hr_machine_count(context); i++) {
        hr_accelerator_info info = describe(context, i, true);
        bool device = info.memory_bytes > 0;
        cli_table_add(t, "%s", info.path);
        cli_table_add(t, "%s", info.name);
        cli_table_add(t, "%s", info.arithmetic);
        cli_table_add(t, "%s", info.compiler);
        cli_table_add(t, "%s",
                      device ? hri_bytes_text(info.memory_bytes).text : "");
        cli_table_add(t, "%s%s", info.chosen ? "yes" : "no: ",
                      info.chosen ? "" : info.reason);
    }
}

static void add_rates(cli_table *t, const hr_accelerator_rates *rates)
{
    bool copies = rates->up > 0.0;
    cli_table_add(t, "%s", copies ? hri_link_text(rates->up).text : "none");
    cli_table_add(t, "%s", copies ? hri_link_text(rates->down).text : "none");
    cli_table_add(t, "%s", hri_rate_text(rates->f32).text);
    cli_table_add(t, "%s", hri_rate_text(rates->f64).text);
}

/* Print the accelerators of the context. Each virtual one has a line. */
static void print_chosen(const hr_context *context, cli_table *t,
                         const hr_accelerator_rates *rates)
{
    cli_table_head(t, rates != NULL ? "accelerator|memory limit|up|down|f32|f64"
                                    : "accelerator|memory limit");
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        hr_accelerator_info info = describe(context, i, false);
        cli_table_add(t, "%s", info.path);
        cli_table_add(t, "%s",
                      info.in_place ? "in place"
                                    : hri_bytes_text(info.memory_limit).text);
        if (rates != NULL) {
            add_rates(t, &rates[i]);
        }
    }
}

/* How good an engine's predictions have been. */
static const char *const engines[] = {[HR_ENGINE_GEMM] = "products",
                                      [HR_ENGINE_FILTER] = "filters",
                                      [HR_ENGINE_SPLIT] = "split launches",
                                      [HR_ENGINE_GRID] = "grids"};

enum { ENGINES = sizeof engines / sizeof engines[0] };

static hr_predictions predictions_of(hr_context *context, int engine)
{
    hr_predictions p = HR_PREDICTIONS_INIT;
    if (hr_predictions_describe(context, (hr_engine)engine, &p) != HR_OK) {
        p.runs = 0; /* there is nothing to show */
    }
    return p;
}

static int print_predictions(hr_context *context)
{
    cli_table t = {.align = "lrrrrrr"};
    cli_table_head(&t, "predictions|runs|within 1.1|within 1.3|within 2|"
                       "last predicted|took");
    for (int i = 0; i < ENGINES; i++) {
        const hr_predictions p = predictions_of(context, i);
        const uint64_t counts[] = {p.runs, p.within_1_1, p.within_1_3,
                                   p.within_2};
        cli_table_add(&t, "%s", engines[i]);
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            cli_table_add(&t, "%" PRIu64, counts[k]);
        }
        cli_table_add(&t, "%s",
                      p.runs > 0 ? hri_seconds_text(p.predicted).text : "");
        cli_table_add(&t, "%s",
                      p.runs > 0 ? hri_seconds_text(p.seen).text : "");
    }
    putchar('\n');
    return cli_table_print(&t);
}

static int print_tables(const hr_context *context,
                        const hr_accelerator_rates *rates)
{
    cli_table machine = {.align = "llllrl"};
    cli_table chosen = {.align = rates != NULL ? "lrrrrr" : "lr"};
    print_machine(context, &machine);
    int status = cli_table_print(&machine);
    putchar('\n');
    if (hr_accelerator_count(context) == 0) {
        printf("no accelerator can be used\n");
        return status;
    }
    print_chosen(context, &chosen, rates);
    int also = cli_table_print(&chosen);
    return status != CLI_OK ? status : also;
}

static void write_info(cli_json *json, const hr_accelerator_info *info)
{
    cli_json_text(json, "path", info->path);
    cli_json_text(json, "name", info->name);
    cli_json_text(json, "arithmetic", info->arithmetic);
    cli_json_text(json, "compiler", info->compiler);
    cli_json_count(json, "memory_bytes", info->memory_bytes);
    cli_json_count(json, "memory_limit", info->memory_limit);
    cli_json_count(json, "compute_units", info->compute_units);
    cli_json_bool(json, "emulated", info->emulated);
    cli_json_bool(json, "in_place", info->in_place);
    cli_json_bool(json, "chosen", info->chosen);
    cli_json_text(json, "reason", info->reason);
}

static void write_rates(cli_json *json, const hr_accelerator_rates *rates)
{
    cli_json_begin(json, "rates", '{');
    cli_json_number(json, "up_bytes_per_second", rates->up);
    cli_json_number(json, "down_bytes_per_second", rates->down);
    cli_json_number(json, "f32_flops_per_second", rates->f32);
    cli_json_number(json, "f64_flops_per_second", rates->f64);
    cli_json_end(json, '}');
}

static void write_predictions(cli_json *json, hr_context *context)
{
    cli_json_begin(json, "predictions", '[');
    for (int i = 0; i < ENGINES; i++) {
        const hr_predictions p = predictions_of(context, i);
        cli_json_begin(json, NULL, '{');
        cli_json_text(json, "engine", engines[i]);
        cli_json_count(json, "runs", p.runs);
        cli_json_count(json, "within_1_1", p.within_1_1);
        cli_json_count(json, "within_1_3", p.within_1_3);
        cli_json_count(json, "within_2", p.within_2);
        cli_json_number(json, "predicted_seconds", p.predicted);
        cli_json_number(json, "seconds", p.seen);
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

/* Write the entries of the machine, or the accelerators of the context with
 * their rates. */
static void write_infos(cli_json *json, const char *key,
                        const hr_context *context, bool machine,
                        const hr_accelerator_rates *rates)
{
    uint32_t count =
        machine ? hr_machine_count(context) : hr_accelerator_count(context);
    cli_json_begin(json, key, '[');
    for (uint32_t i = 0; i < count; i++) {
        hr_accelerator_info info = describe(context, i, machine);
        cli_json_begin(json, NULL, '{');
        write_info(json, &info);
        if (rates != NULL) {
            write_rates(json, &rates[i]);
        }
        cli_json_end(json, '}');
    }
    cli_json_end(json, ']');
}

static void write_all(hr_context *context, const hr_accelerator_rates *rates,
                      const hr_mpi_cluster *cluster)
{
    cli_json json = {.out = stdout};
    cli_json_begin(&json, NULL, '{');
    cli_json_text(&json, "version", hr_version());
    write_infos(&json, "machine", context, true, NULL);
    write_infos(&json, "accelerators", context, false, rates);
    if (rates != NULL) {
        write_predictions(&json, context);
    }
    if (cluster != NULL) {
        cli_cluster_write(&json, cluster);
    }
    cli_json_line(&json);
}

/* Whether both belong to one device and copy alike. Then they are equally
 * fast. */
static bool same(const hr_accelerator_info *a, const hr_accelerator_info *b)
{
    size_t length = strcspn(a->path, "#"); /* of the device's own path */
    return length == strcspn(b->path, "#") &&
           memcmp(a->path, b->path, length) == 0 && a->in_place == b->in_place;
}

/* The first accelerator that is like this one: an earlier one, or itself. */
static uint32_t find_first(const hr_context *context, uint32_t index)
{
    hr_accelerator_info info = describe(context, index, false);
    for (uint32_t i = 0; i < index; i++) {
        hr_accelerator_info earlier = describe(context, i, false);
        if (same(&earlier, &info)) {
            return i;
        }
    }
    return index;
}

static int measure(hr_context *context, hr_accelerator_rates *rates)
{
    for (uint32_t i = 0; i < hr_accelerator_count(context); i++) {
        uint32_t first = find_first(context, i);
        rates[i] = (hr_accelerator_rates)HR_ACCELERATOR_RATES_INIT;
        if (first < i) {
            rates[i] = rates[first];
        } else if (hr_accelerator_measure(context, i, &rates[i]) != HR_OK) {
            return cli_fail("%s", hr_last_error());
        }
    }
    return CLI_OK;
}

static int draw(const hr_context *context, const hr_accelerator_rates *rates,
                const char *path)
{
    const uint32_t count = hr_accelerator_count(context);
    hr_accelerator_info *infos = calloc(count, sizeof *infos);
    uint64_t host_bytes = 0;
    if (infos == NULL) {
        return cli_fail("out of memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        infos[i] = describe(context, i, false);
    }
    for (uint32_t i = 0; i < hr_machine_count(context); i++) {
        const hr_accelerator_info info = describe(context, i, true);
        if (strcmp(info.path, "host") == 0) {
            host_bytes = info.memory_bytes;
        }
    }
    const int status = cli_picture_write(path, infos, rates, count, host_bytes);
    free(infos);
    return status;
}

static void print_cluster(const hr_mpi_cluster *c)
{
    printf("\nprocesses   %d, which share the accelerators of a machine\n",
           c->count);
    printf("each        %s of f64, %s for matrices on their way\n",
           hri_rate_text(c->flops_per_second).text,
           hri_bytes_text(c->memory_bytes).text);
    if (c->c_bytes_per_second > 0.0) {
        printf("C           to accelerators and back at %s\n",
               hri_link_text(c->c_bytes_per_second).text);
    }
    printf("messages    %s, then %s\n",
           hri_seconds_text(c->latency_seconds).text,
           hri_link_text(c->bytes_per_second).text);
}

/* cluster: all processes, of which this is the first; NULL: it is alone. */
static int show_with(hr_context *context, const options *o,
                     const hr_mpi_cluster *cluster, hr_accelerator_rates *rates)
{
    if (rates != NULL) {
        HRI_TRY(measure(context, rates));
    }
    if (o->svg != NULL) {
        HRI_TRY(draw(context, rates, o->svg));
    }
    if (o->json) {
        write_all(context, rates, cluster);
        return CLI_OK;
    }
    HRI_TRY(print_tables(context, rates));
    if (rates != NULL) {
        HRI_TRY(print_predictions(context));
    }
    if (cluster != NULL) {
        print_cluster(cluster);
    }
    return CLI_OK;
}

static int show(hr_context *context, const options *o,
                const hr_mpi_cluster *cluster)
{
    hr_accelerator_rates *rates = NULL;
    const uint32_t count = hr_accelerator_count(context);
    if (o->svg != NULL && count == 0) {
        return cli_fail("there is no accelerator to draw");
    }
    if ((o->measure || o->svg != NULL) && count > 0) {
        rates = calloc(count, sizeof *rates);
        if (rates == NULL) {
            return cli_fail("out of memory");
        }
    }
    const int status = show_with(context, o, cluster, rates);
    free(rates);
    return status;
}

static int show_together(const cli_processes *p, const options *o,
                         hr_mpi_context **context)
{
    hr_mpi_cluster cluster = HR_MPI_CLUSTER_INIT;
    HRI_TRY(cli_processes_create(p, &o->machine, context));
    if (p->rank(*context) > 0) {
        return CLI_OK;
    }
    HRI_TRY(cli_called(p->describe(*context, &cluster)));
    return show(p->local(*context), o, &cluster);
}

/* One of several processes: the first one shows its accelerators, and what was
 * measured of all. */
static int run_together(const cli_processes *p, const options *o)
{
    hr_mpi_context *context = NULL;
    const int status = show_together(p, o, &context);
    if (context != NULL) { /* others wait quietly while the first measures */
        (void)p->agree(context, HR_OK);
        p->destroy(context);
    }
    return status;
}

static int run(int argc, char **argv)
{
    options o = {.json = false};
    hr_context *context = NULL;
    HRI_TRY(cli_parse(&cli_devices, argc, argv, &o, NULL));
    if (o.svg != NULL) {
        HRI_TRY(cli_output_check(&cli_devices, "--svg", o.svg, NULL, 0));
    }
    if (cli_launched().count > 1) {
        cli_processes p;
        if (cli_processes_open(&p) == CLI_OK) {
            return run_together(&p, &o);
        }
        if (cli_launched().rank > 0) { /* the first lists what is there */
            return CLI_OK;
        }
    }
    int status = cli_context(&cli_devices, &o.machine, true, &context);
    if (status == CLI_OK) {
        status = show(context, &o, NULL);
    }
    return cli_context_end(&o.machine, context, status);
}

const cli_command cli_devices = {
    .name = "devices",
    .usage = "[options]",
    .summary = "list the accelerators, and say why others are missing",
    .details =
        "Lists every accelerator found, and says whether it is chosen. Names\n"
        "every kind that is not there, with the reason. Then lists the\n"
        "accelerators chosen, with the memory that Headrace may use of each.\n"
        "Started by mpirun, process 0 does so, and shows how fast all "
        "processes\n"
        "and their messages are.",
    .examples = "  headrace devices\n"
                "  headrace devices --measure\n"
                "  headrace devices --svg machine.svg\n"
                "  headrace devices --accelerators 4xhost,opencl --json\n",
    .options = table,
    .operands = 0,
    .operand_names = "no files",
    .run = run,
};
