/* SPDX-License-Identifier: MIT */
/* Zip archives, as far as .npz files need them. The end of the file has a
 * record that says where the directory is. The directory has an entry for each
 * member, which says where its local header is. The member's bytes follow
 * that. Sizes of 2^32 and more are in extra fields (zip64). */
#include "files/files.h"

#include <string.h>

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    ZIP64 = 1, /* the number of its extra field */
    ENCRYPTED = 1,
    STORED = 0
};

/* A little-endian number of `count` bytes. */
static uint64_t number(const uint8_t *bytes, int count)
{
    uint64_t n = 0;
    memcpy(&n, bytes, (size_t)count);
    return n;
}

static bool signed_as(const uint8_t *bytes, int one, int other)
{
    return bytes[0] == 'P' && bytes[1] == 'K' && bytes[2] == one &&
           bytes[3] == other;
}

bool hri_zip_is(const uint8_t *bytes, size_t size)
{
    return size >= 4 && (signed_as(bytes, 3, 4) || signed_as(bytes, 5, 6));
}

typedef struct directory {
    uint64_t offset, bytes, count;
} directory;

/* Find the record at the end. A comment may follow it. */
static bool find_end(const uint8_t *bytes, size_t size, size_t *end)
{
    for (size_t comment = 0;
         comment <= COMMENT_MAX && comment + END_BYTES <= size; comment++) {
        const size_t at = size - END_BYTES - comment;
        if (signed_as(bytes + at, 5, 6) &&
            number(bytes + at + 20, 2) == comment) {
            *end = at;
            return true;
        }
    }
    return false;
}

/* Read the record of zip64 before `end`, where there is one. */
static hr_status find_end64(const uint8_t *bytes, size_t *end, directory *d)
{
    if (*end < LOCATOR_BYTES ||
        !signed_as(bytes + *end - LOCATOR_BYTES, 6, 7)) {
        return HR_OK;
    }
    const size_t locator = *end - LOCATOR_BYTES;
    const uint64_t at = number(bytes + locator + 8, 8);
    if (at > locator || locator - at < END64_BYTES ||
        !signed_as(bytes + at, 6, 6)) {
        return hri_fail(HR_ERROR_IO,
                        "its zip64 record is not at byte %llu as it says",
                        (unsigned long long)at);
    }
    const uint8_t *record = bytes + at;
    *d = (directory){.offset = number(record + 48, 8),
                     .bytes = number(record + 40, 8),
                     .count = number(record + 32, 8)};
    *end = (size_t)at;
    return HR_OK;
}

static hr_status find_directory(const uint8_t *bytes, size_t size, directory *d)
{
    size_t end;
    if (!find_end(bytes, size, &end)) {
        return hri_fail(HR_ERROR_IO,
                        "it begins as a zip archive, but none of its %zu "
                        "bytes begin the end of one",
                        size);
    }
    const uint8_t *record = bytes + end;
    *d = (directory){.offset = number(record + 16, 4),
                     .bytes = number(record + 12, 4),
                     .count = number(record + 10, 2)};
    const bool parts =
        number(record + 4, 4) != 0 && number(record + 4, 4) != UINT32_MAX;
    hr_status status = find_end64(bytes, &end, d);
    if (status != HR_OK) {
        return status;
    }
    if (parts) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "it is one part of a zip archive in several files");
    }
    if (d->offset > end || d->bytes > end - d->offset ||
        d->count > d->bytes / ENTRY_BYTES) {
        return hri_fail(HR_ERROR_IO,
                        "its directory of %llu members wants %llu bytes after "
                        "the first %llu, but only %zu are there",
                        (unsigned long long)d->count,
                        (unsigned long long)d->bytes,
                        (unsigned long long)d->offset, end);
    }
    return HR_OK;
}

/* Read what the extra fields have of numbers that 4 bytes do not hold. */
static bool read_extra(const uint8_t *extra, size_t bytes, uint64_t *unpacked,
                       uint64_t *stored, uint64_t *offset)
{
    uint64_t *const wanted[] = {unpacked, stored, offset};
    while (bytes >= 4) {
        const size_t length = (size_t)number(extra + 2, 2);
        if (length > bytes - 4) {
            return false;
        }
        size_t used = 0;
        for (int i = 0; number(extra, 2) == ZIP64 && i < 3; i++) {
            if (*wanted[i] == UINT32_MAX) {
                if (length - used < 8) {
                    return false;
                }
                *wanted[i] = number(extra + 4 + used, 8);
                used += 8;
            }
        }
        extra += 4 + length;
        bytes -= 4 + length;
    }
    return true;
}

