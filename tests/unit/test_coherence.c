/* SPDX-License-Identifier: MIT */
/* Arrays on five places compared with a model that knows each byte: which
 * places have it, and its value. There are random overlapping views and
 * millions of operations. Values are right, and no byte is moved needlessly. */
#include <stdlib.h>
#include <string.h>

#include "arrays/array.h"
#include "support/fake.h"
#include "support/random.h"
#include "test.h"

enum { PLACES = 1 + FAKE_DEVICES, ARRAYS = 2, MAX_BYTES = 1024 };

/* One array and what must be true of it. */
typedef struct model {
    hr_array *array;
    int64_t size[HRI_DIMENSIONS]; /* slices, rows, bytes of a row */
    int64_t bytes;
    int home;
    char *memory; /* of the caller's, or NULL */
    size_t row_bytes;
    bool valid[PLACES][MAX_BYTES];
    uint8_t value[MAX_BYTES]; /* where any place has it */
    bool vague[MAX_BYTES];    /* copied from where nothing had been written */
} model;

typedef struct world {
    random_source random;
    hr_context *context;
    hr_queue *queues[FAKE_DEVICES];
    model models[ARRAYS];
    hr_traffic moved; /* what the model says */
} world;

static int64_t between(world *w, int64_t low, int64_t high)
{
    return random_between(&w->random, low, high);
}

/* ---- the model's rules */

static bool is_known(const model *m, int64_t byte)
{
    bool any = false;
    for (int p = 0; p < PLACES; p++) {
        any = any || m->valid[p][byte];
    }
    return any;
}

static bool are_peers(int a, int b)
{
    return (a - 1) / 2 == (b - 1) / 2;
}

/* Which place a byte comes from, or -1 when none has it: the place itself, a
 * peer, the host, any other. */
static int source_of(const model *m, int place, int64_t byte)
{
    if (m->valid[place][byte]) {
        return place;
    }
    for (int p = 1; p < PLACES; p++) {
        if (m->valid[p][byte] && (place == HRI_HOST || are_peers(p, place))) {
            return p;
        }
    }
    for (int p = 0; p < PLACES; p++) {
        if (m->valid[p][byte]) {
            return p;
        }
    }
    return -1;
}

/* Move one byte to a place, over the host if it must. The host then has a valid
 * copy, too. */
static void move_byte(world *w, model *m, int place, int64_t byte)
{
    int from = source_of(m, place, byte);
    if (from < 0 || from == place) {
        return;
    }
    if (from == HRI_HOST) {
        w->moved.up++;
    } else if (place == HRI_HOST) {
        w->moved.down++;
    } else if (are_peers(from, place)) {
        w->moved.peer++;
    } else {
        w->moved.down++;
        w->moved.up++;
        m->valid[HRI_HOST][byte] = true;
    }
}

static void fetch_byte(world *w, model *m, int place, int64_t byte)
{
    move_byte(w, m, place, byte);
    m->valid[place][byte] = m->valid[place][byte] || is_known(m, byte);
}

static void write_byte(model *m, int place, int64_t byte, uint8_t value)
{
    for (int p = 0; p < PLACES; p++) {
        m->valid[p][byte] = p == place;
    }
    m->value[byte] = value;
    m->vague[byte] = false;
}

/* Whether its value is known. */
static bool has_value(const model *m, int64_t byte)
{
    return is_known(m, byte) && !m->vague[byte];
}

/* ---- views and their bytes */

/* The packed array's byte for byte i of a view. */
static int64_t byte_of(const hr_view *v, int64_t i)
{
    int64_t at = v->offset_bytes;
    int64_t last =
        v->extent.size[v->extent.rank - 1] * (int64_t)v->element_bytes;
    at += i % last;
    i /= last;
    for (uint32_t d = v->extent.rank - 1; d-- > 0;) {
        at += i % v->extent.size[d] * v->stride_bytes[d];
        i /= v->extent.size[d];
    }
    return at;
}

static int64_t bytes_of(const hr_view *v)
{
    return hr_extent_count(v->extent) * (int64_t)v->element_bytes;
}

static hr_view random_section(world *w, hr_view v)
{
    int64_t origin[HR_MAX_RANK];
    hr_extent extent = v.extent;
    for (uint32_t i = 0; i < v.extent.rank; i++) {
        origin[i] = between(w, 0, v.extent.size[i] - 1);
        extent.size[i] = between(w, 1, v.extent.size[i] - origin[i]);
    }
    CHECK(hr_view_section(v, origin, extent, &v) == HR_OK);
    return v;
}

