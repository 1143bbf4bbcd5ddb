/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/format.h"

enum { MAX_DEPTH = 64 };

static bool fail(hri_json *j, const char *wanted)
{
    if (j->wanted == NULL) {
        j->wanted = wanted;
    }
    return false;
}

/* The character that is next. 0: the end, or a 0. */
static char here(const hri_json *j)
{
    return j->at < j->end ? *j->at : '\0';
}

/* The next character that is no space. */
static char peek(hri_json *j)
{
    while (here(j) == ' ' || here(j) == '\t' || here(j) == '\n' ||
           here(j) == '\r') {
        j->at++;
    }
    return here(j);
}

static bool take(hri_json *j, char c, const char *wanted)
{
    if (j->wanted != NULL || peek(j) != c) {
        return fail(j, wanted);
    }
    j->at++;
    return true;
}

/* Whether the next character is one of these. */
static bool is_one_of(const hri_json *j, const char *characters)
{
    return here(j) != '\0' && strchr(characters, here(j)) != NULL;
}

static bool is_digit(const hri_json *j)
{
    return here(j) >= '0' && here(j) <= '9';
}

/* ---- text */

/* Read four hexadecimal digits. */
static bool take_unit(hri_json *j, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        if (!is_one_of(j, "0123456789abcdefABCDEF")) {
            return false;
        }
        const char c = *j->at;
        const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

/* Read XXXX behind \u, or XXXX\uXXXX for a character from 2^16 on. */
static bool take_pair(hri_json *j, uint32_t *character)
{
    uint32_t high, low;
    if (!take_unit(j, &high) || (high >= 0xDC00 && high < 0xE000)) {
        return false;
    }
    *character = high;
    if (high < 0xD800 || high >= 0xE000) {
        return true;
    }
    if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u') {
        return false;
    }
    j->at += 2;
    if (!take_unit(j, &low) || low < 0xDC00 || low >= 0xE000) {
        return false;
    }
    *character = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* Write a character as UTF-8. Returns the number of bytes. */
static size_t encode(uint32_t c, char bytes[4])
{
    static const uint8_t first[] = {0, 0xC0, 0xE0, 0xF0};
    if (c < 0x80) {
        bytes[0] = (char)c;
        return 1;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    bytes[0] = (char)(first[more] | c >> 6 * more);
    for (int i = 1; i <= more; i++) {
        bytes[i] = (char)(0x80 | (c >> 6 * (more - i) & 0x3F));
    }
    return (size_t)more + 1;
}

/* Read what is escaped, behind the \. Returns the number of its bytes; 0: a
 * fault. */
static size_t take_escape(hri_json *j, char bytes[4])
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    uint32_t character = 0;
    if (here(j) == 'u') {
        j->at++;
        return take_pair(j, &character) ? encode(character, bytes) : 0;
    }
    if (!is_one_of(j, letters)) {
        return 0;
    }
    bytes[0] = meant[strchr(letters, *j->at++) - letters];
    return 1;
}

bool hri_json_text(hri_json *j, char *text, size_t bytes, size_t *length)
{
    size_t used = 0;
    if (!take(j, '"', "a string")) {
        return false;
    }
    while (here(j) != '"') {
        char piece[4] = {here(j)};
        size_t count = 1;
        if ((unsigned char)piece[0] < 0x20) { /* also the end */
            return fail(j, "the rest of a string");
        }
        j->at++;
        if (piece[0] == '\\' && (count = take_escape(j, piece)) == 0) {
            return fail(j, "an escape of JSON");
        }
        for (size_t i = 0; i < count && used + 1 < bytes; i++) {
            text[used++] = piece[i];
        }
    }
    j->at++;
    text[used] = '\0';
    if (length != NULL) {
        *length = used;
    }
    return j->follows = true;
}

/* ---- numbers */

/* Pass one digit or more. */
static bool take_digits(hri_json *j)
{
    if (!is_digit(j)) {
        return fail(j, "a digit");
    }
    while (is_digit(j)) {
        j->at++;
    }
    return true;
}

static bool take_number(hri_json *j)
{
    j->at += here(j) == '-';
    if (here(j) == '0') {
        j->at++;
    } else if (!take_digits(j)) {
        return false;
    }
    if (here(j) == '.') {
        j->at++;
        if (!take_digits(j)) {
            return false;
        }
    }
    if (is_one_of(j, "eE")) {
        j->at++;
        j->at += is_one_of(j, "+-");
        return take_digits(j);
    }
    return true;
}

bool hri_json_number(hri_json *j, double *number)
{
    char text[1024]; /* more digits tell no doubles apart */
    if (j->wanted != NULL || (peek(j) != '-' && !is_digit(j))) {
        return fail(j, "a number");
    }
    const char *start = j->at;
    if (!take_number(j)) {
        return false;
    }
    const size_t length = (size_t)(j->at - start);
    if (length >= sizeof text) {
        j->at = start;
        return fail(j, "a shorter number");
    }
    memcpy(text, start, length);
    text[length] = '\0';
    *number = hri_read_number(text, NULL);
    if (!isfinite(*number)) {
        j->at = start;
        return fail(j, "a number that a double holds");
    }
    return j->follows = true;
}

bool hri_json_count(hri_json *j, uint64_t *number)
{
    int64_t n = 0;
    if (j->wanted != NULL) {
        return false;
    }
    (void)peek(j);
    const char *start = j->at;
    for (; is_digit(j); j->at++) {
        if ((j->at > start && *start == '0') ||
            __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, *j->at - '0', &n)) {
            j->at = start;
            return fail(j, "a whole number below 2^63");
        }
    }
    if (j->at == start) {
        return fail(j, "a whole number that is not negative");
    }
    *number = (uint64_t)n;
    return j->follows = true;
}

