/* SPDX-License-Identifier: MIT */
/* Command lines. One table of options for each subcommand serves to read them
 * and to print the help. */
#ifndef CONSOLE_ARGS_H
#define CONSOLE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h" /* HRI_TRY */

/* Exit statuses. HRI_TRY forwards them. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_WRONG = 2 };

/* A kind of value: how to read its text, and what to say when it is wrong. */
typedef struct cli_kind {
    /* Store the value of text in *field. False when the text is no such value.
     * NULL for a flag, which has a bool. */
    bool (*take)(const char *text, void *field);
    const char *wants; /* completes the message "... is not" */
    /* If not 0, the value is a list of words with commas. The field has so many
     * bytes and is zeroed, and take gets each word. */
    size_t list_bytes;
    /* Instead of take: the words, with spaces between them, for the values of
     * an enumeration from `first` on. */
    const char *names;
    int first;
    /* Instead of take: the limits of an int64_t. most is above 0. */
    int64_t least, most;
} cli_kind;

typedef struct cli_option {
    const char *name;  /* with its dashes; NULL ends a table */
    const char *value; /* the value's name in the help; NULL: a flag */
    const cli_kind *kind;
    size_t offset; /* of the field in the subcommand's struct */
    const char *help;
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *usage;   /* what follows the name on the command line */
    const char *summary; /* one line */
    const char *details; /* paragraphs for the help */
    const char *examples;
    const cli_option *options; /* NULL: run reads its own options and has the
                                  help */
    int operands;              /* their exact number */
    const char *operand_names; /* such as "2 files, A.npy and B.npy" */
    int (*run)(int argc, char **argv); /* returns the exit status */
} cli_command;

/* Read the arguments argv[0 .. argc - 1] that follow the subcommand: options
 * into the struct at values, and operands into operands[]. On CLI_WRONG a
 * message has been printed. */
int cli_parse(const cli_command *command, int argc, char **argv, void *values,
              const char **operands);

/* Run a subcommand with the arguments that follow its name, or print its help
 * if one of them asks for it. Returns an exit status. */
int cli_start(const cli_command *command, int argc, char **argv);

/* End the program with this status. When standard output cannot be written,
 * print a message and end it with CLI_FAILED. Exit handlers do not run. */
_Noreturn void cli_finish(int status);

/* Store the value of text in *field. False when the text is not of that
 * kind. */
bool cli_take(const cli_kind *kind, const char *text, void *field);

/* The index of text among names, which has spaces between its words. -1:
 * none. */
int cli_find_name(const char *text, const char *names);

/* From now on cli_fail, and what would say that a command line is wrong, print
 * nothing. The sentence is the library's last error then. */
void cli_fail_silently(bool silently);

/* Print "headrace: sentence" to standard error, with what a terminal would obey
 * escaped; returns CLI_FAILED. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flush standard output. When it cannot be written, print a message and return
 * CLI_FAILED. */
int cli_flush(void);

/* Like cli_fail, for a wrong command line. It also tells where to find help,
 * and returns CLI_WRONG. command may be NULL: the whole program. */
int cli_wrong(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