/* The same elements under another extent, where that is possible. */
static hr_view random_reshape(world *w, hr_view v)
{
    int64_t count = hr_extent_count(v.extent);
    int64_t cols = between(w, 1, count);
    hr_extent extent =
        between(w, 0, 1) ? hr_extent2(count / cols, cols) : hr_extent1(count);
    (void)!hr_view_reshape(v, extent, &v); /* refused where there are gaps */
    return v;
}

static hr_view random_view(world *w, const model *m)
{
    hr_view v = hr_view_of(m->array);
    for (int64_t steps = between(w, 1, 3); steps > 0; steps--) {
        switch (between(w, 0, 6)) {
        case 3:
            (void)hri_view_flatten(&v, 0, (uint32_t)between(w, 1, 3));
            break;
        case 0:
            v = random_reshape(w, v);
            break;
        case 1:
            (void)!hr_view_reinterpret(v, (size_t)1 << between(w, 0, 3), &v);
            break;
        case 2:
            if (v.extent.rank > 1) {
                CHECK(hr_view_project(v, between(w, 0, v.extent.size[0] - 1),
                                      &v) == HR_OK);
            }
            break;
        default:
            v = random_section(w, v);
        }
    }
    return v;
}

/* ---- operations */

/* Bytes of a view at a place into memory or from it, as a kernel would. */
static void touch_view(world *w, const hr_view *v, bool linear, int place,
                       uint8_t *bytes, bool write)
{
    int64_t stride[HR_MAX_RANK];
    const uint32_t rank = v->extent.rank;
    hri_queue *queue = w->queues[place - 1]->stream->queue;
    if (rank > 3) {
        for (int64_t i = 0; i < v->extent.size[0]; i++) {
            hr_view part;
            CHECK(hr_view_project(*v, i, &part) == HR_OK);
            touch_view(w, &part, linear, place, bytes + i * bytes_of(&part),
                       write);
        }
        return;
    }
    hri_copy copy = {
        .from = hri_view_at(v, linear, place, stride),
        .to = hri_at_host(bytes, 0),
        .width = (size_t)v->extent.size[rank - 1] * v->element_bytes,
        .height = rank > 1 ? (size_t)v->extent.size[rank - 2] : 1,
        .depth = rank > 2 ? (size_t)v->extent.size[rank - 3] : 1,
    };
    copy.to_pitch = copy.width;
    copy.to_slice = copy.width * copy.height;
    copy.from_pitch = rank > 1 ? (size_t)stride[rank - 2] : 0;
    copy.from_slice = rank > 2 ? (size_t)stride[0] : 0;
    if (write) {
        hri_copy back = {.to = copy.from,
                         .from = copy.to,
                         .to_pitch = copy.from_pitch,
                         .to_slice = copy.from_slice,
                         .from_pitch = copy.to_pitch,
                         .from_slice = copy.to_slice,
                         .width = copy.width,
                         .height = copy.height,
                         .depth = copy.depth};
        copy = back;
    }
    CHECK(queue->ops->copy(queue, &copy) == HR_OK);
}

/* What was read is what the model knows. */
static void compare_bytes(const model *m, const hr_view *v,
                          const uint8_t *bytes)
{
    int ok = 1;
    for (int64_t i = 0; i < bytes_of(v); i++) {
        int64_t byte = byte_of(v, i);
        ok = ok && (!has_value(m, byte) || bytes[i] == m->value[byte]);
    }
    CHECK(ok);
}

static void expect_reading(world *w, model *m, const hr_view *v, int place,
                           hr_access access)
{
    for (int64_t i = 0; i < bytes_of(v) && (access & HR_IN) != 0; i++) {
        fetch_byte(w, m, place, byte_of(v, i));
    }
}

static void expect_writing(model *m, const hr_view *v, int place,
                           const uint8_t *bytes, hr_access access)
{
    for (int64_t i = 0; i < bytes_of(v) && (access & HR_OUT) != 0; i++) {
        write_byte(m, place, byte_of(v, i), bytes[i]);
    }
}

