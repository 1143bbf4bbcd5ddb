/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BYTES = 8,
    HEADER_MAX = 100000000 /* the most that the format allows */
};

/* What they are called there. */
static const struct {
    const char *name;
    hr_type type;
} types[] = {
    {"F32", HR_F32},   {"F64", HR_F64}, {"C64", HR_C32}, {"F16", HR_F16},
    {"BF16", HR_BF16}, {"I8", HR_I8},   {"I32", HR_I32},
};

static uint64_t header_bytes(const uint8_t *bytes)
{
    uint64_t length;
    memcpy(&length, bytes, sizeof length);
    return length;
}

bool hri_safetensors_is(const uint8_t *bytes, size_t size)
{
    return size > LENGTH_BYTES && bytes[LENGTH_BYTES] == '{' &&
           header_bytes(bytes) >= 2 && header_bytes(bytes) >> 48 == 0;
}

typedef struct reader {
    const uint8_t *start, *at, *end;
    uint8_t *text; /* where names without escapes go */
} reader;

static hr_status unexpected(const reader *r, const char *wanted)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    const size_t left = (size_t)(r->end - r->at);
    const hri_file_text rest = {r->at, left < 16 ? left : 16};
    return hri_fail(
        HR_ERROR_IO, "byte %zu of its header should be %s, but \"%s\" follows",
        (size_t)(r->at - r->start), wanted, hri_file_show(rest, shown));
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' ||
                              *r->at == '\n' || *r->at == '\r')) {
        r->at++;
    }
}

/* Skip spaces, and take this character if it follows. */
static bool take(reader *r, char wanted)
{
    skip_space(r);
    const bool found = r->at < r->end && *r->at == (uint8_t)wanted;
    r->at += found;
    return found;
}

/* Read four hexadecimal digits. */
static bool take_unit(reader *r, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit =
            r->at < r->end && *r->at != 0
                ? strchr(digits,
                         *r->at >= 'A' && *r->at <= 'F' ? *r->at + 32 : *r->at)
                : NULL;
        if (digit == NULL) {
            return false;
        }
        *unit = *unit << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* Write a character as UTF-8. */
static void put(reader *r, uint32_t c)
{
    if (c < 0x80) {
        *r->text++ = (uint8_t)c;
        return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xC0, 0xE0, 0xF0};
    *r->text++ = (uint8_t)(first[more] | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--) {
        *r->text++ = (uint8_t)(0x80 | (c >> 6 * i & 0x3F));
    }
}

/* Read \uXXXX, or two of them for a character above 2^16. It has more bytes
 * than the UTF-8 that it makes. */
static bool take_character(reader *r)
{
    uint32_t c, low;
    if (!take_unit(r, &c) || (c >= 0xDC00 && c < 0xE000)) {
        return false;
    }
    if (c >= 0xD800 && c < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u') {
            return false;
        }
        r->at += 2;
        if (!take_unit(r, &low) || low < 0xDC00 || low >= 0xE000) {
            return false;
        }
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    put(r, c);
    return true;
}

static bool take_escape(reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end || *r->at == 0) {
        return false;
    }
    const char letter = (char)*r->at++;
    if (letter == 'u') {
        return take_character(r);
    }
    const char *found = strchr(letters, letter);
    if (found != NULL) {
        *r->text++ = (uint8_t)meant[found - letters];
    }
    return found != NULL;
}

static hr_status take_string(reader *r, const char *what, hri_file_text *out)
{
    if (!take(r, '"')) {
        return unexpected(r, what);
    }
    out->bytes = r->text;
    while (r->at < r->end && *r->at != '"' && *r->at >= 0x20) {
        if (*r->at != '\\') {
            *r->text++ = *r->at++;
            continue;
        }
        r->at++;
        if (!take_escape(r)) {
            return unexpected(r, "an escape of JSON");
        }
    }
    out->length = (size_t)(r->text - out->bytes);
    if (r->at == r->end || *r->at != '"') {
        return unexpected(r, "the end of a string");
    }
    r->at++;
    return HR_OK;
}

