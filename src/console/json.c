/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <math.h>

/* How many bytes of well-formed UTF-8 start at s: 2 to 4; 0 for none. Bytes
 * below 0x80 are not asked about. [Unicode, table 3-7] */
static int utf8_length(const unsigned char *s)
{
    static const struct {
        unsigned char first, last, low, high; /* of byte 0, of byte 1 */
        int length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last) {
            continue;
        }
        bool good = s[1] >= forms[i].low && s[1] <= forms[i].high;
        for (int b = 2; good && b < forms[i].length; b++) {
            good = s[b] >= 0x80 && s[b] <= 0xbf;
        }
        return good ? forms[i].length : 0;
    }
    return 0;
}

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    const unsigned char *s = (const unsigned char *)text;
    while (*s != '\0') {
        int length = *s < 0x80 ? 1 : utf8_length(s);
        if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(out, "\\u%04x", *s);
        } else if (length == 0) { /* not text: the replacement character */
            fputs("\\ufffd", out);
        } else {
            fwrite(s, 1, (size_t)length, out);
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

void cli_json_maybe(cli_json *json, const char *key, bool there, double number)
{
    cli_json_number(json, key, there ? number : NAN);
}

void cli_json_line(cli_json *json)
{
    cli_json_end(json, '}');
    fputc('\n', json->out);
}
