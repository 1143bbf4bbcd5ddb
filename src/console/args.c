/* SPDX-License-Identifier: MIT */
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <headrace/status.h>

#include "base/printable.h"

#ifdef CONSOLE_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

static bool silent;

void cli_fail_silently(bool silently)
{
    silent = silently;
}

static void print(const char *format, va_list arguments)
{
    char text[4096], shown[4096];
    vsnprintf(text, sizeof text, format, arguments);
    if (silent) {
        (void)hr_set_last_error(HR_ERROR_IO, text);
        return;
    }
    fprintf(stderr, "headrace: %s", hri_printable(text, shown, sizeof shown));
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    if (!silent) {
        fputc('\n', stderr);
    }
    va_end(arguments);
    return CLI_FAILED;
}

int cli_flush(void)
{
    return fflush(stdout) == 0 ? CLI_OK
                               : cli_fail("cannot write to standard output: %s",
                                          strerror(errno));
}

int cli_wrong(const cli_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
    if (silent) {
        return CLI_WRONG;
    }
    fprintf(stderr, "; try headrace%s%s --help\n", command != NULL ? " " : "",
            command != NULL ? command->name : "");
    return CLI_WRONG;
}

/* The option that argument names. A '=' and a value may follow the name. */
static const cli_option *find_option(const cli_command *command,
                                     const char *argument)
{
    size_t length = strcspn(argument, "=");
    for (const cli_option *o = command->options; o->name != NULL; o++) {
        if (strncmp(o->name, argument, length) == 0 &&
            o->name[length] == '\0') {
            return o;
        }
    }
    return NULL;
}

int cli_find_name(const char *text, const char *names)
{
    const size_t length = strlen(text);
    for (int i = 0; *names != '\0'; i++) {
        const size_t next = strcspn(names, " ");
        if (next == length && memcmp(names, text, length) == 0) {
            return i;
        }
        names += next + (names[next] == ' ');
    }
    return -1;
}

static bool take_list(const cli_kind *kind, const char *text, void *field)
{
    memset(field, 0, kind->list_bytes);
    for (;;) {
        char word[96] = "";
        size_t length = strcspn(text, ",");
        if (length == 0 || length >= sizeof word) {
            return false;
        }
        memcpy(word, text, length);
        if (!kind->take(word, field)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

static bool take_whole(const cli_kind *kind, const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 &&
           *number >= kind->least && *number <= kind->most;
}

bool cli_take(const cli_kind *kind, const char *text, void *field)
{
    if (kind->most > 0) {
        return take_whole(kind, text, field);
    }
    if (kind->names != NULL) {
        const int found = cli_find_name(text, kind->names);
        *(int *)field = found + kind->first;
        return found >= 0;
    }
    return kind->list_bytes > 0 ? take_list(kind, text, field)
                                : kind->take(text, field);
}

/* Read the option at argv[*at] and its value, which may be the next
 * argument. */
static int take_option(const cli_command *command, int argc, char **argv,
                       int *at, void *values)
{
    const char *argument = argv[*at];
    const cli_option *o = find_option(command, argument);
    if (o == NULL) {
        return cli_wrong(command, "headrace %s has no option %s", command->name,
                         argument);
    }
    void *field = (char *)values + o->offset;
    const char *text = strchr(argument, '=');
    if (o->kind->wants == NULL) {
        if (text != NULL) {
            return cli_wrong(command, "%s takes no value", o->name);
        }
        *(bool *)field = true;
        return CLI_OK;
    }
    if (text != NULL) {
        text++;
    } else if (*at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0) {
        text = argv[++*at]; /* a value such as "-1", but not "--json" */
    } else {
        return cli_wrong(command, "%s needs a value, %s", o->name, o->value);
    }
    if (!cli_take(o->kind, text, field)) {
        return cli_wrong(command, "%s: '%s' is not %s", o->name, text,
                         o->kind->wants);
    }
    return CLI_OK;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *values,
              const char **operands)
{
    int count = 0;
    bool options = true; /* until "--" */
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0' &&
                   argv[i][1] != ':') {
            int status = take_option(command, argc, argv, &i, values);
            if (status != CLI_OK) {
                return status;
            }
        } else {
            if (count < command->operands) {
                operands[count] = argv[i];
            }
            count++;
        }
    }
    if (count != command->operands) {
        return cli_wrong(command, "headrace %s takes %s, but %d %s given",
                         command->name, command->operand_names, count,
                         count == 1 ? "was" : "were");
    }
    return CLI_OK;
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

/* Print "  --alpha X            text". Further lines of the text get the same
 * indent. */
static void print_option(const cli_option *o)
{
    enum { COLUMN = 26 };
    int width = printf("  %s%s%s", o->name, o->value != NULL ? " " : "",
                       o->value != NULL ? o->value : "");
    if (width >= COLUMN) {
        putchar('\n');
        width = 0;
    }
    printf("%*s", COLUMN - width, "");
    for (const char *c = o->help; *c != '\0'; c++) {
        printf("%c%*s", *c, *c == '\n' ? COLUMN : 0, "");
    }
    putchar('\n');
}

static void print_help(const cli_command *command)
{
    printf("usage: headrace %s %s\n\n%s\n\n", command->name, command->usage,
           command->details);
    printf("options:\n");
    for (const cli_option *o = command->options; o->name != NULL; o++) {
        print_option(o);
    }
    printf("  --help                  print this\n\nexamples:\n%s",
           command->examples);
}

int cli_start(const cli_command *command, int argc, char **argv)
{
    if (command->options == NULL || !wants_help(argc, argv)) {
        return command->run(argc, argv);
    }
    print_help(command);
    return CLI_OK;
}

/* Exit without the handlers of libraries: OpenBLAS's waits for its threads,
 * which wait for ever when there is no memory for them. */
static _Noreturn void leave(int status)
{
#ifdef CONSOLE_FINDS_LEAKS
    __lsan_do_leak_check(); /* which such a handler would do */
#endif
    _exit(status);
}

/* A write to a closed pipe or a full disk fails only now, unless cli_flush has
 * reported it. */
void cli_finish(int status)
{
    bool bad = ferror(stdout) != 0;
    errno = 0;
    bad = fflush(stdout) != 0 || bad;
    /* closed from the start, which matters only to those that write there */
    bad = (fclose(stdout) != 0 && errno != EBADF) || bad;
    if (bad && status == CLI_OK) {
        status =
            cli_fail("cannot write to standard output%s%s",
                     errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
    }
    leave(status);
}
