/* SPDX-License-Identifier: MIT */
/* Launches that are refused on the accelerators of argv[1]: what breaks a rule,
 * does not fit the kernel's views, is too large, or does not build. */
#include <string.h>

#include "support/bed.h"

extern const hr_kernel axpy, transpose, transpose_tiled, box, tile_sums, broken,
    leaving;

typedef struct point {
    float x;
    int n;
} point;

static void refused_arguments(bed *b)
{
    TEST_CASE("launches that break a rule");
    static int data[64], other_data[64], line_data[64];
    static double doubles[64];
    const float a = 1.0f;
    const point p = {0};
    hr_queue *q = b->queues[0];
    hr_array *ints = bed_wrap(b, data, 4, hr_extent2(8, 8));
    hr_array *others = bed_wrap(b, other_data, 4, hr_extent2(8, 8));
    hr_array *wide = bed_wrap(b, doubles, 8, hr_extent2(8, 8));
    hr_array *line = bed_wrap(b, line_data, 4, hr_extent1(64));
    hr_view v = hr_view_of(ints), w = hr_view_of(others);
    const hr_extent eight = hr_extent2(8, 8), large = hr_extent2(33, 32),
                    none = hr_extent2(0, 4), flat = hr_extent1(8);
    const hr_argument good[] = {hr_in(v), hr_out(w)};
    const hr_argument swapped[] = {hr_out(v), hr_in(w)};
    const hr_argument doubled[] = {hr_in(hr_view_of(wide)), hr_out(w)};
    const hr_argument ranked[] = {hr_in(hr_view_of(line)), hr_out(w)};
    const hr_argument same[] = {hr_in(v), hr_out(v)};
    const hr_argument empty[] = {hr_in(hr_view_of(NULL)), hr_out(w)};
    const hr_argument valued[] = {hr_value(&a, 4), hr_out(w)};
    const hr_argument sized[] = {hr_in(hr_view_of(line)),
                                 hr_inout(hr_view_of(line)), hr_value(&a, 8),
                                 hr_value(&p, sizeof p)};
    const hr_argument no_memory[] = {
        hr_in(hr_view_of(line)), hr_out(hr_view_of(line)), hr_tile_bytes(0)};
    const hr_argument wrapping[] = {hr_in(hr_view_of(line)),
                                    hr_out(hr_view_of(line)),
                                    hr_tile_bytes((size_t)-8)};
    CHECK_FAILS(hr_launch(NULL, &transpose, eight, NULL, good, 2),
                HR_ERROR_INVALID, "queue is NULL");
    CHECK_FAILS(hr_launch(q, NULL, eight, NULL, good, 2), HR_ERROR_INVALID,
                "kernel is NULL");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, NULL, 2),
                HR_ERROR_INVALID, "arguments is NULL");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, good, 1),
                HR_ERROR_INVALID, "2 parameters, but 1 argument was given");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, swapped, 2),
                HR_ERROR_INVALID, "from is declared IN, but given as OUT");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, doubled, 2),
                HR_ERROR_INVALID, "of int, 4 bytes, but the view has 8");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, ranked, 2),
                HR_ERROR_INVALID, "from has rank 2, but the view has 1");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, same, 2),
                HR_ERROR_INVALID, "to overlaps from");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, empty, 2),
                HR_ERROR_INVALID, "no array");
    CHECK_FAILS(hr_launch(q, &transpose, eight, NULL, valued, 2),
                HR_ERROR_INVALID, "from is a view, but a value was given");
    CHECK_FAILS(hr_launch(q, &axpy, flat, NULL, sized, 4), HR_ERROR_INVALID,
                "a is a float of 4 bytes, but 8 were given");
    CHECK_FAILS(hr_launch(q, &tile_sums, flat, NULL, no_memory, 3),
                HR_ERROR_INVALID, "scratch has 0 bytes");
    CHECK_FAILS(hr_launch(q, &tile_sums, flat, NULL, wrapping, 3),
                HR_ERROR_INVALID, "bytes, not 1 to 268435456");
    CHECK_FAILS(hr_launch(q, &transpose, none, NULL, good, 2),
                HR_ERROR_COMPUTE_DOMAIN,
                "the domain has size 0 in dimension 0");
    CHECK_FAILS(hr_launch(q, &transpose, eight, &none, good, 2),
                HR_ERROR_COMPUTE_DOMAIN, "0 in dimension 0");
    CHECK_FAILS(hr_launch(q, &transpose, eight, &large, good, 2),
                HR_ERROR_COMPUTE_DOMAIN, "1 to 1024 items");
    CHECK_FAILS(hr_launch(q, &transpose, eight, &flat, good, 2),
                HR_ERROR_COMPUTE_DOMAIN, "the tiles have rank 1");
    CHECK(hr_launch(q, &transpose, eight, NULL, good, 2) == HR_OK);
    CHECK(hr_queue_finish(q) == HR_OK); /* nothing of that has hurt it */
    hr_array_destroy(ints);
    hr_array_destroy(others);
    hr_array_destroy(wide);
    hr_array_destroy(line);
}

