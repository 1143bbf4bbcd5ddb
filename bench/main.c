/* SPDX-License-Identifier: MIT */
/* headrace-bench: how fast Headrace is, also beside other libraries and beside
 * the machine's limits. `headrace bench` runs it. */
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/status.h"
#include "bench/bench.h"
#include "bench/peers/peer.h"
#include "bench/workloads/grid.h"
#include "console/context.h"
#include "console/output.h"
#include "console/signals.h"
#include "console/whole.h"
#include "trace/trace.h"

/* ---- options: values that are lists, and all of them */

static const bench_number numbers[BENCH_NUMBERS_MAX] = {
    {"f32", HR_F32, HR_F32, HR_COMPUTE_NATIVE},
    {"f64", HR_F64, HR_F64, HR_COMPUTE_NATIVE},
    {"c32", HR_C32, HR_C32, HR_COMPUTE_NATIVE},
    {"c64", HR_C64, HR_C64, HR_COMPUTE_NATIVE},
    {"f16", HR_F16, HR_F32, HR_COMPUTE_NATIVE},
    {"bf16", HR_BF16, HR_F32, HR_COMPUTE_NATIVE},
    {"i8", HR_I8, HR_I32, HR_COMPUTE_NATIVE},
    {"tf32", HR_F32, HR_F32, HR_COMPUTE_TF32},
};

#define NUMBERS "f32 f64 c32 c64 f16 bf16 i8 tf32"

static bool take_number(const char *word, void *field)
{
    bench_numbers *list = field;
    const int found = cli_find_name(word, NUMBERS);
    if (found < 0 || list->count == BENCH_NUMBERS_MAX) {
        return false;
    }
    list->list[list->count++] = numbers[found];
    return true;
}

static bool take_size(const char *word, void *field)
{
    bench_problems *list = field;
    static const cli_kind sizes = {.least = 1, .most = 1 << 19};
    int64_t size;
    if (list->count == BENCH_PROBLEMS_MAX || !cli_take(&sizes, word, &size)) {
        return false;
    }
    list->list[list->count++] = (cli_shape){{size, size, size}};
    return true;
}

static bool take_shape(const char *word, void *field)
{
    bench_problems *list = field;
    return list->count < BENCH_PROBLEMS_MAX &&
           cli_shape3.take(word, &list->list[list->count++]);
}

static bool take_memory(const char *word, void *field)
{
    bench_memories *list = field;
    const int found = cli_find_name(word, "ordinary pinned");
    if (list->count == 2 || found < 0) {
        return false;
    }
    list->pinned[list->count++] = found == 1;
    return true;
}

static bool take_peer(const char *word, void *field)
{
    bench_peers_wish *wish = field;
    const int found =
        cli_find_name(word, "cblas openblas cublasxt cublas none");
    wish->given = true;
    wish->peers |= found >= 0 && found < 4 ? 1u << found : 0; /* BENCH_WITH_ */
    return found >= 0;
}

static const cli_kind number_list = {
    .take = take_number,
    .wants = "a list of types such as f32,tf32 (" NUMBERS ")",
    .list_bytes = sizeof(bench_numbers)};
static const cli_kind size_list = {
    .take = take_size,
    .wants = "a list of up to 32 sizes from 1 to 524288",
    .list_bytes = sizeof(bench_problems)};
static const cli_kind shapes = {.take = take_shape,
                                .wants =
                                    "up to 32 shapes such as 4096x512x1000",
                                .list_bytes = sizeof(bench_problems)};
static const cli_kind memory_list = {
    .take = take_memory,
    .wants = "ordinary or pinned, or both as ordinary,pinned",
    .list_bytes = sizeof(bench_memories)};
static const cli_kind peers_list = {
    .take = take_peer,
    .wants = "a list of cblas, openblas, cublasxt and cublas, or none",
    .list_bytes = sizeof(bench_peers_wish)};
static const cli_kind repeats = {
    .wants = "a whole number from 1 to 10000", .least = 1, .most = 10000};
