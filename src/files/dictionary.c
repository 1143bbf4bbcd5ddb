/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <string.h>

typedef struct cursor {
    const uint8_t *start, *at, *end;
    bool python2;
    unsigned seen; /* bit i: entries[i] */
} cursor;

/* Whether the next byte is one of set. At the end of the text it is not. */
static bool next_is(const cursor *c, const char *set)
{
    return c->at < c->end && *c->at != 0 && strchr(set, *c->at) != NULL;
}

static bool take(cursor *c, const char *wanted)
{
    size_t length = strlen(wanted);
    if ((size_t)(c->end - c->at) < length ||
        memcmp(c->at, wanted, length) != 0) {
        return false;
    }
    c->at += length;
    return true;
}

static void skip_space(cursor *c)
{
    while (next_is(c, " \t\n\r\f")) {
        c->at++;
    }
}

static hr_status unexpected(const cursor *c, const char *wanted)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    size_t left = (size_t)(c->end - c->at);
    hri_file_text rest = {c->at, left < 16 ? left : 16};
    size_t place = (size_t)(c->at - c->start);
    if (left == 0) {
        return hri_fail(HR_ERROR_IO,
                        "its header ends after %zu bytes, before %s", place,
                        wanted);
    }
    return hri_fail(HR_ERROR_IO,
                    "byte %zu of its header should be %s, but \"%s\" "
                    "follows",
                    place, wanted, hri_file_show(rest, shown));
}

/* Read a string in single or double quotes. Escapes, prefixes and line breaks
 * are refused: no key and no element type has them. */
static hr_status parse_string(cursor *c, const char *what, hri_file_text *out)
{
    if (!next_is(c, "'\"")) {
        return unexpected(c, what);
    }
    const char quote[] = {(char)*c->at++, 0};
    const uint8_t *start = c->at;
    while (c->at < c->end && *c->at != (uint8_t)quote[0] && *c->at >= 0x20 &&
           *c->at != '\\') {
        c->at++;
    }
    out->bytes = start;
    out->length = (size_t)(c->at - start);
    return take(c, quote) ? HR_OK : unexpected(c, "the end of a string");
}

static hr_status parse_descr(cursor *c, hri_npy_dictionary *out)
{
    if (next_is(c, "[({")) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "structured elements (records) are not offered: save "
                        "one field as a plain array");
    }
    return parse_string(c, "the element type in quotes", &out->descr);
}

static hr_status parse_order(cursor *c, hri_npy_dictionary *out)
{
    out->fortran_order = take(c, "True");
    if (!out->fortran_order && !take(c, "False")) {
        return unexpected(c, "True or False");
    }
    return HR_OK;
}

/* Read items with commas between them, up to the closing bracket. `wanted` says
 * in messages what may follow an item. *comma: the last item has a comma behind
 * it. */
static hr_status parse_list(cursor *c, const char *closing, const char *wanted,
                            hr_status (*item)(cursor *, hri_npy_dictionary *),
                            hri_npy_dictionary *out, bool *comma)
{
    *comma = true;
    for (skip_space(c); !take(c, closing); skip_space(c)) {
        if (!*comma) {
            return unexpected(c, wanted);
        }
        hr_status status = item(c, out);
        if (status != HR_OK) {
            return status;
        }
        skip_space(c);
        *comma = take(c, ",");
    }
    return HR_OK;
}

/* Read a whole number as Python writes it: decimal, without leading zeros. */
static hr_status parse_extent(cursor *c, hri_npy_dictionary *out)
{
    if (next_is(c, "-")) {
        return unexpected(c, "an extent, which is never negative");
    }
    if (!next_is(c, "0123456789")) {
        return unexpected(c, "an extent");
    }
    int64_t extent = 0;
    bool leading_zero = *c->at == '0';
    const uint8_t *start = c->at;
    while (next_is(c, "0123456789")) {
        if (leading_zero && c->at > start) {
            return unexpected(c, "the end of the extent 0");
        }
        if (__builtin_mul_overflow(extent, 10, &extent) ||
            __builtin_add_overflow(extent, *c->at - '0', &extent)) {
            c->at = start;
            return unexpected(c, "an extent below 2^63");
        }
        c->at++;
    }
    if (c->python2) {
        take(c, "L");
    }
    if (out->dimensions < HR_MAX_RANK) {
        out->extents[out->dimensions] = extent;
    }
    out->dimensions++;
    return HR_OK;
}

static hr_status parse_shape(cursor *c, hri_npy_dictionary *out)
{
    bool comma;
    const uint8_t *start = c->at;
    if (!take(c, "(")) {
        return unexpected(c, "the shape in round brackets");
    }
    hr_status status = parse_list(c, ")", "a comma or the end of the shape",
                                  parse_extent, out, &comma);
    if (status != HR_OK) {
        return status;
    }
    out->shape = (hri_file_text){start, (size_t)(c->at - start)};
    if (out->dimensions == 1 && !comma) {
        char shown[HRI_FILE_SHOWN_BYTES];
        return hri_fail(HR_ERROR_IO,
                        "its header gives the number %s as shape, not a tuple",
                        hri_file_show(out->shape, shown));
    }
    return HR_OK;
}

static const struct {
    const char *key;
    hr_status (*parse)(cursor *c, hri_npy_dictionary *out);
} entries[] = {
    {"descr", parse_descr},
    {"fortran_order", parse_order},
    {"shape", parse_shape},
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

static hr_status parse_entry(cursor *c, hri_npy_dictionary *out)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    hri_file_text key = {0};
    size_t i = 0;
    hr_status status = parse_string(c, "a key in quotes", &key);
    if (status != HR_OK) {
        return status;
    }
    while (i < ENTRIES &&
           (key.length != strlen(entries[i].key) ||
            memcmp(key.bytes, entries[i].key, key.length) != 0)) {
        i++;
    }
    if (i == ENTRIES || (c->seen & 1u << i) != 0) {
        return hri_fail(HR_ERROR_IO, "its header has the key '%s' %s",
                        hri_file_show(key, shown),
                        i == ENTRIES ? "which .npy headers do not have"
                                     : "twice");
    }
    c->seen |= 1u << i;
    skip_space(c);
    if (!take(c, ":")) {
        return unexpected(c, "a colon");
    }
    skip_space(c);
    return entries[i].parse(c, out);
}

hr_status hri_npy_parse_dictionary(hri_file_text text, bool python2,
                                   hri_npy_dictionary *out)
{
    cursor c = {text.bytes, text.bytes, text.bytes + text.length, python2, 0};
    hri_npy_dictionary dictionary = {0};
    bool comma;
    skip_space(&c);
    if (!take(&c, "{")) {
        return unexpected(&c, "the opening brace of a dictionary");
    }
    hr_status status = parse_list(&c, "}", "a comma or the closing brace",
                                  parse_entry, &dictionary, &comma);
    if (status != HR_OK) {
        return status;
    }
    skip_space(&c);
    if (c.at < c.end) {
        return unexpected(&c, "white space up to the end");
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        if ((c.seen & 1u << i) == 0) {
            return hri_fail(HR_ERROR_IO, "its header lacks the key '%s'",
                            entries[i].key);
        }
    }
    *out = dictionary;
    return HR_OK;
}
