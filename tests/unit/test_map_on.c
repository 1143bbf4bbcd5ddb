/* SPDX-License-Identifier: MIT */
/* Elements mapped in the memory of accelerators, where the program, or a
 * library that it calls, works on them. argv[1]: a set of accelerators. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <headrace/headrace.h>

#include "test.h"

enum { ROWS = 40, COLS = 50, PITCH = 60, CELLS = ROWS * PITCH };

typedef struct bed {
    hr_context *context;
    uint32_t count;
    hr_accelerator_info info; /* of the accelerator under test */
    uint32_t index;
    hr_queue *queue;
    float data[CELLS];
    hr_array *array; /* over data */
} bed;

/* What programs use that work with CUDA by hand. */
static struct {
    int (*up)(uint64_t to, const void *from, size_t bytes);
    int (*down)(void *to, uint64_t from, size_t bytes);
    int (*attribute)(void *value, int attribute, uint64_t address);
} cuda;

static void find_cuda(void)
{
    static const char *const names[] = {"cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
                                        "cuPointerGetAttribute"};
    void *to[] = {&cuda.up, &cuda.down, &cuda.attribute};
    const char *name = getenv("HEADRACE_CUDA");
    void *library = dlopen(name != NULL ? name : "libcuda.so.1", RTLD_NOW);
    for (int i = 0; i < 3 && CHECK(library != NULL); i++) {
        void *found = dlsym(library, names[i]);
        CHECK(found != NULL);
        memcpy(to[i], &found, sizeof found);
    }
}

static bool is_cuda(const bed *b)
{
    return strncmp(b->info.path, "cuda", 4) == 0;
}

/* Copy between the program's memory and the accelerator's. */
static void copy_mapped(const bed *b, void *there, void *here, size_t bytes,
                        bool up)
{
    const uint64_t address = (uint64_t)(uintptr_t)there;
    if (is_cuda(b)) {
        CHECK((up ? cuda.up(address, here, bytes)
                  : cuda.down(here, address, bytes)) == 0);
    } else {
        memcpy(up ? there : here, up ? here : there, bytes);
    }
}

static float number_of(int i)
{
    return (float)((i * 7919 + 13) % 10007);
}

static void make_array(bed *b)
{
    for (int i = 0; i < CELLS; i++) {
        b->data[i] = number_of(i);
    }
    CHECK(hr_array_wrap(b->context, b->data, sizeof(float),
                        hr_extent2(ROWS, COLS), PITCH * sizeof(float),
                        &b->array) == HR_OK);
}

static void free_array(bed *b)
{
    hr_array_destroy(b->array);
}

static hr_view section_of(hr_view view, int64_t row, int64_t col, int64_t rows,
                          int64_t cols)
{
    hr_view part;
    CHECK(hr_view_section(view, (int64_t[]){row, col}, hr_extent2(rows, cols),
                          &part) == HR_OK);
    return part;
}

static char *row_of(const hr_mapping *m, int64_t row)
{
    return (char *)m->data + row * m->stride_bytes[0];
}

/* ---- what is mapped */

/* A section gets other values there; the cells around it keep theirs. */
static void read_and_write(bed *b)
{
    enum { ROW = 3, COL = 5, HIGH = 10, WIDE = 20 };
    hr_mapping m = {0};
    float row[WIDE];
    int right = 1;
    TEST_CASE("a section is read and written there");
    make_array(b);
    const hr_view part = section_of(hr_view_of(b->array), ROW, COL, HIGH, WIDE);
    CHECK(hr_map_on(part, b->index, HR_INOUT, &m) == HR_OK);
    CHECK(m.stride_bytes[1] == sizeof(float));
    CHECK(m.place == (b->info.in_place ? 0 : 1 + b->index));
    for (int i = 0; i < HIGH && m.data != NULL; i++) {
        copy_mapped(b, row_of(&m, i), row, sizeof row, false);
        for (int j = 0; j < WIDE; j++) {
            right = right && row[j] == number_of((ROW + i) * PITCH + COL + j);
            row[j] = -row[j];
        }
        copy_mapped(b, row_of(&m, i), row, sizeof row, true);
    }
    CHECK(right);
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(b->array)) == HR_OK);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < PITCH; j++) {
            const bool inside =
                i >= ROW && i < ROW + HIGH && j >= COL && j < COL + WIDE;
            const float was = number_of(i * PITCH + j);
            right = right && b->data[i * PITCH + j] == (inside ? -was : was);
        }
    }
    CHECK(right);
    free_array(b);
}

/* What is written there comes to other accelerators, too. */
static void written_anew(bed *b)
{
    hr_array *made = NULL, *other = NULL;
    hr_queue *last = NULL;
    hr_mapping m = {0};
    float row[COLS], seen[ROWS * COLS];
    int right = 1;
    TEST_CASE("an array without values is written there");
    const hr_extent extent = hr_extent2(ROWS, COLS);
    CHECK(hr_queue_default(b->context, b->count - 1, &last) == HR_OK);
    CHECK(hr_array_create_anywhere(b->context, 4, extent, &made) == HR_OK);
    CHECK(hr_array_create(last, 4, extent, &other) == HR_OK);
    CHECK(hr_map_on(hr_view_of(made), b->index, HR_OUT, &m) == HR_OK);
    for (int i = 0; i < ROWS && m.data != NULL; i++) {
        for (int j = 0; j < COLS; j++) {
            row[j] = number_of(i * COLS + j);
        }
        copy_mapped(b, row_of(&m, i), row, sizeof row, true);
    }
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_copy(hr_view_of(made), hr_view_of(other)) == HR_OK);
    CHECK(hr_map(hr_view_of(other), HR_IN, &m) == HR_OK);
    memcpy(seen, m.data, sizeof seen);
    CHECK(m.place == 0);
    CHECK(hr_unmap(&m) == HR_OK);
    for (int i = 0; i < ROWS * COLS; i++) {
        right = right && seen[i] == number_of(i);
    }
    CHECK(right);
    hr_array_destroy(made);
    hr_array_destroy(other);
}

