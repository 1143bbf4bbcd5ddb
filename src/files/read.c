/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "files/files.h"

#include <string.h>
#include <sys/mman.h>

enum { STORED = 0, DEFLATED = 8, RATIO_MAX = 1032 /* of deflate */ };

/* Get memory that goes with the content. */
static hr_status get_memory(hri_file_content *c, uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY,
                        "no memory for a copy of %llu bytes",
                        (unsigned long long)bytes);
    }
    c->memory = memory;
    c->memory_bytes = bytes;
    return HR_OK;
}

/* The array's elements are in these bytes. Copy them where C may not read
 * them as they lie, unless they have been copied already: memory is aligned,
 * but the elements in it may not be. */
static hr_status place(const uint8_t *bytes, const hri_file_header *header,
                       hri_file_content *c)
{
    const uint8_t *data =
        header->data_offset > 0 ? bytes + header->data_offset : bytes;
    const hr_type type = header->array.type;
    const size_t size = hr_type_size(type);
    const size_t alignment = type == HR_C32 || type == HR_C64 ? size / 2 : size;
    c->array = header->array;
    c->array.data = (void *)data;
    if (header->data_bytes == 0 || (uintptr_t)data % alignment == 0) {
        return HR_OK;
    }
    if (c->memory != NULL) {
        c->array.data = c->memory;
        memmove(c->memory, data, header->data_bytes);
        return HR_OK;
    }
    HRI_TRY(get_memory(c, header->data_bytes));
    memcpy(c->memory, data, header->data_bytes);
    c->array.data = c->memory;
    return HR_OK;
}

/* Find the bytes of a member, unpacked. */
static hr_status unpack(const uint8_t *bytes, size_t size, const hri_member *m,
                        const uint8_t **unpacked, hri_file_content *c)
{
    uint64_t offset = 0;
    HRI_TRY(hri_zip_place(bytes, size, m, &offset));
    if (m->method == STORED) {
        *unpacked = bytes + offset;
        return HR_OK;
    }
    if (m->method != DEFLATED) {
        return hri_fail(HR_ERROR_UNSUPPORTED,
                        "method %u of compression is not offered: store it "
                        "with numpy.savez",
                        m->method);
    }
    if (m->bytes / RATIO_MAX > m->stored_bytes) {
        return hri_fail(HR_ERROR_IO, "%llu bytes cannot unpack to %llu",
                        (unsigned long long)m->stored_bytes,
                        (unsigned long long)m->bytes);
    }
    HRI_TRY(get_memory(c, m->bytes > 0 ? m->bytes : 1));
    *unpacked = c->memory;
    return hri_inflate(bytes + offset, m->stored_bytes, c->memory, m->bytes);
}

static hr_status read_zip_member(const uint8_t *bytes, size_t size,
                                 const hri_member *m, hri_file_content *c)
{
    const uint8_t *unpacked = NULL;
    hri_file_header header;
    HRI_TRY(unpack(bytes, size, m, &unpacked, c));
    const uint32_t crc = hri_crc32(unpacked, m->bytes);
    if (crc != m->crc) {
        return hri_fail(HR_ERROR_IO,
                        "its CRC is %08x, but that of its %llu bytes is %08x",
                        m->crc, (unsigned long long)m->bytes, crc);
    }
    HRI_TRY(hri_npy_parse(unpacked, m->bytes, &header));
    return place(unpacked, &header, c);
}

static hr_status read_tensor(const uint8_t *bytes, size_t size,
                             const hri_member *m, hri_file_content *c)
{
    hri_file_header header;
    HRI_TRY(hri_safetensors_header(m, size, &header));
    return place(bytes, &header, c);
}

static hr_status read_npy(const uint8_t *bytes, size_t size,
                          hri_file_content *c)
{
    hri_file_header header;
    HRI_TRY(hri_npy_parse(bytes, size, &header));
    return place(bytes, &header, c);
}