static void drop_ending(hri_file_text *name)
{
    static const char ending[] = ".npy";
    const size_t length = strlen(ending);
    if (name->length >= length &&
        memcmp(name->bytes + name->length - length, ending, length) == 0) {
        name->length -= length;
    }
}

/* Read an entry of the directory, and go on to the next one. `before` is where
 * members must end. */
static hr_status read_entry(const uint8_t *bytes, uint64_t *at, uint64_t end,
                            uint64_t before, hri_member *m)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    const uint8_t *entry = bytes + *at;
    const uint64_t left = end - *at;
    if (left < ENTRY_BYTES || !signed_as(entry, 1, 2)) {
        return hri_fail(HR_ERROR_IO, "byte %llu begins no entry of a directory",
                        (unsigned long long)*at);
    }
    const size_t name = (size_t)number(entry + 28, 2);
    const size_t extra = (size_t)number(entry + 30, 2);
    const size_t whole = ENTRY_BYTES + name + extra + number(entry + 32, 2);
    if (whole > left) {
        return hri_fail(HR_ERROR_IO,
                        "its directory ends within the entry at byte %llu",
                        (unsigned long long)*at);
    }
    *m = (hri_member){.name = {entry + ENTRY_BYTES, name},
                      .begin = number(entry + 42, 4),
                      .stored_bytes = number(entry + 20, 4),
                      .bytes = number(entry + 24, 4),
                      .crc = (uint32_t)number(entry + 16, 4),
                      .method = (uint16_t)number(entry + 10, 2),
                      .encrypted = (entry[8] & ENCRYPTED) != 0};
    hri_file_show(m->name, shown);
    if (!read_extra(entry + ENTRY_BYTES + name, extra, &m->bytes,
                    &m->stored_bytes, &m->begin)) {
        return hri_fail(HR_ERROR_IO,
                        "the extra fields of its member '%s' make "
                        "no sense",
                        shown);
    }
    const uint64_t header = LOCAL_BYTES + name;
    if (m->begin > before || before - m->begin < header ||
        m->stored_bytes > before - m->begin - header) {
        return hri_fail(HR_ERROR_IO,
                        "its member '%s' wants %llu bytes from byte %llu on, "
                        "but members end at %llu",
                        shown, (unsigned long long)m->stored_bytes,
                        (unsigned long long)m->begin,
                        (unsigned long long)before);
    }
    m->end = m->begin + header + m->stored_bytes;
    drop_ending(&m->name);
    *at += whole;
    return HR_OK;
}

hr_status hri_zip_members(const uint8_t *bytes, size_t size,
                          hri_members *members)
{
    directory d = {0};
    HRI_TRY(find_directory(bytes, size, &d));
    uint64_t at = d.offset;
    const uint64_t end = d.offset + d.bytes;
    for (uint64_t i = 0; i < d.count; i++) {
        hri_member *m;
        HRI_TRY(hri_members_add(members, &m));
        HRI_TRY(read_entry(bytes, &at, end, d.offset, m));
    }
    return hri_members_check(members);
}

hr_status hri_zip_place(const uint8_t *bytes, size_t size,
                        const hri_member *member, uint64_t *offset)
{
    const uint8_t *local = bytes + member->begin;
    if (member->encrypted) {
        return hri_fail(HR_ERROR_UNSUPPORTED, "it is encrypted");
    }
    const uint64_t length = number(local + 26, 2);
    const uint64_t start =
        member->begin + LOCAL_BYTES + length + number(local + 28, 2);
    if (!signed_as(local, 3, 4) || start > size ||
        member->stored_bytes > size - start || length < member->name.length ||
        memcmp(local + LOCAL_BYTES, member->name.bytes, member->name.length) !=
            0) {
        return hri_fail(HR_ERROR_IO,
                        "it is not at byte %llu, as the directory says",
                        (unsigned long long)member->begin);
    }
    if (member->method == STORED && member->bytes != member->stored_bytes) {
        return hri_fail(HR_ERROR_IO, "it has %llu bytes, but %llu are stored",
                        (unsigned long long)member->bytes,
                        (unsigned long long)member->stored_bytes);
    }
    *offset = start;
    return HR_OK;
}
