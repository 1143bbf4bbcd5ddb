/* SPDX-License-Identifier: MIT */
/* Products that CLBlast is given when HEADRACE_CLBLAST asks for it. */
#include "backends/opencl/opencl.h"
#include "base/cpus.h"
#include "support/conformance.h"
#include "support/product.h"
#include "test.h"

static long suited; /* products that CLBlast made */

static hr_status multiply_and_count(hri_queue *queue, const hri_gemm *g)
{
    suited += g->k > 0 && (g->alpha.re != 0 || g->alpha.im != 0) &&
              hri_cl_clblast_suits((hri_cl_queue *)queue, g);
    return queue->ops->gemm(queue, g);
}

/* Which of them go to CLBlast on every device; the others may. */
static const struct {
    const char *name;
    bool always, never;
    product p;
} cases[] = {
    {"one element", true, false, {.m = 1, .n = 1, .k = 1}},
    {"odd sizes, ld > extent",
     true,
     false,
     {.m = 37, .n = 53, .k = 29, .padding = 3, .lead = 7}},
    {"a row", true, false, {.m = 1, .n = 61, .k = 19, .lead = 1}},
    {"a column", true, false, {.m = 61, .n = 1, .k = 19, .padding = 1}},
    {"a dot product", true, false, {.m = 1, .n = 1, .k = 333}},
    {"transposed A",
     true,
     false,
     {.m = 33, .n = 20, .k = 31, .a_columns = true, .padding = 2}},
    {"transposed B",
     true,
     false,
     {.m = 33, .n = 20, .k = 31, .b_columns = true, .lead = 3}},
    {"transposed both",
     true,
     false,
     {.m = 33, .n = 20, .k = 31, .a_columns = true, .b_columns = true}},
    {"whole tiles", false, false, {.m = 256, .n = 256, .k = 64}},
    {"past the direct form",
     false,
     false,
     {.m = 130, .n = 300, .k = 100, .padding = 5, .lead = 2}},
    {"k = 0", false, true, {.m = 5, .n = 6, .k = 0}},
};

static const struct {
    double alpha, beta;
} factors[] = {{1, 0}, {-2, 1}, {0, 3}, {2, -1}};

static void case_is_right(hri_queue *queue, size_t index, hr_type type)
{
    product p = cases[index].p;
    bool complex = type == HR_C32 || type == HR_C64;
    p.type = p.c_type = type;
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        for (int conjugate = 0; conjugate < (complex ? 4 : 1); conjugate++) {
            p.alpha = hr_complex(factors[f].alpha, complex && f == 3);
            p.beta = hr_complex(factors[f].beta, complex && f == 3);
            p.a_conjugate = conjugate & 1;
            p.b_conjugate = (conjugate & 2) != 0;
            /* Conjugated without being transposed is beyond it. */
            bool cannot = factors[f].alpha == 0 ||
                          (p.a_conjugate && !p.a_columns) ||
                          (p.b_conjugate && !p.b_columns);
            long before = suited;
            CHECK(product_is_right(queue, &p, multiply_and_count, index + f));
            CHECK(suited - before == 1 || !cases[index].always || cannot);
            CHECK(suited == before || (!cases[index].never && !cannot));
        }
    }
}

static void device_is_right(hri_device *device)
{
    static const hr_type types[] = {HR_F32, HR_F64, HR_C32, HR_C64};
    hri_queue *queue = conformance_queue(device);
    printf("%s, %s\n", device->info.path, device->info.arithmetic);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (!device->ops->gemm_offered(device, types[t], types[t],
                                       HR_COMPUTE_NATIVE)) {
            printf("skip %s: %s does not offer it\n", hr_type_name(types[t]),
                   device->info.path);
            continue;
        }
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            TEST_CASE(cases[i].name);
            case_is_right(queue, i, types[t]);
        }
    }
    queue->ops->destroy(queue);
}

int main(void)
{
    uint32_t count = 0;
    setenv("HEADRACE_CLBLAST", "on", 1);
    if (!hri_cl_clblast_wanted()) {
        return test_skip("there is no libclblast.so.1");
    }
    if (hri_backend_opencl.probe(&count) != HR_OK) {
        return test_skip(hr_last_error());
    }
    for (uint32_t i = 0; i < count; i++) {
        hri_device *device = NULL;
        conformance_must(hri_backend_opencl.open(i, HRI_MAX_THREADS, &device),
                         "open");
        TEST(device_is_right(device));
        device->ops->close(device);
    }
    test_note("%ld products by CLBlast\n", suited);
    return test_end();
}
