/* SPDX-License-Identifier: MIT */
/* Children of fork() while other threads are inside the library. */
#define _GNU_SOURCE /* MAP_FIXED */
#include <pthread.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/status.h"
#include "support/child.h"

/* ---- a thread that stops at a certain call */

static atomic_bool stops_at_mmap, stops_at_atfork; /* the next such call does */
static atomic_bool stopped, goes_on, gives_up, waited;

static void begin_stop(atomic_bool *where)
{
    atomic_store(&stopped, false);
    atomic_store(&goes_on, false);
    atomic_store(where, true);
}

/* Stop here until the test lets this thread go on. */
static void stop_thread(atomic_bool *where)
{
    if (atomic_exchange(where, false)) {
        atomic_store(&stopped, true);
        while (!atomic_load(&goes_on)) {
            sched_yield();
        }
    }
}

static void await_stop(void)
{
    while (!atomic_load(&stopped)) {
        sched_yield();
    }
}

void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
int __real_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int __wrap_pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
bool __real_hri_wait_until(pthread_cond_t *, pthread_mutex_t *, uint64_t);
bool __wrap_hri_wait_until(pthread_cond_t *, pthread_mutex_t *, uint64_t);

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd,
                  off_t offset)
{
    if ((flags & MAP_FIXED) != 0) {
        stop_thread(&stops_at_mmap);
    }
    return __real_mmap(at, bytes, protection, flags, fd, offset);
}

int __wrap_pthread_atfork(void (*before)(void), void (*in_parent)(void),
                          void (*in_child)(void))
{
    const int error = __real_pthread_atfork(before, in_parent, in_child);
    stop_thread(&stops_at_atfork);
    return error;
}

/* Time is over at once for a fork() that gives up, and never for others. */
bool __wrap_hri_wait_until(pthread_cond_t *changed, pthread_mutex_t *lock,
                           uint64_t until_ns)
{
    (void)until_ns;
    atomic_store(&waited, true);
    return !atomic_load(&gives_up) &&
           __real_hri_wait_until(changed, lock, UINT64_MAX / 2);
}

/* ---- what a process tries once */

static hri_once slow_once = HRI_ONCE_INIT, forking_once = HRI_ONCE_INIT;
static atomic_bool begun;
static bool child_was_right;

/* It ends when fork() waits for it. */
static hr_status end_after_fork(void)
{
    atomic_store(&begun, true);
    while (!atomic_load(&waited)) {
        sched_yield();
    }
    return HR_OK;
}

static void *run_slowly(void *unused)
{
    (void)unused;
    CHECK(hri_once_run(&slow_once, end_after_fork) == HR_OK);
    return NULL;
}

static bool runs_once(void)
{
    return hri_once_run(&slow_once, end_after_fork) == HR_OK;
}

static atomic_bool waits;
static hri_once long_once = HRI_ONCE_INIT;

static hr_status stop_for_long(void)
{
    stop_thread(&waits);
    return HR_OK;
}

static void *run_long(void *unused)
{
    (void)unused;
    CHECK(hri_once_run(&long_once, stop_for_long) == HR_OK);
    return NULL;
}

/* Its thread is missing here. */
static bool has_failed(void)
{
    return hri_once_run(&long_once, stop_for_long) == HR_ERROR_UNAVAILABLE &&
           strstr(hr_last_error(), "forked while another thread") != NULL &&
           hri_once_run(&slow_once, end_after_fork) == HR_OK;
}

static void fork_after_giving_up(void)
{
    TEST_CASE("while another thread tries something for too long");
    pthread_t thread;
    begin_stop(&waits);
    CHECK(pthread_create(&thread, NULL, run_long, NULL) == 0);
    await_stop();
    atomic_store(&gives_up, true);
    CHECK(test_is_true_in_child(has_failed));
    atomic_store(&gives_up, false);
    atomic_store(&goes_on, true);
    pthread_join(thread, NULL);
    CHECK(hri_once_run(&long_once, stop_for_long) == HR_OK);
}

static bool is_child(void)
{
    return true;
}

