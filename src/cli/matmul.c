/* SPDX-License-Identifier: MIT */
/* headrace matmul: C := alpha A B + beta C0, from files to a file. */
#include "cluster.h"
#include "commands.h"
#include "console/context.h"
#include "console/output.h"
#include "console/processes.h"
#include "console/product.h"
#include "console/together.h"
#include "console/values.h"

typedef struct options {
    cli_product product;
    cli_scalar alpha, beta;
    cli_machine machine;
    int64_t machines; /* 0: those that are there */
    const char *like; /* the file that describes one */
    bool json;
} options;

#define FIELD(name) offsetof(options, name)

static const cli_option table[] = {
    {"-o", "C.npy", &cli_file, FIELD(product.output),
     "the file to write, whole or not at all; -: standard\n"
     "output; C.raw, C.bin, -.raw: without a header"},
    {"--shape", "SHAPE[,SHAPE]", &cli_raw_shapes, FIELD(product.shapes),
     "shapes of A and B, or of both, if they have no header"},
    {"--input-type", "TYPE", &cli_type, FIELD(product.input_type),
     "type of A and B, if they have no header (--type)"},
    {"--alpha", "X", &cli_factor, FIELD(alpha),
     "alpha, such as 2, 1.5+2i or -i (1)"},
    {"--add", "C0.npy", &cli_file, FIELD(product.add),
     "add C0, a matrix of C's shape and type"},
    {"--beta", "Y", &cli_factor, FIELD(beta), "beta, the factor of C0 (1)"},
    {"--transpose-a", NULL, &cli_flag, FIELD(product.transpose_a),
     "multiply with A's transpose"},
    {"--transpose-b", NULL, &cli_flag, FIELD(product.transpose_b),
     "multiply with B's transpose"},
    {"--conjugate-a", NULL, &cli_flag, FIELD(product.conjugate_a),
     "multiply with A's complex conjugate"},
    {"--conjugate-b", NULL, &cli_flag, FIELD(product.conjugate_b),
     "multiply with B's complex conjugate"},
    {"--type", "TYPE", &cli_type, FIELD(product.type),
     "type of C (that of A and B, but i32 for i8);\n"
     "f32 is possible where A and B are f16 or bf16"},
    {"--accelerators", "LIST", &cli_list, FIELD(machine.accelerators),
     "use these, such as host,opencl:0:0 or 4xhost\n"
     "(HEADRACE_ACCELERATORS, else all but emulated ones)"},
    {"--memory-limit", "SIZE", &cli_bytes, FIELD(machine.memory_limit),
     "limit of each accelerator, such as 512MiB; plain host\n"
     "works in place and needs none\n"
     "(HEADRACE_MEMORY_LIMIT, else most of what is free)"},
    {"--threads", "N", &cli_threads, FIELD(machine.threads), CLI_THREADS_HELP},
    {"--trace", "FILE", &cli_file, FIELD(machine.trace), CLI_TRACE_HELP},
    {"--compute", "MODE", &cli_compute, FIELD(product.compute),
     "native, tf32 (factors of f32 in 10 bits), reproducible or precise "
     "(native)"},
    {"--dry-run", NULL, &cli_flag, FIELD(product.dry_run),
     "print the plan and write nothing; needs no -o"},
    {"--machines", "N", &cli_machines, FIELD(machines),
     "plan for N machines that need not be there, which all\n"
     "multiply together"},
    {"--like", "FILE.json", &cli_file, FIELD(like),
     "one of them, as described by\n"
     "mpirun -n 2 headrace devices --json"},
    {"--verify", NULL, &cli_flag, FIELD(product.verify),
     "check the product before C.npy appears"},
    {"--json", NULL, &cli_flag, FIELD(json),
     "print one JSON object instead of a table"},
    {"--quiet", NULL, &cli_flag, FIELD(product.quiet),
     "no progress bar and no table"},
    {NULL, NULL, NULL, 0, NULL},
};

