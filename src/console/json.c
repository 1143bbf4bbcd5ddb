/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <math.h>

#include "base/printable.h"

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *s = text; *s != '\0';) {
        const int length = hri_printable_length(s);
        if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (length > 0) {
            fwrite(s, 1, (size_t)length, out);
        } else if ((unsigned char)*s < 0x80) {
            fprintf(out, "\\u%04x", (unsigned)*s);
        } else { /* not text: the replacement character */
            fputs("\\ufffd", out);
        }
        s += length > 0 ? length : 1;
    }
    fputc('"', out);
}

static void write_key(cli_json *json, const char *key)
{
    if (json->follows) {
        fputs(", ", json->out);
    }
    if (key != NULL) {
        write_string(json->out, key);
        fputs(": ", json->out);
    }
    json->follows = true;
}

void cli_json_begin(cli_json *json, const char *key, char bracket)
{
    write_key(json, key);
    fputc(bracket, json->out);
    json->follows = false;
}

void cli_json_end(cli_json *json, char bracket)
{
    fputc(bracket, json->out);
    json->follows = true;
}

void cli_json_text(cli_json *json, const char *key, const char *text)
{
    if (text == NULL) {
        cli_json_null(json, key);
        return;
    }
    write_key(json, key);
    write_string(json->out, text);
}

void cli_json_number(cli_json *json, const char *key, double number)
{
    if (!isfinite(number)) { /* JSON has no such numbers */
        cli_json_null(json, key);
        return;
    }
    write_key(json, key);
    fprintf(json->out, "%.9g", number);
}

void cli_json_count(cli_json *json, const char *key, uint64_t count)
{
    write_key(json, key);
    fprintf(json->out, "%" PRIu64, count);
}

void cli_json_bool(cli_json *json, const char *key, bool value)
{
    write_key(json, key);
    fputs(value ? "true" : "false", json->out);
}

void cli_json_null(cli_json *json, const char *key)
{
    write_key(json, key);
    fputs("null", json->out);
}

void cli_json_line(cli_json *json)
{
    cli_json_end(json, '}');
    fputc('\n', json->out);
}

void cli_json_embed(FILE *out, const char *json)
{
    for (const char *s = json; *s != '\0';) {
        const bool space = *s == '\n' || *s == '\t' || *s == '\r';
        const int length = space ? 1 : hri_printable_length(s);
        if (*s == '<') { /* in a string */
            fputs("\\u003c", out);
        } else if (length > 0) {
            fwrite(s, 1, (size_t)length, out);
        } else {
            fputs("\\ufffd", out);
        }
        s += length > 0 ? length : 1;
    }
}