static const cli_kind counts = {
    .wants = "a whole number from 1 to 10^9", .least = 1, .most = 1000000000};
static const cli_kind period = {
    .wants = "a whole number up to 10^9", .least = 0, .most = 1000000000};

static bool take_path(const char *text, void *field)
{
    static const char end[] = ".svg";
    const size_t length = strlen(text), least = sizeof end;
    *(const char **)field = text;
    return length >= least && strcmp(text + length - least + 1, end) == 0;
}

static const cli_kind plot_file = {.take = take_path,
                                   .wants = "a file name that ends in .svg"};

static const cli_option table[] = {
    {"--size", "LIST", &size_list, offsetof(bench_options, sizes),
     "square matrices of these sizes (6144; sizes: powers\n"
     "of 2 up to 4096; batch: 64; kernels: 1024; filter:\n"
     "2000); grid: of each dimension (2048, heat 256,\n"
     "lbm 128; where all accelerators are GPUs 16384,\n"
     "heat 1024, lbm 640)"},
    {"--shape", "LIST", &shapes, offsetof(bench_options, shapes),
     "or MxKxN: an MxK matrix times a KxN matrix"},
    {"--types", "LIST", &number_list, offsetof(bench_options, numbers),
     "such as f32,c64 (f32,f64); f16 and bf16 into f32;\n"
     "tf32: f32 rounded to tf32 first"},
    {"--memory", "LIST", &memory_list, offsetof(bench_options, memories),
     "where matrices lie: ordinary, pinned (page-locked)\n"
     "or ordinary,pinned (ordinary)"},
    {"--accelerators", "LIST[;LIST]", &cli_list,
     offsetof(bench_options, accelerators),
     "each LIST is measured by itself; LIST@SIZE limits\n"
     "the memory of its accelerators\n"
     "(HEADRACE_ACCELERATORS, else host;4xhost@128MiB)"},
    {"--memory-limit", "SIZE", &cli_bytes,
     offsetof(bench_options, memory_limit),
     "limit of each accelerator, for lists without @SIZE"},
    {"--threads", "N", &cli_threads, offsetof(bench_options, threads),
     CLI_THREADS_HELP},
    {"--peers", "LIST", &peers_list, offsetof(bench_options, peers),
     "of cblas, openblas, cublasxt and cublas, or none\n"
     "(matmul: the first two for lists of the host alone,\n"
     "cublasxt for lists of CUDA GPUs; sizes and batch:\n"
     "cblas, and cublas for CUDA GPUs)"},
    {"--batch", "N", &counts, offsetof(bench_options, batch),
     "batch: the number of products (as many as take 96 MiB)"},
    {"--elements", "N", &counts, offsetof(bench_options, elements),
     "calls, stream, run: of each view (10000000; stream:\n"
     "50000000; run: 16777216)"},
    {"--window", "S", &cli_window, offsetof(bench_options, reach),
     "filter: how far windows reach (60)"},
    {"--workload", "LIST", &bench_workload_list,
     offsetof(bench_options, grid.workloads),
     "grid: up to 8 of jacobi, jacobi2, jacobi4, jacobi8\n"
     "(that many steps at once), heat, heat-clamp,\n"
     "heat-mirror, heat-periodic, fdtd and lbm\n"
     "(jacobi,jacobi8,heat,fdtd,lbm)"},
    {"--steps", "S", &counts, offsetof(bench_options, grid.steps),
     "grid: time steps of a run (100; GPUs: 1000)"},
    {"--residual", "R", &period, offsetof(bench_options, grid.residual),
     "grid: time steps from one residual of jacobi to the\n"
     "next; 0: none (100)"},
    {"--weak", NULL, &cli_flag, offsetof(bench_options, grid.weak),
     "grid: the same number of rows for each accelerator"},
    {"--repeat", "R", &repeats, offsetof(bench_options, repeat),
     "runs of each after the first run (5)"},
    {"--from-files", NULL, &cli_flag, offsetof(bench_options, from_files),
     "also multiply files into a file, read from disk and\n"
     "from memory, in a new folder in TMPDIR (/var/tmp)"},
    {"--json", NULL, &cli_flag, offsetof(bench_options, json),
     "print one JSON object a line, for each row"},
    {"--plot", "FILE.svg", &plot_file, offsetof(bench_options, plot),
     "also draw the rows, by a python3 with Matplotlib;\n"
     "the file appears whole or not at all"},
    {NULL, NULL, NULL, 0, NULL},
};

