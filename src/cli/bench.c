/* SPDX-License-Identifier: MIT */
/* headrace bench: how fast, how fast beside others, and how fast it could be.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench_grid.h"
#include "commands.h"
#include "context.h"
#include "filter_values.h"

typedef struct options {
    cli_problems sizes, shapes;
    cli_numbers numbers;
    cli_memories memories;
    cli_peers_wish peers;
    const char *accelerators;
    uint64_t memory_limit;
    cli_reach reach;
    cli_grid_wish grid;
    int64_t repeat;
    bool from_files, json;
} options;

static const cli_option table[] = {
    {"--size", "LIST", &cli_sizes, offsetof(options, sizes),
     "square matrices of these sizes (6144; kernels: 1024;\n"
     "filter: 2000); grid: of each dimension (2048, heat\n"
     "256; where all accelerators are GPUs 16384, heat\n"
     "1024)"},
    {"--shape", "LIST", &cli_shapes, offsetof(options, shapes),
     "or MxKxN: an MxK matrix times a KxN one"},
    {"--types", "LIST", &cli_number_list, offsetof(options, numbers),
     "such as f32,c64 (f32,f64); f16 and bf16 into f32;\n"
     "tf32: f32 rounded to tf32 first"},
    {"--memory", "LIST", &cli_memory_list, offsetof(options, memories),
     "where matrices lie: ordinary, pinned (page-locked)\n"
     "or both (ordinary)"},
    {"--accelerators", "LIST[;LIST]", &cli_list,
     offsetof(options, accelerators),
     "each LIST is measured by itself; LIST@SIZE limits\n"
     "the memory of its accelerators\n"
     "(HEADRACE_ACCELERATORS, else host;4xhost@128MiB)"},
    {"--memory-limit", "SIZE", &cli_bytes, offsetof(options, memory_limit),
     "for each accelerator of lists without @SIZE"},
    {"--peers", "LIST", &cli_peers_list, offsetof(options, peers),
     "cblas, openblas (both where a list is of the host\n"
     "alone), cublasxt (for lists of GPUs of CUDA), none"},
    {"--window", "S", &cli_window, offsetof(options, reach),
     "filter: how far windows reach (60)"},
    {"--workload", "LIST", &cli_workload_list,
     offsetof(options, grid.workloads),
     "grid: of jacobi, jacobi2, jacobi4, jacobi8 (so many\n"
     "steps at once), heat and fdtd\n"
     "(jacobi,jacobi8,heat,fdtd)"},
    {"--steps", "S", &cli_steps, offsetof(options, grid.steps),
     "grid: time steps of a run (100; GPUs: 1000)"},
    {"--residual", "R", &cli_period, offsetof(options, grid.residual),
     "grid: time steps from one residual of jacobi to the\n"
     "next; 0: none (100)"},
    {"--weak", NULL, &cli_flag, offsetof(options, grid.weak),
     "grid: as many rows for each accelerator"},
    {"--repeat", "R", &cli_repeats, offsetof(options, repeat),
     "runs of each after the first one (5)"},
    {"--from-files", NULL, &cli_flag, offsetof(options, from_files),
     "also from files into a file, in a new folder in\n"
     "TMPDIR (/var/tmp): read from disk, and from memory"},
    {"--json", NULL, &cli_flag, offsetof(options, json),
     "print a JSON object for each row, one a line"},
    {NULL, NULL, NULL, 0, NULL},
};

static bool is_default(const cli_numbers *n)
{
    bool same = n->count == cli_default_numbers.count;
    for (int i = 0; i < n->count && same; i++) {
        same = strcmp(n->list[i].name, cli_default_numbers.list[i].name) == 0;
    }
    return same;
}

static bool is_f32(const cli_numbers *n)
{
    return n->count == 1 && strcmp(n->list[0].name, "f32") == 0;
}

static bool has_grid_options(const options *o)
{
    return o->grid.workloads.count > 0 || o->grid.steps > 0 ||
           o->grid.residual >= 0 || o->grid.weak;
}

static int check_grid(const options *o)
{
    if (o->from_files || o->peers.given || o->memories.pinned[0] ||
        o->memories.count > 1 || o->shapes.count > 0 || o->reach.given) {
        return cli_wrong(&cli_bench_command,
                         "grids are measured without shapes, windows, kinds of "
                         "memory, files and peers");
    }
    return is_default(&o->numbers) || is_f32(&o->numbers)
               ? CLI_OK
               : cli_wrong(&cli_bench_command, "grids are measured in f32");
}

static int check(const options *o, const char *subject)
{
    const bool kernels = strcmp(subject, "kernels") == 0;
    const bool filter = strcmp(subject, "filter") == 0;
    if (strcmp(subject, "grid") == 0) {
        return check_grid(o);
    }
    if (has_grid_options(o)) {
        return cli_wrong(&cli_bench_command,
                         "--workload, --steps, --residual and --weak are for "
                         "grid");
    }
    if ((kernels || filter) &&
        (o->from_files || o->peers.given || o->memories.pinned[0] ||
         o->memories.count > 1)) {
        return cli_wrong(&cli_bench_command,
                         "%s is measured from ordinary memory, without files "
                         "and peers",
                         subject);
    }
    if (kernels && !is_default(&o->numbers) && !is_f32(&o->numbers)) {
        return cli_wrong(&cli_bench_command, "kernels are measured in f32");
    }
    for (int i = 0; i < o->numbers.count && filter; i++) {
        const cli_number *n = &o->numbers.list[i];
        if (strcmp(n->name, "f32") != 0 && strcmp(n->name, "f64") != 0) {
            return cli_wrong(&cli_bench_command,
                             "filters are measured in f32 and f64");
        }
    }
    if (o->reach.given && !filter) {
        return cli_wrong(&cli_bench_command, "--window is for filter");
    }
    if (strcmp(subject, "matmul") != 0 && !kernels && !filter) {
        return cli_wrong(&cli_bench_command, "there is no benchmark '%s'",
                         subject);
    }
    if (o->sizes.count > 0 && o->shapes.count > 0) {
        return cli_wrong(&cli_bench_command,
                         "--size and --shape exclude each other");
    }
    return CLI_OK;
}

static void prepare(cli_bench *bench, const options *o, const char *subject)
{
    static const cli_problems large = {{{{6144, 6144, 6144}}}, 1};
    static const cli_problems small = {{{{1024, 1024, 1024}}}, 1};
    static const cli_problems picture = {{{{2000, 2000, 2000}}}, 1};
    const cli_problems usual = strcmp(subject, "kernels") == 0  ? small
                               : strcmp(subject, "filter") == 0 ? picture
                                                                : large;
    bench->problems = o->sizes.count > 0    ? o->sizes
                      : o->shapes.count > 0 ? o->shapes
                                            : usual;
    bench->numbers = o->numbers;
    bench->memories = o->memories;
    bench->repeat = o->repeat;
    bench->from_files = o->from_files;
    bench->json = o->json;
}

/* Peers: those asked for; else those that the lists are to be compared with. */
static void find_peers(cli_bench *bench, const cli_peers_wish *wish)
{
    unsigned who = wish->given ? wish->who : 0;
    bench->in_turns = true;
    for (int i = 0; i < bench->setting_count; i++) {
        const cli_setting *setting = &bench->settings[i];
        bench->in_turns = bench->in_turns && setting->host_only;
        if (!wish->given && setting->host_only) {
            who |= CLI_WITH_CBLAS | CLI_WITH_OPENBLAS;
        } else if (!wish->given && setting->gpus[0] != '\0') {
            who |= CLI_WITH_CUBLASXT;
        }
    }
    if ((who & CLI_WITH_CBLAS) != 0) {
        bench->has_cblas = cli_cblas_find_loaded(&bench->cblas) ||
                           cli_cblas_load_openblas(&bench->cblas);
    }
    if ((who & CLI_WITH_OPENBLAS) != 0) {
        bench->peer_count = cli_peers_start(bench->peers);
    }
    bench->has_xt = (who & CLI_WITH_CUBLASXT) != 0 && cli_xt_start(&bench->xt);
}