/* Check options against each other, and set defaults that depend on others. */
static int check_options(options *o)
{
    cli_product *p = &o->product;
    const char *const files[] = {p->a, p->b, p->add, p->output};
    if (o->beta.given && p->add == NULL) {
        return cli_wrong(&cli_matmul, "--beta needs --add: there is no matrix "
                                      "to multiply with it");
    }
    p->alpha = o->alpha.value;
    p->beta =
        o->beta.given ? o->beta.value : hr_real(p->add != NULL ? 1.0 : 0.0);
    if (p->shapes.count > 0 && p->type == 0 && p->input_type == 0) {
        return cli_wrong(&cli_matmul, "--shape needs --type, the type of "
                                      "elements without a header");
    }
    if (p->input_type != 0 && p->shapes.count == 0) {
        return cli_wrong(&cli_matmul, "--input-type needs --shape");
    }
    if (p->output == NULL && !p->dry_run) {
        return cli_wrong(&cli_matmul, "-o is missing");
    }
    if (p->dry_run && p->verify) {
        return cli_wrong(&cli_matmul,
                         "--dry-run makes nothing that --verify could check");
    }
    if ((o->machines > 0) != (o->like != NULL)) {
        return cli_wrong(&cli_matmul, "--machines and --like belong together");
    }
    if (o->machines > 0 && !p->dry_run) {
        return cli_wrong(&cli_matmul, "--machines needs --dry-run: only a plan "
                                      "can be made for them");
    }
    if (o->machines > 0 &&
        (o->machine.accelerators != NULL || o->machine.memory_limit > 0 ||
         o->machine.threads > 0 || o->machine.trace != NULL)) {
        return cli_wrong(&cli_matmul,
                         "--machines: --accelerators, --memory-limit, "
                         "--threads and --trace are of this machine");
    }
    if (o->machines > 0 && cli_launched().count > 1) {
        return cli_wrong(&cli_matmul, "--machines: one process makes the plan, "
                                      "so start it without mpirun");
    }
    if (p->output != NULL) {
        HRI_TRY(cli_output_check(&cli_matmul, "-o", p->output, files, 3));
    }
    return cli_timeline_check(&cli_matmul, o->machine.trace, files, 4);
}

static int report(const hr_context *context, const options *o,
                  const cli_outcome *outcome)
{
    if (o->json) {
        return cli_report_json(context, &o->product, outcome);
    }
    return o->product.quiet ? CLI_OK
                            : cli_report_table(context, &o->product, outcome);
}

static int multiply_and_report(const options *o, hr_context **context,
                               cli_outcome *outcome)
{
    HRI_TRY(cli_context(&cli_matmul, &o->machine, false, context));
    HRI_TRY(cli_multiply(context, &o->product, outcome));
    return report(*context, o, outcome);
}

static int run(int argc, char **argv)
{
    options o = {.alpha = {.value = hr_real(1.0)}};
    const char *files[2] = {NULL, NULL};
    hr_context *context = NULL;
    hr_mpi_cluster cluster = HR_MPI_CLUSTER_INIT;
    cli_outcome outcome = {.seconds = 0.0};
    HRI_TRY(cli_parse(&cli_matmul, argc, argv, &o, files));
    o.product.a = files[0];
    o.product.b = files[1];
    HRI_TRY(check_options(&o));
    o.product.explain = o.json || !o.product.quiet; /* a report is printed */
    if (o.machines > 0) {
        HRI_TRY(cli_cluster_read(o.like, &cluster));
        cluster.count = (int)o.machines;
        o.product.cluster = &cluster;
    }
    if (cli_launched().count > 1 || o.machines > 0) {
        return cli_multiply_together(&cli_matmul, &o.machine, &o.product,
                                     o.json);
    }
    const int status = multiply_and_report(&o, &context, &outcome);
    cli_outcome_free(&outcome);
    return cli_context_end(&o.machine, context, status);
}

const cli_command cli_matmul = {
    .name = "matmul",
    .usage = "A.npy B.npy -o C.npy [options]",
    .summary = "multiply two matrices in files",
    .details =
        "Computes C = alpha A B + beta C0 on all accelerators chosen, in\n"
        "pieces that fit their memory. Prints what was moved and what took\n"
        "the time. A and B have the same type. Shapes are those of\n"
        "numpy.matmul: one dimension is a row in A and a column in B, more "
        "than\n"
        "two are batches of matrices. Files are .npy, .npz and safetensors, "
        "or\n"
        "elements alone with --shape and --type. W.npz:NAME is one array of\n"
        "several. C.npy is in row order. It appears when it is complete; an\n"
        "earlier file of that name stays until then. Started by mpirun, as\n"
        "in mpirun -n 4 headrace matmul ..., all processes multiply together;\n"
        "they must see the same files.",
    .examples =
        "  headrace matmul A.npy B.npy -o C.npy --verify\n"
        "  headrace matmul A.npy B.npy -o C.npy --accelerators 4xhost \\\n"
        "      --memory-limit 128MiB\n"
        "  headrace matmul A.npy B.npy -o D.npy --transpose-a --alpha 2i \\\n"
        "      --add C.npy --beta -1\n"
        "  headrace matmul A.npy B.npy --dry-run --json\n"
        "  headrace matmul A.raw B.raw -o C.raw --shape 300x200,200x250 \\\n"
        "      --type f32\n",
    .options = table,
    .operands = 2,
    .operand_names = "2 files, A.npy and B.npy",
    .run = run,
};
