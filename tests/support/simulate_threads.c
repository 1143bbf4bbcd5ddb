/* SPDX-License-Identifier: MIT */
/* Threads that take turns, in the place of those of POSIX and of base/clock.h.
 * A mutex holds its owner. A condition holds nothing: its waiters know it.
 * Whoever has the turn may use all that is here. ThreadSanitizer does not see
 * turns (tests/CMakeLists.txt), so it finds what no mutex of the library
 * orders.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef SIM_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#include "base/clock.h"
#include "base/threads.h"
#include "support/random.h"
#include "support/simulate.h"

typedef struct sim_thread {
    struct sim_thread *next; /* of all that are left, in the order of their
                                start */
    pthread_t id;
    uint32_t go; /* 1: it has the turn and may not know it yet */
    uint32_t number;
    bool ended, detached, late;
    const void *waits; /* for a mutex, a condition, or a thread; NULL: it can
                          run, or waits for a time alone */
    bool blocked;
    uint64_t until_ns; /* when it stops waiting; UINT64_MAX: never */
    void *(*function)(void *);
    void *argument;
} sim_thread;

typedef struct owned {
    sim_thread *owner; /* NULL: it is free */
    bool hidden;       /* from ThreadSanitizer */
} owned;

_Static_assert(sizeof(owned) <= sizeof(pthread_mutex_t), "it fits");

enum {
    STEP_NS = 40,     /* that a thread works between two of its turns */
    LINGER_NS = 1000, /* that it waits awake */
    STAYS = 6,        /* of 8 times a thread goes on itself */
    SPURIOUS = 64,    /* of so many waits one ends by itself */
    WEARY = 20000000  /* so many steps: nothing comes to an end */
};

static struct {
    sim_thread *first, **last, *current;
    uint32_t started;
    uint64_t now_ns, cpu_ns, steps, trace, seed;
    int working; /* threads, as if, while all wait */
    random_source random;
} all = {.last = &all.first};

static _Thread_local sim_thread *me;

int __real_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __real_pthread_detach(pthread_t);

int __wrap_pthread_create(pthread_t *, const pthread_attr_t *,
                          void *(*)(void *), void *);
int __wrap_pthread_join(pthread_t, void **);
int __wrap_pthread_detach(pthread_t);
int __wrap_pthread_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
int __wrap_pthread_mutex_destroy(pthread_mutex_t *);
int __wrap_pthread_mutex_lock(pthread_mutex_t *);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *);
int __wrap_pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *);
int __wrap_pthread_cond_destroy(pthread_cond_t *);
int __wrap_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __wrap_pthread_cond_signal(pthread_cond_t *);
int __wrap_pthread_cond_broadcast(pthread_cond_t *);
uint64_t __wrap_hri_clock_ns(void);
uint64_t __wrap_hri_clock_cpu_ns(void);
void __wrap_hri_sleep_ns(uint64_t);
bool __wrap_hri_wait_until(pthread_cond_t *, pthread_mutex_t *, uint64_t);
bool __wrap_hri_linger(uint64_t *, double);

/* ---- what is chosen */

void sim_note(uint64_t what)
{
    all.trace = (all.trace ^ what) * UINT64_C(0x100000001b3); /* FNV */
}

int64_t sim_between(int64_t low, int64_t high)
{
    return random_between(&all.random, low, high);
}

uint64_t sim_trace(void)
{
    return all.trace;
}

uint64_t sim_steps(void)
{
    return all.steps;
}

uint64_t sim_now_ns(void)
{
    return all.now_ns;
}

static void __attribute__((noreturn)) give_up(const char *why)
{
    fprintf(stderr, "simulation: seed %llu, step %llu, %.6f s: %s\n",
            (unsigned long long)all.seed, (unsigned long long)all.steps,
            (double)all.now_ns * 1e-9, why);
    for (const sim_thread *t = all.first; t != NULL; t = t->next) {
        if (!t->ended) {
            fprintf(stderr, "  thread %u%s: %s %p, until %.6f s\n", t->number,
                    t == me ? " (this one)" : "",
                    t->blocked ? "waits for" : "can run", t->waits,
                    t->until_ns == UINT64_MAX ? -1.0
                                              : (double)t->until_ns * 1e-9);
        }
    }
    abort();
}

/* ---- turns */

