/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

static bool fail(cli_reader *r, const char *wanted)
{
    if (r->wanted == NULL) {
        r->wanted = wanted;
    }
    return false;
}

/* The next character that is no space. 0: the end. */
static char peek(cli_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' ||
                              *r->at == '\n' || *r->at == '\r')) {
        r->at++;
    }
    return r->at < r->end ? *r->at : '\0';
}

static bool take(cli_reader *r, char c, const char *wanted)
{
    if (r->wanted != NULL || peek(r) != c) {
        return fail(r, wanted);
    }
    r->at++;
    return true;
}

static bool is_digit(const cli_reader *r)
{
    return *r->at >= '0' && *r->at <= '9';
}

/* ---- values */

/* Pass what is escaped, behind the \. Returns the character; 0: a fault. */
static char take_escape(cli_reader *r)
{
    const char c = *r->at;
    if (c == '\0' || strchr("\"\\/bfnrtu", c) == NULL) {
        return '\0';
    }
    r->at++;
    for (int i = 0; c == 'u' && i < 4; i++, r->at++) {
        if (*r->at == '\0' ||
            strchr("0123456789abcdefABCDEF", *r->at) == NULL) {
            return '\0';
        }
    }
    return strchr("\"\\/", c) != NULL ? c : '?';
}

bool cli_read_text(cli_reader *r, char *text, size_t bytes)
{
    size_t length = 0;
    if (!take(r, '"', "a string")) {
        return false;
    }
    while (*r->at != '"') {
        char c = *r->at;
        if ((unsigned char)c < 0x20) { /* also the end */
            return fail(r, "the rest of a string");
        }
        r->at++;
        if (c == '\\' && (c = take_escape(r)) == '\0') {
            return fail(r, "the rest of a string");
        }
        if (length + 1 < bytes) {
            text[length++] = c;
        }
    }
    r->at++;
    text[length] = '\0';
    return r->follows = true;
}

/* Pass one digit or more. */
static bool take_digits(cli_reader *r)
{
    if (!is_digit(r)) {
        return fail(r, "a digit");
    }
    while (is_digit(r)) {
        r->at++;
    }
    return true;
}

static bool take_number(cli_reader *r)
{
    r->at += *r->at == '-';
    if (*r->at == '0') {
        r->at++;
    } else if (!take_digits(r)) {
        return false;
    }
    if (*r->at == '.') {
        r->at++;
        if (!take_digits(r)) {
            return false;
        }
    }
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        r->at += *r->at == '+' || *r->at == '-';
        return take_digits(r);
    }
    return true;
}

bool cli_read_number(cli_reader *r, double *number)
{
    if (r->wanted != NULL || (peek(r) != '-' && !is_digit(r))) {
        return fail(r, "a number");
    }
    const char *start = r->at;
    if (!take_number(r)) {
        return false;
    }
    *number = strtod(start, NULL);
    if (!isfinite(*number)) {
        r->at = start;
        return fail(r, "a number that a double holds");
    }
    return r->follows = true;
}

static bool take_word(cli_reader *r)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *c = words[i];
        while (*c != '\0' && *r->at == *c) {
            c++;
            r->at++;
        }
        if (c != words[i]) { /* no other word begins like this one */
            return *c == '\0' ? (r->follows = true) : fail(r, "a value");
        }
    }
    return fail(r, "a value");
}

/* ---- objects and arrays */

bool cli_read_begin(cli_reader *r, char bracket)
{
    if (r->depth == MAX_DEPTH) {
        return fail(r, "a value that is nested less deeply");
    }
    if (!take(r, bracket, bracket == '{' ? "an object" : "an array")) {
        return false;
    }
    r->depth++;
    r->follows = false;
    return true;
}

/* Whether there is another member before the closing bracket. */
static bool next(cli_reader *r, char bracket)
{
    if (r->wanted != NULL) {
        return false;
    }
    if (peek(r) == bracket) {
        r->at++;
        r->depth--;
        r->follows = true;
        return false;
    }
    return !r->follows || take(r, ',', "a comma or a closing bracket");
}

bool cli_read_element(cli_reader *r)
{
    return next(r, ']');
}

bool cli_read_member(cli_reader *r, char *key, size_t bytes)
{
    return next(r, '}') && cli_read_text(r, key, bytes) &&
           take(r, ':', "a colon");
}

bool cli_read_any(cli_reader *r)
{
    char text[2];
    double number;
    const char c = r->wanted == NULL ? peek(r) : '\0';
    if (c == '{' && cli_read_begin(r, c)) {
        while (cli_read_member(r, text, sizeof text) && cli_read_any(r)) {
        }
    } else if (c == '[' && cli_read_begin(r, c)) {
        while (cli_read_element(r) && cli_read_any(r)) {
        }
    } else if (c == '"') {
        return cli_read_text(r, text, sizeof text);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        return cli_read_number(r, &number);
    } else if (r->wanted == NULL) {
        return take_word(r);
    }
    return r->wanted == NULL;
}

bool cli_read_end(cli_reader *r)
{
    if (r->wanted == NULL && peek(r) != '\0') {
        return fail(r, "the end");
    }
    return r->wanted == NULL && (r->at == r->end || fail(r, "the end"));
}