/* Work on a device. */
static void work_on_device(world *w, model *m, hr_view v, hr_access access)
{
    uint8_t bytes[MAX_BYTES];
    int place = (int)between(w, 1, FAKE_DEVICES);
    hr_queue *queue = w->queues[place - 1];
    hri_boxes boxes = {0};
    hri_fence *fence = NULL;
    CHECK(hri_view_boxes(&v, &boxes) == HR_OK);
    CHECK(hri_array_begin_use(m->array, place, &boxes, access, queue) == HR_OK);
    expect_reading(w, m, &v, place, access);
    if ((access & HR_IN) != 0) {
        touch_view(w, &v, boxes.linear, place, bytes, false);
        compare_bytes(m, &v, bytes);
    }
    if ((access & HR_OUT) != 0) {
        random_fill_bytes(&w->random, bytes, (size_t)bytes_of(&v));
        touch_view(w, &v, boxes.linear, place, bytes, true);
    }
    CHECK(hri_fence_create_recorded(queue->stream, &fence) == HR_OK);
    CHECK(hri_array_end_use(m->array, place, &boxes, access, fence) == HR_OK);
    hri_fence_drop(fence);
    expect_writing(m, &v, place, bytes, access);
    hri_boxes_finish(&boxes);
}

/* The caller works on host memory. */
static void map_view(world *w, model *m, hr_view v, hr_access access)
{
    uint8_t bytes[MAX_BYTES];
    hr_mapping mapping;
    CHECK(hr_map(v, access, &mapping) == HR_OK);
    expect_reading(w, m, &v, HRI_HOST, access);
    if ((access & HR_OUT) != 0) {
        random_fill_bytes(&w->random, bytes, (size_t)bytes_of(&v));
    }
    hr_view packed = v; /* where byte i is behind the mapping's data */
    packed.offset_bytes = 0;
    memcpy(packed.stride_bytes, mapping.stride_bytes,
           sizeof packed.stride_bytes);
    int ok = 1;
    for (int64_t i = 0; i < bytes_of(&v); i++) {
        uint8_t *at = (uint8_t *)mapping.data + byte_of(&packed, i);
        int64_t byte = byte_of(&v, i);
        ok = ok && ((access & HR_IN) == 0 || !has_value(m, byte) ||
                    *at == m->value[byte]);
        if ((access & HR_OUT) != 0) {
            *at = bytes[i];
        }
    }
    CHECK(ok);
    CHECK(hr_unmap(&mapping) == HR_OK);
    expect_writing(m, &v, HRI_HOST, bytes, access);
}

/* The program writes to its own memory and says so. */
static void invalidate_view(world *w, model *m, hr_view v)
{
    char *host = hr_array_data(m->array);
    if (host == NULL) {
        CHECK_FAILS(hr_invalidate(v), HR_ERROR_INVALID, "no host memory");
        return;
    }
    for (int64_t i = 0; i < bytes_of(&v); i++) {
        int64_t byte = byte_of(&v, i);
        uint8_t value = (uint8_t)random_next(&w->random);
        host[byte / m->size[2] * (int64_t)m->row_bytes + byte % m->size[2]] =
            (char)value;
        write_byte(m, HRI_HOST, byte, value);
    }
    CHECK(hr_invalidate(v) == HR_OK);
}

static void discard_view(model *m, hr_view v)
{
    CHECK(hr_discard(v) == HR_OK);
    for (int64_t i = 0; i < bytes_of(&v); i++) {
        for (int p = 0; p < PLACES; p++) {
            m->valid[p][byte_of(&v, i)] = false;
        }
    }
}

/* Whether both views are one box of the same size. Then bytes go directly from
 * where they are to where they belong. */
static bool are_same_kind(const hr_view *a, const hr_view *b)
{
    hri_boxes boxes[2] = {{0}};
    bool equal;
    CHECK(hri_view_boxes(a, &boxes[0]) == HR_OK);
    CHECK(hri_view_boxes(b, &boxes[1]) == HR_OK);
    equal = !boxes[0].linear && !boxes[1].linear && boxes[0].count == 1 &&
            boxes[1].count == 1;
    for (int i = 0; i < HRI_DIMENSIONS && equal; i++) {
        equal = boxes[0].of[0].hi[i] - boxes[0].of[0].lo[i] ==
                boxes[1].of[0].hi[i] - boxes[1].of[0].lo[i];
    }
    hri_boxes_finish(&boxes[0]);
    hri_boxes_finish(&boxes[1]);
    return equal;
}

