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

typedef struct finder {
    hr_context *context;
    hr_queue *queue;
    size_t faults, findings; /* so far */
} finder;

/* Of the views, and of a launch. Rank 0: no tile. */
typedef struct shape {
    hr_extent extent, domain, tile;
} shape;

/* The first launch is told what is wrong, and no other one. */
static void find_fault_in(finder *f, const hr_kernel *kernel, shape s,
                          const char *want)
{
    views v;
    TEST_CASE(kernel->name);
    make_views(&v, f->context, kernel, s.extent);
    for (int i = 0; i < 2; i++) {
        const hr_status status = hr_launch(
            f->queue, kernel, s.domain, s.tile.rank > 0 ? &s.tile : NULL,
            v.arguments, kernel->parameter_count);
        CHECK(status == (i == 0 ? HR_ERROR_INVALID : HR_OK));
        if (i == 0 && !CHECK(strcmp(hr_last_error(), want) == 0)) {
            printf("want %s\ngot  %s\n", want, hr_last_error());
        }
    }
    CHECK(hr_queue_finish(f->queue) == HR_OK); /* it has not failed */
    bring_home(&v);
    free_views(&v);
    const char *found = hr_check_finding(f->context, f->findings);
    CHECK(found != NULL && strncmp(found, want, strlen(found)) == 0);
    f->findings = hr_check_count(f->context);
    f->faults++;
}

static void find_fault(finder *f, const hr_kernel *kernel, hr_extent extent,
                       const char *want)
{
    find_fault_in(f, kernel, (shape){extent, extent, {0}}, want);
}

/* One item alone is wrong. */
static void find_wrong_items(finder *f)
{
    find_fault(
        f, &reads_beyond, hr_extent1(5),
        "faulty.c:12: reads_beyond: item (4) reads a[5], outside its extent 5");
    find_fault(f, &writes_beyond1, hr_extent1(5),
               "faulty.c:20: writes_beyond1: item (4) writes c[5], outside its "
               "extent 5");
    find_fault(f, &writes_beyond2, hr_extent2(2, 3),
               "faulty.c:29: writes_beyond2: item (0, 0) writes c[1, 3], "
               "outside its extent 2 x 3");
    find_fault(f, &writes_beyond3, hr_extent3(2, 2, 3),
               "faulty.c:37: writes_beyond3: item (0, 0, 0) writes c[0, 0, "
               "-1], outside its extent 2 x 2 x 3");
    find_fault_in(
        f, &wrong_rank, (shape){{2, {2, 3}}, {1, {2}}, {0}},
        "faulty.c:45: wrong_rank: item (0) writes c[0], but c has rank 2");
    find_fault(f, &reads_out1, hr_extent1(3),
               "faulty.c:55: reads_out1: item (0) reads c[0], which is OUT and "
               "has no value yet");
    find_fault(f, &reads_out2, hr_extent2(2, 3),
               "faulty.c:65: reads_out2: item (1, 0) reads d[1, 0], which is "
               "OUT and has no value yet");
    find_fault(f, &reads_out3, hr_extent3(1, 2, 2),
               "faulty.c:73: reads_out3: item (0, 0, 0) reads d[0, 0, 0], "
               "which is OUT and has no value yet, and 1 more");
    find_fault(f, &adds_to_out, hr_extent1(4),
               "faulty.c:83: adds_to_out: item (0) writes c[0], whose value "
               "depends on what an OUT view held before");
    find_fault(f, &counts_in_out, hr_extent1(4),
               "faulty.c:91: counts_in_out: item (2) writes c[0], whose value "
               "depends on what an OUT view held before");
    find_fault(
        f, &writes_in, hr_extent2(2, 3),
        "faulty.c:101: writes_in: item (1, 0) writes a[1, 0], which is IN");
}

