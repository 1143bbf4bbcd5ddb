/* SPDX-License-Identifier: MIT */
/* libz, found at run time. What is declared here is its stable binary
 * interface: zlib.h of versions 1.x. */
#include "files/files.h"

#include <limits.h>
#include <string.h>

#include "base/library.h"

typedef struct z_stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *opaque;
    int data_type;
    unsigned long adler, reserved;
} z_stream;

enum { Z_OK = 0, Z_STREAM_END = 1, Z_NO_FLUSH = 0, NO_HEADER = -15 };

typedef struct zlib {
    int (*init)(z_stream *, int bits, const char *version, int stream_bytes);
    int (*run)(z_stream *, int flush);
    int (*end)(z_stream *);
} zlib;

static hr_status load(zlib *z)
{
    static const hri_symbol symbols[] = {
        {"inflateInit2_", offsetof(zlib, init), REQ},
        {"inflate", offsetof(zlib, run), REQ},
        {"inflateEnd", offsetof(zlib, end), REQ},
    };
    const hr_status status = hri_library_load(
        "libz.so.1", symbols, sizeof symbols / sizeof symbols[0], z);
    return status == HR_OK
               ? HR_OK
               : hri_fail(HR_ERROR_UNAVAILABLE,
                          "it is compressed, and libz.so.1 is not here: store "
                          "it with numpy.savez");
}

static unsigned at_most(uint64_t bytes)
{
    return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

/* `over` is where a byte too many goes. */
static hr_status unpack(const zlib *z, z_stream *stream, uint64_t from_bytes,
                        uint64_t bytes, uint8_t *over)
{
    uint64_t in_left = from_bytes, out_left = bytes;
    bool full = false;
    int result = Z_OK;
    while (result == Z_OK && !(full && stream->avail_out == 0)) {
        if (stream->avail_in == 0) {
            stream->avail_in = at_most(in_left);
            in_left -= stream->avail_in;
        }
        if (stream->avail_out == 0 && out_left > 0) {
            stream->avail_out = at_most(out_left);
            out_left -= stream->avail_out;
        } else if (stream->avail_out == 0) {
            stream->next_out = over;
            stream->avail_out = 1;
            full = true;
        }
        result = z->run(stream, Z_NO_FLUSH);
    }
    const uint64_t made = full ? bytes + (1u - stream->avail_out)
                               : bytes - out_left - stream->avail_out;
    if (result == Z_STREAM_END && out_left == 0 && made == bytes) {
        return HR_OK;
    }
    return hri_fail(HR_ERROR_IO,
                    "it does not unpack to %llu bytes: libz stops after %llu",
                    (unsigned long long)bytes, (unsigned long long)made);
}

hr_status hri_inflate(const uint8_t *from, uint64_t from_bytes, uint8_t *to,
                      uint64_t bytes)
{
    zlib z;
    uint8_t over;
    z_stream stream = {.next_in = from, .next_out = to};
    hr_status status = load(&z);
    if (status != HR_OK) {
        return status;
    }
    if (z.init(&stream, NO_HEADER, "1", (int)sizeof stream) != Z_OK) {
        return hri_fail(HR_ERROR_OUT_OF_MEMORY, "libz cannot begin");
    }
    status = unpack(&z, &stream, from_bytes, bytes, &over);
    z.end(&stream);
    return status;
}
