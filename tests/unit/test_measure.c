/* SPDX-License-Identifier: MIT */
/* Measured rates, on fake devices with known speeds, and what bounds a product.
 */
#include "model/model.h"
#include "test.h"

#include <math.h>

#include "model/tuning.h"
#include "support/fake.h"
#include "support/files.h"
#include "support/told.h"

/* That measuring has left nothing behind, nor ever held more than the limit. */
static void check_and_destroy(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *a = &context->accelerators[i];
        CHECK(a->memory_used == 0 && a->pinned_used == 0);
        CHECK(a->memory_peak <= a->memory_limit);
    }
    CHECK(fake.live == (long)context->accelerator_count);
    hr_context_destroy(context);
    CHECK(fake.live == 0);
}

/* The fakes' clocks count nanoseconds and the shortest job here, a product of
 * extent 128 at 1e12/s, takes 4194: two roundings by half of one. */
static bool near(double measured, double speed)
{
    return fabs(measured / speed - 1.0) <= 1.0 / 4194.0;
}

static double rate_of(hr_context *context, uint32_t index, hr_type type)
{
    double flops = 0.0;
    CHECK(
        hri_accelerator_rate(&context->accelerators[index],
                             (hri_product_kind){type, type, HR_COMPUTE_NATIVE},
                             &flops) == HR_OK);
    return flops;
}

static void check_rate(void)
{
    TEST_CASE("the rate is the device's, measured once");
    hr_context *context = fake_context("2xcuda:0,cuda:1,host", 0);
    CHECK(near(rate_of(context, 0, HR_F32), 1e12));
    uint64_t gemms = fake.backends[0].devices[0].gemms;
    CHECK(gemms > 0);
    CHECK(rate_of(context, 0, HR_F32) ==
          told_of(&context->accelerators[0], "f32"));
    CHECK(fake.backends[0].devices[0].gemms == gemms);

    TEST_CASE("virtual accelerators of one device share it, others do not");
    CHECK(rate_of(context, 1, HR_F32) == rate_of(context, 0, HR_F32));
    CHECK(fake.backends[0].devices[0].gemms == gemms);
    CHECK(told_of(&context->accelerators[2], "f32") == 0.0);

    TEST_CASE("every type has its own");
    fake.backends[0].devices[0].flops = 5e11;
    CHECK(near(rate_of(context, 0, HR_F64), 5e11));
    CHECK(near(rate_of(context, 0, HR_F32), 1e12));

    TEST_CASE("in the caller's memory, where that is how it works");
    CHECK(near(rate_of(context, 3, HR_F32), 1e12));
    CHECK(fake.backends[2].devices[0].most_bytes == 0);
    check_and_destroy(context);
}

static void check_not_offered(void)
{
    double flops = 7.0;
    TEST_CASE("types that it does not multiply");
    hr_context *context = fake_context("cuda:0", 0);
    fake.backends[0].devices[0].no_f64 = true;
    CHECK_FAILS(hri_accelerator_rate(
                    &context->accelerators[0],
                    (hri_product_kind){HR_F64, HR_F64, HR_COMPUTE_NATIVE},
                    &flops),
                HR_ERROR_UNSUPPORTED, "cuda:0 does not multiply f64 into f64");
    CHECK_FAILS(hri_accelerator_rate(
                    &context->accelerators[0],
                    (hri_product_kind){HR_I8, HR_I32, HR_COMPUTE_NATIVE},
                    &flops),
                HR_ERROR_UNSUPPORTED, "i8 into i32");
    CHECK(flops == 7.0);

    TEST_CASE("are 0 in the report");
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    CHECK(hr_accelerator_measure(context, 0, &rates) == HR_OK);
    CHECK(near(rates.f32, 1e12) && rates.f64 == 0.0);
    check_and_destroy(context);
}

/* Bytes of three operands of extent 128 in f32. */
enum { MIN_BYTES = 3 * 4 * 128 * 128 };

static void check_limits(void)
{
    TEST_CASE("the smallest product just fits");
    hr_context *context = fake_context("cuda:0", MIN_BYTES);
    CHECK(near(rate_of(context, 0, HR_F32), 1e12));
    CHECK(context->accelerators[0].memory_peak == MIN_BYTES);
    CHECK(hri_accelerator_link(&context->accelerators[0]) == HR_OK);
    CHECK(near(told_of(&context->accelerators[0], "up"), 1e9));
    check_and_destroy(context);

    TEST_CASE("it just does not: the default, and nothing runs");
    context = fake_context("cuda:0", MIN_BYTES - 1);
    CHECK(rate_of(context, 0, HR_F32) == 1e10);
    CHECK(fake.backends[0].devices[0].gemms == 0);
    check_and_destroy(context);

    TEST_CASE("hardly any memory: the default of the link");
    context = fake_context("cuda:0", 1);
    CHECK(hri_accelerator_link(&context->accelerators[0]) == HR_OK);
    CHECK(told_of(&context->accelerators[0], "up") == 1e10);
    CHECK(told_of(&context->accelerators[0], "down") == 1e10);
    check_and_destroy(context);

    TEST_CASE("what is in use stays, the rest is measured with");
    context = fake_context("cuda:0", 600000);
    hri_accelerator *a = &context->accelerators[0];
    hri_buffer *buffer = NULL;
    CHECK(hri_accelerator_allocate(a, 400000, &buffer) == HR_OK);
    CHECK(near(rate_of(context, 0, HR_F32), 1e12));
    CHECK(a->memory_used == 400000);
    CHECK(a->memory_peak == 400000 + MIN_BYTES);
    hri_accelerator_release(a, buffer);
    hri_accelerator_trim(a);
    check_and_destroy(context);
}

