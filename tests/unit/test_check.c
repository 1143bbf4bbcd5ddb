/* SPDX-License-Identifier: MIT */
/* The checker on the accelerators of argv[1]: each kind of finding in each
 * rank, reported once and to the letter; right kernels; mapped memory. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <headrace/headrace.h>

#include "checker/watch.h"
#include "test.h"

extern const hr_kernel reads_beyond, writes_beyond1, writes_beyond2,
    writes_beyond3, wrong_rank, reads_out1, reads_out2, reads_out3, adds_to_out,
    counts_in_out, writes_in, all_write1, all_write2, all_write3, shifts,
    shifts_with_barrier, shifts_with_less, between_blocks, counts,
    counts_and_looks, every_byte, calls, calls_and_shifts, counts_then_looks,
    counts_members, larger_of_out, positive_out, zero_out, doubles,
    sets_and_counts, sets_then_counts, sets_then_counts_later,
    looks_then_counts, all_count_and_look, adds_to_out64, largest_in_out32,
    largest_in_out16, least_in_out, least_number_in_out;

enum { MAX_VIEWS = 3 };

/* Arrays for a kernel's views, of one extent, and their memory. */
typedef struct views {
    unsigned char *data[MAX_VIEWS];
    hr_array *arrays[MAX_VIEWS];
    hr_argument arguments[MAX_VIEWS];
} views;

static unsigned char first_byte(size_t i)
{
    return (unsigned char)(i * 37 + 1);
}

static void make_views(views *v, hr_context *context, const hr_kernel *kernel,
                       hr_extent extent)
{
    *v = (views){{NULL}, {NULL}, {{0}}};
    for (uint32_t i = 0; i < kernel->parameter_count; i++) {
        const hr_parameter *p = &kernel->parameters(kernel)[i];
        const size_t bytes = (size_t)hr_extent_count(extent) * p->bytes;
        v->data[i] = malloc(bytes);
        for (size_t b = 0; b < bytes; b++) {
            v->data[i][b] = first_byte(b);
        }
        CHECK(hr_array_wrap(context, v->data[i], p->bytes, extent, 0,
                            &v->arrays[i]) == HR_OK);
        hr_view view = hr_view_of(v->arrays[i]);
        v->arguments[i] = p->access == HR_IN    ? hr_in(view)
                          : p->access == HR_OUT ? hr_out(view)
                                                : hr_inout(view);
    }
}

static void free_views(views *v)
{
    for (int i = 0; i < MAX_VIEWS; i++) {
        hr_array_destroy(v->arrays[i]);
        free(v->data[i]);
    }
}

static void bring_home(const views *v)
{
    for (int i = 0; i < MAX_VIEWS; i++) {
        CHECK(v->arrays[i] == NULL ||
              hr_synchronize(hr_view_of(v->arrays[i])) == HR_OK);
    }
}

/* ---- faulty kernels */