/* ---- objects and arrays */

static bool take_word(hri_json *j)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *c = words[i];
        while (*c != '\0' && here(j) == *c) {
            c++;
            j->at++;
        }
        if (c != words[i]) { /* no other word begins like this one */
            return *c == '\0' ? (j->follows = true) : fail(j, "a value");
        }
    }
    return fail(j, "a value");
}

bool hri_json_begin(hri_json *j, char bracket)
{
    if (j->depth == MAX_DEPTH) {
        return fail(j, "a value that is nested less deeply");
    }
    if (!take(j, bracket, bracket == '{' ? "an object" : "an array")) {
        return false;
    }
    j->depth++;
    j->follows = false;
    return true;
}

/* Whether there is another member before the closing bracket. */
static bool next(hri_json *j, char bracket)
{
    if (j->wanted != NULL) {
        return false;
    }
    if (peek(j) == bracket) {
        j->at++;
        j->depth--;
        j->follows = true;
        return false;
    }
    return !j->follows || take(j, ',', "a comma or a closing bracket");
}

bool hri_json_element(hri_json *j)
{
    return next(j, ']');
}

bool hri_json_member(hri_json *j, char *key, size_t bytes, size_t *length)
{
    return next(j, '}') && hri_json_text(j, key, bytes, length) &&
           take(j, ':', "a colon");
}

bool hri_json_any(hri_json *j)
{
    char text[2];
    double number;
    const char c = j->wanted == NULL ? peek(j) : '\0';
    if (c == '{' && hri_json_begin(j, c)) {
        while (hri_json_member(j, text, sizeof text, NULL) && hri_json_any(j)) {
        }
    } else if (c == '[' && hri_json_begin(j, c)) {
        while (hri_json_element(j) && hri_json_any(j)) {
        }
    } else if (c == '"') {
        return hri_json_text(j, text, sizeof text, NULL);
    } else if (c == '-' || is_digit(j)) {
        return hri_json_number(j, &number);
    } else if (j->wanted == NULL) {
        return take_word(j);
    }
    return j->wanted == NULL;
}

bool hri_json_end(hri_json *j)
{
    (void)peek(j);
    return j->wanted == NULL && (j->at == j->end || fail(j, "the end"));
}