/* ---- the timeline */

static hri_trace *timeline;

int bench_timeline_begin(void)
{
    const char *path = hri_environment("HEADRACE_TRACE");
    return path != NULL && *path != '\0'
               ? cli_called(hri_trace_hold(path, &timeline))
               : CLI_OK;
}

int bench_timeline_end(int status)
{
    const bool written = hri_trace_drop(timeline) == HR_OK;
    timeline = NULL;
    return status == CLI_OK && !written ? cli_failed_call() : status;
}

/* ---- the picture */

extern const char bench_plot_text[]; /* plot.py, by the build */

/* A picture of the rows. plot.py draws it, in a process that starts before
 * anything is measured. A zeroed struct has none. */
typedef struct picture {
    bench_peer process;
    cli_whole file;
} picture;

/* Start the process, create the file under a temporary name, and have the rows
 * written to the process from now on. */
static int start_plot(picture *plot, const char *path, bench_rows *rows)
{
    HRI_TRY(cli_output_check(&bench_command, "--plot", path, NULL, 0));
    if (!bench_python_start(&plot->process, bench_plot_text, "--serve")) {
        return cli_fail("--plot: no python3 with Matplotlib is in PATH or "
                        "in /usr/bin");
    }
    HRI_TRY(cli_whole_create(&plot->file, path));
    rows->plot = plot->process.to;
    return CLI_OK;
}

/* Copy the process's answer into the file. */
static int copy_answer(const picture *plot)
{
    FILE *from = plot->process.from;
    char text[4096];
    if (fgets(text, sizeof text, from) == NULL) {
        return cli_fail("--plot: the process that draws has ended");
    }
    if (strncmp(text, "error ", 6) == 0) {
        text[strcspn(text, "\n")] = '\0';
        return cli_fail("--plot: %s", text + 6);
    }
    /* lines of text, of which the last one is the end of the picture */
    bool whole = false;
    do {
        whole = strcmp(text, "</svg>\n") == 0;
        fputs(text, plot->file.out);
    } while (fgets(text, sizeof text, from) != NULL);
    return whole && !ferror(from)
               ? CLI_OK
               : cli_fail("--plot: the process that draws ended in the middle");
}

/* Have the rows drawn, and give the file its name. */
static int finish_plot(picture *plot, const bench_rows *rows)
{
    const bool sent = fclose(plot->process.to) == 0;
    plot->process.to = NULL;
    if (!sent || rows->failed) {
        return cli_fail("--plot: the rows cannot be written to python3");
    }
    HRI_TRY(copy_answer(plot));
    return cli_whole_commit(&plot->file);
}

/* End the process. Removes the file unless it is finished. Accepts a zeroed
 * struct. */
static void close_plot(picture *plot)
{
    bench_peer_stop(&plot->process);
    cli_whole_close(&plot->file);
}

/* ---- the subjects */

/* What can be measured, and its defaults. */
typedef struct subject {
    const char *name;
    int (*run)(benchmark *bench);
    const char *sizes; /* NULL: it has its own sizes */
    const char *lists; /* of accelerators; NULL: it finds its own */
    const char *usual; /* types */
    const char *types; /* that it has; NULL: all */
    const char *types_wrong, *options_wrong;
} subject;

