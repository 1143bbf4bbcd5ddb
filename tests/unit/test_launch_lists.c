/* SPDX-License-Identifier: MIT */
/* Lists of views as one parameter, and views of rank up to 6, on the
 * accelerators of argv[1]: on each alone and in bands over all. Sections of
 * random arrays beside plain loops. */
#include <stdlib.h>
#include <string.h>

#include "support/bed.h"

extern const hr_kernel lists1, lists2, lists3, lists_mixed, lists_beyond;
extern const hr_kernel lists_flat1, lists_flat2, lists_flat3;

enum { ROUNDS = 30, CAPACITY = 4000, ONE_QUEUE = 0, IN_BANDS, BY_RUN, WAYS };

static hr_queue *queue; /* of the accelerator that is tried */

static int64_t between(bed *b, int64_t low, int64_t high)
{
    return random_between(&b->random, low, high);
}

/* An array over ints of its own, and a view of a part of it. */
typedef struct table {
    int own[CAPACITY], before[CAPACITY];
    hr_array *array;
    hr_view view;
} table;

/* The place in `own` of element number n of a view, by rows. */
static int64_t place_of(const hr_view *v, int64_t n)
{
    int64_t at = v->offset_bytes;
    for (uint32_t d = v->extent.rank; d-- > 0;) {
        at += n % v->extent.size[d] * v->stride_bytes[d];
        n /= v->extent.size[d];
    }
    return at / (int64_t)sizeof(int);
}

/* A table whose view has this extent: a section of something larger. In the
 * first `joined` dimensions but the very first it is whole, so that these can
 * be joined. */
static void make_table(bed *b, table *t, hr_extent extent, uint32_t joined)
{
    hr_extent all = extent;
    int64_t origin[HR_MAX_RANK] = {0};
    for (uint32_t d = 0; d < extent.rank; d++) {
        const bool whole = d > 0 && d < joined;
        const int64_t before = whole ? 0 : between(b, 0, 1);
        origin[d] = before;
        all.size[d] += before + (whole ? 0 : between(b, 0, 1));
    }
    CHECK(hr_extent_count(all) <= CAPACITY);
    for (int i = 0; i < CAPACITY; i++) {
        t->own[i] = t->before[i] = (int)between(b, -1000, 1000);
    }
    CHECK(hr_array_wrap(b->context, t->own, sizeof(int), all, 0, &t->array) ==
          HR_OK);
    CHECK(hr_view_section(hr_view_of(t->array), origin, extent, &t->view) ==
          HR_OK);
}

static hr_extent random_extent(bed *b, uint32_t rank)
{
    static const int64_t most[] = {0, 40, 9, 6, 4, 3, 2};
    int64_t size[HR_MAX_RANK];
    for (uint32_t d = 0; d < rank; d++) {
        size[d] = between(b, 1, most[rank]);
    }
    return hr_extent_of(rank, size);
}

static hr_status launch_in_way(bed *b, int way, const hr_kernel *kernel,
                               hr_extent domain, const hr_argument *arguments,
                               size_t count)
{
    return way == ONE_QUEUE
               ? hr_launch(queue, kernel, domain, NULL, arguments, count)
           : way == IN_BANDS
               ? hr_launch_split(b->context, kernel, domain, arguments, count,
                                 NULL)
               : hr_run(b->context, kernel, domain, arguments, count, NULL);
}

/* Elements that are no part of the view stay as they were. */
static int count_changed(const table *t)
{
    static bool inside[CAPACITY];
    int wrong = 0;
    memset(inside, 0, sizeof inside);
    for (int64_t n = 0; n < hr_extent_count(t->view.extent); n++) {
        inside[place_of(&t->view, n)] = true;
    }
    for (int i = 0; i < CAPACITY; i++) {
        wrong += !inside[i] && t->own[i] != t->before[i];
    }
    return wrong;
}

/* ---- lists */

static int wanted_sum(const table *from, int64_t count, int64_t each, int64_t n,
                      int64_t q, int shift)
{
    int sum = shift;
    for (int64_t p = 0; p < count; p++) {
        sum += (int)((p + 1) * (q + 2)) *
               from->before[place_of(&from->view, p * each + n)];
    }
    return sum;
}