/* Each element goes up once, and comes home once. */
static void what_moves(bed *b)
{
    const uint64_t bytes = 8 * COLS * sizeof(float);
    hr_mapping m = {0};
    TEST_CASE("only what is missing moves");
    make_array(b);
    const hr_view part = section_of(hr_view_of(b->array), 0, 0, 8, COLS);
    const hr_traffic before = hr_context_traffic(b->context);
    for (int i = 0; i < 3; i++) {
        CHECK(hr_map_on(part, b->index, i < 2 ? HR_IN : HR_OUT, &m) == HR_OK);
        CHECK(hr_unmap(&m) == HR_OK);
        CHECK(hr_synchronize(part) == HR_OK);
    }
    const hr_traffic after = hr_context_traffic(b->context);
    const uint64_t wanted = b->info.in_place ? 0 : bytes;
    CHECK(after.up - before.up == wanted);
    CHECK(after.down - before.down == wanted);
    free_array(b);
}

/* What is mapped stays where it is when the accelerator needs more. */
static void address_stays(bed *b)
{
    hr_mapping first = {0}, whole = {0};
    TEST_CASE("the address stays");
    if (b->info.in_place && getenv("HEADRACE_CHECK") != NULL) {
        return; /* the checker gives copies */
    }
    make_array(b);
    const hr_view all = hr_view_of(b->array);
    CHECK(hr_map_on(section_of(all, 20, 10, 1, 4), b->index, HR_IN, &first) ==
          HR_OK);
    CHECK(hr_prefetch(all, b->queue) == HR_OK);
    CHECK(hr_map_on(all, b->index, HR_IN, &whole) == HR_OK);
    CHECK((char *)first.data ==
          row_of(&whole, 20) + 10 * (int64_t)sizeof(float));
    if (is_cuda(b)) {
        unsigned kind = 0;
        CHECK(cuda.attribute(&kind, 2, (uint64_t)(uintptr_t)first.data) == 0 &&
              kind == 2); /* the device's, and its context is current */
    } else if (b->info.in_place) {
        CHECK(whole.data == b->data);
    }
    CHECK(hr_unmap(&whole) == HR_OK);
    CHECK(hr_unmap(&first) == HR_OK);
    free_array(b);
}

/* ---- what is refused */

static void wrong_arguments(bed *b)
{
    hr_mapping m = {0};
    TEST_CASE("wrong arguments");
    make_array(b);
    const hr_view v = hr_view_of(b->array);
    CHECK_FAILS(hr_map_on(v, b->count, HR_IN, &m), HR_ERROR_INVALID,
                "map: accelerator");
    CHECK_FAILS(hr_map_on(v, 0, (hr_access)4, &m), HR_ERROR_INVALID,
                "access 4");
    CHECK_FAILS(hr_map_on(v, 0, HR_IN, NULL), HR_ERROR_INVALID, "NULL");
    CHECK_FAILS(hr_map_on(hr_view_of(NULL), 0, HR_IN, &m), HR_ERROR_INVALID,
                "no array");
    CHECK(m.data == NULL);
    CHECK_FAILS(hr_unmap(&m), HR_ERROR_INVALID, "nothing is mapped");
    free_array(b);
}

static void no_addresses(bed *b)
{
    hr_mapping m = {0};
    TEST_CASE("memory without addresses");
    make_array(b);
    CHECK_FAILS(hr_map_on(hr_view_of(b->array), b->index, HR_IN, &m),
                HR_ERROR_UNSUPPORTED, "has no addresses");
    CHECK(hr_synchronize(hr_view_of(b->array)) == HR_OK);
    free_array(b);
}

static void map_on_accelerator(bed *b, uint32_t index)
{
    b->index = index;
    b->info = (hr_accelerator_info)HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_accelerator_describe(b->context, index, &b->info) == HR_OK);
    CHECK(hr_queue_default(b->context, index, &b->queue) == HR_OK);
    if (strncmp(b->info.path, "opencl", 6) == 0) {
        TEST(no_addresses(b));
        return;
    }
    if (is_cuda(b)) {
        find_cuda();
    }
    TEST(read_and_write(b));
    TEST(written_anew(b));
    TEST(what_moves(b));
    TEST(address_stays(b));
}

int main(int count, char **arguments)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    bed b = {0};
    options.accelerators = count > 1 ? arguments[1] : "2xhost";
    if (test_open(&options, &b.context)) {
        b.count = hr_accelerator_count(b.context);
        for (uint32_t i = 0; i < b.count; i++) {
            map_on_accelerator(&b, i);
        }
        TEST(wrong_arguments(&b));
        hr_context_destroy(b.context);
    }
    return test_end();
}
