/* SPDX-License-Identifier: MIT */
/* headrace-bench-dialect: see bench.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char usage[] =
    "usage: headrace-bench-dialect [OPTION...]\n"
    "Kernels in the dialect beside the same kernels written by hand, in "
    "turns.\n"
    "\n"
    "  --sections LIST  of host, opencl, cuda, launch (default: all)\n"
    "  --size N         of the product in registers (default 8192)\n"
    "  --repeat N       how often each side runs after its first call (9)\n"
    "  --launches N     of the kernel that does nothing (20000)\n"
    "  --quick          small problems, to try the program\n"
    "  --json           JSON lines\n"
    "\n"
    "Ratios are speeds, dialect over hand; those of launches are times. Exit\n"
    "status: 0, 1 (something failed or was wrong), 2 (the command line is "
    "wrong).\n";

/* A whole number from 1 on; 0: it is none. */
static int64_t number(const char *text)
{
    char *end = NULL;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    return end != NULL && *end == '\0' && value > 0 && value <= 32768 * 32768L
               ? value
               : 0;
}

static bool parse(bench_options *o, int count, char **arguments)
{
    bool ok = true;
    for (int i = 1; i < count && ok; i++) {
        const char *name = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        i += strcmp(name, "--quick") != 0 && strcmp(name, "--json") != 0;
        if (strcmp(name, "--sections") == 0 && value != NULL) {
            o->sections = value;
        } else if (strcmp(name, "--size") == 0) {
            o->size = number(value);
            ok = o->size > 0 && o->size <= 32768;
        } else if (strcmp(name, "--repeat") == 0) {
            o->repeat = (int)number(value);
            ok = o->repeat > 0;
        } else if (strcmp(name, "--launches") == 0) {
            o->launches = (int)number(value);
            ok = o->launches > 0;
        } else if (strcmp(name, "--quick") == 0) {
            o->quick = true;
        } else if (strcmp(name, "--json") == 0) {
            o->json = true;
        } else {
            ok = false;
        }
    }
    return ok;
}

static bool wanted(const bench_options *o, const char *section)
{
    const char *at = strstr(o->sections, section);
    size_t length = strlen(section);
    return at != NULL && (at == o->sections || at[-1] == ',') &&
           (at[length] == '\0' || at[length] == ',');
}

int main(int count, char **arguments)
{
    static const char *const contests[] = {"host", "opencl", "cuda"};
    bench_options o = {.sections = "host,opencl,cuda,launch",
                       .size = 8192,
                       .repeat = 9,
                       .launches = 20000};
    bool ok = true;
    if (count == 2 && strcmp(arguments[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!parse(&o, count, arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.quick) {
        o.size = o.size > 256 ? 256 : o.size;
        o.repeat = o.repeat > 2 ? 2 : o.repeat;
        o.launches = o.launches > 500 ? 500 : o.launches;
    }
    bench_print_head(&o);
    for (size_t i = 0; i < sizeof contests / sizeof contests[0]; i++) {
        ok = (!wanted(&o, contests[i]) || bench_contest(&o, contests[i])) && ok;
    }
    ok = (!wanted(&o, "launch") || bench_launches(&o)) && ok;
    return ok ? 0 : 1;
}