/* The views have `more` dimensions more than the kernel indexes. */
static void try_list(bed *b, int way, uint32_t rank, uint32_t more)
{
    static const hr_kernel *const kernels[] = {NULL, &lists1, &lists2, &lists3};
    static table from, to;
    const hr_extent each = random_extent(b, rank + more);
    hr_extent extents[2], domain = {.rank = rank};
    const int shift = (int)between(b, -9, 9);
    for (int i = 0; i < 2; i++) {
        extents[i].rank = each.rank + 1;
        extents[i].size[0] = between(b, 1, each.rank > 3 ? 3 : 9);
        memcpy(extents[i].size + 1, each.size, each.rank * sizeof each.size[0]);
    }
    domain.size[0] = 1;
    for (uint32_t d = 0; d < each.rank; d++) {
        const uint32_t to_d = d > more ? d - more : 0;
        domain.size[to_d] =
            to_d == 0 ? domain.size[0] * each.size[d] : each.size[d];
    }
    make_table(b, &from, extents[0], more > 0 ? each.rank + 1 : 1);
    make_table(b, &to, extents[1], more > 0 ? each.rank + 1 : 1);
    hr_argument in = hr_in(from.view);
    in.whole = way == BY_RUN;
    const hr_argument arguments[] = {in, hr_out(to.view), hr_value(shift)};
    CHECK(launch_in_way(b, way, kernels[rank], domain, arguments, 3) == HR_OK);
    CHECK(hr_synchronize(to.view) == HR_OK);
    int wrong = count_changed(&to);
    const int64_t count = hr_extent_count(each);
    for (int64_t n = 0; n < extents[1].size[0] * count; n++) {
        wrong += to.own[place_of(&to.view, n)] !=
                 wanted_sum(&from, extents[0].size[0], count, n % count,
                            n / count, shift);
    }
    CHECK(wrong == 0);
    hr_array_destroy(from.array);
    hr_array_destroy(to.array);
}

static void try_lists(bed *b)
{
    TEST_CASE("lists of views beside plain loops");
    for (int round = 0; round < ROUNDS && test_state.failures == 0; round++) {
        const uint32_t rank = (uint32_t)between(b, 1, HR_MAX_KERNEL_RANK);
        const uint32_t more = (uint32_t)between(b, 0, 5 - rank);
        try_list(b, (int)between(b, 0, WAYS - 1), rank,
                 between(b, 0, 1) != 0 ? more : 0);
    }
}

/* Host memory, own rows and a near row of each view of a list. */
static void try_mixed(bed *b)
{
    enum { COUNT = 5, ROWS = 23, COLS = 7, EACH = ROWS * COLS };
    static float above[COUNT * EACH], plain[EACH], all[COUNT * EACH];
    static float expected[COUNT * EACH];
    TEST_CASE("lists in host memory, with rows near their own");
    for (int i = 0; i < COUNT * EACH; i++) {
        above[i] = (float)between(b, 0, 99);
        all[i] = (float)between(b, 0, 99);
        plain[i % EACH] = (float)between(b, 0, 99);
    }
    for (int q = 0; q < COUNT; q++) {
        for (int n = 0; n < EACH; n++) {
            const int near = n < COLS ? n : n - COLS;
            expected[q * EACH + n] =
                all[q * EACH + n] +
                above[(COUNT - 1 - q) * EACH + near] * (float)COLS +
                (q == 0 ? plain[n] : 0);
        }
    }
    const hr_extent list = hr_extent3(COUNT, ROWS, COLS);
    const hr_argument arguments[] = {
        hr_near(hr_in_data(above, "float", 4, list, 0), 1, 0),
        hr_in_data(plain, "float", 4, hr_extent2(ROWS, COLS), 0),
        hr_inout_data(all, "float", 4, list, 0)};
    CHECK(hr_run(b->context, &lists_mixed, hr_extent2(ROWS, COLS), arguments, 3,
                 NULL) == HR_OK);
    CHECK(memcmp(all, expected, sizeof all) == 0);
}