static void refused_text(bed *b)
{
    TEST_CASE("texts that break a rule");
    static int data[100];
    const hr_kernel *text = NULL;
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(100));
    const hr_argument argument = hr_inout(hr_view_of(array));
    CHECK(hr_kernel_create(b->context, leaving.text, "leaving", "user.c",
                           &text) == HR_OK);
    for (uint32_t i = 0; i < b->count; i++) {
        hr_queue *q = b->queues[i];
        for (int again = 0; again < 2; again++) {
            CHECK_FAILS(
                hr_launch(q, &leaving, hr_extent1(100), NULL, &argument, 1),
                HR_ERROR_BUILD,
                "leaving.c:10: leaving: return must not leave the block of "
                "HR_EACH1 in line 7");
        }
        CHECK_FAILS(hr_launch(q, text, hr_extent1(100), NULL, &argument, 1),
                    HR_ERROR_BUILD, "user.c:10: leaving: return");
        CHECK(hr_queue_finish(q) == HR_OK);
    }
    CHECK(hr_kernel_create(b->context,
                           "#include <headrace/dialect.h>\n"
                           "#include \"mine.h\"\n"
                           "HR_KERNEL1(k, (INOUT, int, 1, y))\n{\n}\n",
                           "k", "user.c", &text) == HR_OK);
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK_FAILS(
            hr_launch(b->queues[i], text, hr_extent1(100), NULL, &argument, 1),
            HR_ERROR_BUILD,
            "user.c:2: k: #include \"mine.h\": compilers of devices "
            "get this file and the dialect alone");
    }
    CHECK(hr_synchronize(hr_view_of(array)) == HR_OK && data[1] == 0);
    hr_array_destroy(array);
}

static hr_status pack_view(const bed *b, hr_view from, hr_array *to)
{
    const hr_argument arguments[] = {hr_in(from), hr_out(hr_view_of(to))};
    HRI_TRY(hr_launch(b->queues[0], &transpose, hr_extent2(3, 4), NULL,
                      arguments, 2));
    return hr_synchronize(hr_view_of(to));
}

/* Each kernel as the build has compiled it, and from its text. */
static void refuse_domain(const bed *b, const hr_kernel *kernel,
                          hr_extent domain, const hr_extent *tile,
                          const hr_argument *arguments, size_t count,
                          const char *words)
{
    const hr_kernel *text = NULL;
    const char *without_line = strstr(words, ": ");
    CHECK(hr_kernel_create(b->context, kernel->text, kernel->name, "text.c",
                           &text) == HR_OK);
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK_FAILS(
            hr_launch(b->queues[i], kernel, domain, tile, arguments, count),
            HR_ERROR_COMPUTE_DOMAIN, words);
        CHECK_FAILS(
            hr_launch(b->queues[i], text, domain, tile, arguments, count),
            HR_ERROR_COMPUTE_DOMAIN,
            without_line != NULL ? without_line : words);
        CHECK(hr_queue_finish(b->queues[i]) == HR_OK);
    }
}

