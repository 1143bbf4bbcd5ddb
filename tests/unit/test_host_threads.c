/* SPDX-License-Identifier: MIT */
/* The host's threads are those of one pool, however many contexts there are.
 * HEADRACE_THREADS sets their number. Also in a child of fork(), and in a child
 * of a process with other threads at work.
 *
 *     test_host_threads threads|fork|busy_fork */
#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "runtime/runtime.h"
#include "support/threads.h"

enum { CONTEXTS = 3, EDGE = 160 };

/* ---- work for all threads */

typedef struct work {
    hr_context *context;
    float a[EDGE * EDGE], c[EDGE * EDGE];
    hr_status status;
} work;

static hr_matrix square(float *data)
{
    return hr_matrix_row_major(data, HR_F32, EDGE, EDGE, 0);
}

static bool is_all(const float *data, float value)
{
    bool all = true;
    for (int i = 0; i < EDGE * EDGE; i++) {
        all = all && data[i] == value;
    }
    return all;
}

/* Multiply, verify and launch. */
static hr_status use_all_threads(work *w)
{
    const hr_scalar one = hr_real(1), zero = hr_real(0);
    hr_filter_options options = HR_FILTER_OPTIONS_INIT;
    hr_window *window = NULL;
    for (int i = 0; i < EDGE * EDGE; i++) {
        w->a[i] = 1.0f;
    }
    options.edges = HR_EDGES_PERIODIC;
    options.method = HR_FILTER_DIRECT;
    HRI_TRY(hr_gemm(w->context, one, square(w->a), square(w->a), zero,
                    square(w->c), NULL));
    HRI_TRY(hr_gemm_verify(w->context, one, square(w->a), square(w->a), zero,
                           square(w->c), square(w->c), NULL));
    if (!is_all(w->c, EDGE)) {
        return HR_ERROR_MISMATCH;
    }
    HRI_TRY(hr_window_box(1, &window));
    const hr_status status = hr_filter(w->context, window, 1.0, square(w->a),
                                       square(w->c), &options);
    hr_window_destroy(window);
    HRI_TRY(status);
    return is_all(w->c, 9) ? HR_OK : HR_ERROR_MISMATCH;
}

static void *use_threads_often(void *data)
{
    enum { TIMES = 20 };
    work *w = data;
    for (int i = 0; i < TIMES; i++) {
        w->status = use_all_threads(w);
        if (w->status != HR_OK) {
            break;
        }
    }
    return NULL;
}

/* ---- threads */

static void threads_are_read(void)
{
    static const char *const nonsense[] = {"0",  "-1",   "3x",  "1025", " 3",
                                           "+3", "0x10", "1e3", "many"};
    TEST_CASE("HEADRACE_THREADS that is no number of threads");
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        hr_context *context = NULL;
        char words[128];
        snprintf(words, sizeof words,
                 "HEADRACE_THREADS is \"%s\", not a number from 1 to "
                 "1024",
                 nonsense[i]);
        setenv("HEADRACE_THREADS", nonsense[i], 1);
        CHECK_FAILS(hr_context_create(NULL, &context), HR_ERROR_INVALID, words);
        CHECK(context == NULL && hri_thread_count() == hri_cpu_count());
    }
    TEST_CASE("HEADRACE_THREADS that is empty");
    setenv("HEADRACE_THREADS", "", 1);
    CHECK(hri_thread_count() == hri_cpu_count());
    CHECK(hri_thread_count_check() == HR_OK);
}

static void contexts_share_a_pool(void)
{
    static work works[CONTEXTS];
    pthread_t threads[CONTEXTS];
    TEST_CASE("contexts share their threads");
    const int before = threads_count();
    setenv("HEADRACE_THREADS", "3", 1);
    for (int i = 0; i < CONTEXTS; i++) {
        works[i].context = test_context("host", 0);
        CHECK(hr_thread_count(works[i].context) == 3);
    }
    CHECK(hri_pool_threads(works[0].context->pool) == 3);
    CHECK(threads_count() == before + 2);
    hr_accelerator_info info = HR_ACCELERATOR_INFO_INIT;
    CHECK(hr_accelerator_describe(works[0].context, 0, &info) == HR_OK);
    CHECK(info.compute_units == 3);

    TEST_CASE("contexts that work at the same time");
    for (int i = 0; i < CONTEXTS; i++) {
        CHECK(pthread_create(&threads[i], NULL, use_threads_often, &works[i]) ==
              0);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(works[i].status == HR_OK);
    }

    TEST_CASE("the last context ends them");
    hr_context_destroy(works[0].context);
    hr_context_destroy(works[1].context);
    CHECK(use_all_threads(&works[2]) == HR_OK);
    hr_context_destroy(works[2].context);
    CHECK(threads_count() == before);
    setenv("HEADRACE_THREADS", "1", 1);
    works[0].context = test_context("host", 0);
    CHECK(threads_count() == before && use_all_threads(&works[0]) == HR_OK);
    hr_context_destroy(works[0].context);
}

/* ---- fork */

/* Exits 0 when a context of its own works. */
static void be_child(void)
{
    static work w;
    w.context = test_context("host", 0);
    hr_status status =
        w.context != NULL ? use_all_threads(&w) : HR_ERROR_BACKEND;
    hr_context_destroy(w.context);
    _exit(status == HR_OK ? 0 : 1);
}

static void child_works(void)
{
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        be_child();
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void children_work(void)
{
    static work w;
    setenv("HEADRACE_THREADS", "3", 1);
    TEST_CASE("a child of a process without contexts");
    child_works();
    TEST_CASE("a child while the parent has a context");
    w.context = test_context("host", 0);
    CHECK(use_all_threads(&w) == HR_OK);
    child_works();
    hr_context_destroy(w.context);
    child_works();
}

/* The lock of an allocator may be another thread's at that moment: the C
 * library's is freed in the child, those of sanitizers are not. */
static void children_of_busy_work(void)
{
    static work w;
    setenv("HEADRACE_THREADS", "3", 1);
    TEST_CASE("a child while the parent's context works");
    pthread_t thread;
    w.context = test_context("host", 0);
    CHECK(pthread_create(&thread, NULL, use_threads_often, &w) == 0);
    for (int i = 0; i < 10; i++) {
        child_works();
    }
    pthread_join(thread, NULL);
    CHECK(w.status == HR_OK);
    TEST_CASE("the parent goes on");
    CHECK(use_all_threads(&w) == HR_OK);
    hr_context_destroy(w.context);
    child_works();
}

int main(int count, char **arguments)
{
    const char *what = count == 2 ? arguments[1] : "";
    setenv("HEADRACE_CBLAS", "builtin", 1); /* others have their own threads */
    if (strcmp(what, "threads") == 0) {
        TEST(threads_are_read());
        TEST(contexts_share_a_pool());
    } else if (strcmp(what, "fork") == 0) {
        TEST(children_work());
    } else if (strcmp(what, "busy_fork") == 0) {
        TEST(children_of_busy_work());
    }
    return test_end();
}
