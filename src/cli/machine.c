/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <stdio.h>
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

bool cli_cpu_has(const char *flag)
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

void cli_cpu_name(char *name, size_t size)
{
    char model[8192];
    if (!read_cpuinfo("model name", model, sizeof model)) {
        snprintf(model, sizeof model, "unknown");
    }
    snprintf(name, size, "%ld x %.80s", sysconf(_SC_NPROCESSORS_ONLN), model);
}

const char *cli_build_commit(void)
{
    return HEADRACE_COMMIT;
}

const char *cli_build_compiler(void)
{
#ifdef __clang__
    return __VERSION__;
#else
    return "gcc " __VERSION__;
#endif
}

void cli_machine_json(cli_json *json, const char *bench)
{
    char cpu[128];
    cli_cpu_name(cpu, sizeof cpu);
    cli_json_text(json, "bench", bench);
    cli_json_text(json, "commit", cli_build_commit());
    cli_json_text(json, "compiler", cli_build_compiler());
    cli_json_text(json, "cpu", cpu);
}