static void refuse_vectors(const bed *b, hr_view nine)
{
    static float data[64];
    const float a = 1.0f;
    const point p = {0};
    const int64_t origin[] = {0};
    const hr_extent tile = hr_extent1(4);
    hr_array *y = bed_wrap(b, data, 4, hr_extent1(8));
    hr_view four;
    CHECK(hr_view_section(hr_view_of(y), origin, hr_extent1(4), &four) ==
          HR_OK);
    hr_argument arguments[] = {hr_in(nine), hr_inout(hr_view_of(y)),
                               hr_value(&a, sizeof a), hr_value(&p, sizeof p)};
    refuse_domain(b, &axpy, hr_extent1(9), NULL, arguments, 4,
                  "ranks.c:20: axpy: the domain has size 9 in dimension 0, but "
                  "y, indexed with it, has 8 in dimension 0");
    refuse_domain(b, &axpy, hr_extent1(INT64_MAX), NULL, arguments, 4,
                  "ranks.c:20: axpy: the domain has size 9223372036854775807");
    refuse_domain(b, &axpy, hr_extent1(10), &tile, arguments, 4,
                  "ranks.c:20: axpy: the domain has size 10 in dimension 0, "
                  "but y, indexed with it, has 8");
    refuse_domain(b, &axpy, hr_extent2(2, 4), NULL, arguments, 4,
                  "ranks.c:20: axpy: the block has rank 1, but the domain has "
                  "2");
    arguments[1] = hr_inout(four);
    refuse_domain(b, &axpy, hr_extent1(8), NULL, arguments, 4,
                  "y, indexed with it, has 4 in dimension 0");
    hr_array_destroy(y);
}

static void refuse_cells(const bed *b)
{
    static int cells[2][64];
    static double cube[64];
    const int reach = 0;
    const hr_extent tile = hr_extent2(2, 2);
    hr_array *from = bed_wrap(b, cells[0], 4, hr_extent2(5, 4));
    hr_array *to = bed_wrap(b, cells[1], 4, hr_extent2(4, 5));
    hr_array *small = bed_wrap(b, cube, 8, hr_extent3(3, 4, 5));
    hr_array *large = bed_wrap(b, cube, 8, hr_extent3(4, 4, 4));
    const hr_argument transposed[] = {hr_in(hr_view_of(from)),
                                      hr_out(hr_view_of(to))};
    const hr_argument boxes[] = {hr_in(hr_view_of(large)),
                                 hr_out(hr_view_of(small)),
                                 hr_value(&reach, sizeof reach)};
    refuse_domain(b, &transpose, hr_extent2(5, 5), NULL, transposed, 2,
                  "ranks.c:28: transpose: the domain has size 5 in dimension "
                  "0, but to, indexed with it, has 4 in dimension 0");
    refuse_domain(b, &transpose, hr_extent2(4, 6), NULL, transposed, 2,
                  "to, indexed with it, has 5 in dimension 1");
    refuse_domain(b, &transpose_tiled, hr_extent2(5, 5), &tile, transposed, 2,
                  "transpose_tiled: the domain has size 5 in dimension 0, but "
                  "to, indexed with it, has 4");
    refuse_domain(b, &box, hr_extent3(3, 4, 6), NULL, boxes, 3,
                  "box: the domain has size 6 in dimension 2, but to, indexed "
                  "with it, has 5 in dimension 2");
    hr_array_destroy(from);
    hr_array_destroy(to);
    hr_array_destroy(small);
    hr_array_destroy(large);
}

/* Items of whole tiles go beyond the domain. */
static void refuse_tiles(const bed *b, hr_view nine)
{
    const hr_extent tile = hr_extent1(4);
    const hr_argument argument = hr_in(nine);
    const hr_kernel *text = NULL;
    CHECK(hr_kernel_create(b->context,
                           "HR_KERNEL1(k, (IN, float, 1, a))\n{\n"
                           "HR_PRIVATE(float, x);\nHR_ITEMS1(i)\n"
                           "{ HR_P(x) = HR_AT1(a, i); }\n}\n",
                           "k", "user.c", &text) == HR_OK);
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK_FAILS(
            hr_launch(b->queues[i], text, hr_extent1(9), &tile, &argument, 1),
            HR_ERROR_COMPUTE_DOMAIN,
            "user.c:5: k: items have the indices 0 to 11 in dimension "
            "0, but a has 0 to 8 in dimension 0");
    }
}

