/* SPDX-License-Identifier: MIT */
/* Command lines: one table of options per subcommand, from which they are read
 * and the help is printed. */
#ifndef CONSOLE_ARGS_H
#define CONSOLE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_WRONG = 2 };

/* A kind of value: how its text is read, and what to say when it cannot be. */
typedef struct cli_kind {
    /* Store the value of text in *field; false when the text is no value.
     * NULL for a flag, whose field is a bool. */
    bool (*take)(const char *text, void *field);
    const char *wants; /* completes the sentence "... is not" */
    /* Not 0: a list of words with commas. The field, of so many bytes, is
     * zeroed and take gets each word. */
    size_t list_bytes;
    /* Instead of take: the words, with spaces, that stand for the values of an
     * enumeration from `first` on. */
    const char *names;
    int first;
    /* Instead of take: the whole numbers of an int64_t; most is above 0. */
    int64_t least, most;
} cli_kind;

typedef struct cli_option {
    const char *name;  /* with its dashes; NULL ends a table */
    const char *value; /* what the help calls its value; NULL: a flag */
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
    const cli_option *options; /* NULL: run reads its own, and has the help */
    int operands;              /* how many, exactly */
    const char *operand_names; /* such as "2 files, A.npy and B.npy" */
    int (*run)(int argc, char **argv); /* returns the exit status */
} cli_command;

/* Read argv[0 .. argc - 1], what follows the subcommand, into the struct that
 * values points to, and its operands into operands[]. A sentence has been
 * printed when it returns CLI_WRONG. */
int cli_parse(const cli_command *command, int argc, char **argv, void *values,
              const char **operands);

/* Run a subcommand on what follows its name, or print its help if that is asked
 * for among it. Returns an exit status. */
int cli_start(const cli_command *command, int argc, char **argv);

/* The end of a program: the exit status that it returns, or CLI_FAILED and a
 * sentence when its standard output has not gone where it should. */
int cli_finish(int status);

/* Store the value of text in *field; false when the text is none of that kind.
 */
bool cli_take(const cli_kind *kind, const char *text, void *field);

/* Where text stands among names, words with spaces between; -1: nowhere. */
int cli_find_name(const char *text, const char *names);

/* Print "headrace: sentence" to standard error; returns CLI_FAILED. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Have all that was printed so far appear. When it cannot, a sentence has been
 * printed and CLI_FAILED is returned. */
int cli_flush(void);

/* The same as cli_fail for a wrong command line, and where to find help;
 * returns CLI_WRONG. command may be NULL: the whole program. */
int cli_wrong(const cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