static hr_status fork_while_trying(void)
{
    child_was_right = test_is_true_in_child(is_child);
    return HR_OK;
}

static void fork_amid_trying(void)
{
    TEST_CASE("while another thread tries something");
    pthread_t thread;
    atomic_store(&waited, false);
    CHECK(pthread_create(&thread, NULL, run_slowly, NULL) == 0);
    while (!atomic_load(&begun)) {
        sched_yield();
    }
    CHECK(test_is_true_in_child(runs_once));
    pthread_join(thread, NULL);
    TEST_CASE("by what is tried");
    CHECK(hri_once_run(&forking_once, fork_while_trying) == HR_OK &&
          child_was_right);
}

/* ---- products on other threads */

static hr_context *open_list(const char *list)
{
    hr_context_options options = HR_CONTEXT_OPTIONS_INIT;
    hr_context *context = NULL;
    options.accelerators = list;
    return hr_context_create(&options, &context) == HR_OK ? context : NULL;
}

static bool can_multiply(void)
{
    enum { EDGE = 200 };
    /* more than a thread's stack has on musl */
    static _Thread_local float a[EDGE * EDGE], c[EDGE * EDGE];
    hr_context *context = open_list("host");
    for (int i = 0; i < EDGE * EDGE; i++) {
        a[i] = 1.0F;
    }
    const hr_matrix factor = hr_matrix_row_major(a, HR_F32, EDGE, EDGE, 0);
    bool right =
        context != NULL &&
        hr_gemm(context, hr_real(1), factor, factor, hr_real(0),
                hr_matrix_row_major(c, HR_F32, EDGE, EDGE, 0), NULL) == HR_OK;
    for (int i = 0; i < EDGE * EDGE; i++) {
        right = right && c[i] == (float)EDGE;
    }
    hr_context_destroy(context);
    return right;
}

static atomic_bool over;

static void *multiply_often(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        CHECK(can_multiply());
    }
    return NULL;
}

static void fork_amid_products(void)
{
    enum { THREADS = 2, CHILDREN = 20 };
    TEST_CASE("while other threads multiply");
    pthread_t threads[THREADS];
    CHECK(can_multiply()); /* so that the CBLAS is loaded */
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, multiply_often, NULL) == 0);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(test_is_true_in_child(can_multiply));
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

static void *open_host(void *unused)
{
    (void)unused;
    hr_context *context = open_list("host");
    CHECK(context != NULL);
    hr_context_destroy(context);
    return NULL;
}

/* The handlers are registered twice here. */
static bool opens_and_forks(void)
{
    open_host(NULL);
    return test_is_true_in_child(can_multiply);
}

/* In a process whose handlers are not yet registered. */
static bool forks_amid_registering(void)
{
    pthread_t thread;
    begin_stop(&stops_at_atfork);
    if (pthread_create(&thread, NULL, open_host, NULL) != 0) {
        return false;
    }
    await_stop();
    const bool right = test_is_true_in_child(opens_and_forks);
    atomic_store(&goes_on, true);
    pthread_join(thread, NULL);
    return right && test_is_true_in_child(can_multiply);
}

static void fork_amid_registering(void)
{
    TEST_CASE("while another thread registers handlers of forks");
    CHECK(test_is_true_in_child(forks_amid_registering));
}

/* ---- checked maps on other threads */

static bool can_map(void)
{
    float elements[16] = {0};
    hr_mapping m = {0};
    hr_array *array = NULL;
    hr_context *context = open_list("host");
    const bool well = context != NULL &&
                      hr_array_wrap(context, elements, sizeof elements[0],
                                    hr_extent1(16), 0, &array) == HR_OK &&
                      hr_map(hr_view_of(array), HR_IN, &m) == HR_OK &&
                      hr_unmap(&m) == HR_OK;
    hr_array_destroy(array);
    hr_context_destroy(context);
    return well;
}

static void *map_once(void *unused)
{
    (void)unused;
    CHECK(can_map());
    return NULL;
}