/* Rows of several views in bands: each accelerator gets its own of each. */
static void try_bytes(bed *b)
{
    enum { COUNT = 9, ROWS = 60, COLS = 16 };
    hr_array *arrays[2];
    hr_view views[2];
    static int own[2][COUNT * ROWS * COLS];
    const int shift = 0;
    bool apart = true; /* none works in place */
    TEST_CASE("bytes of lists in bands");
    for (int i = 0; i < COUNT * ROWS * COLS; i++) {
        own[0][i] = i % 7;
        own[1][i] = -1;
    }
    for (int i = 0; i < 2; i++) {
        CHECK(hr_array_wrap(b->context, own[i], sizeof(int),
                            hr_extent3(COUNT, ROWS, COLS), 0,
                            &arrays[i]) == HR_OK);
        views[i] = hr_view_of(arrays[i]);
    }
    const hr_argument arguments[] = {hr_in(views[0]), hr_out(views[1]),
                                     hr_value(shift)};
    double weights[16];
    hr_split_options options = HR_SPLIT_OPTIONS_INIT;
    hr_split_report report = HR_SPLIT_REPORT_INIT;
    for (int i = 0; i < 16; i++) {
        weights[i] = 1;
    }
    options.weights = weights;
    options.report = &report;
    const hr_traffic before = hr_context_traffic(b->context);
    CHECK(hr_launch_split(b->context, &lists2, hr_extent2(ROWS, COLS),
                          arguments, 3, &options) == HR_OK);
    CHECK(hr_synchronize(views[1]) == HR_OK);
    const hr_traffic after = hr_context_traffic(b->context);
    const uint64_t up = after.up - before.up, count = report.share_count;
    for (uint32_t i = 0; i < hr_accelerator_count(b->context); i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_accelerator_describe(b->context, i, &info) == HR_OK);
        apart = apart && !info.in_place;
    }
    /* each that has memory of its own got its rows alone, and gave as many */
    CHECK(up == report.traffic.up && after.down - before.down == up);
    CHECK(up <= sizeof own[0] && up * count % sizeof own[0] == 0);
    CHECK(!apart || up == sizeof own[0]);
    bool right = true;
    for (int k = 0; k < COUNT * ROWS * COLS; k++) {
        int sum = 0;
        for (int p = 0; p < COUNT; p++) {
            sum += (p + 1) * own[0][p * ROWS * COLS + k % (ROWS * COLS)];
        }
        right = right && own[1][k] == (k / (ROWS * COLS) + 2) * sum;
    }
    CHECK(right);
    hr_array_destroy(arrays[0]);
    hr_array_destroy(arrays[1]);
}

/* ---- views of a higher rank than the parameter's */

static void try_flat(bed *b, int way)
{
    static const hr_kernel *const kernels[] = {NULL, &lists_flat1, &lists_flat2,
                                               &lists_flat3};
    static table from, to;
    const uint32_t rank = (uint32_t)between(b, 1, HR_MAX_KERNEL_RANK);
    const hr_extent extent =
        random_extent(b, (uint32_t)between(b, rank, HR_MAX_RANK));
    const uint32_t more = extent.rank - rank;
    hr_extent domain = {.rank = rank, .size = {1}};
    for (uint32_t d = 0; d < extent.rank; d++) {
        const uint32_t to_d = d > more ? d - more : 0;
        domain.size[to_d] = (to_d == 0 ? domain.size[0] : 1) * extent.size[d];
    }
    make_table(b, &from, extent, more + 1);
    make_table(b, &to, extent, more + 1);
    const hr_argument arguments[] = {hr_in(from.view), hr_out(to.view)};
    CHECK(launch_in_way(b, way, kernels[rank], domain, arguments, 2) == HR_OK);
    CHECK(hr_synchronize(to.view) == HR_OK);
    int wrong = count_changed(&to);
    for (int64_t n = 0; n < hr_extent_count(extent); n++) {
        const int64_t k = rank > 1 ? n % domain.size[rank - 1] : 0;
        const int64_t j = rank > 2 ? n / domain.size[2] % domain.size[1] : 0;
        wrong += to.own[place_of(&to.view, n)] !=
                 2 * from.before[place_of(&from.view, n)] +
                     (rank == 1 ? 1 : (int)(j + k));
    }
    CHECK(wrong == 0);
    hr_array_destroy(from.array);
    hr_array_destroy(to.array);
}

static void try_flats(bed *b)
{
    TEST_CASE("views of a higher rank beside plain loops");
    for (int round = 0; round < ROUNDS && test_state.failures == 0; round++) {
        try_flat(b, (int)between(b, 0, WAYS - 1));
    }
}

/* ---- copies and mappings of a higher rank */