static bool views_overlap(const model *a, const hr_view *v, const model *b,
                          const hr_view *u)
{
    bool in[MAX_BYTES] = {false}, any = false;
    for (int64_t i = 0; i < bytes_of(v); i++) {
        in[byte_of(v, i)] = true;
    }
    for (int64_t i = 0; i < bytes_of(u); i++) {
        any = any || in[byte_of(u, i)];
    }
    return a == b && any;
}

static int busiest_place(const model *m, const hr_view *v)
{
    int best = HRI_HOST;
    int64_t most = 0;
    for (int p = 0; p < PLACES; p++) {
        int64_t there = 0;
        for (int64_t i = 0; i < bytes_of(v); i++) {
            there += m->valid[p][byte_of(v, i)];
        }
        if (there > most) {
            most = there;
            best = p;
        }
    }
    return best;
}

/* Copies of higher ranks are made in parts of three dimensions. */
static void expect_copy(world *w, model *from, hr_view v, model *to, hr_view u,
                        int place)
{
    hr_view joined = v, other = u;
    while (joined.extent.rank > 3 &&
           hri_view_flatten(&joined, 0, joined.extent.rank - 1) &&
           hri_view_flatten(&other, 0, other.extent.rank - 1)) {
        v = joined;
        u = other;
    }
    for (int64_t i = 0; v.extent.rank > 3 && i < v.extent.size[0]; i++) {
        CHECK(hr_view_project(v, i, &joined) == HR_OK);
        CHECK(hr_view_project(u, i, &other) == HR_OK);
        expect_copy(w, from, joined, to, other, place);
    }
    bool equal = v.extent.rank <= 3 && are_same_kind(&v, &u);
    for (int64_t i = 0; v.extent.rank <= 3 && i < bytes_of(&v); i++) {
        int64_t byte = byte_of(&v, i);
        bool known = is_known(from, byte);
        if (equal) {
            move_byte(w, from, place, byte);
        } else {
            fetch_byte(w, from, place, byte);
        }
        if (known || !equal) {
            write_byte(to, place, byte_of(&u, i), from->value[byte]);
            to->vague[byte_of(&u, i)] = !known || from->vague[byte];
        }
    }
}

static void copy_view(world *w, model *from, hr_view v, model *to, hr_view u)
{
    bool same = v.extent.rank == u.extent.rank;
    for (uint32_t i = 0; i < v.extent.rank && same; i++) {
        same = v.extent.size[i] == u.extent.size[i];
    }
    if (!same || v.element_bytes != u.element_bytes) {
        CHECK_FAILS(hr_copy(v, u), HR_ERROR_INVALID, "copy");
        return;
    }
    if (views_overlap(from, &v, to, &u)) {
        CHECK_FAILS(hr_copy(v, u), HR_ERROR_INVALID, "overlap");
        return;
    }
    CHECK(hr_copy(v, u) == HR_OK);
    int place = to->home == HRI_NOWHERE ? busiest_place(from, &v) : to->home;
    expect_copy(w, from, v, to, u, place);
}

/* A view of the same extent as v somewhere else, if there is one. */
static hr_view partner_of(world *w, const model *m, hr_view v)
{
    hr_view u = hr_view_of(m->array);
    int64_t origin[HR_MAX_RANK];
    (void)!hr_view_reinterpret(u, v.element_bytes, &u);
    while (u.extent.rank > v.extent.rank) {
        (void)!hr_view_project(u, between(w, 0, u.extent.size[0] - 1), &u);
    }
    for (uint32_t i = 0; i < u.extent.rank; i++) {
        int64_t room = u.extent.size[i] - v.extent.size[i];
        origin[i] = room > 0 ? between(w, 0, room) : 0;
    }
    (void)!hr_view_section(u, origin, v.extent, &u);
    return u;
}