static void fork_amid_maps(void)
{
    TEST_CASE("while another thread ends a map that is checked");
    pthread_t thread;
    setenv("HEADRACE_CHECK", "1", 1);
    begin_stop(&stops_at_mmap);
    CHECK(pthread_create(&thread, NULL, map_once, NULL) == 0);
    await_stop();
    CHECK(test_is_true_in_child(can_map));
    atomic_store(&goes_on, true);
    pthread_join(thread, NULL);
    unsetenv("HEADRACE_CHECK");
}

/* ---- OpenCL */

static hr_context *of_parent;

/* The host's threads of the parent's context are not here. */
static bool has_its_own_default(void)
{
    float a[4] = {1, 2, 3, 4}, c[4];
    hr_context *context = NULL;
    const hr_matrix factor = hr_matrix_row_major(a, HR_F32, 2, 2, 0);
    return hr_context_default(&context) == HR_OK && context != of_parent &&
           hr_gemm(context, hr_real(1), factor, factor, hr_real(0),
                   hr_matrix_row_major(c, HR_F32, 2, 2, 0), NULL) == HR_OK &&
           c[3] == 22;
}

/* Calls with the parent's context say so, and do not wait for its threads. */
static bool refuses_the_parents(void)
{
    float a[4] = {1, 2, 3, 4}, c[4] = {0};
    const hr_matrix factor = hr_matrix_row_major(a, HR_F32, 2, 2, 0);
    const hr_matrix result = hr_matrix_row_major(c, HR_F32, 2, 2, 0);
    static const char words[] = "the context is of the parent process";
    bool right = hr_gemm(of_parent, hr_real(1), factor, factor, hr_real(0),
                         result, NULL) == HR_ERROR_INVALID &&
                 strstr(hr_last_error(), words) != NULL;
    right = right &&
            hr_gemm_batch(
                of_parent, 1, hr_real(1), hr_matrices_strided(factor, 0),
                hr_matrices_strided(factor, 0), hr_real(0),
                hr_matrices_strided(result, 0), NULL) == HR_ERROR_INVALID &&
            strstr(hr_last_error(), words) != NULL;
    right =
        right &&
        hr_transform(
            of_parent, "y = x", "x, y",
            HR_ARGUMENTS(hr_in_data(a, "float", sizeof *a, hr_extent1(4), 0),
                         hr_out_data(c, "float", sizeof *c, hr_extent1(4), 0)),
            NULL) == HR_ERROR_INVALID;
    return right && c[0] == 0.0f;
}

static void fork_with_default(void)
{
    TEST_CASE("after the parent has used its default context");
    hr_context *again = NULL;
    setenv("HEADRACE_ACCELERATORS", "host", 1);
    CHECK(hr_context_default(&of_parent) == HR_OK);
    CHECK(test_is_true_in_child(has_its_own_default));
    CHECK(test_is_true_in_child(refuses_the_parents));
    CHECK(hr_context_default(&again) == HR_OK && again == of_parent);
    unsetenv("HEADRACE_ACCELERATORS");
}

static bool is_refused_opencl(void)
{
    return open_list("opencl") == NULL &&
           strstr(hr_last_error(), "a child of fork()") != NULL &&
           can_multiply();
}

static void fork_with_opencl(void)
{
    TEST_CASE("after the parent has found OpenCL devices");
    hr_context *context = open_list("opencl");
    if (context != NULL) {
        CHECK(test_is_true_in_child(is_refused_opencl));
    }
    hr_context_destroy(context);
}

/* AddressSanitizer of GCC 12 and clang 14 leaves a lock of its allocator held
 * in a child whose parent's other threads allocate. Not so without the
 * sanitizer. */
enum { MAY_ALLOCATE = !TEST_ASAN };

int main(void)
{
    if (MAY_ALLOCATE) {
        TEST(fork_amid_registering()); /* first: before anything opens the host
                                        */
    } else {
        printf("left out: forks while other threads allocate\n");
    }
    TEST(fork_amid_trying());
    TEST(fork_after_giving_up());
    TEST(fork_amid_maps());
    if (MAY_ALLOCATE) { /* the threads of a new context do */
        TEST(fork_with_default());
        TEST(fork_amid_products());
        TEST(fork_with_opencl());
    }
    return test_end();
}