static const struct {
    const hr_kernel *kernel;
    hr_extent extent, domain, tile; /* rank 0: as extent, none */
    const char *want;
} faults[] = {
    {&reads_beyond,
     {1, {5}},
     {0},
     {0},
     "faulty.c:12: reads_beyond: item (4) reads a[5], outside its extent 5"},
    {&writes_beyond1,
     {1, {5}},
     {0},
     {0},
     "faulty.c:20: writes_beyond1: item (4) writes c[5], outside its extent 5"},
    {&writes_beyond2,
     {2, {2, 3}},
     {0},
     {0},
     "faulty.c:29: writes_beyond2: item (0, 0) writes c[1, 3], outside its "
     "extent 2 x 3"},
    {&writes_beyond3,
     {3, {2, 2, 3}},
     {0},
     {0},
     "faulty.c:37: writes_beyond3: item (0, 0, 0) writes c[0, 0, -1], outside "
     "its extent 2 x 2 x 3"},
    {&wrong_rank,
     {2, {2, 3}},
     {1, {2}},
     {0},
     "faulty.c:45: wrong_rank: item (0) writes c[0], but c has rank 2"},
    {&reads_out1,
     {1, {3}},
     {0},
     {0},
     "faulty.c:55: reads_out1: item (0) reads c[0], which is OUT and has no "
     "value yet"},
    {&reads_out2,
     {2, {2, 3}},
     {0},
     {0},
     "faulty.c:65: reads_out2: item (1, 0) reads d[1, 0], which is OUT and has "
     "no value yet"},
    {&reads_out3,
     {3, {1, 2, 2}},
     {0},
     {0},
     "faulty.c:73: reads_out3: item (0, 0, 0) reads d[0, 0, 0], which is OUT "
     "and has no value yet, and 1 more"},
    {&adds_to_out,
     {1, {4}},
     {0},
     {0},
     "faulty.c:83: adds_to_out: item (0) writes c[0], whose value depends on "
     "what an OUT view held before"},
    {&counts_in_out,
     {1, {4}},
     {0},
     {0},
     "faulty.c:91: counts_in_out: item (2) writes c[0], whose value depends on "
     "what an OUT view held before"},
    {&writes_in,
     {2, {2, 3}},
     {0},
     {0},
     "faulty.c:101: writes_in: item (1, 0) writes a[1, 0], which is IN"},
    {&all_write1,
     {1, {3}},
     {0},
     {0},
     "faulty.c:112: all_write1: item (1) writes c[0], which item (0) writes in "
     "line 112, without a barrier between"},
    {&all_write2,
     {2, {2, 3}},
     {0},
     {2, {1, 3}},
     "faulty.c:120: all_write2: item (1, 0) writes c[0, 0], which item (0, 0) "
     "writes in line 120"},
    {&all_write3,
     {3, {1, 2, 3}},
     {0},
     {0},
     "faulty.c:128: all_write3: item (0, 0, 1) writes c[0, 0, 0], which item "
     "(0, 0, 0) writes in line 128, without a barrier between"},
    {&shifts,
     {1, {4}},
     {0},
     {0},
     "faulty.c:137: shifts: item (1) writes c[1], which item (0) uses in line "
     "136, without a barrier between"},
    {&shifts_with_less,
     {1, {4}},
     {0},
     {0},
     "faulty.c:165: shifts_with_less: item (1) writes c[1], which item (0) "
     "uses in line 160, without a barrier between"},
    {&shifts_with_barrier, /* no item of another tile uses it */
     {1, {4}},
     {0},
     {1, {2}},
     "faulty.c:151: shifts_with_barrier: item (2) writes c[2], which item (1) "
     "uses in line 146"},
    {&between_blocks,
     {1, {3}},
     {0},
     {0},
     "faulty.c:171: between_blocks: every item of tile (0) writes c[0]"},
    {&counts_and_looks,
     {1, {4}},
     {0},
     {0},
     "faulty.c:195: counts_and_looks: item (2) uses c[0], which item (1) "
     "writes in line 193, without a barrier between, and 1 more"},
    {&calls_and_shifts,
     {1, {4}},
     {0},
     {0},
     "faulty.c:234: calls_and_shifts: item (1) writes c[0], which item (0) "
     "writes in line 234, without a barrier between"},
    {&counts_then_looks,
     {1, {4}},
     {0},
     {1, {2}},
     "faulty.c:266: counts_then_looks: item (3) uses n[0], which item (0) "
     "writes in line 260"},
    {&larger_of_out,
     {1, {9}},
     {0},
     {0},
     "faulty.c:295: larger_of_out: item (2) writes c[2], whose value depends "
     "on "
     "what an OUT view held before"},
    {&positive_out,
     {1, {9}},
     {0},
     {0},
     "faulty.c:304: positive_out: item (0) writes c[0], whose value depends on "
     "what an OUT view held before"},
    {&zero_out,
     {1, {9}},
     {0},
     {0},
     "faulty.c:312: zero_out: item (2) writes c[2], whose value depends on "
     "what "
     "an OUT view held before"},
    {&sets_and_counts,
     {1, {4}},
     {0},
     {0},
     "faulty.c:333: sets_and_counts: item (1) writes n[0], which item (0) "
     "writes in line 331, without a barrier between"},
    {&sets_then_counts,
     {1, {4}},
     {0},
     {0},
     "faulty.c:347: sets_then_counts: item (1) writes n[0], which item (0) "
     "writes in line 342, without a barrier between"},
    {&sets_then_counts_later,
     {1, {4}},
     {0},
     {1, {2}},
     "faulty.c:362: sets_then_counts_later: item (2) writes n[0], which item "
     "(0) writes in line 356"},
    {&looks_then_counts,
     {1, {4}},
     {0},
     {1, {2}},
     "faulty.c:377: looks_then_counts: item (2) writes n[0], which item (0) "
     "uses in line 370"},
    {&all_count_and_look,
     {1, {4}},
     {1, {3}},
     {0},
     "faulty.c:384: all_count_and_look: every item of tile (0) writes n[0], "
     "which every item of tile (0) uses in line 383, without a barrier "
     "between"},
    {&adds_to_out64,
     {1, {3}},
     {0},
     {0},
     "faulty.c:398: adds_to_out64: item (0) writes c[0], whose value depends "
     "on what an OUT view held before"},
    {&largest_in_out32,
     {1, {3}},
     {0},
     {0},
     "faulty.c:406: largest_in_out32: item (0) writes c[0], whose value "
     "depends on what an OUT view held before"},
    {&largest_in_out16,
     {1, {3}},
     {0},
     {0},
     "faulty.c:414: largest_in_out16: item (0) writes c[0], whose value "
     "depends on what an OUT view held before"},
    {&least_in_out,
     {1, {3}},
     {0},
     {0},
     "faulty.c:424: least_in_out: item (0) writes c[0], whose value depends on "
     "what an OUT view held before"},
    {&least_number_in_out,
     {1, {3}},
     {0},
     {0},
     "faulty.c:434: least_number_in_out: item (1) writes c[1], whose value "
     "depends on what an OUT view held before"},
};

