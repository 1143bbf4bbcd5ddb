/* SPDX-License-Identifier: MIT */
/* What bounds a product: rates of fake devices are known, links are more than
 * nothing. */
#include "test.h"

#include <math.h>

#include "runtime/runtime.h"
#include "support/fake.h"

static hr_context *create(const char *accelerators)
{
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    options.accelerators = accelerators;
    fake_reset();
    CHECK(hri_context_create_from(fake_list, &options, &context) == HR_OK);
    return context;
}

static bool near(double measured, double speed)
{
    return fabs(measured / speed - 1.0) <= 1.0 / 4194.0; /* test_measure.c */
}

static hr_gemm_limits measure(hr_context *context)
{
    hr_gemm_limits limits = HR_GEMM_LIMITS_INIT;
    CHECK(hr_gemm_measure_limits(context, HR_F32, HR_F32, HR_COMPUTE_NATIVE,
                                 &limits) == HR_OK);
    return limits;
}

static void check_sums(void)
{
    TEST_CASE("rates are added up, virtual accelerators of a device once");
    hr_context *context = create("2xcuda:0,cuda:1");
    hr_gemm_limits l = measure(context);
    CHECK(l.devices == 2 && near(l.flops, 2e12));
    TEST_CASE("memory that leaves no room for copies: 0");
    CHECK(l.pinned.up == 0.0 && l.pinned.both == 0.0);
    TEST_CASE("a type that one does not multiply");
    fake.backends[0].devices[0].no_f64 = true;
    CHECK(hr_gemm_measure_limits(context, HR_F64, HR_F64, HR_COMPUTE_NATIVE,
                                 &l) == HR_OK);
    CHECK(near(l.flops, 1e12));
    hr_context_destroy(context);

    TEST_CASE("in place nothing is copied");
    context = create("host");
    l = measure(context);
    CHECK(l.devices == 1 && l.flops > 0.0);
    CHECK(l.pinned.up == 0.0 && l.ordinary.both == 0.0);
    hr_context_destroy(context);
}

static void check_links(void)
{
    TEST_CASE("links are there, ordinary memory as pinned where none stages");
    hr_context *context = test_context("2xhost", 16 << 20);
    hr_gemm_limits l = measure(context);
    CHECK(l.pinned.up > 0.0 && l.pinned.down > 0.0 && l.pinned.both > 0.0);
    CHECK(l.pinned_alone.up > 0.0);
    CHECK(memcmp(&l.pinned, &l.ordinary, sizeof l.pinned) == 0);
    hr_context_destroy(context);
}

static void check_refusals(void)
{
    hr_gemm_limits l = HR_GEMM_LIMITS_INIT;
    hr_context *context = create("cuda:0");
    const hr_compute native = HR_COMPUTE_NATIVE;
    TEST_CASE("what is not offered, what there is not");
    CHECK_FAILS(hr_gemm_measure_limits(context, HR_I8, HR_F32, native, &l),
                HR_ERROR_UNSUPPORTED, "multiplies i8 into f32");
    CHECK_FAILS(
        hr_gemm_measure_limits(context, HR_F32, HR_F32, HR_COMPUTE_TF32, &l),
        HR_ERROR_UNSUPPORTED, "multiplies f32 into f32 by tf32");
    CHECK_FAILS(hr_gemm_measure_limits(context, (hr_type)0, HR_F32, native, &l),
                HR_ERROR_INVALID, "unknown type 0");
    CHECK_FAILS(hr_gemm_measure_limits(NULL, HR_F32, HR_F32, native, &l),
                HR_ERROR_INVALID, "context is NULL");
    CHECK_FAILS(hr_gemm_measure_limits(context, HR_F32, HR_F32, native, NULL),
                HR_ERROR_INVALID, "limits is NULL");
    TEST_CASE("a smaller struct, one that is too small");
    l.size = offsetof(hr_gemm_limits, ordinary);
    l.ordinary.up = 7.0;
    CHECK(hr_gemm_measure_limits(context, HR_F32, HR_F32, native, &l) == HR_OK);
    CHECK(near(l.flops, 1e12) && l.ordinary.up == 7.0);
    l.size = 4;
    CHECK_FAILS(hr_gemm_measure_limits(context, HR_F32, HR_F32, native, &l),
                HR_ERROR_INVALID, "size is 4");
    TEST_CASE("a device that is lost: its error, nothing written");
    l.size = sizeof l;
    l.flops = 7.0;
    fake.fail_call = fake.calls + 6;
    fake.fail_with = HR_ERROR_LOST;
    CHECK(hr_gemm_measure_limits(context, HR_F32, HR_F32, native, &l) != HR_OK);
    CHECK(l.flops == 7.0);
    hr_context_destroy(context);
}

int main(void)
{
    TEST(check_sums());
    TEST(check_links());
    TEST(check_refusals());
    return test_end();
}
