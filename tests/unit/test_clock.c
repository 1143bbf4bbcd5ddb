/* SPDX-License-Identifier: MIT */
/* The clock of the machine, and the one that tests have. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/threads.h"
#include "support/clock.h"
#include "test.h"

enum { MS = 1000000, SLEEPERS = 3 };
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

static void *set(void *unused)
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
    CHECK(pthread_create(&thread, NULL, set, NULL) == 0);
    CHECK(await_set(hri_clock_ns() + 1000 * hour_ns));
    pthread_join(thread, NULL);
    is_set = false;
}

static void machine(void)
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

/* ---- the test's own */

typedef struct sleeper {
    uint64_t ns, woke_ns;
    atomic_bool awake;
} sleeper;

static void *sleep_long(void *argument)
{
    sleeper *s = argument;
    hri_sleep_ns(s->ns);
    s->woke_ns = hri_clock_ns();
    s->awake = true;
    return NULL;
}

static void own(void)
{
    pthread_t threads[SLEEPERS];
    sleeper sleepers[SLEEPERS] = {
        {.ns = 3 * hour_ns}, {.ns = hour_ns}, {.ns = 2 * hour_ns}};
    TEST_CASE("the clock stands still while a thread works");
    const uint64_t start_ns = hri_clock_ns();
    for (int i = 0; i < SLEEPERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, sleep_long, &sleepers[i]) == 0);
    }
    for (int i = 0; i < 20; i++) {
        sched_yield();
        CHECK(hri_clock_ns() == start_ns);
    }
    CHECK(!sleepers[0].awake && !sleepers[1].awake && !sleepers[2].awake);
    TEST_CASE("it goes on when all sleep, to each time that one waits for");
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(sleepers[i].woke_ns == start_ns + sleepers[i].ns);
    }
    CHECK(hri_clock_ns() == start_ns + 3 * hour_ns);
    TEST_CASE("it goes on when the test says so, whoever works");
    sleeper s = {.ns = hour_ns};
    CHECK(pthread_create(&threads[0], NULL, sleep_long, &s) == 0);
    while (!s.awake) {
        test_clock_pass(hour_ns / 60);
        sched_yield();
    }
    pthread_join(threads[0], NULL);
    TEST_CASE("what comes in time takes none");
    const uint64_t now_ns = hri_clock_ns();
    set_in_time();
    CHECK(hri_clock_ns() == now_ns);
    CHECK(!await_set(now_ns + hour_ns) && hri_clock_ns() == now_ns + hour_ns);
    TEST_CASE("nobody waits awake");
    uint64_t since_ns = 0;
    CHECK(!hri_linger(&since_ns, 1.0) && hri_clock_cpu_ns() == 0);
}

int main(void)
{
    TEST(machine());
    test_clock_start();
    TEST(own());
    return test_end();
}