/* A context that pinned memory comes from, all the time: of the list with the
 * first GPU of CUDA, if there is one, else of the first. It computes nothing,
 * so it holds nothing of the GPU's memory. */
static int open_keeper(cli_bench *bench)
{
    const cli_setting *from = NULL;
    bool wanted = false;
    for (int i = 0; i < bench->memories.count; i++) {
        wanted = wanted || bench->memories.pinned[i];
    }
    for (int i = 0; i < bench->setting_count; i++) {
        const cli_setting *s = &bench->settings[i];
        if (from == NULL || (strstr(from->list, "cuda") == NULL &&
                             strstr(s->list, "cuda") != NULL)) {
            from = s;
        }
    }
    return wanted ? cli_context(&cli_bench_command, from->list,
                                from->memory_limit, &bench->keeper)
                  : CLI_OK;
}

static int measure_all(cli_bench *bench)
{
    int status = CLI_OK;
    const cli_memories *memories = &bench->memories;
    for (int p = 0; p < bench->problems.count; p++) {
        const int64_t *extents = bench->problems.list[p].extents;
        bench->m = extents[0];
        bench->k = extents[1];
        bench->n = extents[2];
        for (int t = 0; t < bench->numbers.count; t++) {
            bench->number = bench->numbers.list[t];
            for (int i = 0; i < memories->count && status == CLI_OK; i++) {
                bench->pinned = memories->pinned[i];
                status = cli_bench_case(bench);
                status = status == CLI_OK ? cli_flush() : status;
            }
        }
    }
    return status;
}

/* What is measured: the option's lists, else the environment's one, else the
 * usual two. */
