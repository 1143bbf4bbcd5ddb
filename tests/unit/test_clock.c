/* SPDX-License-Identifier: MIT */
/* The clock of the machine. */
#include <pthread.h>

#include "base/clock.h"
#include "base/threads.h"
#include "test.h"

enum { MS = 1000000 };
static const uint64_t hour_ns = UINT64_C(3600) * 1000 * MS;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_set; /* guarded by lock */

/* Wait until it is set, or until then. Returns whether it was in time. */
static bool await_set(uint64_t until_ns)
{
    bool in_time = true;
    pthread_mutex_lock(&lock);
    while (!is_set && in_time) {
        in_time = hri_wait_until(&changed, &lock, until_ns);
    }
    pthread_mutex_unlock(&lock);
    return in_time;
}

static void *set_it(void *unused)
{
    pthread_mutex_lock(&lock);
    is_set = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* Another thread sets it meanwhile. */
static void set_in_time(void)
{
    pthread_t thread;
    is_set = false;
    CHECK(pthread_create(&thread, NULL, set_it, NULL) == 0);
    CHECK(await_set(hri_clock_ns() + 1000 * hour_ns));
    pthread_join(thread, NULL);
    is_set = false;
}

static void wait_for_clock(void)
{
    TEST_CASE("sleeping takes as long as is asked for, or longer");
    uint64_t start_ns = hri_clock_ns();
    hri_sleep_ns(MS);
    CHECK(hri_clock_ns() >= start_ns + MS && hri_seconds_since(start_ns) > 0);
    TEST_CASE("so does waiting for what never comes");
    const uint64_t until_ns = hri_in_ms(2);
    CHECK(until_ns > start_ns + 2 * MS);
    CHECK(!await_set(until_ns) && hri_clock_ns() >= until_ns);
    CHECK(!await_set(0));
    TEST_CASE("waiting ends before, when it comes");
    set_in_time();
    TEST_CASE("lingering ends");
    uint64_t since_ns = 0;
    start_ns = hri_clock_ns();
    while (hri_linger(&since_ns, 1e-3)) {
    }
    CHECK(since_ns >= start_ns && hri_clock_ns() >= start_ns + MS);
    TEST_CASE("CPU time is used by working");
    const uint64_t used_ns = hri_clock_cpu_ns();
    while (hri_clock_cpu_ns() < used_ns + MS) {
    }
}

int main(void)
{
    TEST(wait_for_clock());
    return test_end();
}
