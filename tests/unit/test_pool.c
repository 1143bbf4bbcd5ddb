/* SPDX-License-Identifier: MIT */
/* The thread pool: every index once, from any thread, any number of times. */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/cpus.h"
#include "base/pool.h"
#include "support/cpus.h"

enum { MAX_INDICES = 1000 };

static atomic_int seen[MAX_INDICES];

static void count_index(void *data, int64_t index)
{
    atomic_fetch_add((atomic_int *)data + index, 1);
}

static bool each_seen(int64_t count, int times)
{
    for (int64_t i = 0; i < MAX_INDICES; i++) {
        if (atomic_load(&seen[i]) != (i < count ? times : 0)) {
            return false;
        }
    }
    return true;
}

static void check_loops(uint32_t threads)
{
    static const int64_t counts[] = {-1, 0, 1, 2, 3, 7, MAX_INDICES};
    hri_pool *pool = NULL;
    CHECK(hri_pool_create(threads, &pool) == HR_OK);
    CHECK(hri_pool_threads(pool) == (threads > 0 ? threads : 1));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int j = 0; j < MAX_INDICES; j++) {
            atomic_store(&seen[j], 0);
        }
        hri_pool_run(pool, counts[i], count_index, seen);
        CHECK(each_seen(counts[i], 1));
    }
    hri_pool_destroy(pool);
}

static void add_one(void *data, int64_t index)
{
    ((int64_t *)data)[index]++;
}

static void check_order(void)
{
    enum { LOOPS = 2000, COUNT = 5 };
    int64_t counts[COUNT] = {0}; /* no lock: a loop sees what was before it */
    hri_pool *pool = NULL;
    CHECK(hri_pool_create(3, &pool) == HR_OK);
    for (int i = 0; i < LOOPS; i++) {
        hri_pool_run(pool, COUNT, add_one, counts);
        for (int j = 0; j < COUNT; j++) {
            counts[j]++;
        }
    }
    for (int j = 0; j < COUNT; j++) {
        CHECK(counts[j] == LOOPS + LOOPS);
    }
    hri_pool_destroy(pool);
}

enum { STARTERS = 3, STARTS = 200, SHARED = 10 };

static void *start_loops(void *pool)
{
    for (int i = 0; i < STARTS; i++) {
        hri_pool_run(pool, SHARED, count_index, seen);
    }
    return NULL;
}

static void check_starters(void)
{
    pthread_t threads[STARTERS];
    hri_pool *pool = NULL;
    for (int j = 0; j < MAX_INDICES; j++) {
        atomic_store(&seen[j], 0);
    }
    CHECK(hri_pool_create(2, &pool) == HR_OK);
    for (int i = 0; i < STARTERS; i++) {
        CHECK(pthread_create(&threads[i], NULL, start_loops, pool) == 0);
    }
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(each_seen(SHARED, STARTERS * STARTS));
    hri_pool_destroy(pool);
}

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all;
    int64_t wanted, present;
} meeting;

/* Returns only when as many threads are here as the meeting wants. */
static void meet_others(void *data, int64_t index)
{
    meeting *m = data;
    (void)index;
    pthread_mutex_lock(&m->lock);
    m->present++;
    pthread_cond_broadcast(&m->all);
    while (m->present < m->wanted) {
        pthread_cond_wait(&m->all, &m->lock);
    }
    pthread_mutex_unlock(&m->lock);
}

static void let_meet(hri_pool *pool, int64_t threads)
{
    meeting m = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, threads,
                 0};
    hri_pool_run(pool, threads, meet_others, &m);
    CHECK(m.present == threads);
}

static void check_threads_at_once(void)
{
    hri_pool *pool = NULL;
    CHECK(hri_pool_create(4, &pool) == HR_OK);
    let_meet(pool, 4);
    hri_pool_destroy(pool);
}

/* ---- loops in loops, and waiting */

typedef struct nest {
    hri_pool *pool;
    atomic_int *inner; /* [MAX_INDICES] */
} nest;

static void start_inner(void *data, int64_t index)
{
    const nest *n = data;
    (void)index;
    hri_pool_run(n->pool, SHARED, count_index, n->inner);
}

static void check_nested(void)
{
    nest n = {.inner = seen};
    for (int j = 0; j < MAX_INDICES; j++) {
        atomic_store(&seen[j], 0);
    }
    CHECK(hri_pool_create(3, &n.pool) == HR_OK);
    for (int i = 0; i < STARTS; i++) {
        hri_pool_run(n.pool, STARTERS, start_inner, &n);
        hri_pool_run(n.pool, 1, start_inner, &n);
    }
    CHECK(each_seen(SHARED, (STARTERS + 1) * STARTS));
    hri_pool_destroy(n.pool);
}

