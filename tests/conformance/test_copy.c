/* SPDX-License-Identifier: MIT */
/* Copies of boxes against a plain model, and fills. */
#include "support/conformance.h"
#include "support/random.h"

enum { AREA = 48 << 10, CASES = 60 };

typedef enum copy_path {
    HOST_TO_DEVICE,
    DEVICE_TO_HOST,
    PINNED_TO_DEVICE,
    DEVICE_TO_PINNED,
    DEVICE_TO_DEVICE,
    INSIDE_BUFFER,
    PEER_WRITE, /* by the queue of the device that is read */
    PEER_READ,
    PATHS
} copy_path;

static const char *const path_names[PATHS] = {
    "host to device",     "device to host",      "pinned to device",
    "device to pinned",   "device to device",    "inside one buffer",
    "to a peer's buffer", "from a peer's buffer"};

/* A queue of each of two devices (peer is NULL when they are not peers) and the
 * areas between which boxes are copied. Each area has AREA bytes, and buffer
 * both[0] twice as many. */
typedef struct areas {
    hri_device *device, *peer;
    hri_queue *queue, *peer_queue;
    hri_buffer *from, *to, *both, *peer_buffer;
    void *host, *pinned;
    unsigned char *before, *want, *got, *source;
} areas;

static void areas_init(areas *a, hri_device *device)
{
    hri_device *again = conformance_open_again();
    *a = (areas){.device = device, .peer = again};
    a->queue = conformance_queue(device);
    a->peer_queue = conformance_queue(again);
    a->from = conformance_buffer(device, AREA);
    a->to = conformance_buffer(device, AREA);
    a->both = conformance_buffer(device, 2 * AREA);
    a->peer_buffer = conformance_buffer(again, AREA);
    conformance_must(device->ops->allocate_pinned(device, AREA, &a->pinned),
                     "allocate_pinned");
    a->host = conformance_memory(AREA);
    a->before = conformance_memory(AREA);
    a->want = conformance_memory(AREA);
    a->got = conformance_memory(AREA);
    a->source = conformance_memory(AREA);
}

static void areas_finish(areas *a)
{
    a->queue->ops->destroy(a->queue);
    a->peer_queue->ops->destroy(a->peer_queue);
    a->device->ops->release(a->from);
    a->device->ops->release(a->to);
    a->device->ops->release(a->both);
    a->peer->ops->release(a->peer_buffer);
    a->device->ops->release_pinned(a->device, a->pinned);
    a->peer->ops->close(a->peer);
    free(a->host);
    free(a->before);
    free(a->want);
    free(a->got);
    free(a->source);
}

/* Where a path reads and writes. */
static void path_ends(const areas *a, copy_path path, hri_place *from,
                      hri_place *to)
{
    hri_place device_from = hri_at(a->from, 0), device_to = hri_at(a->to, 0);
    hri_place host = hri_at_host(a->host, 0);
    hri_place pinned = hri_at_host(a->pinned, 0);
    hri_place peer = hri_at(a->peer_buffer, 0);
    const hri_place ends[PATHS][2] = {
        [HOST_TO_DEVICE] = {host, device_to},
        [DEVICE_TO_HOST] = {device_from, host},
        [PINNED_TO_DEVICE] = {pinned, device_to},
        [DEVICE_TO_PINNED] = {device_from, pinned},
        [DEVICE_TO_DEVICE] = {device_from, device_to},
        [INSIDE_BUFFER] = {hri_at(a->both, AREA), hri_at(a->both, 0)},
        [PEER_WRITE] = {device_from, peer},
        [PEER_READ] = {peer, device_to},
    };
    *from = ends[path][0];
    *to = ends[path][1];
}

/* Put bytes into an area, or get them out of it; done on return. */
static void exchange_bytes(const areas *a, hri_place area, unsigned char *bytes,
                           bool get)
{
    if (area.buffer == NULL) {
        memcpy(get ? (void *)bytes : area.host, get ? area.host : bytes, AREA);
        return;
    }
    bool peers = area.buffer->device == a->peer;
    hri_queue *queue = peers ? a->peer_queue : a->queue;
    hri_place host = hri_at_host(bytes, 0);
    hri_copy copy = conformance_row(get ? host : area, get ? area : host, AREA);
    CHECK(queue->ops->copy(queue, &copy) == HR_OK);
    CHECK(queue->ops->finish(queue) == HR_OK);
}

/* A pitch for rows of width bytes, or for slices; sometimes without a gap. With
 * a single row or slice it must be ignored. */
static size_t random_pitch(random_source *source, size_t count, size_t bytes)
{
    if (count == 1) {
        return (size_t)random_between(source, 0, 1) * SIZE_MAX;
    }
    return bytes + (size_t)(random_between(source, 0, 1) *
                            random_between(source, 0, 9));
}

