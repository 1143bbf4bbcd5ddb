/* SPDX-License-Identifier: MIT */
/* The OpenCL kernel in each of its layouts, with every type, arrangement of the
 * operands and pair of factors; what a program that does not compile answers;
 * two virtual accelerators that build and multiply at once. */
#include <pthread.h>

#include "backends/opencl/opencl.h"
#include "support/conformance.h"
#include "support/product.h"
#include "test.h"

typedef struct pair {
    hr_type type, c_type;
} pair;

static const pair pairs[] = {
    {HR_F32, HR_F32},   {HR_F64, HR_F64},  {HR_C32, HR_C32},
    {HR_C64, HR_C64},   {HR_F16, HR_F16},  {HR_F16, HR_F32},
    {HR_BF16, HR_BF16}, {HR_BF16, HR_F32}, {HR_I8, HR_I32},
};

/* Real parts; complex types get an imaginary part with all but 0 and 1. */
static const struct {
    double alpha, beta;
} factors[] = {{1, 0}, {1, 1}, {-3, 2}, {2, 0}, {0, 2}, {0, 0}};

/* Around the tiles of all layouts: 32 x 32 x 8, 64 x 128 x 8, 128 x 128 x 16,
 * 96 x 128 x 64. */
static const struct {
    int64_t m, n, k;
} sizes[] = {{1, 1, 1},      {1, 40, 9},    {40, 1, 70}, {32, 32, 8},
             {97, 129, 65},  {96, 128, 64}, {33, 31, 7}, {130, 66, 17},
             {128, 256, 32}, {7, 5, 300},   {6, 4, 0}};

enum {
    SIZES = sizeof sizes / sizeof sizes[0],
    FACTORS = sizeof factors / sizeof factors[0],
    PAIRS = sizeof pairs / sizeof pairs[0]
};

static bool is_complex(hr_type type)
{
    return type == HR_C32 || type == HR_C64;
}

static hr_scalar factor(hr_type type, double re)
{
    return hr_complex(re, is_complex(type) && re != 0 && re != 1 ? 0.75 : 0);
}

static hr_status gemm(hri_queue *queue, const hri_gemm *g)
{
    return queue->ops->gemm(queue, g);
}

/* arrangement: bits for column-major A and B, and for their conjugation. */
static product product_of(const pair *types, int arrangement, size_t size,
                          size_t factors_index)
{
    return (product){
        .type = types->type,
        .c_type = types->c_type,
        .m = sizes[size].m,
        .n = sizes[size].n,
        .k = sizes[size].k,
        .alpha = factor(types->type, factors[factors_index].alpha),
        .beta = factor(types->type, factors[factors_index].beta),
        .a_columns = (arrangement & 1) != 0,
        .b_columns = (arrangement & 2) != 0,
        .a_conjugate = (arrangement & 4) != 0,
        .b_conjugate = (arrangement & 8) != 0,
        .padding = (int64_t)(size % 3),
        .lead = (int64_t)(factors_index * 5),
    };
}

/* Every arrangement with every pair of factors, the sizes in turn; and every
 * size. */
static void type_is_right(hri_queue *queue, const pair *types)
{
    size_t size = 0;
    int arrangements = is_complex(types->type) ? 16 : 4;
    for (int arrangement = 0; arrangement < arrangements; arrangement++) {
        for (size_t f = 0; f < FACTORS; f++) {
            product p = product_of(types, arrangement, size % SIZES, f);
            CHECK(product_is_right(queue, &p, gemm, size));
            size++;
        }
    }
    for (size_t s = 0; s < SIZES; s++) {
        product p = product_of(types, (int)(s % 4), s, s % 3);
        CHECK(product_is_right(queue, &p, gemm, s));
    }
}

/* On a CPU the layout for GPUs differs from the small one only in its numbers,
 * and takes long to compile: the types for which it has code of its own. */
static bool is_worth_it(const hri_cl_unit *unit, hri_cl_layout layout,
                        const pair *types)
{
    bool cpu = hri_cl_layout_for(unit) == HRI_CL_CPU;
    if (layout == HRI_CL_CPU) {
        return cpu;
    }
    return !cpu || layout == HRI_CL_SMALL || types->c_type == HR_F16 ||
           types->type == HR_F32;
}