static void step_world(world *w)
{
    model *m = &w->models[between(w, 0, ARRAYS - 1)];
    model *other = &w->models[between(w, 0, ARRAYS - 1)];
    hr_view v = random_view(w, m);
    hr_access access = (hr_access)between(w, HR_IN, HR_INOUT);
    switch (between(w, 0, 11)) {
    case 0:
    case 1:
        map_view(w, m, v, access);
        break;
    case 2:
        invalidate_view(w, m, v);
        break;
    case 3:
        if (between(w, 0, 3) == 0) {
            discard_view(m, v);
        }
        break;
    case 4:
        CHECK(hr_synchronize(v) == HR_OK);
        expect_reading(w, m, &v, m->home == HRI_NOWHERE ? HRI_HOST : m->home,
                       HR_IN);
        break;
    case 5: {
        int place = (int)between(w, 1, FAKE_DEVICES);
        CHECK(hr_prefetch(v, w->queues[place - 1]) == HR_OK);
        expect_reading(w, m, &v, place, HR_IN);
        break;
    }
    case 6:
    case 7:
        copy_view(w, m, v, other, partner_of(w, other, v));
        break;
    default:
        work_on_device(w, m, v, access);
    }
}

/* ---- the test */

static void make_model(world *w, model *m)
{
    size_t element = (size_t)1 << between(w, 0, 3);
    hr_extent extent = {.rank = (uint32_t)between(w, 1, HR_MAX_RANK)};
    for (uint32_t i = 0; i < extent.rank; i++) {
        extent.size[i] = between(w, 1,
                                 extent.rank > 4   ? 2
                                 : extent.rank > 3 ? 3
                                                   : 5);
    }
    *m = (model){.size = {1, 1, 1}};
    for (uint32_t i = 0; i < extent.rank; i++) { /* leading ones: slices */
        const uint32_t behind = extent.rank - 1 - i;
        m->size[behind > 2 ? 0 : 2 - behind] *= extent.size[i];
    }
    m->size[2] *= (int64_t)element;
    m->bytes = m->size[0] * m->size[1] * m->size[2];
    m->row_bytes = (size_t)m->size[2];
    int device = (int)between(w, 0, FAKE_DEVICES - 1);
    hr_status status = HR_OK;
    switch (between(w, 0, 3)) {
    case 0:
        m->home = device + 1;
        status = hr_array_create(w->queues[device], element, extent, &m->array);
        break;
    case 1:
        m->home = HRI_NOWHERE;
        status =
            hr_array_create_anywhere(w->context, element, extent, &m->array);
        break;
    case 2:
        status = hr_array_create_staging(w->queues[device], element, extent,
                                         &m->array);
        break;
    default:
        m->row_bytes += (size_t)between(w, 0, 1) * 5;
        m->memory = calloc((size_t)(m->size[0] * m->size[1]), m->row_bytes);
        status = hr_array_wrap(w->context, m->memory, element, extent,
                               m->row_bytes, &m->array);
        memset(m->valid[HRI_HOST], 1, (size_t)m->bytes);
    }
    CHECK(status == HR_OK);
}

static void run_world(uint64_t seed, long rounds, long steps)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    world w = {.random = {seed}};
    options.accelerators = "cuda";
    fake_reset_instant();
    CHECK(hri_context_create_from(fake_list, &options, &w.context) == HR_OK);
    for (uint32_t i = 0; i < FAKE_DEVICES; i++) {
        CHECK(hr_queue_create(w.context, i, &w.queues[i]) == HR_OK);
    }
    for (long r = 0; r < rounds && test_state.failures == 0; r++) {
        for (int i = 0; i < ARRAYS; i++) {
            make_model(&w, &w.models[i]);
        }
        for (long s = 0; s < steps && test_state.failures == 0; s++) {
            step_world(&w);
            hr_traffic moved = hr_context_traffic(w.context);
            CHECK(memcmp(&moved, &w.moved, sizeof moved) == 0);
            if (test_state.failures > 0) {
                fprintf(stderr, "seed %llu, round %ld, step %ld\n",
                        (unsigned long long)seed, r, s);
            }
        }
        for (int i = 0; i < ARRAYS; i++) {
            hr_array_destroy(w.models[i].array);
            free(w.models[i].memory);
        }
    }
    printf("%ld operations: %llu bytes up, %llu down, %llu between peers\n",
           rounds * steps, (unsigned long long)w.moved.up,
           (unsigned long long)w.moved.down, (unsigned long long)w.moved.peer);
    for (int i = 0; i < FAKE_DEVICES; i++) {
        hr_queue_destroy(w.queues[i]);
    }
    hr_context_destroy(w.context);
    CHECK(fake.live == 0);
}

/* Its argument: how many rounds. */
int main(int argc, char **argv)
{
    TEST_CASE("random operations on two arrays and five places");
    TEST(run_world(2026, argc > 1 ? atol(argv[1]) : 2000, 100));
    return test_end();
}