/* Items are in each other's way. */
static void find_races(finder *f)
{
    find_fault(f, &all_write1, hr_extent1(3),
               "faulty.c:112: all_write1: item (1) writes c[0], which item (0) "
               "writes in line 112, without a barrier between");
    find_fault_in(f, &all_write2,
                  (shape){{2, {2, 3}}, {2, {2, 3}}, {2, {1, 3}}},
                  "faulty.c:120: all_write2: item (1, 0) writes c[0, 0], which "
                  "item (0, 0) writes in line 120");
    find_fault(
        f, &all_write3, hr_extent3(1, 2, 3),
        "faulty.c:128: all_write3: item (0, 0, 1) writes c[0, 0, 0], which "
        "item (0, 0, 0) writes in line 128, without a barrier between");
    find_fault(f, &shifts, hr_extent1(4),
               "faulty.c:137: shifts: item (1) writes c[1], which item (0) "
               "uses in line 136, without a barrier between");
    find_fault(f, &shifts_with_less, hr_extent1(4),
               "faulty.c:165: shifts_with_less: item (1) writes c[1], which "
               "item (0) uses in line 160, without a barrier between");
    /* no item of another tile uses it */
    find_fault_in(f, &shifts_with_barrier,
                  (shape){{1, {4}}, {1, {4}}, {1, {2}}},
                  "faulty.c:151: shifts_with_barrier: item (2) writes c[2], "
                  "which item (1) uses in line 146");
    find_fault(
        f, &between_blocks, hr_extent1(3),
        "faulty.c:171: between_blocks: every item of tile (0) writes c[0]");
    find_fault(f, &counts_and_looks, hr_extent1(4),
               "faulty.c:195: counts_and_looks: item (2) uses c[0], which item "
               "(1) writes in line 193, without a barrier between, and 1 more");
    find_fault(f, &calls_and_shifts, hr_extent1(4),
               "faulty.c:234: calls_and_shifts: item (1) writes c[0], which "
               "item (0) writes in line 234, without a barrier between");
    find_fault_in(f, &counts_then_looks, (shape){{1, {4}}, {1, {4}}, {1, {2}}},
                  "faulty.c:266: counts_then_looks: item (3) uses n[0], which "
                  "item (0) writes in line 260");
    find_fault(f, &larger_of_out, hr_extent1(9),
               "faulty.c:295: larger_of_out: item (2) writes c[2], whose value "
               "depends on what an OUT view held before");
    find_fault(f, &positive_out, hr_extent1(9),
               "faulty.c:304: positive_out: item (0) writes c[0], whose value "
               "depends on what an OUT view held before");
    find_fault(f, &zero_out, hr_extent1(9),
               "faulty.c:312: zero_out: item (2) writes c[2], whose value "
               "depends on what an OUT view held before");
    find_fault(f, &sets_and_counts, hr_extent1(4),
               "faulty.c:333: sets_and_counts: item (1) writes n[0], which "
               "item (0) writes in line 331, without a barrier between");
    find_fault(f, &sets_then_counts, hr_extent1(4),
               "faulty.c:347: sets_then_counts: item (1) writes n[0], which "
               "item (0) writes in line 342, without a barrier between");
    find_fault_in(f, &sets_then_counts_later,
                  (shape){{1, {4}}, {1, {4}}, {1, {2}}},
                  "faulty.c:362: sets_then_counts_later: item (2) writes n[0], "
                  "which item (0) writes in line 356");
    find_fault_in(f, &looks_then_counts, (shape){{1, {4}}, {1, {4}}, {1, {2}}},
                  "faulty.c:377: looks_then_counts: item (2) writes n[0], "
                  "which item (0) uses in line 370");
    find_fault_in(f, &all_count_and_look, (shape){{1, {4}}, {1, {3}}, {0}},
                  "faulty.c:384: all_count_and_look: every item of tile (0) "
                  "writes n[0], which every item of tile (0) uses in line 383, "
                  "without a barrier between");
    find_fault(f, &adds_to_out64, hr_extent1(3),
               "faulty.c:398: adds_to_out64: item (0) writes c[0], whose value "
               "depends on what an OUT view held before");
    find_fault(f, &largest_in_out32, hr_extent1(3),
               "faulty.c:406: largest_in_out32: item (0) writes c[0], whose "
               "value depends on what an OUT view held before");
    find_fault(f, &largest_in_out16, hr_extent1(3),
               "faulty.c:414: largest_in_out16: item (0) writes c[0], whose "
               "value depends on what an OUT view held before");
    find_fault(f, &least_in_out, hr_extent1(3),
               "faulty.c:424: least_in_out: item (0) writes c[0], whose value "
               "depends on what an OUT view held before");
    find_fault(f, &least_number_in_out, hr_extent1(3),
               "faulty.c:434: least_number_in_out: item (1) writes c[1], whose "
               "value depends on what an OUT view held before");
}

static void find_faults(hr_context *context, hr_queue *queue)
{
    finder f = {.context = context, .queue = queue};
    find_wrong_items(&f);
    find_races(&f);
    CHECK(hr_check_finding(context, f.findings) == NULL);
    CHECK(f.findings == f.faults + 2); /* "and 1 more" */
}

