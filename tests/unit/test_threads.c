/* SPDX-License-Identifier: MIT */
/* Threads that are kept, and the processors that they run on. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "support/cpus.h"
#include "support/files.h"
#include "test.h"

enum { MANY = 16, TIMES = 200 };

static atomic_int calls[MANY];
static pthread_barrier_t meeting;

static void *count_call(void *argument)
{
    atomic_fetch_add((atomic_int *)argument, 1);
    return NULL;
}

static void *meet_others(void *argument)
{
    pthread_barrier_wait(&meeting);
    return count_call(argument);
}

static void *use_threads(void *argument)
{
    for (int i = 0; i < TIMES; i++) {
        hri_thread *t = hri_threads_start(argument, count_call, &calls[1]);
        if (t != NULL) {
            hri_thread_join(t);
        }
    }
    return NULL;
}

static void threads_are_used_again(void)
{
    TEST_CASE("a thread that is done is used again");
    hri_threads threads;
    hri_threads_init(&threads);
    for (int i = 0; i < TIMES; i++) {
        hri_thread *t = hri_threads_start(&threads, count_call, &calls[0]);
        CHECK(t != NULL);
        hri_thread_join(t);
        CHECK(atomic_load(&calls[0]) == i + 1);
    }
    CHECK(threads.made == 1);

    TEST_CASE("as many as work at one time");
    for (int i = 0; i < TIMES; i++) {
        hri_thread *started[MANY];
        pthread_barrier_init(&meeting, NULL, MANY);
        for (int j = 0; j < MANY; j++) {
            started[j] = hri_threads_start(&threads, meet_others, &calls[j]);
            CHECK(started[j] != NULL);
        }
        for (int j = 0; j < MANY; j++) {
            hri_thread_join(started[j]);
        }
        pthread_barrier_destroy(&meeting);
    }
    CHECK(atomic_load(&calls[0]) == 2 * TIMES);
    CHECK(atomic_load(&calls[MANY - 1]) == TIMES);
    CHECK(threads.made == MANY);

    TEST_CASE("so many are made, and used");
    hri_threads_make(&threads, MANY - 1);
    CHECK(threads.made == MANY);
    hri_threads_make(&threads, MANY + 2);
    CHECK(threads.made == MANY + 2 && threads.most == MANY);
    hri_thread *all[MANY + 2];
    atomic_int more = 0;
    pthread_barrier_init(&meeting, NULL, MANY + 2);
    for (int i = 0; i < MANY + 2; i++) {
        all[i] = hri_threads_start(&threads, meet_others, &more);
        CHECK(all[i] != NULL);
    }
    for (int i = 0; i < MANY + 2; i++) {
        hri_thread_join(all[i]);
    }
    pthread_barrier_destroy(&meeting);
    CHECK(atomic_load(&more) == MANY + 2);
    CHECK(threads.made == MANY + 2 && threads.most == MANY + 2);

    TEST_CASE("started and joined by many threads at once");
    pthread_t users[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&users[i], NULL, use_threads, &threads) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(users[i], NULL);
    }
    CHECK(atomic_load(&calls[1]) == TIMES + 4 * TIMES);
    CHECK(threads.made == MANY + 2);
    hri_threads_finish(&threads);

    TEST_CASE("none was ever needed");
    hri_threads_init(&threads);
    hri_threads_finish(&threads);
}

/* A call, its place among the others, and which of them fail. */
typedef struct numbered {
    hri_call call;
    int number, fails_from;
    pthread_t by;
} numbered;

static hr_status run_numbered(void *argument)
{
    numbered *n = argument;
    n->by = pthread_self();
    pthread_barrier_wait(&meeting);
    return n->number >= n->fails_from
               ? hri_fail(HR_ERROR_LOST, "call %d", n->number)
               : HR_OK;
}

static void calls_are_made_at_once(void)
{
    hri_threads threads;
    numbered all[MANY] = {0};
    hri_threads_init(&threads);
    TEST_CASE("calls are made at once, the first by the caller");
    for (int i = 0; i < MANY; i++) {
        all[i].call.threads = i > 0 ? &threads : NULL;
        all[i].number = i;
        all[i].fails_from = MANY;
    }
    pthread_barrier_init(&meeting, NULL, MANY);
    CHECK(hri_threads_call(run_numbered, all, MANY, sizeof *all) == HR_OK);
    for (int i = 0; i < MANY; i++) {
        CHECK((pthread_equal(all[i].by, pthread_self()) != 0) == (i == 0));
    }
    CHECK(threads.made == MANY - 1);
    CHECK(hri_threads_call(run_numbered, all, 0, sizeof *all) == HR_OK);

    TEST_CASE("the error is that of the first call that has one");
    for (int i = 0; i < MANY; i++) {
        all[i].fails_from = 3;
    }
    CHECK_FAILS(hri_threads_call(run_numbered, all, MANY, sizeof *all),
                HR_ERROR_LOST, "call 3");
    CHECK(all[MANY - 1].call.error.status == HR_ERROR_LOST);
    CHECK(threads.made == MANY - 1);

    TEST_CASE("its sentence is told, though the caller's own calls fail later");
    pthread_barrier_destroy(&meeting);
    pthread_barrier_init(&meeting, NULL, 1);
    for (int i = 0; i < MANY; i++) {
        all[i].call = (hri_call){0};
    }
    CHECK_FAILS(hri_threads_call(run_numbered, all, MANY, sizeof *all),
                HR_ERROR_LOST, "call 3");
    pthread_barrier_destroy(&meeting);
    hri_threads_finish(&threads);
}