static void find_faults(hr_context *context, hr_queue *queue)
{
    size_t count = 0;
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
        const hr_kernel *kernel = faults[f].kernel;
        const hr_extent *tile = &faults[f].tile;
        const hr_extent *domain = &faults[f].domain;
        views v;
        TEST_CASE(kernel->name);
        make_views(&v, context, kernel, faults[f].extent);
        domain = domain->rank > 0 ? domain : &faults[f].extent;
        tile = tile->rank > 0 ? tile : NULL;
        for (int i = 0; i < 2; i++) { /* told once */
            hr_status status = hr_launch(queue, kernel, *domain, tile,
                                         v.arguments, kernel->parameter_count);
            CHECK(status == (i == 0 ? HR_ERROR_INVALID : HR_OK));
            if (i == 0 &&
                !CHECK(strcmp(hr_last_error(), faults[f].want) == 0)) {
                printf("want %s\ngot  %s\n", faults[f].want, hr_last_error());
            }
        }
        CHECK(hr_queue_finish(queue) == HR_OK); /* it has not failed */
        bring_home(&v);
        free_views(&v);
        const char *found = hr_check_finding(context, count);
        CHECK(found != NULL &&
              strncmp(found, faults[f].want, strlen(found)) == 0);
        count = hr_check_count(context);
    }
    CHECK(hr_check_finding(context, count) == NULL);
    CHECK(count == sizeof faults / sizeof faults[0] + 2); /* "and 1 more" */
}

static void keeps_what_is_outside(hr_context *context, hr_queue *queue)
{
    TEST_CASE("what is outside of a view stays as it is");
    int data[12];
    memset(data, 1, sizeof data);
    hr_array *array = NULL;
    hr_view section;
    const int64_t origin[] = {3};
    CHECK(hr_array_wrap(context, data, sizeof data[0], hr_extent1(12), 0,
                        &array) == HR_OK);
    CHECK(hr_view_section(hr_view_of(array), origin, hr_extent1(5), &section) ==
          HR_OK);
    const hr_argument arguments[] = {hr_out(section)};
    CHECK(hr_launch(queue, &writes_beyond1, hr_extent1(5), NULL, arguments,
                    1) == HR_OK); /* it is known */
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    for (int i = 0; i < 12; i++) { /* 3 is left out: it has no value */
        CHECK(i == 3 || data[i] == (i > 3 && i < 8 ? 7 : 0x01010101));
    }
    hr_array_destroy(array);
}

/* ---- right ones */

