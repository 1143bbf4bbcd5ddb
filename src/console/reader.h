/* SPDX-License-Identifier: MIT */
/* Reading JSON [RFC8259] from memory, one value after the other. After a fault
 * every function returns false. */
#ifndef CONSOLE_READER_H
#define CONSOLE_READER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_reader {
    const char *at, *end; /* what is left. At `end` stands a 0 */
    const char *wanted;   /* what should stand at `at` and does not; NULL: there
                             was no fault. Where at == end, text is missing */
    int depth;
    bool follows; /* another member comes before, on this level */
} cli_reader;

/* Begin an object or array. bracket is { or [. */
bool cli_read_begin(cli_reader *reader, char bracket);

/* Go to the value of the next member of an object, or to the next element of an
 * array. False at the end, which is passed. The key is cut off if need be. */
bool cli_read_member(cli_reader *reader, char *key, size_t bytes);
bool cli_read_element(cli_reader *reader);

/* Read a value. Text is cut off if need be; ? stands for characters that are
 * written as \uXXXX and the like. Numbers are finite. */
bool cli_read_text(cli_reader *reader, char *text, size_t bytes);
bool cli_read_number(cli_reader *reader, double *number);
bool cli_read_any(cli_reader *reader);

/* Whether only space follows. */
bool cli_read_end(cli_reader *reader);

#endif