static void lists_are_read(void)
{
    static const struct {
        const char *list;
        int ok;
        uint64_t first, second; /* of CPUs 0 to 127 */
    } cases[] = {
        {"0", 1, 1, 0},
        {"0-3,8\n", 1, 0x10f, 0},
        {"62-65", 1, UINT64_C(3) << 62, 3},
        {"5-4", 1, 0, 0},
        {"1000-9999", 1, 0, 0},
        {"0,99999999999999999999", 1, 1, 0},
        {"", 0, 0, 0},
        {"\n", 0, 0, 0},
        {"1,", 0, 0, 0},
        {"-1", 0, 0, 0},
        {"1-", 0, 0, 0},
        {"1 2", 0, 0, 0},
        {"all", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TEST_CASE(cases[i].list);
        hri_cpus cpus;
        CHECK(hri_cpus_read(cases[i].list, &cpus) == cases[i].ok);
        if (cases[i].ok) {
            CHECK(cpus.of[0] == cases[i].first);
            CHECK(cpus.of[1] == cases[i].second);
        }
    }
}

/* A folder with a device whose file says `list`. */
static hri_cpus cpus_near(const char *folder, const char *list)
{
    char path[256];
    snprintf(path, sizeof path, "%s/0000:01:00.0", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/0000:01:00.0/local_cpulist", folder);
    CHECK(files_write(path, list, strlen(list)));
    return hri_cpus_near(folder, "0000:01:00.0");
}

static void *tell_cpus(void *argument)
{
    sched_getaffinity(0, sizeof(cpu_set_t), argument);
    return NULL;
}

static void processors_near(void)
{
    char folder[64];
    cpu_set_t used;
    files_make_folder(folder, sizeof folder);

    TEST_CASE("nothing is told, or nothing that matters");
    hri_cpus cpus = hri_cpus_near(folder, "0000:02:00.0");
    CHECK(hri_cpus_count(&cpus) == 0);
    static const char *const useless[] = {"", "none", "0-1023", "1023"};
    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++) {
        cpus = cpus_near(folder, useless[i]);
        CHECK(hri_cpus_count(&cpus) == 0);
    }

    TEST_CASE("threads run near");
    cpus = cpus_near(folder, "3,1000");
    CHECK(hri_cpus_count(&cpus) == 1);
    hri_threads threads;
    hri_threads_init(&threads);
    threads.cpus = cpus;
    hri_thread *t = hri_threads_start(&threads, tell_cpus, &used);
    if (CHECK(t != NULL)) {
        hri_thread_join(t);
        CHECK(CPU_COUNT(&used) == 1 && CPU_ISSET(3, &used));
    }
    hri_threads_finish(&threads);
    files_remove_folder(folder);
}

/* All CPUs of a set, but for one. -1: all. */
static cpu_set_t all_but(const hri_cpus *cpus, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < HRI_MAX_CPUS && i < CPU_SETSIZE; i++) {
        if (i != cpu && (cpus->of[i / 64] >> i % 64 & 1) != 0) {
            CPU_SET((size_t)i, &set);
        }
    }
    return set;
}

/* Tells where it is, and where a thread that it makes is. */
static void *tell_cpus_of_both(void *argument)
{
    cpu_set_t *sets = argument;
    pthread_t other;
    tell_cpus(&sets[0]);
    if (hri_thread_create(&other, count_call, &calls[0]) == 0) {
        pthread_join(other, NULL);
        if (cpus_are_told(other)) { /* else it has those of its maker */
            pthread_getaffinity_np(other, sizeof sets[1], &sets[1]);
        }
    }
    return NULL;
}

/* Each step is on the same thread. The caller stays on one CPU. */
static void threads_apart(void)
{
    cpus_forget();
    const hri_cpus all = hri_cpus_of(pthread_self());
    hri_threads threads;
    hri_threads_init(&threads);
    hri_threads_make(&threads, 1);
    CHECK(hri_cpus_count(&all) == CPUS && hri_cpu_number() == CPU);
    const hri_cpus one = {{UINT64_C(1) << CPU}};
    hri_cpus_use(&one);
    const cpu_set_t whole = all_but(&all, -1);
    const cpu_set_t apart = all_but(&all, CPU);
    for (int i = 0; i < 4; i++) {
        TEST_CASE(i % 2 == 0 ? "a thread apart has another CPU"
                             : "then it may use all again");
        cpu_set_t used[2];
        CPU_ZERO(&used[1]);
        hri_thread *t =
            i % 2 == 0
                ? hri_threads_start_apart(&threads, tell_cpus_of_both, used)
                : hri_threads_start(&threads, tell_cpus_of_both, used);
        if (CHECK(t != NULL)) {
            hri_thread_join(t);
            CHECK(CPU_EQUAL(&used[0], i % 2 == 0 ? &apart : &whole));
            CHECK(CPU_EQUAL(&used[1], &whole));
        }
    }
    CHECK(threads.made == 1);
    hri_cpus_use(&all);
    hri_threads_finish(&threads);
}

int main(void)
{
    TEST(threads_are_used_again());
    TEST(calls_are_made_at_once());
    TEST(lists_are_read());
    TEST(processors_near());
    TEST(threads_apart());
    return test_end();
}