static const subject subjects[] = {
    {"matmul", bench_matmul, "6144", "host;4xhost@128MiB", "f32,f64", NULL,
     NULL, NULL},
    {"sizes", bench_sizes, "1,2,4,8,16,32,64,128,256,512,1024,2048,4096", NULL,
     "f32,f64", "f32 f64 c32 c64",
     "--types: sizes are measured in f32, f64, c32 and c64", NULL},
    {"batch", bench_batch, "64", "host", "f32,f64", NULL, NULL, NULL},
    {"kernels", bench_kernels, "1024", "host", "f32", "f32",
     "--types: kernels are measured in f32",
     "--memory, --from-files and --peers are not for kernels"},
    {"filter", bench_filter, "2000", "host;2xhost", "f32", "f32 f64",
     "--types: filters are measured in f32 and f64",
     "--memory, --from-files and --peers are not for filter"},
    {"calls", bench_calls, NULL, "host", "f32,f64", "f32 f64",
     "--types: calls are measured in f32 and f64",
     "--shape, --window, --memory, --from-files and --peers are not for calls"},
    {"stream", bench_stream, NULL, "2xhost@64MiB", "f32", "f32",
     "--types: streams are measured in f32",
     "--shape, --window, --from-files and --peers are not for stream"},
    {"run", bench_run, NULL, "host", "f32", "f32",
     "--types: run is measured in f32",
     "--shape, --window, --memory, --from-files and --peers are not for run"},
    {"grid", bench_grid, NULL, "host;2xhost", "f32", "f32",
     "--types: grids are measured in f32",
     "--shape, --window, --memory, --from-files and --peers are not for grid"},
};

static bool has_types(const bench_options *o, const subject *s)
{
    for (int i = 0; i < o->numbers.count && s->types != NULL; i++) {
        if (cli_find_name(o->numbers.list[i].name, s->types) < 0) {
            return false;
        }
    }
    return true;
}

static int check_options(const bench_options *o, const subject *s)
{
    const bool grid = s->run == bench_grid;
    const bool views =
        s->run == bench_calls || s->run == bench_stream || s->run == bench_run;
    const bool usual = !o->memories.pinned[0] && o->memories.count == 1;
    const bool plain =
        !o->from_files && !o->peers.given && (usual || s->run == bench_stream);
    const bool turns = s->run == bench_sizes || s->run == bench_batch;
    const unsigned timed = BENCH_WITH_CBLAS | BENCH_WITH_CUBLAS;
    const bool flat = o->shapes.count == 0 && o->reach < 0;
    const bool steps = o->grid.workloads.count > 0 || o->grid.steps > 0 ||
                       o->grid.residual >= 0 || o->grid.weak;
    const struct {
        bool wrong;
        const char *sentence;
    } rules[] = {
        {steps && !grid,
         "--workload, --steps, --residual and --weak are for grid"},
        {s->options_wrong != NULL && (!plain || ((grid || views) && !flat)),
         s->options_wrong},
        {o->elements > 0 && !views, "--elements is for calls, stream and run"},
        {o->batch > 0 && s->run != bench_batch, "--batch is for batch"},
        {!has_types(o, s), s->types_wrong},
        {turns && o->from_files,
         "--from-files is not for sizes, and not for batch"},
        {turns && (o->peers.peers & ~timed) != 0,
         "--peers: sizes and batch are measured beside cblas and cublas"},
        {!turns && (o->peers.peers & BENCH_WITH_CUBLAS) != 0,
         "--peers: cublas is for sizes and batch"},
        {o->reach >= 0 && s->run != bench_filter, "--window is for filter"},
        {o->sizes.count > 0 && o->shapes.count > 0,
         "--size and --shape exclude each other"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].wrong) {
            return cli_wrong(&bench_command, "%s", rules[i].sentence);
        }
    }
    return CLI_OK;
}

static const subject *find_subject(const char *name)
{
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        if (strcmp(subjects[i].name, name) == 0) {
            return &subjects[i];
        }
    }
    return NULL;
}

/* Measure all rows, and draw them if there is a picture. */
static int measure_rows(benchmark *bench, const subject *s, picture *plot)
{
    const bool drawn = bench->o.plot != NULL;
    if (drawn) {
        HRI_TRY(start_plot(plot, bench->o.plot, &bench->rows));
    }
    if (s->lists != NULL) {
        HRI_TRY(bench_settings(bench, s->lists));
    }
    HRI_TRY(s->run(bench));
    return drawn ? finish_plot(plot, &bench->rows) : CLI_OK;
}