/* Read a whole number below 2^63. */
static hr_status take_number(reader *r, uint64_t *out)
{
    int64_t n = 0;
    skip_space(r);
    const uint8_t *start = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        if ((r->at > start && *start == '0') ||
            __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, *r->at - '0', &n)) {
            r->at = start;
            return unexpected(r, "a whole number below 2^63");
        }
    }
    *out = (uint64_t)n;
    return r->at > start ? HR_OK
                         : unexpected(r, "a whole number that is not negative");
}

/* Read [numbers]. The first `most` are stored; *count is how many there are. */
static hr_status take_numbers(reader *r, uint64_t *numbers, uint64_t most,
                              uint64_t *count)
{
    hr_status status = HR_OK;
    *count = 0;
    if (!take(r, '[')) {
        return unexpected(r, "a list in square brackets");
    }
    if (take(r, ']')) {
        return HR_OK;
    }
    do {
        uint64_t n = 0;
        status = take_number(r, &n);
        if (*count < most) {
            numbers[*count] = n;
        }
        ++*count;
    } while (status == HR_OK && take(r, ','));
    if (status == HR_OK && !take(r, ']')) {
        status = unexpected(r, "a comma or the end of the list");
    }
    return status;
}

typedef hr_status entry_function(reader *r, hri_file_text key, void *data);

/* Read an object: a key, a colon, and what `entry` reads, with commas
 * between. */
static hr_status take_object(reader *r, entry_function *entry, void *data)
{
    if (!take(r, '{')) {
        return unexpected(r, "an opening brace");
    }
    if (take(r, '}')) {
        return HR_OK;
    }
    do {
        hri_file_text key = {0};
        hr_status status = take_string(r, "a key in quotes", &key);
        if (status == HR_OK && !take(r, ':')) {
            status = unexpected(r, "a colon");
        }
        status = status == HR_OK ? entry(r, key, data) : status;
        if (status != HR_OK) {
            return status;
        }
    } while (take(r, ','));
    return take(r, '}') ? HR_OK : unexpected(r, "a comma or the closing brace");
}

static hr_status take_metadata(reader *r, hri_file_text key, void *data)
{
    hri_file_text value;
    (void)key;
    (void)data;
    return take_string(r, "a string", &value);
}

typedef struct tensor {
    hri_member *member;
    uint64_t offsets[2];
    unsigned seen; /* bits: dtype, shape, data_offsets */
} tensor;

static hr_status take_offsets(reader *r, tensor *t)
{
    uint64_t count;
    hr_status status = take_numbers(r, t->offsets, 2, &count);
    return status != HR_OK || count == 2
               ? status
               : hri_fail(HR_ERROR_IO,
                          "a tensor of it has %llu data_offsets instead of 2",
                          (unsigned long long)count);
}

static hr_status take_property(reader *r, hri_file_text key, void *data)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    char shown[HRI_FILE_SHOWN_BYTES];
    tensor *t = data;
    uint64_t extents[HR_MAX_RANK] = {0};
    hr_status status;
    unsigned i = 0;
    while (i < 3 && !hri_file_text_is(key, keys[i])) {
        i++;
    }
    if (i == 3 || (t->seen & 1u << i) != 0) {
        return hri_fail(HR_ERROR_IO, "a tensor of it has the key '%s' %s",
                        hri_file_show(key, shown),
                        i == 3 ? "which safetensors do not have" : "twice");
    }
    t->seen |= 1u << i;
    switch (i) {
    case 0:
        return take_string(r, "a type in quotes", &t->member->dtype);
    case 1:
        status = take_numbers(r, extents, HR_MAX_RANK, &t->member->rank);
        for (int d = 0; d < HR_MAX_RANK; d++) {
            t->member->extents[d] = (int64_t)extents[d];
        }
        return status;
    default:
        return take_offsets(r, t);
    }
}

typedef struct header {
    hri_members *members;
    uint64_t data_offset, data_bytes;
    uint64_t tensor_bytes; /* of all tensors */
    bool metadata;
} header;