/* A kernel that asks where its views end may run for more than they have. */
static void larger_and_guarded(const bed *b)
{
    static int data[50], out[10];
    const hr_extent tile = hr_extent1(10);
    hr_array *from = bed_wrap(b, data, 4, hr_extent1(50));
    hr_array *to = bed_wrap(b, out, 4, hr_extent1(10));
    const hr_argument arguments[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to)),
                                     hr_tile_bytes(10 * sizeof(int))};
    for (uint32_t i = 0; i < b->count; i++) {
        CHECK(hr_launch(b->queues[i], &tile_sums, hr_extent1(100), &tile,
                        arguments, 3) == HR_OK);
        CHECK(hr_queue_finish(b->queues[i]) == HR_OK);
    }
    hr_array_destroy(from);
    hr_array_destroy(to);
}

static void larger_than_views(bed *b)
{
    TEST_CASE("domains that are larger than the views");
    static float data[9];
    hr_array *nine = bed_wrap(b, data, 4, hr_extent1(9));
    refuse_vectors(b, hr_view_of(nine));
    refuse_cells(b);
    refuse_tiles(b, hr_view_of(nine));
    larger_and_guarded(b);
    hr_array_destroy(nine);
}

static void refused_type(bed *b)
{
    TEST_CASE("elements of another type");
    static float floats[4][3], *first = &floats[0][0];
    static unsigned words[4][3];
    static int out[3][4];
    static const point points[6] = {{0.5f, 6}};
    const hr_extent extent = hr_extent2(4, 3);
    hr_array *wrong = NULL, *right = NULL, *other = NULL;
    hr_array *to = bed_wrap(b, out, 4, hr_extent2(3, 4));
    CHECK(hr_array_wrap(b->context, first, 4, extent, 0, &wrong) == HR_OK);
    CHECK(hr_array_wrap(b->context, words[0], 4, extent, 0, &right) == HR_OK);
    CHECK(hr_array_wrap(b->context, points, 4, extent, 0, &other) == HR_OK);
    const int64_t origin[] = {0, 0};
    hr_view v = hr_view_of(wrong), part, slice, bits;
    CHECK(strcmp(v.type, "float") == 0);
    CHECK(hr_view_section(v, origin, extent, &part) == HR_OK);
    CHECK_FAILS(pack_view(b, part, to), HR_ERROR_INVALID,
                "transpose: from has elements of int, but those of the view "
                "are float");
    CHECK(hr_view_project(v, 1, &slice) == HR_OK);
    CHECK(strcmp(slice.type, "float") == 0);
    CHECK(hr_view_reinterpret(v, 4, &bits) == HR_OK && bits.type == NULL);
    first[5] = 1.0f;
    CHECK(pack_view(b, bits, to) == HR_OK && out[2][1] == 0x3f800000);
    CHECK(pack_view(b, hr_view_of(right), to) == HR_OK);
    CHECK(hr_view_of(other).type == NULL); /* a struct of the caller's */
    CHECK(pack_view(b, hr_view_of(other), to) == HR_OK && out[0][0] != 0);
    hr_array_destroy(other);
    CHECK(hr_array_wrap(b->context, first, 12, hr_extent1(4), 0, &other) ==
          HR_OK);
    CHECK(hr_view_of(other).type == NULL); /* rows of three */
    hr_array_destroy(wrong);
    hr_array_destroy(right);
    hr_array_destroy(other);
    hr_array_destroy(to);
}

static void refused_value(bed *b)
{
    TEST_CASE("a value that is not there");
    static int data[8];
    const point p = {0};
    hr_array *line = bed_wrap(b, data, 4, hr_extent1(8));
    const hr_argument missing[] = {hr_in(hr_view_of(line)),
                                   hr_inout(hr_view_of(line)),
                                   hr_value(NULL, 4), hr_value(&p, sizeof p)};
    CHECK_FAILS(hr_launch(b->queues[0], &axpy, hr_extent1(8), NULL, missing, 4),
                HR_ERROR_INVALID, "a is a float, but its pointer is NULL");
    hr_array_destroy(line);
}

