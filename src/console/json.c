/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <math.h>

/* The number of bytes of well-formed UTF-8 that start at s: 2 to 4. 0 for
 * anything else, such as overlong forms and surrogates. s must not be below
 * 0x80. [Unicode, table 3-7] */
static int utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = 2 + (s[0] >= 0xe0) + (s[0] >= 0xf0);
    uint32_t code = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (s[i] & 0x3fu);
    }
    const bool good = s[0] >= 0xc0 && s[0] <= 0xf4 && code >= least[length] &&
                      code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return good ? length : 0;
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

void cli_json_line(cli_json *json)
{
    cli_json_end(json, '}');
    fputc('\n', json->out);
}