static void layout_is_right(hri_device *device, hri_cl_layout layout)
{
    hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    unit->layout = layout;
    hri_queue *queue = conformance_queue(device);
    for (size_t i = 0; i < PAIRS; i++) {
        TEST_CASE(hr_type_name(pairs[i].type));
        if (!device->ops->gemm_offered(device, pairs[i].type, pairs[i].c_type,
                                       HR_COMPUTE_NATIVE)) {
            printf("skip %s: %s does not offer it\n",
                   hr_type_name(pairs[i].type), device->info.path);
        } else if (is_worth_it(unit, layout, &pairs[i])) {
            type_is_right(queue, &pairs[i]);
        }
    }
    queue->ops->destroy(queue);
    unit->layout = hri_cl_layout_for(unit);
}

static void pairs_that_are_not_offered(hri_device *device)
{
    static const pair no[] = {{HR_F32, HR_F64}, {HR_F64, HR_F32},
                              {HR_F32, HR_F16}, {HR_F16, HR_BF16},
                              {HR_I8, HR_I8},   {HR_I32, HR_I32}};
    TEST_CASE("a pair that is not offered is refused");
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        hri_queue *queue = conformance_queue(device);
        hri_gemm g = {.type = no[i].type, .c_type = no[i].c_type};
        CHECK(!device->ops->gemm_offered(device, g.type, g.c_type,
                                         HR_COMPUTE_NATIVE));
        CHECK_FAILS(gemm(queue, &g), HR_ERROR_UNSUPPORTED, "no product of");
        CHECK(queue->ops->finish(queue) == HR_ERROR_UNSUPPORTED);
        queue->ops->destroy(queue);
    }
    CHECK(!device->ops->gemm_offered(device, HR_F32, HR_F32, HR_COMPUTE_TF32));
}

static void broken_source_is_told(const hri_cl_device *device)
{
    static const char source[] = "__kernel void f(void)\n"
                                 "{\n"
                                 "    this is no C;\n"
                                 "}\n";
    cl_program program = NULL;
    TEST_CASE("a program that does not compile");
    CHECK_FAILS(hri_cl_program_build(device->unit, device->context, source, "",
                                     &program),
                HR_ERROR_BUILD, "error");
    CHECK(program == NULL);
    CHECK(strchr(hr_last_error(), '\n') == NULL);
}

static void *multiply_often(void *data)
{
    static const product p = {HR_F32, HR_F32, 70,    90,    50, {1, 0}, {1, 0},
                              false,  true,   false, false, 1,  1};
    hri_device *device = data;
    hri_queue *queue = conformance_queue(device);
    bool right = true;
    for (uint64_t i = 0; i < 20; i++) {
        right = product_is_right(queue, &p, gemm, i) && right;
    }
    queue->ops->destroy(queue);
    return right ? data : NULL;
}

static void virtual_accelerators_multiply_at_once(uint32_t index)
{
    enum { COUNT = 3 };
    pthread_t threads[COUNT];
    hri_device *devices[COUNT];
    TEST_CASE("virtual accelerators multiply at once");
    for (int i = 0; i < COUNT; i++) {
        conformance_must(hri_backend_opencl.open(index, &devices[i]), "open");
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(pthread_create(&threads[i], NULL, multiply_often, devices[i]) ==
              0);
    }
    for (int i = 0; i < COUNT; i++) {
        void *right = NULL;
        pthread_join(threads[i], &right);
        CHECK(right != NULL);
    }
    for (int i = 0; i < COUNT; i++) {
        devices[i]->ops->close(devices[i]);
    }
}

int main(void)
{
    uint32_t count = 0;
    setenv("HEADRACE_CLBLAST", "off", 1);
    if (hri_backend_opencl.probe(&count) != HR_OK) {
        return test_skip(hr_last_error());
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = NULL;
        virtual_accelerators_multiply_at_once(i);
        conformance_must(hri_backend_opencl.open(i, &device), "open");
        printf("%s, %s\n", device->info.path, device->info.name);
        for (int layout = 0; layout < HRI_CL_LAYOUTS; layout++) {
            layout_is_right(device, (hri_cl_layout)layout);
        }
        pairs_that_are_not_offered(device);
        broken_source_is_told((const hri_cl_device *)device);
        device->ops->close(device);
    }
    return test_end();
}