/* What one accelerator takes, and another does not. */
static void too_large(bed *b)
{
    TEST_CASE("tiles that are too large for an accelerator");
    static double cube[256], out[256];
    const hr_extent deep = {3, {128, 1, 1}};
    const int reach = 1;
    for (uint32_t i = 0; i < b->count; i++) {
        hr_queue *q = b->queues[i];
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_accelerator_describe(b->context, i, &info) == HR_OK);
        hr_array *ints = bed_wrap(b, cube, 4, hr_extent1(256));
        hr_array *sum = bed_wrap(b, out, 4, hr_extent1(256));
        hr_array *from = bed_wrap(b, cube, 8, hr_extent3(128, 1, 1));
        hr_array *to = bed_wrap(b, out, 8, hr_extent3(128, 1, 1));
        const hr_argument sums[] = {hr_in(hr_view_of(ints)),
                                    hr_out(hr_view_of(sum)),
                                    hr_tile_bytes((size_t)1 << 28)};
        const hr_argument boxes[] = {hr_in(hr_view_of(from)),
                                     hr_out(hr_view_of(to)),
                                     hr_value(&reach, sizeof reach)};
        if (strncmp(info.path, "host", 4) != 0) {
            CHECK_FAILS(
                hr_launch(q, &tile_sums, hr_extent1(256), NULL, sums, 3),
                HR_ERROR_UNSUPPORTED, "tiles need 268435456 bytes");
            CHECK_FAILS(hr_launch(q, &tile_sums, hr_extent1(INT64_C(1) << 40),
                                  NULL, sums, 3),
                        HR_ERROR_COMPUTE_DOMAIN, "the limit is 2147483647");
        }
        if (strncmp(info.path, "cuda", 4) == 0) {
            CHECK_FAILS(hr_launch(q, &box, deep, &deep, boxes, 3),
                        HR_ERROR_COMPUTE_DOMAIN,
                        "128 items in dimension 0; the limit is 64");
        }
        CHECK(hr_launch(q, &box, deep, NULL, boxes, 3) == HR_OK);
        CHECK(hr_queue_finish(q) == HR_OK); /* nothing of that has hurt it */
        hr_array_destroy(ints);
        hr_array_destroy(sum);
        hr_array_destroy(from);
        hr_array_destroy(to);
    }
}

static void does_not_build(bed *b)
{
    TEST_CASE("a kernel that does not compile");
    static int data[10];
    hr_array *array = bed_wrap(b, data, 4, hr_extent1(10));
    const hr_argument arguments[] = {hr_out(hr_view_of(array))};
    for (uint32_t i = 0; i < b->count; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_accelerator_describe(b->context, i, &info) == HR_OK);
        hr_queue *q = b->queues[i];
        if (strncmp(info.path, "host", 4) == 0) {
            CHECK(hr_launch(q, &broken, hr_extent1(10), NULL, arguments, 1) ==
                  HR_OK);
            continue;
        }
        CHECK_FAILS(hr_launch(q, &broken, hr_extent1(10), NULL, arguments, 1),
                    HR_ERROR_BUILD, ": broken of broken.c did not compile (");
        printf("%s\n", hr_last_error());
        CHECK(strstr(hr_last_error(), "12") != NULL); /* the line */
        hr_kernel host_only = axpy;
        host_only.text = NULL;
        float one = 1.0f;
        point p = {0};
        hr_array *floats = bed_wrap(b, data, 4, hr_extent1(10));
        const hr_argument good[] = {
            hr_in(hr_view_of(floats)), hr_inout(hr_view_of(array)),
            hr_value(&one, sizeof one), hr_value(&p, sizeof p)};
        CHECK_FAILS(hr_launch(q, &host_only, hr_extent1(10), NULL, good, 4),
                    HR_ERROR_UNSUPPORTED, "without its text");
        CHECK(hr_launch(q, &axpy, hr_extent1(10), NULL, good, 4) == HR_OK);
        CHECK(hr_queue_finish(q) == HR_OK); /* the queue goes on */
        hr_array_destroy(floats);
    }
    hr_array_destroy(array);
}

static void all_cases(bed *b)
{
    TEST(refused_arguments(b));
    TEST(refused_text(b));
    TEST(larger_than_views(b));
    TEST(refused_type(b));
    TEST(refused_value(b));
    TEST(too_large(b));
    TEST(does_not_build(b));
}

int main(int count, char **arguments)
{
    return bed_main(count > 1 ? arguments[1] : "2xhost", all_cases);
}