typedef struct hog {
    hri_pool *pool;
    atomic_bool stop;
    atomic_long loops;
} hog;

static void do_nothing(void *data, int64_t index)
{
    (void)data, (void)index;
}

/* One loop after another, without a pause. */
static void *hog_pool(void *data)
{
    hog *h = data;
    while (!atomic_load(&h->stop)) {
        hri_pool_run(h->pool, SHARED, do_nothing, NULL);
        atomic_fetch_add(&h->loops, 1);
    }
    return NULL;
}

static void check_turns(void)
{
    enum { HOGS = 2, TURNS = 100 };
    pthread_t threads[HOGS];
    hog h = {NULL, false, 0};
    for (int j = 0; j < MAX_INDICES; j++) {
        atomic_store(&seen[j], 0);
    }
    CHECK(hri_pool_create(2, &h.pool) == HR_OK);
    for (int i = 0; i < HOGS; i++) {
        CHECK(pthread_create(&threads[i], NULL, hog_pool, &h) == 0);
    }
    while (atomic_load(&h.loops) == 0) {
        sched_yield();
    }
    for (int i = 0; i < TURNS; i++) {
        hri_pool_run(h.pool, SHARED, count_index, seen);
    }
    CHECK(each_seen(SHARED, TURNS));
    atomic_store(&h.stop, true);
    for (int i = 0; i < HOGS; i++) {
        pthread_join(threads[i], NULL);
    }
    hri_pool_destroy(h.pool);
}

static void check_process(void)
{
    hri_pool *pools[3] = {NULL};
    for (int i = 0; i < 3; i++) {
        CHECK(hri_pool_hold(hri_thread_count(), &pools[i]) == HR_OK);
    }
    CHECK(hri_pool_threads(pools[0]) == hri_thread_count());
    hri_pool_drop(pools[1]);
    hri_pool_drop(pools[2]);
    for (int j = 0; j < MAX_INDICES; j++) {
        atomic_store(&seen[j], 0);
    }
    hri_pool_run(pools[0], SHARED, count_index, seen);
    CHECK(each_seen(SHARED, 1));
    hri_pool_drop(pools[0]);
    hri_pool_drop(NULL);
}

/* As many threads of the process can work in a loop as the pool says, and no
 * others do, whatever other pools may use. */
enum { MAX_POOL = 4 };

static struct {
    pthread_mutex_t lock;
    pthread_t of[2 * MAX_POOL];
    uint32_t count;
} found = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_thread(void *data, int64_t index)
{
    (void)data, (void)index;
    bool known = false;
    pthread_mutex_lock(&found.lock);
    for (uint32_t i = 0; i < found.count; i++) {
        known = known || pthread_equal(found.of[i], pthread_self()) != 0;
    }
    if (!known && found.count < 2 * MAX_POOL) {
        found.of[found.count++] = pthread_self();
    }
    pthread_mutex_unlock(&found.lock);
}

static void check_limit(hri_pool *pool, uint32_t threads)
{
    found.count = 0;
    for (int i = 0; i < 20; i++) {
        hri_pool_run(pool, 50, note_thread, NULL);
        let_meet(pool, threads);
    }
    CHECK(found.count <= threads);
}

static void check_limits(void)
{
    static const uint32_t threads[] = {2, 1, MAX_POOL, 3, 0};
    enum { POOLS = sizeof threads / sizeof threads[0] };
    hri_pool *pools[POOLS];
    for (int i = 0; i < POOLS; i++) {
        CHECK(hri_pool_hold(threads[i], &pools[i]) == HR_OK);
    }
    for (int i = 0; i < POOLS; i++) {
        const uint32_t want = threads[i] > 0 ? threads[i] : 1;
        CHECK(hri_pool_threads(pools[i]) == want);
        check_limit(pools[i], want);
    }
    TEST_CASE("those that are left keep their threads");
    hri_pool_drop(pools[2]);
    check_limit(pools[3], threads[3]);
    check_limit(pools[0], threads[0]);
    hri_pool_drop(pools[0]);
    hri_pool_drop(pools[1]);
    hri_pool_drop(pools[3]);
    hri_pool_drop(pools[4]);
}

static atomic_int asleep; /* threads */
/* Those that have been woken do not go on yet. They have the lock. */
static atomic_bool late;

int __real_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __wrap_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);