static int measure_subject(benchmark *bench, const char *name)
{
    const subject *s = find_subject(name);
    if (s == NULL) {
        return cli_wrong(&bench_command, "there is no benchmark '%s'", name);
    }
    HRI_TRY(check_options(&bench->o, s));
    HRI_TRY(bench_timeline_begin());
    bench->problems =
        bench->o.sizes.count > 0 ? bench->o.sizes : bench->o.shapes;
    if (bench->problems.count == 0 && s->sizes != NULL) {
        cli_take(&size_list, s->sizes, &bench->problems);
    }
    if (bench->o.numbers.count == 0) {
        cli_take(&number_list, s->usual, &bench->o.numbers);
    }
    bench->rows.json = bench->o.json;
    picture plot = {.file = {.path = NULL}};
    const int status = measure_rows(bench, s, &plot);
    close_plot(&plot);
    cli_table_free(&bench->rows.table);
    return status == CLI_OK && bench->failed ? CLI_FAILED : status;
}

static int run_words(benchmark *bench, int argc, char **argv)
{
    const char *name;
    HRI_TRY(cli_parse(&bench_command, argc, argv, &bench->o, &name));
    if (bench->o.threads > 0) {
        char text[24]; /* the peers' processes read it, too */
        snprintf(text, sizeof text, "%lld", (long long)bench->o.threads);
        setenv("HEADRACE_THREADS", text, 1);
    }
    return measure_subject(bench, name);
}

static int run_bench(int argc, char **argv)
{
    benchmark *bench = calloc(1, sizeof *bench);
    if (bench == NULL) {
        return cli_fail("out of memory");
    }
    bench->o = (bench_options){.repeat = 5,
                               .memories = {.count = 1},
                               .reach = -1,
                               .grid = {.residual = -1}};
    const int status = run_words(bench, argc, argv);
    free(bench);
    return status;
}

/* ---- the command */

static const char details[] =
    "The first word says what is measured.\n\n"
    "matmul: multiplies random matrices on each list of accelerators, each\n"
    "time with a new context, and verifies the results. Lists of the host\n"
    "alone run in turns. Other libraries multiply the same matrices:\n"
    "  cblas     the CBLAS that Headrace itself uses, called directly\n"
    "  openblas  OpenBLAS with its fastest core type here, in its own process\n"
    "  cublasxt  cuBLASXt with its best block dimension, in its own process\n"
    "It prints the first run, and the best and the median of the others. It\n"
    "also prints the bytes moved over the fewest possible, the time that the\n"
    "plan predicted, and the speed relative to the machine's limits, measured\n"
    "in the same run, and relative to the other libraries.\n\n"
    "batch: multiplies many small matrices in one call on each list (host;\n"
    "--size 64), beside two loops over the CBLAS (one product after the\n"
    "other, and one on each thread), and beside cuBLAS's batched call by\n"
    "hand, with kept buffers and three copies. It measures and prints as\n"
    "sizes does. The last columns are the time of the best list over the\n"
    "better loop's, and over cuBLAS's.\n\n"
    "sizes: multiplies small and large matrices with each list that a program\n"
    "could name (auto: all accelerators, of which the library chooses; the\n"
    "host; each other accelerator; all of a backend, also with the host), or\n"
    "with the lists of --accelerators beside auto. Peers are the CBLAS called\n"
    "directly, and cuBLAS as a program would use it by hand, with buffers\n"
    "kept on the first GPU and three copies. It prints microseconds for each\n"
    "size: the best, in loops of a millisecond or more, all in turns; and the\n"
    "first call. The last columns are the time of auto over the best list's,\n"
    "and over the best of all.\n\n"
    "kernels: writes a product as a kernel in six ways, in float, and runs\n"
    "each on each accelerator (host; --size 1024), beside the library's rate.\n"
    "\n"
    "filter: takes the weighted average over windows (host;2xhost; --size\n"
    "2000), by each method, beside published times. It runs on a list's first\n"
    "accelerator, on all from one thread, with a thread for each, and on all\n"
    "with the picture there already.\n\n"
    "grid: steps grids of float on each list (host;2xhost). It prints cells\n"
    "and bytes a second, how much of the exchange of halos takes no time,\n"
    "speed-up and efficiency, beside what the list's accelerators copy and\n"
    "beside the first list.\n\n"
    "calls: reductions, scans, sorts, histograms and fills on each list\n"
    "(host), beside loops of OpenMP for the host, and beside CUB for GPUs\n"
    "(bench/run-gpu compiles that). Arrays lie where the list computes; the\n"
    "first call brings them there.\n\n"
    "stream: adds two views into a third on each list (2xhost@64MiB), with "
    "the\n"
    "same rows for each accelerator. Views that are larger than its memory\n"
    "stream. It prints the bytes moved a second and over the fewest possible,\n"
    "and what the links carry in the same run.\n\n"
    "run: calls nine small kernels by hr_run, from ordinary memory, on each\n"
    "list (host). It compares the results with those of plain loops with\n"
    "OpenMP, and prints the times beside these and beside NumPy, where a\n"
    "python3 has it. --elements is the length of the longest views. Squares\n"
    "have as many elements, so 4096 rows; the picture has a 16th of them.\n\n"
    "dialect: runs kernels in the dialect beside the same kernels written by\n"
    "hand. copies: measures copies between arrays. Both have options of their\n"
    "own, which headrace bench dialect --help and headrace bench copies\n"
    "--help explain.";

