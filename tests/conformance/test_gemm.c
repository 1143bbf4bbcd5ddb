/* SPDX-License-Identifier: MIT */
/* Products compared with a wider reference, inside the derived bound. */
#include "support/conformance.h"
#include "support/product.h"
#include "support/random.h"

enum { RANDOM_CASES = 40, MAX_PADDING = 5, MAX_LEAD = 40 };

static const struct {
    const char *name;
    product p;
} fixed[] = {
    {"m = 0", {.m = 0, .n = 5, .k = 7, .alpha = {1, 0}, .beta = {2, 0}}},
    {"n = 0", {.m = 5, .n = 0, .k = 7, .alpha = {1, 0}, .beta = {2, 0}}},
    {"k = 0 scales C",
     {.m = 5, .n = 6, .k = 0, .alpha = {1, 0}, .beta = {2, 0.625}}},
    {"k = 0 and beta = 0 make C zero",
     {.m = 5, .n = 6, .k = 0, .alpha = {1, 0}, .beta = {0, 0}}},
    {"k = 0 and beta = 1 keep C",
     {.m = 5, .n = 6, .k = 0, .alpha = {0, 0}, .beta = {1, 0}}},
    {"one element", {.m = 1, .n = 1, .k = 1, .alpha = {1, 0}, .beta = {0, 0}}},
    {"a dot product",
     {.m = 1, .n = 1, .k = 1000, .alpha = {1, 0}, .beta = {1, 0}}},
    {"an outer product",
     {.m = 70, .n = 90, .k = 1, .alpha = {1, 0}, .beta = {-1, 0}}},
    {"a row by a matrix",
     {.m = 1, .n = 130, .k = 99, .alpha = {1, 0}, .beta = {0, 0}}},
    {"a matrix by a column",
     {.m = 130, .n = 1, .k = 99, .alpha = {-1, 0}, .beta = {0, 0}}},
    {"whole tiles",
     {.m = 64, .n = 64, .k = 64, .alpha = {1, 0}, .beta = {0, 0}}},
    {"whole tiles are added to",
     {.m = 64, .n = 64, .k = 16, .alpha = {1, 0}, .beta = {1, 0}}},
    {"larger ones",
     {.m = 256, .n = 256, .k = 256, .alpha = {1, 0}, .beta = {-1, 0}}},
    {"more than one block",
     {.m = 97, .n = 131, .k = 300, .alpha = {1, 0}, .beta = {1, 0}}},
    {"the same, transposed",
     {.m = 97,
      .n = 131,
      .k = 300,
      .alpha = {1, 0},
      .beta = {0, 0},
      .a_columns = true,
      .b_columns = true}},
    {"NaN and infinity spread",
     {.m = 9,
      .n = 20,
      .k = 33,
      .alpha = {1, 0},
      .beta = {1, 0},
      .special = true}},
    {"NaN and infinity spread, large",
     {.m = 70,
      .n = 66,
      .k = 65,
      .alpha = {1, 0},
      .beta = {0, 0},
      .special = true}},
};

/* In place, one half at once and the other by the queue. */
static hr_status enqueue_gemm(hri_queue *queue, const hri_gemm *g)
{
    return g->a.place.buffer == NULL && (g->m + g->k) % 2 == 1
               ? queue->device->ops->gemm_now(queue->device, g)
               : queue->ops->gemm(queue, g);
}

/* It has an imaginary part, except to 0, 1 and -1. */
static hr_scalar random_factor(random_source *source, hr_type type)
{
    static const double usual[] = {0, 1, -1};
    const int64_t which = random_between(source, 0, 3);
    if (which < 3) {
        return hr_real(usual[which]);
    }
    return type == HR_I8 ? hr_real((double)random_between(source, -9, 9))
                         : hr_complex(random_unit(source), 0.625);
}

static bool random_bool(random_source *source)
{
    return random_between(source, 0, 1) == 1;
}

static product random_product(random_source *source, hr_type type, bool host)
{
    static const int64_t sizes[] = {1,  2,  3,  5,  8,  15, 16,
                                    17, 31, 32, 33, 47, 64, 65};
    const int64_t last = sizeof sizes / sizeof sizes[0] - 1;
    const bool complex = is_complex(type);
    return (product){.m = sizes[random_between(source, 0, last)],
                     .n = sizes[random_between(source, 0, last)],
                     .k = sizes[random_between(source, 0, last)],
                     .alpha = random_factor(source, type),
                     .beta = random_factor(source, type),
                     .a_columns = random_bool(source),
                     .b_columns = random_bool(source),
                     .a_conjugate = random_bool(source) && complex,
                     .b_conjugate = random_bool(source) && complex,
                     .in_place = random_bool(source) && host};
}

/* Whether a product of these types is right, wherever its operands lie. */
static void try_product(hri_queue *queue, product p, const type_pair *types,
                        random_source *source)
{
    p.type = types->ab;
    p.c_type = types->c;
    if (!is_complex(p.type)) {
        p.alpha.im = p.beta.im = 0;
    }
    p.padding = random_between(source, 0, MAX_PADDING);
    p.lead = random_between(source, 0, MAX_LEAD);
    CHECK(product_is_right(queue, &p, enqueue_gemm, random_next(source)));
}

static void products_of_types_are_right(hri_queue *queue,
                                        const type_pair *types)
{
    random_source source = {(uint64_t)types->ab * 10 + types->c};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        TEST_CASE(fixed[i].name);
        try_product(queue, fixed[i].p, types, &source);
    }
    TEST_CASE("a random product");
    for (int i = 0; i < RANDOM_CASES; i++) {
        try_product(
            queue, random_product(&source, types->ab, queue->device->info.host),
            types, &source);
    }
}

static void products_conform(hri_device *device)
{
    hri_queue *queue = conformance_queue(device);
    for (size_t i = 0; i < PAIRS; i++) {
        const type_pair *types = &pairs[i];
        if (device->ops->gemm_offered(device, types->ab, types->c,
                                      HR_COMPUTE_NATIVE)) {
            TEST(products_of_types_are_right(queue, types));
        } else {
            printf("skip %s to %s: %s does not offer it\n",
                   hr_type_name(types->ab), hr_type_name(types->c),
                   device->info.path);
        }
    }
    queue->ops->destroy(queue);
}

int main(void)
{
    return conformance_main(products_conform);
}