int __wrap_pthread_cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
    asleep++;
    const int error = __real_pthread_cond_wait(changed, lock);
    asleep--;
    while (late) {
        pthread_mutex_unlock(lock);
        sched_yield();
        pthread_mutex_lock(lock);
    }
    return error;
}

static void check_late_helpers(void)
{
    enum { LOOPS = 2000, THREADS = 3 };
    int64_t counts[2] = {0};
    hri_pool *pool = NULL;
    CHECK(hri_pool_create(THREADS, &pool) == HR_OK);
    while (asleep < THREADS - 1) {
        sched_yield();
    }
    late = true;
    for (int i = 0; i < LOOPS; i++) {
        hri_pool_run(pool, 2, add_one, counts);
    }
    CHECK(counts[0] == LOOPS && counts[1] == LOOPS);
    late = false;
    hri_pool_destroy(pool);
}

static hri_pool *tried;
static atomic_int inner; /* loops that ran inside another one */

static void try_inside(void *data, int64_t index)
{
    (void)index;
    atomic_fetch_add(&inner, hri_pool_try(tried, 4, count_index, data));
}

static void *try_beside(void *data)
{
    return hri_pool_try(tried, 4, count_index, seen) ? data : NULL;
}

/* While a loop is under way, on this thread and on another. */
static void try_while_busy(void *data, int64_t index)
{
    pthread_t other;
    void *ran = NULL;
    if (index == 0) {
        CHECK(pthread_create(&other, NULL, try_beside, data) == 0);
        CHECK(pthread_join(other, &ran) == 0);
        CHECK(ran == NULL);
    }
    try_inside(data, index);
}

static pthread_t caller;
static pthread_barrier_t both;
static atomic_uint helper_cpus;

/* Two indices, each on a thread of its own. */
static void count_cpus(void *data, int64_t index)
{
    (void)data, (void)index;
    pthread_barrier_wait(&both);
    if (!pthread_equal(pthread_self(), caller)) {
        const hri_cpus cpus = hri_cpus_of(pthread_self());
        helper_cpus = hri_cpus_count(&cpus);
    }
}

static void check_cpus(void)
{
    caller = pthread_self();
    pthread_barrier_init(&both, NULL, 2);
    TEST_CASE("a helper leaves the caller's CPU to the caller");
    for (int i = 0; i < 3; i++) {
        CHECK(hri_pool_try(tried, 2, count_cpus, NULL));
        CHECK(helper_cpus == CPUS - 1 && !cpus_are_told(caller));
    }
    TEST_CASE("and has all CPUs in other loops");
    hri_pool_run(tried, 2, count_cpus, NULL);
    CHECK(helper_cpus == CPUS);
    pthread_barrier_destroy(&both);
}

static void check_try(void)
{
    CHECK(hri_pool_create(2, &tried) == HR_OK);
    for (int j = 0; j < MAX_INDICES; j++) {
        atomic_store(&seen[j], 0);
    }
    TEST_CASE("nothing is called while a loop is under way");
    hri_pool_run(tried, 2, try_while_busy, seen);
    CHECK(inner == 0 && each_seen(0, 0));
    TEST_CASE("nor where one thread would do all");
    CHECK(!hri_pool_try(tried, 1, count_index, seen) &&
          !hri_pool_try(NULL, 2, count_index, seen));
    CHECK(each_seen(0, 0));
    TEST_CASE("every index once, when no loop is under way");
    CHECK(hri_pool_try(tried, 7, count_index, seen) && each_seen(7, 1));
    check_cpus();
    hri_pool_destroy(tried);
}

int main(void)
{
    TEST_CASE("every index once, on as many threads as asked for");
    for (uint32_t threads = 0; threads <= 5; threads++) {
        TEST(check_loops(threads));
    }
    TEST_CASE("a loop begins after the one before it has ended");
    TEST(check_order());
    TEST_CASE("a short loop does not wait for threads that come too late");
    TEST(check_late_helpers());
    TEST_CASE("loops of several threads run one after another");
    TEST(check_starters());
    TEST_CASE("all threads work at one time");
    TEST(check_threads_at_once());
    TEST_CASE("a loop inside a loop");
    TEST(check_nested());
    TEST_CASE("a turn beside threads that start loops all the time");
    TEST(check_turns());
    TEST_CASE("a process has one pool");
    TEST(check_process());
    TEST_CASE("each pool has its number of the process's threads");
    TEST(check_limits());
    TEST(check_try());
    TEST_CASE("destroy takes NULL");
    hri_pool_destroy(NULL);
    return test_end();
}
