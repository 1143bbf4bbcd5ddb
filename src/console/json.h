/* SPDX-License-Identifier: MIT */
/* Writing JSON: one value on one line, which is valid for any input. */
#ifndef CONSOLE_JSON_H
#define CONSOLE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct cli_json {
    FILE *out;
    bool follows; /* another member comes before, on this level */
} cli_json;

/* Each function writes one member of an object. key is NULL in an array and for
 * the outermost value. */
void cli_json_begin(cli_json *json, const char *key, char bracket); /* { [ */
void cli_json_end(cli_json *json, char bracket);                    /* } ] */
void cli_json_text(cli_json *json, const char *key,
                   const char *text); /* null where it is NULL */
void cli_json_number(cli_json *json, const char *key, double number);
void cli_json_count(cli_json *json, const char *key, uint64_t count);
void cli_json_bool(cli_json *json, const char *key, bool value);
void cli_json_null(cli_json *json, const char *key);

/* End the outermost object, and the line. */
void cli_json_line(cli_json *json);

/* Write JSON that was checked into a <script> of a page. No text in it ends the
 * element. Bytes that are no text become the replacement character. */
void cli_json_embed(FILE *out, const char *json);

#endif