static void passes(hr_context *context, hr_queue *queue)
{
    TEST_CASE("kernels that do as they declare");
    const size_t before = hr_check_count(context);
    const hr_extent four = hr_extent1(4);
    views v;
    make_views(&v, context, &shifts_with_barrier, four);
    CHECK(hr_launch(queue, &shifts_with_barrier, four, NULL, v.arguments, 1) ==
          HR_OK);
    bring_home(&v);
    CHECK(v.data[0][0] == first_byte(4) && v.data[0][15] == 0);
    free_views(&v);

    make_views(&v, context, &counts, four);
    memset(v.data[0], 0, 16);
    memset(v.data[1], 0, 16);
    CHECK(hr_launch(queue, &counts, four, NULL, v.arguments, 2) == HR_OK);
    bring_home(&v);
    CHECK(v.data[1][0] == 4);
    free_views(&v);

    make_views(&v, context, &counts_members, four);
    memset(v.data[0], 0, 8);
    CHECK(hr_launch(queue, &counts_members, four, NULL, v.arguments, 1) ==
          HR_OK);
    bring_home(&v);
    CHECK(v.data[0][0] == 2 && v.data[0][4] == 2);
    free_views(&v);

    make_views(&v, context, &calls, four);
    CHECK(hr_launch(queue, &calls, four, NULL, v.arguments, 3) == HR_OK);
    bring_home(&v);
    CHECK(memcmp(v.data[0], v.data[1], 16) == 0);
    CHECK(memcmp(v.data[0], v.data[2], 16) == 0);
    free_views(&v);

    enum { N = 5000 };
    make_views(&v, context, &every_byte, hr_extent1(N));
    CHECK(hr_launch(queue, &every_byte, hr_extent1(N), NULL, v.arguments, 3) ==
          HR_OK);
    bring_home(&v);
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_accelerator_describe(context, hr_queue_accelerator(queue),
                                  &info) == HR_OK);
    int ok = 1;
    for (size_t i = 0; i < N; i++) {
        ok = ok && v.data[0][i] == (i % 5 > 0 ? i % 256 : i % 256 == 0 ? 1 : 2);
        /* in the caller's memory, what a kernel leaves out stays */
        ok = ok && (i % 2 == 0 ? v.data[2][4 * i] == 3
                               : v.data[2][4 * i] == first_byte(4 * i) ||
                                     !info.in_place);
    }
    CHECK(ok);
    free_views(&v);
    CHECK(hr_check_count(context) == before);
}

static void refuses(hr_context *context, hr_queue *queue)
{
    TEST_CASE("a kernel without its checked form");
    hr_kernel plain = all_write1;
    views v;
    plain.checked = NULL;
    make_views(&v, context, &plain, hr_extent1(3));
    CHECK_FAILS(hr_launch(queue, &plain, hr_extent1(3), NULL, v.arguments, 1),
                HR_ERROR_UNSUPPORTED,
                "all_write1: HEADRACE_CHECK=1 cannot check this kernel");
    CHECK(hr_queue_finish(queue) == HR_OK);
    free_views(&v);
}

/* A domain of another rank than the kernel's blocks have. */
static void other_domain(hr_context *context, hr_queue *queue)
{
    TEST_CASE("a domain of another rank");
    views v;
    make_views(&v, context, &all_write1, hr_extent1(6));
    CHECK_FAILS(
        hr_launch(queue, &all_write1, hr_extent2(2, 3), NULL, v.arguments, 1),
        HR_ERROR_COMPUTE_DOMAIN,
        "all_write1: the block has rank 1, but the domain has 2");
    CHECK(strncmp(hr_last_error(), "faulty.c:", 9) == 0);
    CHECK(hr_queue_finish(queue) == HR_OK);
    free_views(&v);
}

/* How often as many bytes were copied at once as the checker compares at once:
 * of integers. Sanitizers have names of their own for memcpy. */
enum { CHUNK_BYTES = HRI_POISONED * sizeof(int) };
static atomic_long chunks;

void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap___asan_memcpy(void *to, const void *from, size_t bytes);
void *__wrap___tsan_memcpy(void *to, const void *from, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    chunks += bytes == CHUNK_BYTES;
    return memmove(to, from, bytes);
}

void *__wrap___asan_memcpy(void *to, const void *from, size_t bytes)
{
    return __wrap_memcpy(to, from, bytes);
}

void *__wrap___tsan_memcpy(void *to, const void *from, size_t bytes)
{
    return __wrap_memcpy(to, from, bytes);
}