static hr_status read_raw(const uint8_t *bytes, size_t size,
                          const hr_file_array *raw, hri_file_content *c)
{
    char shape[HRI_FILE_SHAPE_BYTES];
    hri_file_header header = {.array = *raw};
    const bool fits = hri_file_measure(&header);
    if (!fits || header.data_bytes != size) {
        return hri_fail(HR_ERROR_IO,
                        "%s elements of %s have %llu bytes, but the file has "
                        "%zu",
                        hri_file_shape(raw, shape), hr_type_name(raw->type),
                        (unsigned long long)header.data_bytes, size);
    }
    return place(bytes, &header, c);
}

static const struct {
    const char *form;
    bool (*is)(const uint8_t *bytes, size_t size);
    hr_status (*list)(const uint8_t *bytes, size_t size, hri_members *members);
    hr_status (*read)(const uint8_t *bytes, size_t size, const hri_member *m,
                      hri_file_content *c);
} archives[] = {
    {"npz", hri_zip_is, hri_zip_members, read_zip_member},
    {"safetensors", hri_safetensors_is, hri_safetensors_members, read_tensor},
};

enum { ARCHIVES = sizeof archives / sizeof archives[0] };

/* Put the member's name before a message. */
static hr_status with_member(hr_status status, const hri_member *m)
{
    char shown[HRI_FILE_SHOWN_BYTES];
    return status == HR_OK
               ? HR_OK
               : hri_fail(status, "%s: %s", hri_file_show(m->name, shown),
                          hr_last_error());
}

static hr_status read_chosen(int which, const uint8_t *bytes, size_t size,
                             const char *wanted, hri_members *members,
                             hri_file_content *c)
{
    const hri_member *m = NULL;
    HRI_TRY(archives[which].list(bytes, size, members));
    HRI_TRY(hri_members_choose(members, wanted, &m));
    return with_member(archives[which].read(bytes, size, m, c), m);
}

static hr_status read_archive(int which, const uint8_t *bytes, size_t size,
                              const char *wanted, hri_file_content *c)
{
    hri_members members = {0};
    c->form = archives[which].form;
    const hr_status status =
        read_chosen(which, bytes, size, wanted, &members, c);
    hri_members_free(&members);
    return status;
}

static hr_status read_any(const uint8_t *bytes, size_t size, const char *member,
                          const hr_file_array *raw, hri_file_content *c)
{
    for (int i = 0; i < ARCHIVES; i++) {
        if (archives[i].is(bytes, size)) {
            return read_archive(i, bytes, size, member, c);
        }
    }
    const bool npy = hri_npy_is(bytes, size);
    if (member != NULL && npy) {
        return hri_fail(HR_ERROR_IO,
                        "a .npy file has one array, without a name; only .npz "
                        "and safetensors files have arrays with names");
    }
    if (member != NULL) {
        return hri_fail(HR_ERROR_IO,
                        "its %zu bytes begin neither a .npz nor a safetensors "
                        "file; only these have arrays with names",
                        size);
    }
    c->form = npy ? "npy" : "raw";
    if (npy) {
        return read_npy(bytes, size, c);
    }
    return raw != NULL
               ? read_raw(bytes, size, raw, c)
               : hri_fail(HR_ERROR_IO,
                          "not a .npy, .npz or safetensors file: its %zu bytes "
                          "do not begin as one, and no shape and type of "
                          "elements alone were given",
                          size);
}

hr_status hri_file_read(const uint8_t *bytes, size_t size, const char *member,
                        const hr_file_array *raw, hri_file_content *out)
{
    hri_file_content c = {0};
    const hr_status status = read_any(bytes, size, member, raw, &c);
    if (status == HR_OK) {
        *out = c;
    } else {
        hri_file_content_free(&c);
    }
    return status;
}

void hri_file_content_free(hri_file_content *content)
{
    if (content->memory != NULL) {
        munmap(content->memory, content->memory_bytes);
    }
    *content = (hri_file_content){0};
}