static void check_link(void)
{
    TEST_CASE("the link's speed, once for a device");
    hr_context *context = fake_context("2xcuda:0,host", 0);
    hri_accelerator *a = context->accelerators;
    CHECK(hri_accelerator_link(&a[1]) == HR_OK);
    const hri_link first = hri_link_alone(&a[0]);
    const hri_link second = hri_link_alone(&a[1]);
    CHECK(near(second.up, 1e9) && near(second.down, 1e9));
    CHECK(first.up == second.up && first.down == second.down);
    long calls = fake.calls;
    CHECK(hri_accelerator_link(&a[0]) == HR_OK && fake.calls == calls);

    TEST_CASE("in place there is none");
    CHECK(hri_accelerator_link(&a[2]) == HR_OK && fake.calls == calls);
    CHECK(hri_link_alone(&a[2]).up == 0.0 && hri_link_alone(&a[2]).down == 0.0);
    check_and_destroy(context);
}

static void check_clock(void)
{
    TEST_CASE("a device whose clock stands still: ours counts");
    hr_context *context = fake_context("cuda:0", 0);
    fake.backends[0].devices[0].flops = INFINITY;
    double flops = rate_of(context, 0, HR_F32);
    CHECK(flops > 0.0 && isfinite(flops));
    check_and_destroy(context);
}

static void check_measure(void)
{
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    TEST_CASE("measuring again forgets what was known");
    hr_context *context = fake_context("2xcuda:0,host", 0);
    CHECK(hr_accelerator_measure(context, 0, &rates) == HR_OK);
    CHECK(near(rates.f32, 1e12) && near(rates.f64, 1e12));
    CHECK(near(rates.up, 1e9) && near(rates.down, 1e9));
    fake.backends[0].devices[0].flops = 3e11;
    fake.backends[0].devices[0].link = 2e8;
    CHECK(hr_accelerator_measure(context, 0, &rates) == HR_OK);
    CHECK(near(rates.f32, 3e11) && near(rates.up, 2e8));
    CHECK(near(rate_of(context, 1, HR_F32), 3e11));

    TEST_CASE("in place nothing is copied");
    CHECK(hr_accelerator_measure(context, 2, &rates) == HR_OK);
    CHECK(near(rates.f32, 1e12) && rates.up == 0.0 && rates.down == 0.0);

    TEST_CASE("a smaller struct");
    rates.size = offsetof(hr_accelerator_rates, f32);
    rates.f32 = 7.0;
    CHECK(hr_accelerator_measure(context, 0, &rates) == HR_OK);
    CHECK(near(rates.up, 2e8) && rates.f32 == 7.0);

    TEST_CASE("a size, an index, pointers that cannot be");
    rates.size = 0;
    CHECK_FAILS(hr_accelerator_measure(context, 0, &rates), HR_ERROR_INVALID,
                "size is 0");
    rates.size = sizeof rates;
    CHECK_FAILS(hr_accelerator_measure(context, 3, &rates), HR_ERROR_INVALID,
                "index 3 is not below 3");
    CHECK_FAILS(hr_accelerator_measure(NULL, 0, &rates), HR_ERROR_INVALID,
                "context is NULL");
    CHECK_FAILS(hr_accelerator_measure(context, 0, NULL), HR_ERROR_INVALID,
                "rates is NULL");

    TEST_CASE("a device that is lost: its error, rates untouched");
    rates.f32 = 7.0;
    fake.fail_call = fake.calls + 20;
    fake.fail_with = HR_ERROR_LOST;
    CHECK_FAILS(hr_accelerator_measure(context, 0, &rates), HR_ERROR_LOST,
                "fake: call");
    CHECK(rates.f32 == 7.0);
    check_and_destroy(context);
}

