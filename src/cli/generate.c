/* SPDX-License-Identifier: MIT */
/* headrace generate: a file of random numbers. */
#include <stdio.h>

#include "commands.h"
#include "console/context.h"
#include "console/output.h"
#include "console/random.h"
#include "console/signals.h"
#include "console/values.h"

typedef struct options {
    cli_shape shape;
    hr_type type;
    uint64_t seed;
    int64_t threads;
    hr_order order;
    const char *output;
    bool quiet;
} options;

static const cli_option table[] = {
    {"--shape", "RxC", &cli_shape2, offsetof(options, shape),
     "rows and columns, such as 4096x8192"},
    {"--type", "TYPE", &cli_type, offsetof(options, type),
     "one of f32 f64 c32 c64 f16 bf16 i8 i32"},
    {"--seed", "N", &cli_seed, offsetof(options, seed),
     "each seed gives other numbers (0)"},
    {"--order", "row|column", &cli_order, offsetof(options, order),
     "order of the elements: row as in C, column as in\n"
     "Fortran (row)"},
    {"--threads", "N", &cli_threads, offsetof(options, threads),
     CLI_THREADS_HELP},
    {"-o", "A.npy", &cli_file, offsetof(options, output),
     "the file to write, whole or not at all; -: standard\n"
     "output; A.raw, A.bin, -.raw: without a header"},
    {"--quiet", NULL, &cli_flag, offsetof(options, quiet), "no progress bar"},
    {NULL, NULL, NULL, 0, NULL},
};

static int check_options(const options *o)
{
    if (o->shape.extents[0] < 0) {
        return cli_wrong(&cli_generate, "--shape is missing");
    }
    if (o->type == 0) {
        return cli_wrong(&cli_generate, "--type is missing");
    }
    if (o->output == NULL) {
        return cli_wrong(&cli_generate, "-o is missing");
    }
    return cli_output_check(&cli_generate, "-o", o->output, NULL, 0);
}

static int run(int argc, char **argv)
{
    options o = {.shape = {{-1}}, .order = HR_ROW_MAJOR};
    cli_progress progress;
    HRI_TRY(cli_parse(&cli_generate, argc, argv, &o, NULL));
    HRI_TRY(check_options(&o));
    const hr_matrix like = hr_matrix_row_major(NULL, o.type, o.shape.extents[0],
                                               o.shape.extents[1], 0);
    cli_loop_threads(o.threads);
    cli_progress_start(&progress, o.quiet, "generating", hri_link_text);
    return cli_output_random(o.output, like, o.order, o.seed, &progress);
}

const cli_command cli_generate = {
    .name = "generate",
    .usage = "--shape RxC --type TYPE -o A.npy [options]",
    .summary = "write a file of random numbers",
    .details =
        "Writes a file of random numbers. The same shape, type and seed give "
        "the same\n"
        "numbers, whatever the order. Real types, and both parts of complex\n"
        "ones, are uniform in [-1, 1) on a grid that the type holds exactly\n"
        "(f32: multiples of 2^-23, f64: 2^-52, f16: 2^-10, bf16: 2^-7).\n"
        "Integers are small: i8 from -128 to 127, i32 from -1024 to 1023.",
    .examples =
        "  headrace generate --shape 8192x4096 --type f32 --seed 1 -o A.npy\n"
        "  headrace generate --shape 4096x2048 --type c64 --order column \\\n"
        "      -o B.npy\n",
    .options = table,
    .operands = 0,
    .operand_names = "no files but -o's",
    .run = run,
};