const cli_command bench_command = {
    .name = "bench",
    .usage =
        "matmul|sizes|batch|kernels|filter|grid|calls|stream|run [options]\n"
        "       headrace bench dialect [options]\n"
        "       headrace bench copies [LIST [MIB]]",
    .details = details,
    .examples =
        "  headrace bench matmul\n"
        "  headrace bench matmul --size 2048 --types f32 --repeat 9 --json\n"
        "  headrace bench matmul --size 16384,32768 --types f32,tf32 \\\n"
        "      --memory pinned --accelerators 'cuda:0;cuda'\n"
        "  headrace bench sizes --size 64,100,1000 --types f64\n"
        "  headrace bench batch --size 16,64,256 --accelerators 'host;cuda'\n"
        "  headrace bench filter --size 2000,16384 --accelerators "
        "'cuda:0;cuda'\n"
        "  headrace bench grid --workload jacobi,heat --size 512\n"
        "  headrace bench calls --elements 100000000 --accelerators cuda:0\n"
        "  headrace bench stream --memory ordinary,pinned --accelerators "
        "'2xhost@64MiB;cuda:0@1GiB'\n"
        "  headrace bench run --repeat 20\n"
        "  headrace bench matmul --shape 20000x500x20000 --from-files \\\n"
        "      --accelerators 'host;opencl;2xhost,opencl@256MiB'\n",
    .options = table,
    .operands = 1,
    .operand_names = "1 word, what to measure (matmul, sizes, batch, kernels, "
                     "filter, grid, calls, stream, run, dialect or copies)",
    .run = run_bench,
};

/* Run the command that the first word names, if it has options of its own. */
static int run_word(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "";
    if ((argc == 3 || argc == 4) && strcmp(first, "peer") == 0) {
        return bench_be_peer(argv[2], argv[3]);
    }
    const bool dialect = strcmp(first, "dialect") == 0;
    if (dialect || strcmp(first, "copies") == 0) {
        return bench_timeline_end(cli_start(
            dialect ? &bench_dialect : &bench_copies, argc - 2, argv + 2));
    }
    return bench_timeline_end(cli_start(&bench_command, argc - 1, argv + 1));
}

int main(int argc, char **argv)
{
    cli_signals_init();
    cli_finish(run_word(argc, argv));
}