/* The same for a launch of so many items. */
static long chunks_of(hr_queue *queue, hr_array *array, int64_t items)
{
    const hr_argument argument = hr_out(hr_view_of(array));
    const long before = chunks;
    CHECK(hr_launch(queue, &doubles, hr_extent1(items), NULL, &argument, 1) ==
          HR_OK);
    return chunks - before;
}

/* Elements that a launch does not touch are copied and compared in chunks, not
 * one by one. All others need as many copies before a run, and none behind it.
 * Two runs are compared with the first. */
static void costs_by_touched(hr_context *context, hr_queue *queue)
{
    enum { N = 1 << 20 };
    static int data[N];
    hr_array *array = NULL;
    TEST_CASE("a small launch in a large view");
    CHECK(hr_array_wrap(context, data, sizeof data[0], hr_extent1(N), 0,
                        &array) == HR_OK);
    const long all = chunks_of(queue, array, N);
    const long few = chunks_of(queue, array, 16);
    CHECK(few - all == 2 * (N / HRI_POISONED - 1));
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK);
    CHECK(data[15] == 30);
    hr_array_destroy(array);
}

/* ---- mapped memory */

/* Use element `index` after hr_unmap, and be told. */
static void use_late(hr_context *context, hr_extent extent, size_t index,
                     int writes, const char *element)
{
    const size_t count = (size_t)hr_extent_count(extent);
    int *data = calloc(count, sizeof *data);
    hr_array *array = NULL;
    hr_mapping m;
    char want[200];
    CHECK(hr_array_wrap(context, data, sizeof *data, extent, 0, &array) ==
          HR_OK);
    const hr_view view = hr_view_of(array);
    const size_t before = hr_check_count(context);
    /* each with a line of its own, since each line is told once */
    const int line = writes ? 1000 + __LINE__ : __LINE__;
    CHECK(hr_map_at(view, HR_INOUT, &m, __FILE__, line + (int)index) == HR_OK);
    volatile int *elements = m.data;
    elements[index] = 5;
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(data[index] == 5);
    if (writes) {
        elements[index] = 6;
    } else {
        CHECK(elements[index] == 0);
    }
    CHECK(data[index] == 5);
    snprintf(want, sizeof want,
             "test_check.c:%d: element (%s) of the view mapped here was %s "
             "after hr_unmap, by test_check",
             line + (int)index, element, writes ? "written" : "read");
    CHECK_FAILS(hr_synchronize(view), HR_ERROR_INVALID, want);
    CHECK(strncmp(hr_last_error(), want, strlen(want)) == 0);
    CHECK(hr_synchronize(view) == HR_OK); /* told once */
    CHECK(hr_check_count(context) == before + 1);
    hr_array_destroy(array);
    free(data);
}

/* More than are watched: the last one still is. */
static void many_mappings(hr_context *context)
{
    static double data[3000];
    hr_array *array = NULL;
    hr_mapping m;
    volatile double *late = NULL;
    CHECK(hr_array_wrap(context, data, sizeof data[0], hr_extent1(3000), 0,
                        &array) == HR_OK);
    int ok = 1;
    for (int i = 0; i < 3000 && ok; i++) {
        ok = hr_map(hr_view_of(array), HR_INOUT, &m) == HR_OK;
        late = m.data;
        late[i] += i;
        ok = ok && hr_unmap(&m) == HR_OK;
    }
    CHECK(ok && data[2999] == 2999);
    late[7] = 1;
    CHECK_FAILS(hr_map(hr_view_of(array), HR_IN, &m), HR_ERROR_INVALID,
                "element (7) of the view mapped here was written");
    CHECK(data[7] == 7);
    hr_array_destroy(array);
}