static void try_copy(bed *b)
{
    static table from, to;
    const hr_extent extent = random_extent(b, (uint32_t)between(b, 4, 6));
    make_table(b, &from, extent, 1);
    make_table(b, &to, extent, 1);
    hr_array *there = NULL;
    CHECK(hr_array_create(queue, sizeof(int), extent, &there) == HR_OK);
    CHECK(hr_copy(from.view, hr_view_of(there)) == HR_OK);
    CHECK(hr_copy(hr_view_of(there), to.view) == HR_OK);
    CHECK(hr_synchronize(to.view) == HR_OK);
    int wrong = count_changed(&to);
    hr_mapping m;
    CHECK(hr_map(hr_view_of(there), HR_INOUT, &m) == HR_OK);
    for (int64_t n = 0; n < hr_extent_count(extent); n++) {
        const int value = from.before[place_of(&from.view, n)];
        int64_t behind = 0, rest = n;
        for (uint32_t d = extent.rank; d-- > 0;) {
            behind += rest % extent.size[d] * m.stride_bytes[d];
            rest /= extent.size[d];
        }
        int *at = (int *)(void *)((char *)m.data + behind);
        wrong += to.own[place_of(&to.view, n)] != value || *at != value;
        *at = (int)n;
    }
    CHECK(hr_unmap(&m) == HR_OK);
    CHECK(hr_copy(hr_view_of(there), to.view) == HR_OK);
    CHECK(hr_synchronize(to.view) == HR_OK);
    for (int64_t n = 0; n < hr_extent_count(extent); n++) {
        wrong += to.own[place_of(&to.view, n)] != n;
    }
    CHECK(wrong == 0);
    hr_array_destroy(there);
    hr_array_destroy(from.array);
    hr_array_destroy(to.array);
}

static void try_copies(bed *b)
{
    TEST_CASE("copies and mappings of rank 4 to 6");
    for (int round = 0; round < ROUNDS && test_state.failures == 0; round++) {
        try_copy(b);
    }
}

/* ---- the sentences */

static void try_making(bed *b)
{
    static int own[4 * 3 * 5];
    hr_array *a = NULL, *other = NULL;
    hr_view v[4], list;
    TEST_CASE("making lists");
    CHECK(hr_array_wrap(b->context, own, sizeof(int), hr_extent3(4, 3, 5), 0,
                        &a) == HR_OK);
    CHECK(hr_array_wrap(b->context, own, sizeof(int), hr_extent3(4, 3, 5), 0,
                        &other) == HR_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(hr_view_project(hr_view_of(a), i, &v[i]) == HR_OK);
    }
    CHECK(hr_view_list(v, 4, &list) == HR_OK);
    const hr_view all = hr_view_of(a);
    CHECK(list.extent.rank == 3 && list.offset_bytes == 0 &&
          memcmp(list.extent.size, all.extent.size, 3 * 8) == 0 &&
          memcmp(list.stride_bytes, all.stride_bytes, 3 * 8) == 0);
    CHECK(hr_view_list(v + 2, 1, &list) == HR_OK && list.extent.size[0] == 1 &&
          list.offset_bytes == 2 * 60);
    CHECK_FAILS(hr_view_list(NULL, 4, &list), HR_ERROR_INVALID, "are NULL");
    CHECK_FAILS(hr_view_list(v, 0, &list), HR_ERROR_INVALID, "0 views");
    CHECK_FAILS(hr_view_list(v, 4, NULL), HR_ERROR_INVALID, "result is NULL");
    v[2] = v[3];
    CHECK_FAILS(hr_view_list(v, 3, &list), HR_ERROR_INVALID,
                "view 2 is 120 bytes behind the one before, but view 1 is 60");
    CHECK(hr_view_project(hr_view_of(other), 2, &v[2]) == HR_OK);
    CHECK_FAILS(hr_view_list(v, 3, &list), HR_ERROR_INVALID,
                "views 0 and 2 are not of one array");
    const int64_t ones[] = {1, 1, 1, 1, 1, 1, 1};
    CHECK(hr_view_reshape(all, hr_extent_of(6, ones), &v[0]) == HR_OK);
    CHECK_FAILS(hr_view_list(v, 1, &list), HR_ERROR_INVALID, "have rank 6");
    CHECK(hr_extent_of(7, ones).rank == 0 && hr_extent_of(3, NULL).rank == 0);
    hr_array_destroy(a);
    hr_array_destroy(other);
}