static void keep_outside(hr_context *context, hr_queue *queue)
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

static void launch_home(hr_queue *queue, const hr_kernel *kernel,
                        hr_extent extent, const views *v)
{
    CHECK(hr_launch(queue, kernel, extent, NULL, v->arguments,
                    kernel->parameter_count) == HR_OK);
    bring_home(v);
}

static void pass_right_kernels(hr_context *context, hr_queue *queue)
{
    TEST_CASE("kernels that do as they declare");
    const size_t before = hr_check_count(context);
    const hr_extent four = hr_extent1(4);
    views v;
    make_views(&v, context, &shifts_with_barrier, four);
    launch_home(queue, &shifts_with_barrier, four, &v);
    CHECK(v.data[0][0] == first_byte(4) && v.data[0][15] == 0);
    free_views(&v);

    make_views(&v, context, &counts, four);
    memset(v.data[0], 0, 16);
    memset(v.data[1], 0, 16);
    launch_home(queue, &counts, four, &v);
    CHECK(v.data[1][0] == 4);
    free_views(&v);

    make_views(&v, context, &counts_members, four);
    memset(v.data[0], 0, 8);
    launch_home(queue, &counts_members, four, &v);
    CHECK(v.data[0][0] == 2 && v.data[0][4] == 2);
    free_views(&v);

    make_views(&v, context, &calls, four);
    launch_home(queue, &calls, four, &v);
    CHECK(memcmp(v.data[0], v.data[1], 16) == 0);
    CHECK(memcmp(v.data[0], v.data[2], 16) == 0);
    free_views(&v);

    enum { N = 5000 };
    make_views(&v, context, &every_byte, hr_extent1(N));
    launch_home(queue, &every_byte, hr_extent1(N), &v);
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

static void refuse_unchecked(hr_context *context, hr_queue *queue)
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
static void refuse_other_domain(hr_context *context, hr_queue *queue)
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
static void count_chunks(hr_context *context, hr_queue *queue)
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
static void use_many_mappings(hr_context *context)
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

static void use_mappings(hr_context *context, hr_queue *queue)
{
    TEST_CASE("mapped memory that is used too late");
    for (int writes = 0; writes < 2; writes++) {
        use_late(context, hr_extent1(7), 6, writes, "6");
        use_late(context, hr_extent2(4, 5), 13, writes, "2, 3");
        use_late(context, hr_extent3(2, 40, 50), 2451, writes, "1, 9, 1");
    }
    TEST_CASE("one of very many mappings");
    use_many_mappings(context);
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

static void pass_fault_on(void)
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

static void launch_without(const char *accelerators, const char *value)
{
    TEST_CASE("without HEADRACE_CHECK=1");
    CHECK(value != NULL ? setenv("HEADRACE_CHECK", value, 1) == 0
                        : unsetenv("HEADRACE_CHECK") == 0);
    hr_context *context = test_context(accelerators, 0);
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
static void find_and_use(hr_context *context, hr_queue *queue)
{
    find_faults(context, queue);
    keep_outside(context, queue);
    use_mappings(context, queue);
}

int main(int count, char **arguments)
{
    const char *accelerators = count > 1 ? arguments[1] : "host";
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = accelerators;
    signal(SIGSEGV, on_fault);
    setenv("HEADRACE_CHECK", "yes", 1);
    CHECK_FAILS(hr_context_create(NULL, &context), HR_ERROR_INVALID,
                "HEADRACE_CHECK is \"yes\", not 1 or 0");
    setenv("HEADRACE_CHECK", "1", 1);
    if (!test_open(&options, &context)) {
        return test_end();
    }
    CHECK(hr_check_count(context) == 0 && hr_check_count(NULL) == 0);
    hr_queue *queue = NULL;
    CHECK(hr_queue_create(context, hr_accelerator_count(context) - 1, &queue) ==
          HR_OK);
    if (queue != NULL) {
        TEST(find_and_use(context, queue));
        TEST(pass_right_kernels(context, queue));
        TEST(count_chunks(context, queue));
        TEST(refuse_unchecked(context, queue));
        TEST(refuse_other_domain(context, queue));
        TEST(pass_fault_on());
    }
    hr_queue_destroy(queue);
    hr_context_destroy(context);
    TEST(launch_without(accelerators, NULL));
    TEST(launch_without(accelerators, ""));
    TEST(launch_without(accelerators, "0"));
    return test_end();
}