static void check_variants(void)
{
    TEST_CASE("the fastest of the device's kernels is used from then on");
    hr_context *context = fake_context("2xcuda:0", 0);
    fake_device_state *device = &fake.backends[0].devices[0];
    device->variants = 3;
    device->fastest = 1;
    CHECK(near(rate_of(context, 0, HR_F32), 1e12) && device->variant == 1);
    const uint64_t gemms = device->gemms;
    CHECK(near(rate_of(context, 1, HR_F32), 1e12) && device->variant == 1);
    CHECK(device->gemms == gemms);

    TEST_CASE("measuring again chooses again");
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    device->fastest = 2;
    CHECK(hr_accelerator_measure(context, 0, &rates) == HR_OK);
    CHECK(near(rates.f32, 1e12) && device->variant == 2);
    check_and_destroy(context);

    TEST_CASE("one that does not compile is left out");
    context = fake_context("cuda:0", 0);
    device->variants = 3;
    device->fastest = device->broken = 1;
    CHECK(near(rate_of(context, 0, HR_F32), 5e11) && device->variant == 0);
    check_and_destroy(context);

    TEST_CASE("a device that is lost meanwhile: its error");
    double flops = 0.0;
    context = fake_context("cuda:0", 0);
    device->variants = 3;
    fake.fail_call = fake.calls + 20;
    fake.fail_with = HR_ERROR_LOST;
    CHECK_FAILS(hri_accelerator_rate(
                    &context->accelerators[0],
                    (hri_product_kind){HR_F32, HR_F32, HR_COMPUTE_NATIVE},
                    &flops),
                HR_ERROR_LOST, "fake: call");
    check_and_destroy(context);
}

/* ---- what bounds a product */

static hr_gemm_limits limits_of(hr_context *context)
{
    hr_gemm_limits limits = HR_GEMM_LIMITS_INIT;
    CHECK(hr_gemm_measure_limits(context, HR_F32, HR_F32, HR_COMPUTE_NATIVE,
                                 &limits) == HR_OK);
    return limits;
}

static void check_limits_of_products(void)
{
    TEST_CASE("rates are added up, virtual accelerators of a device once");
    hr_context *context = fake_context("2xcuda:0,cuda:1", 0);
    hr_gemm_limits l = limits_of(context);
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
    context = fake_context("host", 0);
    l = limits_of(context);
    CHECK(l.devices == 1 && l.flops > 0.0);
    CHECK(l.pinned.up == 0.0 && l.ordinary.both == 0.0);
    hr_context_destroy(context);
}

static void check_links_of_products(void)
{
    TEST_CASE("links are there, ordinary memory as pinned where none stages");
    hr_context *context = test_context("2xhost", 16 << 20);
    hr_gemm_limits l = limits_of(context);
    CHECK(l.pinned.up > 0.0 && l.pinned.down > 0.0 && l.pinned.both > 0.0);
    CHECK(l.pinned_alone.up > 0.0);
    CHECK(memcmp(&l.pinned, &l.ordinary, sizeof l.pinned) == 0);
    hr_context_destroy(context);
}

static void check_refused_limits(void)
{
    hr_gemm_limits l = HR_GEMM_LIMITS_INIT;
    hr_context *context = fake_context("cuda:0", 0);
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

/* ---- what is kept */

/* The rate on a device with three kernels, whose products take long. The
 * context looks into the tuning cache, as those of real devices do. */
static double rate_with_cache(uint64_t *gemms, uint32_t *variant)
{
    hr_context *context = fake_context("cuda:0", 0);
    fake_device_state *device = &fake.backends[0].devices[0];
    snprintf(context->accelerators[0].key, sizeof context->accelerators[0].key,
             "a device");
    device->variants = 3;
    device->fastest = 2;
    device->flops = 1e9;
    const double found = rate_of(context, 0, HR_F32);
    *gemms = device->gemms;
    *variant = device->variant;
    check_and_destroy(context);
    return found;
}

static void check_kept(void)
{
    char folder[64];
    uint64_t gemms = 0;
    uint32_t variant = 0;
    files_make_cache(folder, sizeof folder);
    TEST_CASE("the choice is kept for later contexts, and nothing is measured");
    CHECK(near(rate_with_cache(&gemms, &variant), 1e9));
    CHECK(gemms > 0 && variant == 2);
    CHECK(near(rate_with_cache(&gemms, &variant), 1e9));
    CHECK(gemms == 0 && variant == 2);

    TEST_CASE("a rate without a choice, as others wrote: both are measured");
    hri_tuning_keep("f32-variant-3", "a device", 4.0);
    CHECK(near(rate_with_cache(&gemms, &variant), 1e9));
    CHECK(gemms > 0 && variant == 2);
    files_remove_folder(folder);
}

int main(void)
{
    unsetenv("HEADRACE_ACCELERATORS");
    unsetenv("HEADRACE_MEMORY_LIMIT");
    TEST(check_rate());
    TEST(check_not_offered());
    TEST(check_limits());
    TEST(check_link());
    TEST(check_clock());
    TEST(check_measure());
    TEST(check_variants());
    TEST(check_limits_of_products());
    TEST(check_links_of_products());
    TEST(check_refused_limits());
    TEST(check_kept()); /* last: it has a cache of its own */
    return test_end();
}