static void try_refused(bed *b)
{
    static int own[2 * 6 * 3 * 4], results[2 * 6 * 3 * 4];
    hr_array *a = NULL, *c = NULL;
    hr_view part;
    const int64_t size[] = {2, 6, 3, 4}, origin[] = {0, 0, 1, 0};
    TEST_CASE("refusals");
    CHECK(hr_array_wrap(b->context, own, sizeof(int), hr_extent_of(4, size), 0,
                        &a) == HR_OK);
    CHECK(hr_array_wrap(b->context, results, sizeof(int), hr_extent_of(4, size),
                        0, &c) == HR_OK);
    const int64_t narrow[] = {2, 6, 2, 4};
    CHECK(hr_view_section(hr_view_of(a), origin, hr_extent_of(4, narrow),
                          &part) == HR_OK);
    const hr_argument gaps[] = {hr_in(part), hr_out(hr_view_of(c))};
    CHECK_FAILS(
        hr_launch(queue, &lists_flat2, hr_extent2(24, 4), NULL, gaps, 2),
        HR_ERROR_INVALID,
        "lists_flat2: from has rank 2, but the view has 4, and gaps "
        "between its first dimensions");
    hr_view flat, lower;
    CHECK(hr_view_reshape(hr_view_of(a), hr_extent2(36, 4), &flat) == HR_OK);
    CHECK(hr_view_reshape(hr_view_of(c), hr_extent2(36, 4), &lower) == HR_OK);
    const int shift = 0;
    const hr_argument low[] = {hr_in(flat), hr_out(lower), hr_value(shift)};
    CHECK_FAILS(hr_launch(queue, &lists2, hr_extent2(36, 4), NULL, low, 3),
                HR_ERROR_INVALID,
                "lists2: from is a list of views of rank 2, given as a view of "
                "rank 3, but the view has 2");
    const hr_argument good[] = {hr_in(hr_view_of(a)), hr_out(hr_view_of(c)),
                                hr_value(shift)};
    const hr_argument same[] = {hr_in(hr_view_of(c)), hr_out(hr_view_of(c)),
                                hr_value(shift)};
    CHECK_FAILS(hr_launch(queue, &lists3, hr_extent3(6, 3, 4), NULL, same, 3),
                HR_ERROR_INVALID, "lists3: to overlaps from");
    CHECK_FAILS(hr_launch_split(b->context, &lists3, hr_extent3(5, 3, 4), good,
                                3, NULL),
                HR_ERROR_INVALID, "has 6 rows, but the domain has 5");
    hr_array_destroy(a);
    hr_array_destroy(c);
}

/* Of a list, the rules that the kernel's text tells are those of its views. */
static void try_sizes(bed *b)
{
    static float own[3][2 * 6 * 5];
    hr_array *a[3];
    TEST_CASE("sizes of the views of a list");
    for (int i = 0; i < 3; i++) {
        CHECK(hr_array_wrap(b->context, own[i], sizeof(float),
                            hr_extent3(2, 6, 5), 0, &a[i]) == HR_OK);
    }
    hr_view plain;
    CHECK(hr_view_reshape(hr_view_of(a[1]), hr_extent2(12, 5), &plain) ==
          HR_OK);
    const hr_argument arguments[] = {hr_in(hr_view_of(a[0])), hr_in(plain),
                                     hr_inout(hr_view_of(a[2]))};
    CHECK_FAILS(
        hr_launch(queue, &lists_mixed, hr_extent2(7, 5), NULL, arguments, 3),
        HR_ERROR_COMPUTE_DOMAIN,
        "the domain has size 7 in dimension 0, but all, indexed with "
        "it, has 6 in dimension 0");
    CHECK(hr_launch(queue, &lists_mixed, hr_extent2(6, 5), NULL, arguments,
                    3) == HR_OK);
    CHECK(hr_synchronize(hr_view_of(a[2])) == HR_OK);
    for (int i = 0; i < 3; i++) {
        hr_array_destroy(a[i]);
    }
}

static void try_checked(bed *b)
{
    static int own[3 * 8];
    hr_array *a = NULL;
    const char *checked = getenv("HEADRACE_CHECK");
    TEST_CASE("a number that is that of no view");
    if (checked == NULL || strcmp(checked, "1") != 0) {
        return;
    }
    CHECK(hr_array_wrap(b->context, own, sizeof(int), hr_extent2(3, 8), 0,
                        &a) == HR_OK);
    const hr_argument arguments[] = {hr_out(hr_view_of(a))};
    CHECK_FAILS(
        hr_launch(queue, &lists_beyond, hr_extent1(8), NULL, arguments, 1),
        HR_ERROR_INVALID, "item (0) reads to[7, 0], outside its extent 3 x 8");
    hr_array_destroy(a);
}

static void try_all(bed *b)
{
    try_lists(b);
    try_mixed(b);
    try_bytes(b);
    try_flats(b);
    try_copies(b);
    try_making(b);
    try_refused(b);
    try_sizes(b);
}

static void all_cases(bed *b)
{
    b->random.state = 2026;
    for (uint32_t i = 0; i < b->count; i++) {
        queue = b->queues[i];
        TEST(try_all(b));
        if (i == 0) { /* it is told once */
            TEST(try_checked(b));
        }
    }
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "3xhost", all_cases);
}