static hri_copy random_box(random_source *source)
{
    hri_copy box = {0};
    bool words = random_between(source, 0, 1) == 1; /* multiples of 4 bytes */
    box.width = (size_t)random_between(source, 1, words ? 20 : 80);
    box.height = (size_t)random_between(source, 1, 10);
    box.depth = (size_t)random_between(source, 1, 7);
    box.to_pitch = random_pitch(source, box.height, box.width);
    box.from_pitch = random_pitch(source, box.height, box.width);
    size_t to_rows = box.height > 1 ? box.height * box.to_pitch : box.width;
    size_t from_rows = box.height > 1 ? box.height * box.from_pitch : box.width;
    box.to_slice = random_pitch(source, box.depth, to_rows);
    box.from_slice = random_pitch(source, box.depth, from_rows);
    box.to.offset = (size_t)random_between(source, 0, 5000);
    box.from.offset = (size_t)random_between(source, 0, 5000);
    size_t *scaled[] = {&box.width,      &box.to_pitch,   &box.from_pitch,
                        &box.to_slice,   &box.from_slice, &box.to.offset,
                        &box.from.offset};
    for (size_t i = 0; words && i < sizeof scaled / sizeof scaled[0]; i++) {
        *scaled[i] *= 4;
    }
    size_t *zeroed[] = {&box.width, &box.height, &box.depth};
    if (random_between(source, 0, 9) == 0) {
        *zeroed[random_between(source, 0, 2)] = 0;
    }
    return box;
}

static void copy_plainly(const hri_copy *box, unsigned char *to,
                         const unsigned char *from)
{
    for (size_t z = 0; z < box->depth; z++) {
        for (size_t y = 0; y < box->height; y++) {
            for (size_t x = 0; x < box->width; x++) {
                to[box->to.offset + z * box->to_slice + y * box->to_pitch + x] =
                    from[box->from.offset + z * box->from_slice +
                         y * box->from_pitch + x];
            }
        }
    }
}

static void copy_once(areas *a, copy_path path, hri_copy box,
                      random_source *source)
{
    hri_place from, to;
    path_ends(a, path, &from, &to);
    random_fill_bytes(source, a->source, AREA);
    random_fill_bytes(source, a->before, AREA);
    memcpy(a->want, a->before, AREA);
    copy_plainly(&box, a->want, a->source);
    exchange_bytes(a, from, a->source, false);
    exchange_bytes(a, to, a->before, false);
    from.offset += box.from.offset;
    to.offset += box.to.offset;
    box.from = from;
    box.to = to;
    CHECK(a->queue->ops->copy(a->queue, &box) == HR_OK);
    CHECK(a->queue->ops->finish(a->queue) == HR_OK);
    path_ends(a, path, &from, &to);
    exchange_bytes(a, to, a->got, true);
    if (!CHECK(memcmp(a->got, a->want, AREA) == 0)) {
        fprintf(stderr,
                "box %zux%zux%zu, to %zu + %zu, %zu, from %zu + %zu, %zu\n",
                box.depth, box.height, box.width, box.to.offset, box.to_pitch,
                box.to_slice, box.from.offset, box.from_pitch, box.from_slice);
    }
}

static void boxes_are_copied(hri_device *device)
{
    areas a;
    areas_init(&a, device);
    for (copy_path path = 0; path < PATHS; path++) {
        random_source source = {(uint64_t)path + 1};
        if (path >= PEER_WRITE && !device->ops->is_peer(device, a.peer)) {
            printf("skip %s: %s is no peer of itself\n", path_names[path],
                   device->info.path);
            continue;
        }
        TEST_CASE(path_names[path]);
        for (int i = 0; i < CASES; i++) {
            copy_once(&a, path, random_box(&source), &source);
        }
        copy_once(&a, path, conformance_row(hri_at(0, 0), hri_at(0, 0), AREA),
                  &source);
    }
    areas_finish(&a);
}

static void fill_sets_a_range(hri_device *device)
{
    static const struct {
        const char *name;
        size_t offset, bytes;
        uint8_t value;
    } cases[] = {
        {"fill of everything", 0, AREA, 0},
        {"fill of nothing", 100, 0, 1},
        {"fill of nothing at the end", AREA, 0, 1},
        {"fill of one byte", 4097, 1, 2},
        {"fill of odd bytes at an odd place", 333, 5555, 0xff},
        {"fill of words", 256, 4096, 0xa5},
        {"fill up to the end", AREA - 3, 3, 7},
    };
    areas a;
    areas_init(&a, device);
    random_source source = {99};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].name);
        random_fill_bytes(&source, a.want, AREA);
        exchange_bytes(&a, hri_at(a.to, 0), a.want, false);
        memset(a.want + cases[i].offset, cases[i].value, cases[i].bytes);
        CHECK(a.queue->ops->fill(a.queue, a.to, cases[i].offset, cases[i].bytes,
                                 cases[i].value) == HR_OK);
        exchange_bytes(&a, hri_at(a.to, 0), a.got, true);
        CHECK(memcmp(a.got, a.want, AREA) == 0);
    }
    areas_finish(&a);
}

static void copies_conform(hri_device *device)
{
    TEST(boxes_are_copied(device));
    fill_sets_a_range(device);
}

int main(void)
{
    return conformance_main(copies_conform);
}