static void mapped(hr_context *context, hr_queue *queue)
{
    TEST_CASE("mapped memory that is used too late");
    for (int writes = 0; writes < 2; writes++) {
        use_late(context, hr_extent1(7), 6, writes, "6");
        use_late(context, hr_extent2(4, 5), 13, writes, "2, 3");
        use_late(context, hr_extent3(2, 40, 50), 2451, writes, "1, 9, 1");
    }
    TEST_CASE("one of very many mappings");
    many_mappings(context);
    TEST_CASE("mapped memory that is used in time");
    double data[6] = {1, 2, 3, 4, 5, 6};
    hr_array *array = NULL;
    hr_mapping m, again;
    const int64_t origin[] = {1, 0};
    const hr_kernel *k = &all_write1;
    views v;
    CHECK(hr_array_wrap(context, data, sizeof data[0], hr_extent2(3, 2), 0,
                        &array) == HR_OK);
    hr_view column;
    CHECK(hr_view_section(hr_view_of(array), origin, hr_extent2(2, 1),
                          &column) == HR_OK);
    CHECK((hr_map)(column, HR_INOUT, &m) == HR_OK);
    double *second = (double *)((char *)m.data + m.stride_bytes[0]);
    CHECK(*(double *)m.data == 3 && *second == 5);
    *second = 50;
    again = m;
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(data[4] == 50 && data[2] == 3 && data[5] == 6);
    CHECK_FAILS(hr_unmap(&again), HR_ERROR_INVALID, "nothing is mapped there");
    make_views(&v, context, k, hr_extent1(3));
    CHECK(hr_launch(queue, k, hr_extent1(3), NULL, v.arguments, 1) == HR_OK);
    free_views(&v);
    hr_array_destroy(array);
}

static sigjmp_buf jump;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(jump, 1);
}

static void passes_on(void)
{
    TEST_CASE("faults of others go to the handler that was there");
    volatile int *none =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int came = 0;
    if (sigsetjmp(jump, 1) == 0) {
        came = *none + 2;
    } else {
        came = 1;
    }
    CHECK(came == 1);
    munmap((void *)(uintptr_t)none, 4096);
}

/* ---- the variable */

static hr_context *create(const char *accelerators)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    hr_status status = hr_context_create(&options, &context);
    CHECK(status == HR_OK || status == HR_ERROR_UNAVAILABLE);
    return context;
}

static void without(const char *accelerators, const char *value)
{
    TEST_CASE("without HEADRACE_CHECK=1");
    CHECK(value != NULL ? setenv("HEADRACE_CHECK", value, 1) == 0
                        : unsetenv("HEADRACE_CHECK") == 0);
    hr_context *context = create(accelerators);
    hr_queue *queue = NULL;
    hr_mapping m;
    views v;
    hr_kernel plain = all_write1;
    plain.checked = NULL;
    CHECK(hr_queue_create(context, 0, &queue) == HR_OK);
    make_views(&v, context, &plain, hr_extent1(3));
    CHECK(hr_launch(queue, &plain, hr_extent1(3), NULL, v.arguments, 1) ==
          HR_OK);
    CHECK(hr_map(hr_view_of(v.arrays[0]), HR_INOUT, &m) == HR_OK);
    CHECK(m.data == v.data[0]); /* no copy */
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_check_count(context) == 0);
    CHECK(hr_check_finding(context, 0) == NULL);
    free_views(&v);
    hr_queue_destroy(queue);
    hr_context_destroy(context);
}

/* The later tests rely on what the first has reported. */
static void faults_and_later(hr_context *context, hr_queue *queue)
{
    find_faults(context, queue);
    keeps_what_is_outside(context, queue);
    mapped(context, queue);
}

int main(int count, char **arguments)
{
    const char *accelerators = count > 1 ? arguments[1] : "host";
    hr_context *context = NULL;
    signal(SIGSEGV, on_fault);
    setenv("HEADRACE_CHECK", "yes", 1);
    CHECK_FAILS(hr_context_create(NULL, &context), HR_ERROR_INVALID,
                "HEADRACE_CHECK is \"yes\", not 1 or 0");
    setenv("HEADRACE_CHECK", "1", 1);
    context = create(accelerators);
    if (context == NULL) {
        return test_skip(hr_last_error());
    }
    CHECK(hr_check_count(context) == 0 && hr_check_count(NULL) == 0);
    hr_queue *queue = NULL;
    CHECK(hr_queue_create(context, hr_accelerator_count(context) - 1, &queue) ==
          HR_OK);
    if (queue != NULL) {
        TEST(faults_and_later(context, queue));
        TEST(passes(context, queue));
        TEST(costs_by_touched(context, queue));
        TEST(refuses(context, queue));
        TEST(other_domain(context, queue));
        TEST(passes_on());
    }
    hr_queue_destroy(queue);
    hr_context_destroy(context);
    TEST(without(accelerators, NULL));
    TEST(without(accelerators, ""));
    TEST(without(accelerators, "0"));
    return test_end();
}
