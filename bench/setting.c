/* SPDX-License-Identifier: MIT */
/* The lists of accelerators that a benchmark measures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "bench/bench.h"
#include "console/context.h"

/* The number N of "cuda:N", also of a virtual one ("cuda:N#0"); -1: another. */
static int gpu_index(const char *path)
{
    return strncmp(path, "cuda:", 5) == 0 ? atoi(path + 5) : -1;
}

/* Append ",N" to setting->gpus, unless N is there. */
static void add_gpu(bench_setting *setting, int gpu)
{
    char number[16], all[sizeof setting->gpus + 2];
    snprintf(number, sizeof number, ",%d,", gpu);
    snprintf(all, sizeof all, ",%s,", setting->gpus);
    if (strstr(all, number) == NULL) {
        size_t used = strlen(setting->gpus);
        snprintf(setting->gpus + used, sizeof setting->gpus - used, "%s%d",
                 used > 0 ? "," : "", gpu);
    }
}

/* Describe a setting. For peers its CUDA GPUs are listed, if it has nothing
 * else but the host. */
static void describe_setting(bench_setting *setting, const hr_context *context)
{
    bool others = false;
    setting->count = hr_accelerator_count(context);
    setting->host_only = setting->all_gpus = setting->same_name = true;
    for (uint32_t i = 0; i < setting->count; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        if (hr_accelerator_describe(context, i, &info) != HR_OK) {
            continue;
        }
        if (i == 0) {
            snprintf(setting->device, sizeof setting->device, "%s", info.name);
        }
        int gpu = gpu_index(info.path);
        bool host = strncmp(info.path, "host", 4) == 0;
        others = others || (gpu < 0 && !host);
        setting->host_only = setting->host_only && host;
        setting->all_gpus = setting->all_gpus && !host && !info.emulated;
        setting->same_name =
            setting->same_name && strcmp(setting->device, info.name) == 0;
        if (gpu >= 0) {
            add_gpu(setting, gpu);
        }
    }
    if (others) {
        setting->gpus[0] = '\0';
    }
}

int bench_context(const bench_setting *setting, hr_context **context)
{
    const cli_machine machine = {.accelerators = setting->list,
                                 .memory_limit = setting->memory_limit};
    return cli_context(&bench_command, &machine, false, context);
}

/* Try the bench's next setting, and count it if it works. list is the setting's
 * own. NULL means the environment's, which messages then name. */
static int try_setting(benchmark *bench, const char *list)
{
    bench_setting *setting = &bench->settings[bench->setting_count];
    hr_context *context = NULL;
    const cli_machine machine = {.accelerators = list,
                                 .memory_limit = setting->memory_limit};
    HRI_TRY(cli_context(&bench_command, &machine, false, &context));
    describe_setting(setting, context);
    bench->setting_count++;
    hr_context_destroy(context);
    return CLI_OK;
}

/* Add a setting for "LIST" or "LIST@SIZE", and try it. */
static int add_setting(benchmark *bench, char *text, uint64_t limit)
{
    if (bench->setting_count == BENCH_SETTINGS_MAX) {
        return cli_wrong(&bench_command, "--accelerators: more than %d lists",
                         BENCH_SETTINGS_MAX);
    }
    bench_setting *setting = &bench->settings[bench->setting_count];
    *setting = (bench_setting){.list = text, .memory_limit = limit};
    snprintf(setting->name, sizeof setting->name, "%.150s", text);
    char *at = strchr(text, '@');
    if (at != NULL) {
        *at = '\0';
        if (!cli_take(&cli_bytes, at + 1, &setting->memory_limit)) {
            return cli_wrong(&bench_command, "--accelerators: '%s' is not %s",
                             at + 1, cli_bytes.wants);
        }
    }
    if (text[0] == '\0') {
        return cli_wrong(&bench_command,
                         "--accelerators: the value has an empty list");
    }
    return try_setting(bench, setting->list);
}

int bench_settings(benchmark *bench, const char *usual)
{
    const char *list = getenv("HEADRACE_ACCELERATORS");
    const char *lists = bench->o.accelerators;
    const uint64_t limit = bench->o.memory_limit;
    if (lists == NULL && list != NULL && list[0] != '\0') {
        bench_setting *setting = &bench->settings[0];
        *setting = (bench_setting){.list = list, .memory_limit = limit};
        snprintf(setting->name, sizeof setting->name, "%.150s", list);
        return try_setting(bench, NULL);
    }
    lists = lists != NULL ? lists : usual;
    if (strlen(lists) >= sizeof bench->lists) {
        return cli_wrong(&bench_command, "--accelerators: more than %zu bytes",
                         sizeof bench->lists - 1);
    }
    memcpy(bench->lists, lists, strlen(lists) + 1);
    for (char *one = bench->lists, *next; one != NULL; one = next) {
        next = strchr(one, ';');
        if (next != NULL) {
            *next++ = '\0';
        }
        HRI_TRY(add_setting(bench, one, limit));
    }
    return CLI_OK;
}
