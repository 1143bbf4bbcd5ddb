/* SPDX-License-Identifier: MIT */
/* headrace: matrices and accelerators from the command line. */
#include <stdio.h>
#include <string.h>

#include <headrace/headrace.h>

#include "commands.h"
#include "console/processes.h"
#include "console/signals.h"

static const cli_command *const commands[] = {
    &cli_devices, &cli_generate, &cli_matmul,
    &cli_filter,  &cli_report,   &cli_bench,
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_overview(void)
{
    printf("usage: headrace COMMAND [options]\n\n"
           "Multiplies matrices and filters pictures in files. It uses "
           "all accelerators\n"
           "of this machine: the CPU, NVIDIA GPUs and OpenCL devices. Files "
           "may be larger\n"
           "than any accelerator's memory.\n\ncommands:\n");
    for (int i = 0; i < COMMANDS; i++) {
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    }
    printf("  %-10s %s\n", "help",
           "explain a command, as in: headrace help matmul");
    printf(
        "\noptions:\n"
        "  --help     print this\n"
        "  --version  print the version of the command and of its library\n\n"
        "examples:\n"
        "  headrace devices\n"
        "  headrace generate --shape 8192x4096 --type f32 -o A.npy\n"
        "  headrace generate --shape 4096x6000 --type f32 --seed 1 -o B.npy\n"
        "  headrace matmul A.npy B.npy -o C.npy --verify\n\n"
        "Exit status: 0 when all went well, 1 when the work failed, 2 when "
        "the command\nline is wrong.\n");
}

static const cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int help(int argc, char **argv)
{
    if (argc == 0 || is_help(argv[0])) {
        print_overview();
        return CLI_OK;
    }
    if (argc > 1) {
        return cli_wrong(NULL, "help explains 1 command, but %d were given",
                         argc);
    }
    const cli_command *command = find_command(argv[0]);
    char *arguments[] = {(char[]){"--help"}, NULL};
    return command != NULL
               ? cli_start(command, 1, arguments)
               : cli_wrong(NULL, "there is no command '%s'", argv[0]);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        return cli_wrong(NULL, "a command is missing");
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 && argc > 2) {
        return cli_wrong(NULL, "--version takes nothing, but '%s' was given",
                         argv[2]);
    }
    if (strcmp(name, "--version") == 0) {
        printf("headrace %d.%d.%d, library %s\n", HR_VERSION_MAJOR,
               HR_VERSION_MINOR, HR_VERSION_PATCH, hr_version());
        return CLI_OK;
    }
    if (strcmp(name, "help") == 0 || is_help(name)) {
        return help(argc - 2, argv + 2);
    }
    const cli_command *command = find_command(name);
    if (command == NULL) {
        return cli_wrong(NULL, "there is no %s '%s'",
                         name[0] == '-' ? "option" : "command", name);
    }
    return cli_start(command, argc - 2, argv + 2);
}

/* What is not done together is done by process 0 alone, which prints for all.
 */
static bool is_done_elsewhere(int argc, char **argv)
{
    if (cli_launched().rank == 0) {
        return false;
    }
    cli_fail_silently(true);
    cli_signals_say_nothing();
    return argc < 2 ||
           (strcmp(argv[1], cli_matmul.name) != 0 &&
            strcmp(argv[1], cli_devices.name) != 0) ||
           freopen("/dev/null", "w", stdout) == NULL;
}

int main(int argc, char **argv)
{
    if (is_done_elsewhere(argc, argv)) {
        return CLI_OK;
    }
    cli_signals_init();
    if (cli_launched().count > 1) {
        /* Launchers end the others when one fails. Say why it did first. */
        cli_signals_phase(CLI_HELD);
    }
    cli_finish(dispatch(argc, argv));
}
