/* SPDX-License-Identifier: MIT */
/* headrace bench: how fast, and how fast beside others. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "context.h"
#include "values.h"

enum { TYPES_MAX = 8, LIST_BYTES = 4096 };

typedef struct types {
    hr_type type[TYPES_MAX];
    int count;
} types;

typedef struct options {
    int64_t size;
    cli_shape shape;
    types types;
    const char *accelerators;
    uint64_t memory_limit;
    int64_t repeat;
    bool from_files, json;
} options;

/* Types with commas between them. */
static bool take_types(const char *text, void *field)
{
    types *t = field;
    t->count = 0;
    while (t->count < TYPES_MAX) {
        char name[8];
        size_t length = strcspn(text, ",");
        if (length >= sizeof name) {
            return false;
        }
        memcpy(name, text, length);
        name[length] = '\0';
        hr_type type;
        if (!cli_take_type(name, &type) || type == HR_I32) {
            return false; /* nothing is multiplied in i32 */
        }
        t->type[t->count++] = type;
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
    return false;
}

static bool take_repeat(const char *text, void *field)
{
    return cli_count.take(text, field) && *(int64_t *)field <= 10000;
}

static bool take_size(const char *text, void *field)
{
    return cli_count.take(text, field) && *(int64_t *)field <= 1 << 19;
}

static const cli_kind kind_types = {
    take_types,
    "a list of types such as f32,f64 (f32 f64 c32 c64 f16 bf16 i8)"};
static const cli_kind kind_repeat = {take_repeat,
                                     "a whole number from 1 to 10000"};
static const cli_kind kind_size = {take_size,
                                   "a whole number from 1 to 524288"};

static const cli_option table[] = {
    {"--size", "N", &kind_size, offsetof(options, size),
     "square matrices of this size (6144)"},
    {"--shape", "MxKxN", &cli_shape3, offsetof(options, shape),
     "or an MxK matrix times a KxN one"},
    {"--types", "LIST", &kind_types, offsetof(options, types),
     "such as f32,c64 (f32,f64)"},
    {"--accelerators", "LIST[;LIST]", &cli_list,
     offsetof(options, accelerators),
     "each LIST is measured by itself; LIST@SIZE limits\n"
     "the memory of its accelerators\n"
     "(host;4xhost@128MiB)"},
    {"--memory-limit", "SIZE", &cli_bytes, offsetof(options, memory_limit),
     "for each accelerator of lists without @SIZE"},
    {"--repeat", "R", &kind_repeat, offsetof(options, repeat),
     "runs of each after the first one (5)"},
    {"--from-files", NULL, &cli_flag, offsetof(options, from_files),
     "also from files into a file, in a new folder in\n"
     "TMPDIR (/var/tmp): read from disk, and from memory"},
    {"--json", NULL, &cli_flag, offsetof(options, json),
     "print a JSON object for each row, one a line"},
    {NULL, NULL, NULL, 0, NULL},
};

/* "LIST" or "LIST@SIZE" into one more context. */
static int add_setting(cli_bench *bench, char *text, const options *o)
{
    if (bench->setting_count == CLI_SETTINGS_MAX) {
        return cli_wrong(&cli_bench_command,
                         "--accelerators: more than %d lists",
                         CLI_SETTINGS_MAX);
    }
    cli_setting *setting = &bench->settings[bench->setting_count];
    snprintf(setting->name, sizeof setting->name, "%.150s", text);
    uint64_t limit = o->memory_limit;
    char *at = strchr(text, '@');
    if (at != NULL) {
        *at = '\0';
        if (!cli_take_bytes(at + 1, &limit)) {
            return cli_wrong(&cli_bench_command,
                             "--accelerators: '%s' is not %s", at + 1,
                             cli_bytes.wants);
        }
    }
    if (text[0] == '\0') {
        return cli_wrong(&cli_bench_command,
                         "--accelerators: '%s' has an empty list",
                         o->accelerators);
    }
    int status =
        cli_context(&cli_bench_command, text, limit, &setting->context);
    bench->setting_count += status == CLI_OK;
    return status;
}

static int add_settings(cli_bench *bench, const options *o)
{
    char lists[LIST_BYTES];
    const char *given =
        o->accelerators != NULL ? o->accelerators : "host;4xhost@128MiB";
    if (strlen(given) >= sizeof lists) {
        return cli_wrong(&cli_bench_command,
                         "--accelerators: more than %d bytes", LIST_BYTES - 1);
    }
    memcpy(lists, given, strlen(given) + 1);
    int status = CLI_OK;
    char *next = lists;
    while (next != NULL && status == CLI_OK) {
        char *list = next;
        next = strchr(list, ';');
        if (next != NULL) {
            *next++ = '\0';
        }
        status = add_setting(bench, list, o);
    }
    return status;
}

static int check(const options *o, const char *subject)
{
    if (strcmp(subject, "matmul") != 0) {
        return cli_wrong(&cli_bench_command, "there is no benchmark '%s'",
                         subject);
    }
    if (o->size != 0 && o->shape.extents[0] != 0) {
        return cli_wrong(&cli_bench_command,
                         "--size and --shape exclude each other");
    }
    return CLI_OK;
}

static void prepare(cli_bench *bench, const options *o)
{
    int64_t size = o->size != 0 ? o->size : 6144;
    bool shaped = o->shape.extents[0] != 0;
    bench->m = shaped ? o->shape.extents[0] : size;
    bench->k = shaped ? o->shape.extents[1] : size;
    bench->n = shaped ? o->shape.extents[2] : size;
    bench->repeat = o->repeat;
    bench->from_files = o->from_files;
    bench->json = o->json;
}

static int measure(cli_bench *bench, const options *o)
{
    int status = add_settings(bench, o);
    if (status == CLI_OK) {
        bench->has_cblas = cli_cblas_find_loaded(&bench->cblas);
        bench->peer_count = cli_peers_start(bench->peers);
    }
    for (int i = 0; i < o->types.count && status == CLI_OK; i++) {
        bench->type = o->types.type[i];
        status = cli_bench_type(bench);
    }
    return status;
}

static void finish(cli_bench *bench)
{
    cli_peers_stop(bench->peers, bench->peer_count);
    for (int i = 0; i < bench->setting_count; i++) {
        hr_context_destroy(bench->settings[i].context);
    }
    free(bench);
}

static int run(int argc, char **argv)
{
    options o = {.repeat = 5, .types = {{HR_F32, HR_F64}, 2}};
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
    prepare(bench, &o);
    status = measure(bench, &o);
    finish(bench);
    return status;
}

const cli_command cli_bench_command = {
    .name = "bench",
    .usage = "matmul [options]",
    .summary = "measure products beside the same CBLAS called directly",
    .details =
        "Multiplies random matrices on each list of accelerators, in turns\n"
        "with the CBLAS that Headrace itself uses, called directly, and with\n"
        "OpenBLAS in a process of its own with the core type that is fastest\n"
        "here. Prints the first run, and the best and the median of the "
        "others,\n"
        "and speeds relative to both peers. Results are verified.",
    .examples =
        "  headrace bench matmul\n"
        "  headrace bench matmul --size 2048 --types f32 --repeat 9 --json\n"
        "  headrace bench matmul --shape 20000x500x20000 --from-files \\\n"
        "      --accelerators 'host;opencl;2xhost,opencl@256MiB'\n",
    .options = table,
    .operands = 1,
    .operand_names = "what to measure (matmul)",
    .run = run,
};
