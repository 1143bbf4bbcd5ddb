/* SPDX-License-Identifier: MIT */
/* The OpenCL kernel in each of its layouts, with every type, arrangement of the
 * operands and pair of factors; two virtual accelerators that build and
 * multiply at once. */
#include "backends/opencl/opencl.h"
#include "base/cpus.h"
#include "support/conformance.h"
#include "support/product.h"
#include "test.h"

/* On a CPU the layout for GPUs differs from the small one only in its numbers,
 * and takes long to compile: the types for which it has code of its own. */
static bool is_worth_it(const hri_cl_unit *unit, hri_cl_layout layout,
                        const type_pair *types)
{
    bool cpu = hri_cl_layout_for(unit) == HRI_CL_CPU;
    if (!hri_cl_has_layout(unit, layout, types->ab)) {
        return false;
    }
    if (layout == HRI_CL_CPU) {
        return cpu;
    }
    return !cpu || layout == HRI_CL_SMALL || types->c == HR_F16 ||
           types->ab == HR_F32;
}

/* Tuned layouts take long on CPUs. A whole tile and a shorter step, and edges,
 * in each arrangement of the operands. */
static bool tuned_is_right(hri_queue *queue, const type_pair *types)
{
    bool right = true;
    for (int i = 0; i < 8; i++) {
        const bool whole = i < 4;
        const product p = {.type = types->ab,
                           .c_type = types->c,
                           .m = whole ? 128 : 67,
                           .n = whole ? 128 : 70,
                           .k = whole ? 20 : 11,
                           .alpha = hr_real(2.0),
                           .beta = hr_real(whole ? 0.0 : 3.0),
                           .a_columns = (i & 1) != 0,
                           .b_columns = (i & 2) != 0};
        right &= product_is_right(queue, &p, product_enqueue, (uint64_t)i);
    }
    return right;
}

static void layout_is_right(hri_device *device, hri_cl_layout layout)
{
    hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    unit->layout = layout;
    hri_queue *queue = conformance_queue(device);
    for (size_t i = 0; i < PAIRS; i++) {
        const type_pair *types = &pairs[i];
        if (!device->ops->gemm_offered(device, types->ab, types->c,
                                       HR_COMPUTE_NATIVE)) {
            printf("skip %s: %s does not offer it\n", hr_type_name(types->ab),
                   device->info.path);
        } else if (is_worth_it(unit, layout, types)) {
            TEST_CASE(hr_type_name(types->ab));
            CHECK(layout >= HRI_CL_TUNED && device->info.emulated
                      ? tuned_is_right(queue, types)
                      : products_are_right(queue, types));
        }
    }
    queue->ops->destroy(queue);
    unit->layout = hri_cl_layout_for(unit);
}

/* Multiply, and return the queue's tuned kernel for floats. The product has the
 * fewest tiles for which it is used, without an edge and with some. */
static const hri_cl_kernel *multiply_tuned(hri_queue *queue, int64_t edge,
                                           int64_t lead)
{
    const product p = {.type = HR_F32,
                       .c_type = HR_F32,
                       .m = 128,
                       .n = 256 * queue->device->info.compute_units + edge,
                       .k = 20,
                       .lead = lead,
                       .alpha = hr_real(2.0),
                       .beta = hr_real(3.0)};
    CHECK(product_is_right(queue, &p, product_enqueue, 1));
    return &((hri_cl_queue *)queue)->kernels[HR_F32][HRI_CL_FASTEST];
}

static void variant_is_taken(hri_device *device)
{
    const hri_cl_unit *unit = ((hri_cl_device *)device)->unit;
    hri_queue *queue = conformance_queue(device);
    TEST_CASE("the variant that is chosen serves products that suit it");
    CHECK(multiply_tuned(queue, 0, 0)->kernel == NULL);
    device->ops->choose_variant(device, HR_F32, 1);
    CHECK(multiply_tuned(queue, -4, 0)->kernel == NULL);
    CHECK(multiply_tuned(queue, 0, 1)->kernel == NULL);
    CHECK(multiply_tuned(queue, 0, 0)->layout == HRI_CL_TUNED);

    TEST_CASE("another one takes its place, on queues that are there");
    device->ops->choose_variant(device, HR_F32, 2);
    CHECK(multiply_tuned(queue, 0, 0)->layout == HRI_CL_TUNED_2);
    device->ops->choose_variant(device, HR_F32, 0);
    queue->ops->destroy(queue);

    TEST_CASE("there is a choice for NVIDIA's GPUs, in the native mode");
    const bool tuned = unit->nvidia;
    CHECK((device->ops->gemm_variants(device, HR_F32, HR_COMPUTE_NATIVE) > 1) ==
          tuned);
    CHECK((device->ops->gemm_variants(device, HR_F64, HR_COMPUTE_NATIVE) > 1) ==
          tuned);
    CHECK(device->ops->gemm_variants(device, HR_C32, HR_COMPUTE_NATIVE) == 1);
    CHECK(device->ops->gemm_variants(device, HR_F32, HR_COMPUTE_REPRODUCIBLE) ==
          1);
}

static void pairs_that_are_not_offered(hri_device *device)
{
    static const type_pair no[] = {{HR_F32, HR_F64}, {HR_F64, HR_F32},
                                   {HR_F32, HR_F16}, {HR_F16, HR_BF16},
                                   {HR_I8, HR_I8},   {HR_I32, HR_I32}};
    TEST_CASE("a pair that is not offered is refused");
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        hri_queue *queue = conformance_queue(device);
        hri_gemm g = {.type = no[i].ab, .c_type = no[i].c};
        CHECK(!device->ops->gemm_offered(device, g.type, g.c_type,
                                         HR_COMPUTE_NATIVE));
        CHECK_FAILS(product_enqueue(queue, &g), HR_ERROR_UNSUPPORTED,
                    "no product of");
        CHECK(queue->ops->finish(queue) == HR_ERROR_UNSUPPORTED);
        queue->ops->destroy(queue);
    }
    CHECK(!device->ops->gemm_offered(device, HR_F32, HR_F32, HR_COMPUTE_TF32));
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
        TEST_CASE("virtual accelerators multiply at once");
        CHECK(products_are_right_at_once(&hri_backend_opencl, i));
        conformance_must(hri_backend_opencl.open(i, HRI_MAX_THREADS, &device),
                         "open");
        test_note("%s, %s\n", device->info.path, device->info.name);
        for (int layout = 0; layout < HRI_CL_LAYOUTS; layout++) {
            TEST(layout_is_right(device, (hri_cl_layout)layout));
        }
        TEST(variant_is_taken(device));
        TEST(pairs_that_are_not_offered(device));
        device->ops->close(device);
    }
    return test_end();
}
