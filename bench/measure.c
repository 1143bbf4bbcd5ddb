/* SPDX-License-Identifier: MIT */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The value of the first line of /proc/cpuinfo that begins with key. */
static bool read_cpuinfo(const char *key, char *value, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file != NULL && !found && fgets(value, (int)size, file) != NULL) {
        char *colon = strchr(value, ':');
        if (strncmp(value, key, strlen(key)) == 0 && colon != NULL) {
            found = true;
            const char *text = colon + 1 + (colon[1] == ' ');
            memmove(value, text, strlen(text) + 1);
            value[strcspn(value, "\n")] = '\0';
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

bool bench_cpu_has(const char *flag)
{
    char flags[8192];
    if (!read_cpuinfo("flags", flags, sizeof flags)) {
        return false;
    }
    char *rest = NULL;
    for (char *word = strtok_r(flags, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, flag) == 0) {
            return true;
        }
    }
    return false;
}

void bench_cpu_name(char *name, size_t size)
{
    char model[8192];
    if (!read_cpuinfo("model name", model, sizeof model)) {
        snprintf(model, sizeof model, "unknown");
    }
    snprintf(name, size, "%ld x %.80s", sysconf(_SC_NPROCESSORS_ONLN), model);
}

cli_json bench_json_begin(const char *bench)
{
#ifdef __clang__
    const char *compiler = __VERSION__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    char cpu[128];
    cli_json json = {.out = stdout};
    bench_cpu_name(cpu, sizeof cpu);
    cli_json_begin(&json, NULL, '{');
    cli_json_text(&json, "bench", bench);
    cli_json_text(&json, "commit", HEADRACE_COMMIT);
    cli_json_text(&json, "compiler", compiler);
    cli_json_text(&json, "cpu", cpu);
    return json;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

void bench_sum_up(double *seconds, int64_t count, double *best, double *median)
{
    int64_t half = count / 2;
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    *best = seconds[0];
    *median = count % 2 == 1 ? seconds[half]
                             : 0.5 * (seconds[half - 1] + seconds[half]);
}

void bench_note(int64_t run, double seconds, double *first, double *best)
{
    *first = run == 0 ? seconds : *first;
    *best = run <= 1 || seconds < *best ? seconds : *best;
}
