/* SPDX-License-Identifier: MIT */
/* Measuring what links carry: results that can be, nothing left behind, and the
 * same when every n-th call fails. */
#include "test.h"

#include "model/figures.h"
#include "model/probe.h"
#include "runtime/staging.h"
#include "support/fault_backend.h"

/* Whether a copy is said to take 1 ms and 1 ns for each byte, and how small a
 * copy cannot be timed. */
static bool pretends;
static int64_t too_small;

hr_status __real_hri_probe(const hri_trial *, void *, hri_probed *);
hr_status __wrap_hri_probe(const hri_trial *, void *, hri_probed *);

hr_status __wrap_hri_probe(const hri_trial *trial, void *data,
                           hri_probed *found)
{
    if (!pretends) {
        return __real_hri_probe(trial, data, found);
    }
    *found = (hri_probed){.size = trial->first,
                          .seconds = 1e-3 + 1e-9 * (double)trial->first,
                          .settled = trial->first > too_small};
    return HR_OK;
}

static hr_context *open_staged(const char *list, uint64_t limit)
{
    fault_backend_reset();
    fault_backend_pretend_staged(1);
    return fault_backend_context(list, limit);
}

static void close_staged(hr_context *context)
{
    for (uint32_t i = 0; i < context->accelerator_count; i++) {
        const hri_accelerator *a = &context->accelerators[i];
        CHECK(a->memory_used == 0);
        CHECK(a->pinned_used == (uint64_t)(a->staging[HRI_UP].chunks +
                                           a->staging[HRI_DOWN].chunks) *
                                    HRI_CHUNK_BYTES);
        CHECK(a->memory_peak <= a->memory_limit || a->in_place);
    }
    fault_backend_close(context);
}

static void links_are_known(void)
{
    TEST_CASE("links are measured once, for all of a device");
    hr_context *context = open_staged("2xhost", 8 << 20);
    CHECK(hri_links_know(context) == HR_OK);
    for (int kind = 0; kind < HRI_LINKS; kind++) {
        const hri_link l = hri_links_of(&context->accelerators[1], kind);
        const hri_link all = hri_links_together(context, kind);
        CHECK(l.up > 0.0 && l.down > 0.0 && l.both > 0.0);
        CHECK(memcmp(&l, &all, sizeof l) == 0);
    }
    uint64_t calls = fault_backend_calls();
    CHECK(hri_links_know(context) == HR_OK && fault_backend_calls() == calls);
    CHECK(hri_links_learn(context) == HR_OK && fault_backend_calls() > calls);
    close_staged(context);

    TEST_CASE("several at once carry something");
    context = open_staged("3xhost", 8 << 20);
    hri_link link = {0};
    hri_accelerator *all[] = {&context->accelerators[0],
                              &context->accelerators[1],
                              &context->accelerators[2]};
    for (int staged = 0; staged < 2; staged++) {
        CHECK(hri_links_measure(all, 3, staged, &link) == HR_OK);
        CHECK(link.up > 0.0 && link.down > 0.0 && link.both > 0.0);
    }
    close_staged(context);

    TEST_CASE("no room: not known");
    context = open_staged("1xhost", 100 << 10);
    CHECK(hri_links_know(context) == HR_OK);
    CHECK(hri_links_together(context, HRI_PINNED).up == 0.0);
    close_staged(context);
}

static bool is_near(double value, double expected)
{
    return value > expected * 0.999999 && value < expected * 1.000001;
}

static void check_rates(void)
{
    hr_context *context = open_staged("1xhost", 16 << 20);
    hri_accelerator *one = &context->accelerators[0];
    hri_link link = {0};
    pretends = true;
    TEST_CASE("the time to start a copy is no part of a rate");
    CHECK(hri_links_measure(&one, 1, false, &link) == HR_OK);
    CHECK(is_near(link.up, 1e9) && is_near(link.down, 1e9) &&
          is_near(link.both, 2e9));
    TEST_CASE("without a time of a part the whole counts");
    const double bytes = 8 << 20;
    const double whole = bytes / (1e-3 + 1e-9 * bytes);
    too_small = 2 << 20;
    CHECK(hri_links_measure(&one, 1, false, &link) == HR_OK);
    CHECK(is_near(link.up, whole) && is_near(link.down, whole) &&
          is_near(link.both, 2 * whole));
    pretends = false;
    close_staged(context);
}

/* Know the links while call n fails, or the device is lost at it. Whether it
 * was told. */
static bool fails_at(uint64_t n, bool lose)
{
    hr_context *context = open_staged("2xhost", 2 << 20);
    const uint64_t at = fault_backend_calls() + n + 1;
    if (lose) {
        fault_backend_lose(at);
    } else {
        fault_backend_fail_call(at, HR_ERROR_BACKEND);
    }
    const hr_status status = hri_links_know(context);
    if (status != HR_OK) {
        CHECK(status == (lose ? HR_ERROR_LOST : HR_ERROR_BACKEND));
        CHECK(!context->model->links_known);
    }
    close_staged(context);
    return status != HR_OK;
}

static void check_faults(void)
{
    /* each copy is tried several times, so a third of the calls is enough */
    TEST_CASE("calls of the backend fail in turn");
    for (int lose = 0; lose < 2; lose++) {
        uint64_t n = (uint64_t)lose;
        while (fails_at(n, lose != 0)) {
            n += 3;
        }
        CHECK(n > 50);
    }
}

int main(void)
{
    TEST(links_are_known());
    TEST(check_rates());
    TEST(check_faults());
    return test_end();
}
