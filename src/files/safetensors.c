/* SPDX-License-Identifier: MIT */
#include "files/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

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

/* What is read: the header, and where names go that are read from it. */
typedef struct reader {
    hri_json json;
    const char *start;
    char *text; /* as long as what is left of the header */
} reader;

/* Say what is missing where reading ended. */
static hr_status unexpected(const reader *r)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    const hri_json *j = &r->json;
    const size_t left = (size_t)(j->end - j->at);
    const hri_file_text rest = {(const uint8_t *)j->at, left < 16 ? left : 16};
    return hri_fail(
        HR_ERROR_IO, "byte %zu of its header should be %s, but \"%s\" follows",
        (size_t)(j->at - r->start), j->wanted, hri_file_show(rest, shown));
}

/* HR_OK unless reading has ended at a fault. */
static hr_status status_of(const reader *r)
{
    return r->json.wanted == NULL ? HR_OK : unexpected(r);
}

/* The text that was read to r->text. */
static hri_file_text keep(reader *r, size_t length)
{
    const hri_file_text text = {(const uint8_t *)r->text, length};
    r->text += length + 1;
    return text;
}

static bool next_key(reader *r, hri_file_text *key)
{
    size_t length;
    if (!hri_json_member(&r->json, r->text, SIZE_MAX, &length)) {
        return false;
    }
    *key = keep(r, length);
    return true;
}

static void take_string(reader *r, hri_file_text *out)
{
    size_t length;
    if (hri_json_text(&r->json, r->text, SIZE_MAX, &length)) {
        *out = keep(r, length);
    }
}

/* Read [numbers]. The first `most` are stored. Returns how many there are. */
static uint64_t take_numbers(reader *r, uint64_t *numbers, uint64_t most)
{
    uint64_t count = 0, n = 0;
    hri_json_begin(&r->json, '[');
    while (hri_json_element(&r->json) && hri_json_count(&r->json, &n)) {
        if (count < most) {
            numbers[count] = n;
        }
        count++;
    }
    return count;
}

static hr_status take_metadata(reader *r)
{
    hri_file_text text;
    hri_json_begin(&r->json, '{');
    while (next_key(r, &text)) {
        take_string(r, &text);
    }
    return status_of(r);
}

typedef struct tensor {
    hri_member *member;
    uint64_t offsets[2];
    unsigned seen; /* bits: dtype, shape, data_offsets */
} tensor;

static hr_status take_property(reader *r, hri_file_text key, tensor *t)
{
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    char shown[HRI_FILE_SHOWN_BYTES];
    uint64_t extents[HR_MAX_RANK] = {0}, count = 2;
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
    if (i == 0) {
        take_string(r, &t->member->dtype);
    } else if (i == 1) {
        t->member->rank = take_numbers(r, extents, HR_MAX_RANK);
        for (int d = 0; d < HR_MAX_RANK; d++) {
            t->member->extents[d] = (int64_t)extents[d];
        }
    } else {
        count = take_numbers(r, t->offsets, 2);
    }
    return r->json.wanted != NULL || count == 2
               ? status_of(r)
               : hri_fail(HR_ERROR_IO,
                          "a tensor of it has %llu data_offsets instead of 2",
                          (unsigned long long)count);
}

/* Read what an object says of a tensor. */
static hr_status take_properties(reader *r, tensor *t)
{
    hri_file_text key;
    hri_json_begin(&r->json, '{');
    while (next_key(r, &key)) {
        HRI_TRY(take_property(r, key, t));
    }
    return status_of(r);
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

static hr_status take_tensor(reader *r, hri_file_text key, header *h)
{
    tensor t = {0};
    if (hri_file_text_is(key, "__metadata__")) {
        if (h->metadata) {
            return hri_fail(HR_ERROR_IO, "its header has __metadata__ twice");
        }
        h->metadata = true;
        return take_metadata(r);
    }
    HRI_TRY(hri_members_add(h->members, &t.member));
    t.member->name = key;
    HRI_TRY(take_properties(r, &t));
    HRI_TRY(check_tensor(h, &t));
    t.member->begin = h->data_offset + t.offsets[0];
    t.member->end = h->data_offset + t.offsets[1];
    h->tensor_bytes += t.offsets[1] - t.offsets[0];
    return HR_OK;
}

static hr_status take_tensors(reader *r, header *h)
{
    hri_file_text key;
    hri_json_begin(&r->json, '{');
    while (next_key(r, &key)) {
        HRI_TRY(take_tensor(r, key, h));
    }
    hri_json_end(&r->json);
    return status_of(r);
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
    const char *start = (const char *)bytes + LENGTH_BYTES;
    reader r = {.json = {.at = start, .end = start + length},
                .start = start,
                .text = (char *)members->text};
    header h = {.members = members,
                .data_offset = LENGTH_BYTES + length,
                .data_bytes = size - LENGTH_BYTES - length};
    HRI_TRY(take_tensors(&r, &h));
    HRI_TRY(hri_members_check(members));
    return h.tensor_bytes == h.data_bytes
               ? HR_OK
               : hri_fail(HR_ERROR_IO,
                          "its tensors have %llu bytes, but %llu follow the "
                          "header",
                          (unsigned long long)h.tensor_bytes,
                          (unsigned long long)h.data_bytes);
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
    HRI_TRY(hri_file_check_place(&h, size));
    if (h.data_bytes != member->end - member->begin) {
        char shape[HRI_FILE_SHAPE_BYTES];
        return hri_fail(HR_ERROR_IO,
                        "%s elements of %s have %llu bytes, but its "
                        "data_offsets give %llu",
                        hri_file_shape(&h.array, shape),
                        hr_type_name(h.array.type),
                        (unsigned long long)h.data_bytes,
                        (unsigned long long)(member->end - member->begin));
    }
    *out = h;
    return HR_OK;
}
