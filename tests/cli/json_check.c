/* SPDX-License-Identifier: MIT */
/* json_check [-l] [PATH]: whether standard input is one JSON value [RFC8259],
 * or with -l one on each line, and nothing else. PATH, such as
 * "accelerators[0].bytes.peer", prints what stands there: the text of a string,
 * the letters of a number or word, "object" or "array". Exit status 0, 1 when
 * the input is not valid, 2 when nothing stands at PATH. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, PATH_BYTES = 1024 };

typedef struct reader {
    const char *at, *end;
    const char *wanted;    /* PATH, or NULL */
    char path[PATH_BYTES]; /* of the value being read */
    int depth;
    bool found;
} reader;

static bool read_value(reader *r);

static void skip_space(reader *r)
{
    while (r->at < r->end && strchr(" \t\r\n", *r->at) != NULL &&
           *r->at != '\0') {
        r->at++;
    }
}

static bool take_char(reader *r, char c)
{
    if (r->at < r->end && *r->at == c) {
        r->at++;
        return true;
    }
    return false;
}

/* Whether the value that ends here is the one wanted; then print it. */
static void offer_value(reader *r, const char *text, size_t length)
{
    if (r->wanted != NULL && strcmp(r->wanted, r->path) == 0) {
        r->found = true;
        printf("%.*s\n", (int)length, text);
    }
}

static bool take_hex(reader *r)
{
    for (int i = 0; i < 4; i++, r->at++) {
        if (r->at >= r->end || strspn(r->at, "0123456789abcdefABCDEF") == 0) {
            return false;
        }
    }
    return true;
}

/* One character of UTF-8 beyond ASCII; overlong forms and surrogates do not
 * count as such. */
static bool take_utf8(reader *r)
{
    unsigned char c = (unsigned char)*r->at++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    unsigned long code = c & (0x3fu >> more);
    static const unsigned long least[] = {0, 0x80, 0x800, 0x10000};
    if (c < 0xc2 || c > 0xf4) {
        return false;
    }
    for (int i = 0; i < more; i++, r->at++) {
        if (r->at >= r->end || ((unsigned char)*r->at & 0xc0) != 0x80) {
            return false;
        }
        code = code << 6 | ((unsigned char)*r->at & 0x3f);
    }
    return code >= least[more] && code <= 0x10ffff &&
           (code < 0xd800 || code > 0xdfff);
}

/* A string; *text and *length are what stands between the quotes, as it is. */
static bool read_string(reader *r, const char **text, size_t *length)
{
    if (!take_char(r, '"')) {
        return false;
    }
    *text = r->at;
    while (r->at < r->end && *r->at != '"') {
        unsigned char c = (unsigned char)*r->at;
        if (c < 0x20) {
            return false;
        }
        if (c >= 0x80) {
            if (!take_utf8(r)) {
                return false;
            }
        } else if (c == '\\') {
            r->at += 2;
            if (r->at > r->end || strchr("\"\\/bfnrtu", r->at[-1]) == NULL ||
                (r->at[-1] == 'u' && !take_hex(r))) {
                return false;
            }
        } else {
            r->at++;
        }
    }
    *length = (size_t)(r->at - *text);
    return take_char(r, '"');
}

static bool read_digits(reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        r->at++;
    }
    return r->at > start;
}

static bool read_number(reader *r)
{
    const char *start = r->at;
    take_char(r, '-');
    const char *digits = r->at;
    if (!read_digits(r) || (*digits == '0' && r->at - digits > 1)) {
        return false;
    }
    if (take_char(r, '.') && !read_digits(r)) {
        return false;
    }
    if (take_char(r, 'e') || take_char(r, 'E')) {
        if (!take_char(r, '+')) {
            take_char(r, '-');
        }
        if (!read_digits(r)) {
            return false;
        }
    }
    offer_value(r, start, (size_t)(r->at - start));
    return true;
}

static bool read_word(reader *r)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(r->end - r->at) >= length &&
            memcmp(r->at, words[i], length) == 0) {
            r->at += length;
            offer_value(r, words[i], length);
            return true;
        }
    }
    return false;
}

/* The members of an object or array, after its bracket. */
static bool read_members(reader *r, bool object)
{
    size_t length = strlen(r->path);
    for (int index = 0;; index++) {
        char *end = r->path + length;
        size_t room = sizeof r->path - length;
        skip_space(r);
        if (object) {
            const char *key;
            size_t bytes;
            if (!read_string(r, &key, &bytes)) {
                return false;
            }
            snprintf(end, room, "%s%.*s", length > 0 ? "." : "", (int)bytes,
                     key);
            skip_space(r);
            if (!take_char(r, ':')) {
                return false;
            }
        } else {
            snprintf(end, room, "[%d]", index);
        }
        if (!read_value(r)) {
            return false;
        }
        *end = '\0';
        if (!take_char(r, ',')) {
            return take_char(r, object ? '}' : ']');
        }
    }
}

static bool read_group(reader *r, bool object)
{
    if (r->depth == DEPTH_MAX) {
        return false;
    }
    offer_value(r, object ? "object" : "array", object ? 6 : 5);
    r->at++;
    skip_space(r);
    if (take_char(r, object ? '}' : ']')) {
        return true;
    }
    r->depth++;
    bool good = read_members(r, object);
    r->depth--;
    return good;
}

/* A value that is there, from its first letter to its last. */
static bool read_bare(reader *r)
{
    const char c = *r->at;
    const char *text;
    size_t length;
    if (c == '{' || c == '[') {
        return read_group(r, c == '{');
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return read_number(r);
    }
    if (c != '"') {
        return read_word(r);
    }
    if (!read_string(r, &text, &length)) {
        return false;
    }
    offer_value(r, text, length);
    return true;
}

static bool read_value(reader *r)
{
    skip_space(r);
    const bool good = r->at < r->end && read_bare(r);
    skip_space(r);
    return good;
}

static bool check_value(const char *text, size_t bytes, const char *wanted,
                        bool *found)
{
    reader r = {.at = text, .end = text + bytes, .wanted = wanted};
    bool good = read_value(&r) && r.at == r.end;
    if (!good) {
        fprintf(stderr, "not valid JSON at byte %ld: %.40s\n",
                (long)(r.at - text), r.at);
    }
    *found = *found || r.found;
    return good;
}

static bool check_lines(const char *text, const char *wanted, bool *found)
{
    bool good = *text != '\0';
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        good = check_value(text, length, wanted, found) && good;
        text += length;
        if (*text != '\n') {
            fprintf(stderr, "the last line has no end\n");
            return false;
        }
        text++;
    }
    return good;
}

int main(int argc, char **argv)
{
    bool lines = argc > 1 && strcmp(argv[1], "-l") == 0;
    const char *wanted = argc > 1 + lines ? argv[1 + lines] : NULL;
    enum { BYTES_MAX = 1 << 20 };
    char *text = calloc(1, BYTES_MAX + 1);
    if (text == NULL) {
        return 1;
    }
    size_t bytes = fread(text, 1, BYTES_MAX, stdin);
    bool found = wanted == NULL;
    bool good = strlen(text) == bytes &&
                (lines ? check_lines(text, wanted, &found)
                       : check_value(text, bytes, wanted, &found));
    free(text);
    return !good ? 1 : !found ? 2 : 0;
}
