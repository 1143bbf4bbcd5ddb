/* SPDX-License-Identifier: MIT */
/* Contexts, rates and memory on each device. */
#include <math.h>

#include "model/figures.h"
#include "support/conformance.h"
#include "support/pairs.h"

/* Enough for small products; small enough for any machine. */
enum { LIMIT = 8 << 20 };

/* The same beside what multiplying takes. */
static uint64_t limit_of(const hri_device *device)
{
    return LIMIT + device->info.gemm_bytes;
}

/* Measured through the device under test, behind the wrapper too. */
static void rates_are_measured(hri_accelerator *accelerator)
{
    hri_device *device = accelerator->device;
    for (int i = 0; i < PAIRS; i++) {
        double rate = 0.0;
        const hr_type type = pairs[i].ab, c_type = pairs[i].c;
        bool offered =
            device->ops->gemm_offered(device, type, c_type, HR_COMPUTE_NATIVE);
        hr_status status = hri_accelerator_rate(
            accelerator, (hri_product_kind){type, c_type, HR_COMPUTE_NATIVE},
            &rate);
        CHECK(status == (offered ? HR_OK : HR_ERROR_UNSUPPORTED));
        CHECK(!offered || (rate > 0.0 && isfinite(rate)));
    }
    CHECK(hri_accelerator_link(accelerator) == HR_OK);
    const hri_link link = hri_link_alone(accelerator);
    CHECK(accelerator->in_place || (link.up > 0.0 && isfinite(link.up) &&
                                    link.down > 0.0 && isfinite(link.down)));
    CHECK(accelerator->memory_used == 0 && accelerator->pinned_used == 0);
    CHECK(accelerator->memory_peak <= accelerator->memory_limit);
}

static void contexts_open(const hri_device *device)
{
    const char *path = device->info.path;
    char list[96];
    hr_context *context = NULL;
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    snprintf(list, sizeof list, "2x%s,%s", path, path);
    options.accelerators = list;
    options.memory_limit = limit_of(device);
    if (!CHECK(hr_context_create(&options, &context) == HR_OK)) {
        return;
    }
    CHECK(hr_accelerator_count(context) == 3);
    for (uint32_t i = 0; i < 3; i++) {
        hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
        CHECK(hr_accelerator_describe(context, i, &info) == HR_OK);
        CHECK(strncmp(info.path, path, strlen(path)) == 0 && info.chosen);
        CHECK(info.name[0] != '\0' && info.memory_bytes > 0);
        CHECK(info.memory_limit == (info.in_place ? 0 : limit_of(device)));
        CHECK(context->accelerators[i].physical == 0);
    }
    hr_accelerator_rates rates = HR_ACCELERATOR_RATES_INIT;
    CHECK(hr_accelerator_measure(context, 1, &rates) == HR_OK);
    CHECK(hri_accelerator_known_rate(
              &context->accelerators[0],
              (hri_product_kind){HR_F32, HR_F32, HR_COMPUTE_NATIVE}) ==
          rates.f32);
    hr_context_destroy(context);
}

static void accelerators_work(hri_device *device)
{
    hr_context models[2] = {0}; /* contexts that only have a model */
    CHECK(hri_model_create(&models[0]) == HR_OK);
    CHECK(hri_model_create(&models[1]) == HR_OK);
    hri_accelerator accelerator = {.device = device,
                                   .model = models[0].model,
                                   .memory_limit = limit_of(device)};
    snprintf(accelerator.path, sizeof accelerator.path, "%s",
             device->info.path);
    TEST_CASE("rates under a limit");
    TEST(rates_are_measured(&accelerator));
    hri_memory_finish(&accelerator);
    if (device->info.host) {
        TEST_CASE("rates in place");
        hri_accelerator in_place = {
            .device = device, .model = models[1].model, .in_place = true};
        TEST(rates_are_measured(&in_place));
        hri_memory_finish(&in_place);
    }
    hri_model_destroy(&models[0]);
    hri_model_destroy(&models[1]);
    TEST_CASE("contexts, plain and virtual");
    TEST(contexts_open(device));
}

int main(void)
{
    return conformance_main(accelerators_work);
}