static hr_status check_tensor(const header *h, const tensor *t)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    hri_file_show(t->member->name, shown);
    if (t->seen != 7) {
        return hri_fail(HR_ERROR_IO,
                        "its tensor '%s' lacks dtype, shape or data_offsets",
                        shown);
    }
    if (t->offsets[0] > t->offsets[1] || t->offsets[1] > h->data_bytes) {
        return hri_fail(HR_ERROR_IO,
                        "its tensor '%s' is at bytes %llu to %llu of %llu",
                        shown, (unsigned long long)t->offsets[0],
                        (unsigned long long)t->offsets[1],
                        (unsigned long long)h->data_bytes);
    }
    return HR_OK;
}

static hr_status take_tensor(reader *r, hri_file_text key, void *data)
{
    header *h = data;
    tensor t = {0};
    if (hri_file_text_is(key, "__metadata__")) {
        if (h->metadata) {
            return hri_fail(HR_ERROR_IO, "its header has __metadata__ twice");
        }
        h->metadata = true;
        return take_object(r, take_metadata, NULL);
    }
    hr_status status = hri_members_add(h->members, &t.member);
    if (status != HR_OK) {
        return status;
    }
    t.member->name = key;
    status = take_object(r, take_property, &t);
    status = status == HR_OK ? check_tensor(h, &t) : status;
    if (status == HR_OK) {
        t.member->begin = h->data_offset + t.offsets[0];
        t.member->end = h->data_offset + t.offsets[1];
        h->tensor_bytes += t.offsets[1] - t.offsets[0];
    }
    return status;
}

hr_status hri_safetensors_members(const uint8_t *bytes, size_t size,
                                  hri_members *members)
{
    const uint64_t length = header_bytes(bytes);
    if (length > size - LENGTH_BYTES) {
        return hri_fail(HR_ERROR_IO,
                        "its header wants %llu bytes after the first %d, but "
                        "only %zu are there",
                        (unsigned long long)length, LENGTH_BYTES,
                        size - LENGTH_BYTES);
    }
    if (length > HEADER_MAX) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "its header has %llu bytes; the format allows %d",
                        (unsigned long long)length, HEADER_MAX);
    }
    members->text = malloc((size_t)length);
    if (members->text == NULL) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "no memory for a header of %llu bytes",
                        (unsigned long long)length);
    }
    const uint8_t *start = bytes + LENGTH_BYTES;
    reader r = {start, start, start + length, members->text};
    header h = {.members = members,
                .data_offset = LENGTH_BYTES + length,
                .data_bytes = size - LENGTH_BYTES - length};
    hr_status status = take_object(&r, take_tensor, &h);
    skip_space(&r);
    if (status == HR_OK && r.at < r.end) {
        status = unexpected(&r, "white space up to the end");
    }
    status = status == HR_OK ? hri_members_check(members) : status;
    if (status == HR_OK && h.tensor_bytes != h.data_bytes) {
        status = hri_fail(HR_ERROR_IO,
                          "its tensors have %llu bytes, but %llu follow the "
                          "header",
                          (unsigned long long)h.tensor_bytes,
                          (unsigned long long)h.data_bytes);
    }
    return status;
}

hr_status hri_safetensors_header(const hri_member *member, size_t size,
                                 hri_file_header *out)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    hri_file_header h = {.data_offset = member->begin};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (hri_file_text_is(member->dtype, types[i].name)) {
            h.array.type = types[i].type;
        }
    }
    if (h.array.type == 0) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "elements of '%s' are not offered, only F32, F64, F16, "
                        "BF16, I8, I32 and C64",
                        hri_file_show(member->dtype, shown));
    }
    if (member->rank > HR_MAX_RANK) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "%llu dimensions; up to %d are offered",
                        (unsigned long long)member->rank, HR_MAX_RANK);
    }
    h.array.rank = (int32_t)member->rank;
    memcpy(h.array.extents, member->extents, sizeof h.array.extents);
    hr_status status = hri_file_check_place(&h, size);
    if (status == HR_OK && h.data_bytes != member->end - member->begin) {
        char shape[HRI_FILE_SHAPE_BYTES];
        return hri_fail(HR_ERROR_IO,
                        "%s elements of %s have %llu bytes, but its "
                        "data_offsets give %llu",
                        hri_file_shape(&h.array, shape),
                        hr_type_name(h.array.type),
                        (unsigned long long)h.data_bytes,
                        (unsigned long long)(member->end - member->begin));
    }
    if (status == HR_OK) {
        *out = h;
    }
    return status;
}