static int choose_settings(cli_bench *bench, const options *o,
                           const char *usual)
{
    const char *list = getenv("HEADRACE_ACCELERATORS");
    if (o->accelerators == NULL && list != NULL && list[0] != '\0') {
        return cli_bench_environment(bench, list, o->memory_limit);
    }
    return cli_bench_settings(bench,
                              o->accelerators != NULL ? o->accelerators : usual,
                              o->memory_limit);
}

static int measure(cli_bench *bench, const options *o)
{
    int status = choose_settings(bench, o, "host;4xhost@128MiB");
    if (status == CLI_OK) {
        find_peers(bench, &o->peers);
        status = open_keeper(bench);
    }
    if (status == CLI_OK) {
        status = measure_all(bench);
    }
    return status == CLI_OK && bench->failed ? CLI_FAILED : status;
}

static int measure_kernels(cli_bench *bench, const options *o)
{
    int status = choose_settings(bench, o, "host");
    return status == CLI_OK ? cli_bench_kernels(bench) : status;
}

static int measure_filter(cli_bench *bench, const options *o)
{
    int status = choose_settings(bench, o, "host;2xhost");
    if (is_default(&bench->numbers)) {
        bench->numbers.count = 1; /* f32 */
    }
    return status == CLI_OK
               ? cli_bench_filter(bench, o->reach.given ? o->reach.value : 60)
               : status;
}

static int measure_grid(cli_bench *bench, const options *o)
{
    cli_grid_wish wish = o->grid;
    int status = choose_settings(bench, o, "host;2xhost");
    bench->problems = o->sizes; /* or none: the usual ones of workloads */
    if (wish.workloads.count == 0) {
        wish.workloads = cli_default_workloads;
    }
    if (wish.residual < 0) {
        wish.residual = 100;
    }
    return status == CLI_OK ? cli_bench_grid(bench, &wish) : status;
}

static void finish(cli_bench *bench)
{
    cli_peers_stop(bench->peers, bench->peer_count);
    cli_xt_stop(&bench->xt);
    hr_context_destroy(bench->keeper);
    free(bench);
}

static int run(int argc, char **argv)
{
    options o = {
        .repeat = 5, .memories = {.count = 1}, .grid = {.residual = -1}};
    o.numbers = cli_default_numbers;
    const char *subject;
    int status = cli_parse(&cli_bench_command, argc, argv, &o, &subject);
    status = status == CLI_OK ? check(&o, subject) : status;
    if (status != CLI_OK) {
        return status;
    }
    cli_bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) {
        return cli_fail("out of memory");
    }
    prepare(bench, &o, subject);
    status = strcmp(subject, "kernels") == 0  ? measure_kernels(bench, &o)
             : strcmp(subject, "filter") == 0 ? measure_filter(bench, &o)
             : strcmp(subject, "grid") == 0   ? measure_grid(bench, &o)
                                              : measure(bench, &o);
    finish(bench);
    return status;
}

const cli_command cli_bench_command = {
    .name = "bench",
    .usage = "matmul|kernels|filter|grid [options]",
    .summary = "measure products beside other libraries and the machine",
    .details =
        "Multiplies random matrices on each list of accelerators, each time "
        "with\n"
        "a new context, beside other libraries: the CBLAS that Headrace "
        "itself\n"
        "uses, called directly; OpenBLAS with its fastest core type here; "
        "cuBLASXt\n"
        "with its best block dimension (the last two in processes of their "
        "own).\n"
        "Prints the first run, the best and the median of the others, bytes "
        "moved\n"
        "over the fewest possible, what the plan foresaw, the speed relative "
        "to "
        "the\n"
        "machine's limits, measured in the same run, and relative to the "
        "peers.\n"
        "Results are verified. Lists of the host alone run in turns.\n"
        "kernels: six ways to write a product as a kernel, in float, on each\n"
        "accelerator of each list (host; --size 1024), beside the library's "
        "rate.\n"
        "filter: the weighted average over windows (host;2xhost; --size "
        "2000),\n"
        "by each method, on a list's first accelerator, on all from one "
        "thread,\n"
        "with a thread for each, and on all with the picture there already,\n"
        "beside published times.\n"
        "grid: grids of float step on each list (host;2xhost), beside what "
        "its\n"
        "accelerators copy, and the first list: cells and bytes a second, how\n"
        "much of the exchange of halos takes no time, speed-up and efficiency.",
    .examples =
        "  headrace bench matmul\n"
        "  headrace bench matmul --size 2048 --types f32 --repeat 9 --json\n"
        "  headrace bench matmul --size 16384,32768 --types f32,tf32 \\\n"
        "      --memory pinned --accelerators 'cuda:0;cuda'\n"
        "  headrace bench filter --size 2000,16384 --accelerators "
        "'cuda:0;cuda'\n"
        "  headrace bench grid --workload jacobi,heat --size 512\n"
        "  headrace bench matmul --shape 20000x500x20000 --from-files \\\n"
        "      --accelerators 'host;opencl;2xhost,opencl@256MiB'\n",
    .options = table,
    .operands = 1,
    .operand_names =
        "1 word, what to measure (matmul, kernels, filter or grid)",
    .run = run,
};