static void hand_to(sim_thread *next)
{
    sim_note(next->number);
    all.current = next;
    __atomic_store_n(&next->go, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &next->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await_go(void)
{
    while (__atomic_load_n(&me->go, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &me->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    me->go = 0;
}

static sim_thread *add_thread(void)
{
    sim_thread *t = calloc(1, sizeof *t);
    if (t == NULL) {
        give_up("no memory");
    }
    t->number = all.started++;
    t->until_ns = UINT64_MAX;
    *all.last = t;
    all.last = &t->next;
    return t;
}

/* The thread that calls, which may be the first of all. */
static sim_thread *own_thread(void)
{
    if (me == NULL && all.current != NULL) {
        give_up("a thread that was not started here");
    }
    if (me == NULL) {
        me = add_thread();
        me->id = pthread_self();
        all.current = me;
        all.now_ns = 1000000000; /* the library takes 0 for no time */
    }
    return me;
}

static void unblock_thread(sim_thread *t, bool late)
{
    t->blocked = false;
    t->late = late;
    t->waits = NULL;
    t->until_ns = UINT64_MAX;
}

static uint64_t first_time(void)
{
    uint64_t first_ns = UINT64_MAX;
    for (const sim_thread *t = all.first; t != NULL; t = t->next) {
        if (!t->ended && t->blocked && t->until_ns < first_ns) {
            first_ns = t->until_ns;
        }
    }
    return first_ns;
}

/* Wake those whose time has come, and count the threads that can run. */
static int64_t count_ready(void)
{
    int64_t ready = 0;
    for (sim_thread *t = all.first; t != NULL; t = t->next) {
        if (!t->ended && t->blocked && t->until_ns <= all.now_ns) {
            unblock_thread(t, true);
        }
        ready += !t->ended && !t->blocked;
    }
    return ready;
}

static sim_thread *choose_thread(void)
{
    int64_t ready = count_ready();
    if (ready == 0) {
        const uint64_t next_ns = first_time();
        if (next_ns == UINT64_MAX) {
            give_up("all threads wait for ever");
        }
        all.cpu_ns += (next_ns - all.now_ns) * (uint64_t)all.working;
        all.now_ns = next_ns;
        ready = count_ready();
    }
    int64_t pick = ready > 1 ? sim_between(0, ready - 1) : 0;
    sim_thread *t = all.first;
    while (t->ended || t->blocked || pick-- > 0) {
        t = t->next;
    }
    return t;
}

/* Let one go on that can, and return when it is this one's turn again. */
static void go_on(void)
{
    sim_thread *next = choose_thread();
    if (++all.steps > WEARY) {
        give_up("it does not come to an end");
    }
    if (next == me) {
        return;
    }
    hand_to(next);
    await_go();
}

/* A place where another thread may go on instead. */
static void enter_step(void)
{
    (void)own_thread();
    all.now_ns += STEP_NS;
    all.cpu_ns += STEP_NS;
    if (all.first->next != NULL && sim_between(1, 8) > STAYS) {
        go_on();
    }
}

/* Until somebody unblocks it, or that time. True: the time came first. */
static bool block_thread(const void *waits, uint64_t until_ns)
{
    me->blocked = true;
    me->waits = waits;
    me->until_ns = until_ns;
    go_on();
    return me->late;
}

static void wake_all(const void *waits)
{
    for (sim_thread *t = all.first; t != NULL; t = t->next) {
        if (t->blocked && t->waits == waits) {
            unblock_thread(t, false);
        }
    }
}

/* ---- threads */

/* One thread runs at a time: on one CPU the next is woken in half the time. */
static void use_one_cpu(void)
{
    cpu_set_t cpus;
    const int cpu = sched_getcpu();
    CPU_ZERO(&cpus);
    CPU_SET(cpu >= 0 ? (size_t)cpu : 0, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

void sim_seed(uint64_t seed)
{
    if (me == NULL) {
        use_one_cpu();
        (void)setenv("HEADRACE_CBLAS", "builtin", 1); /* whose threads are
                                                           not here */
    }
    (void)own_thread();
    if (all.first->next != NULL) {
        give_up("threads of the last seed are left");
    }
    all.random = (random_source){seed};
    all.seed = seed;
    all.started = 1;
    all.steps = 0;
    all.trace = UINT64_C(0xcbf29ce484222325);
    all.now_ns = 1000000000;
    all.cpu_ns = 0;
    all.working = 0;
}

/* Nobody joins it any more. */
static void forget_thread(sim_thread *t)
{
    sim_thread **link = &all.first;
    while (*link != t) {
        link = &(*link)->next;
    }
    *link = t->next;
    all.last = t->next == NULL ? link : all.last;
    free(t);
}

static void *run_thread(void *argument)
{
    me = argument;
    await_go();
    void *result = me->function(me->argument);
    me->ended = true;
    wake_all(me);
    sim_thread *next = choose_thread();
    if (me->detached) {
        forget_thread(me);
    }
    hand_to(next);
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument)
{
    enter_step();
    sim_thread *t = add_thread();
    t->function = function;
    t->argument = argument;
    const int error = __real_pthread_create(&t->id, attributes, run_thread, t);
    if (error != 0) {
        give_up("the system refuses a thread");
    }
    *thread = t->id;
    return 0;
}

static sim_thread *find_thread(pthread_t id)
{
    sim_thread *t = all.first;
    while (t != NULL && (t->detached || !pthread_equal(t->id, id))) {
        t = t->next;
    }
    if (t == NULL) {
        give_up("there is no such thread");
    }
    return t;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
    enter_step();
    sim_thread *t = find_thread(id);
    while (!t->ended) {
        (void)block_thread(t, UINT64_MAX);
    }
    forget_thread(t); /* the system may give its id to another */
    return __real_pthread_join(id, result);
}

int __wrap_pthread_detach(pthread_t id)
{
    enter_step();
    sim_thread *t = find_thread(id);
    t->detached = true;
    if (t->ended) {
        forget_thread(t);
    }
    return __real_pthread_detach(id);
}

/* ---- mutexes and conditions */

static owned *owned_of(pthread_mutex_t *mutex)
{
    return (owned *)(void *)mutex;
}

void sim_hide(pthread_mutex_t *mutex)
{
    owned_of(mutex)->hidden = true;
}

void sim_release(void *what)
{
    (void)what;
#ifdef SIM_TSAN
    __tsan_release(what);
#endif
}

void sim_acquire(void *what)
{
    (void)what;
#ifdef SIM_TSAN
    __tsan_acquire(what);
#endif
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex,
                              const pthread_mutexattr_t *attributes)
{
    (void)attributes;
    memset(mutex, 0, sizeof *mutex);
    return 0;
}

int __wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    if (owned_of(mutex)->owner != NULL) {
        give_up("a mutex is destroyed that is held");
    }
    return 0;
}

static void take_mutex(pthread_mutex_t *mutex)
{
    if (owned_of(mutex)->owner == me) {
        give_up("a thread locks a mutex twice");
    }
    while (owned_of(mutex)->owner != NULL) {
        (void)block_thread(mutex, UINT64_MAX);
    }
    owned_of(mutex)->owner = me;
    if (!owned_of(mutex)->hidden) {
        sim_acquire(mutex);
    }
}

static void give_mutex(pthread_mutex_t *mutex)
{
    if (owned_of(mutex)->owner != me) {
        give_up("a thread unlocks a mutex that it does not hold");
    }
    if (!owned_of(mutex)->hidden) {
        sim_release(mutex);
    }
    owned_of(mutex)->owner = NULL;
    wake_all(mutex);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    enter_step();
    take_mutex(mutex);
    return 0;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    enter_step();
    const bool taken = owned_of(mutex)->owner == NULL;
    if (taken) {
        take_mutex(mutex);
    }
    return taken ? 0 : EBUSY;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    enter_step();
    give_mutex(mutex);
    return 0;
}

int __wrap_pthread_cond_init(pthread_cond_t *condition,
                             const pthread_condattr_t *attributes)
{
    (void)attributes;
    memset(condition, 0, sizeof *condition);
    return 0;
}

int __wrap_pthread_cond_destroy(pthread_cond_t *condition)
{
    for (const sim_thread *t = all.first; t != NULL; t = t->next) {
        if (t->blocked && t->waits == condition) {
            give_up("a condition is destroyed that a thread waits for");
        }
    }
    return 0;
}

static bool wait_for_condition(pthread_cond_t *condition,
                               pthread_mutex_t *mutex, uint64_t until_ns)
{
    enter_step();
    if (all.now_ns >= until_ns) {
        return false;
    }
    give_mutex(mutex);
    const bool late = sim_between(1, SPURIOUS) < SPURIOUS &&
                      block_thread(condition, until_ns);
    take_mutex(mutex);
    return !late;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    (void)wait_for_condition(condition, mutex, UINT64_MAX);
    return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
    enter_step();
    wake_all(condition);
    return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
    int64_t waiters = 0;
    enter_step();
    for (const sim_thread *t = all.first; t != NULL; t = t->next) {
        waiters += t->blocked && t->waits == condition;
    }
    int64_t pick = waiters > 1 ? sim_between(0, waiters - 1) : 0;
    for (sim_thread *t = all.first; t != NULL && waiters > 0; t = t->next) {
        if (t->blocked && t->waits == condition && pick-- == 0) {
            unblock_thread(t, false);
            break;
        }
    }
    return 0;
}

/* ---- the clock */

void sim_works(int threads)
{
    enter_step();
    all.working = threads;
}

void sim_pass(uint64_t ns)
{
    enter_step();
    all.now_ns += ns;
}

uint64_t __wrap_hri_clock_ns(void)
{
    enter_step();
    return all.now_ns;
}

uint64_t __wrap_hri_clock_cpu_ns(void)
{
    enter_step();
    return all.cpu_ns;
}

void __wrap_hri_sleep_ns(uint64_t ns)
{
    enter_step();
    const uint64_t until_ns = all.now_ns + ns;
    while (all.now_ns < until_ns) {
        (void)block_thread(NULL, until_ns);
    }
}

bool __wrap_hri_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           uint64_t until_ns)
{
    return wait_for_condition(condition, mutex, until_ns);
}

bool __wrap_hri_linger(uint64_t *since_ns, double seconds)
{
    enter_step();
    all.now_ns += LINGER_NS;
    const uint64_t now_ns = all.now_ns;
    go_on();
    *since_ns = *since_ns == 0 ? now_ns : *since_ns;
    return (double)(now_ns - *since_ns) * 1e-9 < seconds;
}
